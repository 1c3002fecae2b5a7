"""What users notice: latency against inaccuracy, one mark per policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures.canvas import MUTED, blank, colours
from edgeopt.studies.wording import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.studies.result import Case

__all__ = ["TRADE_OFF"]

_MARKS = ("o", "s", "D", "^", "v", "P", "X", "*", "p")


def _title(case: Case) -> str:
    rows = case.table.dropna(subset=["latency", "inaccuracy"])
    if rows.empty:
        return "There are no requests to serve"
    fastest = rows.iloc[int(rows["latency"].to_numpy().argmin())]
    sharpest = rows.iloc[int(rows["inaccuracy"].to_numpy().argmin())]
    chosen = [fastest] if fastest["policy"] == sharpest["policy"] else [fastest, sharpest]
    said = [
        f"{case.entries[str(row['policy'])].title} in {_spent(row['latency'], row['inaccuracy'])}"
        for row in chosen
    ]
    alone = _unplaced(case.instance)
    if alone is not None:
        said.append(f"the repositories alone in {_spent(*alone)}")
    return f"Requests are served by {'; by '.join(said)}"


def _spent(latency: float, inaccuracy: float) -> str:
    return f"{number(float(latency), 3)} ms at {number(float(inaccuracy), 3)} % inaccuracy"


def _unplaced(instance: IdnInstance) -> tuple[float, float] | None:
    """Latency and inaccuracy when the repositories alone serve."""
    ranking = instance.ranking
    weights = instance.requests.sum(axis=0)
    if not weights.any():
        return None
    first = [
        options.start + int(np.flatnonzero(ranking.permanent[options])[0])
        for options in map(ranking.options, range(instance.types))
    ]
    return tuple(
        float(np.average(values[first], weights=weights))
        for values in (ranking.latency, ranking.inaccuracy)
    )  # type: ignore[return-value]


def _draw(case: Case) -> Figure:
    figure = blank(height=3.7)
    axes = figure.subplots()
    colour = colours(entry.family for entry in case.entries.values())
    for place, row in enumerate(case.table.to_dict("records")):
        axes.errorbar(
            row["latency"],
            row["inaccuracy"],
            xerr=row["latency_se"],
            yerr=row["inaccuracy_se"],
            fmt=_MARKS[place % len(_MARKS)],
            color=colour[row["family"]],
            markersize=7,
            label=case.entries[row["policy"]].title,
            zorder=3,
        )
    axes.margins(0.12)
    if case.instance.cost is None:
        _equal_cost(axes, case.instance.alpha)
    axes.set_xlabel("latency of a request, network and inference (ms)")
    axes.set_ylabel("inaccuracy (%)")
    handles, labels = axes.get_legend_handles_labels()
    if "equal cost" in labels:  # lines come before marks with error bars
        handles, labels = [*handles[1:], handles[0]], [*labels[1:], labels[0]]
    figure.legend(handles, labels, loc="outside right center")
    return figure


def _equal_cost(axes: Axes, alpha: float) -> None:
    """Draw lines along which a request costs the same."""
    from matplotlib.ticker import MaxNLocator

    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    span: NDArray[np.float64] = np.array([left, right])
    costs = MaxNLocator(6).tick_values(left + alpha * low, right + alpha * high)
    for cost in costs:
        if alpha > 0:
            axes.plot(span, (cost - span) / alpha, color=MUTED, linewidth=0.7, linestyle=":")
        else:
            axes.axvline(cost, color=MUTED, linewidth=0.7, linestyle=":")
    axes.plot([], [], color=MUTED, linewidth=0.7, linestyle=":", label="equal cost")
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)
    axes.grid(visible=False)


TRADE_OFF = Picture(
    "trade_off",
    _title,
    _draw,
    "Means over all requests and runs, with standard errors where they are visible. Along a dotted "
    "line a request costs the same: latency plus alpha times inaccuracy; lower left is better.",
)
