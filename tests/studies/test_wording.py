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


def test_ends_of_an_interval_never_read_alike() -> None:
    assert wording.interval(113.31, 113.34, digits=4) == "113.31 to 113.34"
    assert wording.interval(0.00012, 0.00013, share=True) == f"0.012 to 0.013{PERCENT}"
    assert wording.interval(0.4, 0.4, share=True) == f"40.0{PERCENT}"
    assert wording.interval(2.0, 2.0 + 1e-15, digits=3) == "2.00"
    assert wording.interval(1.4467e-05, 1.4494e-05, digits=3) == "1.447·10⁻⁵ to 1.449·10⁻⁵"


def test_what_stands_beside_a_figure() -> None:
    row = {"x": 2.0, "x_low": 1.0, "x_high": 4.0, "x_spread": "interval"}
    assert wording.beside(row, "x") == "1.00 to 4.00"
    assert wording.beside(row | {"x_spread": "range"}, "x") == "range 1.00 to 4.00"
    assert wording.beside(row | {"x_finding": "better"}, "x") == "1.00 to 4.00, better"
    for kind, said in (("equal", "equal"), ("one", ""), ("none", "")):
        none = row | {"x_low": math.nan, "x_high": math.nan, "x_spread": kind}
        assert wording.beside(none, "x") == said
    assert wording.beside({"x": 1.0, "spread": "equal"}, "x") == "equal"
    assert wording.beside({"x": 1.0}, "x") == ""
    assert wording.every({"x_each": [1.0, 2.5]}, "x") == "each: 1.00000, 2.50000"
    assert wording.every({"x": 1.0}, "x") == wording.every({"x_each": math.nan}, "x") == ""


def test_what_is_said_of_rows_is_true_of_them() -> None:
    kinds = {"interval": 8, "range": 3, "equal": 8, "one": 1}
    rows = [{"instances": n, "x_spread": kind} for kind, n in kinds.items()]
    said = wording.spreads_said(rows, 0.9)
    assert f"90{PERCENT} intervals over 8 drawn instances" in said
    assert "Where it says range: ranges of 3 drawn instances." in said
    assert wording.spreads_said(rows[1:2]).startswith("Small print, bands and thin lines: ranges")
    assert "interval" not in wording.spreads_said(rows[1:3])
    assert wording.spreads_said(rows[3:]) == (
        "With one instance there is no interval over instances."
    )
    assert wording.spreads_said([{"x": 1.0}]) == ""
    assert "instances, of which alone this is said" in wording.spreads_said(rows, drawn=False)
    assert "of 3 to 4 drawn" in wording.spreads_said([*rows[1:2], {**rows[1], "instances": 4}])


def test_times_counts_and_lists() -> None:
    assert wording.duration(0.0123) == "12 ms"
    assert wording.duration(0.84) == "0.84 s"
    assert wording.duration(200.4) == "3 min 20 s"
    assert wording.plural(1, "server") == "1 server"
    assert wording.plural(4, "server") == "4 servers"
    assert wording.listed(["a"]) == "a"
    assert wording.listed(["a", "b", "c"]) == "a, b and c"
