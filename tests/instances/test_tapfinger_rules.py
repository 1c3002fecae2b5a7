"""Bad data are refused with field, index, value and rule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from edgeopt.errors import InstanceError
from edgeopt.instances.tapfinger import TapFingerInstance, from_durations
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import LEAN, draws
from tests.instances.rules import Rules, check
from tests.tapfinger.strategies import scheduling_problems


def sound() -> dict:
    """Two clusters, two kinds of tasks, three tasks, bundles up to (2, 2)."""
    return {
        "capacity": [[2, 1], [4, 0]],
        "minimum": [[1, 1], [2, 0]],
        "speed": [
            [[0, 0, 0], [0, 0.5, 0.25], [0, 0.5, 1.0]],
            [[0, 0, 0], [0, 0, 0], [0.25, 0.2, 0.3]],
        ],
        "arrival": [0, 0, 3],
        "kind": [0, 1, 1],
        "eligible": [[1, 0], [1, 1], [0, 1]],
    }


put, refused = Rules(TapFingerInstance, sound).put, Rules(TapFingerInstance, sound).refused


def test_sound_data_are_accepted():
    instance = TapFingerInstance(**sound())
    assert (instance.clusters, instance.task_kinds, instance.tasks) == (2, 2, 3)
    assert instance.largest == (2, 2)
    assert instance.speed.shape == (2, 2, 3, 3)
    assert instance.weight.tolist() == [1.0, 1.0, 1.0]
    assert instance.slowing.tolist() == [False, False]
    assert (instance.noise, instance.switching, instance.pending) == (0.0, 0.5, 10)
    assert instance.single_start is False
    assert instance.eligible.dtype == bool
    for name in ("capacity", "minimum", "speed", "arrival", "kind", "eligible", "duration"):
        assert not getattr(instance, name).flags.writeable, name
    assert repr(instance) == "TapFingerInstance(clusters=2, tasks=3, kinds=2, largest=(2, 2))"


def test_durations_by_hand():
    instance = TapFingerInstance(**sound())
    # Cluster 0 has one GPU, cluster 1 none.
    assert instance.duration[0].tolist() == [
        [[0, 0, 0], [0, 2, 0], [0, 2, 0]],
        [[0, 0, 0], [0, 0, 0], [4, 5, 0]],
    ]
    assert instance.duration[1, 0].max() == 0
    assert instance.duration[1, 1, 2].tolist() == [4, 0, 0]
    # 0.3 * sqrt(1.2) = 0.329 in the first slot, then 0.280, 0.231, 0.180: 1.020 after four.
    slow = TapFingerInstance(**{**sound(), "slowing": [True, True], "capacity": [[2, 2], [4, 2]]})
    assert slow.duration[1, 1, 2].tolist() == [5, 7, 4]


def test_entries_below_the_smallest_bundle_mean_nothing():
    plain = TapFingerInstance(**sound())
    for nothing in (np.nan, np.inf, -3.0, 9.0):
        other = TapFingerInstance(**{**sound(), "speed": put("speed", (0, 0), nothing)})
        assert other == plain


def test_clusters_that_cannot_hold_a_task_are_taken_out():
    instance = TapFingerInstance(**{**sound(), "eligible": np.ones((3, 2))})
    assert instance.eligible.tolist() == [[True, False], [True, True], [True, True]]


@pytest.mark.parametrize(
    ("field", "value", "index", "found", "rule"),
    [
        ("capacity", put("capacity", (1, 1), -1), (1, 1), -1, "must not be negative"),
        ("capacity", put("capacity", (0, 1), 2**40), (0, 1), 2**40, "must be at most 1000000"),
        ("capacity", put("capacity", (0, 0), 1.5), (0, 0), 1.5, "whole number"),
        ("capacity", [[2, 1, 0], [4, 0, 0]], None, "array of shape (2, 3)", "'resource'"),
        ("minimum", put("minimum", (0, 1), -1), (0, 1), -1, "must not be negative"),
        ("minimum", put("minimum", 1, 0), (1,), 0, "must ask for a CPU core or a GPU"),
        # Either resource alone would fit somewhere.
        ("minimum", [[4, 1], [2, 0]], (0,), (4, 1), "must be at most the capacity of some cluster"),
        ("minimum", [[1, 1], [3, 0]], (1, 0), 3, r"largest bundle of the table, \(2, 2\)"),
        ("speed", put("speed", (0, 2, 1), 0), (0, 0, 2, 1), 0.0, "a hole"),
        ("speed", put("speed", (1, 2, 0), np.nan), (0, 1, 2, 0), np.nan, "a hole"),
        ("speed", put("speed", (1, 2, 2), np.inf), (0, 1, 2, 2), np.inf, "a hole"),
        ("speed", put("speed", (0, 1, 2), -1), (0, 0, 1, 2), -1.0, "a hole"),
        ("speed", put("speed", (0, 1, 2), 1e-7), (0, 0, 1, 2), 1e-7, "within a million slots"),
        ("speed", sound()["speed"][:1], None, "array of shape (2, 1, 3, 3)", "'kind'"),
        ("speed", np.ones(3), None, "array of shape (3,)", "axes"),
        ("speed", "fast", None, "dtype <U4", "real numbers"),
        ("arrival", [-1, 0, 3], (0,), -1, "must not be negative"),
        ("arrival", [0, 0, 10**9], (2,), 10**9, "must be at most 1000000"),
        ("arrival", [0, 2, 1], (2,), 1, "must ascend"),
        ("kind", [0, 1, 2], (2,), 2, "must be one of the 2 kinds"),
        ("kind", [0, -1, 1], (1,), -1, "must be one of the 2 kinds"),
        ("kind", [0, 1], None, "array of shape (2,)", "3 entries along its axis 'task'"),
        ("eligible", put("eligible", 1, 0), (1,), 0, "must name a cluster on which the task may"),
        ("eligible", put("eligible", 0, [0, 1]), (0,), "clusters [1]", r"smallest bundle.*\(1, 1"),
        ("eligible", put("eligible", (2, 1), 2), (2, 1), 2, "must be 0 or 1"),
        ("eligible", [[1, 0], [1, 1]], None, "array of shape (2, 2)", "3 entries"),
        ("slowing", [1, 2], (1,), 2, "must be 0 or 1"),
        ("weight", [1.0, -1.0, 1.0], (1,), -1.0, "must not be negative"),
        ("weight", [1.0, 1.0, 1e51], (2,), 1e51, r"must be at most 1e\+50"),
        ("weight", [1.0, np.nan, 1.0], (1,), np.nan, "must be finite"),
        ("noise", 1.5, (), 1.5, r"\[0, 1\]"),
        ("noise", -0.1, (), -0.1, r"\[0, 1\]"),
        ("switching", 2.0, (), 2.0, r"\[0, 1\]"),
        ("pending", 0, (), 0, "at least 1"),
        ("single_start", 2, (), 2, "must be 0 or 1"),
        ("slot_seconds", 0.0, (), 0.0, "must be positive"),
        ("names", ("a",), None, 1, "2 texts, one per cluster"),
        ("kinds", ("a", ""), (1,), "''", "one line"),
        ("origin", 3, None, 3, "must be a text"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_named(field, value, index, found, rule):
    check(refused(**{field: value}), field, index, found, rule)


# --- tables of durations --------------------------------------------------------------------


def timed() -> dict:
    return {
        "duration": [
            [[None, None], [None, 4.0]],
            [[0, np.nan], [2.5, 1.0]],
        ],
        "minimum": [[1, 1], [1, 0]],
        "capacity": [[2, 1], [1, 1]],
        "arrival": [0, 1],
        "kind": [0, 1],
    }


def test_tables_of_durations_by_hand():
    instance = from_durations(**timed())
    assert instance.duration[0].tolist() == [[[0, 0], [0, 4]], [[0, 0], [3, 1]]]
    assert (instance.duration[0] == instance.duration[1]).all()
    assert instance.eligible.all()
    own = np.stack([np.array(timed()["duration"], dtype=float) * n for n in (1, 2)])
    instance = from_durations(**{**timed(), "duration": own}, weight=[1, 2], eligible=[[1, 0]] * 2)
    assert instance.duration[1].tolist() == [[[0, 0], [0, 8]], [[0, 0], [5, 2]]]
    assert instance.weight.tolist() == [1, 2]
    assert instance.eligible.tolist() == [[True, False]] * 2
    compact_repr = from_durations(**timed(), seconds=True, slot_seconds=2.0)
    assert compact_repr.duration[0].tolist() == [[[0, 0], [0, 2]], [[0, 0], [2, 1]]]
    assert compact_repr.slot_seconds == 2.0


def test_whole_durations_are_kept():
    slots = np.arange(1, 5000)
    table = np.concatenate([[np.nan], slots])[None, :, None]
    instance = from_durations(
        table, minimum=[[1, 0]], capacity=[[5000, 0]], arrival=[], kind=[], eligible=None
    )
    assert instance.duration[0, 0, 1:, 0].tolist() == slots.tolist()
    assert instance.tasks == 0


def hole(value, index=(0, 1, 1), clusters=False):
    table = np.array(timed()["duration"], dtype=np.float64)
    if clusters:
        table = np.stack([table, table])
    table[index] = value
    return table


@pytest.mark.parametrize(
    ("field", "value", "index", "rule"),
    [
        ("duration", hole(np.nan), (0, 1, 1), "a hole in the table"),
        ("duration", hole(np.inf), (0, 1, 1), "a hole in the table"),
        ("duration", hole(0.0, (1, 1, 0)), (1, 1, 0), "must be positive"),
        ("duration", hole(-2.0), (0, 1, 1), "= -2.0: must be positive"),
        ("duration", hole(np.nan, (1, 0, 1, 1), clusters=True), (1, 0, 1, 1), "a hole"),
        ("duration", [[[0, 0], [0, None]], [[0, 0], [1, 1]]], (0, 1, 1), "a hole in the table"),
        ("duration", [[[0, 0], [0]], [[0, 0], [1, 1]]], None, "rectangular"),
        ("duration", [["slow"]], None, "real numbers"),
        ("duration", np.ones((2, 2)), None, "axes"),
        ("duration", np.ones((3, 2, 2)), None, "2 entries along its axis 'kind'"),
        ("speed", np.ones((3, 2, 2, 2)), None, "2 entries along its axis 'cluster'"),
        ("speed", hole(2e6), (0, 0, 1, 1), "within a million slots"),
        ("minimum", [[1, 2], [1, 0]], (0,), "must be at most the capacity of some cluster"),
        ("minimum", [[2, 1], [1, 0]], (0, 0), r"largest bundle of the table, \(1, 1\)"),
        ("arrival", [1, 0], (1,), "must ascend"),
        ("kind", [0, 2], (1,), "one of the 2 kinds"),
        ("eligible", [[0, 0], [1, 1]], (0,), "must name a cluster"),
        ("capacity", [[1.5, 1]], (0, 0), "whole number"),
    ],
)
def test_a_broken_rule_of_a_table_is_named(field, value, index, rule):
    name = "duration" if field == "speed" else field
    error = Rules(from_durations, timed).refused(**{name: value})
    assert (error.field, error.index) == (field, index)
    with pytest.raises(InstanceError, match=rule):
        raise error


# --- what tests draw ------------------------------------------------------------------------


@given(tapfinger_instances())
@settings(max_examples=draws(60))
def test_durations_follow_from_the_law(instance):
    """Progress slot by slot, in plain Python, for every bundle that a cluster can hold."""
    for n, k, cpu, gpu in np.ndindex(instance.speed.shape):
        room, least = instance.capacity[n].tolist(), instance.minimum[k].tolist()
        fits = least[0] <= cpu <= room[0] and least[1] <= gpu <= room[1]
        slots, progress = 0, 0.0
        while fits and progress < 1 - 1e-9:
            slow = max(0.0, 1.2 - progress) ** 0.5 if instance.slowing[k] else 1.0
            progress += instance.speed[n, k, cpu, gpu] * slow
            slots += 1
        assert instance.duration[n, k, cpu, gpu] == slots
    assert instance.duration.max() <= 6
    runs = (instance.duration > 0).any(axis=(2, 3)).T[instance.kind]
    assert (instance.eligible <= runs).all()
    assert instance.eligible.any(axis=1).all()


def test_draws_reach_the_corners():
    seen: dict[str, int] = {}

    def note(**facts):
        for name, fact in facts.items():
            seen[name] = seen.get(name, 0) + bool(fact)

    @given(tapfinger_instances(noise=None), scheduling_problems())
    @settings(max_examples=100, database=None)
    def draw(instance, problem):
        slots = instance.duration[instance.duration > 0]
        used = instance.duration
        note(
            single=instance.single_start,
            several=not instance.single_start,
            noise=instance.noise > 0,
            weights=(instance.weight != 1).any(),
            together=(np.diff(instance.arrival) == 0).any(),
            uneven=(used[0] != used[-1]).any(),
            slower=(np.diff(used, axis=3) > 0)[used[..., :-1] > 0].any(),
            no_gpu=(instance.minimum[:, 1] == 0).any(),
            no_cpu=(instance.minimum[:, 0] == 0).any(),
            choice=(instance.eligible.sum(axis=1) > 1).any(),
            ties=slots.size > np.unique(slots).size,
            four=instance.tasks == 4,
            three=problem.clusters == 3,
            busy=problem.occupied.any(),
            started=problem.started.any(),
            gap=(problem.duration[:, :, 1:-1] == 0).any(),
        )

    draw()
    assert min(seen.values()) >= (5 if LEAN else 10), seen
