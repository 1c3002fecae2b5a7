"""Plans of users' programs: what is read, what is refused, and the policies that follow them."""

from __future__ import annotations

import itertools
import math
import pickle
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest

from edgeopt.errors import InputError, OptionError, PolicyError, SolverError
from edgeopt.instances import edr, idn, oinc, rescue
from edgeopt.models.edr import OfflinePlan, colocation, solve_offline
from edgeopt.models.idn import (
    Demand,
    PlacementSolution,
    average_gain,
    cooperative_placement,
    placement,
    solve_cooperative,
)
from edgeopt.models.oinc import SlotProgram, slot_misocp
from edgeopt.models.oinc.slot import slot_problem
from edgeopt.models.oinc.slot.resource_shares import allocate
from edgeopt.models.oinc.slot_program import _rounded
from edgeopt.models.rescue import P1Solution, p1_lp, solve_p1_lp
from edgeopt.online import simulate
from edgeopt.online.edr import EdrEnvironment
from edgeopt.online.idn import IdnEnvironment
from edgeopt.online.oinc import OincEnvironment
from edgeopt.online.rescue import occupation, policy_value
from edgeopt.solvers import solve

RESCUE = rescue.generate(servers=2, devices=3, profiles=2, horizon=8, reserved=2, rng=0)


def per_device(model, low=None, high=None):
    """Limit the runs that are expected of every device."""
    model.fair = pyo.Constraint(
        model.devices,
        rule=lambda m, j: (low, pyo.quicksum(m.y[k] for k in m.y if k[1] == j), high),
    )
    return model


def test_p1_as_it_is_is_what_its_own_solver_finds():
    plan, own = P1Solution.of(p1_lp(RESCUE), RESCUE), solve_p1_lp(RESCUE)
    assert plan.program == own.program == "as it is"
    assert plan.added == plan.changed == plan.checks == own.checks == ()
    assert plan.bound == pytest.approx(own.bound, rel=1e-6)
    assert plan.objective == pytest.approx(float((RESCUE.expected_profit * plan.y).sum()))
    # The duals by tag prove the bound.
    duals = plan.duals
    proven = (duals.arrival * RESCUE.arrival).sum() + duals.occupancy.sum()
    proven += duals.reserved @ RESCUE.promised.demand
    assert proven == pytest.approx(plan.bound, rel=1e-6)
    assert policy_value(RESCUE, plan.policy()) == pytest.approx(
        policy_value(RESCUE, own.policy()), rel=0.2
    )


def test_p1_extended():
    plan = P1Solution.of(per_device(p1_lp(RESCUE), high=0.3), RESCUE, solver="scipy")
    other = solve(per_device(p1_lp(RESCUE), high=0.3), "clarabel")
    assert plan.bound == pytest.approx(other.objective, rel=1e-6)
    assert plan.solution.solver == "scipy"
    assert plan.added == ("fair",)
    # What a little more of the limits would earn.
    more = P1Solution.of(per_device(p1_lp(RESCUE), high=0.301), RESCUE).bound
    slope = sum(plan.duals_of("fair").values())
    assert (more - plan.bound) / 0.001 == pytest.approx(slope, rel=1e-3)
    assert plan.duals_of("fair[1]") == {"fair[1]": plan.duals_of("fair")["fair[1]"]}
    # Begun is at most what is planned, in expectation.
    begun = occupation(RESCUE, plan.policy(guarded=True))
    assert (begun <= plan.y + 1e-9).all()
    assert (begun.sum(axis=(0, 2, 3)) <= 0.3 + 1e-9).all()
    again = pickle.loads(pickle.dumps(plan))
    assert again.duals_of("fair") == plan.duals_of("fair")
    assert (again.program, again.bound, again.gap) == ("extended", plan.bound, plan.gap)
    certificate = plan.certificate()
    assert certificate.bound == pytest.approx(plan.bound, rel=1e-9)
    assert plan.bound < 0.9 * solve_p1_lp(RESCUE).bound
    assert again.certificate().bound == certificate.bound


