"""Policies by state: exact values against the joint chain, safety, causality, units, guarantee."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from edgeopt_papers.rescue.guarantees import safe_guarantee

from edgeopt.errors import OptionError
from edgeopt.instances.rescue import RescueInstance, ReservedTasks, generate
from edgeopt.models.rescue import safe_bound, solve_p1_lp
from edgeopt.models.rescue.server_states import Chain, ServerStates, state_values
from edgeopt.online import simulate
from edgeopt.online.rescue import (
    CompetingOffers,
    PriceGreedy,
    RescueEnvironment,
    SafeRescue,
    SafeRescuePlus,
    policy_value,
)
from edgeopt.online.rescue import safe_policies as safe
from edgeopt.online.rescue.lookup_tables import Routes
from tests.draws import draws, every
from tests.oracles.rescue import plain
from tests.oracles.rescue import safe as reference
from tests.rescue.plans import expected_violations
from tests.rescue.safe_cases import any_plan, by_state, drawn, lp_plan
from tests.rescue.scaling import POWERS, scaled
from tests.rescue.test_kernel import assert_equal, both

NEAR = 1e-9


@pytest.mark.parametrize("planned", [lp_plan, any_plan])
def test_what_is_routed_is_worth_the_sum_of_first_values(planned):
    """By the joint chain of all servers, which knows nothing of states or of their sum."""
    improved = 0
    for seed in range(draws(40)):
        instance = drawn(seed, horizon=5)
        plan, oracle = planned(instance), plain(instance, float)
        y = plan.y.tolist()
        values = [reference.routed(oracle, k, y) for k in range(oracle.K)]
        total = sum(value(0, 0) for value in values)
        chain = reference.joint(oracle, reference.routing(oracle, y, values))
        assert total == pytest.approx(chain, rel=NEAR, abs=1e-12)
        found = policy_value(instance, SafeRescue(plan=plan))
        assert found == pytest.approx(total, rel=NEAR, abs=1e-12)
        better = policy_value(instance, SafeRescuePlus(plan=plan))
        exact = reference.joint(oracle, reference.argmax(oracle, values))
        assert better == pytest.approx(exact, rel=1e-7, abs=1e-12)
        assert better >= found * (1 - NEAR)
        assert better <= reference.joint(oracle, None) * (1 + NEAR)
        improved += better > found * (1 + 1e-6)
    assert improved > draws(40) // 3


def test_the_joint_chain_of_rules_gives_the_sum_of_first_values_too():
    """Followed with reserved work and the guard, on rounded states as on exact ones."""
    from edgeopt.online.rescue.expected_value import follow

    for seed in range(draws(40)):
        instance = drawn(seed, horizon=6)
        for grid in (None, 0.7, 2.0):
            states = ServerStates.of(instance, up=True, grid=grid)
            chain, routes = Chain.of(instance, states), Routes.of(instance, any_plan(instance).y)
            values = state_values(
                chain, states.first, routes=(routes.first, routes.pair, routes.mass)
            )
            rule, places = SafeRescue(plan=any_plan(instance)).start(instance)
            rule = replace(rule, states=states, values=values)
            places = tuple(states.first[:-1].tolist())
            total = values.value[states.first[:-1]].sum()
            options = {"limit": 10**5, "name": "", "following": states.following}
            for track in (False, True):
                done = follow(instance, rule.distributions, track=track, states=places, **options)
                assert done.profit == pytest.approx(total, rel=NEAR, abs=1e-12)
                assert done.violations == 0


def test_rounding_up_earns_less_and_is_safe(monkeypatch):
    lost = 0
    for seed in range(draws(40)):
        instance = drawn(seed, horizon=8)
        plan = lp_plan(instance)
        exact = policy_value(instance, SafeRescue(plan=plan))
        with monkeypatch.context() as patched:
            patched.setattr(
                safe, "_states_of", lambda of, _=None: ServerStates.of(of, up=True, grid=1.7)
            )
            rounded = policy_value(instance, SafeRescue(plan=plan))
            assert rounded <= exact * (1 + NEAR)
            lost += rounded < exact * (1 - 1e-6)
            for policy in by_state(instance, plan):
                done = simulate(RescueEnvironment(instance), policy, rng=seed, runs=20)
                assert not done.violations.any()
    assert lost


def test_with_one_server_the_policies_are_optimal():
    for seed in range(draws(40)):
        instance = drawn(seed, servers=1)
        best = reference.joint(plain(instance, float), None)
        bound = safe_bound(instance)
        assert bound.value == pytest.approx(best, rel=NEAR)
        for policy in (PriceGreedy(bound=bound), CompetingOffers(bound=bound)):
            assert policy_value(instance, policy) == pytest.approx(best, rel=NEAR, abs=1e-12)


def test_offers_are_what_others_would_add():
    """Values against offers, and values of a price, by the plain recursion."""
    rng = np.random.default_rng(5)
    for seed in range(draws(40)):
        instance = drawn(seed)
        oracle = plain(instance, float)
        states = ServerStates.of(instance)
        offers = rng.uniform(-1, 2, (instance.servers, *instance.arrival.shape, 3)).clip(0)
        elsewhere = np.ascontiguousarray(offers.swapaxes(2, 3))
        found = state_values(Chain.of(instance, states), states.first, elsewhere)
        for k in range(instance.servers):
            expected = reference.offered(oracle, k, offers[k].tolist())(0, 0)
            assert found.value[states.first[k]] == pytest.approx(expected, rel=NEAR, abs=1e-12)


def test_competing_offers_samples_what_the_other_servers_offer():
    """Certain durations and arrivals: every path is the same one, and followed here by hand."""
    for seed in range(draws(40)):
        instance = drawn(seed, servers=2, arrivals="exclusive")
        distribution = np.zeros_like(instance.duration)
        distribution[np.arange(instance.profiles), instance.longest - 1] = 1.0
        if (np.diff(instance.longest) <= 0).any():
            continue
        arrival = np.zeros_like(instance.arrival)
        arrival[np.arange(instance.horizon), np.arange(instance.horizon) % instance.devices] = 1.0
        instance = instance.replace(duration=distribution, arrival=arrival)
        oracle, bound = plain(instance, float), safe_bound(instance, steps=3)
        price = (0.9 * bound.price[..., np.newaxis]).tolist()
        values = [reference.offered(oracle, k, price) for k in range(2)]
        answer, offers = reference.argmax(oracle, values, tie=0.0), [[], []]
        free, blocked = [0, 0], [0, 0]
        for t in range(oracle.T):
            idle = [k for k in range(2) if free[k] <= t]
            best = [
                [
                    max(0.0, *values[k].gains(t, blocked[k], j).values(), 0.0) if k in idle else 0.0
                    for j in range(oracle.J)
                ]
                for k in range(2)
            ]
            for k in range(2):
                offers[k].append([[one] for one in best[1 - k]])
            device = t % oracle.J
            for _, (k, profile) in answer(t, device, idle, tuple(blocked)):
                free[k] = t + oracle.longest[profile]
                blocked[k] |= reference.run(t, oracle.longest[profile])
        after = sum(reference.offered(oracle, k, offers[k])(0, 0) for k in range(2))
        states, found, _ = CompetingOffers(bound=bound, rounds=1, paths=2)._prepare(instance)
        total = found.value[states.first[:-1]].sum()
        assert total == pytest.approx(after, rel=1e-7, abs=1e-12)


def test_equals_the_plain_loop_where_states_decide():
    """Windows overlap and leave little room, so that a wrong state shows in what is accepted."""
    for seed in range(draws(25)):
        instance = drawn(seed, horizon=10)
        for policy in by_state(instance, any_plan(instance)):
            assert_equal(*both(RescueEnvironment(instance), policy, seed=seed, runs=12))


def test_exact_values_agree_with_simulation():
    """Four standard errors; of the policies that only this joint chain evaluates."""
    for seed in (1, 5, 9):
        instance = drawn(seed, servers=2, horizon=6)
        for policy in by_state(instance, lp_plan(instance)):
            done = simulate(RescueEnvironment(instance), policy, rng=seed, runs=10_000).total
            error = done.std() / np.sqrt(done.size)
            assert abs(done.mean() - policy_value(instance, policy)) <= 4 * error
            assert expected_violations(instance, policy) == 0


def test_exact_evaluation_gives_up_beyond_the_limit():
    instance = generate(servers=3, devices=3, profiles=2, horizon=12, reserved=3)
    plan = lp_plan(instance)
    assert policy_value(instance, SafeRescue(plan=plan), limit=10) > 0
    with pytest.raises(OptionError, match="RESCUE\\+ by state: more than 10 joint states"):
        policy_value(instance, SafeRescuePlus(plan=plan), limit=10)
    with pytest.raises(OptionError, match="RESCUE by state: more than 10 joint states"):
        expected_violations(instance, SafeRescue(plan=plan), limit=10)


@pytest.mark.parametrize("unit", every(3, [1e-10, 1e-5, 1.0 / 3.0, 1.0, 7.0, 1e6, 1e10]))
def test_no_reserved_task_fails_in_any_unit(unit):
    """Sevenths and thirds of the demands, too, which rounding puts on either side of the brim."""
    shares = []
    for seed in range(draws(12)):
        given_ = drawn(seed, horizon=8)
        plan, bound = lp_plan(given_), safe_bound(given_, plan=lp_plan(given_), steps=5)
        instance = scaled(given_, work=unit)
        exact = ServerStates.of(instance)
        for policy, same in zip(
            by_state(instance, plan, replace(bound, states=exact)),
            by_state(given_, plan, bound),
            strict=True,
        ):
            done = simulate(RescueEnvironment(instance), policy, rng=seed, runs=40)
            assert not done.violations.any(), policy.name
            before = simulate(RescueEnvironment(given_), same, rng=seed, runs=40)
            assert not before.violations.any()
            if bound.value > 0:
                shares.append(abs(done.total.mean() - before.total.mean()) / bound.value)
    assert max(shares) <= 1e-9


@pytest.mark.parametrize("unit", [{name: u} for name in ("profit", "work") for u in POWERS])
@pytest.mark.parametrize("arrivals", ["exclusive", "independent"])
def test_powers_of_two_change_no_bit_of_a_decision(unit, arrivals):
    instance = generate(servers=2, devices=3, profiles=2, horizon=16, reserved=4, rng=0)
    instance = instance.replace(arrivals=arrivals)
    factor = unit.get("profit", 1.0)
    found = [
        [
            simulate(RescueEnvironment(one), policy, rng=1, runs=30, keep_trace=True)
            for policy in by_state(one, lp_plan(one))
        ]
        for one in (scaled(instance), scaled(instance, **unit))
    ]
    for before, after in zip(*found, strict=True):
        assert before.accepted.any()
        for name in ("device", "profile", "violations"):
            np.testing.assert_array_equal(getattr(before, name), getattr(after, name))
        np.testing.assert_array_equal(factor * before.reward, after.reward)
        served = before.served * unit.get("work", 1.0)
        np.testing.assert_array_equal(served, after.served)


@pytest.mark.parametrize("arrivals", ["exclusive", "independent"])
def test_the_guarantee_is_earned(arrivals):
    tight = []
    for seed in range(draws(40)):
        instance = drawn(seed, horizon=6, arrivals=arrivals)
        plan, oracle = lp_plan(instance), plain(instance, float)
        found = safe_guarantee(instance, plan)
        value, loads = reference.guarantee(oracle, plan.y.tolist())
        # Where slack is used up, it is so but for what may be missing of a demand.
        assert found.value == pytest.approx(value, rel=1e-6, abs=1e-6 * plan.objective)
        finite = np.minimum([found.load, loads], 1e6)
        np.testing.assert_allclose(finite[0], finite[1], rtol=1e-6)
        assert found.planned.sum() == pytest.approx(plan.objective, rel=1e-6, abs=1e-12)
        earned = policy_value(instance, SafeRescue(plan=plan))
        assert found.value <= earned * (1 + 1e-7)
        if earned > 0:
            tight.append(found.value / earned)
            assert found.share == pytest.approx(found.value / found.planned.sum())
        else:
            assert found.share == 1.0
    assert np.mean(tight) > 0.4


@pytest.mark.parametrize("overlap", [0.0, 0.25, 0.5, 0.75])
def test_a_share_of_the_plan_is_earned_where_runs_are_short_against_the_slack(overlap):
    for seed in range(draws(40)):
        instance = drawn(seed, horizon=8, disjoint=True)
        plan = solve_p1_lp(instance, forbid_unsafe=True, overlap=overlap)
        assert plan.objective <= lp_plan(instance).objective * (1 + NEAR)
        share = 1 / (2 + 1 / (1 - overlap))
        found = safe_guarantee(instance, plan)
        assert found.value >= share * plan.objective * (1 - 1e-7)
        assert policy_value(instance, SafeRescue(plan=plan)) >= found.value * (1 - 1e-7)


def test_tasks_of_one_slot_count_where_arrivals_are_independent():
    """Two certain tasks, each routed half of the time: the second finds a server busy at times."""
    from tests.rescue.plans import plan_with

    instance = RescueInstance(
        arrival=np.ones((1, 2)),
        duration=np.ones((1, 1)),
        capacity=np.ones((1, 1)),
        reserved=ReservedTasks.none(),
        profit=np.ones((1, 1, 1, 1, 1)),
        arrivals="independent",
    )
    plan = plan_with(np.full((1, 2, 1, 1), 0.5))
    assert policy_value(instance, SafeRescue(plan=plan)) == pytest.approx(0.75)
    assert safe_guarantee(instance, plan).value == pytest.approx(2 / 3)


def test_no_constant_of_the_relaxation_is_earned_in_general():
    """One long run takes all slack: the relaxation has m runs of one slot, nobody more than one."""
    m, rare = 20, 0.01
    distribution = np.zeros((1, m))
    distribution[0, 0], distribution[0, m - 1] = 1 - rare, rare
    instance = RescueInstance(
        arrival=np.array([[1.0]] * m + [[0.0]] * m),
        duration=distribution,
        capacity=np.ones((1, 2 * m)),
        reserved=ReservedTasks([0], [0], [2 * m - 1], [float(m)]),
        profit=np.ones((1, 1, 1, 1, 1)),
    )
    plan = solve_p1_lp(instance, forbid_unsafe=True)
    assert plan.objective == pytest.approx(m / (1 + (m - 1) * rare))
    assert policy_value(instance, SafeRescuePlus(plan=plan)) == pytest.approx(1.0)
    assert safe_guarantee(instance, plan).value <= 1.0
    assert not solve_p1_lp(instance, forbid_unsafe=True, overlap=0.5).y[1:].any()


def test_refuses_what_does_not_fit():
    for kind in (SafeRescue, SafeRescuePlus, PriceGreedy, CompetingOffers):
        with pytest.raises(OptionError, match="guarded=False"):
            kind(guarded=False)
        assert kind().name == kind.title
    for share in (-0.1, np.nan, np.inf, "a"):
        with pytest.raises(OptionError, match="share"):
            PriceGreedy(share=share)
    few = generate(servers=2, devices=2, profiles=2, horizon=8, reserved=2)
    with pytest.raises(OptionError, match=r"paths \* devices \* servers"):
        CompetingOffers(paths=10**12).start(few)
    for option, value in (
        ("rounds", -1),
        ("rounds", 10**12),
        ("rounds", 1.5),
        ("paths", 0),
        ("seed", -1),
    ):
        with pytest.raises(OptionError, match=option):
            CompetingOffers(**{option: value})
    with pytest.raises(OptionError, match="bound"):
        PriceGreedy(bound=1.0)
    with pytest.raises(OptionError, match="plan"):
        SafeRescue(plan=1.0).start(drawn(0))
    for overlap in (-0.1, 1.1, np.nan):
        with pytest.raises(OptionError, match="overlap"):
            solve_p1_lp(drawn(0), forbid_unsafe=True, overlap=overlap)
    with pytest.raises(OptionError, match="needs forbid_unsafe=True"):
        solve_p1_lp(drawn(0), overlap=0.5)


def test_refuses_a_bound_of_another_instance():
    instance = generate(servers=2, devices=2, profiles=2, horizon=8, reserved=2)
    for change in ({"servers": 3}, {"devices": 3}, {"horizon": 9}):
        sizes = {"servers": 2, "devices": 2, "profiles": 2, "horizon": 8, "reserved": 2}
        other = safe_bound(generate(**sizes | change), steps=2)
        for kind in (PriceGreedy, CompetingOffers):
            with pytest.raises(OptionError, match="bound is one of another instance"):
                kind(bound=other).start(instance)
