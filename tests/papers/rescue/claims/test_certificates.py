"""What a verdict hands over proves it: recomputed here from the data alone."""

import dataclasses

import numpy as np
import pytest
from edgeopt_papers.rescue.claims.evaluation import Evaluation
from edgeopt_papers.rescue.claims.theorems import occupancy_dual
from hypothesis import given, settings
from scipy.sparse import csr_array

from edgeopt.bounds import check
from edgeopt.instances.rescue import generate, small
from edgeopt.testing.strategies import rescue_instances
from tests.draws import draws


def survival(instance, profile, age):
    return instance.duration[profile, age:].sum()


@given(rescue_instances(reserved=None, arrivals=None, beyond=None))
def test_dual_of_the_plan_proves_its_bound(instance):
    """Weak duality by hand: multipliers of the right sign, no column with a positive margin."""
    [found] = check("rescue.lemma2", instance)
    assert found.verdict == "holds"
    view = Evaluation(instance)
    duals, tasks = view.plan.duals, instance.reserved
    assert min(duals.arrival.min(), duals.occupancy.min()) >= -1e-7
    assert np.all(duals.reserved <= 1e-7)
    horizon, devices, servers, profiles = instance.shape[:4]
    for t, j, k, profile in np.ndindex(horizon, devices, servers, profiles):
        priced = duals.arrival[t, j] + sum(
            survival(instance, profile, a) * duals.occupancy[k, t + a]
            for a in range(min(instance.max_duration, horizon - t))
        )
        if instance.arrival[t, j] > 0:
            assert priced >= instance.expected_profit[t, j, k, profile] - 1e-6
    for i, k in enumerate(tasks.server):
        for t in range(tasks.start[i], tasks.end[i] + 1):
            work = instance.capacity[k, t] * duals.reserved[i]
            assert duals.occupancy[k, t] + work >= -1e-6
    value = (
        (instance.arrival * duals.arrival).sum()
        + duals.occupancy.sum()
        + tasks.demand @ duals.reserved
    )
    assert value == pytest.approx(view.plan.bound, abs=1e-5)


@given(rescue_instances(reserved=None, arrivals=None, beyond=None))
def test_dual_of_lemma_three_is_feasible_and_worth_its_share(instance):
    view = Evaluation(instance)
    for share in (np.full(instance.servers, 0.5), 1 / (1 + view.occupancy.max(axis=1))):
        dual = occupancy_dual(view, share)
        assert dual.residual <= 1e-7
        assert np.all(view.auxiliary[1][:, 0] >= share * view.planned_profit - 1e-7)


def test_a_larger_multiplier_is_infeasible():
    """The share 1 / (1 + max u) is the largest constant for which the sign survives."""
    refused = 0
    for seed in range(20):
        view = Evaluation(small(seed, reserved=False))
        largest = 1 / (1 + view.occupancy.max(axis=1))
        if view.occupancy.max() > 0.1:
            refused += 1
            assert occupancy_dual(view, 1.1 * largest).residual > 0.01
    assert refused >= 5


@settings(max_examples=draws(60))
@given(rescue_instances(reserved=True, arrivals="exclusive"))
def test_occupancy_follows_from_plan_and_durations(instance):
    view = Evaluation(instance)
    y = view.plan.y
    for k in range(instance.servers):
        for t in range(instance.horizon):
            planned = sum(
                y[s, :, k, profile].sum() * survival(instance, profile, t - s)
                for s in range(max(0, t - instance.max_duration + 1), t)
                for profile in range(instance.profiles)
            )
            assert view.occupancy[k, t] == pytest.approx(planned, abs=1e-12)
    assert view.planned_profit.sum() == pytest.approx(view.plan.objective, abs=1e-9)


def test_certificate_of_theorem_one_names_its_numbers():
    [found] = check("rescue.theorem1", small(5, reserved=False))
    proof = found.certificate
    assert proof["baseline"][:, 0].sum() == pytest.approx(proof["earned"].sum())
    assert found.measured == pytest.approx(proof["earned"].sum() / proof["bound"])
    assert {"arrival_dual", "occupancy_dual", "reserved_dual"} <= set(proof)


def test_sparse_plan_gives_the_same_verdicts():
    instance = generate(servers=2, devices=4, profiles=2, horizon=20, reserved=4)
    view = Evaluation(instance)
    flat = view.plan.y.reshape(instance.horizon * instance.devices, -1)
    sparse = dataclasses.replace(view.plan, y=csr_array(flat))
    ids = ["rescue.lemma*", "rescue.theorem1*", "rescue.value*", "rescue.horizon", "rescue.routing"]
    dense_verdicts = check(ids, instance, plan=view.plan)
    sparse_verdicts = check(ids, instance, plan=sparse)
    assert sum(found.verdict == "holds" for found in dense_verdicts) >= 8
    for dense, thin in zip(dense_verdicts, sparse_verdicts, strict=True):
        assert thin.verdict == dense.verdict
        assert thin.measured == pytest.approx(dense.measured, abs=1e-9, nan_ok=True)
