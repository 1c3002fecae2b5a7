"""Drawn linear programs, and optima of programs as they stand in files, by other means."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linprog

from edgeopt.models.tapfinger import SchedulingProblem, optimal_schedule
from edgeopt.solvers import LinearProgram, solve
from tests.rescue.safe_cases import drawn

if TYPE_CHECKING:
    from edgeopt.instances.rescue import RescueInstance


def drawn_program(seed: int) -> LinearProgram:
    """Draw a linear program that has an optimum, with free columns, equations and ranges."""
    rng = np.random.default_rng([seed, 0])
    m, n = int(rng.integers(1, 12)), int(rng.integers(1, 15))
    part = (8.0, 64.0, 1.0)[seed % 3]  # small enough that costs are decimals of few digits

    def some(*shape: int) -> np.ndarray:
        return np.round(rng.normal(size=shape) * 3 * part) / part

    matrix = some(m, n) * (rng.random((m, n)) < rng.choice([0.3, 0.7, 1.0]))
    point, sides = some(n), rng.integers(0, 4, n)  # at least, at most, both, none
    lower = np.where((sides == 0) | (sides == 2), point - rng.integers(0, 3, n), -np.inf)
    upper = np.where((sides == 1) | (sides == 2), point + rng.integers(0, 3, n), np.inf)
    forms, use = rng.integers(0, 4, m), matrix @ point
    slack = rng.integers(0, 2, m)
    row_lower = np.where((forms == 0) | (forms == 2), use - slack, -np.inf)
    row_upper = np.where((forms == 1) | (forms == 2), use + slack, np.inf)
    row_lower[forms == 3] = row_upper[forms == 3] = use[forms == 3]
    # A cost that multipliers of the right signs add up to: there is an optimum.
    y = np.where(np.isneginf(row_lower), -1.0, 1.0) * np.abs(some(m)) * (rng.random(m) < 0.8)
    d = np.where(np.isneginf(lower), -1.0, 1.0) * np.abs(some(n)) * (rng.random(n) < 0.5)
    cost = matrix.T @ y + np.where(sides == 3, 0.0, d)
    sign = -1.0 if rng.random() < 0.5 else 1.0
    sense = "max" if sign < 0 else "min"
    return LinearProgram(
        sign * cost, matrix, row_lower, row_upper, lower, upper,
        sense=sense, offset=float(rng.integers(-2, 3)),
    )  # fmt: skip


def tiny(seed: int) -> RescueInstance:
    """Draw an instance of RESCUE with overlapping windows, whose best safe policy can be found."""
    return drawn(seed, horizon=4)


def number(text: str) -> float:
    """Read a number as a float, by other code than the checker's."""
    above, _, below = text.partition("/")
    return float(above) / float(below or 1)


def numbers(values: Any) -> np.ndarray:
    def of(part: Any) -> Any:
        return [of(one) for one in part] if isinstance(part, list) else number(part)

    return np.array(of(values), dtype=float)


def whole(values: Any) -> np.ndarray:
    return numbers(values).astype(int)


def _optimum(sense: float, cost, equal, low, high, row_low, row_high) -> float | None:
    """Return the optimum of a linear program by SciPy's HiGHS; None if there is none."""
    rows = [(np.isfinite(row_high), 1.0, row_high), (np.isfinite(row_low), -1.0, row_low)]
    upper = np.vstack([np.zeros((0, cost.size)), *(sign * equal[at] for at, sign, _ in rows)])
    right = np.concatenate([sign * side[at] for at, sign, side in rows])
    bounds = np.column_stack([low, high])
    if (low > high).any() or not (np.isfinite(cost).all() and np.isfinite(equal).all()):
        return None  # there is no point, or doubles do not tell
    if not cost.size:
        return 0.0
    found = linprog(sense * cost, upper, right, bounds=bounds)
    return sense * found.fun if found.status == 0 else None


def of_linear_program(data: dict[str, Any]) -> float | None:
    cost, low, high = (numbers(data[name]) for name in ("cost", "low", "high"))
    row_low, row_high = numbers(data["row_low"]), numbers(data["row_high"])
    matrix = np.zeros((row_low.size, cost.size))
    for j, column in enumerate(data["columns"]):
        for i, a in column.items():
            matrix[int(i), j] = number(a)
    sense = 1.0 if number(data["sense"]) > 0 else -1.0
    found = _optimum(sense, cost, matrix, low, high, row_low, row_high)
    return None if found is None else found + number(data["offset"])


def of_infeasible_program(data: dict[str, Any]) -> float | None:
    """Return 0 if a point satisfies the rows and bounds, which is then the least of no cost."""
    return of_linear_program(data | {"cost": ["0"] * len(data["cost"]), "offset": "0"})


