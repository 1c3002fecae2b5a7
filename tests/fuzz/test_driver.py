"""The driver of this folder notices what it is there to notice."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest

from edgeopt.errors import OptionError
from tests.fuzz import driver
from tests.fuzz.driver import Case, check, command, complaint


def refuse() -> None:
    raise OptionError("slots must be a whole number")


def crash() -> None:
    raise IndexError("list index out of range")


def test_named_errors_and_right_answers_pass():
    check([Case("a", refuse, refused=True), Case("b", lambda: 3, right=lambda x: x == 3)])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (crash, "IndexError"),
        (lambda: warnings.warn("careless", RuntimeWarning, stacklevel=1), "RuntimeWarning"),
        (lambda: np.zeros(1) / np.zeros(1), "invalid value"),
        (lambda: np.zeros(10**12), "allocate"),
        (lambda: np.zeros(2**29) + 1, "allocate"),
        (lambda: exit(3), "SystemExit"),
    ],
)
def test_faults_are_reported(call, words):
    assert words in str(complaint(Case("wrong", call)))


def test_silent_acceptance_and_wrong_answers_are_reported():
    assert complaint(Case("silent", lambda: 3, refused=True)) == "accepted without a word"
    assert "wrong answer" in str(complaint(Case("wrong", lambda: 3, right=lambda x: x == 4)))


def test_hanging_is_stopped(monkeypatch):
    monkeypatch.setattr(driver, "SECONDS", 0.05)
    assert "takes longer" in str(complaint(Case("hang", lambda: time.sleep(20))))


def test_failures_are_counted_by_cause():
    with pytest.raises(AssertionError, match=r"2 of 3 cases are wrong:\n +2 x IndexError"):
        check([Case("one", crash), Case("two", refuse), Case("three", crash)])


def test_commands_end_with_one_line():
    assert complaint(command(["generate", "nothing", "--out", "x.nc"])) is None
    assert complaint(command(["--version"], refused=False)) is None
    assert "wrong answer" in str(complaint(command(["--version"])))


def test_parts_make_up_the_whole():
    assert sum(driver.PARTS.values()) == pytest.approx(1)
    assert sum(driver.QUICK.values()) == pytest.approx(1)
