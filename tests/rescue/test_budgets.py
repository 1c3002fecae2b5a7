"""What reserved work leaves: budgets against earliest deadline first, states against all histories.

Capacities and demands are whole numbers, so that the references make no rounding errors.
"""

from __future__ import annotations

import numpy as np
import pytest

from edgeopt.instances.rescue import RescueInstance, ReservedTasks
from edgeopt.models.rescue.server_states import Budgets, ServerStates
from tests.draws import draws
from tests.oracles.rescue import plain, safe
from tests.rescue.safe_cases import drawn

SEEDS = range(max(8, draws(60)))


def servers():
    for seed in SEEDS:
        instance = drawn(seed, horizon=8)
        oracle = plain(instance, float)
        for k in range(instance.servers):
            yield instance, oracle, k


def test_budgets_say_what_earliest_deadline_first_says():
    """On every reachable state, of the mathematics: both forms of the guard are one."""
    crossing = tests = 0
    for _, oracle, k in servers():
        for t, blocked in safe.reachable(oracle, k):
            for profile in range(oracle.L):
                allowed = safe.by_edf(oracle, k, profile, t, blocked)
                assert safe.by_budgets(oracle, k, profile, t, blocked) == allowed
                tests += 1
                lasts = range(t, t + oracle.longest[profile])
                crossed = [v for v in oracle.reserved if v.server == k and v.start in lasts]
                crossing += allowed and len(crossed) > 1
    assert crossing >= len(SEEDS) // 4
    assert tests > 50 * len(SEEDS)


def test_intervals_that_others_imply_are_left_out():
    left_out = 0
    for instance, oracle, k in servers():
        budgets = Budgets.of(instance, k)
        found = [(one.first, one.last, one.slack * budgets.unit) for one in budgets.intervals]
        expected = safe.needed(oracle, k)
        assert [one[:2] for one in found] == [one[:2] for one in expected]
        np.testing.assert_allclose(
            [one[2] for one in found], [one[2] for one in expected], atol=1e-7
        )
        left_out += len(safe.intervals(oracle, k)) - len(expected)
    assert left_out > len(SEEDS) // 3


def test_states_are_all_that_matters_of_all_histories():
    """Every history of safe runs leads to the state that sums it up, and no state is in vain."""
    merged = 0
    for instance, oracle, k in servers():
        states = ServerStates.of(instance)
        assert not states.grid.any()
        ways = safe.reachable(oracle, k)
        end = states.count
        place = {(0, 0): int(states.first[k])}
        for t, blocked in sorted(ways):
            n = place[t, blocked]
            assert states.slot[n] == t
            for profile in range(oracle.L):
                allowed = safe.by_edf(oracle, k, profile, t, blocked)
                assert (oracle.longest[profile] <= states.longest[n]) == allowed
            for d, target in ways[t, blocked]:
                reached = int(states.following[n, d])
                if target[0] >= oracle.T:
                    assert reached == end
                else:
                    assert place.setdefault(target, reached) == reached
        meaning = {at: (at[0], safe.summary(oracle, k, *at)) for at in ways}
        pairs = {(place[at], meaning[at]) for at in ways}
        assert len(pairs) == len(set(meaning.values())) == len({n for n, _ in pairs})
        assert {n for n, _ in pairs} == set(range(*states.first[k : k + 2].tolist()))
        merged += len(ways) - len(pairs)
    assert merged > 10 * len(SEEDS)


@pytest.mark.parametrize("grid", [0.1, 0.3, 0.75, 1.0, 2.5])
def test_rounding_goes_one_way(grid):
    """Rounded down, a state allows what the true one does; rounded up, no more than that."""
    for seed in range(draws(30)):
        instance = drawn(seed, horizon=8)
        oracle = plain(instance, float)
        exact = ServerStates.of(instance)
        for up in (False, True):
            rounded = ServerStates.of(instance, up=up, grid=grid)
            assert (rounded.grid > 0).all()
            for k in range(oracle.K):
                todo = [(int(exact.first[k]), int(rounded.first[k]))]
                seen = set()
                while todo:
                    true, other = pair = todo.pop()
                    if pair in seen or true == exact.count:
                        continue
                    seen.add(pair)
                    assert exact.slot[true] == rounded.slot[other]
                    room, space = exact.longest[true], rounded.longest[other]
                    assert space <= room if up else space >= room
                    allowed = [n for n in oracle.longest if n <= min(room, space)]
                    for profile, longest in enumerate(oracle.longest):
                        if longest not in allowed:
                            continue
                        lasts = 1 + np.flatnonzero(oracle.q[profile])
                        ways = exact.following[true, lasts], rounded.following[other, lasts]
                        todo += zip(*ways, strict=True)
                    todo.append((exact.following[true, 0], rounded.following[other, 0]))


@pytest.mark.parametrize("grid", [0.1, 0.3, 0.7, 1 / 3])
@pytest.mark.parametrize("up", [False, True])
def test_what_is_rounded_stays_as_it_is(grid, up):
    """A server that waits in a long window stays in its state, which must not creep."""
    slots = 40
    instance = RescueInstance(
        arrival=np.ones((slots, 1)),
        duration=np.ones((1, 1)),
        capacity=np.full((1, slots), 1.1),
        reserved=ReservedTasks([0], [0], [slots - 1], [1.1 * slots - 12.0]),
        profit=np.ones((1, 1, 1, 1, 1)),
    )
    budgets = Budgets.of(instance, 0)
    states = ServerStates.of(instance, grid=grid, up=up)
    assert states.grid[0] == pytest.approx(grid, rel=1e-9)
    width = states.grid[0] / budgets.unit
    blocked = np.arange(40.0)[:, np.newaxis] * width
    kept = budgets.settled(1, blocked.copy(), width, up=up)
    np.testing.assert_array_equal(kept, blocked)
