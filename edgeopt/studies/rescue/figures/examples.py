"""Figures 1, 3 and 4: what reservations leave, a run in between, and curves of accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.rescue import RescueInstance, ReservedTasks, fit_log_profile, generate
from edgeopt.studies.figures import InstanceSpec, PaperFigure, Published, found, means, said
from edgeopt.studies.figures.drawing import curves
from edgeopt.studies.figures.reading import overall, unrolled, where
from edgeopt.studies.pictures.canvas import BAND, INK, PAPER, blank, colours
from edgeopt.studies.rescue.figures.setting import compared
from edgeopt.studies.sweeps import Cell
from edgeopt.studies.wording import percent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.studies.result import Case

_SERVERS: Final = 4
_SLOTS: Final = 100
_LEVEL: Final = (0.2, 0.6)
"""Load of a task, as a share of a server's capacity."""

_LENGTH: Final = (10, 40)
"""Slots that a task lasts."""

_OVER: Final = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
_TASKS: Final = (6, 12, 18, 24, 30, 36)
_LEFT: Final = ("unused", "over_provisioned", "gaps", "pieces", "fragmentation")


def placed(
    tasks: int, over: float, rng: int | np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give tasks constant reservations, each on the first server and slot that fit."""
    generator = np.random.default_rng(rng)
    load, reserved = (np.zeros((_SERVERS, _SLOTS)) for _ in range(2))
    for _ in range(tasks):
        level = generator.uniform(*_LEVEL)
        length = int(generator.integers(_LENGTH[0], _LENGTH[1] + 1))
        requested_rounds = int(generator.integers(0, _SLOTS - length + 1))
        for first in [*range(requested_rounds, _SLOTS - length + 1), *range(requested_rounds)]:
            window = slice(first, first + length)
            fits = (reserved[:, window] + level * (1 + over) <= 1 + 1e-9).all(axis=1)
            if fits.any():
                server = int(fits.argmax())
                load[server, window] += level
                reserved[server, window] += level * (1 + over)
                break
    return load, reserved


def _pieces(free: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sizes of what is free in one piece: slots of a server at one level."""
    sizes = []
    for server in free:
        ends = np.flatnonzero(np.abs(np.diff(server)) > 1e-9) + 1
        sizes += [float(piece.sum()) for piece in np.split(server, ends)]
    return np.array([size for size in sizes if size > 1e-9])


def _left(tasks: int, over: float, draws: int) -> Mapping[str, list[float]]:
    figures = []
    for draw in range(draws):
        load, reserved = placed(tasks, over, draw)
        pieces = _pieces(1.0 - reserved)
        used, promised = float(load.mean()), float(reserved.mean())
        split = 1.0 - float(pieces.max() / pieces.sum()) if pieces.size else 0.0
        figures.append((1.0 - used, promised - used, 1.0 - promised, float(pieces.size), split))
    return dict(zip(_LEFT, map(list, zip(*figures, strict=True)), strict=True))


def _reservations(quick: bool) -> list[Cell]:
    places = [("over", _TASKS[-1], over) for over in _OVER]
    places += [("tasks", tasks, 0.1) for tasks in _TASKS]
    draws = 5 if quick else 100
    model = {"model": [_SERVERS, _SLOTS, *_LEVEL, *_LENGTH], "reading": __name__}
    return [
        Cell({"sweep": sweep, "tasks": tasks, "over": over, "draws": draws, **model},
             _left, (tasks, over, draws))
        for sweep, tasks, over in places
    ]  # fmt: skip


def _left_rows(table: pd.DataFrame) -> pd.DataFrame:
    by = ("sweep", "tasks", "over")
    shares = [name for name in _LEFT if name != "pieces"]
    return means(unrolled(table, _LEFT, keep=by), _LEFT, by, shares=shares)


def _draw_left(rows: pd.DataFrame) -> Figure:
    figure = blank(height=3.4)
    left, right = figure.subplots(1, 2)
    shades = colours(["over_provisioned", "gaps", "fragmentation"])
    own = where(rows, sweep="over")
    parts = {"gaps": "gaps between reservations", "over_provisioned": "over-provisioned"}
    left.stackplot(
        100 * own["over"], *(100 * own[name] for name in parts), labels=list(parts.values()),
        colors=[shades[name] for name in parts], alpha=0.75, linewidth=0,
    )  # fmt: skip
    left.set_xlabel("over-provisioning (%)")
    left.set_ylabel("unused (% of all resources)")
    left.set_xlim(100 * min(_OVER), 100 * max(_OVER))
    own = where(rows, sweep="tasks")
    shade = shades["fragmentation"]
    right.plot(own["tasks"], own["fragmentation"], marker="o", markersize=4.5, color=shade,
               label="share outside the largest piece")  # fmt: skip
    ends = (own[f"fragmentation_{end}"] for end in ("low", "high"))
    right.fill_between(own["tasks"], *ends, alpha=BAND, linewidth=0, color=shade)
    right.set_ylim(0, 1)
    right.set_xticks(_TASKS)
    right.set_xlabel("reserved tasks")
    right.set_ylabel("fragmentation")
    figure.legend(loc="outside lower center", ncols=3)
    return figure


_USUAL: Final[dict[str, Any]] = {"sweep": "over", "over": 0.1}
_FEW: Final = found("fragmentation", sweep="tasks", tasks=min)
_MANY: Final = found("fragmentation", sweep="tasks", tasks=max)

FIGURE_1 = PaperFigure(
    number="1",
    title="resources left by over-provisioning and by gaps, and how fragmented they are",
    cells=_reservations,
    rows=_left_rows,
    columns={
        "sweep": "Swept", "tasks": "Reserved tasks", "over": "Over-provisioning",
        "unused": "Unused", "over_provisioned": "of it over-provisioned", "gaps": "of it gaps",
        "pieces": "Pieces", "fragmentation": "Fragmentation",
    },
    draw=_draw_left,
    takeaway=said(
        "With {over:0%} over-provisioning {unused:0%} of all resources are unused, {gaps:0%} as "
        "gaps; from 6 to 36 reserved tasks fragmentation goes from {few:.2f} to {many:.2f}",
        over=0.1,
        unused=found("unused", **_USUAL),
        gaps=found("gaps", **_USUAL),
        few=_FEW,
        many=_MANY,
    ),
    published=[
        Published("unused resources at 10 % over-provisioning", 0.30, found("unused", **_USUAL),
                percent=True),
        Published(
            "fragmentation with the number of reserved tasks", "escalates rapidly",
            said(
                "{how}: {few:.2f} with 6, {many:.2f} with 36", few=_FEW, many=_MANY,
                how=lambda rows: "grows" if _MANY(rows) > _FEW(rows) else "does not grow",
            ),
        ),
    ],
    caveats=[
        "The paper does not describe its simulation. Here tasks with loads of 20 to 60 % of a "
        "server and of 10 to 40 slots ask one after the other for a constant reservation, on 4 "
        "servers over 100 slots; each gets the first place that fits, from the slot it wishes.",
        "Fragmentation is not defined there: here the share of what is not reserved that lies "
        "outside the largest piece, a piece being slots of one server with one level of free "
        "capacity.",
        "In full size means over 100 draws.",
    ],
    percent=("over", "unused", "over_provisioned", "gaps"),
    caption="Left: 36 tasks ask. Right: 10 % over-provisioning; mean with interval.",
)  # fmt: skip

_HORIZON: Final = 10
_CAPACITY: Final = 6.0
_NONE: Final = "none"
_TITLES: Final = {
    _NONE: "Reserved tasks alone",
    "rescue": "RESCUE, unguarded",
    "rescue+guard": "RESCUE, guarded",
}


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


def read_work(case: Case, policy: str) -> Mapping[str, Any]:
    """Return the mean work of every slot."""
    run: Any = case.trajectories[policy]
    return {
        "reserved": np.asarray(run.reserved_work).mean(axis=0).tolist(),
        "retraining": np.asarray(run.retraining_work).mean(axis=0).tolist(),
        "failed": float(np.asarray(run.violations).sum(axis=1).mean()),
    }


def _example_cells(quick: bool) -> list[Cell]:
    return [
        compared(InstanceSpec.of(example, retraining=arrive), policies, runs=50 if quick else 2000,
                 at={"arrive": arrive}, reading=read_work)
        for arrive, policies in ((False, ["rescue"]), (True, list(_TITLES)[1:]))
    ]  # fmt: skip


def _work(table: pd.DataFrame) -> pd.DataFrame:
    table = table.explode(["policy", "reserved", "retraining", "failed"], ignore_index=True)
    table["policy"] = table["policy"].where(table["arrive"], _NONE)
    rows = unrolled(table, ("reserved", "retraining"), "slot", ("policy", "failed"))
    return rows[["policy", "slot", "reserved", "retraining", "failed"]].astype({"failed": float})


def _used(policy: str) -> Callable[[pd.DataFrame], float]:
    """Return what reads the share of the server that is used."""
    both = [overall("mean", name, policy=policy) for name in ("reserved", "retraining")]
    return lambda rows: sum(read(rows) for read in both) / _CAPACITY


def _gained(policy: str) -> Callable[[pd.DataFrame], float]:
    return lambda rows: _used(policy)(rows) - _used(_NONE)(rows)


def _draw_work(rows: pd.DataFrame) -> Figure:
    from matplotlib.patches import Patch

    figure = blank(height=4.6)
    panels = figure.subplots(len(_TITLES), 1, sharex=True, sharey=True)
    shades = colours(["reserved", "retraining"])
    for axes, (policy, title) in zip(panels, _TITLES.items(), strict=True):
        own = where(rows, policy=policy)
        bottom = np.zeros(len(own))
        for name, shade in shades.items():
            axes.bar(own["slot"] + 0.5, own[name], 0.92, bottom=bottom, color=shade, alpha=0.85)
            bottom = bottom + own[name].to_numpy()
        axes.axhline(_CAPACITY, color=INK, linewidth=1)
        axes.set_title(f"{title}: {percent(_used(policy)(rows), 0)} used", fontsize=9)
    panels[0].set_ylim(0, 1.08 * _CAPACITY)
    panels[0].set_xlim(0, _HORIZON)
    panels[1].set_ylabel("mean work per slot (TMAC)")
    panels[-1].set_xlabel("slot")
    handles = [Patch(color=shade, alpha=0.85, label=f"{name} tasks")
               for name, shade in shades.items()]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


FIGURE_3 = PaperFigure(
    number="3",
    title="an example: a retraining run in what three reserved tasks leave of a server",
    cells=_example_cells,
    rows=_work,
    columns={
        "policy": "Policy",
        "slot": "Slot",
        "reserved": "Reserved work (TMAC)",
        "retraining": "Retraining (TMAC)",
        "failed": "Reserved tasks failed, of 3",
    },
    draw=_draw_work,
    takeaway=said(
        "Reserved tasks use {none:0%} of the server, with RESCUE {guarded:0%} are used where a "
        "guard keeps them, {free:0%} where none does and {failed:.2f} of 3 fail",
        none=_used(_NONE),
        guarded=_used("rescue+guard"),
        free=_used("rescue"),
        failed=overall("max", "failed", policy="rescue"),
    ),
    published=[
        Published(f"utilisation gained, {which}", 0.40, _gained(policy), percent=True)
        for which, policy in (("unguarded", "rescue"), ("guarded", "rescue+guard"))
    ],
    caveats=[
        "Of the example only the reserved task (0, 3, 6) is described, and that a retraining task "
        "arrives in slot 1. Chosen here: 10 slots of 6 TMAC, reserved tasks (3, 6, 6) and "
        "(7, 9, 6), runs of 1 to 3 or of 3 to 5 slots, and more valuable tasks that arrive later "
        "with probability 0.2 per slot. So the size of our gain says nothing about the printed one."
    ],
    caption="Mean over the runs of what is done in each slot; the line is the capacity. A task "
    "(s, e, d) needs d TMAC between slots s and e.",
)

_POINTS: Final = tuple(range(10, 161, 10))
"""Work of the points, TMAC: up to 20 slots of 8."""

_SPREAD: Final = 0.06
"""Standard deviation of a point around its curve, as a share of the largest gain."""

_PROFILE: Final = ("work", "measured", "fitted", "true")


def _fit(device: int, draw: int) -> Mapping[str, Any]:
    """Scatter points around the curve of a drawn device, and fit a curve to them."""
    profit: Any = generate(rng=draw).profit
    work = np.array(_POINTS, dtype=float)
    true = profit.gain[device] * np.log1p(profit.curvature[device] * work)
    noise = np.random.default_rng((draw, device)).normal(0.0, _SPREAD * true[-1], true.size)
    points = true + noise
    fit = fit_log_profile(work, points)
    fitted = fit.gain * np.log1p(fit.curvature * work)
    lists = (one.tolist() for one in (work, points, fitted, true))
    variation = float(((points - points.mean()) ** 2).sum())
    explained = 1.0 - fit.squared_error / variation
    return {**dict(zip(_PROFILE, lists, strict=True)), "explained": explained}


def _fits(_quick: bool) -> list[Cell]:
    points = {"work": list(_POINTS), "spread": _SPREAD, "reading": __name__}
    return [Cell({"device": device, "draw": 0, **points}, _fit, (device, 0)) for device in range(3)]


def _fitted(table: pd.DataFrame) -> pd.DataFrame:
    rows = unrolled(table, _PROFILE, keep=("device", "explained"))
    return rows[["device", *_PROFILE, "explained"]].astype({"device": str})


def _draw_fits(rows: pd.DataFrame) -> Figure:
    titles = {device: f"device {device}" for device in rows["device"].unique()}
    figure = curves(
        rows, "work", {"fitted": "gain in accuracy (percentage points)"}, titles=titles,
        series="device", xlabel="work U (TMAC)", scale=100.0, zero=True,
    )  # fmt: skip
    for device, shade in colours(titles).items():
        own = where(rows, device=device)
        figure.axes[0].plot(own["work"], 100 * own["measured"], "o", markersize=5, color=shade,
                            markerfacecolor=PAPER)  # fmt: skip
    return figure


def _away(rows: pd.DataFrame) -> float:
    """Return how far a fitted curve is from the true one at most, as a share of its largest."""
    largest = rows.groupby("device")["true"].transform("max")
    return float(((rows["fitted"] - rows["true"]).abs() / largest).max())


_EXPLAINED: Final = overall("min", "explained")

FIGURE_4 = PaperFigure(
    number="4",
    title="resource-to-performance profiling: gain in accuracy over the work of a retraining run",
    cells=_fits,
    rows=_fitted,
    columns={
        "device": "Device", "work": "Work (TMAC)", "measured": "Gain, scattered",
        "fitted": "Gain, fitted", "true": "Gain, behind the points",
        "explained": "Variation explained",
    },
    draw=_draw_fits,
    takeaway=said(
        "A logarithmic curve explains {least:0%} or more of how the points of a device vary, and "
        "lies within {away:%} of the curve behind them",
        least=_EXPLAINED,
        away=_away,
    ),
    published=[
        Published(
            "non-negative least squares fit of a log(1 + b U)", "one example, no figures",
            said(
                "explains {least:3} % of the variation of points or more",
                least=lambda rows: 100 * _EXPLAINED(rows),
            ),
        )
    ],
    caveats=[
        "The paper's measurements are not public, nor are others of accuracy over work. The points "
        "are scattered around the curves of three devices that are drawn as in the other figures, "
        f"with a standard deviation of {100 * _SPREAD:.0f} % of the largest gain."
    ],
    percent=("measured", "fitted", "true", "explained"),
    caption="Circles: points. Lines: curves a log(1 + b U) fitted to them.",
)  # fmt: skip
