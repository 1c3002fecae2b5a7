"""Tuned options that are kept with the package, and the code by which they were found."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from edgeopt.studies.wording import capitalised, listed, number
from edgeopt.writing import write_file
from edgeopt_papers.tuning.run import tune, tuning_of
from edgeopt_papers.tuning.search import GRID, STEP
from edgeopt_papers.tuning.tuning import Evaluation, Tuned, Tuning

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FORMAT: Final = 1
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
    policies have in common, the parameters whose best value is the last one tried, and whether the
    code has changed since then.
    """
    table = stored(system)
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
    if not all(one.fresh for one in rows.values()):
        said.append(
            "these options were found with an earlier state of the code, and others may be better "
            f"now: `edgeopt tune {system}` finds them"
        )
    return " ".join(f"{capitalised(one)}." for one in said)


def _written(options: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} = {value if isinstance(value, str) else number(value, 3)}"
        for name, value in options.items()
    )


def stored(system: str) -> dict[tuple[str, str], Tuned]:
    """Return what is kept for a system, by policy and mode."""
    file = FOLDER / f"{system}.json"
    return _read(file) if file.exists() else {}


@cache
def _read(file: Path) -> dict[tuple[str, str], Tuned]:
    content = json.loads(file.read_text(encoding="utf-8"))
    if content["format"] != FORMAT:
        return {}
    found = (
        Tuned(
            row["policy"],
            row["mode"],
            row["parameters"],
            tuple(row["seeds"]),
            tuple(Evaluation(tuple(place), value) for *place, value in row["evaluations"]),
            tuple(row["code"]),
            row["digest"],
            settings=row.get("settings", {}),
            **{name: tuple(row[name]) for name in _TESTED},
        )
        for row in content["tuned"]
    )
    return {(one.policy, one.mode): one for one in found}


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
            "code": one.code,
            "digest": one.digest,
            "evaluations": [[*place, value] for place, value in one.evaluations],
            **{name: getattr(one, name) for name in _TESTED},
        }
        for one in rows
    ]
    return {"format": FORMAT, "step": STEP, "grid": GRID, "tuned": written}


def store(system: str, *, workers: int = -1) -> None:
    """Tune and test what is not tuned by this code and as the system says, and write the table."""
    _, tuning = tuning_of(system)
    rows, known = [], stored(system)
    for mode in tuning.modes:
        kept = {policy: one for (policy, at), one in known.items() if at == mode}
        kept = {policy: one for policy, one in kept.items() if up_to_date(one, tuning)}
        new = [policy for policy in tuning.parameters if policy not in kept]
        found = tune(system, new, modes=[mode], test=True, workers=workers) if new else []
        kept |= {one.policy: one for one in found}
        rows += [kept[policy] for policy in tuning.parameters]
        print(f"{system}, {mode}: {', '.join(new) or 'nothing'} tuned")
    write_table(FOLDER / f"{system}.json", rows)


def write_table(path: Path, rows: Iterable[Tuned]) -> None:
    """Write tuned policies, an evaluation a line."""
    text = json.dumps(table_of(rows), indent=1, allow_nan=False)
    text = re.sub(r"\[[^\[\]{}]*\]", lambda inner: json.dumps(json.loads(inner.group())), text)
    write_file(path, text + "\n")


def up_to_date(one: Tuned, tuning: Tuning) -> bool:
    """Tell whether a policy is tuned and tested as its system says, and by this code."""
    parameters = dict(tuning.parameters.get(one.policy, {}))
    wanted = (tuning.settings, parameters, tuning.seeds, tuning.test_seeds)
    has = (one.settings, dict(one.parameters), one.seeds, one.test_seeds)
    budget = tuning.budget if parameters else 1
    return has == wanted and len(one.evaluations) == budget and one.fresh
