"""How many slots a plan may need, and when a task is complete in every good plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.models.tapfinger.bundles import efficient

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.tapfinger.problem import SchedulingProblem

    Ints = NDArray[np.int64]

__all__ = ["horizon", "latest_completion", "shortest"]


def horizon(problem: SchedulingProblem) -> int:
    r"""Return a number of slots within which some optimal schedule ends.

    .. math:: H = \max(\max_j a_j, L) + \sum_j \max_{n,x} d_{nk_jx}

    over the eligible clusters and efficient bundles, L being the slots in which earlier tasks may
    still run. Take an optimal schedule with efficient bundles and least sum of starts. From
    :math:`\max(\max a, L)` on no slot of it is idle on all clusters, or all that starts later could
    start a slot earlier; so the durations of all tasks together are enough. Where a cluster has
    started a task in slot 0 already, L is at least 1.

    Parameters
    ----------
    problem
        The tasks.

    Returns
    -------
    Slots; 0 where there is neither a task nor anything that runs.
    """
    assert problem.occupied is not None
    assert problem.started is not None
    released = int(problem.occupied.shape[0])
    if problem.single_start and problem.started.any():
        released = max(released, 1)
    arrived = int(problem.arrival[-1]) if problem.tasks else 0
    return max(arrived, released) + int(_extreme(problem, longest=True).sum())


def latest_completion(problem: SchedulingProblem, value: float) -> Ints:
    r"""Return when each task is complete in all schedules that are at least as good as a value.

    The other tasks take their shortest durations at least, which leaves task j a flow time of

    .. math:: F_j \le \Big(V - \sum_{i \ne j} w_i \min_{n,x} d_{nk_ix}\Big) / w_j .
    """
    assert problem.weight is not None
    least, weight = shortest(problem), problem.weight
    spare = value - float(weight @ least)
    # A relative part in a billion is left to rounding.
    spare += 1e-9 * abs(value)
    end = horizon(problem)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(weight > 0, np.maximum(spare, 0.0) / weight, np.inf)
    flow = least + np.minimum(np.floor(room), end)
    return np.minimum(problem.arrival + flow.astype(np.int64), end)


def shortest(problem: SchedulingProblem) -> Ints:
    """Return the shortest duration of each task on its eligible clusters, slots, shape [J]."""
    return _extreme(problem, longest=False)


def _extreme(problem: SchedulingProblem, *, longest: bool) -> Ints:
    """Return the longest or shortest duration of each task with an efficient bundle, shape [J]."""
    clusters, kinds = problem.duration.shape[:2]
    bundles = efficient(problem.duration)
    place = np.repeat(np.arange(clusters * kinds), np.diff(bundles.first))
    never = -1 if longest else np.iinfo(np.int64).max
    table = np.full(clusters * kinds, never)
    (np.maximum if longest else np.minimum).at(table, place, bundles.duration)
    of_task = table.reshape(clusters, kinds)[:, problem.kind].T
    allowed = np.where(problem.eligible, of_task, never)
    return np.asarray(allowed.max(axis=1, initial=-1) if longest else allowed.min(axis=1))
