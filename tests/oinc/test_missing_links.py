"""Links of rate 0: no request goes there, bounds know it, notes, and the limit of slow links."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import edgeopt
from edgeopt.errors import InputError, InstanceError, OptionError
from edgeopt.instances.oinc import OincInstance
from edgeopt.learning.oinc import InsertionActor
from edgeopt.models.oinc import joint, joint_misocp, least_latency, slot_misocp, weighted_sum_bound
from edgeopt.models.oinc.slot import (
    SlotProblem,
    assign,
    assignment_cost,
    evaluate,
    most_met,
    slot_problem,
    solve_slot,
)
from edgeopt.models.oinc.slot.columns import slot_bound, solve_by_columns
from edgeopt.online import simulate
from edgeopt.online.oinc import Ekya, NearOptimalInference, Oinc, OincEnvironment
from edgeopt.online.oinc.inference import GreedyConvex
from edgeopt.online.oinc.reservation import StaticShares
from edgeopt.solvers import solve
from edgeopt.testing.strategies import oinc_instances
from tests.draws import draws
from tests.oinc.cases import POLICIES, draw_instance, step_through
from tests.oinc.scenarios import decision, two_sites
from tests.oinc.strategies import slot_problems
from tests.oracles.oinc.slots import cost_of_set

RULES = [
    *POLICIES,
    Oinc(inference=GreedyConvex(rule="first-fit", fit="equal"), reservation=StaticShares(0.25)),
    Oinc(inference=InsertionActor()),
    Oinc(inference=InsertionActor(samples=3)),
]


def without_links(instance: OincInstance, seed: int, share: float = 0.4) -> OincInstance:
    """Take links away, those of some devices in some slots altogether."""
    draw = np.random.default_rng(seed)
    gone = draw.random(instance.rate.shape) < share
    gone |= draw.random((*gone.shape[:2], 1)) < share / 2
    rate = np.where(gone, 0.0, instance.rate)
    assume(not instance.active.any() or (rate[instance.active] > 0).any())
    return instance.replace(rate=rate)


def cut(problem: SlotProblem, seed: int) -> SlotProblem:
    """Take some pairs of a slot away."""
    gone = np.random.default_rng(seed).random(problem.transmission.shape) < 0.35
    return dataclasses.replace(problem, transmission=np.where(gone, np.inf, problem.transmission))


def plans(problem: SlotProblem, *, objectives: bool) -> list[tuple[tuple[int, ...], float]]:
    """Return all ways to send each request over a link or to refuse it, and what they cost."""
    sites = [[-1, *np.flatnonzero(np.isfinite(row))] for row in problem.transmission]
    found = []
    for where in itertools.product(*sites):
        members = [[i for i, j in enumerate(where) if j == site] for site in range(problem.sites)]
        cost = sum(
            cost_of_set(problem, j, some, objectives=objectives)
            for j, some in enumerate(members)
            if some
        )
        found.append((where, cost))
    return found


@settings(max_examples=draws(60), deadline=None)
@given(slot_problems(weighted=None), st.integers(0, 2**32 - 1), st.sampled_from([100.0, 3.0, 0.3]))
def test_bounds_of_a_slot_hold_for_all_plans(problem, seed, refusal):
    problem = cut(problem, seed)
    free = plans(problem, objectives=False)
    least = min(cost + refusal * problem.weight[np.array(at) < 0].sum() for at, cost in free)
    assert least_latency(problem, refusal) <= least * (1 + 1e-9) + 1e-12
    for objectives in (False, True):
        costs = free if not objectives else plans(problem, objectives=True)
        best = min((cost for at, cost in costs if -1 not in at), default=np.inf)
        found = slot_bound(problem, objectives=objectives)
        assert found.value <= best * (1 + 1e-9) + 1e-12
        proven = solve_by_columns(problem, objectives=objectives)
        assert proven.objective == pytest.approx(best, rel=1e-6, abs=1e-9)
        assert proven.bound <= best * (1 + 1e-9) + 1e-12
        if not problem.linked.all():
            assert found.value == np.inf
            assert proven.plan is None


@settings(max_examples=draws(60), deadline=None)
@given(slot_problems(objectives=None, weighted=None), st.integers(0, 2**32 - 1))
def test_plans_of_a_slot_use_links_alone(problem, seed):
    problem = cut(problem, seed)
    for objectives, unfit in itertools.product((False, True), ("late", "refuse")):
        plan = solve_slot(problem, objectives=objectives, unfit=unfit)
        here = plan.site >= 0
        assert np.isfinite(problem.transmission[here, plan.site[here]]).all()
        assert np.isfinite(plan.objective)
        assert not here[~problem.linked].any()
        assert unfit == "refuse" or here[problem.linked].all()
    # Of so few requests the fewest are refused.
    kept = [at for at, cost in plans(problem, objectives=True) if np.isfinite(cost)]
    most = max(sum(j >= 0 for j in at) for at in kept)
    assert (solve_slot(problem, unfit="refuse").site >= 0).sum() == most
    assert most_met(problem, exact=True).bound == most
    assert most_met(problem).bound >= most
    site = assign(problem, urgency=1.0)
    assert np.array_equal(site >= 0, problem.linked)
    assert np.isfinite(assignment_cost(problem, site))
    assert assignment_cost(problem, assign(problem, start=site)) <= assignment_cost(problem, site)


@settings(max_examples=draws(20), deadline=None)
@given(st.integers(0, 10**6))
@pytest.mark.parametrize("policy", RULES, ids=lambda policy: policy.name)
def test_no_policy_sends_a_request_without_a_link(policy, seed):
    instance = without_links(draw_instance(seed), seed)
    ran = step_through(instance, policy, seed=seed % 1000).run
    t, i = ran.slot, ran.device
    here = ran.site[0] >= 0
    assert (instance.rate[t[here], i[here], ran.site[0, here]] > 0).all()
    assert np.isfinite(ran.latency[0, here]).all()
    assert not here[~(instance.rate[t, i] > 0).any(axis=1)].any()
    if ran.complete.all():
        bound = weighted_sum_bound(instance).value
        assert bound <= ran.reward.sum() * (1 + 1e-9) + 1e-9


def near(rate: float, gone: list[tuple[int, int, int]]) -> OincInstance:
    """Return three slots, three devices and two sites, some links of which are slow."""
    rates = np.full((3, 3, 2), 8.0)
    for link in gone:
        rates[link] = rate
    ones = np.ones((3, 3))
    return OincInstance(
        speed=[4.0, 2.0], rate=rates, active=ones > 0, request_size=[[1.0, 0.5, 2.0]] * 3,
        request_work=0.25 * ones, slo=0.75 * ones, arrival=[0, 1], work=[2.0, 3.0],
        deadline=[4.0, 6.0], refusal_latency=2.0,
    )  # fmt: skip


SOME = [(0, 0, 0), (0, 1, 1), (1, 2, 0)]
CUT_OFF = [*SOME, (2, 1, 0), (2, 1, 1)]


@pytest.mark.parametrize("gone", [SOME, CUT_OFF], ids=["some", "cut off"])
def test_the_limit_of_slow_links_is_no_link(gone):
    exact = near(0.0, gone)
    bound = weighted_sum_bound(exact).value
    # Who is never answered in time is refused, in the limit as without a link.
    policy = Oinc(inference=NearOptimalInference(unfit="refuse" if gone is CUT_OFF else "late"))
    value = simulate(OincEnvironment(exact), policy, runs=1).reward.sum()
    assert bound <= value
    for rate in 10.0 ** -np.arange(3, 13, 3):
        slow = near(rate, gone)
        found = weighted_sum_bound(slow).value
        assert found <= bound * (1 + 1e-6)
        # Where one request is very dear, the gap to which others are bounded is wide.
        assert gone is CUT_OFF or found == pytest.approx(bound, rel=1e-6)
        ran = simulate(OincEnvironment(slow), policy, runs=1)
        assert ran.reward.sum() == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("gone", [SOME, CUT_OFF], ids=["some", "cut off"])
def test_declared_programs_leave_missing_links_out(gone):
    instance = near(0.0, gone)
    relaxed = solve(joint_misocp(instance, relax=True, objectives=False)).objective
    for policy in (Oinc(), Ekya()):  # neither refuses a request that reaches a site
        ran = simulate(OincEnvironment(instance), policy, runs=1)
        assert relaxed <= ran.reward.sum() * (1 + 1e-6)
    assert set(joint(instance).y) == set(map(tuple, np.argwhere(instance.rate > 0).tolist()))
    rate = instance.rate[[0, 2], :2]
    small = two_sites(rate=rate, arrival=[], work=[], deadline=[], weight=[])
    options = {"relax": True, "objectives": False, "slots": 2}
    declared = solve(joint(small, **options), "scip", gap=1e-4).objective
    assert solve(joint_misocp(small, **options)).objective == pytest.approx(declared, rel=3e-4)
    problem = slot_problem(instance, 2)
    program = slot_misocp(problem, relax=True)
    found = solve(program, "clarabel")
    assert found.objective <= solve_slot(problem, objectives=False).objective * (1 + 1e-6)
    assert np.abs(found.values["y"][~np.isfinite(problem.transmission)]).max(initial=0) < 1e-6


def test_ekya_sends_nothing_over_a_missing_link():
    rate = np.full((2, 2, 2), 8.0)
    rate[:, :, 0] = 0.0
    ran = simulate(OincEnvironment(two_sites(rate=rate)), Ekya(), runs=1)
    assert ran.site.tolist() == [[1, 1, 1]]


def test_notes_and_refusals(tmp_path):
    rate = np.full((2, 2, 2), 8.0)
    rate[1, 1] = rate[0, 0, 1] = rate[0, 1, 0] = 0.0  # the last has no request there
    instance = two_sites(rate=rate)
    assert instance.notes == (
        "rate[0, 0, 1] = 0 means no link: device 0 cannot reach site 1 in slot 0",
        "rate[1, 1, 0] = 0 means no link: device 1 cannot reach site 0 in slot 1",
        "rate[1, 1, 1] = 0 means no link: device 1 cannot reach site 1 in slot 1",
        "rate[1, 1] = 0: no site can be reached: the request of device 1 in slot 1 is refused",
    )
    named = instance.with_labels({"device": ["phone", "camera"]})
    assert "camera cannot reach site 0" in named.notes[1]
    for policy in RULES[::4]:
        ran = simulate(OincEnvironment(instance), policy, runs=1)
        assert ran.refused[0, 2]
        assert ran.counted_latency[0, 2] == instance.refusal_latency
    instance.save(tmp_path / "links.nc")
    again = OincInstance.load(tmp_path / "links.nc")
    assert again.fingerprint() == instance.fingerprint()
    with pytest.raises(InstanceError, match=r"rate\[0, 0, 0\] = 0\.0: no link is left"):
        two_sites(rate=np.zeros((2, 2)))


def test_requests_without_a_link_are_refused_by_name():
    rate = np.full((2, 2, 2), 8.0)
    rate[0, 0, 1] = 0.0
    environment = OincEnvironment(two_sites(rate=rate))
    episode = environment.episode(0)
    slot = episode.observe()
    with pytest.raises(OptionError, match="request 0 goes to site 1: there is no link"):
        episode.act(decision(slot, [1], band=[1.0], cpu=[0.5]))
    problem = slot_problem(environment.truth, 0)
    for wrong in (evaluate, lambda problem, site: assign(problem, start=site)):
        with pytest.raises(InputError, match=r"site\[0\] = 1: cannot be reached: no link"):
            wrong(problem, np.array([1]))


@settings(max_examples=draws(20), deadline=None)
@given(oinc_instances(empty=False), st.integers(0, 2**32 - 1))
def test_negative_zero_and_plain_zero_are_no_link(instance, seed):
    assume(instance.active.any())
    instance = without_links(instance, seed)
    other = instance.replace(rate=np.where(instance.rate == 0, -0.0, instance.rate))
    assert weighted_sum_bound(other).value == weighted_sum_bound(instance).value


def test_a_page_of_an_instance_without_some_links_is_written(tmp_path):
    found = edgeopt.study(near(0.0, CUT_OFF), ["oinc", "ekya", "kalmia"])
    assert found.page(tmp_path / "page").is_file()
