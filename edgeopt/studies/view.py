"""One instance at a glance: two sentences, numbers, a table and a picture, without a framework.

:func:`view` computes it anew, :func:`view_of` takes it from a study; the page of a study, the HTML
of a `Study` and the live page all show what these return.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.bounds.intervals import spread
from edgeopt.errors import EdgeOptError, OptionError
from edgeopt.online.simulate import MOST_RUNS
from edgeopt.options import check_whole
from edgeopt.representation import brief
from edgeopt.studies import registry, sentences
from edgeopt.studies.pictures import vector
from edgeopt.studies.pictures.canvas import colours
from edgeopt.studies.pictures.vector import Bar, Said
from edgeopt.studies.results import Case, Settings
from edgeopt.studies.run import solve_benchmark
from edgeopt.studies.wording import (
    beside,
    capitalised,
    gap_said,
    number,
    plural,
    power,
)
from edgeopt.writing.tables import html_table

if TYPE_CHECKING:
    import pandas as pd

    from edgeopt.studies.entries import Benchmark, PolicyEntry
    from edgeopt.studies.system import System


@dataclass(frozen=True)
class ViewSettings:
    """What a view compares.

    Parameters
    ----------
    policies
        Names and patterns of policies; those that the system recommends for a view by default.
    runs
        Scenarios, at least 2; the default depends on the system.
    rng
        Seed of the scenarios.
    bound
        Name of the proven bound; by default that which the system recommends for a view.
    """

    policies: tuple[str, ...] = ()
    runs: int | None = None
    rng: int = 0
    bound: str = ""


@brief
@dataclass(frozen=True, eq=False)
class View:
    """What a view shows; nothing in it depends on time or machine load.

    Parameters
    ----------
    text
        Two sentences: the best policy, and the bound; or what is wrong with the input.
    numbers
        All numbers that are written in the picture's bars, ``"bound"`` and ``"POLICY.value"``, ...
    table
        One row per policy: value with its interval, gap and ratio to the bound, violations.
    svg
        A self-contained picture of the table and of one run; empty where something is wrong.
    """

    text: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    table: pd.DataFrame = field(default_factory=lambda: _table())
    svg: str = ""
    written: str = ""
    """The table in HTML."""
    case: Case | None = field(default=None, repr=False)
    """What was compared, and with which bound."""

    def _repr_html_(self) -> str:
        return f"{_paragraph(self.text)}{self.svg}{self.written}"


def _paragraph(text: str) -> str:
    from html import escape

    from edgeopt.writing import printable

    return f"<p>{escape(printable(text))}</p>"


def _table(rows: Sequence[Mapping[str, Any]] = ()) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows, columns=list(COLUMNS))


COLUMNS: Final = (
    "policy", "title", "kind", "value", "low", "high", "spread", "gap", "gap_unit", "bound",
    "ratio", "violated", "violated_share",
)  # fmt: skip
"""Columns of the table of a view."""


def view(instance: Any, settings: ViewSettings | None = None) -> View:
    """Compare policies on one instance, on common scenarios and against a proven bound.

    If edgeopt refuses instance or settings, the view is the text of the error.
    """
    try:
        return view_of(_case(instance, settings or ViewSettings()))
    except EdgeOptError as error:
        return View(str(error))


def view_of(case: Case) -> View:
    """Return the view of a case of a study."""
    rows = _rows(case)
    numbers = _numbers(case, rows)
    text = f"{sentences.sentence(case)} {_of_bound(case)}"
    parts = [_bars(case, rows, numbers)]
    live = case.system.live
    if live is not None and live.lanes is not None:
        parts.append(vector.lanes(live.lanes(case, _shown(case))))
    svg = vector.document(f"{case.system.title}: policies and the proven bound", text, parts)
    return View(text, numbers, _table(rows), svg, _written(case, rows), case)


class _Bounds(Mapping[str, "Benchmark"]):
    """The bounds of an instance, each solved when a policy or the table first asks for it."""

    def __init__(self, record: System, instance: Any, seed: int, runs: int) -> None:
        self._record, self._given = record, (instance, seed, runs)
        self._solved: dict[str, Benchmark] = {}

    def __getitem__(self, name: str) -> Benchmark:
        if name not in self._solved:
            entry, environment = self._record.offline.bounds[name], self._record.policies
            self._solved[name] = solve_benchmark(entry, environment.environment, *self._given)
        return self._solved[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._record.offline.bounds)

    def __len__(self) -> int:
        return len(self._record.offline.bounds)


def _case(instance: Any, settings: ViewSettings) -> Case:
    """Simulate the policies, and solve the bound and what they need, nothing else."""
    from edgeopt.online import simulate

    record = registry.system_of(instance)
    live = record.live
    preferred = (live.bound if live else "") or record.offline.reference
    bound = settings.bound or preferred
    if bound not in record.offline.offered(instance):
        raise OptionError(
            f"bound {bound!r} is unknown here; choose from "
            f"{', '.join(record.offline.offered(instance))}"
        )
    runs = settings.runs or (live.runs if live else record.policies.runs)
    check_whole("runs", runs, 2, MOST_RUNS)
    seed = settings.rng
    check_whole("rng", seed, 0)
    wanted = settings.policies or (live.policies if live else ())
    valid = {bound, *(live.looser_than if live and bound == preferred else ())}
    entries = {
        entry.name: replace(entry, bound=bound if entry.bound in valid else entry.bound)
        for entry in sorted(_chosen(record, wanted), key=lambda one: not one.causal)
    }
    needed = dict.fromkeys([bound, *(entry.bound for entry in entries.values() if entry.bound)])
    bounds = _Bounds(record, instance, seed, runs)
    policies = {name: entry.make(instance, bounds) for name, entry in entries.items()}
    environment = record.policies.environment(instance)
    return Case(
        system=_narrowed(record, entries, list(needed)),
        name=str(instance.fingerprint())[:12],
        instance=instance,
        benchmarks={name: bounds[name] for name in needed},
        entries=entries,
        policies=policies,
        trajectories={
            name: simulate(environment, policy, rng=seed, runs=runs)
            for name, policy in policies.items()
        },
        exact={},
        references=dict.fromkeys(entries, next(iter(entries))),
        verdicts=(),
        settings=Settings(runs, seed, 1, 0.95, 0.0, "", ""),
    )


def _chosen(record: System, wanted: Sequence[Any]) -> Sequence[PolicyEntry]:
    """Resolve policies; plugins are read, which takes a while, only where they may be meant."""
    own = {entry.name: entry for entry in record.policies.entries}
    if wanted and all(isinstance(one, str) and one in own for one in wanted):
        return [own[name] for name in dict.fromkeys(wanted)]
    return registry.choose(record, wanted or None)


def _narrowed(record: System, entries: Mapping[str, PolicyEntry], bounds: Sequence[str]) -> System:
    """Return the record with the bound that is drawn and those of policies, and what is shown."""
    from edgeopt.studies.system import Reporting

    return replace(
        record,
        offline=replace(
            record.offline,
            bounds={name: record.offline.bounds[name] for name in bounds},
            solve=None,
        ),
        policies=replace(record.policies, entries=tuple(entries.values())),
        reporting=Reporting(),
    )


def _rows(case: Case) -> list[dict[str, Any]]:
    rows = []
    for name in case.trajectories:
        row, values = case.rows[name], case.values(name)
        found = spread(values, "signed", confidence=case.settings.confidence)
        sampled = found.kind in ("interval", "range") and row["spread"] != "exact"
        ends = (found.low, found.high) if sampled else (np.nan, np.nan)
        rows.append(
            {
                "policy": name,
                "title": case.title(row),
                "kind": row["kind"],
                "value": row["value"],
                "low": ends[0],
                "high": ends[1],
                "spread": row["spread"],
                "gap": row["gap"],
                # One bound is drawn: where a policy has another one, it is named.
                "bound": row["bound"],
                "gap_unit": row["gap_unit"],
                "ratio": row["ratio"],
                "violated": row["violated"],
                "violated_share": row["violated_share"],
            }
        )
    return rows


def _numbers(case: Case, rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    found = {"bound": float(case.benchmark.bound), "bound.gap": float(case.benchmark.gap)}
    for row in rows:
        for column in ("value", "gap", "violated"):
            found[f"{row['policy']}.{column}"] = float(row[column])
    return found


def written(case: Case, key: str, value: float) -> str:
    """Write a number of a view as its picture and its table do."""
    name = key.rpartition(".")[2]
    if key == "bound.gap":
        return power(value)
    if name == "gap":
        unit = "" if case.benchmark.bound else case.objective.unit
        return gap_said({"gap": value, "gap_unit": unit})
    return number(value, 3) if name == "violated" else case.objective.amount(value)


_SHADES: Final = [one for one in colours(map(str, range(9))).values() if one != "#7f7f7f"]
"""Colours of policies; grey is for those that violate the service constraint."""


def _bars(
    case: Case, rows: Sequence[Mapping[str, Any]], numbers: Mapping[str, float]
) -> tuple[float, str]:
    groups = list(dict.fromkeys(entry.group for entry in case.entries.values()))
    shade = {group: _SHADES[n % len(_SHADES)] for n, group in enumerate(groups)}
    past = case.constraint.verb[1]

    def said(key: str) -> Said:
        return Said(key, written(case, key, numbers[key]))

    drawn = []
    for row in rows:
        name = str(row["policy"])
        parts = [said(f"{name}.value")]
        if isfinite(row["gap"]):
            parts += [
                Said("", " · gap "),
                said(f"{name}.gap"),
                Said("", "*" if _beside(case, row) else ""),
            ]
        else:
            parts.append(Said("", f" · {written(case, 'gap', row['gap'])}"))
        if row["violated"] > 0:
            parts += [Said("", " · "), said(f"{name}.violated"), Said("", f" {past}")]
        apart = "apart" if row["kind"] == "hindsight" else "plain"
        look = "failing" if row["violated"] > 0 else apart
        colour = shade[case.entries[name].group]
        drawn.append(Bar(row["title"], row["value"], row["low"], row["high"], colour, look, parts))
    known = [said("bound"), Said("", " (gap "), said("bound.gap"), Said("", ")")]
    starred = any(isfinite(row["gap"]) and _beside(case, row) for row in rows)
    note = "* to another bound, which is the policy's own" * starred
    return vector.bars(drawn, case.benchmark.bound, known, case.label, note)


def _written(case: Case, rows: Sequence[Mapping[str, Any]]) -> str:
    constrained = case.constraints > 0
    return html_table(
        f"{case.objective.heading}; {plural(case.settings.runs, 'scenario')}; gap to the proven "
        f"bound {case.label}, {case.objective.amount(case.benchmark.bound)}"
        + (f"; {case.constraint.name}s {case.constraint.verb[1]} per run" if constrained else ""),
        [
            "Policy", "Value", "Interval", "Gap",
            *([capitalised(case.constraint.verb[1])] if constrained else []),
        ],
        [
            [
                row["title"],
                written(case, "value", row["value"]),
                _ends(row),
                written(case, "gap", row["gap"]) + _beside(case, row),
                *([written(case, "violated", row["violated"])] if constrained else []),
            ]
            for row in rows
        ],
        grey=[place for place, row in enumerate(rows) if row["violated"] > 0],
    )  # fmt: skip


def _beside(case: Case, row: Mapping[str, Any]) -> str:
    """Name the bound of a policy where it is not the one that is drawn."""
    other = row["bound"] not in ("", case.system.offline.reference)
    return f" to {case.system.offline.bounds[row['bound']].label}" if other else ""


def _ends(row: Mapping[Any, Any]) -> str:
    if row["spread"] == "equal":
        return "same in all"
    return beside({"value_low": row["low"], "value_high": row["high"], **row}, "value")


def _shown(case: Case) -> str:
    """Name the policy whose run is drawn: the first one, if it keeps the service constraint."""
    first = case.standings.first
    if first is None or not (first.keeps or case.constraint.soft):
        return next(iter(case.entries))
    return first.policy


def _of_bound(case: Case) -> str:
    entry, found = case.system.offline.bounds[case.system.offline.reference], case.benchmark
    return (
        f"The bound {entry.label} of {case.objective.amount(found.bound)} is proven, and a plan "
        f"within a gap of {power(found.gap)} of it is known; it bounds {entry.scope}."
    )
