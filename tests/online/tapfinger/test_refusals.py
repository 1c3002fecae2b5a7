"""Decisions that cannot be carried out are refused with the slot and the reason, as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from edgeopt.errors import OptionError
from edgeopt.online.tapfinger import TapFingerEnvironment, TapFingerEpisode
from tests.online.tapfinger.lives import named, two_clusters


def underway(**options: Any) -> TapFingerEpisode:
    """Run task 0 on cluster 0 with (2, 1) since slot 0, of which slot 1 has begun."""
    episode = TapFingerEnvironment(two_clusters(arrival=[0, 0, 0, 9]), **options).episode(0)
    episode.act(named(2, {0: (0, (2, 1))}))
    episode.act(named(2))
    return episode


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (named(2, {0: (0, (1, 1))}), "slot 1.*task 0 on cluster 0.*not pending"),
        (named(2, {1: (1, (2, 0))}), "slot 1.*task 1 on cluster 1.*not pending"),
        (named(2, {0: (3, (1, 1))}), "task 3 on cluster 0.*not pending"),
        (named(2, {0: (4, (1, 1))}), "task 4 on cluster 0.*not pending"),
        (named(2, {0: (-2, (1, 1))}), "task -2 on cluster 0.*not pending"),
        (named(2, {0: (1, (1, 0))}), "task 1 on cluster 0.*smallest"),
        (named(2, {1: (2, (0, 1))}), "task 2 on cluster 1.*smallest"),
        (named(2, {0: (1, (3, 0))}), "task 1 on cluster 0.*free"),
        (named(2, {0: (1, (2, 2))}), "task 1 on cluster 0.*free"),
        (named(2, {0: (1, (4, 0))}), "task 1 on cluster 0.*none"),
        (named(2, {0: (1, (-1, 0))}), "task 1 on cluster 0.*none"),
        (named(2, {1: (2, (1, 3))}), "task 2 on cluster 1.*none"),
        (named(2, {0: (1, (3, 0))}, place=[True, True]), "task 1 on cluster 0.*free"),
        (named(2, {0: (1, (2, 1))}, other={0: (3, 1)}), "task 1 on cluster 0.*free"),
        (named(2, score=[0.5, 1.5]), "cluster 1.*\\[0, 1\\]"),
        (named(2, {0: (1, (2, 0))}, score=[-0.1, 0.5]), "cluster 0.*\\[0, 1\\]"),
        (named(2, {0: (1, (2, 0))}, score=[np.nan, 0.5]), "cluster 0.*\\[0, 1\\]"),
        (named(2, other={1: (1, 0)}), "slot 1.*task 1.*not run"),
        (named(2, other={3: (1, 0)}), "task 3.*not run"),
        (named(2, other={-1: (1, 0)}), "task -1.*not run"),
        (named(2, other={7: (1, 0)}), "task 7.*not run"),
        (named(2, other={0: (4, 0)}), "task 0 on cluster 0.*none"),
        (named(2, other={0: (0, 3)}), "task 0 on cluster 0.*none"),
        (named(2, other={0: (-1, 1)}), "task 0 on cluster 0.*none"),
    ],
)
def test_an_impossible_round_is_refused(decision: Any, message: str) -> None:
    episode = underway()
    before = episode.observe()
    with pytest.raises(OptionError, match=message):
        episode.act(decision)
    assert episode.observe() is before
    # Nothing of it has been carried out: the run goes on as if nobody had asked.
    spoiled, clean = episode, underway()
    for run in (spoiled, clean):
        run.act(named(2, {0: (1, (2, 0))}))
        run.act(named(2))
    one, two = spoiled.observe(), clean.observe()
    assert one is not None
    assert two is not None
    for name in ("free", "pending", "waiting", "crowd"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    for left, right in zip(one.running, two.running, strict=True):
        assert np.array_equal(left, right)


def test_more_than_a_cluster_has_is_refused() -> None:
    episode = underway()
    episode.act(named(2, {0: (1, (2, 0))}))
    with pytest.raises(OptionError, match="cluster 0"):
        episode.act(named(2, other={0: (3, 1)}))
    with pytest.raises(OptionError, match="cluster 0"):
        episode.act(named(2, other={0: (2, 2), 1: (2, 1)}))
    episode.act(named(2, other={0: (1, 1), 1: (3, 1)}))


def test_a_task_changes_once_per_round() -> None:
    twice = named(2, other={0: (1, 1)})._replace(
        changed=np.array([0, 0]), other=np.array([[1, 1], [2, 1]])
    )
    with pytest.raises(OptionError, match="task 0 twice"):
        underway().act(twice)


def test_a_complete_task_no_longer_runs() -> None:
    episode = underway()
    while not episode.act(named(2)).completed.size:
        pass
    with pytest.raises(OptionError, match=r"task 0.*not run"):
        episode.act(named(2, other={0: (1, 1)}))


def test_bundles_stay_where_there_is_no_preemption() -> None:
    episode = underway(preemption=False)
    with pytest.raises(OptionError, match=r"slot 1.*task 0"):
        episode.act(named(2, other={0: (1, 1)}))
    nobody = np.zeros(0, dtype=int)
    episode.act(named(2)._replace(changed=nobody, other=nobody.reshape(0, 2)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": np.zeros(3, dtype=int)}, "task"),
        ({"task": np.array([0.5, 0.5])}, "task"),
        ({"bundle": np.zeros((2, 3), dtype=int)}, "bundle"),
        ({"bundle": np.zeros((2, 2))}, "bundle"),
        ({"score": np.zeros(1)}, "score"),
        ({"place": np.zeros((2, 1), dtype=bool)}, "place"),
        ({"changed": np.zeros(1, dtype=int)}, "other"),
        ({"changed": np.zeros(1, dtype=int), "other": np.zeros((2, 2), dtype=int)}, "other"),
        ({"other": np.zeros((1, 2), dtype=int)}, "changed"),
    ],
)
def test_an_array_of_another_shape_or_type_is_refused(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        underway().act(named(2, {0: (1, (2, 0))})._replace(**changes))


def test_a_run_that_is_over_takes_no_decision_and_a_run_takes_nothing_else() -> None:
    truth = two_clusters(arrival=[0], kind=[0], eligible=[[1, 0]])
    episode = TapFingerEnvironment(truth).episode(0)
    with pytest.raises(OptionError, match="must be a Decision"):
        episode.act("start")  # type: ignore[arg-type]
    episode.act(named(2, {0: (0, (3, 2))}))
    for _ in range(2):
        assert episode.observe() is not None
        episode.act(named(2))
    assert episode.observe() is None
    with pytest.raises(OptionError, match="over"):
        episode.act(named(2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"refill": "never"}, "refill"),
        ({"conflict": "coin"}, "conflict"),
        ({"patience": 0}, "patience"),
    ],
)
def test_unknown_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        TapFingerEnvironment(two_clusters(), **options)
