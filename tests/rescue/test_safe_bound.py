"""The bound on safe policies against the exact best of them, on tiny instances.

The reference keeps, of every server, the set of slots that runs have blocked, and asks earliest
deadline first what is safe.
"""

from __future__ import annotations

import numpy as np
import pytest
from edgeopt_papers.rescue.held_out import joint_optimum
from edgeopt_papers.rescue.server_pairs import (
    PairTables,
    _matchings,
    pair_values,
    paired_bound,
)

from edgeopt.errors import OptionError
from edgeopt.instances.rescue import RescueInstance, ReservedTasks, generate
from edgeopt.models.rescue import P1Solution, SafeBound, safe_bound, solve_p1_lp
from edgeopt.models.rescue.server_states import Chain, ServerStates
from tests.draws import draws
from tests.oracles.rescue import plain, safe
from tests.rescue.safe_cases import drawn, lp_plan
from tests.rescue.scaling import POWERS, scaled

SEEDS = range(draws(150))
NEAR = 1e-9


def test_no_safe_policy_earns_more_and_one_server_attains_it():
    shares, overlapping = [], 0
    for seed in SEEDS:
        instance = drawn(seed, horizon=5)
        oracle = plain(instance, float)
        best = safe.joint(oracle, None)
        found = safe_bound(instance, plan=lp_plan(instance), steps=40)
        assert found.exact
        assert best <= found.value * (1 + NEAR)
        if instance.servers == 1:
            assert found.value == pytest.approx(best, rel=NEAR)
        if best > 0:  # some leave no room for any run
            shares.append(best / found.value)
        overlapping += any(
            a.server == b.server and a.start <= b.end and b.start <= a.end
            for n, a in enumerate(oracle.reserved)
            for b in oracle.reserved[:n]
        )
    assert overlapping > len(SEEDS) // 5
    assert np.mean(shares) > 0.97


def test_a_bound_is_what_its_prices_prove():
    """At any prices, those of the relaxation prove no more than the relaxation itself."""
    for seed in range(draws(40)):
        instance = drawn(seed, horizon=5, servers=2)
        plan = lp_plan(instance)
        oracle = plain(instance, float)
        for steps in (1, 7):
            found = safe_bound(instance, plan=plan, steps=steps)
            assert found.value == pytest.approx(safe.bound(oracle, found.price.tolist()), rel=NEAR)
            assert found.steps <= steps
            assert found.value <= plan.bound * (1 + NEAR)
            paid = float((instance.arrival * found.price).sum())
            assert found.value == pytest.approx(found.servers.sum() + paid, rel=NEAR)
            assert (found.price >= 0).all()


def test_a_tasks_use_is_a_subgradient():
    """U(other) >= U(price) + (p - use) (other - price): what the descent follows."""
    from edgeopt.models.rescue.server_states import acceptances, state_values

    rng = np.random.default_rng(0)
    for seed in range(draws(40)):
        instance = drawn(seed, horizon=6, servers=2)
        states = ServerStates.of(instance)
        chain = Chain.of(instance, states)

        def bound(price, states=states, chain=chain):
            values = state_values(chain, states.first, price[np.newaxis, :, np.newaxis])
            worth = values.value[states.first[:-1]].sum() + (chain.arrival * price).sum()
            return worth, chain.arrival - acceptances(chain, states.first, price, values)

        here, there = rng.uniform(0, 2, (2, *chain.arrival.shape))
        value, slope = bound(here)
        assert bound(there)[0] >= value + (slope * (there - here)).sum() - NEAR


def test_rounding_raises_the_bound():
    raised = 0
    for seed in range(draws(40)):
        instance = drawn(seed, horizon=8)
        plan = lp_plan(instance)
        exact = safe_bound(instance, plan=plan, steps=1)
        assert exact.exact
        for grid in (0.7, 1.5, 2.0):
            rounded = safe_bound(instance, plan=plan, steps=1, grid=grid)
            assert not rounded.exact
            assert rounded.value >= exact.value * (1 - NEAR)
            raised += rounded.value > exact.value * (1 + 1e-6)
    assert raised


def test_a_pair_lies_between_the_best_policy_and_single_servers():
    near = []
    for seed in range(draws(40)):
        instance = drawn(seed, horizon=5, servers=2, arrivals="exclusive")
        oracle = plain(instance, float)
        best = safe.joint(oracle, None)
        states = ServerStates.of(instance)
        tables = PairTables(states, Chain.of(instance, states))
        for price in (lp_plan(instance).duals.arrival, np.zeros_like(instance.arrival)):
            parts, use = pair_values(tables, ((0, 1),), price)
            paid = float((instance.arrival * price).sum())
            expected = safe.pair_bound(oracle, 0, 1, price.tolist())
            assert float(parts[0]) == pytest.approx(expected, rel=NEAR, abs=1e-12)
            bound = safe.bound(oracle, price.tolist())
            assert best * (1 - NEAR) <= parts[0] + paid <= bound * (1 + NEAR)
            assert (use <= instance.arrival * (1 + NEAR)).all()  # a pair takes no task twice
        found = paired_bound(instance, safe_bound(instance, plan=lp_plan(instance), steps=20))
        assert best * (1 - NEAR) <= found.value
        if best > 0:
            near.append(best / found.value)
    assert min(near) > 0.99
    assert np.mean(near) > 0.998


