"""Checks of policies: all of edgeopt's pass, and each check fails a policy that breaks its rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgeopt.instances import tapfinger
from edgeopt.learning.edr import RlBoth, RlRouting, RlTraining
from edgeopt.learning.oinc import InsertionActor
from edgeopt.online.oinc import Dedas, GreedyConvex, Oinc, Zhang
from edgeopt.online.tapfinger import OptimusContainers
from edgeopt.studies import find_system, systems
from edgeopt.testing import check_policy
from edgeopt.testing.policy import CHECKS
from tests.draws import every
from tests.edr import cases as edr
from tests.edr.nets import macro, micro
from tests.idn import cases as idn
from tests.oinc import cases as oinc
from tests.tapfinger import run_policy
from tests.testing.mutants import assert_fails
from tests.testing.policies import MUTANTS, Sound


def test_a_right_policy_passes() -> None:
    report = check_policy(Sound(), "idn")
    assert report.of("passed") == tuple(CHECKS)
    assert report["causal"].message == "50 pairs of scenarios"


@pytest.mark.parametrize("check", every(3, CHECKS))
def test_a_policy_that_breaks_one_rule_fails_its_check(check: str) -> None:
    policy, implied = MUTANTS[check]
    assert_fails(check_policy, policy, "idn", own=check, implied=implied)


KINDS = tapfinger.generate(clusters=2, tasks=4, rng=3)
INSTANCES = {("tapfinger", name): [KINDS] for name in ("imitation", "imitation+unknown")}
"""Instances for policies whose networks take few."""

PUBLISHED = [
    (system, entry.name) for system in systems() for entry in find_system(system).policies.entries
]


@pytest.mark.parametrize(("system", "name"), PUBLISHED)
def test_another_future_changes_no_decision_before_it(system: str, name: str) -> None:
    """Of all policies that count as causal; one that does not either says so or is found out."""
    [entry] = [one for one in find_system(system).policies.entries if one.name == name]
    given = INSTANCES.get((system, name))
    claimed = replace(entry, kind="causal")
    found = check_policy(
        claimed, system, instances=given, seeds=2, checks=["causal"], raises=False
    )["causal"]
    if entry.causal:
        assert found.outcome == "passed", found.message
    elif found.outcome == "skipped":
        assert "knows the future, and says so" in found.message
    else:
        assert found.outcome == "failed"


@pytest.mark.parametrize(("system", "name"), every(8, PUBLISHED, rows=True))
def test_published_policies_pass(system: str, name: str) -> None:
    case = system, name
    check_policy(name, system, instances=INSTANCES.get(case), seeds=2)


OPTIONS = {
    "edr": (
        *edr.POLICIES, RlTraining(macro()), RlTraining(macro(state="printed-minimal")),
        RlRouting(routing=micro()), RlBoth(macro(), routing=micro()),
    ),
    "oinc": (
        *oinc.POLICIES,
        *(Oinc(retraining=part) for part in (Dedas(), Zhang(service="slot"))),
        *(Oinc(inference=part) for part in (
            GreedyConvex(rule="first-fit"), InsertionActor(), InsertionActor(samples=3),
        )),
    ),
    "idn": idn.LEARNERS,
    "tapfinger": (
        *run_policy.STEADY, *run_policy.CHANGING, OptimusContainers(offset=0.0, take_back=False),
    ),
}  # fmt: skip
"""Policies with options of all kinds, by system."""

VARIANTS = [(system, policy) for system, policies in OPTIONS.items() for policy in policies]


@pytest.mark.parametrize(("system", "policy"), every(4, VARIANTS, rows=True))
def test_policies_with_options_pass(system: str, policy: object) -> None:
    check_policy(policy, system, seeds=3)
