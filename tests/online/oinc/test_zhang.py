"""Batches in growing windows: who waits for what, which jobs a batch takes, where they go."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.online.oinc.retraining.baselines import Zhang, _knapsack
from tests.draws import draws
from tests.online.oinc.served_alone import serve_alone, waiting
from tests.strategies import oinc_instances

if TYPE_CHECKING:
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc.parts import Service
    from tests.online.oinc.served_alone import Life


def dispatched(life: Life) -> dict[int, int]:
    """Return the slot in which each job was sent to a site."""
    slots: dict[int, int] = {}
    for step in life.steps:
        for k, site in zip(step.queues.jobs.job.tolist(), step.site, strict=True):
            if site >= 0:
                slots.setdefault(k, step.queues.slot)
    return slots


# --- by hand -------------------------------------------------------------------------------------


def test_jobs_wait_for_the_window_after_theirs() -> None:
    arrival = [0, 1, 2, 3, 4, 7, 8, 20]
    instance = waiting([0.5] * 8, [90.0] * 8, arrival=arrival, speed=(8.0,))
    life = serve_alone(Zhang(), instance)
    assert dispatched(life) == dict(enumerate([1, 2, 4, 4, 8, 8, 16, 32]))
    assert life.completion == [1.125, 2.125, 4.125, 4.25, 8.125, 8.25, 16.125, 32.125]


def test_a_batch_takes_what_fits_by_profit_per_work() -> None:
    """One Gcycle/s: the window from 2 has room for 2, that from 4 for 4."""
    # Profits 1/4, 1/2, 1/8 per 1 of work: the two best go at once.
    instance = waiting([1.0] * 3, [4.0, 2.0, 8.0], arrival=[1] * 3, speed=(2.0,))
    life = serve_alone(Zhang(), instance)
    assert dispatched(life) == {0: 2, 1: 2, 2: 4}
    assert life.completion == [4.0, 3.0, 5.0]
    # The best per work leaves no room for the one of most profit, which goes alone.
    dense = waiting([0.5, 2.0], [8.0, 4.0], arrival=[1, 1], speed=(2.0,))
    assert dispatched(serve_alone(Zhang(), dense)) == {0: 4, 1: 2}
    # A job longer than the window waits for one in which it fits, and holds nobody up.
    long = waiting([3.0, 2.0], [1.5, 90.0], arrival=[1, 1], speed=(2.0,))
    assert dispatched(serve_alone(Zhang(), long)) == {0: 4, 1: 2}
    # Weights are profits as well.
    heavy = waiting([2.0, 2.0], [4.0, 4.0], arrival=[1, 1], weight=[1.0, 2.0], speed=(2.0,))
    assert dispatched(serve_alone(Zhang(), heavy)) == {0: 4, 1: 2}


def test_a_batch_is_a_list_each_job_where_it_ends_first() -> None:
    """Speeds 2 and 1, one batch in slot 4: at 2 per second, 4, 2 and 3 Gcycle in this order.

    Job 0 ends at 2 on site 0, job 1 at 2 on site 1, job 2 at 3.5 on site 0 rather than at 5.
    """
    instance = waiting([4.0, 2.0, 3.0], [4.0, 16.0, 16.0], arrival=[2] * 3, speed=(4.0, 2.0))
    life = serve_alone(Zhang(), instance)
    assert life.site == [0, 1, 0]
    assert life.completion == [6.0, 6.0, 7.5]


def test_the_next_batch_waits_behind_the_last() -> None:
    """Job 0 runs on site 0 from 2 to 5, and is not interrupted in slot 4, urgent or not."""
    for work, site, completion in ((1.0, 1, 5.0), (3.0, 0, 6.5)):
        instance = waiting([6.0, work], [90.0, 4.5], arrival=[1, 3], speed=(4.0, 2.0))
        life = serve_alone(Zhang(), instance)
        assert life.site == [0, site]
        assert life.completion == [5.0, completion]


def test_a_batch_starts_late_where_no_site_serves_jobs() -> None:
    instance = waiting([0.5] * 4, [90.0] * 4, arrival=[1, 2, 4, 5], speed=(2.0, 8.0))
    assert serve_alone(Zhang(), instance, [0.5, 0.0]).site == [0, 0, 0, 0]
    part, off = Zhang(), np.zeros(2)
    life = serve_alone(part, instance, 0.0, slots=6)
    assert life.site == [-1] * 4
    # Slot 5 lies in the window from 4: what came in slots 4 and 5 waits for slot 8.
    last = life.steps[-1]
    queues = last.queues._replace(share=off + 0.5, speed=(off + 0.5) * instance.speed)
    site, memory = part.dispatch(last.memory, queues)
    assert site.tolist() == [1, 1, -1, -1]
    assert memory.next == 8


def test_options_and_names() -> None:
    with pytest.raises(OptionError, match="service = 'whole'"):
        Zhang(service="whole")  # type: ignore[arg-type]
    assert Zhang(service="slot").name == "Zhang, service=slot"


# --- drawn ---------------------------------------------------------------------------------------

AMOUNTS = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), max_size=7)


@settings(max_examples=draws(100))
@given(AMOUNTS, st.integers(0, 20))
def test_the_knapsack_holds_half_of_the_most_profit(
    items: list[tuple[int, int]], room: int
) -> None:
    profit, size = np.array(items, dtype=float).reshape(-1, 2).T
    packed = _knapsack(profit, size, float(room))
    assert len(set(packed.tolist())) == packed.size
    assert size[packed].sum() <= room
    subsets = [some for n in range(len(items) + 1) for some in combinations(range(len(items)), n)]
    fitting = [list(some) for some in subsets if size[list(some)].sum() <= room]
    most = max(profit[some].sum() for some in fitting)
    assert profit[packed].sum() >= 0.5 * most
    # Nothing that still fits is left out, unless one item outweighs the rest.
    if packed.size > 1:
        left = np.setdiff1d(np.flatnonzero(size <= room), packed)
        assert (size[packed].sum() + size[left] > room).all()


def plain(instance: OincInstance, life: Life) -> list[list[list[int]]]:
    """Return the orders after each slot, from the rule alone."""
    speed = [0.5 * f for f in instance.speed]
    orders: list[list[int]] = [[] for _ in speed]
    histories, begun = [], 1
    for step in life.steps:
        left = dict(zip(step.queues.jobs.job.tolist(), step.queues.jobs.remaining, strict=True))
        orders = [[k for k in order if k in left] for order in orders]
        if step.queues.slot == begun:
            listed = {k for order in orders for k in order}
            waits = [k for k in left if k not in listed and instance.arrival[k] < begun]
            value = {k: instance.weight[k] / instance.deadline[k] for k in waits}  # type: ignore[index]
            room = begun * sum(speed)
            fitting = [k for k in waits if instance.work[k] <= room]
            fitting.sort(key=lambda k: (-value[k] / instance.work[k], k))
            batch: list[int] = []
            for k in fitting:
                if sum(instance.work[i] for i in batch) + instance.work[k] <= room:
                    batch.append(k)
            for k in sorted(fitting):
                if value[k] > sum(value[i] for i in batch):
                    batch = [max(fitting, key=lambda i: (value[i], -i))]
            for k in batch:
                ends = [
                    sum(left[i] for i in [*order, k]) / speed[j] for j, order in enumerate(orders)
                ]
                orders[ends.index(min(ends))].append(k)
            begun *= 2
        histories.append([list(order) for order in orders])
    return histories


@pytest.mark.parametrize("service", ["fluid", "slot"])
@settings(max_examples=draws(60))
@given(oinc_instances(slots=9, jobs=6))
def test_a_plain_reading(service: Service, instance: OincInstance) -> None:
    life = serve_alone(Zhang(service=service), instance)
    for step, orders in zip(life.steps, plain(instance, life), strict=True):
        assert [list(order) for order in step.memory.orders] == orders
        ran = step.runs.job.tolist()
        for order in orders:
            here = [k for k in ran if k in order]
            assert here == order[: len(here)]
    assert np.isfinite(life.completion).all()
    # Nobody starts in the window of his arrival.
    for k, slot in dispatched(life).items():
        a = int(instance.arrival[k])
        assert slot >= (1 << a.bit_length())
        assert slot & (slot - 1) == 0


@settings(max_examples=draws(60))
@given(oinc_instances(slots=9, jobs=6), st.integers(0, 8))
def test_later_jobs_change_nothing_before_they_come(instance: OincInstance, slot: int) -> None:
    later = instance.arrival > slot
    other = replace(
        instance,
        work=np.where(later, 3.0, instance.work),
        weight=np.where(later, 9.0, instance.weight),
    )
    lives = [serve_alone(Zhang(), one) for one in (instance, other)]
    for one, two in zip(lives[0].steps[: slot + 1], lives[1].steps, strict=False):
        assert one.memory == two.memory
        assert all((a == b).all() for a, b in zip(one.runs, two.runs, strict=True))
