"""Checks of environments: edgeopt's pass, and each check fails one that breaks its rule."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

import pytest

from edgeopt.online.idn import IdnEnvironment
from edgeopt.online.oinc import OincEnvironment
from edgeopt.online.tapfinger import TapFingerEnvironment
from edgeopt.testing import check_environment
from edgeopt.testing.environment import CHECKS
from tests.draws import every, some
from tests.testing.environments import MUTANTS
from tests.testing.mutants import assert_fails

NAMES = {
    "rescue": "RescueEnvironment",
    "idn": "IdnEnvironment",
    "oinc": "OincEnvironment",
    "edr": "EdrEnvironment",
    "tapfinger": "TapFingerEnvironment",
}
EXPECTED = {
    "oinc": {"record": "a recorded run counts every slot in which jobs run on as a decision"},
}


@pytest.mark.parametrize("system", some(NAMES, "idn", "oinc"))
def test_environments_of_edgeopt_pass(system: str) -> None:
    environment = getattr(import_module(f"edgeopt.online.{system}"), NAMES[system])
    report = check_environment(environment, system, expected=EXPECTED.get(system))
    assert report["hides_future"].message == "50 pairs of scenarios"


OPTIONS: dict[str, tuple[Any, str, str]] = {
    "fluid": (partial(IdnEnvironment, order="fluid"), "idn", "olag"),
    "random": (partial(IdnEnvironment, order="random"), "idn", "olag"),
    "cut off": (partial(OincEnvironment, drain=False), "oinc", "oinc"),
    "refilled": (partial(TapFingerEnvironment, refill="round"), "tapfinger", "tiresias"),
    "steady": (partial(TapFingerEnvironment, preemption=False), "tapfinger", "min"),
}
"""Environments with options, and who decides in them."""


@pytest.mark.parametrize("name", every(2, OPTIONS))
def test_environments_with_options_pass(name: str) -> None:
    environment, system, policy = OPTIONS[name]
    check_environment(environment, system, policy=policy)


@pytest.mark.parametrize("check", every(4, CHECKS))
def test_an_environment_that_breaks_one_rule_fails_its_check(check: str) -> None:
    environment, implied = MUTANTS[check]
    assert_fails(check_environment, environment, "idn", own=check, implied=implied, policy="olag")
