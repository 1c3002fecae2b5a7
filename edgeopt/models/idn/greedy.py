"""What adding one model to an allocation saves, and the lazy greedy algorithm.

Serving in the order of cost, a model that is added with potential capacity l takes the l dearest
requests of a type, as far as they cost more than with the model itself. That is the marginal gain
of equation (32), without a sum over ranks. The state holds, per option and slot, the requests that
it serves, and links the hosted options of each type in the order of cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from edgeopt.arrays import Flags as Bools
    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.idn import IdnInstance
    from edgeopt.models.idn.demand import Demand


class _Service(NamedTuple):
    """Who serves what while an allocation grows."""

    cost: Floats  # of each option, ms per request, shape [P]
    type: Ints  # of each option, shape [P]
    pair_first: Ints  # where the options of each pair begin in `pair_option`, shape [V * M + 1]
    pair_option: Ints  # options by pair, shape [P]
    weight: Floats  # of each slot, shape [S]
    potential: Floats  # potential capacity of each option in each slot, requests, shape [P, S]
    served: Floats  # requests that each option serves in each slot, shape [P, S]
    # the hosted option before each hosted one in its type, -1 if there is none, shape [P]
    before: Ints
    tail: Ints  # the last hosted option of each type, shape [R]
    # the last option that serves any request of a type in a slot, -1 if none does, shape [R, S]
    dearest: Ints
    # what the dearest request of a type costs in a slot, 0 if there is none, ms, shape [R, S]
    highest: Floats


def service_of(instance: IdnInstance, demand: Demand, hosted: Bools) -> _Service:
    """Return the state in which an allocation of shape [V, M] serves a demand."""
    ranking, slots = instance.ranking, len(demand)
    options = ranking.pair.size
    service = _Service(
        ranking.cost,
        ranking.type,
        *grouped(ranking.pair, instance.size.size),
        demand.weight,
        demand.potential.T.copy(),
        np.zeros((options, slots)),
        np.full(options, -1),
        np.full(instance.types, -1),
        np.empty((instance.types, slots), dtype=np.int64),
        np.zeros((instance.types, slots)),
    )
    _serve(ranking.first, ranking.pair, hosted.ravel(), demand.requests, *service)
    return service


@compiled
def grouped(key: Ints, groups: int) -> tuple[Ints, Ints]:
    """Return where each group of equal keys begins, and the positions by key, in order."""
    first = np.zeros(groups + 1, dtype=np.int64)
    for each in key:
        first[each + 1] += 1
    for group in range(groups):
        first[group + 1] += first[group]
    following = first[:-1].copy()
    position = np.empty(key.size, dtype=np.int64)
    for i, each in enumerate(key):
        position[following[each]] = i
        following[each] += 1
    return first, position


@compiled
def weighted(weight: Floats, potential: Floats) -> Floats:
    """Return the weighted potential capacity of each option over all slots, shape [P]."""
    total = np.empty(potential.shape[0], dtype=np.float64)
    for k in range(total.size):
        amount = 0.0
        for t in range(weight.size):
            amount += weight[t] * potential[k, t]
        total[k] = amount
    return total


@compiled(writes="served before tail dearest highest")
def _serve(  # type: ignore[no-untyped-def]
    first, pair, hosted, requests, cost, type_, pair_first, pair_option,
    weight, potential, served, before, tail, dearest, highest,
):  # fmt: skip
    left = np.empty(weight.size, dtype=np.float64)
    for n in range(tail.size):
        waiting = 0
        for t in range(weight.size):
            left[t] = requests[t, n]
            waiting += left[t] != 0.0
        dearest[n] = -1
        for k in range(first[n], first[n + 1]):
            if not hosted[pair[k]]:
                continue
            before[k] = tail[n]
            tail[n] = k
            if waiting == 0:
                continue
            for t in range(weight.size):
                amount = min(left[t], potential[k, t])
                if amount > 0.0:
                    served[k, t] = amount
                    left[t] -= amount
                    waiting -= left[t] == 0.0
                    dearest[n, t] = k
                    highest[n, t] = cost[k]


@compiled
def _saving(at: int, service: _Service) -> float:
    """Return the weighted gain of adding a pair, ms."""
    total = 0.0
    for index in range(service.pair_first[at], service.pair_first[at + 1]):
        option = service.pair_option[index]
        own = service.cost[option]
        dearest = service.dearest[service.type[option]]
        for t in range(service.weight.size):
            left = service.potential[option, t]
            k = dearest[t]
            gained = 0.0
            while k >= 0 and left > 0.0 and service.cost[k] > own:
                moved = min(left, service.served[k, t])
                gained += moved * (service.cost[k] - own)
                left -= moved
                k = service.before[k]
            total += service.weight[t] * gained
    return total


@compiled(fastmath={"reassoc", "contract", "nsz"})
def _saving_at_most(at: int, service: _Service) -> float:
    """Return an upper bound on `_saving`: as if all requests moved cost as much as the dearest."""
    total = 0.0
    for index in range(service.pair_first[at], service.pair_first[at + 1]):
        option = service.pair_option[index]
        own, potential = service.cost[option], service.potential[option]
        highest = service.highest[service.type[option]]
        for t in range(service.weight.size):
            total += service.weight[t] * potential[t] * max(0.0, highest[t] - own)
    return total


@compiled
def _host(at: int, service: _Service) -> None:
    """Add a pair: link its options and move requests to them."""
    before, tail = service.before, service.tail
    for index in range(service.pair_first[at], service.pair_first[at + 1]):
        option = service.pair_option[index]
        n = service.type[option]
        # Insertion into the linked list of the type, which is ordered by cost.
        behind = -1
        k = tail[n]
        while k > option:
            behind, k = k, before[k]
        before[option] = k
        if behind < 0:
            tail[n] = option
        else:
            before[behind] = option
        for t in range(service.weight.size):
            # The dearest requests move first: they gain most.
            left = service.potential[option, t]
            k = service.dearest[n, t]
            while k > option:
                moved = min(left, service.served[k, t])
                service.served[k, t] -= moved
                service.served[option, t] += moved
                left -= moved
                if service.served[k, t] > 0.0:
                    break
                k = before[k]
            service.dearest[n, t] = k
            if k >= 0:
                service.highest[n, t] = service.cost[k]


# Values this close to the best count as equal to it. It absorbs rounding both in ties and in lazy
# bounds, which are sums over other options than the values that they bound.
TIE = 1e-9
# Share of the whole serving cost below which a gain is taken for rounding.
NOTHING = 1e-13
# Share of a budget by which sums of sizes may miss it.
ROUNDING = 1e-12


@compiled(writes="out")
def all_savings(service: _Service, closed: Bools, out: Floats) -> None:
    """Write the saving of every pair that is not closed, shape [V * M]."""
    for at in range(out.size):
        if not closed[at]:
            out[at] = _saving(at, service)


@compiled(writes="limit picked")
def grow(
    service: _Service, size: Floats, budget: Floats, task: Ints, pairs: Ints, begin: Ints,
    limit: Floats, nothing: float, picked: Ints,
) -> None:  # fmt: skip
    """Add pairs until nothing gains; evaluate only those whose bound leads.

    The pairs of each task are in ascending order. The n-th that is added gets the number n in
    `picked`.
    """
    count = 0
    models, tasks = task.size, begin.size - 1
    left, slack = budget.copy(), ROUNDING * budget
    exact = np.zeros(pairs.size, dtype=np.bool_)
    leader = np.empty(tasks, dtype=np.int64)
    lead = np.zeros(tasks, dtype=np.float64)
    for i in range(tasks):
        _find_leader(i, begin, limit, exact, leader, lead)
    while True:
        i = 0
        for other in range(1, tasks):
            i = other if lead[other] > lead[i] else i
        if lead[i] <= 0.0:
            return
        top = leader[i]
        at = pairs[top]
        fits = size[at] <= left[at // models] + slack[at // models]
        if not (fits and exact[top]):
            # Lazy evaluation (Minoux 1978): only a bound that leads is worth a look.
            limit[top] = _worth(_saving(at, service), nothing) / size[at] if fits else 0.0
            exact[top] = True
            _find_leader(i, begin, limit, exact, leader, lead)
            continue
        # An exact leader is the best; among all that tie with it, take the smallest pair.
        best, pick = limit[top] * (1.0 - TIE), at
        for i in range(tasks):
            if lead[i] < best:
                continue
            for c in range(begin[i], begin[i + 1]):
                if limit[c] < best or pairs[c] >= pick:
                    continue
                at = pairs[c]
                fits = size[at] <= left[at // models] + slack[at // models]
                limit[c] = _worth(_saving(at, service), nothing) / size[at] if fits else 0.0
                exact[c] = True
                if limit[c] >= best:
                    pick = at
            _find_leader(i, begin, limit, exact, leader, lead)
        count += 1
        picked[pick] = count
        left[pick // models] -= size[pick]
        _host(pick, service)
        i = task[pick % models]
        for c in range(begin[i], begin[i + 1]):
            at = pairs[c]
            exact[c] = False
            if picked[at] > 0 or size[at] > left[at // models] + slack[at // models]:
                limit[c] = 0.0
            elif limit[c] > 0.0:
                # Any earlier saving is a bound as well.
                limit[c] = min(limit[c], _saving_at_most(at, service) / size[at])
        _find_leader(i, begin, limit, exact, leader, lead)


@compiled(writes="leader lead")
def _find_leader(
    i: int, begin: Ints, limit: Floats, exact: Bools, leader: Ints, lead: Floats
) -> None:
    """Find the candidate of a task with the largest limit; among equals, one that is exact."""
    lead[i], leader[i] = 0.0, -1
    for c in range(begin[i], begin[i + 1]):
        if limit[c] > lead[i] or (limit[c] == lead[i] and exact[c]):
            lead[i], leader[i] = limit[c], c


@compiled
def _worth(gained: float, nothing: float) -> float:
    return gained if gained > nothing else 0.0
