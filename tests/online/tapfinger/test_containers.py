"""Optimus and Tiresias for containers, by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from edgeopt.errors import OptionError
from edgeopt.online.tapfinger.policies.containers import OptimusContainers, TiresiasContainers
from tests.online.tapfinger.plain_baselines import seen, written
from tests.online.tapfinger.served import gpus

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance

Starts = dict[int, tuple[int, tuple[int, int]]]


def started(policy: Any, instance: TapFingerInstance, view: Any) -> Starts:
    state = policy.start(instance)
    starts, other = written(policy.decide(state, view, np.random.default_rng(0))[0])
    assert not other
    return starts


# --- Optimus -------------------------------------------------------------------------------------


def test_the_task_that_gains_most_gpus_is_started() -> None:
    """A kind that is as fast with one GPU gains nothing, however old it is."""
    table = [[[0.0, 0.25, 0.25, 0.25]], [[0.0, 0.25, 0.34, 0.5]]]
    instance = gpus([0] * 3, kind=[0, 1, 1], minimum=[[0, 1]] * 2, speed=table)
    policy = OptimusContainers()
    # Beyond one GPU each that costs nothing here, four are handed out: two to tasks 1 and 2 each.
    assert started(policy, instance, seen(instance, [[0, 1, 2]])) == {0: (1, (0, 3))}
    one_free = seen(instance, [[0, 1, 2]], {9: {"bundle": (0, 3)}})
    assert started(policy, instance, one_free) == {0: (1, (0, 1))}
    assert started(policy, instance, seen(instance, [[0]])) == {0: (0, (0, 1))}
    assert started(policy, instance, seen(instance, [[1]], {9: {"bundle": (0, 4)}})) == {}


def test_the_last_cluster_chooses_first() -> None:
    instance = gpus([0, 0], clusters=3)
    view = seen(instance, [[0, 1]] * 3)
    expected = {2: (0, (0, 3)), 1: (1, (0, 3))}
    assert started(OptimusContainers(), instance, view) == expected
    shared = {2: (0, (0, 2)), 1: (1, (0, 2))}
    assert started(TiresiasContainers(), instance, view) == shared


def test_a_task_that_does_not_fit_is_left_to_other_clusters() -> None:
    instance = gpus([0], clusters=2)
    full = seen(instance, [[0], [0]], {9: {"bundle": (0, 4), "cluster": 1}})
    for policy in (OptimusContainers(), TiresiasContainers()):
        assert started(policy, instance, full) == {0: (0, (0, 3))}


# --- Tiresias ------------------------------------------------------------------------------------


def wide(tasks: int, minimum: tuple[int, int] = (1, 1), largest: int = 9) -> TapFingerInstance:
    speed = np.full((1, largest + 1, largest + 1), 0.1)
    return gpus([0] * tasks, capacity=[[9, 8]], minimum=[minimum], speed=speed)


def test_the_oldest_has_an_equal_share_rounded_up() -> None:
    policy, instance = TiresiasContainers(), wide(4)
    assert started(policy, instance, seen(instance, [[0]])) == {0: (0, (9, 8))}
    assert started(policy, instance, seen(instance, [[1, 2]])) == {0: (1, (5, 4))}
    beside = {9: {"bundle": (5, 4)}, 8: {"bundle": (1, 1)}}
    # Four share 9 and 8: (3, 2); but of the GPUs one less is free.
    assert started(policy, instance, seen(instance, [[2, 3]], beside)) == {0: (2, (3, 2))}
    beside[8] = {"bundle": (3, 3)}
    assert started(policy, instance, seen(instance, [[2, 3]], beside)) == {0: (2, (1, 1))}


def test_no_task_has_more_than_it_can_or_less_than_it_must() -> None:
    policy = TiresiasContainers()
    instance = wide(2, largest=6)
    assert started(policy, instance, seen(instance, [[0]])) == {0: (0, (6, 6))}
    instance = wide(4, minimum=(4, 3))
    # An equal share would be (3, 2).
    assert started(policy, instance, seen(instance, [[0, 1, 2, 3]])) == {0: (0, (4, 3))}
    held = {9: {"bundle": (4, 6)}}
    assert started(policy, instance, seen(instance, [[0, 1, 2]], held)) == {}


def test_options_and_names() -> None:
    assert OptimusContainers().name == "Optimus containers"
    assert OptimusContainers(fit="published").name == "Optimus containers, fit=published"
    with pytest.raises(OptionError, match="fit = 'good'"):
        OptimusContainers(fit="good")  # type: ignore[arg-type]
