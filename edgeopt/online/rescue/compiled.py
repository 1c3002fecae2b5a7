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


@compiled
def _best_on(
    system: System,
    table: Table,
    score: NDArray[np.float64],
    remaining: NDArray[np.float64],
    slot: int,
    server: int,
    threshold: float,
) -> tuple[int, float]:
    """Return the safe profile of highest score above the threshold on an idle server."""
    best = NOWHERE
    for profile in range(score.size):
        # The guard costs more than the comparison: ask it only about improvements.
        if score[profile] > threshold and (
            not table.guarded or _safe(system, remaining, slot, server, profile)
        ):
            best = profile
            threshold = score[profile]
    return best, threshold


@compiled
def _best_by_state(
    system: System,
    table: Table,
    place: NDArray[np.int64],
    free_at: NDArray[np.int64],
    remaining: NDArray[np.float64],
    slot: int,
    first: int,
    device: int,
    only: int,
) -> int:
    """Return the safe cell that adds most to the values of idle servers; `only` that, if any."""
    best, found = 0.0, NOWHERE
    profiles = system.longest.size
    for cell in range(free_at.size * profiles) if only == NOWHERE else range(only, only + 1):
        server, profile = divmod(cell, profiles)
        if free_at[server] > slot:
            continue
        wait = table.waiting[place[server], device if table.waiting.shape[1] > 1 else 0]
        worth = table.score[slot - first, device, server, profile]
        worth += table.future[place[server], profile]
        gain = worth - wait
        enough = gain > best and gain > table.threshold * max(worth, wait)
        if enough and _safe(system, remaining, slot, server, profile):
            best, found = gain, cell
    return found


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
    profiles = system.longest.size
    servers = free_at.size
    only = NOWHERE
    if table.first.size > 1:
        row = slot * system.arrival.shape[1] + device
        high = table.first[row + 1]
        route = _first_above(table.cumulative, table.first[row], high, coin)
        if route == high:
            return NOWHERE
        only = table.cell[route]
    if table.kind == SAFE:
        for k in range(servers):
            while free_at[k] <= slot and table.slot[place[k]] < slot:
                place[k] = table.following[place[k], 0]
        return _best_by_state(system, table, place, free_at, remaining, slot, first, device, only)
    if only != NOWHERE:
        server, profile = divmod(only, profiles)
        if free_at[server] > slot:
            return NOWHERE
        if table.kind == SERVER:
            score = table.score[slot - first, device, server]
            profile, _ = _best_on(system, table, score, remaining, slot, server, -np.inf)
            return NOWHERE if profile == NOWHERE else server * profiles + profile
        if not table.worth[route]:
            return NOWHERE
        if table.guarded and not _safe(system, remaining, slot, server, profile):
            return NOWHERE
        return int(only)
    if table.kind == GREEDY:
        best, cell = table.threshold, NOWHERE
        for k in range(servers):
            if free_at[k] <= slot:
                score = table.score[slot - first, device, k]
                profile, best = _best_on(system, table, score, remaining, slot, k, best)
                if profile != NOWHERE:
                    cell = k * profiles + profile
        return cell
    if coin >= table.threshold:
        return NOWHERE
    count = 0
    for k in range(servers):
        if free_at[k] > slot:
            continue
        for profile in range(profiles):
            if not table.guarded or _safe(system, remaining, slot, k, profile):
                cells[count] = k * profiles + profile
                count += 1
    if count == 0:
        return NOWHERE
    return int(cells[min(int(coin / table.threshold * count), count - 1)])


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
