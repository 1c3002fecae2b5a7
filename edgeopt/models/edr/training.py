"""Rounds of training in a frame: the best in closed form, plans, and the price of room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.errors import InputError, SolverError
from edgeopt.instances.validate import require
from edgeopt.kernels import compiled
from edgeopt.options import real_array
from edgeopt.representation import compact_repr
from edgeopt.solvers.network_simplex import TransportSimplex
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.arrays import Floats


TINY = 1e-150
"""Less than that, in units of the largest, counts as that, so that squares are not lost."""


@compiled(writes="rounds work")
def step_in_place(
    point: Floats,
    gradient: Floats,
    energy: Floats,
    cap: float,
    upper: Floats,
    step: float,
    rounds: Floats,
    work: Floats,
) -> float:
    """Take the step into an array of the caller's, without memory of its own.

    `edgeopt.models.edr.take_step` says what the step is.
    """
    total, largest = _rest(point, gradient, energy, upper, step, rounds)
    if not (total >= 0.0 and cap >= 0.0 and 0.0 < step < np.inf):
        return np.nan
    if total <= cap:
        return 0.0
    # Energy is counted in units of the hungriest task: squares then stay in range.
    unit, pull, count = 1.0 / max(largest, TINY), 0.0, 0
    task, target, need, limit = work[0], work[1], work[2], work[3]
    for i in range(point.size):
        if energy[i] > 0.0 and rounds[i] > 0.0:
            task[count], target[count] = i, point[i] - step * gradient[i]
            need[count], limit[count] = max(energy[i] * unit, TINY), upper[i]
            count += 1
    left = cap * unit
    # Variable fixing for the continuous quadratic knapsack (Bitran and Hax 1981; Kiwiel 2008).
    while count > 0:
        pull = _meet(target[:count], need[:count], left)
        over, under = _outside(target[:count], need[:count], limit[:count], pull)
        if over == 0.0 and under == 0.0:
            break
        kept = 0
        # The side with more energy outside its limits is fixed there.
        for k in range(count):
            value = target[k] - pull * need[k]
            if over > under and value > limit[k]:
                rounds[int(task[k])] = limit[k]
                left -= need[k] * limit[k]
            elif over <= under and value < 0.0:
                rounds[int(task[k])] = 0.0
            else:
                task[kept], target[kept] = task[k], target[k]
                need[kept], limit[kept] = need[k], limit[k]
                kept += 1
        count = kept
    spent = 0.0
    for k in range(count):
        value = min(max(target[k] - pull * need[k], 0.0), limit[k])
        spent += need[k] * value
        rounds[int(task[k])] = value
    if spent > max(left, 0.0):  # by rounding alone
        share = max(left, 0.0) / spent
        for k in range(count):
            rounds[int(task[k])] *= share
    if left < 0.0:  # energies too far apart to be summed: the cap comes first
        total = 0.0
        for i in range(point.size):
            total += energy[i] * rounds[i]
        for i in range(point.size):
            rounds[i] *= min(1.0, cap / total) if energy[i] > 0.0 and total > 0.0 else 1.0
    return max(pull, 0.0) * unit / step


# Sums may be taken in any order, hence in vector registers: several times faster.
@compiled(writes="rounds", fastmath={"reassoc", "nsz"})
def _rest(
    point: Floats, gradient: Floats, energy: Floats, upper: Floats, step: float, rounds: Floats
) -> tuple[float, float]:
    """Step at a price of 0; return the energy used, nan for wrong numbers, and a round's most."""
    total, largest, wrong = 0.0, 0.0, 0
    for i in range(point.size):
        target = point[i] - step * gradient[i]
        sound = (abs(target) < np.inf) & (0.0 <= energy[i] < np.inf) & (upper[i] >= 0.0)
        wrong += 0 if sound else 1
        value = target if target > 0.0 else 0.0
        value = value if value < upper[i] else upper[i]
        rounds[i] = value
        total += energy[i] * value
        used = energy[i] if value > 0.0 else 0.0
        largest = used if used > largest else largest
    return np.nan if wrong > 0 else total, largest


