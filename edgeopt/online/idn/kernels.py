"""The compiled parts of INFIDA on pairs stored node by node, and whole runs made of them.

`run` repeats the few lines of mirror ascent that `MirrorAscent` has for single slots, as compiled
code cannot call Python in every slot; the steps themselves are the same functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.online.entropic_projection import ascend_in_place
from edgeopt.online.idn.environment import SLACK
from edgeopt.rounding.kernels import depround_ragged, fill_row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn.instance import Ranking
    from edgeopt.models.idn.gain import Pairs

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

ROUNDED = 1e-10
"""A row may be missed by so much, relative to its limit and to what its entries come to."""

SEEN = 1e-6
"""Models of a smaller share are not fetched to fill a budget."""


class Rows(NamedTuple):
    """Further rows on allocations.

    Attributes
    ----------
    matrix, limit
        Of every row, by pair, shapes [R, C] and [R].
    barred
        Pairs that no budget is refilled with, shape [C].
    drops
        Whether models are dropped until a deployment keeps the rows.
    """

    matrix: Floats
    limit: Floats
    barred: Bools
    drops: bool


@compiled(writes="drawn deployed", both=True)
def deploy(
    pairs: Pairs, point: Floats, credit: Floats, drawn: Floats, deployed: Bools, coins: Floats,
    common: bool, residual: int, refill: bool, rows: Rows,
) -> None:  # fmt: skip
    """Round every node whose shares have changed, or every node on fresh coins.

    What is deployed and the shares behind it (negative before the first slot) are brought up to
    date. A node with n pairs has n + 1 coins.
    """
    share = np.empty(deployed.size, dtype=np.float64)
    nodes = np.empty(pairs.order.size, dtype=np.int64)
    before = np.empty(deployed.size, dtype=np.bool_)
    at, length = np.empty((3, nodes.size), dtype=np.int64), np.empty(nodes.size, dtype=np.int64)
    count = 0
    for v in pairs.order:
        begin, end = pairs.first[v], pairs.first[v + 1]
        changed = not common
        for c in range(begin, end):
            changed |= drawn[c] != point[c]
            drawn[c], before[c] = point[c], deployed[c] and not rows.barred[c]
            share[c] = 0.0 if rows.barred[c] else point[c]
        if changed:
            nodes[count], length[count] = v, end - begin
            at[0, count], at[1, count], at[2, count] = begin, begin, begin + v
            count += 1
    # Dependent rounding of all nodes at once (Gandhi, Khuller, Parthasarathy, Srinivasan 2006).
    depround_ragged(point, pairs.size, residual, coins, at, length[:count], deployed)
    if refill:
        for i in range(count):
            v = nodes[i]
            begin, end = pairs.first[v], pairs.first[v + 1]
            if pairs.free[v]:
                refill_row(
                    share[begin:end], credit[begin:end], pairs.size[begin:end], pairs.budget[v],
                    before[begin:end], deployed[begin:end],
                )  # fmt: skip
    if rows.drops:
        drop(pairs, rows, credit, deployed)


@compiled(writes="deployed", both=True)
def drop(pairs: Pairs, rows: Rows, credit: Floats, deployed: Bools) -> None:
    """Drop models of least credit per MB until every row holds."""
    for r in range(rows.limit.size):
        used = 0.0
        for c in range(deployed.size):
            used += rows.matrix[r, c] if deployed[c] else 0.0
        while used > rows.limit[r] * (1.0 + SLACK):
            least, worst = np.inf, -1
            for c in range(deployed.size):
                if deployed[c] and rows.matrix[r, c] > 0.0 and credit[c] / pairs.size[c] < least:
                    least, worst = credit[c] / pairs.size[c], c
            if worst < 0:
                break
            deployed[worst] = False
            used -= rows.matrix[r, worst]


@compiled
def exceeded(rows: Rows, point: Floats) -> bool:
    """Tell whether shares exceed a row by more than rounding."""
    for r in range(rows.limit.size):
        used = 0.0
        for c in range(point.size):
            used += rows.matrix[r, c] * point[c]
        if used - rows.limit[r] > ROUNDED * max(abs(rows.limit[r]), abs(used)):
            return True
    return False


@compiled(writes="out")
def refill_row(
    share: Floats, credit: Floats, size: Floats, budget: float, before: Bools, out: Bools
) -> None:
    """Add what fits: models that are there already, then those of most credit per MB."""
    room = budget
    for i in range(out.size):
        room -= size[i] if out[i] else 0.0
    # What is there already costs no update.
    found = False
    for i in range(out.size):
        if before[i] and not out[i] and size[i] <= room:
            out[i] = True
            room -= size[i]
        found |= share[i] > SEEN and credit[i] > 0.0 and not out[i] and size[i] <= room
    if found:  # the greedy heuristic of the knapsack problem, by credit per MB
        worth = np.empty(out.size, dtype=np.float64)
        for i in range(out.size):
            worth[i] = credit[i] if share[i] > SEEN else 0.0
        fill_row(worth, size, room, out)


@compiled(writes="potential", both=True)
def share_credit(pairs: Pairs, requests: Ints, deployed: Bools, potential: Floats) -> None:
    """Split the capacity of models that are not deployed among the types that want them."""
    wanted = np.zeros(pairs.size.size, dtype=np.float64)
    for rho in range(requests.size):
        for o in range(pairs.types[rho], pairs.types[rho + 1]):
            wanted[pairs.pair[o]] += requests[rho]
    for rho in range(requests.size):
        for o in range(pairs.types[rho], pairs.types[rho + 1]):
            c = pairs.pair[o]
            if not deployed[c]:
                full = wanted[c] > pairs.capacity[c]
                part = pairs.capacity[c] * requests[rho] / wanted[c] if full else requests[rho]
                potential[o] = part


@compiled(writes="out", both=True)
def gradient_of(
    pairs: Pairs, repository: Floats, requests: Ints, potential: Floats, point: Floats,
    weight: Floats, out: Floats,
) -> None:  # fmt: skip
    """Write the supergradient (18) of a slot, the part of each type times its weight."""
    out[:] = 0.0
    for rho in range(requests.size):
        needed = float(requests[rho])
        if needed <= 0.0 or weight[rho] == 0.0:
            continue
        begin, last = pairs.types[rho], pairs.types[rho + 1]
        marginal, covered = repository[rho], 0.0
        for o in range(begin, last):
            covered += point[pairs.pair[o]] * potential[o]
            if covered >= needed:
                marginal, last = pairs.cost[o], o
                break
        for o in range(begin, last):
            saved = marginal - pairs.cost[o]
            out[pairs.pair[o]] += weight[rho] * (potential[o] * saved)


@compiled(writes="norm", both=True)
def half_range(pairs: Pairs, gradient: Floats, norm: Floats) -> None:
    """Write half the range of g/s of every node with a choice."""
    for v in range(pairs.free.size):
        norm[v] = 0.0
        if pairs.free[v]:
            low, high = np.inf, -np.inf
            for c in range(pairs.first[v], pairs.first[v + 1]):
                # Most entries are 0, and a division costs more than looking.
                worth = gradient[c] / pairs.size[c] if gradient[c] != 0.0 else 0.0
                low, high = min(low, worth), max(high, worth)
            norm[v] = (high - low) / 2.0


@compiled(writes="point", both=True)
def ascend(pairs: Pairs, gradient: Floats, norm: Floats, rate: Floats, point: Floats) -> None:
    """Take a step at every node with a choice, in place, where neither number of it is 0."""
    for v in range(pairs.free.size):
        if pairs.free[v] and rate[v] > 0.0 and norm[v] > 0.0:
            begin, end = pairs.first[v], pairs.first[v + 1]
            ascend_in_place(
                point[begin:end], gradient[begin:end], pairs.size[begin:end], rate[v],
                pairs.filled[v],
            )  # fmt: skip


class Route(NamedTuple):
    """What becomes of a request, by option, and where none before the repository serves it.

    Attributes
    ----------
    latency, inaccuracy
        Of every option, ms and percent, shape [O].
    repository
        Cost of the repository of every type, ms, shape [R].
    repository_latency, repository_inaccuracy
        Of the same, shape [R].
    """

    latency: Floats
    inaccuracy: Floats
    repository: Floats
    repository_latency: Floats
    repository_inaccuracy: Floats


@compiled(writes="free load left potential")
def _serve(
    pairs: Pairs, route: Route, requests: Ints, order: Ints, deployed: Bools, free: Floats,
    load: Floats, left: Floats, potential: Floats,
) -> tuple[float, float, float, float]:  # fmt: skip
    """Serve a slot type after type; return its cost, and that of repositories alone.

    Also the sums over requests of latency and inaccuracy. All in the order of the ranking, so
    that the plain loop adds the same numbers.
    """
    for c in range(free.size):
        free[c] = pairs.capacity[c]
    for rho in order:
        rest = float(requests[rho])
        for o in range(pairs.types[rho], pairs.types[rho + 1]):
            load[o] = 0.0
            c = pairs.pair[o]
            if rest > 0.0 and deployed[c]:
                taken = min(rest, free[c])
                load[o] = taken
                free[c] -= taken
                rest -= taken
        left[rho] = rest
    cost, base, latency, inaccuracy = 0.0, 0.0, 0.0, 0.0
    for rho in range(requests.size):
        most = float(requests[rho])
        base += route.repository[rho] * most
        for o in range(pairs.types[rho], pairs.types[rho + 1]):
            c = pairs.pair[o]
            potential[o] = min(free[c] + load[o] if deployed[c] else pairs.capacity[c], most)
            if load[o] > 0.0:
                cost += pairs.cost[o] * load[o]
                latency += route.latency[o] * load[o]
                inaccuracy += route.inaccuracy[o] * load[o]
        if left[rho] > 0.0:
            cost += route.repository[rho] * left[rho]
            latency += route.repository_latency[rho] * left[rho]
            inaccuracy += route.repository_inaccuracy[rho] * left[rho]
    return cost, base, latency, inaccuracy


def route_of(ranking: Ranking, pairs: Pairs) -> Route:
    """Read off the ranking what becomes of requests."""
    last = ranking.repository
    return Route(
        ranking.latency[pairs.option], ranking.inaccuracy[pairs.option],
        ranking.repository_cost, ranking.latency[last], ranking.inaccuracy[last],
    )  # fmt: skip


class Rules(NamedTuple):
    """The options of a run.

    Attributes
    ----------
    common, residual, refill, shared
        See `deploy` and `share_credit`.
    leader, discount
        Whether steps go from the start along the sum of gradients, and how fast it forgets.
    rate, adaptive
        Rates, MB/ms, shape [V]; if adaptive, to be divided by the root of the sum of squares.
    due
        Slots in which a deployment is drawn, shape [T].
    """

    common: bool
    residual: int
    refill: bool
    shared: bool
    leader: bool
    discount: float
    rate: Floats
    adaptive: bool
    due: Bools


@compiled(
    writes="point last drawn deployed gradient total squares reward violations gain cost latency "
    "inaccuracy fetched"
)
def run(
    pairs: Pairs, route: Route, rules: Rules, rows: Rows, start: Floats, requests: Ints,
    order: Ints, coins: Floats, slot: int, point: Floats, last: Floats, drawn: Floats,
    deployed: Bools, gradient: Floats, total: Floats, squares: Floats, reward: Floats,
    violations: Ints, gain: Floats, cost: Floats, latency: Floats, inaccuracy: Floats,
    fetched: Floats,
) -> tuple[int, int, bool]:  # fmt: skip
    """Simulate slots until all are over, coins may run out, or a step leads beyond a row.

    Return the next slot and coin, and whether the last step is to be taken again from `last`.
    """
    at = 0
    count, nodes = pairs.size.size, pairs.free.size
    before = np.empty(count, dtype=np.bool_)
    free = np.empty(count, dtype=np.float64)
    load = np.empty(pairs.pair.size, dtype=np.float64)
    potential = np.empty(pairs.pair.size, dtype=np.float64)
    left = np.empty(requests.shape[1], dtype=np.float64)
    weight = np.empty(requests.shape[1], dtype=np.float64)
    weight[:] = 1.0
    norm = np.empty(nodes, dtype=np.float64)
    rate = np.empty(nodes, dtype=np.float64)
    while slot < requests.shape[0]:
        for c in range(count):
            before[c] = deployed[c]
        if rules.due[slot]:
            if coins.size - at < count + nodes:
                break
            deploy(
                pairs, point, gradient, drawn, deployed, coins[at : at + count + nodes],
                rules.common, rules.residual, rules.refill, rows,
            )  # fmt: skip
            at += 0 if rules.common else count + nodes
        for v in range(nodes):
            used = 0.0
            for c in range(pairs.first[v], pairs.first[v + 1]):
                if deployed[c]:
                    used += pairs.size[c]
                    if slot > 0 and not before[c]:
                        fetched[slot] += pairs.size[c]
            if used > pairs.budget[v] * (1.0 + SLACK):
                violations[slot] += 1
        asked = requests[slot]
        spent, base, delay, error = _serve(
            pairs, route, asked, order[slot], deployed, free, load, left, potential
        )
        cost[slot] = spent
        gain[slot] = base - spent
        whole = 0
        for rho in range(asked.size):
            whole += asked[rho]
        if whole > 0:
            reward[slot] = gain[slot] / whole
            latency[slot] = delay / whole
            inaccuracy[slot] = error / whole
        if rules.shared:
            share_credit(pairs, asked, deployed, potential)
        gradient_of(pairs, route.repository, asked, potential, point, weight, gradient)
        half_range(pairs, gradient, norm)
        for v in range(nodes):
            squares[v] = rules.discount * rules.discount * squares[v] + norm[v] * norm[v]
            rate[v] = rules.rate[v]
            if rules.adaptive:  # rates by the norms seen so far (McMahan and Streeter 2010)
                # Without news a node rests: sum and rate are discounted by factors that cancel.
                # Rows may move it nevertheless: then all step again from where they began.
                news = norm[v] > 0.0 or (rules.leader and rows.limit.size > 0)
                learns = news and squares[v] > 0.0
                rate[v] = rules.rate[v] / np.sqrt(squares[v]) if learns else 0.0
        for c in range(count):
            last[c] = start[c] if rules.leader else point[c]
        if rules.leader:  # dual averaging (Nesterov 2009, Xiao 2010)
            for c in range(count):
                total[c] = rules.discount * total[c] + gradient[c]
            _restart(pairs, start, rate, point)
            ascend(pairs, total, rate, rate, point)
        else:  # exponentiated gradient (Kivinen and Warmuth 1997)
            ascend(pairs, gradient, norm, rate, point)
        slot += 1
        if exceeded(rows, point):
            return slot, at, True
    return slot, at, False


@compiled(writes="point")
def _restart(pairs: Pairs, start: Floats, rate: Floats, point: Floats) -> None:
    """Put the shares of nodes that take a step back to where they began."""
    for v in range(rate.size):
        if rate[v] > 0.0:
            for c in range(pairs.first[v], pairs.first[v + 1]):
                point[c] = start[c]
