"""INFIDA: what it deploys, when it deploys anew, and how it learns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.idn import IdnInstance, generate
from edgeopt.models.idn import supergradient
from edgeopt.online import simulate
from edgeopt.online.idn import IdnEnvironment, Infida, Slot, Stretching, node_constants
from edgeopt.online.idn import kernels as compact
from edgeopt.online.mirror_ascent import (
    AdaptiveStep,
    FixedStep,
    KnapsackEntropy,
    MirrorAscent,
    Product,
    StepRule,
    TheoryStep,
)
from edgeopt.testing.strategies import idn_instances
from tests.draws import draws

SAFE = ("drop", "fill", "half")


def ran(instance: IdnInstance, policy: Infida, seed: int = 0) -> list[tuple[Any, Any, Any]]:
    """States before and after every slot, with what was deployed and what came of it."""
    environment = IdnEnvironment(instance)
    rng = np.random.default_rng(seed)
    [scenario] = environment.scenarios(rng, 1)
    episode = environment.episode(scenario)
    state = policy.start(environment.instance)
    steps = []
    while (observation := episode.observe()) is not None:
        decision, state = policy.decide(state, observation, rng)
        outcome = episode.act(decision)
        steps.append((state, decision, outcome))
        state = policy.learn(state, observation, decision, outcome)
    return steps


EDGE = IdnInstance(
    # Two types share node 0, which has room for 4 MB; the cloud is 10 ms away.
    edges=[[0, 1]],
    latency=[10.0],
    size=[[1.0, 2.0, 8.0]] * 2,
    delay=[[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]],
    capacity=[[6.0, 9.0, 50.0], [np.inf] * 3],
    accuracy=[100.0] * 3,
    task=[0, 0, 0],
    budget=[2.0, np.inf],
    repository=[[False] * 3, [True] * 3],
    request_task=[0, 0],
    path=[[0, 1], [0, 1]],
    requests=[[4, 8]] * 2,
    alpha=0.0,
)


def test_models_beyond_a_budget_take_part_only_where_the_budget_may_be_exceeded() -> None:
    assert Infida().start(EDGE).fractional[0] == pytest.approx([2 / 11] * 3)
    for residual in SAFE:
        state = Infida(residual=residual).start(EDGE)  # type: ignore[arg-type]
        assert state.fractional[0] == pytest.approx([2 / 3, 2 / 3, 0.0])


def rates_of(state: Any) -> Any:
    return state.ascent.rule.rate(state.ascent.mirror, 0.0)


def test_rates_of_theory_are_those_of_the_proof() -> None:
    # Credit per MB: (10 - 0) * 6 * 2 types / 1, (10 - 2) * 9 * 2 / 2, 10 * 50 * 2 / 8.
    constants = node_constants(EDGE)
    assert constants.reach[0] == pytest.approx(max(120.0, 72.0, 125.0))
    assert constants.diameter[0] == pytest.approx(2 * np.log(11 / 2))
    expected = np.sqrt(8 * 2 * np.log(11 / 2) / (2 * 2)) / 125.0
    assert rates_of(Infida(step="theory").start(EDGE)) == pytest.approx([expected, 0.0])
    # With at most 5 requests of a type the first is worth 100, the third 12.5 per MB.
    assert node_constants(EDGE, peak=5.0).reach[0] == pytest.approx(100.0)
    # The printed one: 2 types, capacity 50, a spread of 10 ms, sizes 1 to 8, two nodes, 3 models.
    sigma, theta = 2 * 50 * 10 / 1, 1 / (8 * 2 * 3)
    published = np.sqrt(2 * theta * 2 * np.log(11 / 2) / 2) / sigma
    assert rates_of(Infida(step="published").start(EDGE)) == pytest.approx([published, 0.0])


@pytest.mark.parametrize("attachment", ["task", "common"])
def test_the_rate_of_the_theorem_hardly_moves_a_share_in_thirty_slots(attachment: Any) -> None:
    instance = generate(rng=171, horizon=31, attachment=attachment)
    first, *_, last = [state.fractional for state, *_ in ran(instance, Infida(step="published"))]
    assert 1e-4 < np.abs(last - first).max() < 0.004


def test_shared_credit_splits_what_several_types_want() -> None:
    environment = IdnEnvironment(EDGE)
    rng = np.random.default_rng(0)
    for credit, expected in (("own", [4.0 + 6.0, 4.0 + 8.0]), ("shared", [6.0, 9.0])):
        policy = Infida(credit=credit, step=0.0)  # type: ignore[arg-type]
        [scenario] = environment.scenarios(rng, 1)
        episode = environment.episode(scenario)
        nothing = EDGE.repository.copy()
        outcome = episode.act(nothing)
        state = policy.learn(policy.start(environment.instance), Slot(0), nothing, outcome)
        # Fractions are too small to cover the demand, so the cloud's 10 ms are what is saved.
        assert state.dense(state.gradient)[0, :2] == pytest.approx(
            [10 * expected[0], 8 * expected[1]]
        )


def test_credit_of_what_is_deployed_is_not_split() -> None:
    # Model 0 serves type 1 alone, which comes first; what it could do for type 0 is nothing.
    environment = IdnEnvironment(EDGE)
    episode = environment.episode(np.array([[1, 0], [1, 0]]))
    deployed = EDGE.repository.copy()
    deployed[0, 0] = True
    outcome = episode.act(deployed)
    policy = Infida(credit="shared", step=0.0)
    state = policy.learn(policy.start(environment.instance), Slot(0), deployed, outcome)
    assert state.dense(state.gradient)[0, 0] == pytest.approx(10 * (0 + 6))
    assert state.dense(state.gradient)[0, 1] == pytest.approx(8 * 9)


def test_what_is_there_already_fills_a_budget_first() -> None:
    # The best per MB comes after what was deployed before; models of no share come never.
    share, size = np.array([0.5, 0.5, 1e-7, 0.5]), np.array([1.0, 3.0, 1.0, 2.0])
    credit = np.array([1.0, 9.0, 99.0, 7.0])
    for before, filled in (([], [0, 3]), ([1], [0, 1]), ([2], [0, 2, 3])):
        out = np.zeros(4, dtype=bool)
        compact.refill_row(share, credit, size, 4.0, np.isin(np.arange(4), before), out)
        assert np.flatnonzero(out).tolist() == filled


def refreshes(policy: Infida, slots: int) -> list[int]:
    instance = generate(horizon=slots, tasks=3, replicas=1)
    deployed = [decision for _, decision, _ in ran(instance, policy)]
    return [t for t in range(1, slots) if deployed[t] is not deployed[t - 1]]


def test_refresh_periods() -> None:
    assert refreshes(Infida(refresh=1), 5) == [1, 2, 3, 4]
    assert refreshes(Infida(refresh=3), 9) == [3, 6]
    # Periods 1 2 3 4 4 ... in slots 0 1 2 3 4 ...: slot 1 is too early for a period of 2.
    assert refreshes(Infida(refresh=Stretching(1, 4, 3)), 13) == [4, 8, 12]
    assert [Stretching().period(t) for t in (0, 30, 60, 99)] == [1, 16, 32, 32]


def test_common_coins_change_a_deployment_only_with_the_fractions() -> None:
    instance = generate(horizon=6, tasks=4, replicas=2)
    still = ran(instance, Infida(step=0.0, coins="common"))
    assert all((x == still[0][1]).all() for _, x, _ in still)
    fresh = ran(instance, Infida(step=0.0))
    assert any((x != fresh[0][1]).any() for _, x, _ in fresh)


@settings(max_examples=draws(20))
@given(st.integers(0, 2**32 - 1))
def test_common_coins_fetch_less(seed: int) -> None:
    instance = generate(rng=seed, horizon=30, tasks=4, replicas=2)
    common, fresh = (
        simulate(IdnEnvironment(instance), Infida(coins=coins), rng=seed, runs=1).model_updates()
        for coins in ("common", "fresh")
    )
    assert common[0] < fresh[0]


def test_theory_rate_needs_bounded_gradients() -> None:
    instance = generate(horizon=3, tasks=2, replicas=1)
    boundless = instance.replace(capacity=np.full_like(instance.capacity, np.inf))
    with pytest.raises(OptionError, match="unbounded at node"):
        Infida(step="theory").start(boundless)
    Infida(step="theory", peak=100.0).start(boundless)
    Infida(step="adaptive").start(boundless)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("step", "fast"),
        ("step", -1.0),
        ("step", float("nan")),
        ("refresh", 0),
        ("coins", "silver"),
        ("residual", "keep"),
        ("credit", "double"),
        ("ascent", "descent"),
        ("peak", 0.0),
    ],
)
def test_bad_options_are_named(option: str, value: Any) -> None:
    with pytest.raises(OptionError, match=option):
        Infida(**{option: value})


def test_bad_periods_are_named() -> None:
    with pytest.raises(OptionError, match="target"):
        Stretching(target=0)


def rule_of(step: Any, reach: Any, horizon: int) -> StepRule:
    if step == "theory":
        return TheoryStep(reach / 2, horizon)
    return AdaptiveStep(10.0) if step == "adaptive" else FixedStep(step)


@given(
    idn_instances(),
    st.sampled_from(["theory", "adaptive", 0.3]),
    st.sampled_from(["mirror", "leader"]),
)
def test_nodes_climb_as_generic_mirror_ascent(
    instance: IdnInstance, step: Any, ascent: Any
) -> None:
    # Without a peak, models of unlimited capacity would leave the proven rate undefined.
    peak = float(instance.requests.max() + 1)
    policy = Infida(step=step, ascent=ascent, peak=peak)
    constants = node_constants(instance, peak=peak)
    free = np.flatnonzero(constants.free)
    assume(free.size > 0)
    nodes = Product([KnapsackEntropy(instance.size[v], float(instance.budget[v])) for v in free])
    np.testing.assert_allclose(nodes.diameter, constants.diameter[free])
    generic = MirrorAscent(nodes, rule_of(step, constants.reach[free], instance.horizon), ascent)
    climbing = generic.start()

    environment, rng = IdnEnvironment(instance), np.random.default_rng(0)
    episode = environment.episode(environment.scenarios(rng, 1)[0])
    state = policy.start(environment.instance)
    while (observation := episode.observe()) is not None:
        decision, state = policy.decide(state, observation, rng)
        outcome = episode.act(decision)
        g = supergradient(instance, outcome.requests, outcome.potential, state.fractional)
        climbing = generic.update(climbing, g[free].ravel())
        state = policy.learn(state, observation, decision, outcome)
        mine = state.fractional[free].ravel()
        np.testing.assert_allclose(mine, climbing.point, rtol=1e-9, atol=1e-12)
    proven = state.ascent.regret_bound(state.climbing)
    assert proven == pytest.approx(generic.regret_bound(climbing), rel=1e-9)
