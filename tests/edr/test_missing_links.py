"""Links of rate 0: no route, no round, notes of it, and the limit of ever slower links."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.edr import EdrHistory, EdrInstance
from edgeopt.learning.edr.rounds import TaskEpisode, features_of
from edgeopt.models.edr import colocation, solve_offline
from edgeopt.models.edr.matrix import colocation_columns, colocation_matrix
from edgeopt.models.edr.routing import conditions, routing_problem
from edgeopt.online import simulate
from edgeopt.online.edr import EdrEnvironment, EvenRate, Flows
from edgeopt.solvers import solve
from edgeopt.testing.strategies import edr_instances
from tests.draws import draws
from tests.edr.cases import CAPPED, POLICIES, cases, step_through
from tests.edr.scenarios import at_slot, two_sites
from tests.edr.test_scenario import replayed
from tests.models.edr.test_programs import AXES, without_spreading
from tests.models.matrix_forms import assert_same_program

CLOSE = {"rel": 1e-6, "abs": 1e-6}
WAYS = {"one way": [(0, 1)], "the other way": [(1, 0)], "both ways": [(0, 1), (1, 0)]}


def without_links(instance: EdrInstance, seed: int, share: float = 0.3) -> EdrInstance:
    """Take links away, but leave every task the first frame of its window."""
    rate = instance.rate.copy()
    rate[np.random.default_rng(seed).random(rate.shape) < share] = 0.0
    rate[instance.arrival] = instance.rate[instance.arrival]
    return instance.replace(rate=rate)


def slow(rate: float, links: list[tuple[int, int]]) -> EdrInstance:
    """Return `two_sites` with other links in frame 0, models and requests to send, and room."""
    rates = np.ones((3, 2, 2))
    for link in links:
        rates[0, *link] = rate
    return two_sites(
        rate=rates, cap=np.full(3, np.inf), model_size=[1.0, 1.0], request_size=[0.5, 0.5],
        price=[1.0, 2.0, 1.0],
        requests=np.broadcast_to([[2.0, 1.0], [3.0, 0.5]], (3, 2, 2, 2)),
    )  # fmt: skip


@given(edr_instances(), st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=draws(60))
def test_all_forms_of_the_program_agree(instance, seed, relax):
    instance = without_links(instance, seed)
    model = colocation(instance, relax=relax)
    declared = solve(model, gap=1e-9).objective
    assert_same_program(without_spreading(model), colocation_matrix(instance, relax=relax), AXES)
    for method in ("benders", "highs"):
        plan = solve_offline(instance, relax=relax, cap=instance.cap, method=method, gap=1e-6)
        assert plan.objective == pytest.approx(declared, rel=3e-6, abs=3e-6)
        assert plan.bound <= declared + 1e-6 * max(1.0, abs(declared))


@given(edr_instances(), st.integers(0, 2**32 - 1))
@settings(max_examples=draws(60))
def test_nothing_uses_a_missing_link(instance, seed):
    instance = without_links(instance, seed)
    columns = colocation_columns(instance)
    t, _, j, k, _ = columns.route.T
    assert (instance.rate[t, j, k] > 0).all()
    for t, i in columns.rounds.tolist():
        for j in np.flatnonzero(instance.client[i]).tolist():
            there, back = (j, instance.server[i]), (instance.server[i], j)
            assert instance.rate[t, *there] > 0
            assert instance.rate[t, *back] > 0
    assert np.isfinite(instance.round_cost).all()


@pytest.mark.parametrize("links", WAYS.values(), ids=WAYS)
def test_the_limit_of_slow_links_is_no_link(links):
    gone = slow(0.0, links)
    best = solve_offline(gone)
    assert best.rounds[0, 0] == 0
    assert best.missing.sum() == pytest.approx(0.0, abs=1e-9)
    assert best.unserved.sum() > 0 if (0, 1) in links else best.unserved.sum() == 0
    for rate in 10.0 ** -np.arange(3, 13, 3):
        near = slow(rate, links)
        for frame, slot in np.ndindex(near.frames, near.slots):
            exact, limit = (
                routing_problem(one, conditions(one, frame, slot), price=1.0)
                for one in (gone, near)
            )
            assert np.array_equal(exact.first, limit.first)
            assert np.array_equal(exact.cost, limit.cost)
        # Every round where it is cheapest: late ones are dear without limit as links get slow.
        cost = np.where(near.active, near.round_cost, np.inf).min(axis=0) @ near.rounds
        assert best.training_cost.sum() == pytest.approx(cost, rel=1e-9)
        assert solve_offline(near).cost == pytest.approx(best.cost, rel=1e-6)


@settings(max_examples=draws(20))
@given(cases(frames=5, slots=2, sites=3, tasks=3, types=2))
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_policies_use_no_missing_link(policy, case):
    instance = without_links(case.instance, case.seed)
    ran = step_through(instance, policy, seed=case.seed % 1000)
    assert not np.array(ran.rounds)[~instance.active].any()
    for t, flows in enumerate(ran.flows):
        for (_, j, k, _, _), amount in flows.items():
            assert amount <= 0 or instance.rate[t, j, k] > 0


@settings(max_examples=draws(20))
@given(cases(frames=4, slots=2, sites=3, tasks=3, types=2))
def test_the_offline_bound_holds_for_policies(case):
    instance = without_links(case.instance, case.seed)
    bound = solve_offline(instance, cap=np.full(instance.frames, np.inf)).bound
    for policy in CAPPED[::4]:
        cost = simulate(EdrEnvironment(instance), policy, runs=1).reward.sum()
        assert bound <= cost + 1e-6 * max(1.0, abs(cost))


def test_policies_take_the_frames_that_are_left():
    rate = np.ones((3, 2, 2))
    rate[0, 1, 0] = 0.0
    instance = two_sites(rate=rate, rounds=[2, 3], cap=np.full(3, np.inf), capacity=[9.0, 9.0])
    for policy in POLICIES:
        trajectory = simulate(EdrEnvironment(instance), policy, runs=1)
        assert trajectory.rounds[0, 0, 0] == 0, policy
    even = simulate(EdrEnvironment(instance), EvenRate(guard=1.0, reserve=None), runs=1)
    assert even.rounds[0, :, 0].tolist() == [0, 2, 0]


@settings(max_examples=draws(60))
@given(cases(frames=5, slots=2, sites=3, tasks=4, types=1))
def test_frames_without_a_link_are_replayed_as_no_place_to_train(case):
    instance = without_links(case.instance, case.seed)
    for t, replay in replayed(instance):
        for i in np.flatnonzero(instance.active[t]):
            up = instance.linked[: t + 1, i]
            assert np.array_equal(np.isfinite(replay.energy[:, i]), up)
            assert np.array_equal(np.isfinite(replay.seconds[:, i]), up)
            assert replay.energy[up, i] == pytest.approx(instance.round_energy[: t + 1, i][up])


def test_learners_see_finite_features():
    rate = np.ones((3, 2, 2))
    rate[0, 0, 1] = 0.0
    episode = TaskEpisode(two_sites(rate=rate))
    episode.frame = 1
    seen = episode.observe()
    assert episode.live.tolist() == [0, 1]
    assert seen.cost[0, 0] == np.inf
    assert np.isfinite(features_of(seen)).all()


def test_what_a_missing_link_stops_is_noted():
    rate = np.ones((3, 2, 2))
    rate[0, 0, 1] = 0.0
    instance = two_sites(rate=rate)
    assert instance.notes == (
        "rate[0, 0, 1] = 0 means no link: task 0 cannot train in frame 0 (its server 0 does not "
        "reach its client 1)",
        "requests[0, 0, 0, 1] = 1: no site can be reached: 1 requests of type 1 stay unserved",
        "requests[0, 1, 0, 1] = 1: no site can be reached: 1 requests of type 1 stay unserved",
    )
    named = instance.with_labels({"task": ["a", "b"], "site": ["x", "y"], "type": ["p", "q"]})
    assert (
        "task 'a' cannot train in frame 0 (its server 'x' does not reach its client 'y')"
        in (named.notes[0])
    )
    assert "requests of type 'q' stay unserved" in named.notes[1]
    for policy in POLICIES:
        assert simulate(EdrEnvironment(instance), policy, runs=1).unserved[0, 0] >= 2
    assert solve_offline(instance).unserved[0] == pytest.approx([0.0, 2.0])


def test_no_site_in_reach_of_any_request_is_no_error():
    alone = np.broadcast_to([[0.0, 1.0], [0.0, 0.0]], (3, 2, 2, 2))
    rate = np.ones((3, 2, 2))
    rate[2, 0, 1] = 0.0
    plan = solve_offline(two_sites(rate=rate, requests=alone))
    assert plan.unserved.sum(axis=1) == pytest.approx([0.0, 0.0, 2.0])
    with pytest.raises(InstanceError, match="no site meets it"):
        two_sites(requests=alone, slo=np.full((3, 2, 2), 1.5))


def test_a_task_with_no_frame_left_is_refused():
    rate = np.ones((3, 2, 2))
    rate[:2, 1, 0] = 0.0
    with pytest.raises(InstanceError, match=r"rate\[0, 1, 0\] = 0\.0: no frame is left to task 0"):
        two_sites(rate=rate)


def test_requests_over_a_missing_link_are_refused():
    rate = np.ones((3, 2, 2))
    rate[0, 0, 1] = 0.0
    flow = Flows(*np.array([[0], [1], [0]]), np.ones(1))
    with pytest.raises(OptionError, match="there is no link"):
        at_slot(two_sites(rate=rate), [0, 0]).act(flow)
    at_slot(two_sites(rate=rate), [0, 0]).act(flow._replace(amount=np.zeros(1)))


@pytest.mark.parametrize(("value", "rule"), [(-1.0, "0: no link"), (1e-320, "must be 0 or at")])
def test_other_rates_below_the_smallest_are_refused(value, rule):
    rate = np.ones((3, 2, 2))
    rate[1, 0, 1] = value
    with pytest.raises(InstanceError, match=rule):
        two_sites(rate=rate)
    with pytest.raises(InstanceError, match=r"history\.rate.*" + rule):
        EdrHistory(rate=np.resize(rate, (24, 2, 2)))


def test_negative_zero_is_no_link():
    rate = np.ones((3, 2, 2))
    rate[0, 0, 1] = -0.0
    assert solve_offline(two_sites(rate=rate)).unserved[0] == pytest.approx([0.0, 2.0])
