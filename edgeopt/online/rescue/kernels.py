"""The compiled rules and episode of RESCUE, and all scenarios of an environment in one call."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.edf import VIOLATED, edf_serve
from edgeopt.instances.rescue.profit_models import LogProfit, log_profit
from edgeopt.kernels import compiled
from edgeopt.models.rescue.server_states import fixed
from edgeopt.online.rescue.environment import Book, RescueTrajectory
from edgeopt.online.rescue.lookup_tables import Guard, Routes, safe_run
from edgeopt.online.rescue.policies import (
    GAIN,
    GreedyRule,
    RoutedRule,
    Rule,
    ServerRule,
    UniformRule,
)
from edgeopt.online.rescue.safe_policies import SafeRule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.online.rescue.environment import RescueEnvironment


ROUTED: Final = 0
SERVER: Final = 1
GREEDY: Final = 2
UNIFORM: Final = 3
SAFE: Final = 4

NOWHERE: Final = -1


class Formula(NamedTuple):
    """A `LogProfit` in a block of slots: only runs that begin are worth computing."""

    scale: NDArray[np.float64]  # [n, J]
    gain: NDArray[np.float64]  # [J]; empty where profits are a table
    curvature: NDArray[np.float64]  # [J]
    work: NDArray[np.float64]  # [n, K, D]
    budget: NDArray[np.int64]  # [J, K]
    end: int  # runs that end later earn nothing


class System(NamedTuple):
    """The environment; names as in `RescueEnvironment`, profits of a block of slots flattened."""

    exclusive: bool
    arrival: NDArray[np.float64]
    """Cumulative over devices if exclusive, plain if not; [T, J]."""
    duration_cumulative: NDArray[np.float64]
    guard: Guard
    up: NDArray[np.bool_]
    veto: Guard  # of the rule
    profit: NDArray[np.float64]
    stride: NDArray[np.int64]
    """Steps in `profit` along slot, device, server, profile, duration; 0 on unexpanded axes."""
    formula: Formula


class Table(NamedTuple):
    """A rule, scores of a block of slots; what its kind does not need is empty."""

    kind: int
    guarded: bool
    threshold: float
    first: NDArray[np.int64]
    pair: NDArray[np.int64]
    cumulative: NDArray[np.float64]
    worth: NDArray[np.bool_]
    score: NDArray[np.float64]
    slot: NDArray[np.int64]
    """Of states of idle servers, see `ServerStates`."""
    following: NDArray[np.int64]
    future: NDArray[np.float64]
    """Values of what follows a run in a state and of waiting there, see `StateValues`."""
    waiting: NDArray[np.float64]


class State(NamedTuple):
    """Where every scenario stands between two blocks of slots."""

    free_at: NDArray[np.int64]
    """First slot in which a server is idle again, [runs, K]."""
    remaining: NDArray[np.float64]
    """Reserved work left, [runs, H]."""
    place: NDArray[np.int64]
    """State in which a server was idle last, or will be next, [runs, K]."""


@compiled
def _first_above(cumulative: NDArray[np.float64], low: int, high: int, coin: float) -> int:
    """Return the first position in low..high-1 whose entry exceeds the coin, or high."""
    # Inverse transform sampling by binary search (Devroye 1986, III.2).
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > coin:
            high = middle
        else:
            low = middle + 1
    return low


@compiled(writes="pairs place")
def _choose(
    system: System,
    table: Table,
    free_at: NDArray[np.int64],
    remaining: NDArray[np.float64],
    place: NDArray[np.int64],
    slot: int,
    first: int,
    device: int,
    coin: float,
    pairs: NDArray[np.int64],
) -> int:
    """Return the pair (server * L + profile) that takes the task, or NOWHERE."""
    servers, profiles = (0, free_at.size), (0, system.guard.longest.size)
    best = 0.0 if table.kind == SAFE else table.threshold
    if table.first.size > 1:
        row = slot * system.arrival.shape[1] + device
        high = table.first[row + 1]
        # Inverse transform sampling of a route.
        route = _first_above(table.cumulative, table.first[row], high, coin)
        if route == high:
            return NOWHERE
        server, profile = divmod(table.pair[route], system.guard.longest.size)
        if table.kind == ROUTED:
            if free_at[server] > slot or not table.worth[route]:
                return NOWHERE
            if table.guarded and not safe_run(system.veto, remaining, slot, server, profile):
                return NOWHERE
            return int(table.pair[route])
        servers = (server, server + 1)
        if table.kind == SERVER:
            best = -np.inf
        else:
            profiles = (profile, profile + 1)
    if table.kind == SAFE:
        for k in range(free_at.size):
            while free_at[k] <= slot and table.slot[place[k]] < slot:
                place[k] = table.following[place[k], 0]
    if table.kind == UNIFORM:
        if coin >= table.threshold:
            return NOWHERE
        count = 0
        for k in range(free_at.size):
            for profile in range(system.guard.longest.size if free_at[k] <= slot else 0):
                if not table.guarded or safe_run(system.veto, remaining, slot, k, profile):
                    pairs[count] = k * system.guard.longest.size + profile
                    count += 1
        if count == 0:
            return NOWHERE
        # The coin is uniform below the threshold; min: the product may round up to the count.
        return int(pairs[min(int(coin / table.threshold * count), count - 1)])
    found = NOWHERE
    # By state, the score of a run is what it adds to the values of idle servers.
    for server in range(servers[0], servers[1]):
        if free_at[server] > slot:
            continue
        for profile in range(profiles[0], profiles[1]):
            score = table.score[slot - first, device, server, profile]
            least = best
            if table.kind == SAFE:
                state = place[server]
                wait = table.waiting[state, device if table.waiting.shape[1] > 1 else 0]
                # Bid-price control (Talluri and van Ryzin 1998): earn more than waiting is worth.
                worth = score + table.future[state, profile]
                score = worth - wait
                least = max(best, table.threshold * max(worth, wait))
            # The guard costs more than the comparison: ask it only about improvements.
            if score > least and (
                not table.guarded or safe_run(system.veto, remaining, slot, server, profile)
            ):
                best, found = score, server * system.guard.longest.size + profile
    return found


@compiled
def _profit(
    system: System, n: int, device: int, server: int, profile: int, duration: int, slot: int
) -> float:
    """Return what a run earns that begins in a slot, the n-th of the block."""
    stride, own = system.stride, system.formula
    if own.gain.size == 0:
        place = n * stride[0] + device * stride[1] + server * stride[2]
        return float(system.profit[place + profile * stride[3] + (duration - 1) * stride[4]])
    if duration > own.budget[device, server] or slot + duration > own.end:
        return 0.0
    work = own.work[n, server, duration - 1]
    return log_profit(own.scale[n, device], own.gain[device], own.curvature[device], work)


@compiled(writes="free_at place")
def _begin(
    system: System,
    table: Table,
    book: Book,
    place: NDArray[np.int64],
    free_at: NDArray[np.int64],
    run: int,
    slot: int,
    first: int,
    device: int,
    pair: int,
    coin: float,
) -> None:
    """Start a run, book its profit, and note it if there is room for notes."""
    horizon = system.guard.capacity.shape[1]
    server, profile = divmod(pair, system.guard.longest.size)
    # Inverse transform sampling of the duration.
    distribution = system.duration_cumulative[profile]
    duration = 1 + _first_above(distribution, 0, distribution.size, coin)
    book.accepted[run, slot] += 1
    book.reward[run, slot] += _profit(system, slot - first, device, server, profile, duration, slot)
    free_at[server] = slot + duration
    if table.kind == SAFE:
        place[server] = table.following[place[server], duration]
    if book.device.size:
        for t in range(slot, min(slot + duration, horizon)):
            book.device[run, server, t] = device
            book.profile[run, server, t] = profile


@compiled(writes="remaining head")
def _serve(
    system: System,
    book: Book,
    free_at: NDArray[np.int64],
    remaining: NDArray[np.float64],
    run: int,
    slot: int,
    head: NDArray[np.int64],
) -> None:
    """Use the slot's capacity and count the reserved tasks that have missed their deadline."""
    guard = system.guard
    for k in range(free_at.size):
        busy = free_at[k] > slot
        if busy:
            book.retraining_work[run, slot] += guard.capacity[k, slot]
        stop = guard.offset[k + 1]
        if head[k] == stop:
            continue
        # Earliest deadline first (Jackson 1955).
        if not busy:
            mine, room = guard.order[head[k] : stop], guard.capacity[k, slot]
            if book.served.size:
                for i in mine:
                    book.served[run, i, slot] = remaining[i]
            work = edf_serve(mine, guard.start, guard.end, remaining, slot, room)
            if book.served.size:
                for i in mine:
                    book.served[run, i, slot] -= remaining[i]
            if system.up[k, slot]:
                book.reserved_work[run, slot] += work
        # Deadlines ascend from head on: what is due now is over, and need not be looked at again.
        while head[k] < stop and guard.end[guard.order[head[k]]] <= slot:
            due = guard.order[head[k]]
            if remaining[due] > VIOLATED * guard.demand[due]:
                book.violations[run, slot] += 1
            head[k] += 1


