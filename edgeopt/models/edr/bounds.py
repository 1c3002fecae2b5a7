"""What plans cost at least: of single frames, and of a horizon without foresight."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np
from scipy import sparse

from edgeopt.checked import checked
from edgeopt.errors import CertificateError, InputError, OptionError
from edgeopt.instances.validate import require
from edgeopt.models.edr.penalties import check_cap, late_price
from edgeopt.models.edr.recourse import FrameRecourse, Served
from edgeopt.models.edr.training import Coming, Stopping, informed_value, room_prices, stopping
from edgeopt.options import check_whole, generator
from edgeopt.representation import compact_repr
from edgeopt.solvers import LinearProgram, solve
from edgeopt.solvers.tolerance import gap_closed
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.arrays import Floats
    from edgeopt.instances.edr import EdrInstance


ROUNDING = 1e-12
"""Share of a limit by which rounded sums may exceed it."""
GAP = 1e-9  # share of the terms of a cost by which it may lie above its bound
MOST = 500  # cuts of one frame; a handful is usual


@in_html
@compact_repr
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

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.models.edr import FrameComparator, frame_comparator
    >>> frame_comparator(small(1), 0).feasible
    True
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
    cap: float | None = None,
) -> FrameComparator:
    r"""Find the cheapest training and routing of one frame under all of its constraints.

    .. math:: W^{t*} = \arg\min_{x, y}\ f^t(x, y) \quad \text{s.t.} \quad a \le x \le Q
        \text{ and (1b) to (1h)}

    Parameters
    ----------
    instance
        What is given.
    frame
        The frame.
    minimum
        Rounds a of each task in each frame of its window, the even rate by default, shape [I].
    cap
        Energy of the frame, Wh; the instance's by default.

    Returns
    -------
    The comparator, with a proven bound.

    Raises
    ------
    InputError
        If a number is negative or no number, a minimum exceeds the rounds of its task, a shape
        differs, or there is no such frame.

    Notes
    -----
    Zhu et al., the comparator of the regret. Requests that do not fit are left unserved, at the
    price of `unserved_price`.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.models.edr import frame_comparator
    >>> best = frame_comparator(small(1), 0)
    >>> best.feasible, best.rounds.shape
    (True, (3,))
    """
    if not 0 <= frame < instance.frames:
        raise InputError("frame", f"must be one of the {instance.frames} frames", value=frame)
    least = np.asarray(instance.even_rate if minimum is None else minimum, dtype=np.float64)
    if least.shape != (instance.tasks,):
        rule = f"must have {instance.tasks} entries, one per task"
        raise InputError("minimum", rule, value=f"shape {least.shape}")
    sound = (least >= 0) & (least <= instance.rounds)
    require("minimum", sound, least, "must lie between 0 and the rounds of the task")
    caps = None if cap is None else np.full(instance.frames, cap)
    limit = float(check_cap(instance, caps)[frame])
    active = instance.active[frame]
    start, most = np.where(active, [least, instance.rounds], 0.0)
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
    # Cutting planes (Kelley 1960).
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


STEP = 0.3  # first step of the ascent, in terms of the mean of the prices that it begins with
FADE = 20  # steps after which a step is half as long
KEPT = 10  # plans of the later half of the ascent whose prices are averaged
ERRORS = 2.0
"""Standard errors by which the bound is below the estimate."""


@in_html
@dataclass(frozen=True, eq=False)
class InformedBound:
    """An estimated lower bound on the expected penalised cost of plans without foresight.

    Parameters
    ----------
    training
        Lower bound on the expected cost of training, estimated from redrawn frames.
    training_error
        Standard error of `training`.
    hindsight
        Mean cost of training, on the same redrawn frames and under the same limits, of plans that
        know the future.
    foresight_error
        Standard error of `foresight`.
    serving
        Cost of serving the requests of the instance when nothing is trained and no cap holds.
    draws
        Number of times that channels and prices were drawn again, to find prices and to estimate.
    seconds
        Time it took.

    Notes
    -----
    Ours, see `informed_bound`.

    Examples
    --------
    >>> from edgeopt.instances.edr import generate
    >>> from edgeopt.models.edr import InformedBound, informed_bound
    >>> instance = generate(sites=4, tasks=3, frames=6, slots=4, distribution=True)
    >>> informed_bound(instance, draws=4, steps=10).value > 0
    True
    """

    training: float
    training_error: float
    hindsight: float
    foresight_error: float
    serving: float
    draws: int
    seconds: float

    @property
    def value(self) -> float:
        """The estimate: the bound on training and the cost of serving."""
        return self.serving + self.training

    @property
    def bound(self) -> float:
        """The estimate less two standard errors."""
        return self.value - ERRORS * self.training_error

    @property
    def foresight(self) -> float:
        """By how much the cost of training is larger at least when the future is not known."""
        return self.training - self.hindsight

    def certificate(self) -> NoReturn:
        """Say why there is no certificate.

        Raises
        ------
        CertificateError
            Always; the text names the missing step.
        """
        raise CertificateError(
            "no certificate: the bound is estimated from drawn channels and prices, with a "
            "standard error; a proof would need the expectation of the cheaper of two costs "
            "under the distribution of channels, in exact numbers or enclosed, in place of the "
            "mean over draws"
        )


@checked()
def informed_bound(
    instance: EdrInstance,
    *,
    draws: int = 32,
    steps: int = 200,
    rng: int | np.random.Generator = 0,
) -> InformedBound:
    r"""Bound the expected cost of all plans that do not know channels and prices in advance.

    A plan uses at most the whole of the busiest site in every frame. At prices :math:`\pi_h \ge 0`
    of that room, which may depend on the outcome of a frame, rounds no longer stand in each other's
    way, and the best that each can do is an optimal stopping problem:

    .. math:: \min_{\text{plans}} E\,\text{cost} \ge \sum_i Q_i v_i^{\text{arrival}}
        - \sum_h E\, \pi_h, \qquad v_i^h = E \min(c_i^h + \pi_h w_i,\; v_i^{h+1}).

    Prices are found on some draws, by one transportation problem and by ascent. The bound is
    estimated on other draws, where the room of an outcome costs what the rounds that are expected
    to be waiting would pay for it. As the minimum is concave, few draws make the estimate too low.
    Where the first draws show that knowing the future costs more than that, the mean cost of plans
    that know it is the bound.

    Parameters
    ----------
    instance
        What is given, with its `distribution`.
    draws
        How often to draw channels and prices again to find prices, and again to estimate; at
        least 2.
    steps
        Steps of the ascent; at least 1.
    rng
        Seed or generator of the draws.

    Returns
    -------
    The estimate with its standard error, and what foresight is worth.

    Raises
    ------
    OptionError
        If the instance does not say how its channels and prices are drawn, or a number is out of
        range.

    Notes
    -----
    Not in the paper. It holds in expectation over channels and prices, whose distribution the plan
    may know, as it may tasks, requests, delays of propagation, and what a missing round costs; on
    one drawn instance a policy may cost less. Caps, other sites, and what requests take from
    training are left out, so that it holds for plans that exceed caps as well.

    Examples
    --------
    >>> from edgeopt.instances.edr import generate
    >>> from edgeopt.models.edr import informed_bound
    >>> instance = generate(sites=4, tasks=3, frames=6, slots=4, distribution=True)
    >>> bound = informed_bound(instance, draws=4, steps=10)
    >>> bound.value > 0
    True
    """
    check_whole("draws", draws, 2)
    check_whole("steps", steps, 1)
    if instance.distribution is None:
        raise OptionError(
            "instance.distribution: says how channels and prices are drawn, but is None"
        )
    began = time.perf_counter()
    first, second = generator(rng).spawn(2)
    free = [FrameRecourse(instance, t, np.inf).alone.value for t in range(instance.frames)]
    known = _coming(instance, _costs(instance, draws, first))
    fresh = replace(known, cost=_costs(instance, draws, second))
    plans = ascend(known, room_prices(known).price, steps)
    hindsight, found = _hindsight(fresh), outcome_values(fresh, frame_prices(fresh, plans))
    if informed_value(known, frame_prices(known, plans)) < _hindsight(known).mean():
        # Plans that know the future cost no more than others: their cost is the better bound.
        found = hindsight
    return InformedBound(
        training=float(found.mean()),
        training_error=_error(found),
        hindsight=float(hindsight.mean()),
        foresight_error=_error(found - hindsight),
        serving=float(sum(free)),
        draws=draws,
        seconds=time.perf_counter() - began,
    )


def _error(values: Floats) -> float:
    return float(values.std(ddof=1) / np.sqrt(values.size))


def _costs(instance: EdrInstance, draws: int, rng: np.random.Generator) -> Floats:
    """Return the cost of a round by task, frame and draw, at drawn channels and prices."""
    assert instance.distribution is not None
    # Rounds see the mean delay of propagation alone, and no requests.
    bare = instance.replace(
        requests=np.zeros_like(instance.requests[:, :1]),
        propagation=instance.propagation.mean(axis=1, keepdims=True),
        slo=instance.slo[:, :1],
    )
    costs = [instance.distribution.redrawn(bare, own).round_cost.T for own in rng.spawn(draws)]
    return np.stack(costs, axis=2)


def _coming(instance: EdrInstance, cost: Floats) -> Coming:
    """Return all rounds before the first frame, in which the busiest site alone is short."""
    room = instance.slots * instance.capacity
    share = instance.round_work / np.where(room > 0, room, np.inf)
    site = int((instance.rounds @ share).argmax())
    return Coming(
        cost=cost,
        cap=np.ones(instance.frames),
        weight=share[:, site],
        remaining=instance.rounds.astype(np.float64),
        late=late_price(instance),
        first=instance.arrival,
        last=instance.deadline,
    )


def _hindsight(coming: Coming) -> Floats:
    """Return what a plan costs that knows the future, for each of the samples."""
    paths = (coming.cost[:, :, [q]] for q in range(coming.cost.shape[2]))
    return np.array([room_prices(replace(coming, cost=path)).value for path in paths])


def ascend(coming: Coming, price: Floats, steps: int) -> list[Stopping]:
    """Raise the bound by steps along its subgradient; return some of the later plans.

    A price rises where rounds are expected to use more than there is, and falls where less.
    """
    positive = price[price > 0]
    length = STEP * float(positive.mean()) if positive.size else _scale(coming)
    kept = {steps - 1 - place * max(1, steps // (2 * KEPT)) for place in range(KEPT)}
    plans = []
    # Projected subgradient ascent of a Lagrangian dual (Held, Wolfe and Crowder 1974).
    for step in range(steps):
        plan = stopping(coming, price)
        if step in kept:
            plans.append(plan)
        use = np.einsum("a,ah,ahq->hq", coming.weight, plan.left, plan.stops)
        size = length / (1.0 + step / FADE)
        price = np.maximum(price + size * (use - coming.cap[:, None]), 0.0)
    return plans


def _scale(coming: Coming) -> float:
    """Return a price of room that rounds would notice."""
    heavy = coming.weight > 0
    if not heavy.any():
        return 0.0
    return STEP / 10 * float((coming.late[heavy] / coming.weight[heavy]).mean())


def frame_prices(coming: Coming, plans: Sequence[Stopping]) -> Floats:
    """Return what the room of each outcome is worth to waiting rounds, mean over plans, [H, Q].

    To those that a plan expects it is worth the gain of the first round that finds no place, or
    not all of it, if those that gain most per room come first; nothing where all find one.
    """
    _, frames, samples = coming.cost.shape
    price, usable, heavy = np.zeros((frames, samples)), coming.usable, coming.weight > 0
    for plan, h in product(plans, range(frames)):
        here = usable[:, h] & heavy
        weight = coming.weight[here, None]
        gain = (plan.value[here, h + 1, None] - coming.cost[here, h]) / weight
        order = np.argsort(-gain, axis=0, kind="stable")
        taken = np.cumsum((weight[:, 0] * plan.left[here, h])[order], axis=0)
        worth = np.take_along_axis(gain, order, axis=0)
        price[h] += np.where(taken > coming.cap[h], worth, 0.0).max(axis=0, initial=0.0)
    return price / len(plans)


def outcome_values(coming: Coming, price: Floats) -> Floats:
    """Return the bound, at some prices, split over the samples, of which it is the mean.

    To first order, samples move the bound as these parts do.
    """
    plan = stopping(coming, price)
    full = coming.cost + price * coming.weight[:, None, None]
    least = np.minimum(full, plan.value[:, 1:, None]) - plan.value[:, :-1, None]
    moved = np.einsum("ah,ahq->q", np.where(coming.usable, plan.left, 0.0), least)
    rent = coming.cap @ price
    value = float(coming.remaining @ plan.value[:, 0])
    return np.asarray(value + moved - rent)
