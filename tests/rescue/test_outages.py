"""Outages: no run meets one, programs and bounds know it, and what becomes of capacities of 0."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.rescue import RescueInstance, ReservedTasks, generate
from edgeopt.models.rescue import p1_lp, p1_lp_matrix, safe_bound, solve_p1_lp
from edgeopt.online import simulate
from edgeopt.online.rescue import (
    Placement,
    RandomPolicy,
    RescueEnvironment,
    SafeRescue,
    Sumita,
    exact_value,
    policy_value,
)
from edgeopt.online.session import RescueDesk, Session, rolled
from edgeopt.solvers import solve
from edgeopt.testing.strategies import rescue_instances
from tests.draws import draws
from tests.oracles.rescue import plain, safe
from tests.rescue.safe_cases import drawn, everybody, lp_plan


def base() -> RescueInstance:
    return generate(servers=3, devices=6, profiles=2, horizon=40, reserved=3, rng=1)


def with_outage(instance: RescueInstance, seed: int) -> RescueInstance:
    """Take a server down for some slots, if its reserved tasks then still fit."""
    rng = np.random.default_rng(seed)
    server = int(rng.integers(instance.servers))
    first = int(rng.integers(instance.horizon))
    try:
        return instance.down(server, first, int(rng.integers(first, instance.horizon)))
    except InstanceError:
        assume(False)
        raise


def reserved_instead(instance: RescueInstance) -> RescueInstance:
    """Return the same with outages declared as reserved tasks."""
    return instance.replace(reserved=instance.promised, outage=None)


@settings(max_examples=draws(60), deadline=None)
@given(rescue_instances(arrivals=None, beyond=None), st.integers(0, 2**32 - 1))
def test_all_methods_agree_with_the_declared_program(instance, seed):
    instance = with_outage(instance, seed)
    best = solve(p1_lp(instance)).objective
    close = pytest.approx(best, rel=1e-5, abs=1e-6)
    assert solve(p1_lp_matrix(instance)).objective == close
    for method in ("direct", "structured", "columns"):
        plan = solve_p1_lp(instance, method=method)
        assert plan.objective == close
        assert plan.bound >= best * (1 - 1e-7) - 1e-9
    # By hand: no run that may meet an outage, and no reserved work in it.
    survives = instance.survival > 0
    y = solve_p1_lp(instance).y
    for t, j, k, profile in np.argwhere(y > 1e-6):
        assert not instance.outage[k, t : t + survives[profile].sum()].any(), (t, j, k, profile)


@settings(max_examples=draws(40), deadline=None)
@given(st.integers(0, 10_000))
def test_the_safe_bound_holds_for_the_best_of_all_safe_policies(seed):
    instance = with_outage(drawn(seed, horizon=5), seed)
    best = safe.joint(plain(reserved_instead(instance), float), None)
    found = safe_bound(instance, plan=lp_plan(instance), steps=40)
    assert best <= found.value * (1 + 1e-9)
    if found.exact and instance.servers == 1:
        assert found.value == pytest.approx(best, rel=1e-9)


@settings(max_examples=draws(40), deadline=None)
@given(st.integers(0, 10_000))
def test_no_run_meets_an_outage(seed):
    instance = with_outage(drawn(seed, horizon=6), seed)
    plan = solve_p1_lp(instance)
    unguarded = [RandomPolicy(), Sumita(plan=plan)]
    given = len(instance.reserved)
    for policy in (*unguarded, *everybody(instance, lp_plan(instance))):
        environment = RescueEnvironment(instance)
        ran = simulate(environment, policy, runs=20, rng=seed, keep_trace=True)
        assert (ran.device[:, instance.outage] < 0).all(), policy
        assert ran.violations.sum(axis=1).max() <= given
        if policy.guarded:
            assert not ran.violations.any(), policy


def test_kernels_and_policies_step_by_step_agree():
    instance = base().down(1, 20, 25).down(0, 5, 5)

    class Plainly(RescueEnvironment):
        """Not the environment for which there are kernels."""

    for policy in (RandomPolicy(), RandomPolicy(guarded=True), Sumita()):
        fast = simulate(RescueEnvironment(instance), policy, runs=10, keep_trace=True)
        object.__setattr__(policy, "compiled", lambda *_: None)
        slow = simulate(Plainly(instance), policy, runs=10, keep_trace=True)
        assert fast.compiled
        assert not slow.compiled
        assert np.array_equal(fast.device, slow.device)
        assert fast.reward == pytest.approx(slow.reward)


@pytest.mark.parametrize("policy", [Sumita(), RandomPolicy(), Sumita(guarded=True)], ids=repr)
def test_values_are_exact(policy):
    small = generate(servers=2, devices=2, profiles=2, horizon=6, reserved=1, rng=3)
    instance = small.down(1, 3, 4)
    assert policy_value(instance, policy) == pytest.approx(exact_value(instance, policy))
    # Without reserved tasks, a guard watches the outages alone: no joint states.
    instance = instance.replace(reserved=ReservedTasks.none())
    value = policy_value(instance, policy, limit=10**4 if isinstance(policy, RandomPolicy) else 0)
    assert value == pytest.approx(exact_value(instance, policy))


def test_unsafe_decisions_are_refused():
    instance = base().down(1, 20, 25)
    environment = RescueEnvironment(instance)
    episode = environment.episode(environment.scenarios(np.random.default_rng(0), 1)[0])
    while (seen := episode.observe()) is not None and seen.slot < 20:
        episode.act(None)
    with pytest.raises(OptionError, match="the run may meet an outage of server 1"):
        episode.act(Placement(1, 0))


def test_what_is_down_is_down_once_more_and_reserved_tasks_must_still_fit():
    instance = base()
    assert instance.outage is None
    twice = instance.down(1, 20, 25).down(1, 24, 30)
    assert np.flatnonzero(twice.outage[1]).tolist() == list(range(20, 31))
    assert len(twice.reserved) == len(instance.reserved)
    first = instance.reserved
    with pytest.raises(InstanceError, match="cannot be finished"):
        instance.down(int(first.server[0]), int(first.start[0]), int(first.end[0]))
    for wrong in ((3, 0, 1), (0, -1, 1), (0, 2, 1), (0, 0, 40)):
        with pytest.raises(OptionError):
            instance.down(*wrong)


OUTAGES = {
    "none": (),
    "at slot 0": ((0, 0, 1),),
    "at the end": ((0, 9, 11),),
    "whole horizon": ((0, 0, 11),),
    "two that touch": ((0, 3, 4), (0, 5, 6)),
    "both servers": ((0, 2, 4), (1, 6, 8)),
}


def down(name: str) -> RescueInstance:
    """Return twelve slots of two servers, of which the first has no reserved tasks."""
    instance = generate(servers=2, devices=4, profiles=2, horizon=12, reserved=2, rng=3)
    tasks = instance.reserved
    moved = ReservedTasks(np.ones_like(tasks.server), tasks.start, tasks.end, 0.1 * tasks.demand)
    instance = instance.replace(reserved=moved)
    for one in OUTAGES[name]:
        instance = instance.down(*one)
    return instance


@pytest.mark.parametrize("name", OUTAGES)
@pytest.mark.parametrize("policy", [RandomPolicy(), RandomPolicy(guarded=True), SafeRescue()])
def test_live_runs_meet_no_outage(name, policy):
    """Tasks in every slot, plans every few slots, a server that fails and returns."""
    instance, rng = down(name), np.random.default_rng(0)
    for every in (None, 1, 3):
        desk = RescueDesk(instance, every=every)
        session, ends = Session(policy, desk), {}
        for slot in range(instance.horizon):
            for server in [k for k, end in ends.items() if end == slot]:
                del ends[server]
                session.take({"event": "finished", "slot": slot, "server": server})
            if slot in (4, 7):
                session.take({"event": {4: "down", 7: "up"}[slot], "slot": slot, "server": 0})
                ends.pop(0, None)
            event = {"event": "task", "slot": slot, "device": int(rng.integers(4))}
            if (answer := session.take(event)) is not None:
                chances = instance.duration[answer.profile]
                ends[answer.server] = slot + 1 + int(rng.choice(chances.size, p=chances))
                met = instance.outage is not None and (
                    instance.outage[answer.server, slot : ends[answer.server]].any()
                )
                assert not met
        assert desk.given_up == 0
        assert desk.failed == 0 or not policy.guarded


def test_outages_of_a_horizon_that_is_repeated_are_repeated():
    desk = RescueDesk(down("at slot 0"), every=4, forecast=rolled)
    session = Session(RandomPolicy(), desk)
    session.take({"event": "task", "slot": 8, "device": 0})
    assert np.argwhere(desk.instance.outage).tolist() == [[0, 4], [0, 5]]


def test_without_an_outage_nothing_changes(tmp_path):
    instance = base()
    same = instance.replace(outage=np.zeros((3, 40), dtype=bool))
    assert same.outage is None
    assert same.fingerprint() == instance.fingerprint()
    assert same.promised is same.reserved
    down = instance.down(1, 20, 25)
    assert down.fingerprint() != instance.fingerprint()
    down.save(tmp_path / "down.nc")
    again = RescueInstance.load(tmp_path / "down.nc")
    assert again.fingerprint() == down.fingerprint()
    assert np.array_equal(again.outage, down.outage)


def test_a_capacity_of_0_is_an_outage():
    instance = base()
    capacity = instance.capacity.copy()
    capacity[1, 20:26] = 0.0
    found = instance.replace(capacity=capacity)
    assert np.array_equal(found.outage, instance.down(1, 20, 25).outage)
    assert "profit.capacity: replaced together with capacity" in found.notes
    assert "capacity[1, 20] = 0: server 1 is down in slot 20" in found.notes
    assert np.array_equal(found.capacity, found.profit.capacity)
    assert (found.capacity > 0).all()
    best = solve(p1_lp_matrix(instance.down(1, 20, 25))).objective
    assert solve(p1_lp_matrix(found)).objective == pytest.approx(best, rel=1e-9)
    nowhere = instance.replace(capacity=0 * capacity, reserved=ReservedTasks.none())
    assert solve(p1_lp_matrix(nowhere)).objective == pytest.approx(0.0, abs=1e-9)


def test_profits_follow_a_new_capacity():
    instance = base()
    more = instance.replace(capacity=2 * instance.capacity)
    assert np.array_equal(more.profit.capacity, more.capacity)
    assert more.fingerprint() == instance.with_capacity(scale=2).fingerprint()
    with pytest.raises(InstanceError, match="at least"):
        instance.replace(capacity=np.full((3, 40), 1e-320))


def test_a_plan_and_a_page_of_an_instance_with_an_outage_are_written(tmp_path) -> None:
    import xarray as xr

    import edgeopt
    from edgeopt.studies import find_system

    instance = generate(servers=2, devices=3, horizon=12, reserved=2, rng=4).down(0, 3, 5)
    record = find_system("rescue")
    solved = record.offline.bounds["lp"].solve(instance, record.policies.environment, 0, 2)
    record.offline.export(solved, tmp_path / "plan.nc")
    with xr.open_dataset(tmp_path / "plan.nc", engine="h5netcdf") as plan:
        assert plan["reserved_dual"].size in (2, 5)
        assert plan["service"].shape[0] == plan["reserved_dual"].size
    found = edgeopt.study(instance, ["offers", "rescue+guard", "srs"], runs=20)
    assert found.page(tmp_path / "page").is_file()


@settings(max_examples=draws(40), deadline=None)
@given(st.integers(0, 10_000))
def test_what_is_served_of_each_task_lies_in_its_window_and_on_an_idle_server(seed):
    instance = with_outage(drawn(seed, horizon=6), seed)
    tasks, environment = instance.promised, RescueEnvironment(instance)
    slots = np.arange(instance.horizon)
    open_ = (tasks.start[:, None] <= slots) & (slots <= tasks.end[:, None])
    for policy in (RandomPolicy(), RandomPolicy(guarded=True)):
        for compiled in (True, False):
            ran = simulate(environment, policy, runs=10, keep_trace=True, compiled=compiled)
            assert not ran.served[:, ~open_].any()
            on_server = np.zeros((10, *instance.capacity.shape))
            for i, k in enumerate(tasks.server):
                on_server[:, k] += ran.served[:, i]
            assert (on_server <= instance.capacity * (ran.device < 0) * (1 + 1e-12)).all()
            given = len(instance.reserved)
            done = ran.served[:, :given]
            assert ran.reserved_work == pytest.approx(done.sum(axis=1), abs=1e-12)
            late = tasks.demand[:given] - done.sum(axis=2) > 1e-6
            assert late.sum(axis=1).tolist() == ran.violations.sum(axis=1).tolist()
            assert (ran.served[:, given:].sum(axis=2) == tasks.demand[given:]).all()
