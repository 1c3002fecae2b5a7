"""Algorithm 1 against an oblivious adversary: the fractional allocations, slot by slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt_papers.idn.claims.evaluation import Evaluation, centre, free

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeopt_papers.idn.claims.slot import Slot


class Step(NamedTuple):
    """One slot of a run."""

    slot: Slot  # what the adversary chose
    point: NDArray[np.float64]  # fractional allocation in the slot, shape [V, M]
    # Supergradient of the gain there, shape [V, M], 0 at nodes without a choice
    gradient: NDArray[np.float64]


def run_policy(view: Evaluation, rates: NDArray[np.float64], slots: int) -> Iterator[Step]:
    """Ascend along supergradients with a rate per node."""
    point, choice = centre(view.instance), free(view.instance)
    for t in range(slots):
        slot = view.slot(t % view.instance.horizon)
        gradient = slot.supergradient(point.ravel()).reshape(point.shape)
        gradient[~choice] = 0
        yield Step(slot, point.copy(), gradient)
        _ascend(view, point, gradient, rates)


def average_run(
    view: Evaluation, rates: NDArray[np.float64], iterations: int
) -> NDArray[np.float64]:
    """Ascend on the gain averaged over all slots and average the allocations, shape [V, M]."""
    point, choice = centre(view.instance), free(view.instance)
    total = np.zeros(point.shape)
    for _ in range(iterations):
        total += point
        gradient = np.zeros(point.shape)
        for slot, share in view.distinct:
            gradient += share * slot.supergradient(point.ravel()).reshape(point.shape)
        gradient[~choice] = 0
        _ascend(view, point, gradient, rates)
    return total / iterations


def _ascend(
    view: Evaluation,
    point: NDArray[np.float64],
    gradient: NDArray[np.float64],
    rates: NDArray[np.float64],
) -> None:
    from edgeopt.online.entropic_projection import ascend_in_place

    size, budget = view.instance.size, view.instance.budget
    for v in np.flatnonzero(rates > 0):
        ascend_in_place(point[v], gradient[v], size[v], rates[v], budget[v])


class Logs(NamedTuple):
    """Sums over a run that the regret bounds need."""

    # Largest of the sums of g (y - y_t) over allocations y that fill the budgets
    linear_regret: float
    # Sum over the slots of the squared range of g / s at each node, shape [V]
    squared_range: NDArray[np.float64]
    squared_norm: float  # sum over the slots of the squared largest g / s
    # Sums over the slots of the fractional gain and of the bounding function (116), ms
    gain: float
    bounding: float


def logs(view: Evaluation, rates: NDArray[np.float64], slots: int) -> Logs:
    """Run the policy and add up."""
    size = view.instance.size
    total, earned = np.zeros(size.shape), 0.0
    spread, norm = np.zeros(len(size)), 0.0
    gain, bounding = 0.0, 0.0
    for step in run_policy(view, rates, slots):
        density = step.gradient / size
        total += step.gradient
        earned += float((step.gradient * step.point).sum())
        spread += np.ptp(density, axis=1) ** 2
        norm += float(density.max()) ** 2
        row = step.point.reshape(1, -1)
        gain += float(step.slot.ranked(row)[0])
        bounding += float(step.slot.bounding(row)[0])
    best = 0.0
    for v in np.flatnonzero(free(view.instance)):
        order = np.argsort(-total[v] / size[v], kind="stable")
        before = np.cumsum(size[v, order]) - size[v, order]
        share = np.clip((view.instance.budget[v] - before) / size[v, order], 0, 1)
        best += float(share @ total[v, order])
    return Logs(best - earned, spread, norm, gain, bounding)
