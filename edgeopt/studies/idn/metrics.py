"""Latency, accuracy and model updates: metrics and their pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from edgeopt.studies.entries import Metric, Picture
from edgeopt.studies.pictures.canvas import MUTED, PAPER, blank, policy_looks
from edgeopt.studies.pictures.values import curves
from edgeopt.studies.sentences import ONLY_HINDSIGHT
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.online.idn import IdnTrajectory
    from edgeopt.studies.results import Case


def _per_request(instance: IdnInstance, slots: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average over all requests what is known per request of each slot, shape [runs]."""
    served = instance.total_requests > 0
    if not served.any():
        return np.full(slots.shape[0], np.nan)
    weights = instance.total_requests[served].astype(float)
    return np.asarray(slots[:, served] @ weights / weights.sum())


LATENCY = Metric(
    "latency", "Latency (ms)", lambda instance, runs: _per_request(instance, runs.latency)
)
"""Network and inference delay of a request."""

INACCURACY = Metric(
    "inaccuracy", "Inaccuracy (%)", lambda instance, runs: _per_request(instance, runs.inaccuracy)
)
"""100 less the accuracy of the model that serves a request."""

UPDATES = Metric("updates", "Model updates (MB per slot)", lambda _, runs: runs.model_updates())
"""Size of the models that nodes fetch."""


_MARKS = ("o", "s", "D", "^", "v", "P", "X", "*", "p")


def _trade_off_title(case: Case) -> str:
    rows = case.table.dropna(subset=["latency", "inaccuracy"])
    if rows.empty:
        return "There are no requests to serve"
    rows = rows[rows["kind"] == "causal"]
    if rows.empty:
        return ONLY_HINDSIGHT
    fastest = rows.iloc[int(rows["latency"].to_numpy().argmin())]
    sharpest = rows.iloc[int(rows["inaccuracy"].to_numpy().argmin())]
    chosen = [fastest] if fastest["policy"] == sharpest["policy"] else [fastest, sharpest]
    said = [f"{case.title(row)} in {_spent(row['latency'], row['inaccuracy'])}" for row in chosen]
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


def _trade_off_draw(case: Case) -> Figure:
    figure = blank(height=3.7)
    axes = figure.subplots()
    looks = policy_looks(case)
    for place, row in enumerate(case.table.to_dict("records")):
        axes.errorbar(
            row["latency"],
            row["inaccuracy"],
            xerr=row["latency_se"],
            yerr=row["inaccuracy_se"],
            fmt=_MARKS[place % len(_MARKS)],
            color=looks[row["policy"]].colour,
            markerfacecolor=None if row["kind"] == "causal" else PAPER,
            markersize=7,
            label=case.title(row),
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
    _trade_off_title,
    _trade_off_draw,
    "Means over all requests and runs, with standard errors where they are visible. Dotted lines "
    "are lines of equal cost: latency plus alpha times inaccuracy. Lower left is better.",
)


_LINEAR = 10.0
"""MB per slot above which the axis is logarithmic."""

_GIGABYTE = 1024.0


def running_mean(slots: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the slots up to each, shape [runs, T]."""
    total: NDArray[np.float64] = np.cumsum(slots, axis=1)
    return total / np.arange(1, slots.shape[1] + 1)


def _updates_title(case: Case) -> str:
    moving = case.table[case.table["updates"] > 0]
    if moving.empty:
        return "No policy moves any model"
    moving = moving[moving["kind"] == "causal"]
    if moving.empty:
        return "Only policies with hindsight move models"
    if len(moving) == 1:
        return f"Only {_said(case, moving.iloc[0])}"
    least, most = (
        moving.iloc[int(place)]
        for place in (moving["updates"].to_numpy().argmin(), moving["updates"].to_numpy().argmax())
    )
    return f"{_said(case, most)}; {_said(case, least)}"


def _said(case: Case, row: pd.Series) -> str:
    reached = "" if np.isnan(row["ratio"]) else f" for {percent(row['ratio'])} of {case.label}"
    title = case.title(row)
    return f"{title} fetches {_size(float(row['updates']))} per slot{reached}"


def _size(megabytes: float) -> str:
    if megabytes < _GIGABYTE:
        return f"{number(megabytes, 3)} MB"
    return f"{number(megabytes / _GIGABYTE, 3)} GB"


def _updates_draw(case: Case) -> Figure:
    from matplotlib.ticker import FuncFormatter, SymmetricalLogLocator

    values = {
        name: running_mean(cast("IdnTrajectory", trajectory).fetched)
        for name, trajectory in case.trajectories.items()
    }
    highest = max(float(runs.mean(axis=0).max()) for runs in values.values())
    ends = -0.1 * _LINEAR, max(2 * highest, _LINEAR)
    figure = curves(case, values, "models fetched so far (MB per slot)", ends)
    for axes in figure.axes:
        axes.set_yscale("symlog", linthresh=_LINEAR, linscale=0.5)
        axes.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=_LINEAR))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    return figure


MODEL_UPDATES = Picture(
    "model_updates",
    _updates_title,
    _updates_draw,
    "Size of the models that all nodes together fetch per slot: mean over the slots so far and the "
    "runs on this instance; bands are the confidence interval, with fewer than five runs the "
    "range. The axis is logarithmic above 10 MB. Models fetched for the first slot do not count.",
)
