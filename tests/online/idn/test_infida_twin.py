"""INFIDA against generic mirror ascent, node by node, at every step rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.models.idn import supergradient
from edgeopt.online.idn import IdnEnvironment, Infida, node_constants
from edgeopt.online.mirror_ascent import (
    AdaptiveStep,
    FixedStep,
    KnapsackEntropy,
    MirrorAscent,
    StepRule,
    TheoryStep,
)
from tests.strategies import idn_instances

if TYPE_CHECKING:
    from edgeopt.instances.idn import IdnInstance


def rule_of(step: Any, reach: float, horizon: int) -> StepRule:
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
    nodes = {}
    for v in np.flatnonzero(constants.free):
        mirror = KnapsackEntropy(instance.size[v], float(instance.budget[v]))
        rule = rule_of(step, float(constants.reach[v]), instance.horizon)
        nodes[v] = MirrorAscent(mirror, rule, ascent)
        assert mirror.diameter == pytest.approx(constants.diameter[v])
    climbing = {v: node.start() for v, node in nodes.items()}

    environment, rng = IdnEnvironment(instance), np.random.default_rng(0)
    episode = environment.episode(environment.scenarios(rng, 1)[0])
    state = policy.start(environment.instance)
    while (observation := episode.observe()) is not None:
        decision, state = policy.decide(state, observation, rng)
        outcome = episode.act(decision)
        g = supergradient(instance, outcome.requests, outcome.potential, state.fractional)
        climbing = {v: nodes[v].update(other, g[v]) for v, other in climbing.items()}
        state = policy.learn(state, observation, decision, outcome)
        for v, other in climbing.items():
            np.testing.assert_allclose(state.fractional[v], other.point, rtol=1e-9, atol=1e-12)
