"""Conflicts between clusters, and decisions that are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest

from edgeopt.errors import OptionError
from edgeopt.online.tapfinger import TapFingerEnvironment, TapFingerEpisode
from tests.tapfinger.scenarios import named, two_clusters

if TYPE_CHECKING:
    from edgeopt.online.tapfinger import Outcome
    from tests.tapfinger.plain import Bundle


ONE: Bundle = (1, 1)
VOID: Bundle = (0, 0)
NEITHER = [-1, -1]


def wanted_by_both(
    capacity: list[list[int]], minimum: Bundle = ONE, **options: Any
) -> TapFingerEpisode:
    """Open a scenario of one task that two clusters may run."""
    truth = two_clusters(
        capacity=capacity, minimum=[minimum, (2, 0)], arrival=[0], kind=[0], eligible=[[1, 1]]
    )
    return TapFingerEnvironment(truth, **options).episode(0)


def won(
    episode: TapFingerEpisode,
    score: tuple[float, float] | None = None,
    bundles: tuple[Bundle, Bundle] = (ONE, ONE),
    place: list[bool] | None = None,
) -> Outcome:
    starts = dict(enumerate((0, bundle) for bundle in bundles))
    return episode.act(named(2, starts, score=score, place=place))


@pytest.mark.parametrize(
    ("free", "score", "count", "ratio"),
    [
        ([[2, 2], [2, 2]], (0.5, 0.5), 0, 0),  # the first of equals
        ([[2, 2], [2, 2]], (0.5, 0.6), 1, 1),
        ([[2, 2], [3, 3]], None, 1, 1),
        ([[4, 2], [3, 3]], None, 1, 1),  # what is scarce counts
        ([[3, 3], [2, 2]], (0.5, 0.7), 0, 0),
        ([[3, 3], [2, 2]], (0.5, 0.8), 1, 0),  # 1.5 < 1.6, but 0.5 e > 0.8
        ([[3, 3], [2, 2]], (0.25, 0.7), 1, 1),  # 0.25 e < 0.7
        ([[4, 4], [1, 1]], (0.2, 1.0), 1, 0),  # 0.8 < 1, but 0.2 e^3 > 1
        ([[3, 3], [4, 4]], (0.0, 0.0), 0, 0),
        ([[3, 3], [1, 1]], (0.0, 0.01), 1, 1),
    ],
)
def test_the_largest_product_of_score_and_room_wins(
    free: list[list[int]], score: tuple[float, float] | None, count: int, ratio: int
) -> None:
    readings: tuple[tuple[Literal["count", "ratio"], int], ...] = (
        ("count", count), ("ratio", ratio),
    )  # fmt: skip
    for conflict, winner in readings:
        outcome = won(wanted_by_both(free, conflict=conflict), score)
        assert outcome.started.tolist() == ([0, -1] if winner == 0 else [-1, 0]), conflict


def test_room_is_a_whole_number_of_tasks_or_a_ratio() -> None:
    free = [[3, 2], [3, 3]]  # twice (2, 2) fits into neither
    for conflict, started in ("count", [0, -1]), ("ratio", [-1, 0]):
        episode = wanted_by_both(free, (2, 2), conflict=conflict)
        assert won(episode, bundles=((2, 2), (2, 2))).started.tolist() == started


def test_what_a_task_does_not_need_is_no_lack_of_room() -> None:
    free = [[3, 0], [2, 2]]
    for conflict in ("count", "ratio"):
        episode = wanted_by_both(free, (1, 0), conflict=conflict)
        assert won(episode, bundles=((1, 0), (1, 0))).started.tolist() == [0, -1]


@pytest.mark.parametrize("conflict", ["count", "ratio"])
def test_room_is_what_is_left_when_bundles_have_changed(
    conflict: Literal["count", "ratio"],
) -> None:
    truth = two_clusters(
        minimum=[[1, 0], [2, 0]], arrival=[0, 0], kind=[0, 0], eligible=[[1, 0], [1, 1]]
    )
    one = (1, 0)
    for other, started in ({}, [-1, 1]), ({0: (2, 0)}, [1, -1]), ({0: (3, 1)}, [-1, 1]):
        episode = TapFingerEnvironment(truth, conflict=conflict).episode(0)
        episode.act(named(2, {0: (0, (3, 0))}))  # leaves one CPU core of four, there are two else
        outcome = episode.act(named(2, {0: (1, one), 1: (1, one)}, other=other or None))
        assert outcome.started.tolist() == started


def test_a_winner_that_gives_nothing_loses_the_round_unless_it_passes_the_task_on() -> None:
    free = [[3, 3], [2, 2]]
    outcome = won(wanted_by_both(free), bundles=(VOID, ONE))
    assert (outcome.started.tolist(), outcome.elapsed) == (NEITHER, True)
    outcome = won(wanted_by_both(free, pass_on=True), bundles=(VOID, ONE))
    assert (outcome.started.tolist(), outcome.elapsed) == ([-1, 0], False)
    for pass_on in (False, True):
        outcome = won(wanted_by_both(free, pass_on=pass_on), bundles=(ONE, VOID))
        assert outcome.started.tolist() == [0, -1]
        assert won(wanted_by_both(free, pass_on=pass_on), bundles=(VOID, VOID)).elapsed


def test_a_winner_that_lets_the_task_wait_there_gives_something() -> None:
    for pass_on in (False, True):
        episode = wanted_by_both([[3, 3], [2, 2]], pass_on=pass_on)
        outcome = won(episode, bundles=(VOID, ONE), place=[True, False])
        assert outcome.started.tolist() == [0, -1]


def test_losses_are_those_of_clusters_that_would_have_started_the_task() -> None:
    free = [[3, 3], [2, 2]]
    for bundles, pass_on, lost in (
        ((ONE, ONE), False, 1),
        ((VOID, ONE), False, 1),
        ((ONE, VOID), False, 0),
        ((VOID, VOID), False, 0),
        ((VOID, ONE), True, 0),
        ((ONE, ONE), True, 1),
    ):
        episode = wanted_by_both(free, pass_on=pass_on)
        won(episode, bundles=bundles)
        assert episode.lost == lost, (bundles, pass_on)


def test_conflicts_about_two_tasks_are_settled_apart() -> None:
    truth = two_clusters(
        capacity=[[2, 2], [4, 4], [3, 3], [3, 3]],
        speed=two_clusters().speed[0],
        arrival=[0, 0], kind=[0, 0], eligible=[[1] * 4] * 2,
    )  # fmt: skip
    for tasks, started in ([0, 1, 0, 1], [-1, 1, 0, -1]), ([0, 0, 1, 1], [-1, 0, 1, -1]):
        episode = TapFingerEnvironment(truth).episode(0)
        outcome = episode.act(named(4, {n: (task, ONE) for n, task in enumerate(tasks)}))
        assert outcome.started.tolist() == started


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
    # Nothing of it has been carried out: the run goes on as if the decision had not been made.
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