@compiled(nogil=True)
def run_policy(
    system: System,
    table: Table,
    state: State,
    book: Book,
    scenarios: NDArray[np.float64],
    first: int,
    stop: int,
) -> None:
    """Simulate slots first..stop-1 of all scenarios [runs, T, S, 3], changing state and book.

    `System.profit` and `Table.score` hold the rows of these slots.
    """
    guard, devices = system.guard, system.arrival.shape[1]
    servers = guard.capacity.shape[0]
    head = np.empty(servers, dtype=np.int64)
    pairs = np.empty(servers * guard.longest.size, dtype=np.int64)
    for run in range(scenarios.shape[0]):
        free_at, remaining = state.free_at[run], state.remaining[run]
        place = state.place[run]
        for k in range(servers):
            head[k] = guard.offset[k]
            while head[k] < guard.offset[k + 1] and guard.end[guard.order[head[k]]] < first:
                head[k] += 1
        for slot in range(first, stop):
            for step in range(scenarios.shape[2]):
                coin = scenarios[run, slot, step, 0]
                if system.exclusive:
                    device = _first_above(system.arrival[slot], 0, devices, coin)
                    if device == devices:
                        continue
                else:
                    device = step
                    if coin >= system.arrival[slot, device]:
                        continue
                book.decisions[run, slot] += 1
                coin = scenarios[run, slot, step, 1]
                pair = _choose(
                    system, table, free_at, remaining, place, slot, first, device, coin, pairs
                )
                if pair != NOWHERE:
                    coin = scenarios[run, slot, step, 2]
                    _begin(
                        system, table, book, place, free_at, run, slot, first, device, pair, coin
                    )
            _serve(system, book, free_at, remaining, run, slot, head)


