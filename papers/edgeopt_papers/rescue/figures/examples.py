"""Figures 1, 3 and 4: what reservations leave unused, a run in these gaps, curves of accuracy."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from edgeopt.instances.rescue import (
    RescueInstance,
    ReservedTasks,
    fit_log_profile,
    generate,
)
from edgeopt.studies.pictures.canvas import INK, PAPER, blank, colours, styles
from edgeopt.studies.wording import percent
from edgeopt_papers.figures import (
    CLOSE,
    NOT_COMPARABLE,
    InstanceSpec,
    PaperFigure,
    Published,
    found,
    means,
    said,
)
from edgeopt_papers.figures.aggregates import overall, unrolled, where
from edgeopt_papers.figures.drawing import curve, curves, legend_below, stacked
from edgeopt_papers.figures.jobs import evaluated, simulated
from edgeopt_papers.rescue.figures.profits import CAVEATS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.studies.results import Case
    from edgeopt.studies.sweeps import Job

_TASKS: Final = (6, 12, 18, 24, 30, 36)
_OVER: Final = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
_LEFT: Final = ("unused", "over_provisioned", "gaps", "pieces", "fragmentation")


def with_reservations(tasks: int, over: float, rng: int) -> NDArray[np.float64]:
    """Give tasks constant reservations, each in the first slot and on the first server that fit."""
    generator = np.random.default_rng(rng)
    reserved = np.zeros((4, 100))
    for _ in range(tasks):
        demand = generator.uniform(0.2, 0.6) * (1 + over)
        length = int(generator.integers(10, 41))
        start = int(generator.integers(0, 101 - length))
        fits = sliding_window_view(reserved, length, axis=1).max(axis=2) + demand <= 1 + 1e-9
        if fits.any():
            first = (start + int(np.roll(fits.any(axis=0), -start).argmax())) % fits.shape[1]
            reserved[fits[:, first].argmax(), first : first + length] += demand
    return reserved


def left_over(tasks: int, over: float, draws: int) -> Mapping[str, list[float]]:
    """Measure the free resources; a piece is a run of slots of a server at one free level."""
    measured = []
    for draw in range(draws):
        free = 1.0 - with_reservations(tasks, over, draw)
        sums = [
            piece.sum()
            for server in free
            for piece in np.split(server, np.flatnonzero(np.abs(np.diff(server)) > 1e-9) + 1)
        ]
        pieces = np.array([size for size in sums if size > 1e-9])
        split = 1.0 - pieces.max() / pieces.sum() if pieces.size else 0.0
        gaps, surplus = free.mean(), (1.0 - free.mean()) * over / (1 + over)
        measured.append((gaps + surplus, surplus, gaps, pieces.size, split))
    return dict(zip(_LEFT, np.transpose(measured).tolist(), strict=True))


def _reservations(quick: bool) -> list[Job]:
    jobs = partial(evaluated, left_over, draws=5 if quick else 100)
    return [
        *jobs({"tasks": _TASKS[-1:], "over": _OVER}, at={"sweep": "over"}),
        *jobs({"tasks": _TASKS, "over": [0.1]}, at={"sweep": "tasks"}),
    ]


def _left_rows(table: pd.DataFrame) -> pd.DataFrame:
    by = ("sweep", "tasks", "over")
    shares = [name for name in _LEFT if name != "pieces"]
    return means(unrolled(table, _LEFT, keep=by), _LEFT, by, shares=shares)


def _draw_left(rows: pd.DataFrame) -> Figure:
    figure = blank(height=3.4)
    left, right = figure.subplots(1, 2)
    own = where(rows, sweep="over")
    parts = {"gaps": "gaps between reservations", "over_provisioned": "over-provisioned"}
    stacked(left, own.assign(over=100 * own["over"]), "over", parts, 4.0, scale=100.0)
    left.set(xlabel="over-provisioning (%)", ylabel="unused (% of all resources)")
    style = styles([*parts, "fragmentation"])["fragmentation"]
    curve(right, where(rows, sweep="tasks"), "tasks", "fragmentation", style,
          label="share outside the largest piece")  # fmt: skip
    right.set(xlabel="reserved tasks", ylabel="fragmentation", ylim=(0, 1), xticks=_TASKS)
    sides = (axes.get_legend_handles_labels()[0] for axes in (left, right))
    legend_below(figure, chain.from_iterable(sides))
    return figure


_UNUSED: Final = found("unused", sweep="over", over=0.1)
_GAPS: Final = found("gaps", sweep="over", over=0.1)
_FEW: Final = found("fragmentation", sweep="tasks", tasks=min)
_MANY: Final = found("fragmentation", sweep="tasks", tasks=max)

FIGURE_1 = PaperFigure(
    number="1",
    title="unused resources: over-provisioning, gaps, and fragmentation",
    jobs=_reservations,
    rows=_left_rows,
    columns={
        "sweep": "Swept", "tasks": "Reserved tasks", "over": "Over-provisioning",
        "unused": "Unused", "over_provisioned": "Over-provisioned", "gaps": "Gaps",
        "pieces": "Pieces", "fragmentation": "Fragmentation",
    },
    percent=("over", "unused", "over_provisioned", "gaps"),
    draw=_draw_left,
    takeaway=said(
        "With 10\N{NO-BREAK SPACE}% over-provisioning {unused:0%} of all resources stay unused, "
        "{gaps:0%} as gaps; from 6 to 36 reserved tasks fragmentation goes from {few:.2f} to "
        "{many:.2f}",
        unused=_UNUSED, gaps=_GAPS, few=_FEW, many=_MANY,
    ),
    published=[
        Published(
            "unused resources at 10 % over-provisioning", 0.30, _UNUSED, percent=True, rule=CLOSE,
            why=said(CAVEATS["why"]["unused"], gaps=_GAPS),
        ),
        Published(
            "fragmentation over the number of reserved tasks", "escalates rapidly",
            said("{few:.2f} with 6 tasks, {many:.2f} with 36", few=_FEW, many=_MANY),
            rule=lambda rows: _MANY(rows).value >= 2.0 * _FEW(rows).value, met="at least twofold",
            why=said(CAVEATS["why"]["fragmentation"], few=_FEW),
        ),
    ],
    caveats=CAVEATS["figure 1"],
    caption="Left: 36 reserved tasks. Right: 10 % over-provisioning.",
)  # fmt: skip

_HORIZON: Final = 10
_CAPACITY: Final = 6.0
_TITLES: Final = {
    "none": "Reserved tasks alone",
    "rescue": "RESCUE, unguarded",
    "rescue+guard": "RESCUE, guarded",
}
_WORK: Final = {"reserved": "reserved tasks", "retraining": "retraining tasks"}


def example(retraining: bool) -> RescueInstance:
    """Return a server with the reserved task (0, 3, 6) and two more, and retraining tasks."""
    arrival = np.zeros((_HORIZON, 2))
    if retraining:
        arrival[1, 0] = 1.0
        arrival[2:, 1] = 0.2
    duration = np.zeros((2, 5))
    duration[0, :3] = 0.25, 0.5, 0.25
    duration[1, 2:] = 0.25, 0.5, 0.25
    profit = np.array([1.0, 1.5])[:, None, None] * np.log1p(np.arange(1.0, 6.0))
    return RescueInstance(
        arrival=arrival,
        duration=duration,
        capacity=np.full((1, _HORIZON), _CAPACITY),
        reserved=ReservedTasks(
            np.zeros(3, dtype=np.int64), np.array([0, 3, 7]), np.array([3, 6, 9]), np.full(3, 6.0)
        ),
        profit=np.broadcast_to(profit[None, :, None], (1, 2, 1, 1, 5)),
        beyond="drop",
    )


def work(case: Case) -> Mapping[str, Any]:
    """Return the mean work of each slot, and the mean number of reserved tasks that fail."""
    run: Any
    [run] = case.trajectories.values()
    means = {name: np.asarray(getattr(run, f"{name}_work")).mean(axis=0) for name in _WORK}
    failed = np.asarray(run.violations).sum(axis=1).mean()
    return {**{name: mean.tolist() for name, mean in means.items()}, "failed": float(failed)}


def _example_jobs(quick: bool) -> list[Job]:
    return [
        job
        for arrive, policies in ((False, ["rescue"]), (True, ["rescue", "rescue+guard"]))
        for job in simulated(
            "rescue", InstanceSpec.of(example, retraining=arrive), policies,
            runs=50 if quick else 2000, at={"arrive": arrive}, aggregate=work,
        )
    ]  # fmt: skip


def _work_rows(table: pd.DataFrame) -> pd.DataFrame:
    table = table.assign(policy=table["policy"].where(table["arrive"], "none"))
    rows = unrolled(table, list(_WORK), "slot", ["policy", "failed"])
    return rows[["policy", "slot", *_WORK, "failed"]]


def _use(rows: pd.DataFrame) -> dict[Any, float]:
    """Return the share of the server that each policy uses."""
    work = rows.groupby("policy")[list(_WORK)].mean().sum(axis=1)
    return dict(work / _CAPACITY)


def _gained(policy: str, rows: pd.DataFrame) -> float:
    use = _use(rows)
    return use[policy] - use["none"]


def _draw_work(rows: pd.DataFrame) -> Figure:
    figure, use = blank(height=4.6), _use(rows)
    panels = figure.subplots(len(_TITLES), 1, sharex=True, sharey=True)
    for axes, (policy, title) in zip(panels, _TITLES.items(), strict=True):
        own = where(rows, policy=policy)
        stacked(axes, own.assign(slot=own["slot"] + 0.5), "slot", _WORK, 0.92)
        axes.axhline(_CAPACITY, color=INK, linewidth=1)
        axes.set_title(f"{title}: {percent(use[policy], 0)} used", fontsize=9)
    panels[0].set(xlim=(0, _HORIZON), ylim=(0, 1.08 * _CAPACITY))
    panels[1].set_ylabel("mean work per slot (TMAC)")
    panels[-1].set_xlabel("slot")
    legend_below(figure, axes.get_legend_handles_labels()[0])
    return figure


FIGURE_3 = PaperFigure(
    number="3",
    title="an example: retraining in the gaps between three reserved tasks on one server",
    jobs=_example_jobs,
    rows=_work_rows,
    columns={
        "policy": "Policy", "slot": "Slot", "reserved": "Reserved work (TMAC)",
        "retraining": "Retraining (TMAC)", "failed": "Reserved tasks failed, of 3",
    },
    draw=_draw_work,
    takeaway=said(
        "Reserved tasks alone use {use[none]:0%} of the server, guarded RESCUE "
        "{use[rescue+guard]:0%}, unguarded RESCUE {use[rescue]:0%}, but then {failed:.2f} of 3 "
        "reserved tasks fail on average",
        use=_use, failed=overall("max", "failed", policy="rescue"),
    ),
    published=[
        Published("utilisation gained", 0.40, partial(_gained, policy), percent=True,
                  rule=NOT_COMPARABLE, setting=which)
        for which, policy in (("unguarded", "rescue"), ("guarded", "rescue+guard"))
    ],
    caveats=(CAVEATS["figure 3"],),
    caption="Mean work done in each slot; the line is the capacity. A task (s, e, d) needs d TMAC "
    "between slots s and e.",
)  # fmt: skip


_DEVICES: Final = {str(device): f"device {device}" for device in range(3)}
_PROFILE: Final = ("work", "measured", "fitted", "true")

_SPREAD: Final = 0.06
"""Standard deviation of a point around its curve, as a share of the largest gain."""


def scattered(device: str) -> Mapping[str, Any]:
    """Scatter points around the curve of a drawn device, and fit a curve to them."""
    place = int(device)
    profit: Any = generate(rng=0).profit
    work = np.arange(10.0, 161.0, 10.0)  # TMAC: up to 20 slots of 8
    true = profit.gain[place] * np.log1p(profit.curvature[place] * work)
    noise = np.random.default_rng((0, place)).normal(0.0, _SPREAD * true[-1], true.size)
    points = true + noise
    fit = fit_log_profile(work, points)
    fitted = fit.gain * np.log1p(fit.curvature * work)
    lists = (one.tolist() for one in (work, points, fitted, true))
    explained = 1.0 - fit.squared_error / float(((points - points.mean()) ** 2).sum())
    return {**dict(zip(_PROFILE, lists, strict=True)), "explained": explained}


def _draw_fits(rows: pd.DataFrame) -> Figure:
    figure = curves(
        rows, "work", {"fitted": "gain in accuracy (percentage points)"}, titles=_DEVICES,
        series="device", xlabel="work U (TMAC)", scale=100.0, zero=True,
    )  # fmt: skip
    for device, shade in colours(_DEVICES).items():
        own = where(rows, device=device)
        figure.axes[0].plot(own["work"], 100 * own["measured"], "o", markersize=5, color=shade,
                            markerfacecolor=PAPER)  # fmt: skip
    return figure


def _away(rows: pd.DataFrame) -> float:
    """Return the largest distance of a fitted curve from the true one, as a share of its top."""
    largest = rows.groupby("device")["true"].transform("max")
    return float(((rows["fitted"] - rows["true"]).abs() / largest).max())


_EXPLAINED: Final = overall("min", "explained")

FIGURE_4 = PaperFigure(
    number="4",
    title="resource-to-performance profiles: gain in accuracy over the work of a retraining run",
    jobs=lambda _quick: evaluated(scattered, {"device": _DEVICES}),
    rows=lambda table: unrolled(table, _PROFILE, keep=["device", "explained"])[
        ["device", *_PROFILE, "explained"]
    ],
    columns={
        "device": "Device", "work": "Work (TMAC)", "measured": "Gain, scattered",
        "fitted": "Gain, fitted", "true": "Gain, true curve", "explained": "Variation explained",
    },
    percent=("measured", "fitted", "true", "explained"),
    draw=_draw_fits,
    takeaway=said(
        "A logarithmic curve explains at least {least:0%} of the variation of a device's points "
        "and lies within {away:%} of the true curve",
        least=_EXPLAINED, away=_away,
    ),
    published=[
        Published("non-negative least squares fit of a log(1 + b U)", "one example, no figures",
                  said("explains at least {least:%} of the variation", least=_EXPLAINED)),
    ],
    caveats=[
        "The paper's measurements are not public, nor are others of accuracy over work. "
        "Here points are scattered around the curves of three devices, drawn as in the other "
        f"figures, with a standard deviation of {100 * _SPREAD:.0f} % of the largest gain."
    ],
    caption="Circles: points. Lines: curves a log(1 + b U) fitted to them.",
)  # fmt: skip