def drawn_without_point(seed: int) -> LinearProgram:
    """Draw a program of which one row is to be beyond what its others allow."""
    rng, program = np.random.default_rng([seed, 1]), drawn_program(seed)
    row = np.round(rng.normal(size=program.shape[1]) * 8) / 8
    best = solve(program.replace(cost=row, sense="max", offset=0.0), raises=False)
    if best.bound < np.inf:
        low, high = [best.bound + 1.0], [np.inf]
        return _with_rows(program, [row], low, high)
    return _with_rows(program, [row, row], [1.0, -np.inf], [np.inf, 0.0])


def drawn_without_limit(seed: int) -> LinearProgram:
    """Draw a program whose objective improves along a ray of its columns that have no sides."""
    rng, program = np.random.default_rng([seed, 2]), drawn_program(seed)
    ray = rng.integers(0, 4, program.shape[1]) * 0.5
    ray[int(rng.integers(ray.size))] = 1.0
    use = program.matrix @ ray
    return program.replace(
        cost=-program.sign * (ray + 0.25),
        lower=np.where(ray > 0, np.minimum(program.lower, 0.0), program.lower),
        upper=np.where(ray > 0, np.inf, program.upper),
        row_lower=np.where(use < 0, -np.inf, program.row_lower),
        row_upper=np.where(use > 0, np.inf, program.row_upper),
    )


def _with_rows(program: LinearProgram, rows: Any, low: Any, high: Any) -> LinearProgram:
    return LinearProgram(
        program.cost,
        np.vstack([program.matrix.toarray(), *rows]),
        np.concatenate([program.row_lower, low]),
        np.concatenate([program.row_upper, high]),
        program.lower,
        program.upper,
        sense=program.sense,
    )


def of_p1_lp(data: dict[str, Any]) -> float | None:
    p, profit, alive, speed = (
        numbers(data[name]) for name in ("arrival", "profit", "survival", "capacity")
    )
    T, J, K, L = profit.shape
    server, start, end = (whole(data[name]) for name in ("server", "start", "end"))
    demand = numbers(data["demand"])
    pairs = [(i, t) for i in range(demand.size) for t in range(start[i], end[i] + 1)]
    arrivals = np.zeros((T, J, T, J, K, L))
    busy = np.zeros((K, T, T, J, K, L))
    for t in range(T):
        for j in range(J):
            arrivals[t, j, t, j] = 1.0
        for k in range(K):
            for at in range(t, min(T, t + alive.shape[1])):
                busy[k, at, t, :, k, :] = alive[:, at - t]
    shares, work = np.zeros((K, T, len(pairs))), np.zeros((demand.size, len(pairs)))
    for n, (i, t) in enumerate(pairs):
        shares[server[i], t, n] = 1.0
        work[i, n] = speed[server[i], t]
    n = profit.size
    matrix = np.block([
        [arrivals.reshape(T * J, n), np.zeros((T * J, len(pairs)))],
        [busy.reshape(K * T, n), shares.reshape(K * T, len(pairs))],
        [np.zeros((demand.size, n)), work],
    ])  # fmt: skip
    missing = np.full(T * J + K * T, -np.inf)
    return _optimum(
        -1.0, np.concatenate([profit.ravel(), np.zeros(len(pairs))]), matrix,
        np.zeros(n + len(pairs)), np.r_[np.full(n, np.inf), np.ones(len(pairs))],
        np.r_[missing, demand], np.r_[p.ravel(), np.ones(K * T), np.full(demand.size, np.inf)],
    )  # fmt: skip


def of_cooperative(data: dict[str, Any]) -> float | None:
    weight, requests, capacity, copies, size, budget = (
        numbers(data[name])
        for name in ("weight", "requests", "capacity", "copies", "size", "budget")
    )
    node, options = whole(data["node"]), data["options"]
    S, R, C = weight.size, len(options), copies.size
    served = [(t, r, int(c)) for t in range(S) for r in range(R) for c in options[r]]
    n = len(served)
    demand, room = np.zeros((S, R, n + C)), np.zeros((S, C, n + C))
    for at, (t, r, c) in enumerate(served):
        demand[t, r, at] = room[t, c, at] = 1.0
    full = np.zeros((budget.size, n + C))
    for c in range(C):
        room[:, c, n + c] = -capacity[:, c]
        full[node[c], n + c] = size[c]
    matrix = np.vstack([demand.reshape(S * R, n + C), room.reshape(S * C, n + C), full])
    cost = np.zeros(n + C)
    cost[:n] = [weight[t] * number(options[r][str(c)]) for t, r, c in served]
    above = np.r_[requests.ravel(), np.zeros(S * C), budget]
    high = np.r_[np.full(n, np.inf), copies]
    return _optimum(-1.0, cost, matrix, np.zeros(n + C), high, np.full(above.size, -np.inf), above)


