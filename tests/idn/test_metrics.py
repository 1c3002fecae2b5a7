"""What a trajectory says of a run against sums over its slots."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.online import simulate
from edgeopt.online.idn import IdnEnvironment
from tests.idn.cases import cases
from tests.idn.run_policy import LEARNERS
from tests.oracles.idn import gains, metrics, serving

CLOSE = {"rel": 1e-9, "abs": 1e-9}


@given(cases(slots=3), st.sampled_from(LEARNERS))
def test_metrics_are_sums_over_what_was_served(case, policy):
    plain = case.plain
    environment = IdnEnvironment(case.instance, order="fluid")
    run = simulate(environment, policy, rng=case.seed, runs=1, record=True)
    hosted = run.hosted.tolist()
    rewards = []
    for t, requests in enumerate(plain.requests):
        load = serving.fluid(plain, requests, hosted[t])
        potential = serving.potential(plain, requests, hosted[t], load)
        cost = serving.cost_of(plain, load)
        gain = gains.gain_as_difference(plain, requests, potential, hosted[t])
        rewards.append(metrics.gain_per_request(plain, requests, potential, hosted[t]))
        assert run.cost[0, t] == pytest.approx(float(cost), **CLOSE)
        assert run.gain[0, t] == pytest.approx(float(gain), **CLOSE)
        assert run.reward[0, t] == pytest.approx(float(rewards[-1]), **CLOSE)
        for field in ("latency", "inaccuracy"):
            value = getattr(run, field)[0, t]
            if sum(requests):
                exact = metrics.served_average(plain, load, field)
                assert value == pytest.approx(float(exact), **CLOSE)
            else:
                assert np.isnan(value)
        new = metrics.fetched(plain, hosted[t - 1], hosted[t]) if t else 0
        assert run.fetched[0, t] == pytest.approx(float(new), **CLOSE)
    ntag = float(sum(rewards)) / len(rewards)
    assert run.time_averaged_gain() == pytest.approx([ntag], **CLOSE)
    updates = float(metrics.model_updates(plain, hosted))
    assert run.model_updates() == pytest.approx([updates], **CLOSE)
