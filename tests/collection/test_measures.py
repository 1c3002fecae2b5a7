"""Profiles, wins, means and intervals against numbers worked out by hand or by distribution."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from edgeopt.collection import measures

TIMES = np.array([
    [1.0, 2.0, np.inf, 0.002],
    [2.0, 2.0, np.inf, 0.009],
    [4.0, np.inf, np.inf, 0.04],
])  # fmt: skip
"""Three competitors, four instances: a best one, a tie, a failure of all, times of a clock."""
SYSTEMS = ["a", "a", "b", "c"]
WEIGHT = np.array([1 / 6, 1 / 6, 1 / 3, 1 / 3])


def test_systems_weigh_the_same() -> None:
    assert measures.weights(SYSTEMS) == pytest.approx(WEIGHT)
    assert measures.weights(["x"] * 4) == pytest.approx(0.25)


def test_ratios_by_hand() -> None:
    wanted = [[1, 1, np.inf, 1], [2, 1, np.inf, 1], [4, np.inf, np.inf, 4]]
    assert measures.ratios(TIMES).tolist() == wanted


def test_profile_by_hand() -> None:
    even = np.full(4, 0.25)
    first, second, third = measures.profile(TIMES, even)
    assert first.factor.tolist() == [1.0, 2.0, 4.0]
    assert first.share.tolist() == [0.75, 0.75, 0.75]
    assert second.share.tolist() == [0.5, 0.75, 0.75]  # both ties count
    assert third.share.tolist() == [0.0, 0.0, 0.5]
    assert [one.solved for one in (first, second, third)] == [0.75, 0.75, 0.5]
    weighted = measures.profile(TIMES, WEIGHT)
    assert weighted[1].share == pytest.approx([1 / 2, 2 / 3, 2 / 3])
    assert weighted[2].solved == pytest.approx(1 / 2)


def test_where_all_fail_nobody_solves_anything() -> None:
    none = np.full((2, 3), np.inf)
    for one in measures.profile(none, np.full(3, 1 / 3)):
        assert one.solved == 0.0
        assert one.share.tolist() == [0.0]


def test_wins_by_hand() -> None:
    won = measures.wins(np.maximum(TIMES, measures.FLOOR), np.full(4, 0.25))
    assert won.tolist() == [[0, 0.25, 0.75], [0, 0, 0.75], [0, 0, 0]]


def test_gap_table_by_hand() -> None:
    gaps = np.array([0.2, 0.0, 0.04, np.inf, 0.01])
    row = measures.gap_row(gaps, np.full(5, 0.2))
    assert row == pytest.approx(
        {
            "first quartile": 0.01, "median": 0.04, "third quartile": 0.2, "worst": np.inf,
            "within 1 %": 0.4, "within 5 %": 0.6,
        }
    )  # fmt: skip


def test_shifted_geometric_mean_by_hand() -> None:
    logs = measures.log_times(np.array([[1.0, 3.0, np.inf, 90.0]]), limit=7.0, shift=1.0)
    assert np.exp(logs[0]) == pytest.approx([2, 4, 8, 8])
    assert measures.shifted_mean([float(logs.mean())], 1.0) == pytest.approx([512**0.25 - 1])


def test_bootstrap_has_the_law_of_its_resamples() -> None:
    """Two systems of two instances: 16 equally likely draws, listed."""
    values, systems = np.array([[0.0, 1.0, 0.0, 4.0]]), ["a", "a", "b", "b"]
    distribution = [
        np.mean([np.mean(one), np.mean(other)])
        for one in product((0.0, 1.0), repeat=2)
        for other in product((0.0, 4.0), repeat=2)
    ]
    drawn = measures.resampled(values, systems, resamples=40_000)[:, 0]
    for value in set(distribution):
        share = distribution.count(value) / 16
        error = (share * (1 - share) / drawn.size) ** 0.5
        assert (drawn == value).mean() == pytest.approx(share, abs=5 * error)


def test_bootstrap_stays_within_systems() -> None:
    values = np.array([[3.0, 1.0, 1.0], [0.0, 2.0, 2.0]])
    drawn = measures.resampled(values, ["a", "b", "b"])
    assert (drawn == [2.0, 1.0]).all()
    first, second = measures.standings(values, ["a", "b", "b"])
    assert first == (2.0, 2.0, 2.0, (2, 2), 0.0)
    assert second == (1.0, 1.0, 1.0, (1, 1), 1.0)


def test_bootstrap_interval_has_the_width_of_the_mean() -> None:
    generator = np.random.default_rng(3)
    values = generator.normal(size=(1, 400))
    [found] = measures.standings(values, ["a"] * 400)
    error = values.std() / 20
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.1)
    assert found.mean == pytest.approx(values.mean())


def test_equal_competitors_share_the_first_rank() -> None:
    values = np.array([[1.0, 2.0, 5.0]] * 2 + [[1.0, 3.0, 5.0]])
    ranks = [one.rank for one in measures.standings(values, ["a"] * 3)]
    assert ranks[0] == ranks[1] == (1, 1)
    assert ranks[2][1] == 3
