"""Checks of instances: all of edgeopt's pass, and each check fails a type that breaks its rule."""

from __future__ import annotations

from functools import partial

import pytest

from edgeopt.errors import OptionError
from edgeopt.studies import find_system, systems
from edgeopt.testing import check_instance
from edgeopt.testing.instance import CHECKS
from tests.draws import draws, some
from tests.testing.instances import MUTANTS, ReadsLinesInOrder, bakery
from tests.testing.mutants import assert_fails


@pytest.mark.parametrize("system", some(systems(), "rescue", "oinc"))
def test_instances_of_edgeopt_pass(system: str) -> None:
    check_instance(find_system(system).instances.random_small, seeds=max(3, draws(5) - 5))


def test_a_right_type_passes() -> None:
    assert check_instance(bakery()).of("passed") == tuple(CHECKS)


@pytest.mark.parametrize("check", CHECKS)
def test_a_type_that_breaks_one_rule_fails_its_check(check: str) -> None:
    kind, implied = MUTANTS[check]
    assert_fails(check_instance, partial(draw, kind), own=check, implied=implied, seeds=1)


def test_the_order_of_lines_in_a_table_must_not_matter() -> None:
    wrong = partial(draw, ReadsLinesInOrder)
    assert_fails(check_instance, wrong, own="labels", seeds=1)


def draw(kind: type, seed: int) -> object:
    return bakery(kind)


def test_only_instances_are_checked() -> None:
    with pytest.raises(OptionError, match="not a int"):
        check_instance(7)
