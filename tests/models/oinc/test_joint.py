"""Problem (1): its optimum is that of brute force, its parts are those of a slot and of jobs."""

from __future__ import annotations

import itertools

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings

from edgeopt.errors import OptionError
from edgeopt.instances.oinc import OincInstance
from edgeopt.models.oinc import (
    enough_slots,
    joint,
    joint_misocp,
    slot_misocp,
    weighted_sum_bound,
)
from edgeopt.models.oinc.slot import slot_problem
from edgeopt.solvers import Quality, Status, solve
from edgeopt.testing.strategies import oinc_instances
from tests.certified import linprog
from tests.draws import draws, every


def drawn(seed, *, slots=2, devices=2, sites=2, jobs=1, slo=1.0, empty=0.2):
    rng = np.random.default_rng(seed)
    per_request = slots, devices
    arrival = np.sort(rng.integers(0, slots, jobs))
    return OincInstance(
        speed=rng.uniform(2.0, 3.0, sites),
        rate=rng.uniform(5.0, 9.0, (devices, sites)),
        active=rng.random(per_request) > empty,
        request_size=rng.uniform(0.3, 1.0, per_request),
        request_work=rng.uniform(0.1, 0.3, per_request),
        slo=np.full(per_request, slo),
        arrival=arrival,
        work=rng.uniform(0.5, 2.5, jobs),
        deadline=arrival + 3.0,
        weight=rng.uniform(0.5, 2.0, jobs),
        request_weight=rng.uniform(0.5, 2.0, slots),
        latency_scale=0.25,
        completion_scale=4.0,
    )


def brute_force(instance, slots):
    """Return the least weighted sum over all sites of requests and jobs and all completion slots.

    What is left is how much of the CPU the jobs get in each slot: the latencies of a site are, by
    Cauchy and Schwarz, a square over the band and a square over what jobs leave of the CPU.
    """
    asked = np.argwhere(instance.active).tolist()
    send, compute = instance.transmission_seconds, instance.computation_seconds
    weight = instance.request_weight / instance.latency_scale
    best = np.inf
    ends = [range(int(a) + 1, slots + 1) for a in instance.arrival]
    for where in itertools.product(range(instance.sites), repeat=len(asked)):
        root = np.zeros((2, slots, instance.sites))
        for (t, i), j in zip(asked, where, strict=True):
            root[:, t, j] += np.sqrt([send[t, i, j], compute[t, i, j]])
        scale = np.zeros(slots)
        scale[: instance.slots] = weight
        fixed = float(scale @ (root[0] ** 2).sum(axis=1))
        for home in itertools.product(range(instance.sites), repeat=instance.jobs):
            for end in itertools.product(*ends):
                cost = fixed + float(instance.weight @ end) / instance.completion_scale
                # Even with all CPU for requests there is no gain left.
                if cost + float(scale @ (root[1] ** 2).sum(axis=1)) >= best:
                    continue
                best = min(best, cost + least_computing(instance, scale, root[1], home, end))
    return best


def least_computing(instance, scale, root, home, end):
    share = cp.Variable((instance.jobs, scale.size), nonneg=True)
    total, rows = 0.0, []
    for j in range(instance.sites):
        here = [k for k in range(instance.jobs) if home[k] == j]
        for t in range(scale.size):
            left = 1.0 - sum(share[k, t] for k in here) if here else cp.Constant(1.0)
            rows.append(left >= 0)
            if root[t, j] > 0:
                total += scale[t] * cp.quad_over_lin(root[t, j], left)
    for k, j in enumerate(home):
        inside = slice(int(instance.arrival[k]), end[k])
        rows.append(instance.speed[j] * cp.sum(share[k, inside]) >= instance.work[k])
    problem = cp.Problem(cp.Minimize(total), rows)
    problem.solve(solver="CLARABEL")
    if problem.status != "optimal":
        return np.inf
    prove_by_slopes(instance, scale, root, home, end, share.value)
    return problem.value


