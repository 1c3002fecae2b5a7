"""One instance at a glance: two sentences, numbers, a table and a picture, without a framework.

The page of a study, the HTML of a `Study` and the live page all show what :func:`view_of` returns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from edgeopt.representation import compact_repr
from edgeopt.studies import sentences
from edgeopt.studies.drawing import Bar, Bars, Line, Said
from edgeopt.studies.pictures import vector
from edgeopt.studies.pictures.canvas import lead, policy_styles
from edgeopt.studies.wording import (
    beside,
    capitalised,
    counted,
    gap_said,
    plural,
    power,
)
from edgeopt.writing.results import html_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from edgeopt.studies.results import Case


@compact_repr
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


def view_of(case: Case) -> View:
    """Return the view of a case of a study."""
    rows = _rows(case)
    numbers = _numbers(case, rows)
    text = f"{sentences.sentence(case)} {_of_bound(case)}"
    parts = [_bars(case, rows, numbers)]
    live = case.system.live
    if live is not None and live.lanes is not None:
        parts.append(vector.lanes(live.lanes(case, lead(case))))
    svg = vector.document(f"{case.system.title}: policies and the proven bound", text, parts)
    return View(text, numbers, _table(rows), svg, _written(case, rows), case)


def _rows(case: Case) -> list[dict[str, Any]]:
    """Return the columns of the table that are shown, with the ends of the values."""
    rows = []
    for name in case.trajectories:
        row, ends = case.rows[name], case.standings.of(name).spread
        more = {"title": case.title(row), "low": ends.low, "high": ends.high}
        rows.append({column: (row | more)[column] for column in COLUMNS})
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
    return counted(value) if name == "violated" else case.objective.amount(value)


def _bars(
    case: Case, rows: Sequence[Mapping[str, Any]], numbers: Mapping[str, float]
) -> tuple[float, str]:
    shade = {name: style.colour for name, style in policy_styles(case).items()}
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
        kind: Any = "failing" if row["violated"] > 0 else apart
        value = {name: row["value"]}
        drawn.append(Bar(row["title"], value, row["low"], row["high"], kind, parts))
    known = [said("bound"), Said("", " (within "), said("bound.gap"), Said("", ")")]
    starred = any(isfinite(row["gap"]) and _beside(case, row) for row in rows)
    note = "* to another bound, which is the policy's own" * starred
    bound = Line(case.label, case.benchmark.bound, known)
    return vector.bars(Bars(drawn, shade, (bound,), note=note))


def _written(case: Case, rows: Sequence[Mapping[str, Any]]) -> str:
    constrained = case.constraints > 0
    return html_table(
        f"{case.objective.heading}; {plural(case.runs, 'run')}; gap to the proven "
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
    return f" to {case.bounds[row['bound']].label}" if other else ""


def _ends(row: Mapping[Any, Any]) -> str:
    if row["spread"] == "equal":
        return "same in all"
    return beside({"value_low": row["low"], "value_high": row["high"], **row}, "value")


def _of_bound(case: Case) -> str:
    entry, found = case.system.offline.bounds[case.system.offline.reference], case.benchmark
    return (
        f"{capitalised(case.reference)}, {case.objective.amount(found.bound)}, is proven; a plan "
        f"within a gap of {power(found.gap)} of it is known; it bounds {entry.scope}."
    )
