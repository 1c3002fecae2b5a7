"""Checks of systems: all of edgeopt's pass, and each check fails a record that breaks its rule."""

from __future__ import annotations

import pytest

from edgeopt.studies import systems
from edgeopt.testing import check_system
from edgeopt.testing.system import CHECKS
from tests.draws import draws, every, some
from tests.testing.mutants import assert_fails
from tests.testing.systems import MUTANTS

ELSEWHERE = {"page", "claims"}
"""Tests of studies and of claims make every page and verdict anyway."""


@pytest.mark.parametrize("system", some(systems(), "oinc"))
def test_systems_of_edgeopt_pass(system: str) -> None:
    check_system(
        system, seeds=draws(100), checks=[name for name in CHECKS if name not in ELSEWHERE]
    )


@pytest.mark.parametrize("check", every(5, CHECKS))
def test_a_record_that_breaks_one_rule_fails_its_check(check: str) -> None:
    record, implied = MUTANTS[check]
    assert_fails(check_system, record, own=check, implied=implied, seeds=1)
