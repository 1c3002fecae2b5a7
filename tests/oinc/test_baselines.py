"""Baselines in the loop: jobs run as they do alone, who has no kernel, a run by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings

from edgeopt.instances.oinc import generate
from edgeopt.online.oinc import (
    Dedas,
    Ekya,
    Kalmia,
    Liu,
    Oinc,
    OincEnvironment,
    StaticShares,
    Zhang,
)
from edgeopt.testing.strategies import oinc_instances
from tests.draws import draws
from tests.oinc.scenarios import (
    decision,
    runs,
    serve_alone,
    step_through,
    two_sites,
)

if TYPE_CHECKING:
    from edgeopt.instances.oinc import OincInstance


@pytest.mark.parametrize("part", [Dedas(), Zhang()], ids=lambda part: part.name)
@settings(max_examples=draws(30))
@given(oinc_instances(slots=6, jobs=5))
def test_jobs_run_in_the_loop_as_they_do_alone(part: Any, instance: OincInstance) -> None:
    """Nobody is interrupted either: a job that has begun runs on until it is complete."""
    policy = Oinc(inference=Liu(), retraining=part, reservation=StaticShares(0.5))
    _, episode = step_through(OincEnvironment(instance), policy)
    alone = serve_alone(part, instance, 0.5)
    finished = np.isfinite(episode.completion)
    assert episode.completion[finished] == pytest.approx(np.array(alone.completion)[finished])
    run = episode.served
    for k in np.flatnonzero(finished):
        mine = run.job == k
        begin, end = np.sort(run.begin[mine]), np.sort(run.end[mine])
        assert begin[1:] == pytest.approx(end[:-1])


def test_nobody_has_a_kernel_for_another_environment() -> None:
    for policy in (Ekya(), Kalmia()):
        state = policy.start(OincEnvironment(generate(slots=2, jobs=1)).instance)  # type: ignore[attr-defined]
        assert policy.compiled(object(), state) is None  # type: ignore[attr-defined]


def test_a_run_by_hand() -> None:
    environment = OincEnvironment(two_sites())
    episode = environment.episode(0, keep_trace=True)
    first = episode.observe()
    assert first is not None
    episode.act(decision(first, [1], band=[0.5], cpu=[0.5], jobs=[0], run=runs((0, 0.5, 0.0, 1.0))))
    second = episode.observe()
    assert second is not None
    # Device 0 is refused; device 1 is late with 1 + 1/4; job 0 is done at 3/2, job 1 never.
    episode.act(
        decision(
            second,
            [-1, 0],
            band=[0.0, 0.25],
            cpu=[0.0, 0.5],
            jobs=[0, -1],
            run=runs((0, 0.5, 0.0, 0.5)),
        )
    )
    while (slot := episode.observe()) is not None:
        episode.act(decision(slot))
    trajectory = environment.trajectory("mine", [episode], seconds=4.0, keep_trace=True)
    assert trajectory.slot.tolist() == [0, 1, 1]
    assert trajectory.device.tolist() == [0, 0, 1]
    assert trajectory.site.tolist() == [[1, -1, 0]]
    assert trajectory.latency[0, [0, 2]].tolist() == [1.0, 1.25]
    assert trajectory.refused.tolist() == [[False, True, False]]
    assert trajectory.met.tolist() == [[False, False, False]]
    assert trajectory.counted_latency.tolist() == [[1.0, 2.0, 1.25]]
    assert trajectory.completion.tolist() == [[1.5, np.inf]]
    assert trajectory.end.tolist() == [4.0]
    assert trajectory.on_time.tolist() == [[True, False]]
    # Slot 0: 1 s over 1/4 s, and 1.5 s over 4 s. Slot 1: 3 * 3.25 s over 1/4 s, 2 * 4 s over 4 s.
    assert trajectory.reward.tolist() == [[4.0 + 0.375, 39.0 + 2.0]]
    assert trajectory.violations.tolist() == [[1, 3]]
    assert trajectory.success().tolist() == [0.2]
    assert trajectory.request_success().tolist() == [0.0]
    assert trajectory.job_success().tolist() == [0.5]
    assert trajectory.mean_latency() == pytest.approx(4.25 / 3)
    assert trajectory.mean_completion().tolist() == [2.75]
    assert trajectory.mean_flow_time().tolist() == [2.25]
    # Weights are 1, 3 and 3 of the requests, 1 and 2 of the jobs.
    latency, completion = (1.0 + 3 * 3.25) / 7, (1.5 + 2 * 4.0) / 3
    assert trajectory.scaled_sum() == pytest.approx(latency / 0.25 + completion / 4)
    assert trajectory.seconds_per_decision == 1.0
    assert np.isnan(trajectory.bound).all()
    assert np.isnan(trajectory.gap()).all()
    assert trajectory.served is not None
    assert trajectory.served.begin.tolist() == [0.0, 1.0]
    assert trajectory.served.end.tolist() == [1.0, 1.5]
    assert trajectory.slo.tolist() == [0.75, 0.75, 0.75]