def test_another_program_bounds_nobody():
    model = per_device(p1_lp(RESCUE), high=0.3)
    plan = P1Solution.of(model, RESCUE)
    model.del_component("eq_3b")
    other = P1Solution.of(model, RESCUE)
    assert other.program == "other"
    assert math.isnan(other.bound)
    assert other.scope == "nobody: eq_3b is missing or deactivated"
    assert plan.scope.endswith("keep fair")
    with pytest.raises(OptionError, match="changed since it was solved"):
        P1Solution.of(plan.solution, RESCUE)
    solution = solve(model)
    assert P1Solution.of(solution, RESCUE).objective == other.objective
    with pytest.raises(OptionError, match="gap: the program is solved already"):
        P1Solution.of(solution, RESCUE, gap=0.1)
    with pytest.raises(OptionError, match="no such constraint; there are eq_3a"):
        other.duals_of("fare")


def test_programs_of_other_instances_and_of_other_kinds_are_refused():
    fewer = rescue.generate(servers=2, devices=2, profiles=2, horizon=8, reserved=2, rng=0)
    same_shape = rescue.generate(servers=2, devices=3, profiles=2, horizon=8, reserved=2, rng=1)
    with pytest.raises(InputError, match="the instance has not"):
        P1Solution.of(p1_lp(RESCUE), fewer)
    assert P1Solution.of(p1_lp(RESCUE), same_shape).program == "other"
    with pytest.raises(OptionError, match="must be a Pyomo model"):
        P1Solution.of(slot_misocp(slot_problem(oinc.small(1), 0)), RESCUE)
    with pytest.raises(InputError, match="has no such variable"):
        P1Solution.of(pyo.ConcreteModel("empty"), RESCUE)
    with pytest.raises(SolverError):
        P1Solution.of(per_device(p1_lp(RESCUE), low=100.0), RESCUE)
    with pytest.raises(SolverError, match="no usable point"):
        P1Solution.of(per_device(p1_lp(RESCUE), low=100.0), RESCUE, raises=False)


def test_fixed_variables_and_own_ones():
    model = p1_lp(RESCUE)
    for key, one in model.y.items():
        if key[2] == 0:
            one.fix(0.0)
    model.y[0, 0, 1, 1].fix(0.01)
    model.own = pyo.Var(bounds=(0, 0.1))
    model.uses = pyo.Constraint(expr=pyo.quicksum(model.y[k] for k in model.y) <= 5 * model.own)
    plan = P1Solution.of(model, RESCUE)
    assert plan.added == ("uses", "narrower variables")
    assert not plan.y[:, :, 0].any()
    assert plan.y[0, 0, 1, 1] == 0.01
    assert plan.y.sum() == pytest.approx(0.5)
    assert plan.extension.own == {"own"}


def test_floors_that_the_policy_keeps():
    floor = 0.5 * float(RESCUE.arrival.sum(axis=0).min())
    model = per_device(p1_lp(RESCUE), low=floor)
    asked = P1Solution.of(model, RESCUE)
    short = floor - occupation(RESCUE, asked.policy()).sum(axis=(0, 2, 3)).min()
    kept = P1Solution.keeping(model, RESCUE, model.fair)
    assert short > 0.01
    assert (occupation(RESCUE, kept.policy()).sum(axis=(0, 2, 3)) >= floor - 1e-6).all()
    assert kept.bound == asked.bound
    assert kept.objective < kept.bound
    assert kept.gap > 0.0
    assert P1Solution.of(model, RESCUE).bound == asked.bound, "the model is as it was"
    with pytest.raises(SolverError, match=r"within 1 rounds\); fair\[\d\]: 0\.\d+ of 0\.\d+ are"):
        P1Solution.keeping(model, RESCUE, model.fair, rounds=1)
    with pytest.raises(OptionError, match="eq_2d: must be floors on y alone"):
        P1Solution.keeping(model, RESCUE, model.eq_2d)


