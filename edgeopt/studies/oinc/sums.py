"""The weighted scaled sum of an OINC study: its parts, and the bounds on them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.solvers.tolerance import LOOSE
from edgeopt.studies.entries import Picture
from edgeopt.studies.oinc.log import Parts, simulated
from edgeopt.studies.oinc.policies import GAP, apart
from edgeopt.studies.pictures import canvas
from edgeopt.studies.pictures.canvas import INK, MUTED, blank, lead
from edgeopt.studies.sentences import ONLY_HINDSIGHT
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc import OincTrajectory
    from edgeopt.studies.results import Case

    Floats = NDArray[np.float64]


class Proof(NamedTuple):
    """The weighted scaled sum of the first run of a policy, and bounds on it.

    One with the shares that the run kept for jobs, and one with all CPUs for either kind. `slots`
    has the relative gap of the latencies of each slot to their bound with the shares kept,
    shape [T]; NaN where there are no requests.
    """

    value: Parts
    shared: Parts
    alone: Parts
    slots: Floats


def slot_bounds(instance: OincInstance, trajectory: OincTrajectory) -> Floats:
    """Bound the latencies of every slot of the first run, given the shares kept for jobs.

    The bound is over all plans that answer the requests that were answered and meet the objectives
    that were met, up to rounding.
    """
    from edgeopt.models.oinc.slot import slot_problem
    from edgeopt.models.oinc.slot.columns import slot_bound

    bounds = np.zeros(instance.slots)
    answered, met = ~trajectory.refused[0], trajectory.met[0]
    ends = np.searchsorted(trajectory.slot, np.arange(instance.slots + 1))
    for slot in np.flatnonzero(np.diff(ends)).tolist():
        mine = slice(ends[slot], ends[slot + 1])
        here = answered[mine]
        if not here.any():
            continue
        whole = slot_problem(instance, slot, trajectory.reserved[0, slot])
        problem = replace(
            whole,
            transmission=whole.transmission[here],
            computation=whole.computation[here],
            slo=np.where(met[mine], (1.0 + LOOSE) * whole.slo, np.inf)[here],
            weight=whole.weight[here],
            device=whole.device[here],
        )
        bounds[slot] = slot_bound(problem, objectives=True, gap=GAP).value
    return bounds


def retraining_at(instance: OincInstance, share: Floats) -> float:
    """Bound the weighted completion times of all jobs when sites keep at most these shares."""
    from edgeopt.models.oinc.retraining import flow_bound, retraining_problem

    if not instance.jobs:
        return 0.0
    least = flow_bound(retraining_problem(instance, share)).value
    return least + float(instance.weight @ instance.arrival)


def proof(case: Case) -> Proof:
    """Return what is proven about the policy that a study shows in detail."""
    instance: OincInstance = case.instance
    trajectory = simulated(case)[lead(case)]
    value = Parts(*(part[:1] for part in trajectory.scaled_parts()))
    per_request, per_job = instance.scaled_units
    alone = apart(case)
    bounds = slot_bounds(instance, trajectory)
    latency = np.bincount(trajectory.slot, trajectory.counted_latency[0], instance.slots)
    refused = np.bincount(trajectory.slot[trajectory.refused[0]], minlength=instance.slots)
    # Refused requests count as in the run.
    bounds = bounds + refused * instance.refusal_latency
    gaps = np.divide(latency, bounds, out=np.full(instance.slots, np.nan), where=bounds > 0)
    inference = float(bounds @ instance.request_weight) / per_request
    retraining = 0.0
    # Jobs that are never complete count with the end of the run, which has no bound.
    if instance.jobs and trajectory.complete[0].all():
        largest = trajectory.reserved[0].max(axis=0)
        retraining = retraining_at(instance, largest) / per_job
    else:
        alone = Parts(alone.inference, np.zeros(()))
    shared = Parts(np.maximum(inference, alone.inference), np.maximum(retraining, alone.retraining))
    return Proof(value, shared, alone, np.maximum(gaps - 1.0, 0.0))


_ALONE, _SHARING, _OPEN = "#009e73", "#b9c0c8", "#d55e00"
_ON_GREY = "#1a1a1a"
"""Of text on grey bars, which are as light on dark paper as on white."""


def _segments(found: Proof) -> dict[str, tuple[float, float, float]]:
    """Split the sum of each kind into shares: needed alone, needed by sharing, not proven."""
    split = {}
    for place, kind in enumerate(("latencies", "completion times")):
        value = float(found.value[place][0])
        if value > 0:
            alone = float(found.alone[place]) / value
            shared = float(found.shared[place]) / value
            split[kind] = (alone, shared - alone, 1.0 - shared)
    return split


def _gaps_title(case: Case) -> str:
    found = case.once(proof)
    title = case.entries[lead(case)].title
    split = _segments(found)
    if not split:
        return "There are no requests and no jobs"
    said = [
        f"nothing is proven about its {kind}"
        if alone == 0.0 and left == 1.0
        else f"at most {percent(left)} of its {kind} could be saved"
        for kind, (alone, _, left) in split.items()
    ]
    return f"Given the CPU that {title} keeps for jobs, {' and '.join(said)}"


def _gaps_draw(case: Case) -> Figure:
    found = case.once(proof)
    figure = blank(height=4.1)
    above, below = figure.subplots(2, 1, height_ratios=(1.5, 1))
    _slots(above, found.slots)
    _bars(below, _segments(found))
    handles = [
        canvas.patch("needed with all CPUs", color=_ALONE, alpha=0.85),
        canvas.patch("needed with the shares kept", color=_SHARING),
        canvas.patch("may be saved", color=_OPEN),
    ]
    canvas.legend(figure, handles, columns=3)
    return figure


def _slots(axes: Axes, gaps: NDArray[np.float64]) -> None:
    edges = np.arange(gaps.size + 1)
    shown = 100 * np.nan_to_num(gaps, nan=0.0)
    axes.stairs(shown, edges, fill=True, color=_OPEN, alpha=0.85, linewidth=0)
    some = shown[np.isfinite(gaps)]
    if some.size:
        mean = float(some.mean())
        axes.axhline(mean, color=INK, linewidth=1, linestyle=(0, (3, 2)))
        canvas.in_margin(axes, mean, f"mean {number(mean, 2)} %", away=4)
    axes.set_xlim(0, gaps.size)
    axes.set_ylim(0, 1.1 * float(shown.max(initial=0.0)) or 1.0)
    axes.set_xlabel("slot (s)")
    axes.set_ylabel("latencies above\ntheir bound (%)")


def _bars(axes: Axes, split: dict[str, tuple[float, float, float]]) -> None:
    places = np.arange(len(split))
    start = np.zeros(len(split))
    for place, colour in enumerate((_ALONE, _SHARING, _OPEN)):
        width = 100 * np.array([shares[place] for shares in split.values()])
        axes.barh(
            places, width, 0.62, left=start, color=colour, alpha=0.85 if place == 0 else 1.0,
            linewidth=0,
        )  # fmt: skip
        for row, (left, wide) in enumerate(zip(start, width, strict=True)):
            if wide >= 6:
                axes.annotate(
                    f"{wide:.1f}", xy=(left + wide / 2, row), ha="center", va="center",
                    fontsize=8, color="white" if place != 1 else _ON_GREY,
                )  # fmt: skip
        start = start + width
    canvas.in_rows(axes, list(split))
    axes.set_xlim(0, 100)
    axes.spines["left"].set_color(MUTED)
    axes.set_xlabel("share of the sum (%)")


GAPS = Picture(
    "gaps",
    _gaps_title,
    _gaps_draw,
    "The first run. Above: gap of the latencies of every slot to a certified bound, over all plans "
    "that answer the same requests, meet the same objectives and keep the same CPU for jobs. "
    "Below: what either kind needs with all CPUs, what it needs in addition with the shares kept "
    "(for jobs: with the largest share that a site ever kept, all the time), and the rest, which "
    "is the most that another plan could save at these shares.",
)


_INFERENCE, _RETRAINING = "#0072b2", "#e69f00"
_DASHED = (0, (2, 2))


def _weighted_title(case: Case) -> str:
    best, kept = case.best(), case.best(kept=True)
    if best is None:
        return ONLY_HINDSIGHT
    said = f"{case.title(best)} has the least {case.objective.name}, {number(best['value'])}"
    if case.benchmark.bound > 0:
        said += f", {percent(best['ratio'] - 1)} above the bound"
    said += case.standings.price(str(best["policy"]))
    if kept is not None and kept["policy"] != best["policy"]:
        said += (
            f"; {case.title(kept)} has the least without a missed {case.constraint.name}, "
            f"{number(kept['value'])}"
        )
    return said


def _weighted_draw(case: Case) -> Figure:
    found = {name: Parts(*runs.scaled_parts()) for name, runs in simulated(case).items()}
    least = apart(case)
    figure = blank(height=1.25 + 0.25 * (len(found) + 1))
    axes = figure.subplots()
    rows = [least, *found.values()]
    places = np.arange(len(rows))
    inference, retraining = (
        np.array([float(np.mean(part)) for part in column])
        for column in ([one.inference for one in rows], [one.retraining for one in rows])
    )
    light = np.where(places == 0, 0.45, 0.9)
    for widths, starts, colour in (
        (inference, 0 * inference, _INFERENCE),
        (retraining, inference, _RETRAINING),
    ):
        bars = axes.barh(places, widths, 0.7, left=starts, color=colour, linewidth=0)
        for bar, opacity in zip(bars, light, strict=True):
            bar.set_alpha(float(opacity))
    total = inference + retraining
    axes.axvline(float(total[0]), color=INK, linewidth=1.2)
    axes.axvline(float(inference[0]), color=INK, linewidth=1.0, linestyle=_DASHED)
    for place, value in zip(places, total, strict=True):
        canvas.in_margin(axes, float(place), number(float(value), 4))
    labels = ["bound, each apart", *(case.entries[name].title for name in found)]
    canvas.in_rows(axes, labels)
    axes.spines["left"].set_color(MUTED)
    instance = case.instance
    axes.set_xlabel(
        f"{case.objective.name}: mean latency / {instance.latency_scale:g} s + "
        f"mean completion time / {instance.completion_scale:g} s"
    )
    handles = [
        canvas.patch("mean latency", color=_INFERENCE, alpha=0.9),
        canvas.patch("mean completion time", color=_RETRAINING, alpha=0.9),
        canvas.line("bound on latency", linewidth=1.0, linestyle=_DASHED),
        canvas.line("bound on both", linewidth=1.2),
    ]
    canvas.legend(figure, handles, columns=4)
    return figure


WEIGHTED = Picture(
    "weighted",
    _weighted_title,
    _weighted_draw,
    "The measure by which policies are compared, and its two parts: weighted means over the "
    "requests and over the jobs, each over its scale. The top row is a proven bound: latencies "
    "and completion times if each kind had all CPUs to itself, which no policy can give to both.",
)