_NO_ROUTES = Routes(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


class RescueKernel:
    """A rule in an environment, ready to run.

    Building one compiles the machine code, or loads it from the cache, so that a call is timed
    without that.
    """

    def __init__(self, environment: RescueEnvironment, rule: Rule | SafeRule, name: str) -> None:
        self._environment = environment
        self._rule = rule
        self._name = name
        self(np.empty((0, environment.instance.horizon, environment.steps, 3)))

    def __call__(
        self,
        scenarios: NDArray[np.float64],
        rng: np.random.Generator | None = None,
        *,
        keep_trace: bool = False,
    ) -> RescueTrajectory:
        """Simulate all scenarios, shape [runs, T, S, 3].

        `seconds` of the trajectory is the time of the whole compiled loop.
        """
        scenarios = fixed(scenarios)
        runs = scenarios.shape[0]
        state = self._state(runs)
        book = Book.of(self._environment.instance, (runs,), keep_trace=keep_trace)
        seconds = 0.0
        for slots in self._environment.profit.blocks if runs else [slice(0, 0)]:
            system, table = self._system(slots), self._table(slots)
            began = time.perf_counter()
            run_policy(system, table, state, book, scenarios, slots.start, slots.stop)
            seconds += time.perf_counter() - began
        booked: dict[str, Any] = book._asdict()
        if not keep_trace:
            booked |= dict.fromkeys(("device", "profile", "served"))
        return RescueTrajectory(name=self._name, seconds=seconds, compiled=True, **booked)

    def _system(self, slots: slice) -> System:
        environment = self._environment
        instance = environment.instance
        exclusive = instance.arrivals == "exclusive"
        profit, stride, formula = np.zeros(1), np.zeros(5, dtype=np.int64), _NO_FORMULA
        if slots.stop and isinstance(instance.profit, LogProfit):
            formula = _formula(instance, instance.profit, slots)
        elif slots.stop:
            profit, stride = _flat(environment.profit.block(slots))
        return System(
            exclusive,
            fixed(environment.arrival_cumulative if exclusive else instance.arrival),
            fixed(environment.duration_cumulative),
            environment.guard,
            fixed(environment.up),
            self._rule.guard or environment.guard,
            fixed(profit),
            fixed(stride),
            formula,
        )

    def _table(self, slots: slice) -> Table:
        rule = self._rule
        routes, worth = _NO_ROUTES, np.zeros(0, dtype=np.bool_)
        score, threshold = np.zeros((0, 0, 0, 0)), 0.0
        states = [np.zeros(0, np.int64), np.zeros((0, 0), np.int64)]
        values = [np.zeros((0, 0)), np.zeros((0, 0))]
        if isinstance(rule, RoutedRule):
            kind, routes, worth = ROUTED, rule.routes, rule.worth
        elif isinstance(rule, ServerRule):
            kind, routes = SERVER, rule.routes
        elif isinstance(rule, GreedyRule):
            kind, threshold = GREEDY, rule.threshold
        elif isinstance(rule, UniformRule):
            kind, threshold = UNIFORM, rule.accept
        elif isinstance(rule, SafeRule):
            kind, threshold = SAFE, GAIN
            routes = _NO_ROUTES if rule.routes is None else rule.routes
            states = [rule.states.slot, rule.states.following]
            values = [rule.values.future, rule.values.waiting]
        else:
            raise OptionError(f"{self._name}: no kernel follows a {type(rule).__name__}")
        if isinstance(rule, GreedyRule | ServerRule | SafeRule) and slots.stop:
            score = rule.score.block(slots)
        arrays = (routes.first, routes.pair, routes.cumulative, worth, score, *states, *values)
        return Table(kind, rule.guard is not None, float(threshold), *map(fixed, arrays))

    def _state(self, runs: int) -> State:
        instance, rule = self._environment.instance, self._rule
        places = np.zeros(instance.servers, dtype=np.int64)
        if isinstance(rule, SafeRule):
            places = rule.states.first[:-1]
        return State(
            np.zeros((runs, instance.servers), dtype=np.int64),
            np.repeat(instance.promised.demand[np.newaxis], runs, axis=0),
            np.tile(places, (runs, 1)),
        )


def _formula(instance: RescueInstance, profit: LogProfit, slots: slice) -> Formula:
    scale, work = profit.factors(slots)
    longest = instance.horizon + (instance.max_duration if instance.beyond == "hold" else 0)
    gain, curvature, budget = (fixed(one) for one in (profit.gain, profit.curvature, profit.budget))
    return Formula(fixed(scale), gain, curvature, fixed(work), budget, longest)


_NO_FORMULA = Formula(
    fixed(np.zeros((0, 0))), fixed(np.zeros(0)), fixed(np.zeros(0)), fixed(np.zeros((0, 0, 0))),
    fixed(np.zeros((0, 0), np.int64)), 0,
)  # fmt: skip


def _flat(block: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Undo a broadcast: return the entries in memory and the step along every axis, or 0."""
    held = block[tuple(slice(None) if step else slice(0, 1) for step in block.strides)]
    held = np.ascontiguousarray(held)
    steps = np.array(held.strides, dtype=np.int64) // held.itemsize
    return held.ravel(), np.where(np.array(held.shape) > 1, steps, 0)