def test_placement_with_licences():
    instance = idn.generate(topology=2, tasks=3, replicas=1, horizon=2, rate=50.0, rng=0)
    demand = Demand.of(instance, normalised=True)
    model = cooperative_placement(instance, demand)
    model.licences = pyo.Constraint(expr=pyo.quicksum(model.x.values()) <= 3)
    plan = PlacementSolution.of(model, instance, demand, gap=1e-6)
    other = PlacementSolution.of(model, instance, demand, solver="scip", gap=1e-6)
    assert plan.objective == pytest.approx(other.objective, rel=1e-6)
    assert plan.gap <= 1e-6
    assert plan.added == ("licences",)
    assert plan.allocation[~instance.pinned].sum() <= 3
    policy = plan.policy()
    assert policy.hindsight
    served = simulate(IdnEnvironment(instance), policy, runs=1)
    assert served.total[0] / instance.horizon <= plan.bound * (1 + 1e-9)
    assert served.total[0] / instance.horizon == pytest.approx(plan.objective, rel=0.05)
    with pytest.raises(OptionError, match="no duals by name"):
        plan.duals_of("licences")
    assert pickle.loads(pickle.dumps(plan)).program == "extended"
    model.eq_2.deactivate()
    assert PlacementSolution.of(model, instance, demand).changed == (
        "eq_2 is missing or deactivated",
    )


def test_placements_as_they_are():
    instance = idn.generate(topology=2, tasks=3, replicas=1, horizon=2, rate=50.0, rng=0)
    demand = Demand.of(instance, normalised=True)
    parts = PlacementSolution.of(
        cooperative_placement(instance, demand, relax=True), instance, demand
    )
    assert parts.program == "as it is"
    assert parts.bound == pytest.approx(solve_cooperative(instance, demand).bound, rel=1e-6)
    assert parts.duals_of("eq_2")
    with pytest.raises(OptionError, match="relax=False"):
        replace(parts, allocation=parts.allocation * 0.5).policy()
    alone = PlacementSolution.of(placement(instance, demand), instance, demand)
    assert alone.program == "as it is"
    assert alone.objective == pytest.approx(average_gain(instance, demand, alone.allocation))


EDR = edr.generate(sites=3, tasks=2, frames=4, slots=2, types=2, clients=3, rng=1)


def test_colocation_with_little_egress():
    model = colocation(EDR)
    away = [model.y[key] for key in model.y if key[2] != key[3]]
    asked = float(EDR.requests.sum())
    model.egress = pyo.Constraint(expr=pyo.quicksum(away) <= 0.1 * asked)
    plan = OfflinePlan.of(model, EDR, gap=1e-9)
    other = OfflinePlan.of(model, EDR, solver="scip", gap=1e-9)
    assert plan.objective == pytest.approx(other.objective, rel=1e-7)
    assert plan.objective == pytest.approx(plan.solution.objective, rel=1e-9)
    assert plan.program == "extended"
    assert plan.objective > OfflinePlan.of(colocation(EDR), EDR).objective * 1.001
    policy = pickle.loads(pickle.dumps(plan)).policy(name="Mine")
    assert policy.hindsight
    found = simulate(EdrEnvironment(EDR), policy, runs=1)
    assert found.total[0] == pytest.approx(plan.objective, rel=1e-9)
    _frame, _slot, origin, site, _kind = plan.route.T
    assert plan.amount[origin != site].sum() <= 0.1 * asked * (1 + 1e-9)


def test_colocation_as_it_is():
    plan = OfflinePlan.of(colocation(EDR, relax=True), EDR)
    own = solve_offline(EDR, cap=EDR.cap)
    assert plan.program == "as it is"
    assert plan.bound == pytest.approx(own.bound, rel=1e-5)
    for name in ("energy", "training_cost", "request_cost", "type_cost", "unserved", "accurate"):
        total = float(getattr(own, name).sum())
        assert float(getattr(plan, name).sum()) == pytest.approx(total, rel=1e-4, abs=1e-6)
    assert plan.duals_of("eq_1d")
    with pytest.raises(OptionError, match="says nothing of who serves"):
        own.policy()
    with pytest.raises(OptionError, match="parts of rounds"):
        replace(plan, rounds=plan.rounds + 0.5).policy()
    other = OfflinePlan.of(colocation(EDR, relax=True), EDR, cap=np.full(EDR.frames, 1e6))
    assert other.changed == ("eq_1b is missing or deactivated",)