def of_tasks(data: dict[str, Any]) -> float | None:
    clusters, tasks = len(data["capacity"]), len(data["arrival"])
    eligible = np.zeros((tasks, clusters), dtype=bool)
    for j, where in enumerate(data["eligible"]):
        eligible[j, [int(n) for n in where]] = True
    # Tasks stand in the order of their arrival in a problem.
    order = np.argsort(whole(data["arrival"]), kind="stable")
    capacity, duration, kind = (whole(data[name]) for name in ("capacity", "duration", "kind"))
    for (a, b), room in np.ndenumerate(np.zeros(duration.shape[2:])):
        duration[(capacity < [a, b]).any(axis=1), :, a, b] = room
    if not (eligible & (duration > 0).any(axis=(2, 3)).T[kind]).any(axis=1).all():
        return None
    problem = SchedulingProblem(
        capacity=capacity,
        duration=duration,
        arrival=whole(data["arrival"])[order],
        kind=kind[order],
        eligible=eligible[order],
        weight=numbers(data["weight"])[order],
        single_start=data["starts"] != "inf",
    )
    return float(optimal_schedule(problem).objective)


def of_safe_policies(data: dict[str, Any]) -> float | None:
    """Return what the best safe online policy earns that is told durations when runs begin.

    What has happened on a server is the set of slots that runs have blocked. A run may begin if the
    longest that it can take leaves enough of all intervals for the reserved tasks inside.
    """
    p, profit, distribution, speed = (
        number_of(data[name]) for name in ("arrival", "profit", "duration", "capacity")
    )
    T, J, K, L = len(p), len(p[0]), len(speed), len(distribution)
    alone = data["independent"] == "0"
    chances = [sum(row) if alone else max(row) for row in p]
    if (
        max(chances) > 1
        or any(sum(row) != 1 for row in distribution)
        or min(map(min, p + distribution)) < 0
    ):
        return None
    windows = list(zip(*(data[name] for name in ("server", "start", "end", "demand")), strict=True))
    windows = [(int(k), int(s), int(e), Fraction(need)) for k, s, e, need in windows]
    longest = [max(d for d in range(len(row)) if row[d]) + 1 for row in distribution]

    @cache
    def fits(k: int, slots: frozenset[int]) -> bool:
        mine = [(s, e, need) for one, s, e, need in windows if one == k]
        return all(
            sum(need for s, e, need in mine if a <= s and e <= b)
            <= sum(speed[k][t] for t in range(a, b + 1) if t not in slots)
            for a, _, _ in mine
            for _, b, _ in mine
        )

    @cache
    def value(t: int, j: int, servers: tuple[tuple[int, frozenset[int]], ...]) -> Fraction:
        """Take the arrivals j, j + 1, ... of slot t; servers are idle again, and were blocked."""
        if t == T:
            return Fraction(0)
        if j == (1 if alone else J):
            return value(t + 1, 0, servers)
        after = value(t, j + 1, servers)
        return after + sum(
            p[t][i] * (best(t, j, i, servers, after) - after) for i in (range(J) if alone else [j])
        )

    def best(t: int, step: int, i: int, servers: tuple, after: Fraction) -> Fraction:
        found = after
        for k, (idle, slots) in enumerate(servers):
            for n in range(L):
                block = slots | frozenset(range(t, t + longest[n]))
                if idle > t or not fits(k, block):
                    continue
                worth = profit[t][i][k][n]
                for d, q in enumerate(distribution[n], 1):
                    if q:
                        then = t + d, slots | frozenset(range(t, t + d))
                        worth += q * value(t, step + 1, (*servers[:k], then, *servers[k + 1 :]))
                found = max(found, worth)
        return found

    if not all(fits(k, frozenset()) for k in range(K)):
        return None
    return float(value(0, 0, ((0, frozenset()),) * K))


def number_of(part: Any) -> Any:
    return [number_of(one) for one in part] if isinstance(part, list) else Fraction(part)


OPTIMUM = {
    "rescue.safe": of_safe_policies,
    "linear-program": of_linear_program,
    "infeasible-program": of_infeasible_program,
    "unbounded-program": of_linear_program,
    "rescue.p1-lp": of_p1_lp,
    "idn.cooperative": of_cooperative,
    "tapfinger.pooled": of_tasks,
}
