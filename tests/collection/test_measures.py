"""Profiles, wins, means and intervals against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from edgeopt.bounds.paired import mean_interval
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


def test_instances_are_the_units_within_their_systems() -> None:
    """Two systems of two and three instances, which weigh the same; variance by hand."""
    values = np.array([[0.0, 1.0, 3.0, 4.0, 8.0]])
    [found] = measures.over_instances(values, ["a", "a", "b", "b", "b"])
    assert found.mean == pytest.approx((0.5 + 5.0) / 2)
    assert found.runs.mean() == pytest.approx(found.mean)
    # Sums of squares within systems, with the weights 1/4 and 1/6.
    squares = 2 * 0.5**2 / 16 + (2**2 + 1 + 3**2) / 36
    assert found.error**2 == pytest.approx(squares * 5 / 3)
    assert found.lost == 1


def test_an_interval_is_that_of_the_test_and_a_range_below_ten() -> None:
    values = np.random.default_rng(3).normal(size=(1, 400))
    [found] = measures.over_instances(values, ["a"] * 400)
    shown = measures.ends(values[0], found)
    assert (shown.low, shown.high) == pytest.approx(mean_interval(values[0]))
    assert shown.high - shown.low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.25)
    few = values[:, :9]
    [found] = measures.over_instances(few, ["a"] * 9)
    shown = measures.ends(few[0], found)
    assert (shown.kind, shown.low, shown.high) == ("range", few.min(), few.max())
    [alone] = measures.over_instances(values[:, :1], ["a"])
    assert measures.ends(values[0, :1], alone).kind == "one"


def test_systems_of_one_instance_each_have_no_interval() -> None:
    [found] = measures.over_instances(np.array([[3.0, 1.0]]), ["a", "b"])
    assert found.mean == 2.0
    assert measures.ends(np.array([3.0, 1.0]), found).kind in ("equal", "range")
