r"""The best a single frame could do: what dynamic regret compares with.

A comparator trains at least at an even rate in every frame by itself, :math:`x_i^t \ge a_i`, and
knows the prices of the frame. Where no round pays for itself it trains at just that rate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from edgeopt.checked import checked
from edgeopt.errors import InputError
from edgeopt.instances.validate import require
from edgeopt.models.edr.penalties import check_cap
from edgeopt.models.edr.recourse import FrameRecourse, Served
from edgeopt.representation import brief
from edgeopt.solvers import LinearProgram, solve
from edgeopt.solvers.tolerance import gap_closed
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.edr import EdrInstance

    Floats = NDArray[np.float64]

ROUNDING = 1e-12
"""Share of a limit by which rounded sums may exceed it."""
GAP = 1e-9  # share of the terms of a cost by which it may lie above its bound
MOST = 500  # cuts of one frame; a handful is usual


@in_html
@brief
class FrameComparator(NamedTuple):
    """The cheapest training and routing of one frame by itself.

    Parameters
    ----------
    rounds
        Rounds of each task, nan if there is no feasible point, shape [I].
    cost
        Cost of training and requests, unserved requests at their price; infinite if there is no
        feasible point.
    bound
        Proven lower bound on `cost`.
    feasible
        Whether the minimum fits under the cap and into the sites, without a request.
    unserved
        Requests of each type that are not served, shape [N].
    """

    rounds: NDArray[np.float64]
    cost: float
    bound: float
    feasible: bool
    unserved: NDArray[np.float64]


@checked(cap="[-inf, inf]")
def frame_comparator(
    instance: EdrInstance,
    frame: int,
    *,
    minimum: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    cap: float | None = None,
) -> FrameComparator:
    r"""Find the cheapest training and routing of one frame under all of its constraints.

    .. math:: W^{t*} = \arg\min_{x, y}\ f^t(x, y) \quad \text{s.t.} \quad a \le x \le u
        \text{ and (1b) to (1h)}

    Parameters
    ----------
    instance
        What is given.
    frame
        The frame.
    minimum
        Rounds a of each task in each frame of its window, the even rate by default, shape [I].
    upper
        Most rounds u of a task in a frame, all that it needs by default, shape [I]. It matters only
        where a negative price makes rounds pay.
    cap
        Energy of the frame, Wh; the instance's by default.

    Returns
    -------
    The comparator, with a proven bound.

    Raises
    ------
    InputError
        If a number is negative or no number, a minimum exceeds its upper limit, a shape differs, or
        there is no such frame.

    Notes
    -----
    Zhu et al., the comparator of the regret. Requests that do not fit are left unserved, at the
    price of `unserved_price`.
    """
    if not 0 <= frame < instance.frames:
        raise InputError("frame", f"must be one of the {instance.frames} frames", value=frame)
    least, most = _limits(instance, minimum, upper)
    caps = None if cap is None else np.full(instance.frames, cap)
    limit = float(check_cap(instance, caps)[frame])
    active = instance.active[frame]
    start, most = np.where(active, least, 0.0), np.where(active, most, 0.0)
    energy, work = instance.round_energy[frame], instance.round_work
    room = instance.slots * instance.capacity
    slack = 1.0 + ROUNDING
    if energy @ start > limit * slack or (start @ work > room * slack).any():
        nothing = np.full(instance.types, np.nan)
        return FrameComparator(np.full(start.size, np.nan), np.inf, np.inf, False, nothing)
    recourse = FrameRecourse(instance, frame, limit)
    cost = instance.round_cost[frame]
    served = recourse.at(start)
    value, bound, rounds = float(cost @ start) + served.value, -np.inf, start
    if (cost[active] >= 0.0).all():
        # More training costs more, by itself and through requests.
        bound = float(cost @ start) + served.cut.at(start)
        return FrameComparator(start, value, min(bound, value), True, served.unserved)
    cuts = [recourse.alone, served]
    for _ in range(MOST):
        solution = solve(_program(instance, recourse, cuts, start, most), tolerance=1e-9)
        bound = max(bound, solution.bound)
        trial = _inside(solution.values[: start.size], start, most, recourse)
        found = recourse.at(trial)
        cuts.append(found)
        if float(cost @ trial) + found.value < value:
            value, rounds, served = float(cost @ trial) + found.value, trial, found
        size = float(np.abs(cost) @ rounds) + abs(served.value)
        if gap_closed(value, bound, GAP, absolute_gap=GAP * size):
            break
    return FrameComparator(rounds, value, min(bound, value), True, served.unserved)


def _limits(
    instance: EdrInstance, minimum: ArrayLike | None, upper: ArrayLike | None
) -> tuple[Floats, Floats]:
    """Return the least and most rounds of each task in a frame."""
    least = np.asarray(instance.even_rate if minimum is None else minimum, dtype=np.float64)
    most = np.asarray(instance.rounds if upper is None else upper, dtype=np.float64)
    for name, array in (("minimum", least), ("upper", most)):
        if array.shape != (instance.tasks,):
            rule = f"must have {instance.tasks} entries, one per task"
            raise InputError(name, rule, value=f"shape {array.shape}")
    for name, array, sound, rule in (
        ("minimum", least, (least >= 0) & (least < np.inf), "must be finite and not negative"),
        ("upper", most, (most >= least) & (most < np.inf), "must be finite, at least the minimum"),
    ):
        require(name, sound, array, rule)
    return least, most


def _program(
    instance: EdrInstance, recourse: FrameRecourse, cuts: list[Served], start: Floats, most: Floats
) -> LinearProgram:
    """Build a program over the rounds of a frame and a bound on the cost of its requests."""
    slope = np.array([one.cut.slope for one in cuts])
    constant = np.array([one.cut.constant for one in cuts])
    limits = np.vstack([recourse.energy, instance.round_work.T])
    matrix = sparse.block_array(
        [[sparse.csr_array(limits), None], [-slope, np.ones((constant.size, 1))]]
    )
    rows = limits.shape[0]
    floor = recourse.alone.cut.constant
    return LinearProgram(
        np.append(instance.round_cost[recourse.frame], 1.0),
        matrix,
        np.concatenate([np.full(rows, -np.inf), constant]),
        np.concatenate([[recourse.cap], recourse.room, np.full(constant.size, np.inf)]),
        np.append(start, floor),
        np.append(most, max(recourse.worst, floor)),
    )


def _inside(
    point: Floats,
    start: Floats,
    most: Floats,
    recourse: FrameRecourse,
) -> Floats:
    """Step back towards the minimum as far as the tolerance of a solver has gone too far."""
    more = np.clip(point, start, most) - start
    limits = np.vstack([recourse.energy, recourse.instance.round_work.T])
    left = np.append(recourse.cap, recourse.room) - limits @ start
    need = limits @ more
    over = need > np.maximum(left, 0.0)
    share = np.min(np.maximum(left[over], 0.0) / need[over], initial=1.0)
    return np.asarray(start + share * more)
