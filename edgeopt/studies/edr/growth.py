"""How regret and fit grow with the horizon, on the same sites for fewer frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt import processes
from edgeopt.bounds.growth import Growth, growth_exponent
from edgeopt.bounds.regret import dynamic_fit, dynamic_regret
from edgeopt.errors import OptionError
from edgeopt.solvers.tolerance import LOOSE
from edgeopt.studies.edr.log import simulated
from edgeopt.studies.edr.policies import FRAMEWISE
from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures.canvas import MUTED, blank, lead, legend, line, policy_looks
from edgeopt.studies.wording import interval, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr import EdrEnvironment, EdrTrajectory
    from edgeopt.studies.results import Case

_POINTS = 5
_SHARE = 8


class Losses(NamedTuple):
    """Losses of a policy over several horizons, shape [n] each.

    Regret is the cost beyond that of the best plan of every frame by itself; fit, the norm of the
    rounds by which tasks lag behind their even rates at the end.
    """

    regret: NDArray[np.float64]
    fit: NDArray[np.float64]


def horizons(frames: int) -> NDArray[np.int64]:
    """Return up to five horizons, from an eighth of the frames to all of them."""
    points = np.geomspace(max(1.0, frames / _SHARE), frames, _POINTS)
    return np.unique(points.round().astype(np.int64))


def cut(instance: EdrInstance, frames: int) -> EdrInstance:
    """Return the first frames of an instance; tasks whose window is cut keep their even rate."""
    if frames >= instance.frames:
        return instance
    here = instance.arrival < frames
    deadline = np.minimum(instance.deadline[here], frames - 1)
    window = deadline - instance.arrival[here] + 1
    # Exact in whole numbers, where a rounded rate could need a round too many.
    rounds = -(-instance.rounds[here] * window // instance.window[here])
    per_task = ("arrival", "server", "local_steps", "step_work", "aggregation_work", "model_size")
    per_frame = ("cap", "price", "requests", "propagation", "slo", "rate")
    kind = None if instance.task_kind is None else instance.task_kind[here]
    return instance.replace(
        **{name: getattr(instance, name)[here] for name in (*per_task, "client")},
        **{name: getattr(instance, name)[:frames] for name in per_frame},
        power=instance.power[:frames],
        deadline=deadline,
        rounds=rounds,
        task_kind=kind,
    )


def lost(
    instance: EdrInstance, trajectory: EdrTrajectory, best: NDArray[np.float64]
) -> tuple[float, float]:
    """Return regret and fit of a policy over all frames of an instance."""
    paid = (trajectory.cost + trajectory.unserved_cost).mean(axis=0)
    rate = np.where(instance.active, instance.even_rate, 0.0)
    lag = rate - trajectory.rounds.mean(axis=0)
    fit = dynamic_fit(lag).value
    # Whole rounds less a sum of rates: what is left by rounding is no lag.
    return dynamic_regret(paid, best).value, fit if fit > LOOSE else 0.0


def losses(case: Case) -> tuple[NDArray[np.int64], dict[str, Losses]]:
    """Return the horizons and what every policy loses over each of them."""
    instance: EdrInstance = case.instance
    lengths = horizons(instance.frames)
    shorter = [cut(instance, frames) for frames in lengths[:-1].tolist()]
    record, seed = case.system, case.settings.seed
    with processes.pool(case.settings.workers) as pool:
        framewise = record.offline.bounds[FRAMEWISE].compute
        solved = list(pool((framewise, (given,)) for given in shorter))
        ran = list(
            pool(
                (_simulate, (record.policies.environment(given), policy, seed))
                for given in shorter
                for policy in case.policies.values()
            )
        )
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in case.trajectories}
    trajectories = iter(ran)
    for given, benchmark in zip(shorter, solved, strict=True):
        for rows in found.values():
            rows.append(lost(given, next(trajectories), benchmark.plan.cost))
    best = case.benchmarks[FRAMEWISE].plan.cost
    for name, trajectory in simulated(case).items():
        found[name].append(lost(instance, trajectory, best))
    return lengths, {name: Losses(*np.array(rows).T) for name, rows in found.items()}


def _simulate(environment: EdrEnvironment, policy: Any, seed: int) -> EdrTrajectory:
    """Simulate the first run; horizons differ more than runs do."""
    from edgeopt.online import simulate

    return simulate(environment, policy, rng=seed, runs=1)


def exponent(
    lengths: NDArray[np.int64], values: NDArray[np.float64], confidence: float
) -> Growth | None:
    """Fit a power of the horizon to the positive values; None if there are fewer than three."""
    try:
        return growth_exponent(lengths, values, confidence=confidence, skip=True)
    except OptionError:
        return None


_NOTHING = 1e-9
"""What counts as zero."""

_DASHED = (0, (2.0, 1.5))


def _title(case: Case) -> str:
    lengths, found = case.once(losses)
    name = lead(case)
    said = []
    for what, values in found[name]._asdict().items():
        growth = exponent(lengths, values, case.settings.confidence)
        if growth is not None:
            said.append(
                f"its {what} grows like T to the power of {number(growth.exponent, 2)} "
                f"({interval(growth.low, growth.high, digits=2)})"
            )
        elif abs(values[-1]) <= _NOTHING:
            said.append(f"its {what} is zero in the end")
        else:
            said.append(f"its {what} is {number(float(values[-1]), 3)} in the end")
    title = case.entries[name].title
    return f"{title} over up to {lengths[-1]} frames: {' and '.join(said)}"


def _draw(case: Case) -> Figure:
    lengths, found = case.once(losses)
    looks = policy_looks(case)
    figure = blank(height=3.5 + 0.1 * len(found))
    panels = figure.subplots(1, 2)
    handles = []
    for name, losses_of in found.items():
        entry = case.entries[name]
        shade = looks[name].colour
        slopes = []
        for axes, values in zip(panels, losses_of, strict=True):
            _line(axes, lengths, values, shade)
            growth = exponent(lengths, values, case.settings.confidence)
            slopes.append(number(None if growth is None else growth.exponent, 2))
        handles.append(line(f"{entry.title} ({', '.join(slopes)})", shade, linewidth=3))
    for axes, what in zip(panels, ("regret (points)", "fit (rounds)"), strict=True):
        if not any(np.isfinite(drawn.get_ydata()).any() for drawn in axes.lines):
            axes.set_ylim(0.1, 10)  # all are zero: an axis without a curve
        _frame(axes, lengths)
        axes.set_ylabel(what)
    handles += [
        line("slope 1: linear", MUTED, linestyle=":"),
        line("negative, its magnitude", linestyle=_DASHED),
    ]
    legend(figure, handles, columns=2)
    return figure


def _line(axes: Axes, lengths: NDArray[np.int64], values: NDArray[np.float64], shade: str) -> None:
    """Draw magnitudes, since a logarithmic axis has no negative values."""
    for sign, style in ((1, "-"), (-1, _DASHED)):
        side = np.where(sign * values > _NOTHING, sign * values, np.nan)
        axes.plot(lengths, side, "o", color=shade, markersize=3.5)
        axes.plot(lengths, side, color=shade, linewidth=1.5, linestyle=style)


def _frame(axes: Axes, lengths: NDArray[np.int64]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(lengths.tolist()))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("frames T")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    low, high = axes.get_ylim()
    first, last = float(lengths[0]), float(lengths[-1])
    middle = float(np.sqrt(low * high / (first * last)))
    axes.plot([first, last], [middle * first, middle * last], color=MUTED, linestyle=":", zorder=1)
    axes.set_ylim(low, high)


GROWTH = Picture(
    "growth",
    _title,
    _draw,
    "Every policy runs anew on the first T frames; a task whose window is cut keeps its even rate. "
    "Regret: cost without late training, less that of the best plan of every frame by itself, "
    "which trains each task at its even rate as far as the cap allows. Fit: norm of the rounds by "
    "which tasks lag behind at the end. In brackets: the exponents of T for regret and fit, fitted "
    "to positive values where there are at least three, and valid for these horizons only. A fit "
    "of zero is not drawn. Regret is negative if a policy does less than the comparator, or does "
    "it at better times.",
)
