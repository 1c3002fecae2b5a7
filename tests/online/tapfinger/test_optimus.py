"""Optimus by hand: who joins, and where units go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from edgeopt import simulate
from edgeopt.errors import OptionError
from edgeopt.online.tapfinger import TapFingerEnvironment
from edgeopt.online.tapfinger.policies.optimus import Optimus
from tests.online.tapfinger.plain_baselines import seen, written
from tests.online.tapfinger.served import gpus

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance


def decided(instance: TapFingerInstance, view: Any, policy: Any = None) -> Any:
    policy = policy or Optimus()
    state = policy.start(instance)
    return written(policy.decide(state, view, np.random.default_rng(0))[0])


def test_units_go_where_they_shorten_most_per_unit_there() -> None:
    """With 1, 2, 3 GPUs a task takes 4, 2.94 and 2 slots: gains 1.06 and 0.94 / 2 per GPU."""
    instance = gpus([0, 0, 0])
    assert decided(instance, seen(instance, [[0]])) == ({0: (0, (0, 3))}, {})
    alone = {0: {"bundle": (0, 3)}}
    assert decided(instance, seen(instance, [[1]], alone)) == ({0: (1, (0, 2))}, {0: (0, 2)})
    # One GPU is left beside three tasks; of those that gain as much, the first placed has it.
    both = {0: {"bundle": (0, 2)}, 1: {"bundle": (0, 2)}}
    shared = decided(instance, seen(instance, [[2]], both))
    assert shared == ({0: (2, (0, 1))}, {1: (0, 1)})


def test_what_is_left_of_a_task_counts() -> None:
    instance = gpus([0, 0, 0])
    both = {0: {"bundle": (0, 2), "progress": 0.5}, 1: {"bundle": (0, 2), "progress": 0.4}}
    assert decided(instance, seen(instance, [[]], both)) == ({}, {})
    ahead = {0: {"bundle": (0, 2), "progress": 0.8}, 1: {"bundle": (0, 2)}}
    # 0.2 * 1.06 < 0.94 / 2.
    assert decided(instance, seen(instance, [[]], ahead)) == ({}, {0: (0, 1), 1: (0, 3)})
    shared = decided(instance, seen(instance, [[2]], both))
    assert shared == ({0: (2, (0, 2))}, {0: (0, 1), 1: (0, 1)})


def test_the_oldest_joins_as_long_as_all_smallest_bundles_fit() -> None:
    instance = gpus([0] * 5)
    full = {j: {"bundle": (0, 1)} for j in range(4)}
    assert decided(instance, seen(instance, [[4]], full)) == ({}, {})
    two = {
        "capacity": [[4, 4]],
        "minimum": [[3, 1], [2, 1], [1, 1]],
        "kind": [0, 1, 2],
        "speed": np.ones((3, 5, 5)),
        "eligible": np.ones((3, 1), dtype=bool),
    }
    several = gpus([0] * 3, **two)
    # Task 1 needs two of one CPU core that is left, and task 2 waits behind it.
    assert decided(several, seen(several, [[1, 2]], {0: {"bundle": (3, 1)}})) == ({}, {})
    assert decided(several, seen(several, [[2]], {0: {"bundle": (3, 1)}}))[0] == {0: (2, (1, 1))}


def test_clusters_in_turn_take_different_tasks() -> None:
    instance = gpus([0, 0], clusters=3)
    starts = {0: (0, (0, 3)), 1: (1, (0, 3))}
    assert decided(instance, seen(instance, [[0, 1]] * 3)) == (starts, {})


def test_cpu_cores_and_gpus_compete() -> None:
    """Slots 6 / GPUs + 6 GPUs / CPU cores + CPU cores, which the fit meets."""
    cpu, gpu = np.maximum(np.indices((6, 6)), 1)
    data = {
        "capacity": [[5, 5]],
        "minimum": [[1, 1]],
        "speed": [1 / (6 / gpu + 6 * gpu / cpu + cpu)],
    }
    instance = gpus([0], **data)
    # 13 at (1, 1); 11 with a second CPU core, 16 with a second GPU; then 11 with a third.
    assert decided(instance, seen(instance, [[0]])) == ({0: (0, (2, 1))}, {})


def test_a_flat_table_hands_nothing_out() -> None:
    flat = gpus([0], capacity=[[8, 8]], minimum=[[2, 1]], speed=np.full((1, 9, 9), 0.3))
    assert decided(flat, seen(flat, [[0]])) == ({0: (0, (2, 1))}, {})


def test_a_change_of_bundle_costs_half_a_slot() -> None:
    """Task 0 makes 0.5 with 3 GPUs, then 0.34 / 2 with 2, then 0.34: complete after slot 2.

    Task 1 makes 0.34 twice, 0.5 / 2 when it has 3 instead of 2 GPUs, and then 0.5.
    """
    instance = gpus([0, 1])
    trajectory = simulate(TapFingerEnvironment(instance), Optimus(), runs=1)
    assert trajectory.completion[0].tolist() == [3, 5]
    assert trajectory.preemptions[0].tolist() == [1, 1]
    assert trajectory.used[0, :, 0, 1].tolist() == [3, 4, 4, 3, 3]


def test_the_published_fit_gives_cpu_cores_that_do_nothing() -> None:
    cpu, gpu = np.indices((17, 17))
    speed = np.where((cpu >= 2) & (gpu >= 1), np.tanh(gpu / 16), 0.0)
    instance = gpus([0, 0], capacity=[[16, 16]], minimum=[[2, 1]], speed=[speed])
    view = seen(instance, [[1]], {0: {"bundle": (2, 1)}})
    right, wrong = decided(instance, view), decided(instance, view, Optimus(fit="published"))
    assert right == ({0: (1, (2, 8))}, {0: (2, 8)})
    assert wrong[0][0][1][0] > 2
    assert wrong[1][0][0] > 2


def test_options_and_names() -> None:
    assert Optimus(fit="published").name == "Optimus, fit=published"
    with pytest.raises(OptionError, match="fit = 'good': must be one of 'correct', 'published'"):
        Optimus(fit="good")  # type: ignore[arg-type]
