"""Who wins a task that several clusters name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest

from edgeopt.online.tapfinger import TapFingerEnvironment
from tests.online.tapfinger.lives import named, two_clusters

if TYPE_CHECKING:
    from edgeopt.online.tapfinger import Outcome, TapFingerEpisode
    from tests.online.tapfinger.plain import Bundle

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
