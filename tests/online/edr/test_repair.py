"""Repairs: within the limits, by priority, and not a round more than needed."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import InputError
from edgeopt.online.edr.policies.policy import (
    deadline_guard,
    latest_deadline_first,
    repair_cap,
    repair_work,
)

whole = st.integers(0, 6)


@st.composite
def wishes(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rounds, weights in tenths on two sites, and deadlines of up to five tasks."""
    tasks = draw(st.integers(1, 5))

    def column() -> list[int]:
        return draw(st.lists(whole, min_size=tasks, max_size=tasks))

    weight = np.array([column(), column()]).T / 10.0
    return np.array(column()), weight, np.array(column())


def test_later_deadlines_give_way_first_and_of_equal_ones_the_later_task() -> None:
    assert latest_deadline_first(np.array([3, 7, 3, 9])).tolist() == [3, 1, 2, 0]


def test_rounds_are_dropped_in_order_until_the_cap_holds() -> None:
    rounds, energy = np.array([5, 5, 5]), np.array([1.0, 2.0, 3.0])
    order = np.array([2, 1, 0])
    kept = [repair_cap(rounds, energy, order, cap).tolist() for cap in (30.0, 29.0, 12.5, 0.0)]
    assert kept == [[5, 5, 5], [5, 5, 4], [5, 3, 0], [0, 0, 0]]
    assert rounds.tolist() == [5, 5, 5]
    assert repair_cap(rounds, energy, order, -4.0).tolist() == [0, 0, 0]
    assert repair_cap(rounds, energy, order, np.inf).tolist() == [5, 5, 5]


@given(wishes(), st.integers(0, 60))
def test_the_cap_is_kept_and_no_round_given_up_needlessly(
    requested_rounds: tuple[np.ndarray, np.ndarray, np.ndarray], tenths: int
) -> None:
    rounds, weight, deadline = requested_rounds
    energy, cap = weight[:, 0], tenths / 10
    order = latest_deadline_first(deadline)
    kept = repair_cap(rounds, energy, order, cap)
    exact = [Fraction(round(10 * e), 10) for e in energy]
    total = sum(k * e for k, e in zip(kept.tolist(), exact, strict=True))
    assert total <= Fraction(tenths, 10)
    assert (kept[energy == 0] == rounds[energy == 0]).all()
    cut = [i for i in order if kept[i] < rounds[i]]
    for position, i in enumerate(cut):
        last = position == len(cut) - 1
        assert kept[i] == 0 or last
        if last:
            assert total + exact[i] > Fraction(tenths, 10)
            # Whoever gives way before this one has nothing left to give.
            earlier = order[: order.tolist().index(i)]
            assert all(kept[k] == 0 or energy[k] == 0 for k in earlier)


@given(wishes(), st.lists(st.integers(0, 60), min_size=2, max_size=2))
def test_every_site_is_kept_within_its_room(
    requested_rounds: tuple[np.ndarray, np.ndarray, np.ndarray], tenths: list[int]
) -> None:
    rounds, work, deadline = requested_rounds
    order = latest_deadline_first(deadline)
    kept = repair_work(rounds, work, order, np.array(tenths) / 10)
    assert (kept >= 0).all()
    assert (kept <= rounds).all()
    load = kept @ np.rint(10 * work).astype(int)
    assert (load <= tenths).all()
    # A site that was within its room costs nobody anything; with one over, it binds.
    before = rounds @ np.rint(10 * work).astype(int)
    if (before <= tenths).all():
        assert (kept == rounds).all()
    if (before > tenths).sum() == 1:
        [site] = np.flatnonzero(before > tenths)
        assert kept.tolist() == repair_cap(rounds, work[:, site], order, tenths[site] / 10).tolist()


@given(st.integers(0, 40), st.integers(1, 40), st.integers(1, 12), st.integers(0, 12))
def test_guard_leaves_what_can_be_caught_up(
    remaining: int, rounds: int, window: int, frames_left: int
) -> None:
    [least] = deadline_guard(
        np.array([remaining]), np.array([rounds / window]), np.array([frames_left]), 3.0
    )
    assert least == max(0, remaining - frames_left * ceil(3 * Fraction(rounds, window)))


def test_guard_asks_nothing_of_a_task_whose_window_is_over() -> None:
    least = deadline_guard(np.array([0, 0]), np.array([2.0, 2.0]), np.array([-3, 0]), 1.0)
    assert least.tolist() == [0, 0]


def test_guard_needs_a_positive_multiple() -> None:
    with pytest.raises(InputError, match="multiple = 0"):
        deadline_guard(np.array([1]), np.array([1.0]), np.array([1]), 0.0)
