"""Deadline-aware insertion: where each new job goes, and that nobody is disturbed."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.online.oinc.retraining.baselines import Dedas
from tests.draws import draws
from tests.online.oinc.served_alone import serve_alone, waiting
from tests.strategies import oinc_instances

if TYPE_CHECKING:
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc.parts import Service
    from tests.online.oinc.served_alone import Step


def order_in(step: Step) -> list[list[int]]:
    return [list(order) for order in step.memory]


def first_orders(instance: OincInstance) -> list[list[int]]:
    """Orders in the first slot; half of the CPU of speed 2 makes durations of works."""
    return order_in(serve_alone(Dedas(), instance).steps[0])


# --- by hand -------------------------------------------------------------------------------------


def test_an_urgent_job_goes_before_one_that_can_wait() -> None:
    life = serve_alone(Dedas(), waiting([2.0, 1.0], [10.0, 1.0], speed=(2.0,)))
    assert order_in(life.steps[0]) == [[1, 0]]
    assert life.completion == [3.0, 1.0]


def test_without_a_deadline_at_stake_short_jobs_go_first() -> None:
    instance = waiting([3.0, 1.0, 2.0], [90.0, 90.0, 90.0], speed=(2.0,))
    assert first_orders(instance) == [[1, 2, 0]]


def test_a_place_is_taken_where_pushing_back_would_cost_a_deadline() -> None:
    """Behind both, job 2 is late; before both, both are; in the place of job 0, only job 0 is.

    Completions 3, 4 and 8 beat 4, 5 and 8 of the order 0, 1, 2, which meets as many deadlines.
    """
    assert first_orders(waiting([4.0, 1.0, 3.0], [4.0, 5.0, 3.5], speed=(2.0,))) == [[2, 1, 0]]
    # If it need not hurry, it is inserted.
    assert first_orders(waiting([4.0, 1.0, 3.0], [4.0, 5.0, 8.0], speed=(2.0,))) == [[0, 1, 2]]


def test_what_runs_is_not_interrupted() -> None:
    """In slot 1 job 1 would be in time only ahead of job 0, which could wait and has begun."""
    late = waiting([5.0, 1.0], [90.0, 2.0], arrival=[0, 1], speed=(2.0,))
    life = serve_alone(Dedas(), late)
    assert life.completion == [5.0, 6.0]
    # Job 1 waits behind it, and does not mind that job 2 comes first.
    queue = waiting([5.0, 2.0, 1.0], [90.0, 90.0, 6.0], arrival=[0, 1, 2], speed=(2.0,))
    assert serve_alone(Dedas(), queue).completion == [5.0, 8.0, 6.0]


def test_deadlines_count_before_completion_times_and_sites_by_number() -> None:
    # One behind the other would be late.
    instance = waiting([2.0, 4.0], [1.0, 2.5], speed=(4.0, 4.0))
    assert first_orders(instance) == [[0], [1]]
    # Alike sites: the lower number. Then job 1 ends first alone on the other.
    assert first_orders(waiting([1.0, 1.0, 1.0], [9.0] * 3, speed=(2.0, 2.0))) == [[0, 2], [1]]
    # On the slow site job 1 takes 2; ahead of job 0 it would add 1, and a missed deadline.
    assert first_orders(waiting([6.0, 1.0], [3.0, 9.0], speed=(4.0, 1.0))) == [[0], [1]]


def test_slots_count_whole_where_their_rest_is_wasted() -> None:
    """Job 1 would be complete at 2.5 behind job 0, but a wasted rest makes that 4."""
    instance = waiting([1.25, 1.25], [9.0, 3.5], speed=(2.0,))
    assert first_orders(instance) == [[0, 1]]
    life = serve_alone(Dedas(service="slot"), instance)
    assert order_in(life.steps[0]) == [[1, 0]]
    assert life.completion == [4.0, 2.0]


def test_where_nothing_is_kept_for_jobs_nobody_goes() -> None:
    instance = waiting([1.0, 1.0], [9.0, 9.0], speed=(8.0, 2.0))
    assert serve_alone(Dedas(), instance, [0.0, 0.5]).site == [1, 1]
    hopeless = waiting([1.0, 1.0], [0.1, 0.1], speed=(8.0, 2.0))
    assert serve_alone(Dedas(), hopeless, [0.0, 0.5]).site == [1, 1]
    life = serve_alone(Dedas(), instance, 0.0, slots=3)
    assert life.site == [-1, -1]
    assert all(step.runs.job.size == 0 for step in life.steps)


def test_options_and_names() -> None:
    with pytest.raises(OptionError, match="service = 'whole'"):
        Dedas(service="whole")  # type: ignore[arg-type]
    assert Dedas().name == "Dedas"
    assert Dedas(service="slot").name == "Dedas, service=slot"


# --- drawn ---------------------------------------------------------------------------------------


def outcome(
    instance: OincInstance, step: Step, site: int, order: list[int], service: Service
) -> tuple[int, float]:
    """Return missed deadlines and the sum of completion times of an order."""
    left = dict(zip(step.queues.jobs.job.tolist(), step.queues.jobs.remaining, strict=True))
    clock, late, total = float(step.queues.slot), 0, 0.0
    for k in order:
        seconds = left[k] / step.queues.speed[site]
        clock += ceil(seconds) if service == "slot" else seconds
        late += bool(clock > instance.deadline[k])
        total += clock
    return late, total


def plain(
    instance: OincInstance, step: Step, orders: list[list[int]], service: Service
) -> list[list[int]]:
    """Put the new jobs of a slot into the orders, trying every place one by one."""
    jobs = step.queues.jobs
    left, begun = set(jobs.job.tolist()), set(jobs.job[jobs.started].tolist())
    orders = [[k for k in order if k in left] for order in orders]
    for new in sorted(left - {k for order in orders for k in order}):
        tried = []
        for j, order in enumerate(orders):
            late, total = outcome(instance, step, j, order, service)
            first = len([k for k in order if k in begun])
            for place in range(len(order), first - 1, -1):
                grown = [*order[:place], new, *order[place:]]
                key = outcome(instance, step, j, grown, service)
                tried.append((key[0] - late, key[1] - total, j, 0, -place, grown))
            for place in range(len(order) - 1, first - 1, -1):
                grown = [*order[:place], new, *order[place + 1 :], order[place]]
                key = outcome(instance, step, j, grown, service)
                tried.append((key[0] - late, key[1] - total, j, 1, -place, grown))
        best = min(tried)
        orders[best[2]] = best[-1]
    return orders


@pytest.mark.parametrize("service", ["fluid", "slot"])
@settings(max_examples=draws(60))
@given(oinc_instances(jobs=6))
def test_every_place_was_tried(service: Service, instance: OincInstance) -> None:
    """Shares of a half keep all times binary fractions, and ties exact."""
    life = serve_alone(Dedas(service=service), instance)
    orders: list[list[int]] = [[] for _ in range(instance.sites)]
    for step in life.steps:
        orders = plain(instance, step, orders, service)
        assert order_in(step) == orders
        ran = step.runs.job.tolist()
        for order in orders:
            here = [k for k in ran if k in order]
            assert here == order[: len(here)]
    assert np.isfinite(life.completion).all()


@settings(max_examples=draws(60))
@given(oinc_instances(jobs=6), st.integers(0, 3))
def test_later_jobs_change_nothing_before_they_come(instance: OincInstance, slot: int) -> None:
    later = instance.arrival > slot
    other = replace(
        instance,
        work=np.where(later, 3.0, instance.work),
        deadline=np.where(later, instance.arrival + 0.25, instance.deadline),
    )
    lives = [serve_alone(Dedas(), one) for one in (instance, other)]
    for one, two in zip(lives[0].steps[: slot + 1], lives[1].steps, strict=False):
        assert one.memory == two.memory
        assert all((a == b).all() for a, b in zip(one.runs, two.runs, strict=True))
