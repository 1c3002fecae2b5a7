from __future__ import annotations

import math

import pytest

from edgeopt.studies import wording

MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"
PERCENT = "\N{NO-BREAK SPACE}%"


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (1234.56, 4, "1235"),
        (12.3456, 4, "12.35"),
        (0.0567, 3, "0.0567"),
        (-2.5, 2, f"{MINUS}2.5"),
        (0.0, 4, "0"),
        (0.99999, 2, "1.0"),
        (16, 3, "16"),
        (3.2e-9, 2, "3.2·10⁻⁹"),
        (4.56e8, 3, "4.56·10⁸"),
        (math.nan, 3, DASH),
        (None, 3, DASH),
        (-math.inf, 3, f"{MINUS}∞"),
    ],
)
def test_number(value: float | None, digits: int, text: str) -> None:
    assert wording.number(value, digits) == text


def test_shares_and_intervals() -> None:
    assert wording.percent(0.68912) == f"68.9{PERCENT}"
    assert wording.percent(-0.0004) == f"0.0{PERCENT}"
    assert wording.percent(-0.0006) == f"\N{MINUS SIGN}0.1{PERCENT}"
    assert wording.percent(math.nan) == DASH
    assert wording.interval(0.684, 0.694, share=True) == f"68.4 to 69.4{PERCENT}"
    assert wording.interval(1.25, 3.5, digits=2) == "1.2 to 3.5"
    assert wording.interval(math.nan, 1.0) == DASH


def test_times_counts_and_lists() -> None:
    assert wording.duration(0.0123) == "12 ms"
    assert wording.duration(0.84) == "0.84 s"
    assert wording.duration(200.4) == "3 min 20 s"
    assert wording.plural(1, "server") == "1 server"
    assert wording.plural(4, "server") == "4 servers"
    assert wording.listed(["a"]) == "a"
    assert wording.listed(["a", "b", "c"]) == "a, b and c"
