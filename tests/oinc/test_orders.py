"""Baselines that keep an order of jobs at every site: Dedas and Zhang."""

from __future__ import annotations

from itertools import combinations
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.online.oinc.retraining.baselines import Dedas, Zhang, _knapsack
from edgeopt.testing.strategies import oinc_instances
from tests.draws import draws
from tests.oinc.scenarios import serve_alone, waiting

if TYPE_CHECKING:
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc.components import Service
    from tests.oinc.scenarios import Record, Step


def order_in(step: Step) -> list[list[int]]:
    return [list(order) for order in step.memory]


def first_orders(instance: OincInstance) -> list[list[int]]:
    """Orders in the first slot; half of the CPU of speed 2 makes durations of works."""
    return order_in(serve_alone(Dedas(), instance).steps[0])


# --- by hand -------------------------------------------------------------------------------------


def test_a_place_is_taken_where_pushing_back_would_cost_a_deadline() -> None:
    """Behind both, job 2 is late; before both, both are; in the place of job 0, only job 0 is.

    Completions 3, 4 and 8 beat 4, 5 and 8 of the order 0, 1, 2, which meets as many deadlines.
    """
    assert first_orders(waiting([4.0, 1.0, 3.0], [4.0, 5.0, 3.5], speed=(2.0,))) == [[2, 1, 0]]
    # If it need not hurry, it is inserted.
    assert first_orders(waiting([4.0, 1.0, 3.0], [4.0, 5.0, 8.0], speed=(2.0,))) == [[0, 1, 2]]


def test_where_nothing_is_kept_for_jobs_nobody_goes() -> None:
    instance = waiting([1.0, 1.0], [9.0, 9.0], speed=(8.0, 2.0))
    assert serve_alone(Dedas(), instance, [0.0, 0.5]).site == [1, 1]
    hopeless = waiting([1.0, 1.0], [0.1, 0.1], speed=(8.0, 2.0))
    assert serve_alone(Dedas(), hopeless, [0.0, 0.5]).site == [1, 1]
    ran = serve_alone(Dedas(), instance, 0.0, slots=3)
    assert ran.site == [-1, -1]
    assert all(step.runs.job.size == 0 for step in ran.steps)


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
    ran = serve_alone(Dedas(service=service), instance)
    orders: list[list[int]] = [[] for _ in range(instance.sites)]
    for step in ran.steps:
        orders = plain(instance, step, orders, service)
        assert order_in(step) == orders
        served = step.runs.job.tolist()
        for order in orders:
            here = [k for k in served if k in order]
            assert here == order[: len(here)]
    assert np.isfinite(ran.completion).all()


def dispatched(ran: Record) -> dict[int, int]:
    """Return the slot in which each job was sent to a site."""
    slots: dict[int, int] = {}
    for step in ran.steps:
        for k, site in zip(step.queues.jobs.job.tolist(), step.site, strict=True):
            if site >= 0:
                slots.setdefault(k, step.queues.slot)
    return slots


# --- by hand -------------------------------------------------------------------------------------


def test_a_batch_takes_what_fits_by_profit_per_work() -> None:
    """One Gcycle/s: the window from 2 has room for 2, that from 4 for 4."""
    # Profits 1/4, 1/2, 1/8 per 1 of work: the two best go at once.
    instance = waiting([1.0] * 3, [4.0, 2.0, 8.0], arrival=[1] * 3, speed=(2.0,))
    ran = serve_alone(Zhang(), instance)
    assert dispatched(ran) == {0: 2, 1: 2, 2: 4}
    assert ran.completion == [4.0, 3.0, 5.0]
    # The best per work leaves no room for the one of most profit, which goes alone.
    dense = waiting([0.5, 2.0], [8.0, 4.0], arrival=[1, 1], speed=(2.0,))
    assert dispatched(serve_alone(Zhang(), dense)) == {0: 4, 1: 2}
    # A job longer than the window waits for one in which it fits, and holds nobody up.
    long = waiting([3.0, 2.0], [1.5, 90.0], arrival=[1, 1], speed=(2.0,))
    assert dispatched(serve_alone(Zhang(), long)) == {0: 4, 1: 2}
    # Weights are profits as well.
    heavy = waiting([2.0, 2.0], [4.0, 4.0], arrival=[1, 1], weight=[1.0, 2.0], speed=(2.0,))
    assert dispatched(serve_alone(Zhang(), heavy)) == {0: 4, 1: 2}


def test_a_batch_starts_late_where_no_site_serves_jobs() -> None:
    instance = waiting([0.5] * 4, [90.0] * 4, arrival=[1, 2, 4, 5], speed=(2.0, 8.0))
    assert serve_alone(Zhang(), instance, [0.5, 0.0]).site == [0, 0, 0, 0]
    part, off = Zhang(), np.zeros(2)
    ran = serve_alone(part, instance, 0.0, slots=6)
    assert ran.site == [-1] * 4
    # Slot 5 lies in the window from 4: what came in slots 4 and 5 waits for slot 8.
    last = ran.steps[-1]
    queues = last.queues._replace(share=off + 0.5, speed=(off + 0.5) * instance.speed)
    site, memory = part.dispatch(last.memory, queues)
    assert site.tolist() == [1, 1, -1, -1]
    assert memory.next == 8


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


def batches(instance: OincInstance, ran: Record) -> list[list[list[int]]]:
    """Return the orders after each slot, from the rule alone."""
    speed = [0.5 * f for f in instance.speed]
    orders: list[list[int]] = [[] for _ in speed]
    histories, begun = [], 1
    for step in ran.steps:
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
    ran = serve_alone(Zhang(service=service), instance)
    for step, orders in zip(ran.steps, batches(instance, ran), strict=True):
        assert [list(order) for order in step.memory.orders] == orders
        served = step.runs.job.tolist()
        for order in orders:
            here = [k for k in served if k in order]
            assert here == order[: len(here)]
    assert np.isfinite(ran.completion).all()
    # Nobody starts in the window of his arrival.
    for k, slot in dispatched(ran).items():
        a = int(instance.arrival[k])
        assert slot >= (1 << a.bit_length())
        assert slot & (slot - 1) == 0


# --- both ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Dedas, Zhang])
def test_options_and_names(kind: type[Dedas | Zhang]) -> None:
    assert kind(service="slot").name == f"{kind.title}, service=slot"
    with pytest.raises(OptionError, match="service = 'whole'"):
        kind(service="whole")  # type: ignore[arg-type]
