"""What the sweeps of OINC's figures have in common: columns, sentences, comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from edgeopt.studies.exhibits import Exhibit
from edgeopt.studies.exhibits.drawing import curves
from edgeopt.studies.oinc.exhibits.setting import OPEN, THREE
from edgeopt.studies.wording import interval, listed, number, percent, uncapitalised

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.exhibits import Printed
    from edgeopt.studies.oinc.exhibits.setting import Sweep

__all__ = ["Sense", "best_places", "figure_of", "largest", "needed", "range_of", "trend"]

Sense = Literal["max", "min"]

_COLUMNS: Final = {
    "policy": "Policy",
    "scaled": "Sum of scaled means",
    "value": "Weighted sum",
    "success": "Requests and jobs in time",
    "requests_met": "Requests in time",
    "jobs_met": "Jobs in time",
    "latency": "Latency (s)",
    "completion": "Completion (s)",
}
"""Of every sweep, after what is swept."""

_PERCENT: Final = ("success", "requests_met", "jobs_met")

_EQUAL: Final = 1e-12


def figure_of(
    number_of: str,
    what: str,
    sweep: Sweep,
    measures: Mapping[str, str],
    notice: Callable[[pd.DataFrame], str],
    printed: Sequence[Printed],
    differs: Sequence[str],
    *,
    share: bool = False,
) -> Exhibit:
    """Return the figure of a sweep: measures side by side, a curve for each of three policies."""

    def draw(rows: pd.DataFrame) -> Figure:
        return curves(
            rows,
            sweep.column,
            measures,
            xlabel=uncapitalised(sweep.heading),
            titles=THREE,
            scale=100.0 if share else 1.0,
            top=100.0 if share else None,
        )

    return Exhibit(
        kind="figure",
        number=number_of,
        title=f"{what} at different {sweep.each}",
        cells=sweep.cells,
        rows=sweep.rows,
        columns={sweep.column: sweep.heading, **_COLUMNS},
        percent=_PERCENT,
        draw=draw,
        notice=notice,
        printed=printed,
        differs=(*differs, *OPEN),
        caption="Bands: 95 % intervals over the drawn instances.",
    )


def best_places(rows: pd.DataFrame, column: str, measure: str, sense: Sense) -> tuple[int, int]:
    """Count places of a sweep at which OINC is best, ties included, and all places."""
    table = rows.pivot(index=column, columns="policy", values=measure)
    ahead = _sign(sense) * table.drop(columns="oinc").rsub(table["oinc"], axis=0)
    return int((ahead >= -_EQUAL).all(axis=1).sum()), len(table)


def _sign(sense: Sense) -> float:
    return 1.0 if sense == "max" else -1.0


def largest(column: str, measure: str, sense: Sense) -> Callable[[pd.DataFrame], float]:
    """Return what reads the largest gain of OINC on another policy, as a share of that one."""

    def read(rows: pd.DataFrame) -> float:
        table = rows.pivot(index=column, columns="policy", values=measure)
        others = table.drop(columns="oinc")
        gains = _sign(sense) * (others.rdiv(table["oinc"], axis=0) - 1.0)
        return float(gains.to_numpy(dtype=float).max())

    return read


def trend(column: str, measure: str) -> Callable[[pd.DataFrame], str]:
    """Return what says of which policies a measure rises or falls from place to place."""

    def read(rows: pd.DataFrame) -> str:
        kinds: dict[str, list[str]] = {}
        for policy, title in THREE.items():
            own = rows[rows["policy"] == policy].sort_values(column)[measure].diff().dropna()
            rises, falls = bool((own >= -_EQUAL).all()), bool((own <= _EQUAL).all())
            kind = "stays" if rises and falls else "rises" if rises else "falls" if falls else ""
            kinds.setdefault(kind or "goes up and down", []).append(title)
        return "; ".join(f"{kind} with {listed(titles)}" for kind, titles in kinds.items())

    return read


def needed(column: str, measure: str, sense: Sense) -> Callable[[pd.DataFrame], str]:
    """Return what says from which place on others do as well as OINC at the first one."""

    def read(rows: pd.DataFrame) -> str:
        table = rows.pivot(index=column, columns="policy", values=measure).sort_index()
        aim = table["oinc"].iloc[0]
        said = []
        for policy, title in THREE.items():
            if policy == "oinc":
                continue
            enough = table.index[_sign(sense) * (table[policy] - aim) >= -_EQUAL]
            least = f"{enough[0]}" if len(enough) else f"more than {table.index[-1]}"
            said.append(f"{title} with {least}")
        return f"as OINC with {table.index[0]}: {listed(said)}"

    return read


def range_of(rows: pd.DataFrame, measure: str, *, share: bool = False) -> str:
    """Write between which figures a measure of OINC lies."""
    own = rows.loc[rows["policy"] == "oinc", measure]
    low, high = float(own.min()), float(own.max())
    said = interval(low, high, share=share, digits=3)
    only = percent(low) if share else number(low, 3)
    return only if only == (percent(high) if share else number(high, 3)) else said
