"""All baselines live in the environment: everybody is answered, and all work is done once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.instances.oinc import generate
from edgeopt.online import simulate
from edgeopt.online.oinc import (
    Dedas,
    Ekya,
    GreedyConvex,
    Kalmia,
    Liu,
    Oinc,
    OincEnvironment,
    Reservation,
    StaticShares,
    Zhang,
)
from tests.draws import draws
from tests.online.oinc.lives import live, other_future, same
from tests.online.oinc.served_alone import serve_alone
from tests.strategies import oinc_instances

if TYPE_CHECKING:
    from edgeopt.instances.oinc import OincInstance

STATIC = StaticShares(0.5)
POLICIES: tuple[Any, ...] = (
    Ekya(),
    Kalmia(),
    Oinc(inference=GreedyConvex(), retraining=Dedas(), reservation=STATIC),
    Oinc(inference=Liu(), retraining=Zhang(), reservation=STATIC),
    Oinc(inference=Liu(), retraining=Dedas(service="slot"), reservation=Reservation()),
    Oinc(inference=GreedyConvex(), retraining=Zhang(), reservation=Reservation()),
)
everywhere = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)


@everywhere
@settings(max_examples=draws(20))
@given(oinc_instances(slots=6, devices=4, jobs=5))
def test_everybody_is_answered_and_all_work_is_done_once(
    policy: Any, instance: OincInstance
) -> None:
    _, episode = live(OincEnvironment(instance), policy)
    assert np.isfinite(episode.latency).all()
    assert (episode.site >= 0).all()
    run = episode.served
    done = np.zeros(instance.jobs)
    np.add.at(done, run.job, run.share * instance.speed[run.site] * (run.end - run.begin))
    finished = np.isfinite(episode.completion)
    part = getattr(policy, "retraining", policy)
    if getattr(part, "service", "fluid") == "fluid":
        assert done[finished] == pytest.approx(instance.work[finished], rel=1e-6)
    else:  # the rest of a slot is wasted
        assert (done[finished] >= instance.work[finished] * (1 - 1e-6)).all()
    for k in range(instance.jobs):
        mine = run.job == k
        assert len(set(run.site[mine].tolist())) <= 1
        if mine.any():
            assert run.begin[mine].min() >= instance.arrival[k]
    # A run is stopped only where a batch waits for a window as long as its work.
    assert finished.all() or isinstance(part, Zhang)


@pytest.mark.parametrize("policy", POLICIES[2:], ids=lambda policy: policy.name)
@settings(max_examples=draws(12))
@given(oinc_instances(slots=6, jobs=5), st.integers(0, 5), st.integers(0, 99))
def test_changing_the_future_changes_no_past_decision(
    policy: Any, instance: OincInstance, slot: int, seed: int
) -> None:
    slot = min(slot, instance.slots - 1)
    changed = other_future(instance, slot, seed)
    steps, others = (live(OincEnvironment(one), policy)[0] for one in (instance, changed))
    for one, two in zip(steps[: slot + 1], others, strict=False):
        assert same(one.decision, two.decision)


@pytest.mark.parametrize("part", [Dedas(), Zhang()], ids=lambda part: part.name)
@settings(max_examples=draws(30))
@given(oinc_instances(slots=6, jobs=5))
def test_jobs_run_in_the_loop_as_they_do_alone(part: Any, instance: OincInstance) -> None:
    """Nobody is interrupted either: a job that has begun runs on until it is complete."""
    policy = Oinc(inference=Liu(), retraining=part, reservation=STATIC)
    _, episode = live(OincEnvironment(instance), policy)
    alone = serve_alone(part, instance, 0.5)
    finished = np.isfinite(episode.completion)
    assert episode.completion[finished] == pytest.approx(np.array(alone.completion)[finished])
    run = episode.served
    for k in np.flatnonzero(finished):
        mine = run.job == k
        begin, end = np.sort(run.begin[mine]), np.sort(run.end[mine])
        assert begin[1:] == pytest.approx(end[:-1])


@everywhere
def test_same_seed_same_trajectory_compiled_or_not(policy: Any) -> None:
    environment = OincEnvironment(generate(sites=4, devices=6, slots=12, jobs=5, job_scale=0.05))
    once = simulate(environment, policy, runs=2)
    again = simulate(environment, policy, runs=2)
    plain = simulate(environment, policy, runs=2, compiled=False)
    for other in (again, plain):
        for name in ("reward", "violations", "latency", "site", "completion", "reserved"):
            assert np.array_equal(getattr(once, name), getattr(other, name))
    assert once.name == policy.name


def test_nobody_has_a_kernel_for_another_environment() -> None:
    for policy in (Ekya(), Kalmia()):
        state = policy.start(OincEnvironment(generate(slots=2, jobs=1)).instance)  # type: ignore[attr-defined]
        assert policy.compiled(object(), state) is None  # type: ignore[attr-defined]
