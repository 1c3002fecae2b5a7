"""Every true claim on a hundred drawn instances and more, none of them left without a case."""

from collections import Counter

import pytest
from hypothesis import given, settings

from edgeopt.bounds import check
from edgeopt.bounds.registry import offered
from edgeopt.instances.rescue import generate, small
from edgeopt.testing.strategies import rescue_instances
from tests.draws import draws, every

TRUE = [claim.id for claim in offered("rescue") if not claim.counterexample]
# Each applies to one named instance and is tested on it.
OWN_INSTANCE = ("rescue.theorem2", "rescue.guarded.priced", "rescue.clairvoyant")
GENERAL = [id for id in TRUE if not id.startswith(OWN_INSTANCE)]
# Solve many programs per instance: fewer cases, drawn below.
SLOW = ["rescue.plan_choice", "rescue.lemma1.expected"]
FAST = [id for id in GENERAL if id not in SLOW]


def refuted(ids, instance):
    return [found for found in check(ids, instance) if found.verdict == "violated"]


@given(rescue_instances(reserved=None, arrivals="exclusive", beyond=None))
@settings(max_examples=draws(120))
def test_exclusive_arrivals(instance):
    assert refuted(FAST, instance) == []


@given(rescue_instances(reserved=None, arrivals="independent", beyond=None, horizon=3))
@settings(max_examples=draws(100))
def test_independent_arrivals(instance):
    assert refuted(FAST, instance) == []


@given(rescue_instances(reserved=True, arrivals=None, horizon=3, devices=2))
def test_offline_optimum_that_owes_reserved_tasks_on_average(instance):
    assert refuted(["rescue.lemma1.expected"], instance) == []


@given(rescue_instances(servers=1, horizon=3, devices=2))
@settings(max_examples=draws(100))
def test_every_optimal_plan_keeps_the_guarantee(instance):
    assert refuted(["rescue.plan_choice"], instance) == []


def test_no_claim_goes_untested():
    """Count the verdicts that say something, on continuous data."""
    said = Counter()
    seeds = draws(40)
    for seed in range(seeds):
        for arrivals in ("exclusive", "independent"):
            for found in check(FAST, small(seed, arrivals=arrivals)):
                assert found.verdict != "violated", found
                said[found.claim] += found.verdict == "holds"
    rare = {"rescue.theorem1.unit_durations": seeds // 8, "rescue.safe.pairs": seeds // 8}
    for id in FAST:
        assert said[id] >= rare.get(id, seeds // 2), id


@pytest.mark.parametrize("radio", every(2, ["thermal", "literal"]))
def test_claims_that_scale_hold_in_the_setting_of_the_paper(radio):
    instance = generate(servers=2, devices=5, profiles=3, horizon=40, reserved=6, radio=radio)
    verdicts = {found.claim: found for found in check(GENERAL, instance)}
    scaling = {
        "rescue.lemma2",
        "rescue.lemma3",
        "rescue.lemma3.occupancy",
        "rescue.theorem1",
        "rescue.theorem1.occupancy",
        "rescue.value",
        "rescue.observation1",
        "rescue.routing",
        "rescue.feasibility",
        "rescue.horizon",
        "rescue.beyond",
        "rescue.safe.bound.forbid",
        "rescue.safe.guarantee",
        "rescue.safe.quarter",
    }
    assert {id for id, found in verdicts.items() if found.verdict == "holds"} == scaling
    too_large = verdicts["rescue.lemma1.pathwise"]
    assert too_large.verdict == "vacuous"
    assert too_large.reason.startswith("too large for exact enumeration")
