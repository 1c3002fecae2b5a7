"""The gate that options pass: what is no number, text or choice is refused by name."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from edgeopt import options
from edgeopt.errors import OptionError

NEITHER = [
    None,
    "3",
    [3],
    (),
    {},
    np.ones(4),
    np.array(3),
    3j,
    np.timedelta64(3),
    Fraction(1, 2),
    object(),
    int,
    True,
    np.True_,
]


@pytest.mark.parametrize("value", [*NEITHER, 2.5, 3.0, math.nan, math.inf, Fraction(7, 2)])
def test_what_is_no_whole_number_is_refused(value):
    with pytest.raises(OptionError, match=r"^runs = .*: must be a whole number$"):
        options.check_whole("runs", value, 1)


@pytest.mark.parametrize(
    ("value", "rule"), [(0, "at least 1"), (-(10**30), "at least 1"), (11, "at most 10")]
)
def test_whole_numbers_have_ends(value, rule):
    with pytest.raises(OptionError, match=rule):
        options.check_whole("runs", value, 1, 10)
    for right in (1, 10, np.int8(3), np.uint64(3)):
        options.check_whole("runs", right, 1, 10)


def test_whole_numbers_fit_into_64_bits():
    options.check_whole("runs", 2**63 - 1)
    with pytest.raises(OptionError, match="at most 9223372036854775807, or None"):
        options.check_whole("runs", 2**63, none=True)
    options.check_whole("runs", None, none=True)


@pytest.mark.parametrize("value", NEITHER)
def test_what_is_no_number_is_refused(value):
    with pytest.raises(OptionError, match=r"^share = .*: must be a number$"):
        options.check_real("share", value)


@pytest.mark.parametrize(
    ("span", "right", "wrong"),
    [
        ("[0, 1)", (0, 0.5, np.float32(0.9)), (-1e-9, 1, 1.0, math.nan, math.inf, 5e-324)),
        ("(0, 1]", (1e-9, 1, np.int8(1)), (0, 1.1, math.nan, -math.inf)),
        ("(0, inf]", (1e-50, 1e50, math.inf), (0.0, -1.0, 1e51, 10**30, 10**400, math.nan)),
        ("[0, inf)", (0, 1e50), (math.inf, 1.7e308, -5e-324)),
        ("(-inf, inf)", (-1e50, 0, 2**62), (-math.inf, math.inf, math.nan, -1e308)),
    ],
)
def test_numbers_lie_in_their_interval(span, right, wrong):
    for value in right:
        options.check_real("share", value, span)
    for value in wrong:
        with pytest.raises(OptionError, match=r"^share = "):
            options.check_real("share", value, span)


def test_rules_are_written_in_words():
    with pytest.raises(OptionError, match=r"^guard = 0: must be positive, or None$"):
        options.check_real("guard", 0, "(0, inf]", none=True)
    with pytest.raises(OptionError, match=r"^share = 3: must lie in \[0, 1\]$"):
        options.check_real("share", 3, "[0, 1]")


@pytest.mark.parametrize("value", [*NEITHER[:-2], 0, 1, "yes"])
def test_truth_values_are_no_numbers(value):
    with pytest.raises(OptionError, match="must be True or False"):
        options.check_flag("record", value)
    options.check_flag("record", np.bool_(1))


@pytest.mark.parametrize("value", [*NEITHER, "c", 1.0, np.array(["a"])])
def test_choices_are_named(value):
    with pytest.raises(OptionError, match="must be one of 'a', 'b', 1"):
        options.check_choice("order", value, ("a", "b", 1))
    options.check_choice("order", "b", ("a", "b", 1))


def test_texts_and_classes():
    options.check_text("name", "")
    options.check_kind("plan", None, int, none=True)
    with pytest.raises(OptionError, match="must be a text"):
        options.check_text("name", None)
    with pytest.raises(OptionError, match="plan: must be a int or str, not a class"):
        options.check_kind("plan", int, int, str)
    with pytest.raises(OptionError, match="plan: must be a int, or None, not a list"):
        options.check_kind("plan", [1] * 9, int, none=True)


def test_long_values_are_cut_and_stand_on_one_line():
    with pytest.raises(OptionError) as told:
        options.check_whole("runs", "a\n" * 10_000)
    assert len(str(told.value)) < 100
    assert "\n" not in str(told.value)


def test_too_much_is_refused_before_memory_is_asked_for():
    options.check_room("runs * slots", 2**15, 2**15)
    with pytest.raises(OptionError, match=r"^runs \* slots = 10{24}: more than"):
        options.check_room("runs * slots", 10**12, 10**12)


@pytest.mark.parametrize("rng", [None, True, 2.5, "x", [1, 2], math.nan, -1, np.ones(3)])
def test_seeds_are_whole_numbers(rng):
    with pytest.raises(OptionError, match=r"^rng = "):
        options.generator(rng)


def test_generators_are_handed_through():
    own = np.random.default_rng(3)
    assert options.generator(own) is own
    assert options.generator(np.int64(3)).random() == np.random.default_rng(3).random()
    assert options.generator(10**40).random() == np.random.default_rng(10**40).random()
