"""The best prices of shared limits: cheapest starts of tasks, columns, and ascent."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from edgeopt.kernels import compiled
from edgeopt.models.tapfinger.programs import counted, efficient
from edgeopt.models.tapfinger.shared_limits import Held, classify, pooled_profiles
from edgeopt.solvers import LinearProgram, Reusable
from edgeopt.solvers.tolerance import gap_closed

if TYPE_CHECKING:
    from edgeopt.instances.fields import Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.models.tapfinger.problem import SchedulingProblem
    from edgeopt.models.tapfinger.shared_limits import Classes, Limits


class Columns(NamedTuple):
    """Ways to run a task of a class."""

    owner: Ints  # class of each, shape [n]
    cost: Floats  # weighted flow time of it, shape [n]
    use: sparse.csc_array  # what it takes of each limit, shape [rows, n]
    key: Ints  # a number that only equal columns share, shape [n]

    def chosen(self, which: Ints) -> Columns:
        """Return some of them."""
        return Columns(self.owner[which], self.cost[which], self.use[:, which], self.key[which])


def stacked(several: list[Columns]) -> Columns:
    """Put columns together."""
    owner, cost, key = (
        np.concatenate([getattr(one, name) for one in several]) for name in ("owner", "cost", "key")
    )
    use = sparse.hstack([one.use for one in several], format="csc")
    return Columns(owner, cost, use, key)


def joined(several: list[Columns]) -> Columns:
    """Put columns together, each once."""
    everything = stacked(several)
    _, once = np.unique(everything.key, return_index=True)
    return everything.chosen(np.sort(once))


class Menus(NamedTuple):
    """What tasks may take: a list of bundles for each profile, by pool, then by duration."""

    profile: Ints  # profile of each task, shape [J]
    first: Ints  # profile p: entries first[p] to first[p + 1] - 1, shape [P + 1]
    pool: Ints  # pool of each entry, shape [m]
    bundle: Ints  # CPU cores and GPUs, shape [m, 2]
    duration: Ints  # slots, shape [m]


def menus(problem: SchedulingProblem, pool: Ints) -> Menus:
    """Return what the pools offer to tasks; ``pool`` is that of each cluster, from 0, shape [N]."""
    profiles, _, profile = pooled_profiles(
        problem.duration.astype(np.float64), problem.kind, problem.eligible, pool, _quickest
    )
    pools, bundles = profiles.shape[1], efficient(profiles.astype(np.int64))
    place = np.repeat(np.arange(bundles.first.size - 1), np.diff(bundles.first)) % pools
    first = bundles.first[::pools].copy()
    return Menus(profile, first, place, bundles.bundle, bundles.duration)


class StartPricing:
    """The cheapest bundle, pool and start of every class of tasks."""

    def __init__(self, arrival: Ints, weight: Floats, menu: Menus, limits: Limits) -> None:
        self.classes = classify(arrival, weight, menu.profile)
        self.limits = limits
        self.pools = limits.room.shape[1]
        self._first, self._pool, self._duration = menu.first, menu.pool, menu.duration
        cpu, gpu = menu.bundle.T
        self._size = limits.size[:, menu.pool, cpu, gpu].T.astype(np.float64)

    def __call__(self, prices: Floats) -> tuple[Floats, Columns]:
        """Return the least cost of a task of each class, prices included, and cheap columns."""
        resource, start = self.limits.prices(prices)
        ahead = np.zeros((*resource.shape[:2], resource.shape[2] + 1))
        np.cumsum(resource, axis=2, out=ahead[:, :, 1:])
        least, entry, begin = _cheapest(
            self.classes.arrival, self.classes.weight, self.classes.profile, self._first,
            self._pool, self._size, self._duration, ahead, start,
        )  # fmt: skip
        owner, place = np.nonzero(begin >= 0)
        return least, self.columns(owner, entry[owner, place], begin[owner, place])

    def respond(self, prices: Floats) -> tuple[float, Floats]:
        """Return what all tasks pay at least, and what they take of each limit as they do so."""
        resource, start = self.limits.prices(prices)
        ahead = np.zeros((*resource.shape[:2], resource.shape[2] + 1))
        np.cumsum(resource, axis=2, out=ahead[:, :, 1:])
        use, begun = np.zeros_like(ahead), np.zeros(start.shape)
        paid = _respond(
            *self.classes, self._first, self._pool, self._size, self._duration, ahead, start, use,
            begun,
        )  # fmt: skip
        held = use[:, :, :-1].cumsum(axis=2)
        return paid, np.concatenate([held.ravel(), begun.ravel()])

    def columns(self, owner: Ints, entry: Ints, begin: Ints) -> Columns:
        """Return the columns of classes that take an entry of their menu in a slot."""
        slots = self.limits.room.shape[2]
        arrival, weight = self.classes.arrival[owner], self.classes.weight[owner]
        cost = weight * (begin + self._duration[entry] - arrival)
        inside = np.clip(np.minimum(begin + self._duration[entry], slots) - begin, 0, None)
        column = np.repeat(np.arange(owner.size), inside)
        held = Held(column, np.repeat(begin, inside) + counted(inside), self._size[entry][column])
        use = self.limits.used(held, self._pool[entry], begin)
        last = max(slots, int(self.classes.arrival.max(initial=0))) + 1
        key = (owner * self._duration.size + entry) * last + np.minimum(begin, last - 1)
        return Columns(owner, cost, use, key)

    def first_columns(self, wait: int) -> Columns:
        """Return the columns that start within some slots of arrival, or after all priced slots."""
        count = np.diff(self._first)[self.classes.profile]
        owner = np.repeat(np.arange(count.size), count)
        entry = np.repeat(self._first[self.classes.profile], count) + counted(count)
        begin = self.classes.arrival[owner]
        after = np.maximum(begin, self.limits.room.shape[2])
        begins = [*(begin + waited for waited in range(wait + 1)), after]
        return self.columns(
            np.tile(owner, wait + 2), np.tile(entry, wait + 2), np.concatenate(begins)
        )


def _quickest(tables: Floats) -> Floats:
    """Return the fewest slots that one of several clusters takes, 0 where none can."""
    best = np.where(tables > 0, tables, np.inf).min(axis=0)
    return np.where(np.isfinite(best), best, 0.0)


@compiled
def _cheapest(
    arrival: Ints, weight: Floats, profile: Ints, first: Ints, pool: Ints, size: Floats,
    duration: Ints, ahead: Floats, start: Floats,
) -> tuple[Floats, Ints, Ints]:  # fmt: skip
    """Return the least cost of each class, and the best start with each entry of its menu."""
    classes, widest = arrival.size, 0
    for p in range(first.size - 1):
        widest = max(widest, first[p + 1] - first[p])
    least = np.full(classes, np.inf)
    entry = np.full((classes, widest), -1, dtype=np.int64)
    begin = np.full((classes, widest), -1, dtype=np.int64)
    for c in range(classes):
        low = first[profile[c]]
        for b in range(low, first[profile[c] + 1]):
            cost, begin[c, b - low] = _earliest_of_cheapest(
                arrival[c], weight[c], pool[b], size[b], duration[b], ahead, start, np.inf
            )
            entry[c, b - low] = b
            least[c] = min(least[c], cost)
    return least, entry, begin


@compiled
def _earliest_of_cheapest(
    arrival: int, weight: float, g: int, size: Floats, d: int, ahead: Floats, start: Floats,
    best: float,
) -> tuple[float, int]:  # fmt: skip
    """Return the least cost of an entry of a menu below some cost, and its start, -1 for none."""
    slots, begin, s = ahead.shape[2] - 1, -1, arrival
    while True:
        cost = weight * (s + d - arrival)
        # Fathoming by the cost of the time alone.
        if cost >= best:
            break  # prices are not negative
        if s < slots:
            for i in range(size.size):
                cost += size[i] * (ahead[i, g, min(s + d, slots)] - ahead[i, g, s])
            if start.shape[1] > 0:
                cost += start[g, s]
        if cost < best:
            best, begin = cost, s
        s += 1
        if s > slots and s > arrival:
            break
    return best, begin


@compiled(writes="use begun")
def _respond(
    arrival: Ints, weight: Floats, tasks: Ints, profile: Ints, first: Ints, pool: Ints,
    size: Floats, duration: Ints, ahead: Floats, start: Floats, use: Floats, begun: Floats,
) -> float:  # fmt: skip
    """Add up what the cheapest start of each class pays, and how what it takes changes by slot."""
    paid, slots = 0.0, ahead.shape[2] - 1
    for c in range(arrival.size):
        best, taken, begin = np.inf, -1, -1
        for b in range(first[profile[c]], first[profile[c] + 1]):
            cost, s = _earliest_of_cheapest(
                arrival[c], weight[c], pool[b], size[b], duration[b], ahead, start, best
            )
            if s >= 0:
                best, taken, begin = cost, b, s
        paid += tasks[c] * best
        if begin < slots:
            g, end = pool[taken], min(begin + duration[taken], slots)
            for i in range(size.shape[1]):
                # Difference array: sums over the slots follow from its running sum.
                use[i, g, begin] += tasks[c] * size[taken, i]
                use[i, g, end] -= tasks[c] * size[taken, i]
            if start.shape[1] > 0:
                begun[g, begin] += tasks[c]
    return paid


BLENDS: Final = (1.0, 0.5, 0.2)
"""Parts of the way from the best prices to those of the program that are tried in a round."""

COARSE: Final = 1e-3  # relative gap at which to go on to smaller blocks of slots
ROUNDING: Final = 1e-9
"""Relative reduced cost below which a column is worth adding."""


class Pricing(Protocol):
    """What tasks do at given prices."""

    classes: Classes
    limits: Limits

    def __call__(self, prices: Floats) -> tuple[Floats, Columns]:
        """Return the least cost of a task of each class, and columns that attain it or nearly."""


class BestPrices(NamedTuple):
    """Prices and what they prove."""

    value: float  # what all tasks pay at least, less what the limits are worth: a lower bound
    prices: Floats  # price of each limit, shape [rows]
    objective: float  # value of a point of the relaxation; no prices prove more
    late: float  # tasks that this point starts after the last priced slot
    rounds: int  # rounds that it took


def best_prices(
    pricing: Pricing,
    first: Columns,
    *,
    gap: float,
    blocks: tuple[int, ...] = (1,),
    time_limit: float | None = None,
    prices: Floats | None = None,
) -> BestPrices:
    """Return the prices that prove most."""
    search = _Search(pricing, first, prices, time_limit)
    for block in blocks:
        if search.has_time():
            search.run(block, gap if block == blocks[-1] else max(gap, COARSE))
    return BestPrices(search.value, search.best, search.objective, search.late, search.rounds)


class _Search:
    """The best prices so far, and all columns that have been found."""

    def __init__(
        self, pricing: Pricing, first: Columns, prices: Floats | None, time_limit: float | None
    ) -> None:
        self.pricing, self.began, self.time_limit = pricing, time.perf_counter(), time_limit
        self.counts = pricing.classes.tasks.astype(np.float64)
        self.sides = pricing.limits.sides()
        self.value, self.best = -np.inf, np.zeros(self.sides.size)
        self.rounds, self.objective, self.late = 0, np.inf, 0.0
        begin = [self.best] if prices is None else [self.best, prices]
        self.columns = stacked([first, self.attempt(begin)])

    def has_time(self) -> bool:
        """Return whether there is time for another round."""
        spent = time.perf_counter() - self.began
        return self.time_limit is None or spent <= self.time_limit

    def attempt(self, several: list[Floats]) -> Columns:
        """Keep the best of several prices, and return the columns to add for them."""
        found = []
        for prices in several:
            least, cheap = self.pricing(prices)
            # The Lagrangian dual function, a bound at any prices (Geoffrion, 1974).
            value = float(self.counts @ least - prices @ self.sides)
            found.append(cheap)
            if value > self.value:
                self.value, self.best = value, prices
        self.rounds += 1
        return joined(found)

    def run(self, block: int, gap: float) -> None:
        """Improve prices that are the same in each block of slots."""
        merge, classes = self.pricing.limits.merging(block), self.counts.size
        model = Reusable(self._program(merge), threads=1)
        self.objective = np.inf
        while True:
            solution = model.solve()
            self.objective = min(self.objective, solution.objective)
            theta, paid = solution.duals[:classes], np.maximum(-solution.duals[classes:], 0.0)
            self.late = float(solution.values[np.diff(self.columns.use.indptr) == 0].sum())
            price = merge.T @ paid
            # Smoothing of dual prices towards the best ones (Wentges, 1997).
            found = self.attempt([self.best + part * (price - self.best) for part in BLENDS])
            reached = gap_closed(self.objective, self.value, gap)
            if reached or not self.has_time():
                return
            # Pricing: columns of negative reduced cost enter (Gilmore and Gomory, 1961).
            reduced = found.cost + found.use.T @ price - theta[found.owner]
            size = np.maximum(found.cost, np.abs(theta[found.owner]))
            new = found.chosen(np.flatnonzero(reduced < -ROUNDING * size))
            if not new.owner.size:
                return
            self.columns = stacked([self.columns, new])
            model.add_columns(new.cost, _entries(classes, new, merge))

    def _program(self, merge: sparse.csr_array) -> LinearProgram:
        """Return the program in which all tasks of a class run, within the limits of blocks."""
        nothing = np.full(merge.shape[0], -np.inf)
        return LinearProgram(
            self.columns.cost,
            _entries(self.counts.size, self.columns, merge),
            np.concatenate([self.counts, nothing]),
            np.concatenate([self.counts, merge @ self.sides]),
        )


def _entries(classes: int, columns: Columns, merge: sparse.csr_array) -> sparse.csc_array:
    """Return the entries of columns in all rows of the program."""
    many = columns.owner.size
    owner = sparse.csc_array(
        (np.ones(many), columns.owner, np.arange(many + 1)), shape=(classes, many)
    )
    return sparse.csc_array(sparse.vstack([owner, merge @ columns.use], format="csc"))


BLOCKS: Final = (32, 16, 8, 4, 2, 1)
"""Slots that share their prices, one after the other."""

STEPS: Final = 500
"""Steps with each number of slots, at most."""

_HOPE: Final = 0.02  # part of the bound by which a step hopes to raise it, at first
_LEAST: Final = 1e-5  # the same, below which there are no more steps
_PATIENCE: Final = 10  # steps without success after which hopes are lowered
_FRESH: Final = 0.2  # part of the newest supergradient in the mean, at first


class Responsive(Protocol):
    """Tasks that answer prices together."""

    limits: Limits

    def respond(self, prices: Floats) -> tuple[float, Floats]:
        """Return what all tasks pay at least, and what they take of each limit as they do so."""


def ascended_prices(pricing: Responsive, time_limit: float | None = None) -> BestPrices:
    """Return good prices and what they prove; how far from the best they are is not known."""
    search = _Ascent(pricing, np.inf if time_limit is None else time.perf_counter() + time_limit)
    for block in BLOCKS:
        search.run(block)
    return BestPrices(search.value, search.prices, np.inf, 0.0, search.rounds)


class _Ascent:
    def __init__(self, pricing: Responsive, end: float) -> None:
        self.pricing, self.sides, self.rounds = pricing, pricing.limits.sides(), 0
        self.end = end  # on the clock
        self.prices = np.zeros(self.sides.size)
        self.value, self.excess = self.attempt(self.prices)

    def attempt(self, prices: Floats) -> tuple[float, Floats]:
        """Return what prices prove, and what tasks take at them beyond the room."""
        self.rounds += 1
        paid, use = self.pricing.respond(prices)
        return paid - float(prices @ self.sides), use - self.sides

    def run(self, block: int) -> None:
        """Raise the prices of blocks of slots."""
        merge = self.pricing.limits.merging(block)
        scale = 1.0 / np.maximum(merge @ self.sides, 1.0)
        hope, fresh, failed = _HOPE * self.value, _FRESH, 0
        mean = self.excess
        for _ in range(STEPS):
            way = self._way(merge, mean, scale)
            if not way.any():
                mean, hope = self.excess, hope / 2
                way = self._way(merge, mean, scale)
            if not way.any() or hope < _LEAST * self.value or time.perf_counter() >= self.end:
                return
            # Polyak step towards a target level that is hoped for (Polyak, 1969).
            step = merge.T @ (hope / (way @ way) * way * scale)
            prices = np.maximum(self.prices + step, 0.0)
            value, excess = self.attempt(prices)
            # Deflected direction: a mean of supergradients (Camerini, Fratta and Maffioli, 1975).
            mean = fresh * excess + (1.0 - fresh) * mean
            if value > self.value:
                if value - self.value > hope / 4:
                    hope *= 1.5
                self.value, self.prices, self.excess, failed = value, prices, excess, 0
                continue
            failed += 1
            if failed == _PATIENCE:
                mean, failed = (mean + self.excess) / 2, 0
                hope, fresh = 0.6 * hope, max(0.02, 0.9 * fresh)

    def _way(self, merge: Any, mean: Floats, scale: Floats) -> Floats:
        """Return the direction, 0 where it would lower prices that are 0."""
        way: Floats = (merge @ mean) * scale
        # Projection of the direction on the cone of feasible ones.
        way[(way < 0.0) & (merge @ self.prices <= 0.0)] = 0.0
        return way