def prove_by_slopes(instance, scale, root, home, end, share):
    """A convex function lies above its tangent, whose least value is that of a linear program."""
    J, (K, T) = instance.sites, share.shape
    at = np.array(home)[:, None] == np.arange(J)
    left = 1.0 - share.T @ at
    part = scale[:, None] * root**2
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(root > 0, part / left, 0.0).sum()
        steep = np.where(root > 0, part / left**2, 0.0)
    slope = steep[:, home].T
    use = np.zeros((T * J, K * T))
    work = np.zeros((K, K * T))
    for k, t in np.ndindex(K, T):
        use[t * J + home[k], k * T + t] = 1.0
        if instance.arrival[k] <= t < end[k]:
            work[k, k * T + t] = instance.speed[home[k]]
    best = linprog(
        slope.ravel(), np.vstack([use, -work]),
        np.concatenate([np.ones(T * J), -np.asarray(instance.work)]),
    )  # fmt: skip
    assert best.fun - slope.ravel() @ share.ravel() >= -1e-6 * value


@pytest.mark.parametrize(("seed", "jobs"), every(2, [(1, 1), (0, 1), (2, 2)], rows=True))
def test_the_optimum_is_that_of_brute_force(seed, jobs):
    instance = drawn(seed, jobs=jobs, empty=0.2 if jobs == 1 else 0.5)
    best = solve(joint(instance, objectives=False, slots=3), "scip", gap=1e-6)
    assert best.objective == pytest.approx(brute_force(instance, 3), rel=1e-5)


@pytest.mark.parametrize("seed", every(2, range(2)))
def test_relaxing_gives_a_lower_bound(seed):
    instance = drawn(seed)
    whole, parts = (
        solve(joint(instance, slots=3, relax=relax), "scip", gap=1e-6, raises=False)
        for relax in (False, True)
    )
    assert parts.objective <= whole.objective * (1.0 + 1e-6)


@pytest.mark.parametrize(
    ("seed", "given", "relax", "objectives"),
    [
        (0, {}, True, True),
        (1, {"jobs": 2}, True, False),
        (2, {"jobs": 0}, True, True),
        (3, {"empty": 1.0}, True, True),
        (4, {}, False, False),
    ],
)
def test_pyomo_and_cvxpy_have_one_optimum(seed, given, relax, objectives):
    instance = drawn(seed, **given)
    options = {"relax": relax, "objectives": objectives, "slots": 4}
    pyomo = solve(joint(instance, **options), gap=1e-7, tolerance=1e-9)
    cones = solve(joint_misocp(instance, **options))
    assert cones.quality is Quality.OPTIMAL
    assert cones.bound_by == ("proof" if relax else "solver")
    # SCIP may break y^2 <= p v by its tolerance: y is then off by the root of it.
    assert cones.objective == pytest.approx(pyomo.objective, rel=2e-4)
    assert pyomo.objective <= cones.objective * (1.0 + 1e-6)
    if not relax:
        assert weighted_sum_bound(instance).value <= cones.objective * (1.0 + 1e-6)


def test_relaxed_requests_alone_are_relaxed_slots_alone():
    instance = drawn(3, jobs=0, empty=0.0)
    each = [
        solve(slot_misocp(slot_problem(instance, t), relax=True)).objective
        for t in range(instance.slots)
    ]
    found = solve(joint_misocp(instance, relax=True))
    assert found.objective == pytest.approx(
        instance.request_weight @ each / instance.latency_scale, rel=1e-5
    )


def test_both_forms_name_the_same_constraints():
    instance = drawn(0)
    rows = {one.local_name for one in joint(instance).component_objects(pyo.Constraint)}
    assert {one.label for one in joint_misocp(instance).constraints} == rows


def test_an_objective_may_leave_no_room_for_a_job():
    # With u of the CPU for the job the request takes 0.1 + 0.2 / (1 - u) s, 0.5 s for u = 1/2.
    common = {
        "speed": [1.0],
        "rate": [[1.0]],
        "active": [[True]],
        "request_size": [[0.1]],
        "request_work": [[0.2]],
        "slo": [[0.5]],
        "arrival": [0],
        "deadline": [9.0],
        "latency_scale": 1.0,
        "completion_scale": 1.0,
    }
    for work, slots, status in (
        (0.5, 1, Status.CONVERGENCE_CRITERIA_SATISFIED),
        (0.51, 1, Status.CLAIMED_INFEASIBLE),
        (0.51, 2, Status.CONVERGENCE_CRITERIA_SATISFIED),
    ):
        model = joint(OincInstance(work=[work], **common), slots=slots)
        assert solve(model, "scip", raises=False).status is status
    # Without the objective the job has up to all of the CPU in the only slot.
    model = joint(OincInstance(work=[0.75], **common), slots=1, objectives=False)
    assert solve(model, "scip", gap=1e-8).objective == pytest.approx(0.1 + 0.2 / 0.25 + 1.0)


