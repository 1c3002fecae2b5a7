"""The compiled forms of rules and episode; array in, array out, nothing to be called from outside.

Several arguments are tuples of arrays. Every array in `System` and `Table` is C-contiguous and
read-only and has a fixed type, so that one compilation serves all instances and rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.instances.edf import VIOLATED, edf_feasible, edf_serve
from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROUTED: Final = 0
SERVER: Final = 1
GREEDY: Final = 2
UNIFORM: Final = 3
SAFE: Final = 4

NOWHERE: Final = -1


class System(NamedTuple):
    """The environment; names as in `RescueEnvironment`, profits of a block of slots flattened."""

    exclusive: bool
    arrival: NDArray[np.float64]
    """Cumulative over devices if exclusive, plain if not; [T, J]."""
    duration_cumulative: NDArray[np.float64]
    longest: NDArray[np.int64]
    capacity: NDArray[np.float64]
    order: NDArray[np.int64]
    offset: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    demand: NDArray[np.float64]
    profit: NDArray[np.float64]
    stride: NDArray[np.int64]
    """Steps in `profit` along slot, device, server, profile, duration; 0 on unexpanded axes."""


class Table(NamedTuple):
    """A rule, scores of a block of slots; what its kind does not need is empty."""

    kind: int
    guarded: bool
    first: NDArray[np.int64]
    cell: NDArray[np.int64]
    cumulative: NDArray[np.float64]
    worth: NDArray[np.bool_]
    score: NDArray[np.float64]
    threshold: float
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


class Book(NamedTuple):
    """Where results go; names and shapes as in `RescueTrajectory`."""

    reward: NDArray[np.float64]
    violations: NDArray[np.int64]
    decisions: NDArray[np.int64]
    accepted: NDArray[np.int64]
    retraining_work: NDArray[np.float64]
    reserved_work: NDArray[np.float64]
    device: NDArray[np.int64]
    profile: NDArray[np.int64]
    served: NDArray[np.float64]


@compiled
def _first_above(cumulative: NDArray[np.float64], low: int, high: int, coin: float) -> int:
    """Return the first position in low..high-1 whose entry exceeds the coin, or high."""
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > coin:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def _safe(
    system: System, remaining: NDArray[np.float64], slot: int, server: int, profile: int
) -> bool:
    return edf_feasible(
        system.order[system.offset[server] : system.offset[server + 1]],
        system.start,
        system.end,
        system.demand,
        remaining,
        system.capacity[server],
        slot,
        slot + system.longest[profile],
    )


@compiled(writes="cells place")
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
    cells: NDArray[np.int64],
) -> int:
    """Return the cell (server * L + profile) that takes the task, or NOWHERE."""
    servers, profiles = (0, free_at.size), (0, system.longest.size)
    best = 0.0 if table.kind == SAFE else table.threshold
    if table.first.size > 1:
        row = slot * system.arrival.shape[1] + device
        high = table.first[row + 1]
        route = _first_above(table.cumulative, table.first[row], high, coin)
        if route == high:
            return NOWHERE
        server, profile = divmod(table.cell[route], system.longest.size)
        if table.kind == ROUTED:
            if free_at[server] > slot or not table.worth[route]:
                return NOWHERE
            if table.guarded and not _safe(system, remaining, slot, server, profile):
                return NOWHERE
            return int(table.cell[route])
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
            for profile in range(system.longest.size if free_at[k] <= slot else 0):
                if not table.guarded or _safe(system, remaining, slot, k, profile):
                    cells[count] = k * system.longest.size + profile
                    count += 1
        if count == 0:
            return NOWHERE
        return int(cells[min(int(coin / table.threshold * count), count - 1)])
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
                worth = score + table.future[state, profile]
                score = worth - wait
                least = max(best, table.threshold * max(worth, wait))
            # The guard costs more than the comparison: ask it only about improvements.
            if score > least and (
                not table.guarded or _safe(system, remaining, slot, server, profile)
            ):
                best, found = score, server * system.longest.size + profile
    return found


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
    cell: int,
    coin: float,
) -> None:
    """Start a run, book its profit, and note it if there is room for notes."""
    horizon = system.capacity.shape[1]
    server, profile = divmod(cell, system.longest.size)
    law = system.duration_cumulative[profile]
    duration = 1 + _first_above(law, 0, law.size, coin)
    stride = system.stride
    book.accepted[run, slot] += 1
    book.reward[run, slot] += system.profit[
        (slot - first) * stride[0]
        + device * stride[1]
        + server * stride[2]
        + profile * stride[3]
        + (duration - 1) * stride[4]
    ]
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
    for k in range(free_at.size):
        busy = free_at[k] > slot
        if busy:
            book.retraining_work[run, slot] += system.capacity[k, slot]
        stop = system.offset[k + 1]
        if head[k] == stop:
            continue
        if not busy:
            work = edf_serve(
                system.order[head[k] : stop],
                system.start,
                system.end,
                remaining,
                slot,
                system.capacity[k, slot],
            )
            book.reserved_work[run, slot] += work
            if book.served.size:
                book.served[run, k, slot] = work
        # Deadlines ascend from head on: what is due now is over, and need not be looked at again.
        while head[k] < stop and system.end[system.order[head[k]]] <= slot:
            due = system.order[head[k]]
            if remaining[due] > VIOLATED * system.demand[due]:
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
    devices = system.arrival.shape[1]
    servers = system.capacity.shape[0]
    head = np.empty(servers, dtype=np.int64)
    cells = np.empty(servers * system.longest.size, dtype=np.int64)
    for run in range(scenarios.shape[0]):
        free_at, remaining = state.free_at[run], state.remaining[run]
        place = state.place[run]
        for k in range(servers):
            head[k] = system.offset[k]
            while head[k] < system.offset[k + 1] and system.end[system.order[head[k]]] < first:
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
                cell = _choose(
                    system, table, free_at, remaining, place, slot, first, device, coin, cells
                )
                if cell != NOWHERE:
                    coin = scenarios[run, slot, step, 2]
                    _begin(
                        system, table, book, place, free_at, run, slot, first, device, cell, coin
                    )
            _serve(system, book, free_at, remaining, run, slot, head)
