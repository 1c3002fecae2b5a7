"""INFIDA on useful pairs: nothing is lost without the others, and compiled runs are the loop."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
from edgeopt_papers.idn.claims.instances import shelf
from edgeopt_papers.idn.claims.slot import regret_constant, regret_parts
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.instances.idn import generate
from edgeopt.models.idn import gain, supergradient
from edgeopt.models.idn.gain import useful_models
from edgeopt.online import simulate
from edgeopt.online.idn import IdnEnvironment, Infida, Stretching, node_constants
from edgeopt.online.idn import kernels as compact
from edgeopt.online.idn.policies.residuals import RESIDUAL, kernel_rows
from edgeopt.online.mirror_ascent import KnapsackEntropy
from edgeopt.rounding import depround_distribution
from edgeopt.rounding.kernels import BERNOULLI, depround_row
from tests.draws import every
from tests.idn.cases import cases, stepped
from tests.oracles.idn import serving
from tests.rounding.test_sampling import follows

RECORDED = ("reward", "gain", "cost", "fetched", "violations", "latency", "inaccuracy")


@given(cases(slots=2), st.floats(0.0, 7.0))
def test_useful_models_are_those_that_some_type_would_rather_use(case, alpha):
    instance = case.instance
    if instance.cost is None:
        instance = instance.replace(alpha=alpha)
    found = useful_models(instance)
    ranking = instance.ranking
    for v, m in itertools.product(range(instance.nodes), range(instance.models)):
        saves = [
            ranking.cost[o] < min(ranking.cost[options][ranking.permanent[options]])
            for rho in range(instance.types)
            for options in [ranking.options(rho)]
            for o in range(options.start, options.stop)
            if (ranking.node[o], ranking.model[o]) == (v, m) and ranking.capacity[o] > 0
        ]
        assert found[v, m] == (any(saves) and not instance.pinned[v])


@given(cases(slots=2), st.floats(0.0, 7.0))
def test_useless_models_gain_nothing_anywhere(case, alpha):
    """Lemma 1: for every point and every capacity that the adversary may choose."""
    instance, rng = case.instance, case.rng
    if instance.cost is None:
        instance = instance.replace(alpha=alpha)
    some = useful_models(instance) | instance.repository
    ranking = instance.ranking
    for requests in instance.requests:
        most = ranking.potential(requests)
        potential = np.where(ranking.permanent, most, most * rng.random(most.size))
        y = np.where(instance.repository, 1.0, rng.random(instance.size.shape))
        y[instance.pinned] = instance.repository[instance.pinned]
        full = gain(instance, requests, potential, y)
        assert gain(instance, requests, potential, y * some) == pytest.approx(full, abs=1e-9)
        useless = ~some & ~instance.pinned[:, np.newaxis]
        assert (supergradient(instance, requests, potential, y)[useless] == 0.0).all()


@given(cases(slots=1))
def test_requests_are_served_alike_without_useless_models(case):
    """At run time, in every order of types."""
    instance, plain = case.instance, case.plain
    if instance.types > 4:
        return
    some = useful_models(instance) | instance.repository
    x = (case.rng.random(instance.size.shape) < 0.5) | instance.repository
    x[instance.pinned] = instance.repository[instance.pinned]
    requests = instance.requests[0].tolist()
    for order in itertools.permutations(range(instance.types)):
        cost = [
            serving.cost_of(plain, serving.sequential(plain, requests, here.tolist(), order))
            for here in (x, x & some)
        ]
        assert cost[0] == cost[1]


@given(cases(slots=1))
def test_a_model_more_never_costs_more(case):
    """Lemma 3: run-time costs fall as models are added, in every order of types."""
    instance, plain = case.instance, case.plain
    if instance.types > 4:
        return
    x = (case.rng.random(instance.size.shape) < 0.4) | instance.repository
    x[instance.pinned] = instance.repository[instance.pinned]
    requests = instance.requests[0].tolist()
    closed = np.argwhere(~x & ~instance.pinned[:, None])
    for order in itertools.permutations(range(instance.types)):
        before = serving.cost_of(plain, serving.sequential(plain, requests, x.tolist(), order))
        for v, m in closed[: 4 if instance.types > 3 else None]:
            more = x.copy()
            more[v, m] = True
            after = serving.sequential(plain, requests, more.tolist(), order)
            assert serving.cost_of(plain, after) <= before


@given(cases(slots=3))
def test_regret_constants_fall_where_a_model_is_useless(case):
    """Each node's part of Theorem 2's constant, and never otherwise."""
    peak = float(case.instance.requests.max(initial=1))
    every = node_constants(case.instance, peak=peak)
    some = node_constants(case.instance, peak=peak, pairs="useful")
    assert not (some.free & ~every.free).any()
    assert (some.reach <= every.reach).all()
    part, whole = regret_parts(some), regret_parts(every)
    useless = ~useful_models(case.instance) & ~case.instance.pinned[:, np.newaxis]
    wasted = every.free & (every.reach > 0) & useless.any(axis=1)
    assert (part[wasted] < whole[wasted] * (1 - 1e-9)).all()
    assert (part[~wasted] == whole[~wasted]).all()


@pytest.mark.parametrize(
    ("settings", "low", "high"),
    [
        ({"alpha": 1.0}, 0.75, 0.83),
        ({"alpha": 5.0}, 0.70, 0.78),
        ({"attachment": "common"}, 0.98, 0.995),
        ({"topology": 2}, 1.0, 1.0),
    ],
)
def test_regret_constants_in_the_setting_of_the_paper(settings, low, high):
    instance = generate(rng=1, horizon=1, **settings)
    part, whole = (
        regret_constant(node_constants(instance, pairs=pairs)) for pairs in ("useful", "all")
    )
    assert low <= part / whole <= high


@given(cases(slots=4), st.sampled_from([0.05, 1.0]))
def test_pairs_of_all_models_are_the_dense_algorithm(case, rate):
    """Rows of all models, rounded with the same coins and moved by the dense gradient."""
    instance, seed = case.instance, case.seed
    policy = Infida(step=rate, coins="common")
    share = instance.repository.astype(float)
    nodes = np.flatnonzero(instance.active)
    whole = instance.size.sum(axis=1)
    share[nodes] = np.minimum(1.0, instance.budget / whole)[nodes, np.newaxis]
    for _, ready, decision, outcome, after in stepped(
        instance, policy, order="sequential", seed=seed
    ):
        expected = instance.repository.copy()
        begin = 0
        for v in range(instance.nodes):
            count = instance.models if v in nodes else 0
            coins = ready.coins[begin : begin + count + 1]
            begin += coins.size
            if count:
                depround_row(share[v], instance.size[v], BERNOULLI, coins, expected[v])
        assert begin == ready.coins.size
        assert (decision == expected).all()
        g = supergradient(instance, outcome.requests, outcome.potential, share)
        for v in nodes:
            if instance.budget[v] < whole[v]:
                mirror = KnapsackEntropy(instance.size[v], float(instance.budget[v]))
                share[v] = mirror.step(share[v], g[v], rate)
        np.testing.assert_allclose(after.fractional, share, rtol=1e-9, atol=1e-12)


POLICIES = [
    Infida(
        pairs=pairs, coins=coins, residual=residual, credit=credit, ascent=ascent,
        discount=0.9 if ascent == "leader" else 1.0, step=step, scale=3.0, refresh=refresh,
    )
    for pairs, coins, residual, credit, ascent, step, refresh in [
        ("all", "fresh", "bernoulli", "own", "mirror", "adaptive", 1),
        ("all", "common", "half", "shared", "leader", "adaptive", 2),
        ("useful", "fresh", "half", "own", "leader", 0.5, 1),
        ("useful", "common", "fill", "shared", "leader", "adaptive", 1),
        ("useful", "common", "reserve", "own", "mirror", "adaptive", Stretching(1, 3, 2)),
        ("useful", "common", "drop", "own", "mirror", 2.0, 1),
    ]
]  # fmt: skip


@given(cases(slots=4), st.sampled_from(POLICIES))
def test_compiled_runs_are_the_loop(case, policy):
    environment = IdnEnvironment(case.instance)
    fast, plain = (
        simulate(environment, policy, rng=case.seed, runs=2, compiled=compiled)
        for compiled in (True, False)
    )
    assert fast.compiled
    assert not plain.compiled
    for name in RECORDED:
        assert np.array_equal(getattr(fast, name), getattr(plain, name), equal_nan=True), name


@pytest.mark.parametrize("policy", POLICIES[:3])
def test_coins_of_a_compiled_run_may_be_drawn_in_parts(policy, monkeypatch):
    from edgeopt.online.idn.policies import infida

    monkeypatch.setattr(infida, "_COINS", 1)
    environment = IdnEnvironment(generate(topology=2, alpha=3.0, horizon=12))
    fast, plain = (
        simulate(environment, policy, runs=2, compiled=compiled) for compiled in (True, False)
    )
    for name in RECORDED:
        assert np.array_equal(getattr(fast, name), getattr(plain, name)), name


@given(cases(slots=3))
def test_a_reserve_keeps_room_for_the_largest_model(case):
    instance = case.instance
    policy = Infida(pairs="useful", residual="reserve", step=1.0)
    state = policy.start(instance)
    constants, size = state.constants, instance.size
    for v in np.flatnonzero(constants.free):
        largest = size[v][constants.allowed[v]].max()
        assert constants.budget[v] == max(0.0, instance.budget[v] - largest)
        used = Fraction(0)
        for share, one in zip(state.fractional[v], size[v], strict=True):
            used += Fraction(share) * Fraction(one)
        assert float(used) == pytest.approx(constants.budget[v], abs=1e-9)
    run = simulate(IdnEnvironment(instance), policy, rng=case.seed, runs=2)
    assert (run.violations == 0).all()


@pytest.mark.parametrize(
    "policy",
    [Infida(pairs="useful", coins="common", residual="fill"), Infida.recommended()],
    ids=["mirror", "leader"],
)
def test_a_node_without_news_keeps_what_it_deploys(policy) -> None:
    instance = generate(topology=2, alpha=1.0, horizon=8)
    requests = instance.requests.copy()
    requests[3:] = 0
    environment = IdnEnvironment(dataclasses.replace(instance, requests=requests))
    points, run = [], simulate(environment, policy, runs=1)
    assert (run.fetched[:, 4:] == 0.0).all()
    rng = np.random.default_rng(0)
    episode = environment.episode(environment.scenarios(rng, 1)[0])
    state = policy.start(environment.instance)
    while (observation := episode.observe()) is not None:
        decision, state = policy.decide(state, observation, rng)
        state = policy.learn(state, observation, decision, episode.act(decision))
        points.append(state.climbing.point)
    assert (points[0] != points[1]).any()
    assert all((point == points[2]).all() for point in points[3:])


@pytest.mark.parametrize(
    ("residual", "share"), [("bernoulli", 1.0), ("half", 0.5), ("fill", 0.0), ("drop", 0.0)]
)
def test_what_is_proven_of_each_way_to_round(residual, share):
    found = Infida(residual=residual).guarantee(generate(horizon=1))
    assert found.share == pytest.approx(share * (1 - np.exp(-1)))


def test_a_reserve_proves_more_than_half_where_models_are_small() -> None:
    reserve = Infida(residual="reserve", pairs="useful")
    # The largest useful model of a base station has 1577 of 4096 MB.
    instance = generate(horizon=1)
    assert reserve.guarantee(instance).share == pytest.approx((1 - 1577 / 4096) * (1 - np.exp(-1)))
    narrow = instance.replace(budget=instance.budget / 2)
    half = Infida(residual="half", pairs="useful")
    for network, better in ((instance, reserve), (narrow, half)):
        shares = {policy.residual: policy.guarantee(network).share for policy in (reserve, half)}
        assert max(shares, key=shares.__getitem__) == better.residual
        told = "residual='half' proves more" in reserve.guarantee(network).why
        assert told == (better is half)


@pytest.mark.parametrize("residual", every(2, ["bernoulli", "drop", "fill", "half", "reserve"]))
def test_a_node_draws_by_the_exact_law_of_its_rounding(residual) -> None:
    """What is there already is filled in first, in its order, then by credit per MB."""
    size, budget = np.array([2.0, 3.0, 4.0, 2.0, 5.0]), 8.0
    policy = Infida(residual=residual)
    state = policy.start(shelf(size.tolist(), [3, 4, 5, 2, 3], budget))
    pairs, rng = state.mirror.pairs, np.random.default_rng(3)
    assert pairs.size.tolist() == size.tolist()
    # They weigh 21/4 before they are scaled to what the node fills.
    scale = Fraction(state.constants.budget[0]) * Fraction(4, 21)
    exact = [scale / n for n in (4, 2, 4, 2, 4)]
    point = np.array(exact, dtype=float)
    credit, before = np.array([1.0, 0.0, 3.0, 2.0, 4.0]), np.array([0, 1, 0, 0, 1]) > 0
    ended = RESIDUAL[residual]
    drawn = np.empty((20_000, size.size), dtype=bool)
    for row in drawn:
        row[:] = before
        compact.deploy(
            pairs, point, credit, np.full(size.size, -1.0), row, rng.random(size.size + 2), False,
            ended.rule, ended.refill, kernel_rows(None, size.size, "mean"),
        )  # fmt: skip
    worth = np.where(before, 1e6 - np.arange(size.size), credit / size) * size
    room = {"gain": worth, "budget": budget} if ended.refill else {}
    distribution = depround_distribution(exact, size, residual=residual, **room)
    assert len(distribution) > 3
    follows(drawn, distribution)
    if residual != "bernoulli":
        assert (drawn @ size).max() <= budget
