"""Exact expectations of a policy: every sample path, or the distribution of states by slot."""

# ruff: noqa: E741 - l is the profile, as in the mathematics

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.oracles.rescue import reserved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.oracles.rescue.data import Number, Plain
    from tests.oracles.rescue.policies import Policy

State = tuple[tuple[int, ...], tuple]


@dataclass(frozen=True)
class Path:
    """One sample path: its probability, what it earned, which reserved tasks it failed."""

    probability: Number
    profit: Number
    failed: tuple[int, ...]
    decisions: tuple[tuple[int, int, tuple[int, int], int], ...]  # slot, device, pair, duration


@dataclass(frozen=True)
class Outcome:
    """Expected profit; per reserved task the probability to fail; that of any failure."""

    profit: Number
    failure: tuple
    any_failure: Number


def sample_paths(plain: Plain, policy: Policy) -> Iterator[Path]:
    """Yield every path of (arrival, routing, duration) with positive probability."""
    root = Path(plain.number(1), plain.number(0), (), ())
    state = (0,) * plain.K, tuple(task.demand for task in plain.reserved)
    yield from _slot(plain, policy, 0, state, root)


def _slot(plain: Plain, policy: Policy, t: int, state: State, path: Path) -> Iterator[Path]:
    if t == plain.T:
        yield path
        return
    for after, grown in _arrivals(plain, policy, t, 0, state, path):
        left, failed = _reserved_work(plain, t, after)
        grown = Path(grown.probability, grown.profit, path.failed + failed, grown.decisions)
        yield from _slot(plain, policy, t + 1, (after[0], left), grown)


def _arrivals(
    plain: Plain, policy: Policy, t: int, j: int, state: State, path: Path
) -> Iterator[tuple[State, Path]]:
    if plain.independent:
        if j == plain.J:
            yield state, path
            return
        for after, grown in _handle(plain, policy, t, j, state, path, plain.p[t][j]):
            yield from _arrivals(plain, policy, t, j + 1, after, grown)
        if plain.p[t][j] < 1:
            yield from _arrivals(plain, policy, t, j + 1, state, _scaled(path, 1 - plain.p[t][j]))
        return
    for device in range(plain.J):
        yield from _handle(plain, policy, t, device, state, path, plain.p[t][device])
    if sum(plain.p[t]) < 1:
        yield state, _scaled(path, 1 - sum(plain.p[t]))


def _handle(
    plain: Plain, policy: Policy, t: int, j: int, state: State, path: Path, chance: Number
) -> Iterator[tuple[State, Path]]:
    if chance == 0:
        return
    for probability, pair in _law(policy.lottery(t, j, *state)):
        if pair is None:
            yield state, _scaled(path, chance * probability)
            continue
        k, l = pair
        for d in range(1, plain.D + 1):
            if plain.q[l][d - 1] > 0:
                busy = (*state[0][:k], t + d, *state[0][k + 1 :])
                yield (
                    (busy, state[1]),
                    Path(
                        path.probability * chance * probability * plain.q[l][d - 1],
                        path.profit + plain.profit[t][j][k][l][d - 1],
                        path.failed,
                        (*path.decisions, (t, j, pair, d)),
                    ),
                )


def _scaled(path: Path, factor: Number) -> Path:
    return Path(path.probability * factor, path.profit, path.failed, path.decisions)


def _law(lottery: list) -> list[tuple]:
    """Merge equal outcomes and give the remainder to rejection."""
    distribution: dict = defaultdict(int)
    for probability, pair in lottery:
        distribution[pair] += probability
    distribution[None] += 1 - sum(distribution.values())
    return [(v, pair) for pair, v in distribution.items() if v > 0]


def _reserved_work(plain: Plain, t: int, state: State) -> tuple[tuple, tuple[int, ...]]:
    """Serve reserved work in slot t where no run is on; report the tasks that fail in t."""
    left = list(state[1])
    for k in range(plain.K):
        if state[0][k] <= t:
            reserved.serve_server(plain, k, t, left)
    failed = tuple(
        i for i, task in enumerate(plain.reserved) if task.end == t and left[i] > reserved.LATE
    )
    # a task past its end does not matter any more: forget its remainder so that states merge
    for i, task in enumerate(plain.reserved):
        if task.end == t:
            left[i] = plain.number(0)
    return tuple(left), failed


def evaluate(plain: Plain, policy: Policy) -> Outcome:
    """Return the exact outcome by the distribution of (busy servers, remaining work)."""
    zero = plain.number(0)
    # the flag tells whether any reserved task has failed so far
    start = ((0,) * plain.K, tuple(task.demand for task in plain.reserved)), False
    distribution: dict[tuple[State, bool], Number] = {start: plain.number(1)}
    profit = zero
    failure = [zero] * len(plain.reserved)
    for t in range(plain.T):
        groups = [[j] for j in range(plain.J)] if plain.independent else [list(range(plain.J))]
        for group in groups:
            distribution, gained = _step(plain, policy, t, group, distribution)
            profit += gained
        merged: dict[tuple[State, bool], Number] = defaultdict(plain.number)
        for (state, late), weight in distribution.items():
            left, failed = _reserved_work(plain, t, state)
            for i in failed:
                failure[i] += weight
            free = tuple(max(f, t + 1) for f in state[0])
            merged[(free, left), late or bool(failed)] += weight
        distribution = dict(merged)
    late_mass = sum((w for (_, late), w in distribution.items() if late), zero)
    return Outcome(profit, tuple(failure), late_mass)


def _step(
    plain: Plain, policy: Policy, t: int, group: list[int], distribution: dict
) -> tuple[dict, Number]:
    profit = plain.number(0)
    after: dict = defaultdict(plain.number)
    quiet = 1 - sum(plain.p[t][j] for j in group)
    for (state, late), weight in distribution.items():
        if quiet > 0:
            after[state, late] += weight * quiet
        for j in group:
            if plain.p[t][j] == 0:
                continue
            for probability, pair in _law(policy.lottery(t, j, *state)):
                mass = weight * plain.p[t][j] * probability
                if pair is None:
                    after[state, late] += mass
                    continue
                k, l = pair
                profit += mass * plain.R[t][j][k][l]
                for d in range(1, plain.D + 1):
                    if plain.q[l][d - 1] > 0:
                        busy = (*state[0][:k], t + d, *state[0][k + 1 :])
                        after[(busy, state[1]), late] += mass * plain.q[l][d - 1]
    return dict(after), profit
