"""Tuned options that are kept with the package."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from edgeopt.studies.wording import capitalised, listed, number
from edgeopt_papers.provenance import Stamp, stamp
from edgeopt_papers.tuning.run import tune
from edgeopt_papers.tuning.search import GRID, STEP
from edgeopt_papers.tuning.tuning import Evaluation, Tuned

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FORMAT: Final = 2
"""Number of the way in which tables are written."""

FOLDER: Final = Path(__file__).parent / "tables"

_TESTED: Final = ("test_seeds", "untouched", "tested")


def tuned(system: str, policy: str, mode: str) -> dict[str, float]:
    """Return the options with which a policy was found best, on instances for tuning.

    Parameters
    ----------
    system, policy, mode
        Their names.

    Returns
    -------
    dict
        The options that differ from the defaults of the policy, such as for
        :func:`dataclasses.replace`; none for a policy that is not tuned.

    Examples
    --------
    >>> from edgeopt_papers.tuning import tuned
    >>> tuned("edr", "greedy", "group")
    {}
    """
    found = stored(system).get((policy, mode))
    return {} if found is None else found.options


def tuned_in_words(system: str, titles: Mapping[str, str], mode: str) -> str:
    """Say how policies were tuned for a mode, and what it came to.

    Parameters
    ----------
    system
        Its name.
    titles
        What to call each policy, by its name; those that are not tuned are left out.
    mode
        Kind of instances.

    Returns
    -------
    Sentences with the number of evaluations, their seeds, the options, the settings that all
    policies have in common, the parameters whose best value is the last one tried, and the version
    and commit that found them.

    Examples
    --------
    >>> from edgeopt_papers.tuning import tuned_in_words
    >>> tuned_in_words("edr", {"lyapunov": "Lyapunov"}, "none")[:37]
    'Lyapunov is tuned with 32 evaluations'
    """
    made, table = _read(FOLDER / f"{system}.json")
    rows = {title: table[name, mode] for name, title in titles.items() if (name, mode) in table}
    rows = {title: one for title, one in rows.items() if one.parameters}
    if not rows:
        return "No policy is tuned."
    first = next(iter(rows.values()))
    counts = sorted({len(one.evaluations) for one in rows.values()})
    chosen = (f"{title}: {_written(one.options) or 'its defaults'}" for title, one in rows.items())
    said = [
        f"{listed(list(rows))} {'are' if len(rows) > 1 else 'is'} tuned with "
        f"{' to '.join(map(str, counts[:1] + counts[1:][-1:]))} evaluations"
        f"{' each' if len(rows) > 1 else ''}, each the mean over the seeds "
        f"{listed([str(seed) for seed in first.seeds])}, which serve nothing else",
        "; ".join(chosen),
    ]
    if first.settings:
        said.append(f"what belongs to no policy is the same for all: {_written(first.settings)}")
    open_ = [f"{listed(list(one.edges))} of {title}" for title, one in rows.items() if one.edges]
    said.append(
        f"the best {listed(open_)} is the least or the largest that was tried, so tuning is not "
        "exhausted there"
        if open_
        else "every best value lies between others that were tried"
    )
    said.append(f"these options were found with {made}; `edgeopt tune {system}` finds them anew")
    return " ".join(f"{capitalised(one)}." for one in said)


def _written(options: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} = {value if isinstance(value, str) else number(value, 3)}"
        for name, value in options.items()
    )


def stored(system: str) -> dict[tuple[str, str], Tuned]:
    """Return what is kept for a system, by policy and mode."""
    return _read(FOLDER / f"{system}.json").rows


class Table(NamedTuple):
    """Tuned policies by name and mode, and who tuned them."""

    stamp: Stamp
    rows: dict[tuple[str, str], Tuned]


@cache
def _read(file: Path) -> Table:
    content = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if content.get("format") != FORMAT:
        return Table(Stamp("", ""), {})
    found = (
        Tuned(
            row["policy"],
            row["mode"],
            row["parameters"],
            tuple(row["seeds"]),
            tuple(Evaluation(tuple(place), value) for *place, value in row["evaluations"]),
            settings=row.get("settings", {}),
            **{name: tuple(row[name]) for name in _TESTED},
        )
        for row in content["tuned"]
    )
    rows = {(one.policy, one.mode): one for one in found}
    return Table(Stamp(content["version"], content["commit"]), rows)


def table_of(rows: Iterable[Tuned]) -> dict[str, Any]:
    """Return what is to be written of tuned policies."""
    written = [
        {
            "policy": one.policy,
            "mode": one.mode,
            "settings": dict(one.settings),
            "parameters": dict(one.parameters),
            "chosen": one.options,
            "on_the_edge": one.edges,
            "seeds": one.seeds,
            "evaluations": [[*place, value] for place, value in one.evaluations],
            **{name: getattr(one, name) for name in _TESTED},
        }
        for one in rows
    ]
    return {"format": FORMAT, **stamp()._asdict(), "step": STEP, "grid": GRID, "tuned": written}


def text_of(rows: Iterable[Tuned]) -> str:
    """Return what is to be written of tuned policies, an evaluation a line."""
    text = json.dumps(table_of(rows), indent=1, allow_nan=False)
    text = re.sub(r"\[[^\[\]{}]*\]", lambda inner: json.dumps(json.loads(inner.group())), text)
    return text + "\n"


def documents(workers: int = -1) -> Iterator[tuple[Path, str]]:
    """Tune and test what systems name; yield the file of each, and what is to be in it."""
    for file in sorted(FOLDER.glob("*.json")):
        yield file, text_of(tune(file.stem, test=True, workers=workers))
