"""INFIDA on useful cells: nothing is lost without the others, and compiled runs are the loop."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.instances.idn import generate
from edgeopt.models.idn import gain, supergradient
from edgeopt.models.idn.cells import useful_models
from edgeopt.online import simulate
from edgeopt.online.idn import (
    Gaussian,
    IdnEnvironment,
    Infida,
    MessageLoss,
    Stretching,
    node_constants,
)
from tests.idn.cases import cases
from tests.oracles.idn import serving

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
def test_regret_constants_do_not_grow(case):
    """Each node's share of Theorem 2's constant is at most that with all cells."""
    every = node_constants(case.instance)
    some = node_constants(case.instance, cells="useful")
    assert not (some.free & ~every.free).any()
    assert (some.reach <= every.reach).all()
    assert (some.diameter <= every.diameter * (1 + 1e-12)).all()


POLICIES = [
    Infida(
        cells=cells, coins=coins, residual=residual, credit=credit, ascent=ascent,
        discount=0.9 if ascent == "leader" else 1.0, step=step, scale=3.0, refresh=refresh,
    )
    for cells, coins, residual, credit, ascent, step, refresh in [
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
    policy = Infida(cells="useful", residual="reserve", step=1.0)
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


def test_a_node_without_news_keeps_what_it_deploys() -> None:
    instance = generate(topology=2, alpha=1.0, horizon=3)
    silent = dataclasses.replace(instance, requests=np.zeros_like(instance.requests))
    policy = Infida(cells="useful", coins="common", residual="fill")
    run = simulate(IdnEnvironment(silent), policy, runs=1)
    assert (run.fetched == 0.0).all()


def test_messages_that_arrive_make_up_for_those_that_are_lost() -> None:
    """On average over losses the gradient is the exact one; without losses the run is the same."""
    instance = generate(topology=2, alpha=3.0, horizon=8)
    environment = IdnEnvironment(instance)
    episode = environment.episode(environment.scenarios(np.random.default_rng(0), 1)[0])
    quiet = Infida(cells="useful")
    rng = np.random.default_rng(1)
    decision, state = quiet.decide(quiet.start(environment.instance), episode.observe(), rng)
    outcome = episode.act(decision)
    exact = quiet.gradient(state, decision, outcome)
    lossy = Infida(cells="useful", noise=MessageLoss(0.4))
    loud = dataclasses.replace(state, noise=np.random.default_rng(2))
    drawn = np.array([lossy.gradient(loud, decision, outcome) for _ in range(10_000)])
    error = drawn.std(axis=0) / np.sqrt(len(drawn))
    assert (np.abs(drawn.mean(axis=0) - exact) <= 4.5 * error + 1e-9).all()
    runs = [
        simulate(environment, Infida(cells="useful", noise=noise), runs=2)
        for noise in (None, MessageLoss(0.0), Gaussian(0.0))
    ]
    for run in runs[1:]:
        assert np.array_equal(run.reward, runs[0].reward)


def test_normal_noise_is_on_the_scale_of_the_best_gain_per_mb() -> None:
    state = Infida().start(generate(topology=2, horizon=1))
    cells = state.mirror.cells
    gradient = np.random.default_rng(0).random(cells.size.size)
    drawn = np.repeat(gradient[None], 4000, axis=0)
    rng = np.random.default_rng(1)
    for row in drawn:
        Gaussian(0.5).disturb(cells, row, rng)
    for v in range(cells.free.size):
        mine = slice(cells.first[v], cells.first[v + 1])
        if cells.free[v]:
            scale = 0.5 * (gradient[mine] / cells.size[mine]).max() * cells.size[mine]
            assert drawn[:, mine].std(axis=0) == pytest.approx(scale, rel=0.08)
        else:
            assert (drawn[:, mine] == gradient[mine]).all()


@pytest.mark.parametrize(
    ("residual", "share"), [("bernoulli", 1.0), ("half", 0.5), ("fill", 0.0), ("drop", 0.0)]
)
def test_what_is_proven_of_each_way_to_round(residual, share):
    found = Infida(residual=residual).guarantee(generate(horizon=1))
    assert found.share == pytest.approx(share * (1 - np.exp(-1)))


def test_a_reserve_proves_more_than_half_where_models_are_small() -> None:
    reserve = Infida(residual="reserve", cells="useful")
    # The largest useful model of a base station has 1577 of 4096 MB.
    instance = generate(horizon=1)
    assert reserve.guarantee(instance).share == pytest.approx((1 - 1577 / 4096) * (1 - np.exp(-1)))
    narrow = instance.replace(budget=instance.budget / 2)
    assert "half" in reserve.guarantee(narrow).why