@compiled(fastmath={"reassoc", "nsz"})
def _meet(target: Floats, need: Floats, left: float) -> float:
    """Return the pull at which the energy is used up if no entry has limits."""
    wanted, square = 0.0, 0.0
    for k in range(target.size):
        wanted += need[k] * target[k]
        square += need[k] * need[k]
    return (wanted - left) / square


@compiled(fastmath={"reassoc", "nsz"})
def _outside(target: Floats, need: Floats, limit: Floats, pull: float) -> tuple[float, float]:
    """Return the energy of what lies above the limits, and of what lies below 0."""
    over, under = 0.0, 0.0
    for k in range(target.size):
        value = target[k] - pull * need[k]
        above = value - limit[k]
        over += need[k] * (above if above > 0.0 else 0.0)
        under += need[k] * (-value if value < 0.0 else 0.0)
    return over, under


@in_html
@compact_repr
class Step(NamedTuple):
    """A step of the training rounds.

    Parameters
    ----------
    rounds
        Rounds of each task, shape [I].
    energy_price
        Price of energy at which the cap holds, cost per Wh; 0 where the cap does not bind. The
        rounds are unique, the price need not be.

    Examples
    --------
    >>> from edgeopt.models.edr import take_step
    >>> step = take_step([1, 1, 1], [-1, 0, 1], [1, 1, 2], 2.0, [3, 3, 3], 1.0)
    >>> step.rounds, round(step.energy_price, 3)
    (array([1.5, 0.5, 0. ]), 0.5)
    """

    rounds: NDArray[np.float64]
    energy_price: float


def take_step(
    point: ArrayLike,
    gradient: ArrayLike,
    energy: ArrayLike,
    cap: float,
    upper: ArrayLike,
    step: float,
) -> Step:
    r"""Take the proximal step of training rounds in closed form.

    .. math:: \arg\min_X\ c^\top X + \tfrac{1}{2\alpha} \lVert X - x \rVert^2
        \quad \text{s.t.} \quad 0 \le X \le u, \quad e^\top X \le R

    Parameters
    ----------
    point
        Last point x, rounds, shape [I].
    gradient
        Cost c of a round less the multiplier of its progress, shape [I].
    energy
        Energy e >= 0 of a round, Wh, shape [I].
    cap
        Energy R >= 0 that there is, Wh; infinity where there is no cap.
    upper
        Most rounds u >= 0 that each task may do, may be infinite, shape [I].
    step
        Length :math:`\alpha > 0` of the step, rounds squared per unit of cost.

    Returns
    -------
    The rounds, which use no more energy than the cap up to the rounding of their sum, and the price
    of energy. Without a cap nothing is lost; with a cap of 0 the tasks that need energy rest.

    Raises
    ------
    InputError
        If the cap is negative, an energy or limit is negative, the step is not positive, a number
        is not finite, or shapes differ.

    Notes
    -----
    Zhu et al., equation (7). Arrays of doubles are read where they are, without a copy.

    Examples
    --------
    >>> rounds, price = take_step([1, 1, 1], [-1, 0, 1], [1, 1, 2], 2.0, [3, 3, 3], 1.0)
    >>> rounds, price
    (array([1.5, 0.5, 0. ]), 0.5)
    """
    vectors = x, c, e, u = step_data(point, gradient, energy, upper)
    rounds = np.empty(x.size)
    price = step_in_place(x, c, e, float(cap), u, float(step), rounds, np.empty((4, x.size)))
    if price != price:
        check_step(vectors, cap, step)
    return Step(rounds, price)


