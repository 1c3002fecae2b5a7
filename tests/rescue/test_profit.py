"""Expected profits of the physical model, one logarithm at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.instances.rescue import LogProfit, generate
from edgeopt.models.rescue import solve_p1_lp
from edgeopt.online.rescue import Rescue, RescuePlus, Sumita
from tests.oracles.rescue import plain, policies, programs
from tests.oracles.rescue.scenarios import follow
from tests.rescue.cases import cases
from tests.rescue.run_policy import draw_scenarios, rows_of, run_policy, tuples


def profit(model, t, j, k, d):
    """Return what a run of d slots that begins in t earns."""
    if d > model.budget[j, k]:
        return 0.0
    decay = math.exp(-model.decay[j] * (t - model.trained[j]))
    gap = max(0.0, 1 - model.accuracy[j] * decay / model.best_accuracy)
    last = model.capacity.shape[1] - 1
    work = sum(model.capacity[k, min(tau, last)] for tau in range(t, t + d))
    return model.weight[j] * gap * model.gain[j] * math.log(1 + model.curvature[j] * work)


@pytest.mark.parametrize("beyond", ["hold", "drop"])
@pytest.mark.parametrize("distribution", ["normal", "bimodal", "uniform", "heavy"])
def test_expected_profit_of_the_physical_model(distribution, beyond):
    instance = generate(
        servers=2, devices=3, profiles=2, horizon=6, reserved=3, sla=14, distribution=distribution
    ).replace(beyond=beyond)
    assert isinstance(instance.profit, LogProfit)
    T, J, K, L, D = instance.shape
    expected = np.zeros((T, J, K, L))
    for t, j, k, l in np.ndindex(T, J, K, L):  # noqa: E741 - the profile
        for d in range(1, D + 1):
            if beyond == "drop" and t + d > T:
                continue
            expected[t, j, k, l] += instance.duration[l, d - 1] * profit(
                instance.profit, t, j, k, d
            )
    assert instance.expected_profit == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert expected.max() > 0
    oracle = plain(instance, float)
    assert np.array(oracle.R) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(instance=cases(), beyond=st.sampled_from(["hold", "drop"]))
def test_expected_profit_of_any_table(instance, beyond):
    """Axes of size 1 stand for all their entries; what runs beyond the end is kept or dropped."""
    instance = instance.replace(beyond=beyond)
    oracle = plain(instance, float)
    assert instance.expected_profit == pytest.approx(np.array(oracle.R), abs=1e-12)
    whole = np.broadcast_to(instance.realised_profit, instance.shape)
    assert np.array_equal(whole, np.array(oracle.profit))
    survival = np.array(oracle.S)
    assert instance.survival == pytest.approx(survival, abs=1e-12)
    assert instance.longest.tolist() == list(oracle.longest)


@pytest.mark.parametrize("beyond", ["hold", "drop"])
def test_a_physical_instance_runs_as_the_reference_does(beyond):
    instance = generate(
        servers=2, devices=3, profiles=2, horizon=20, reserved=4, arrival=0.8, rng=5
    ).replace(beyond=beyond)
    oracle = plain(instance, float)
    plan = solve_p1_lp(instance)
    value, _ = programs.optimum(programs.p1_lp(oracle))
    assert plan.objective == pytest.approx(value, rel=1e-6)
    reference = policies.all_policies(oracle, tuples(plan.y.tolist()), guarded=True)
    scenarios = draw_scenarios(instance, 11, 20)
    compared = 0
    for kind in (Rescue, RescuePlus, Sumita):
        trajectory = run_policy(instance, kind(plan=plan, guarded=True), scenarios)
        for n, scenario in enumerate(scenarios):
            run = follow(oracle, reference[kind.__name__], rows_of(oracle, scenario))
            if run.close:
                continue
            compared += 1
            assert trajectory.reward[n] == pytest.approx(run.reward, rel=1e-9, abs=1e-12)
            assert trajectory.reserved_work[n] == pytest.approx(run.reserved_work, abs=1e-9)
            assert trajectory.violations[n].tolist() == run.violations
    assert compared > 30
