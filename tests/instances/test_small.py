"""Small random instances are what their descriptions say."""

from __future__ import annotations

import numpy as np
import pytest

from edgeopt.instances import edr, idn, oinc, rescue, tapfinger
from edgeopt.instances.edr.random_parts import reference
from tests.draws import LEAN


def test_small_instances_of_rescue_cover_their_range():
    instances = [rescue.small(seed) for seed in range(300)]
    assert {i.servers for i in instances} == {1, 2}
    assert {i.devices for i in instances} == {1, 2, 3}
    assert {i.profiles for i in instances} == {1, 2}
    assert {i.horizon for i in instances} == {1, 2, 3, 4}
    assert {i.max_duration for i in instances} == {1, 2, 3}
    assert {len(i.reserved) for i in instances} == {0, 1, 2, 3}
    for i in instances:
        assert (i.capacity == np.round(i.capacity)).all()
        assert (i.reserved.demand == np.round(i.reserved.demand)).all()
    assert not any(len(rescue.small(seed, reserved=False).reserved) for seed in range(50))
    many = [
        rescue.small(seed, arrivals="independent").arrival.sum(axis=1).max() for seed in range(50)
    ]
    assert max(many) > 1
    assert rescue.small(0, beyond="drop").beyond == "drop"


@pytest.mark.parametrize("own_cost", [False, True])
def test_small_instances_of_idn_are_small_and_various(own_cost):
    seen = set()
    useful = 0
    for seed in range(200):
        instance = idn.small(seed, own_cost=own_cost)
        sizes = (instance.nodes, instance.tasks, instance.models, instance.types, instance.horizon)
        assert all(n <= most for n, most in zip(sizes, (5, 3, 6, 4, 4), strict=True))
        assert instance.path[:, 0].min() >= 1  # requests enter outside the repository
        assert (instance.cost is not None) == own_cost
        seen.add(sizes)
        ranking = instance.ranking
        gains = ranking.cost < ranking.repository_cost[ranking.type]
        useful += bool((gains & instance.active[ranking.node]).any())
    assert len(seen) > 100
    assert useful > 120


def test_small_instances_of_oinc_are_small_and_varied():
    drawn = [oinc.small(seed) for seed in range(60)]
    for name, least, most in (("slots", 1, 3), ("devices", 1, 3), ("sites", 1, 3), ("jobs", 0, 3)):
        sizes = [getattr(instance, name) for instance in drawn]
        assert (min(sizes), max(sizes)) == (least, most)
    alone = [
        (i.transmission_seconds + i.computation_seconds).min(axis=2)[i.active] <= i.slo[i.active]
        for i in drawn
    ]
    assert 0.6 < np.concatenate(alone).mean() < 1


def test_small_instances_of_edr_have_a_bit_of_everything():
    seen = dict.fromkeys(("capped", "free", "idle", "pruned", "crowded", "tight"), 0)
    seeds = 60 if LEAN else 200
    for seed in range(seeds):
        instance = edr.small(seed)
        assert instance.frames <= 3
        assert instance.slots <= 2
        assert instance.sites <= 3
        assert instance.tasks <= 3
        assert instance.types <= 2
        usual = reference(instance)
        seen["capped"] += np.isfinite(instance.cap).any()
        seen["free"] += np.isinf(instance.cap).any()
        seen["tight"] += (instance.cap < usual.inference).any()
        seen["idle"] += instance.tasks == 0
        local = (instance.requests @ instance.request_work).max(axis=(0, 1))
        seen["crowded"] += (local > instance.capacity).any()
        for t, d in np.ndindex(instance.frames, instance.slots):
            seconds = instance.request_seconds(t, d)
            route = (seconds <= instance.slo[t, d]) & instance.capable
            assert route.any(axis=1).all()
            seen["pruned"] += (instance.capable & (seconds > instance.slo[t, d])).any()
    assert min(seen.values()) > 0.1 * seeds, seen
    assert seen["pruned"] > 0.75 * seeds, seen


def test_small_instances_of_tapfinger_differ_and_stay_small():
    instances = [tapfinger.small(seed) for seed in range(200)]
    assert len(set(instances)) == 200
    for field, sizes in (("clusters", 3), ("tasks", 4), ("task_kinds", 2)):
        assert {getattr(instance, field) for instance in instances} == set(range(1, sizes + 1))
    assert all(instance.largest == (3, 3) for instance in instances)
    assert max(instance.duration.max() for instance in instances) <= 5
    assert {instance.single_start for instance in instances} == {True, False}
