"""One run on one given scenario of uniforms, slot by slot."""

# ruff: noqa: E741 - l is the profile, as in the mathematics

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.oracles.rescue import reserved

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.oracles.rescue.data import Number, Plain
    from tests.oracles.rescue.policies import Policy

HAIR = 1e-9


@dataclass(frozen=True)
class Run:
    """What happened; `close` says that rounding might have decided something.

    accepted[t] lists (device, server, profile, duration) in the order of acceptance; served[t] is
    what was done for each reserved task.
    """

    accepted: list[list[tuple[int, int, int, int]]]
    reward: list[Number]
    violations: list[int]
    retraining_work: list[Number]
    reserved_work: list[Number]
    served: list[list[Number]]
    close: bool


def follow(plain: Plain, policy: Policy, scenario: Sequence) -> Run:
    """Run a policy on one scenario.

    scenario[t] = (arrival, routing, duration) for exclusive arrivals; with independent arrivals
    scenario[t][j] is such a triple for each device, and j arrives iff its first uniform is <
    p[t][j].
    """
    policy.close = False
    T, K = plain.T, plain.K
    free = [0] * K
    remaining = [task.demand for task in plain.reserved]
    run = Run([[] for _ in range(T)], [], [], [], [], [], close=False)
    close = False
    for t in range(T):
        earned = plain.number(0)
        for j, routing, duration, doubtful in _arrivals(plain, t, scenario[t]):
            close |= doubtful
            pair, doubtful = _draw(policy.lottery(t, j, tuple(free), tuple(remaining)), routing)
            close |= doubtful
            if pair is None:
                continue
            k, l = pair
            d, doubtful = _invert(plain.q[l], duration)
            close |= doubtful
            d += 1
            free[k] = t + d
            earned += plain.profit[t][j][k][l][d - 1]
            run.accepted[t].append((j, k, l, d))
        before = list(remaining)
        for k in range(K):
            if free[k] <= t:
                reserved.serve_server(plain, k, t, remaining)
        served = [had - has for had, has in zip(before, remaining, strict=True)]
        run.reward.append(earned)
        run.served.append(served)
        run.reserved_work.append(sum(served))
        run.retraining_work.append(sum(plain.c[k][t] for k in range(K) if free[k] > t))
        run.violations.append(
            sum(
                task.end == t and remaining[i] > reserved.LATE
                for i, task in enumerate(plain.reserved)
            )
        )
    return Run(**{**run.__dict__, "close": close or policy.close})


def _arrivals(plain: Plain, t: int, row: Sequence) -> Iterator[tuple[int, float, float, bool]]:
    if plain.independent:
        for j in range(plain.J):
            arrival, routing, duration = row[j]
            if arrival < plain.p[t][j]:
                yield j, routing, duration, abs(arrival - plain.p[t][j]) < HAIR
        return
    arrival, routing, duration = row
    j, doubtful = _invert(plain.p[t], arrival)
    if j is not None:
        yield j, routing, duration, doubtful


def _invert(weights: Sequence[Number], u: float) -> tuple[int | None, bool]:
    """Return the first index whose cumulative weight exceeds u, and whether it was a near thing.

    The top of a distribution that sums to 1 up to rounding belongs to its last index.
    """
    total = 0
    doubtful = False
    for index, weight in enumerate(weights):
        total += weight
        doubtful |= abs(total - u) < HAIR and weight > 0 and u > 0
        if total > u:
            return index, doubtful
    return None, doubtful


def _draw(lottery: list, u: float) -> tuple:
    index, doubtful = _invert([weight for weight, _ in lottery], u)
    return (None if index is None else lottery[index][1]), doubtful
