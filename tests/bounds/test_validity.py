"""Checks against the closed forms of their intervals, and what is said of bounds."""

from __future__ import annotations

import math

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy import stats

from edgeopt.bounds import Bound, Check
from edgeopt.bounds.validity import candidates, weakest, why
from edgeopt.errors import OptionError, ProblemTypeError


def nothing(*_: object) -> float:
    return 0.0


def test_a_mean_is_judged_by_the_interval_of_all_items_together() -> None:
    draws = np.random.default_rng(0).normal([0.0, 1.0, 2.0], 1.0, (50, 3))
    mean, spread = draws.mean(0), draws.std(0, ddof=1)
    reach = stats.t.ppf(1 - 0.1 / 6, 49) * spread / math.sqrt(50)
    room = 2.0 + 1e-3 - mean  # items stay below their mean plus a part of the reach
    for part, kept in (
        (1.01, "kept"),
        (0.99, "not resolved"),
        (-0.99, "not resolved"),
        (-1.01, "broken"),
    ):
        check = Check("x", nothing, -9.0, mean + part * reach, per="mean")
        found = check.judge(draws, confidence=0.9)
        assert found.kept == kept, part
        assert found.how == "in 50 runs"
        assert np.isclose(found.halfwidth, reach).any()
    one = Check("x", nothing, high=2.0 + 1e-3, per="mean").judge(draws, confidence=0.9)
    assert (one.worst, one.room, one.halfwidth) == (
        "2",
        pytest.approx(room[2]),
        pytest.approx(reach[2]),
    )
    assert one.broken == (draws > 2.0 + 1e-3).any(1).mean()
    low = Check("x", nothing, low=mean - 1.01 * reach, per="mean").judge(draws, confidence=0.9)
    assert low.kept == "kept"


def test_a_tie_is_kept_and_one_run_resolves_no_mean() -> None:
    values = np.array([[100.0], [100.0]])
    for per in ("run", "mean"):
        for excess, kept in ((5e-5, "kept"), (2e-3, "broken")):
            assert Check("x", nothing, high=100 - excess, per=per).judge(values).kept == kept
    assert Check("x", nothing, high=200.0, per="mean").judge(values[:1]).kept == "not resolved"
    assert Check("x", nothing, high=200.0, per="mean").judge(values[:1], exact=True).proven
    assert Check("x", nothing).judge(np.zeros((3, 0))).kept == "kept"


def test_every_run_counts_and_the_share_of_those_that_break_it() -> None:
    values = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 3.0], [1.0, 2.0]])
    found = Check("x", nothing, high=[1.0, 2.0]).judge(values)
    assert (found.kept, found.broken, found.worst, found.room) == ("broken", 0.25, "1", -1.0)
    assert found.said == "broken in 25 % of 4 runs"
    kept = Check("x", nothing, high=3).judge(values)
    assert kept.said == "kept in 4 runs"
    assert not kept.proven


def test_what_a_policy_declares_goes_before_what_its_runs_show() -> None:
    check = Check("x", nothing, high=1.0, declared=lambda policy: policy)
    runs = np.zeros((5, 1))
    assert check.found(True).said == "kept by design"
    assert check.found(False, runs).said == "not resolved in 5 runs"
    assert check.found(False, runs + 2).kept == "broken"
    assert check.found(None, runs).said == "kept in 5 runs"
    assert check.found(None).said == "not resolved"


def test_bounds_that_say_less_than_a_sure_one_are_left_out() -> None:
    sure = Check("sure", None, declared=lambda policy: policy == "sure", sentence="is sure")
    seen = Check("seen", nothing, sentence="was seen")
    bounds = {"all": Bound(3), "seen": Bound(2.0, [seen]), "both": Bound(1.0, [seen, sure])}
    assert candidates(bounds, "sure") == ["all", "both"]
    assert candidates(bounds, "other") == ["all", "seen"]
    assert bounds["both"].scope == "every policy that was seen and is sure"
    judged = {"sure": sure.found("sure"), "seen": seen.found("sure", np.zeros((4, 1)))}
    assert weakest([sure, seen], judged) == "in 4 runs"
    assert weakest([sure], judged) == "by design"
    assert why(bounds["both"], judged) == ""
    assert why(bounds["both"], judged | {"sure": sure.found("x")}) == "sure: not resolved"
    assert why(Bound(math.nan, note="eq_3b is missing"), {}) == "eq_3b is missing"


def test_a_constraint_is_a_check_of_its_rows() -> None:
    model = pyo.ConcreteModel()
    model.y = pyo.Var([0, 1])
    model.cap = pyo.Constraint([0, 1], rule=lambda m, i: 2 * m.y[i] - 1 <= i)
    check = Check.of(model.cap)
    assert (check.name, check.per) == ("cap", None)
    assert check.numbers(None, {"y[0]": 1.0}).tolist() == [1.0, -1.0]
    assert check.judge(check.numbers(None, {"y[0]": 1.0})[None]).worst == "cap[0]"
    model.square = pyo.Constraint(expr=model.y[0] ** 2 <= 1)
    with pytest.raises(ProblemTypeError, match="square"):
        Check.of(model.square)


@pytest.mark.parametrize(
    ("measure", "text"),
    [
        (lambda *_: 1 / 0, "check 'odd': its measure raised ZeroDivisionError: division by zero"),
        (lambda *_: np.zeros((2, 2)), "check 'odd': its measure returned an array of shape"),
        (lambda *_: math.nan, "check 'odd': its measure returned NaN"),
        (lambda *_: "text", "check 'odd': its measure raised ValueError"),
    ],
)
def test_a_measure_that_fails_is_named(measure: object, text: str) -> None:
    with pytest.raises(OptionError, match=text):
        Check("odd", measure).numbers(None, [])  # type: ignore[arg-type]


def test_what_is_no_check_or_bound_is_refused() -> None:
    for wrong, text in (
        (lambda: Check("", nothing), "Check.name"),
        (lambda: Check("x", 3), "measure must be a function"),
        (lambda: Check("x", nothing, per="slot"), "Check.per"),
        (lambda: Bound("3"), "Bound.value"),
        (lambda: Bound(3.0, [nothing]), "Bound.checks"),
        (lambda: Check("x", nothing, high=[1.0, 2.0]).judge(np.zeros((2, 3))), "3 items"),
    ):
        with pytest.raises(OptionError, match=text):
            wrong()