OINC = oinc.generate(slots=2, jobs=1, devices=4, sites=3, rng=2)


def few(v):
    """Let the first site answer a quarter of the requests, and no other half of its band to one."""
    return [cp.sum(v["y"][:, 0]) <= max(1, v["y"].shape[0] // 4)]


def shares(v):
    return [(v["band"] <= 0.4).set_label("band")]


def test_slots_with_constraints_against_all_assignments():
    plan = SlotProgram.of(OINC, few)
    assert plan.added == ("few",)
    assert plan.bound > sum(plan.base.scaled_parts)
    for slot in range(OINC.slots):
        problem = slot_problem(OINC, slot)
        sites = range(problem.sites)
        every = [
            whole
            for whole in itertools.product(sites, repeat=problem.requests)
            if whole.count(0) <= max(1, problem.requests // 4)
        ]
        best = min(sum(cost(problem, np.array(whole), j) for j in sites) for whole in every)
        assert plan.latency[slot] <= best * (1 + 1e-9)
        assert plan.latency[slot] > 0.5 * best
        assert len(plan.duals_of(f"few[{slot}]")) == 1
    found = simulate(OincEnvironment(OINC), plan.policy(), runs=1)
    assert (found.site >= 0).sum() == OINC.active.sum()
    for slot in range(OINC.slots):
        answered = found.site[0, OINC.active[:slot].sum() :][: OINC.active[slot].sum()]
        assert (answered == 0).sum() <= max(1, answered.size // 4)
    [rows] = plan.extension.added
    assert [row.name for row in rows.rows] == ["few[0]", "few[1]"]
    assert set(rows.rows[1].coefficient) == {f"y[1,{i},0]" for i in np.flatnonzero(OINC.active[1])}
    again = pickle.loads(pickle.dumps(plan))
    assert again.bound == plan.bound
    assert again.policy().name == "OINC with few"


def cost(problem, site, j):
    here = np.flatnonzero(site == j)
    if not here.size:
        return 0.0
    A, E = problem.transmission[here, j], problem.computation[here, j]
    best = allocate(A, E, room=float(problem.room[j]))
    return float((A / best.band + E / best.cpu).sum())


def test_requests_that_lose_least_move_while_a_constraint_is_broken():
    share = np.array([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3]])
    site = _rounded(share, lambda whole: max(0.0, whole[:, 0].sum() - 2.0))
    assert site.tolist() == [0, 1, 0]
    assert _rounded(share, lambda whole: 1.0).tolist() == [0, 0, 0], "what cannot be kept"


def test_slots_with_other_constraints():
    plain = SlotProgram.of(OINC, lambda v: [])
    assert plain.program == "as it is"
    assert plain.bound == pytest.approx(sum(plain.base.scaled_parts))
    plan = SlotProgram.of(OINC, shares)
    found = simulate(OincEnvironment(OINC), plan.policy(), runs=1)
    assert found.complete.all()
    assert plan.added == ("band",)
    assert "v[0,0,0]" in plan.extension.added[0].variables
    curved = SlotProgram.of(OINC, lambda v: [cp.norm(v["y"][:, 0]) <= 1.0])
    assert curved.extension.added[0].nonlinear == ("added[0]", "added[1]")
    with pytest.raises(OptionError, match="left behind"):
        pickle.loads(pickle.dumps(curved)).policy().inference.answer(None, slot_problem(OINC, 0))
    with pytest.raises(OptionError, match="returned a float"):
        SlotProgram.of(OINC, lambda v: [1.0])
    with pytest.raises(PolicyError, match="extend raised KeyError: 'z'"):
        SlotProgram.of(OINC, lambda v: [v["z"] <= 1])
    with pytest.raises(SolverError):
        SlotProgram.of(OINC, lambda v: [cp.sum(v["y"]) <= 0])
