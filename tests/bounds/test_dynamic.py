"""Dynamic regret and fit by hand, against their definitions, and refused input."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.bounds import dynamic_fit, dynamic_regret, regret
from edgeopt.errors import OptionError

CAUCHY = math.tan(math.pi * 0.95 / 2)
"""Two-sided 95 % quantile of Student's distribution with one degree of freedom."""

NUMBERS = st.floats(-100, 100)


def test_regret_of_two_runs_by_hand():
    found = dynamic_regret([[3.0, 4.0], [5.0, 6.0]], ([2.0, 3.0], [1.0, 3.0]), guarantee=1e3)
    assert found.value == pytest.approx(9 - 4)
    assert found.floor == pytest.approx(9 - 5)
    assert (found.low, found.high) == (pytest.approx(4 - 2 * CAUCHY), pytest.approx(5 + 2 * CAUCHY))
    assert found.path == pytest.approx([3.0, 5.0])
    assert (found.slots, found.per_slot, found.within) == (2, pytest.approx(2.5), True)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=6))
def test_regret_is_the_cost_less_that_of_the_comparators(rows):
    costs, best = (np.array(column) for column in zip(*rows, strict=True))
    found = dynamic_regret(costs, best)
    plain = regret(costs, best, cost=True)
    assert found.value == plain.value == pytest.approx(sum(c - b for c, b in rows), abs=1e-9)
    assert found.path == pytest.approx(
        [sum(c - b for c, b in rows[: t + 1]) for t in range(len(rows))]
    )
    assert found.low == found.value == found.high


def test_fit_by_hand():
    found = dynamic_fit([[3.0, 1.0, -1.0], [0.0, 3.0, -2.0]], guarantee=4.9)
    assert found.value == found.low == found.high == pytest.approx(5.0)
    assert found.missing == pytest.approx([3.0, 4.0, -3.0])
    assert found.path == pytest.approx([math.sqrt(10), 5.0])
    assert (found.slots, found.per_slot, found.within) == (2, pytest.approx(2.5), False)
    assert dynamic_fit([[3.0]], guarantee=3.0).within is True
    assert dynamic_fit([[3.0]]).within is None


@given(st.lists(st.lists(NUMBERS, min_size=2, max_size=2), min_size=1, max_size=6))
def test_early_work_pays_for_later_but_not_for_another_constraint(rows):
    found = dynamic_fit(rows)
    wanted = math.hypot(*(max(0.0, math.fsum(row[i] for row in rows)) for i in (0, 1)))
    assert found.value == pytest.approx(wanted, abs=1e-9)
    assert dynamic_fit(rows[::-1]).value == pytest.approx(found.value, abs=1e-9)
    together = max(0.0, math.fsum(x for row in rows for x in row))
    assert found.value >= together / math.sqrt(2) - 1e-9


def test_no_constraint_is_never_missed():
    assert dynamic_fit(np.zeros((4, 0))).value == 0.0


def test_fit_of_two_runs_by_hand():
    """Mean 2 with standard error 1; two constraints share the 5 % of error."""
    quarter = math.tan(math.pi * 0.975 / 2)
    found = dynamic_fit([[[1.0, -9.0]], [[3.0, -9.0]]])
    assert found.value == pytest.approx(2.0)
    assert found.low == 0.0
    assert found.high == pytest.approx(2 + quarter)


def test_fit_interval_covers_the_true_fit():
    """At 99 % fewer than 20 of 400 studies miss with probability above 1 - 1e-7."""
    rng = np.random.default_rng(3)
    drift = np.array([0.3, -0.4])
    true = 6 * 0.3
    missed = 0
    for _ in range(400):
        found = dynamic_fit(rng.normal(drift, 0.5, (8, 6, 2)), confidence=0.99)
        missed += not found.low <= true <= found.high
    assert missed < 20


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        ([1.0, 2.0], "expected shape"),
        (np.zeros((0, 2)), "expected shape"),
        ([[math.nan]], "must be finite"),
        ([[[1.0]]], "at least two runs"),
        ("words", "must be an array of real numbers"),
    ],
)
def test_bad_constraints_are_named(constraints, words):
    with pytest.raises(OptionError, match=words):
        dynamic_fit(constraints)


@pytest.mark.parametrize(
    ("costs", "comparators", "words"),
    [
        ([1.0, 2.0], 3.0, "one per slot"),
        ([1.0, 2.0], [1.0, 2.0, 3.0], "does not fit 2 slots"),
        ([1.0, 2.0], ([1.0, 1.0], [2.0, 2.0]), "better than its bound"),
        ([[1.0, 2.0]], [1.0, 2.0], "at least two runs"),
        ([1.0, math.inf], [1.0, 2.0], "must be finite"),
    ],
)
def test_bad_costs_are_named(costs, comparators, words):
    with pytest.raises(OptionError, match=words):
        dynamic_regret(costs, comparators)