def test_being_told_durations_helps_no_single_server_and_is_worth_little():
    """What stands beside policies as the optimum over all servers lies above the exact one."""
    told = 0
    for seed in range(draws(60)):
        instance = drawn(seed, horizon=5, arrivals="exclusive")
        best = safe.joint(plain(instance, float), None)
        optimum = joint_optimum(instance)
        bound = safe_bound(instance, plan=lp_plan(instance), steps=20).value
        assert best * (1 - NEAR) <= optimum <= bound * (1 + NEAR)
        if instance.servers == 1:
            assert optimum == pytest.approx(best, rel=NEAR)
        told += optimum > best * (1 + 1e-6)
        assert optimum <= 1.05 * best
    assert told < draws(60) // 2


def test_three_servers_are_paired_every_way():
    assert sorted(_matchings((0, 1, 2))) == [((0,), (1, 2)), ((0, 1), (2,)), ((0, 2), (1,))]
    assert len(list(_matchings((0, 1, 2, 3)))) == 3
    instance = generate(servers=3, devices=2, profiles=2, horizon=12, reserved=3, rng=3)
    plan = lp_plan(instance)
    one = safe_bound(instance, plan=plan, steps=20)
    two = paired_bound(instance, one, steps=20)
    assert two.value < one.value
    assert sorted(k for group in two.groups for k in group) == [0, 1, 2]
    assert two.servers.shape == (2,)
    parts, _ = pair_values(PairTables.of(instance, one.states), two.groups, two.price)
    np.testing.assert_array_equal(parts, two.servers)


@pytest.mark.parametrize("unit", [{name: u} for name in ("profit", "work") for u in POWERS])
def test_powers_of_two_change_no_bit(unit):
    for seed in range(2):
        instance = generate(servers=2, devices=3, profiles=2, horizon=16, reserved=4, rng=seed)
        one = safe_bound(scaled(instance), steps=15)
        two = safe_bound(scaled(instance, **unit), steps=15)
        factor = unit.get("profit", 1.0)
        assert two.value == factor * one.value
        np.testing.assert_array_equal(two.price, factor * one.price)
        np.testing.assert_array_equal(two.servers, factor * one.servers)
        np.testing.assert_array_equal(two.states.following, one.states.following)
        np.testing.assert_array_equal(two.states.longest, one.states.longest)
        assert two.steps == one.steps
        three, four = (
            paired_bound(of, bound, steps=15)
            for of, bound in ((scaled(instance), one), (scaled(instance, **unit), two))
        )
        assert (four.value, four.groups) == (factor * three.value, three.groups)
        np.testing.assert_array_equal(four.servers, factor * three.servers)


@pytest.mark.parametrize("unit", [{name: u} for name in ("profit", "work") for u in (1e-10, 1e10)])
def test_other_units_change_the_last_digits_alone(unit):
    instance = generate(servers=2, devices=3, profiles=2, horizon=16, reserved=4, rng=0)
    plan = solve_p1_lp(scaled(instance), forbid_unsafe=True)
    same = solve_p1_lp(scaled(instance, **unit), forbid_unsafe=True)
    one = safe_bound(scaled(instance), plan=plan, steps=1)
    two = safe_bound(scaled(instance, **unit), plan=same, steps=1)
    assert two.states.count == one.states.count
    assert two.value == pytest.approx(unit.get("profit", 1.0) * one.value, rel=1e-9)


def trap(m, rare):
    """A run earns as much wherever it begins; the reserved work leaves one slot of slack or m."""
    distribution = np.zeros((1, m))
    distribution[0, 0], distribution[0, m - 1] = 1 - rare, rare
    return RescueInstance(
        arrival=np.array([[1.0]] * m + [[0.0]] * m),
        duration=distribution,
        capacity=np.ones((1, 2 * m)),
        reserved=ReservedTasks([0], [0], [2 * m - 1], [float(m)]),
        profit=np.ones((1, 1, 1, 1, 1)),
    )


@pytest.mark.parametrize("m", [2, 5, 20])
def test_the_relaxation_is_no_constant_times_what_safe_policies_earn(m):
    """One safe run is all that fits, whereas the relaxation has a whole number of them."""
    rare = 0.01
    instance = trap(m, rare)
    plan = solve_p1_lp(instance, forbid_unsafe=True)
    assert plan.objective == pytest.approx(m / (1 + (m - 1) * rare))
    assert safe_bound(instance).value == pytest.approx(1.0)


def test_refuses_what_does_not_fit():
    instance = generate(servers=2, devices=2, profiles=2, horizon=8, reserved=2)
    for grid in (-1.0, np.nan, np.inf):
        with pytest.raises(OptionError, match="grid"):
            safe_bound(instance, grid=grid)
    with pytest.raises(OptionError, match="steps"):
        safe_bound(instance, steps=0)
    with pytest.raises(OptionError, match="plan"):
        safe_bound(instance, plan=instance)
    other = generate(servers=2, devices=3, profiles=2, horizon=8, reserved=2)
    with pytest.raises(OptionError, match="plan is one of another instance"):
        safe_bound(instance, plan=lp_plan(other))
    with pytest.raises(OptionError, match="independent arrivals"):
        paired_bound(instance.replace(arrivals="independent"), safe_bound(instance, steps=1))
    assert isinstance(safe_bound(instance, grid=1e40, steps=1), SafeBound)
    assert isinstance(lp_plan(other), P1Solution)