def test_a_job_stays_at_its_site():
    # Each request is in time at one site alone and needs 4/5 of its CPU there: site 1 in slot 0,
    # site 0 in slot 1. A job that moved would have 2 Gcycle in two slots; one that stays has 1.2.
    instance = OincInstance(
        speed=[1.0, 1.0],
        rate=[[0.1, 10.0], [10.0, 0.1]],
        active=[[True, False], [False, True], [False, False]],
        request_size=np.ones((3, 2)),
        request_work=np.full((3, 2), 0.4),
        slo=np.full((3, 2), 0.6),
        arrival=[0],
        work=[1.5],
        deadline=[9.0],
        completion_scale=1.0,
    )
    model = joint(instance, slots=3)
    found = solve(model, "scip", gap=1e-6)
    assert found.values["b[0]"] == pytest.approx(3.0)
    assert sorted(round(found.values[f"x[0,{j}]"]) for j in range(2)) == [0, 1]


def test_requests_alone_are_slots_alone():
    instance = drawn(3, jobs=0, empty=0.0)
    found = solve(joint(instance, objectives=False), "scip", gap=1e-6)
    assert found.quality is Quality.OPTIMAL
    each = []
    for t in range(instance.slots):
        costs = []
        for site in itertools.product(range(2), repeat=2):
            at = np.arange(2), np.array(site)
            roots = [
                np.bincount(site, np.sqrt(seconds[t][at]), minlength=2)
                for seconds in (instance.transmission_seconds, instance.computation_seconds)
            ]
            costs.append((np.square(roots)).sum())
        each.append(min(costs))
    expected = instance.request_weight @ each / instance.latency_scale
    assert found.objective == pytest.approx(expected, rel=1e-5)


@given(oinc_instances(slots=3, devices=2, sites=2, jobs=2))
@settings(max_examples=draws(60))
def test_a_plain_schedule_is_a_point_of_the_model(instance):
    # Requests share their site alike; jobs follow one another after the last slot, at site 0.
    model = joint(instance, objectives=False)
    for var in model.component_data_objects(pyo.Var):
        var.set_value(0.0)
    for t in range(instance.slots):
        devices = np.flatnonzero(instance.active[t]).tolist()
        for i in devices:
            pair = t, i, i % instance.sites
            peers = sum(1 for o in devices if o % instance.sites == pair[2])
            model.y[pair] = 1.0
            model.v[pair] = model.z[pair] = 1.0 / peers
            for per_share in (model.p, model.q):
                if pair in per_share:
                    per_share[pair] = float(peers)
    now = instance.slots
    for k in range(instance.jobs):
        model.x[k, 0] = 1.0
        left = float(instance.work[k] / instance.speed[0])
        while left > 0:
            model.run[k, 0, now] = 1.0
            model.u[k, 0, now] = min(left, 1.0)
            left, now = left - 1.0, now + 1
        model.b[k] = now
    assert now <= enough_slots(instance)
    for row in model.component_data_objects(pyo.Constraint):
        assert row.slack() >= -1e-9, row.name
    latency = 0.0
    for t, i in np.argwhere(instance.active):
        j = i % instance.sites
        peers = sum(1 for o in np.flatnonzero(instance.active[t]) if o % instance.sites == j)
        alone = instance.transmission_seconds[t, i, j] + instance.computation_seconds[t, i, j]
        latency += instance.request_weight[t] * peers * alone / instance.latency_scale
    ends = sum(instance.weight[k] * model.b[k].value for k in range(instance.jobs))
    expected = latency + ends / instance.completion_scale
    assert pyo.value(model.weighted_sum) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_too_few_slots_are_refused():
    for build in (joint, joint_misocp):
        with pytest.raises(OptionError, match="slots = 1"):
            build(drawn(0), slots=1)