def step_data(
    point: ArrayLike, gradient: ArrayLike, energy: ArrayLike, upper: ArrayLike
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the vectors of a step as arrays of doubles, themselves where they are that already."""
    given = {"point": point, "gradient": gradient, "energy": energy, "upper": upper}
    x, c, e, u = (np.ascontiguousarray(real_array(name, one)) for name, one in given.items())
    for name, array in zip(given, (x, c, e, u), strict=True):
        if array.shape != (x.size,):
            rule = f"must be a vector with {x.size} entries, one per task"
            raise InputError(name, rule, value=f"shape {array.shape}")
    return x, c, e, u


def check_step(vectors: tuple[Floats, Floats, Floats, Floats], cap: float, step: float) -> None:
    """Check the numbers of a step."""
    for name, number in (("cap", cap), ("step", step)):
        if not isinstance(number, float | int | np.floating | np.integer):
            raise InputError(name, "must be a number", value=type(number))
    if not cap >= 0:
        raise InputError("cap", "must not be negative (0: no energy, infinity: no cap)", value=cap)
    if not 0 < step < np.inf:
        raise InputError("step", "must be positive and finite", value=step)
    point, gradient, energy, upper = vectors
    for name, array, sound, rule in (
        ("point", point, np.isfinite(point), "must be finite"),
        ("gradient", gradient, np.isfinite(gradient), "must be finite"),
        ("energy", energy, (energy >= 0) & (energy < np.inf), "must be finite and not negative"),
        ("upper", upper, upper >= 0, "must not be negative"),
    ):
        require(name, sound, array, rule)
    with np.errstate(over="ignore"):
        target = point - step * gradient
    if not np.isfinite(target).all():
        raise InputError("step", "leads out of the range of numbers", value=step)


PIVOT = 1e-11
"""Entries of the tableau up to this are 0, in units of what a task at its limit uses of a row."""


def most_worth(worth: Floats, upper: Floats, use: Floats, room: Floats) -> Floats:
    """Return the fractional rounds of most worth, shape [A].

    ``worth`` of a round and ``upper`` limits are of shape [A], what a round uses of each resource
    ``use`` of shape [A, R], and the ``room`` >= 0 there is of it, possibly infinite, of shape [R].
    """
    needs = use > 0
    wanted = (worth > 0) & (upper > 0) & ~(needs & (room <= 0)).any(axis=1)
    tight = np.flatnonzero(upper @ np.where(wanted[:, None], use, 0.0) > room)
    rounds = np.where(wanted, upper, 0.0).astype(np.float64)
    if tight.size == 0:
        return rounds
    # In units of the limits and the rooms; no task can do more than what one resource allows.
    with np.errstate(over="ignore"):
        share = np.minimum(use[np.ix_(wanted, tight)] / room[tight], 1e300)
    most = np.minimum(upper[wanted], 1.0 / np.maximum(share.max(axis=1), 1e-300))
    value = worth[wanted] * most
    found = np.empty(most.size)
    tableau = np.ascontiguousarray((share * most[:, None]).T)
    limit = 50 * (most.size + tight.size)
    if not _climb(tableau, value / value.max(), found, limit):
        raise SolverError(f"rounds of a frame: no end after {limit} pivots")
    rounds[wanted] = np.minimum(found * most, upper[wanted])
    return rounds


@compiled(writes="tableau gain found")
def _climb(tableau: Floats, gain: Floats, found: Floats, limit: int) -> bool:
    """Fill in the shares in [0, 1] of most gain that use at most 1 of every row."""
    rows, columns = tableau.shape
    level = np.ones(rows)
    # Primal simplex with bounds (Dantzig 1955) in a condensed tableau: a column per nonbasic one.
    # Variables are the columns and then the rows' slacks; `turned` ones count down from their top.
    column = np.arange(columns)
    row = np.arange(columns, columns + rows)
    turned = np.zeros(columns + rows, dtype=np.bool_)
    for count in range(limit):
        enter, best = -1, PIVOT
        for j in range(columns):
            if gain[j] > PIVOT:
                # Dantzig's rule; the first one by number (Bland 1977) once ties may go in a circle.
                key = gain[j] if 2 * count < limit else 1.0 / (1.0 + column[j])
                if key > best:
                    enter, best = j, key
        if enter < 0:
            break
        step = 1.0 if column[enter] < columns else np.inf
        leave, top, size = -1, False, 0.0
        # Ratio test: among ties the largest pivot, for the sake of rounding (Harris 1973).
        for i in range(rows):
            entry = tableau[i, enter]
            if entry > PIVOT:
                ratio, up = level[i] / entry, False
            elif entry < -PIVOT and row[i] < columns:
                ratio, up = (level[i] - 1.0) / entry, True
            else:
                continue
            ratio = max(ratio, 0.0)
            better = ratio < step - 1e-13 or (ratio <= step and abs(entry) > size)
            if 2 * count >= limit:
                better = ratio < step or (ratio == step and (leave < 0 or row[i] < row[leave]))
            if better:
                step, leave, top, size = min(ratio, step), i, up, abs(entry)
        if leave < 0:
            if step == np.inf:
                return False
            # Bound flip: the column goes to its other bound.
            for i in range(rows):
                level[i] -= tableau[i, enter]
                tableau[i, enter] = -tableau[i, enter]
            gain[enter] = -gain[enter]
            turned[column[enter]] = not turned[column[enter]]
            continue
        if top:
            level[leave] = 1.0 - level[leave]
            for j in range(columns):
                tableau[leave, j] = -tableau[leave, j]
            turned[row[leave]] = not turned[row[leave]]
        _exchange(tableau, level, gain, leave, enter)
        row[leave], column[enter] = column[enter], row[leave]
    else:
        return False
    for j in range(columns):
        if column[j] < columns:
            found[column[j]] = 1.0 if turned[column[j]] else 0.0
    for i in range(rows):
        if row[i] < columns:
            share = min(max(level[i], 0.0), 1.0)
            found[row[i]] = 1.0 - share if turned[row[i]] else share
    return True


@compiled(writes="tableau level gain")
def _exchange(tableau: Floats, level: Floats, gain: Floats, leave: int, enter: int) -> None:
    """Let a column enter the basis in place of a row's variable."""
    # Jordan exchange (Stiefel 1960).
    rows, columns = tableau.shape
    inverse = 1.0 / tableau[leave, enter]
    for j in range(columns):
        tableau[leave, j] *= inverse
    tableau[leave, enter] = inverse
    level[leave] *= inverse
    for i in range(rows):
        factor = tableau[i, enter]
        if i == leave or factor == 0.0:
            continue
        tableau[i, enter] = 0.0
        for j in range(columns):
            tableau[i, j] -= factor * tableau[leave, j]
        level[i] -= factor * level[leave]
    factor = gain[enter]
    gain[enter] = 0.0
    for j in range(columns):
        gain[j] -= factor * tableau[leave, j]


@dataclass(frozen=True, eq=False)
class Coming:
    """The rounds that tasks still need, and sampled costs of the frames that come; tasks a."""

    cost: NDArray[np.float64]  # cost of a round by frame and sample, shape [A, H, Q]
    cap: NDArray[np.float64]  # share of each frame that may be used, shape [H]
    weight: NDArray[np.float64]  # share of a frame that one round takes, >= 0, shape [A]
    remaining: NDArray[np.float64]  # rounds that are still to be done, shape [A]
    late: NDArray[np.float64]  # price of a round that is missing at the end, shape [A]
    first: NDArray[np.int64]  # first coming frame in which each task may train, shape [A]
    last: NDArray[np.int64]  # and the last one; before the first if there is none, shape [A]

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Whether a task may train in a frame, shape [A, H]."""
        frame = np.arange(self.cap.size)
        window = (frame >= self.first[:, None]) & (frame <= self.last[:, None])
        return np.asarray(window & (self.cap > 0))


class RoomPrices(NamedTuple):
    """The optimum of the transportation problem."""

    price: NDArray[np.float64]  # of the share of each frame under each sample, >= 0, shape [H, Q]
    now: NDArray[np.float64]  # rounds that the plan does now, shape [A]
    value: float  # cost of the plan: the fluid answer, which may wait for the best of all samples


def room_prices(coming: Coming, cost_now: Floats | None = None, cap_now: float = 0.0) -> RoomPrices:
    """Price the room of every sampled frame by one transportation problem.

    ``cost_now`` are costs of a round in this frame, shape [A], of which the share ``cap_now`` may
    be used; without them there is no such frame. Rounds that take no room are in no one's way:
    they are done where they are cheapest. A frame of which nothing may be used has price 0.
    """
    tasks, frames, samples = coming.cost.shape
    sinks = 1 + frames * samples
    allowed = np.zeros((tasks, sinks), dtype=np.bool_)
    cost = np.zeros((tasks, sinks))
    if cost_now is not None:
        allowed[:, 0], cost[:, 0] = cap_now > 0, cost_now
    allowed[:, 1:] = np.repeat(coming.usable, samples, axis=1)
    cost[:, 1:] = coming.cost.reshape(tasks, frames * samples)
    heavy = coming.weight > 0
    light = ~heavy & (coming.remaining > 0)
    now, value = np.zeros(tasks), 0.0
    if light.any():
        now[light], value = _light(coming, cost, allowed, light)
    allowed &= heavy[:, None]
    weight = np.where(heavy, coming.weight, 1.0)
    capacity = np.concatenate(([cap_now], np.repeat(coming.cap / samples, samples)))
    sink = np.broadcast_to(np.arange(sinks, dtype=np.int32), allowed.shape)[allowed]
    first = np.concatenate(([0], np.cumsum(allowed.sum(axis=1))))
    supply = np.where(heavy, coming.remaining * weight, 0.0)
    simplex = TransportSimplex(first, sink, supply, capacity)
    unit, late = (cost / weight[:, None])[allowed], coming.late / weight
    flow = simplex.solve(unit, late)
    value += float(unit[flow.route] @ flow.amount + late @ flow.unserved)
    source = np.searchsorted(first, flow.route, side="right") - 1
    here = sink[flow.route] == 0
    now += np.bincount(source[here], flow.amount[here], minlength=tasks) / weight
    return RoomPrices(flow.sink_price[1:].reshape(frames, samples), now, value)


def _light(
    coming: Coming, cost: Floats, allowed: NDArray[np.bool_], light: NDArray[np.bool_]
) -> tuple[Floats, float]:
    """Return the rounds done now by tasks that take no room, and what all their rounds cost."""
    here = np.where(allowed[light, 0], cost[light, 0], np.inf)
    there = np.where(allowed[light, 1:], cost[light, 1:], np.inf).min(axis=1, initial=np.inf)
    least = np.minimum(np.minimum(here, there), coming.late[light])
    rounds = coming.remaining[light]
    return np.where(here <= least, rounds, 0.0), float(rounds @ least)


class Stopping(NamedTuple):
    """When rounds stop that see the prices of room, each by itself."""

    value: NDArray[np.float64]  # what a round costs before each frame, late at last, [A, H + 1]
    left: NDArray[np.float64]  # rounds that are expected to wait before each frame, shape [A, H]
    stops: NDArray[np.bool_]  # whether they stop in a frame under a sample, shape [A, H, Q]


def stopping(coming: Coming, price: Floats) -> Stopping:
    """Find by backward induction where rounds stop at given prices of room, shape [H, Q]."""
    full = coming.cost + price * coming.weight[:, None, None]
    tasks, frames, _ = full.shape
    value, usable = np.empty((tasks, frames + 1)), coming.usable
    value[:, frames] = coming.late
    stops = np.zeros(full.shape, dtype=np.bool_)
    # Optimal stopping of independent draws (Snell 1952).
    for h in range(frames - 1, -1, -1):
        later, here = value[:, h + 1], usable[:, h]
        stops[:, h] = (full[:, h] < later[:, None]) & here[:, None]
        least = np.minimum(full[:, h], later[:, None]).mean(axis=1)
        value[:, h] = np.where(here, least, later)
    stay = 1.0 - stops.mean(axis=2)
    before = np.cumprod(np.column_stack((coming.remaining, stay)), axis=1)[:, :frames]
    return Stopping(value, before, stops)


def waiting_values(coming: Coming, price: Floats, beta: float = 1.0) -> Floats:
    """Return what a round of each task costs that waits for coming frames, shape [A].

    It may stop in every frame of its window, at its cost there and ``beta`` times the price of
    the room that it takes, shape [H, Q], and does so when no later frame is expected to be cheaper.
    """
    return stopping(coming, beta * price).value[:, 0]


def informed_value(coming: Coming, price: Floats) -> float:
    """Return a bound on the expected cost of all plans that do not know the future.

    The waiting values of all remaining rounds less what the room of all frames is worth: a bound
    at any prices >= 0, shape [H, Q], for frames that are independent and have these samples.
    """
    room = float(coming.cap @ price.mean(axis=1)) if price.size else 0.0
    return float(coming.remaining @ waiting_values(coming, price)) - room
