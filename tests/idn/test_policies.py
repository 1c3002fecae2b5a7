"""Policies and serving: budgets, each step recomputed, and metrics."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from edgeopt.models.idn import gain, supergradient
from edgeopt.online import simulate
from edgeopt.online.idn import IdnEnvironment, Infida, Olag, StaticGreedy, offline_infida, serve
from edgeopt.online.idn.learning_rates import node_constants, theory_rates
from tests.draws import LEAN
from tests.idn.cases import (
    LEARNERS,
    SAFE,
    Case,
    array,
    cases,
    crowded,
    draw_allocation,
    draw_network,
    instance_of,
    stepped,
)
from tests.oracles.idn import gains, metrics, policies, serving

ORDERS = st.sampled_from(["sequential", "random", "fluid"])


def over_budget(plain, x):
    return [
        v
        for v in range(plain.V)
        if not plain.pinned(v)
        and sum(s for s, here in zip(plain.size[v], x[v], strict=True) if here) > plain.budget[v]
    ]


@given(
    cases(slots=3),
    st.sampled_from([*SAFE, "reserve"]),
    st.sampled_from(["fresh", "common"]),
    st.sampled_from(["all", "useful"]),
    ORDERS,
)
def test_safe_roundings_never_exceed_a_budget(case, residual, coins, pairs, order):
    environment = IdnEnvironment(case.instance, order=order)
    policy = Infida(step=1.0, residual=residual, coins=coins, pairs=pairs)
    run = simulate(environment, policy, rng=case.seed, runs=3, keep_trace=True)
    assert (run.violations == 0).all()
    for x in run.hosted:
        assert over_budget(case.plain, x) == []


@given(cases(slots=3), ORDERS)
def test_the_published_rounding_exceeds_a_budget_by_part_of_one_model(case, order):
    environment = IdnEnvironment(case.instance, order=order)
    run = simulate(environment, Infida(step=1.0), rng=case.seed, runs=1, keep_trace=True)
    for t, x in enumerate(run.hosted):
        over = over_budget(case.plain, x)
        assert run.violations[0, t] == len(over)
        for v in over:
            used = [s for s, here in zip(case.plain.size[v], x[v], strict=True) if here]
            assert sum(used) < case.plain.budget[v] + max(used)


@given(cases(slots=3), st.sampled_from([Olag(), Olag("forwarded"), Olag(ties="literal")]))
def test_greedy_policies_never_exceed_a_budget(case, policy):
    for chosen in (policy, StaticGreedy.plan(case.instance)):
        run = simulate(IdnEnvironment(case.instance), chosen, runs=2, keep_trace=True)
        assert (run.violations == 0).all()
        for x in run.hosted:
            assert over_budget(case.plain, x) == []


def learners(case, *, fitting):
    """Return which models a node may host, and the nodes with something to learn."""
    plain = case.plain
    allowed = {
        v: [
            m
            for m in range(plain.M)
            if plain.active(v) and not (fitting and plain.size[v][m] > plain.budget[v])
        ]
        for v in range(plain.V)
    }
    free = [
        v for v in range(plain.V) if plain.budget[v] < sum(plain.size[v][m] for m in allowed[v])
    ]
    return allowed, free


@given(
    cases(slots=3),
    st.sampled_from([0.01, 0.5, 4.0]),
    st.sampled_from(["bernoulli", "half"]),
    st.sampled_from(["own", "shared"]),
)
def test_each_learning_step_of_infida(case, rate, residual, credit):
    plain = case.plain
    allowed, free = learners(case, fitting=residual != "bernoulli")
    policy = Infida(step=rate, residual=residual, credit=credit)
    for t, (_, before, decision, outcome, after) in enumerate(
        stepped(case.instance, policy, order="sequential", seed=case.seed)
    ):
        if t == 0:
            check_first_shares(plain, allowed, free, before.fractional)
        potential = outcome.potential.copy()
        if credit == "shared":
            table = case.per_option(
                plain.potential(outcome.requests.tolist(), shared=True, wanting=True)
            )
            absent = ~decision.ravel()[case.instance.ranking.pair]
            potential[absent] = table[absent]
        g = supergradient(case.instance, outcome.requests, potential, before.fractional)
        for v in range(plain.V):
            expected = before.fractional[v].copy()
            if v in free:
                mine = allowed[v]
                expected[mine] = policies.step(
                    before.fractional[v, mine].tolist(),
                    g[v, mine].tolist(),
                    [plain.size[v][m] for m in mine],
                    plain.budget[v],
                    rate,
                )
            assert after.fractional[v] == pytest.approx(expected, abs=1e-9)


def check_first_shares(plain, allowed, free, y):
    for v in range(plain.V):
        if plain.pinned(v):
            expected = [float(p) for p in plain.repository[v]]
        else:
            whole = sum(plain.size[v][m] for m in allowed[v])
            share = float(plain.budget[v] / whole) if v in free else 1.0
            expected = [share if m in allowed[v] else 0.0 for m in range(plain.M)]
        assert y[v] == pytest.approx(expected, abs=1e-12)


@given(cases())
def test_rates_with_a_proof(case):
    plain = case.plain
    steep = [policies.steepest(plain, v, m) for v in range(plain.V) for m in range(plain.M)]
    if math.inf in steep:
        return
    found = theory_rates(case.instance, node_constants(case.instance), horizon=7)
    assert found == pytest.approx(policies.theory_rates(plain, 7), rel=1e-12)


@given(
    st.one_of(cases(slots=3), crowded()),
    st.sampled_from(["seen", "forwarded"]),
    st.sampled_from(["shared", "literal"]),
    st.sampled_from(["sequential", "random"]),
)
def test_each_choice_of_the_load_aware_greedy(case, counters, ties, order):
    plain = case.plain
    policy = Olag(counters=counters, ties=ties)
    total = [[plain.number(0)] * plain.R for _ in range(plain.V)]
    for t, (_, before, decision, outcome, after) in enumerate(
        stepped(case.instance, policy, order=order, seed=case.seed)
    ):
        assert np.array_equal(decision, before.allocation)
        assert t or np.array_equal(decision, case.instance.repository)
        load = case.by_type(outcome.load, plain.number)
        for v in range(plain.V):
            if plain.pinned(v):
                continue
            if counters == "seen":
                total[v] = policies.reaching(plain, load, v)
            else:
                more = policies.passing(plain, load, v)
                total[v] = [a + b for a, b in zip(total[v], more, strict=True)]
            table = [list(total[v]) for _ in range(plain.M)]
            chosen = policies.fill_by_importance(plain, v, table, shared_ties=ties == "shared")
            assert after.allocation[v].tolist() == chosen


@given(cases(slots=2), st.sampled_from(SAFE))
def test_the_placement_learnt_in_hindsight_is_feasible(case, residual):
    found = offline_infida(case.instance, Infida(residual=residual), iterations=5, rng=case.seed)
    assert over_budget(case.plain, found.allocation) == []
    _, free = learners(case, fitting=True)
    for v in free:
        used = case.instance.size[v] @ found.fractional[v]
        assert used == pytest.approx(float(case.plain.budget[v]), rel=1e-9)


@given(cases(slots=2))
def test_a_policy_sees_what_was_served(case):
    for permutation, _, decision, outcome, _ in stepped(
        case.instance, Infida(step=1.0), order="sequential", seed=case.seed
    ):
        requests = outcome.requests.tolist()
        load = serving.sequential(case.plain, requests, decision.tolist(), permutation.tolist())
        potential = serving.potential(case.plain, requests, decision.tolist(), load)
        assert outcome.load == pytest.approx(case.per_option(load), abs=1e-9)
        assert outcome.potential == pytest.approx(case.per_option(potential), abs=1e-9)
        assert outcome.cost == pytest.approx(float(serving.cost_of(case.plain, load)), abs=1e-9)


CLOSE = {"rel": 1e-12, "abs": 1e-9}
FALSE_ALARM = 1e-6


def check(case, requests, x, served, load):
    """Compare loads, run-time capacities and cost, and the cost with the formula at them."""
    potential = serving.potential(case.plain, requests, x, load)
    assert served.load == pytest.approx(case.per_option(load), **CLOSE)
    assert served.potential == pytest.approx(case.per_option(potential), **CLOSE)
    cost = serving.cost_of(case.plain, load)
    assert cost == gains.serving_cost(case.plain, requests, potential, x)
    assert served.cost == pytest.approx(float(cost), **CLOSE)
    alone = case.instance.ranking.repository_cost @ np.array(requests)
    formula = alone - gain(case.instance, requests, served.potential, array(x))
    assert served.cost == pytest.approx(formula, **CLOSE)


@given(cases())
def test_types_one_after_another(case):
    rng = case.rng
    for requests in case.plain.requests:
        x = draw_allocation(case.plain, rng)
        for order in itertools.permutations(range(case.plain.R)):
            served = serve(
                case.instance,
                np.array(requests),
                np.array(x),
                order="sequential",
                draw=np.array(order),
            )
            check(case, requests, x, served, serving.sequential(case.plain, requests, x, order))


@given(cases())
def test_all_types_at_once(case):
    rng = case.rng
    for requests in case.plain.requests:
        x = draw_allocation(case.plain, rng)
        served = serve(case.instance, np.array(requests), np.array(x), order="fluid")
        check(case, requests, x, served, serving.fluid(case.plain, requests, x))


@given(cases())
def test_requests_in_a_random_order(case):
    """Whatever the order was, what came out is possible, and costs what the formula says."""
    rng = case.rng
    for requests in case.plain.requests:
        x = draw_allocation(case.plain, rng)
        served = serve(
            case.instance,
            np.array(requests),
            np.array(x),
            order="random",
            draw=int(rng.integers(2**62)),
        )
        load = [list(map(case.plain.number, row)) for row in case.by_type(served.load)]
        check(case, requests, x, served, load)
        if sum(requests) <= 8:
            assert tuple(map(tuple, load)) in serving.random_law(case.plain, requests, x)


def test_every_order_of_the_requests_is_equally_likely():
    """Chi-square against the exact distribution of loads; all seven tests err once in 1e6."""
    tested, networks = 0, 1 if LEAN else 7
    for seed in itertools.count():
        network = draw_network(seed, slots=1)
        requests = network.requests[0]
        x = draw_allocation(network, np.random.default_rng(seed))
        if sum(requests) > 8:
            continue
        distribution = serving.random_law(network, requests, x)
        if len(distribution) < 3:
            continue
        case = Case(instance_of(network), network, seed)
        runs = 4000
        counts = dict.fromkeys(distribution, 0)
        for draw_number in range(runs):
            served = serve(
                case.instance, np.array(requests), np.array(x), order="random", draw=draw_number
            )
            load = tuple(tuple(map(network.number, row)) for row in case.by_type(served.load))
            counts[load] += 1
        statistic = sum(
            (counts[load] - runs * float(p)) ** 2 / (runs * float(p))
            for load, p in distribution.items()
        )
        assert chi2.sf(statistic, len(distribution) - 1) > FALSE_ALARM / 7
        tested += 1
        if tested == networks:
            return


ROUGHLY = {"rel": 1e-9, "abs": 1e-9}


@given(cases(slots=3), st.sampled_from(LEARNERS))
def test_metrics_are_sums_over_what_was_served(case, policy):
    plain = case.plain
    environment = IdnEnvironment(case.instance, order="fluid")
    run = simulate(environment, policy, rng=case.seed, runs=1, keep_trace=True)
    hosted = run.hosted.tolist()
    rewards = []
    for t, requests in enumerate(plain.requests):
        load = serving.fluid(plain, requests, hosted[t])
        potential = serving.potential(plain, requests, hosted[t], load)
        cost = serving.cost_of(plain, load)
        gain = gains.gain_as_difference(plain, requests, potential, hosted[t])
        rewards.append(metrics.gain_per_request(plain, requests, potential, hosted[t]))
        assert run.cost[0, t] == pytest.approx(float(cost), **ROUGHLY)
        assert run.gain[0, t] == pytest.approx(float(gain), **ROUGHLY)
        assert run.reward[0, t] == pytest.approx(float(rewards[-1]), **ROUGHLY)
        for field in ("latency", "inaccuracy"):
            value = getattr(run, field)[0, t]
            if sum(requests):
                exact = metrics.served_average(plain, load, field)
                assert value == pytest.approx(float(exact), **ROUGHLY)
            else:
                assert np.isnan(value)
        new = metrics.fetched(plain, hosted[t - 1], hosted[t]) if t else 0
        assert run.fetched[0, t] == pytest.approx(float(new), **ROUGHLY)
    ntag = float(sum(rewards)) / len(rewards)
    assert run.time_averaged_gain() == pytest.approx([ntag], **ROUGHLY)
    updates = float(metrics.model_updates(plain, hosted))
    assert run.model_updates() == pytest.approx([updates], **ROUGHLY)
