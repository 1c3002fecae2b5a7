"""Paired comparisons on rows made by hand: ratios, intervals, and what is resolved."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from edgeopt_papers.figures.comparing import against, compared, saving, with_comparison

from tests.two_means import probability_of

OTHERS = ("dear", "mixed", "alike")
TITLES = {"dear": "DEAR", "mixed": "MIXED", "alike": "ALIKE"}

RATIOS = np.array([0.8, 0.7, 0.9, 0.8, 0.8, 0.75, 0.85, 0.8, 0.7, 0.9, 0.8, 0.8, 0.78, 0.82])
"""Of "own" to "dear", a draw each."""

OWN = np.array([10.0, 12.0, 9.0, 11.0, 13.0, 10.5, 9.5, 12.5, 11.0, 10.0, 12.0, 9.0, 11.0, 10.0])


def table(draws: int = 14, side: str = "tuned") -> pd.DataFrame:
    mixed = OWN * np.tile([1.3, 0.7, 1.2, 0.9, 1.0, 1.1, 0.8], 2)
    costs = {"own": OWN, "dear": OWN / RATIOS, "mixed": mixed, "alike": OWN}
    return pd.DataFrame(
        [
            {"draw": draw, "side": side, "policy": policy, "cost": cost[draw]}
            # Draws in another order for every policy are paired all the same.
            for place, (policy, cost) in enumerate(costs.items())
            for draw in np.roll(range(draws), place).tolist()
        ]
    )


def rows(draws: int = 14) -> pd.DataFrame:
    plain = pd.DataFrame({"side": ["tuned"] * 5, "policy": ["own", *OTHERS, "none"]})
    return with_comparison(plain, compared(table(draws), "cost", "own", OTHERS, ("side",)))


def test_savings_are_paired_by_draw() -> None:
    found = saving("cost", "dear", side="tuned")(rows())
    dear = OWN / RATIOS
    assert found.value == pytest.approx(1 - OWN.mean() / dear.mean())
    for end in (found.low, found.high):
        assert probability_of(OWN - (1 - end) * dear) == pytest.approx(0.05, abs=1e-6)
    assert (found.spread, found.finding) == ("interval", "resolved")
    assert saving("cost", "mixed", side="tuned")(rows()).finding == "not resolved"


def test_below_ten_draws_there_is_a_range_and_nothing_is_resolved() -> None:
    found = saving("cost", "dear", side="tuned")(rows(4))
    value = 1 - OWN[:4].mean() / (OWN / RATIOS)[:4].mean()
    assert found[:3] == pytest.approx((value, 0.1, 0.3))
    assert found[3:] == ("range", "not resolved")
    assert against("cost", TITLES)(rows(4)) == "not resolved against DEAR, MIXED and ALIKE"


def test_others_are_named_by_what_is_found() -> None:
    assert against("cost", TITLES, side="tuned")(rows()) == (
        "below DEAR; not resolved against MIXED and ALIKE"
    )
    swapped = compared(table(), "cost", "dear", ("own", "mixed"), ("side",))
    titles = {"own": "OWN", "mixed": "MIXED"}
    assert against("cost", titles, ("worse", "better"))(swapped).startswith("better OWN")


def test_several_rows_of_another_are_counted() -> None:
    both = pd.concat([table(), table(side="default").assign(cost=7.0)])
    found = compared(both, "cost", "own", OTHERS, ("side",))
    assert against("cost", TITLES)(found) == (
        "below DEAR (1 of 2); not resolved against DEAR (1 of 2), MIXED (2 of 2) and ALIKE (2 of 2)"
    )


def test_comparisons_of_a_family_are_tested_together() -> None:
    both = pd.concat([table(), table(side="default")])
    together = compared(both, "cost", "own", OTHERS, ("side",))
    apart = compared(both, "cost", "own", OTHERS, ("side",), family="side")
    p = "cost_relative_p"
    alone = compared(table(), "cost", "own", ("dear",), ("side",))[p].iloc[0]
    assert apart[p].tolist()[::3] == pytest.approx([3 * alone] * 2)
    assert together[p].tolist()[::3] == pytest.approx([6 * alone] * 2)


def test_what_was_not_run_is_left_out() -> None:
    some = table()
    some = some[some["policy"] != "dear"]
    assert compared(some, "cost", "own", OTHERS, ("side",))["policy"].tolist() == ["mixed", "alike"]
    none = compared(some, "cost", "dear", ("mixed",), ("side",))
    assert with_comparison(some, none) is some
    words = with_comparison(some, compared(some, "cost", "own", ("alike",), ("side",)))
    assert set(words["cost_relative_finding"]) == {"", "too close to call"}
