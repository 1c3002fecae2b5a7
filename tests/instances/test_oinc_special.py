from __future__ import annotations

import numpy as np
import pytest

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.oinc import crowded, overtaking, sequence, short_jobs, small


def test_two_requests_side_by_side():
    instance = crowded()
    assert instance.transmission_seconds[0, :, 0].tolist() == [0.1, 0.1]
    assert instance.computation_seconds[0, :, 0].tolist() == [0.1, 0.1]
    # Whatever the shares, the slower of two requests takes 0.4 s at least.
    share = np.linspace(0.01, 0.99, 99)
    band, cpu = np.meshgrid(share, share)
    for room, least in ((1.0, 0.4), (0.8, 0.45)):
        slower = np.maximum(
            0.1 / band + 0.1 / (room * cpu), 0.1 / (1 - band) + 0.1 / (room * (1 - cpu))
        )
        assert slower.min() == pytest.approx(least)
    assert (instance.slo < 0.4).all()
    assert (crowded(0.41).slo == 0.41).all()
    with pytest.raises(InstanceError):
        crowded(1.5)


def test_densities_swap_while_jobs_wait():
    instance = overtaking()
    seconds = instance.job_seconds()[:, 0]
    fixed = 1 / (instance.deadline * seconds)
    assert fixed.argsort()[::-1].tolist() == [0, 1, 2]
    # After 20 s the first is complete and the others have not begun.
    later = 1 / ((instance.deadline - 20) * seconds)
    assert later[1] < later[2]
    assert np.cumsum(seconds).tolist() == [20, 25, 34]


def test_short_jobs_fit_into_a_slot():
    for jobs in (1, 40, 100):
        instance = short_jobs(jobs)
        assert (instance.jobs, instance.slots) == (jobs, jobs)
        assert instance.job_seconds().sum() <= 1 + 1e-12
    for jobs in (0, 101):
        with pytest.raises(OptionError, match="jobs = "):
            short_jobs(jobs)


def test_sequences_have_nothing_but_jobs():
    instance = sequence([0, 3], [1.5, 2.0], weight=[1.0, 4.0])
    assert (instance.slots, instance.sites, instance.jobs) == (4, 1, 2)
    assert instance.job_seconds()[:, 0].tolist() == [1.5, 2.0]
    assert instance.weight.tolist() == [1.0, 4.0]
    assert not instance.active.any()
    assert not instance.request_size.any()
    assert (instance.deadline > 1000).all()
    assert sequence([], []).jobs == 0
    with pytest.raises(InstanceError):
        sequence([0], [0.0])


def test_small_instances_are_small_and_varied():
    drawn = [small(seed) for seed in range(60)]
    for name, least, most in (("slots", 1, 3), ("devices", 1, 3), ("sites", 1, 3), ("jobs", 0, 3)):
        sizes = [getattr(instance, name) for instance in drawn]
        assert (min(sizes), max(sizes)) == (least, most)
    alone = [
        (i.transmission_seconds + i.computation_seconds).min(axis=2)[i.active] <= i.slo[i.active]
        for i in drawn
    ]
    assert 0.6 < np.concatenate(alone).mean() < 1
    assert drawn[3] == small(3)
