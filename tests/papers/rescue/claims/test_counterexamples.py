"""Numbers of the counterexamples, by pen and paper."""

import numpy as np
import pytest
from edgeopt_papers.rescue.claims import instances as named
from edgeopt_papers.rescue.claims.evaluation import Evaluation
from edgeopt_papers.rescue.claims.exhaustive import (
    clairvoyant_optimum,
    offline_optimum,
    online_optimum,
)
from edgeopt_papers.rescue.claims.instances import crowded_window

from edgeopt.bounds import check
from edgeopt.instances.rescue import tight
from edgeopt.models.rescue import safe_bound
from tests.papers.rescue.claims.integer import integer_optimum

HALF = 0.5
REFUTED = [
    # claim, instance, measured, guaranteed
    ("lemma1.published", named.planned_reservation(), 0, 1),
    ("theorem1.published", named.independent_arrivals(0.01, 0.01), 0.0199 / 1.0099, HALF),
    ("theorem1.published", named.independent_arrivals(0.001, 0.2), 0.2008 / 1.1998, HALF),
    ("value.published", named.independent_arrivals(0.01, 0.01), 0.0199, 1.0099),
    ("value.shortened", named.late_run(), 1, 1.25),
    ("definition1.published", tight(0.1), 0, HALF),
    ("theorem2.published", tight(0.1), 1 / 1.9, 0.4),
    ("theorem2.published", tight(0.01), 1 / 1.99, 0.49),
    ("microslot.occupancy.by_slot", named.contested_slot(), 0.75, 1),
    ("observation1.published", named.half_routed(), 0.7, 0.9),
    ("routing.published", named.half_routed(), 0.5, 1),
    ("plan_choice.published", named.two_plans(), 0.25, 0),
    ("offline_value.published", tight(0.1), 1.9, 1),
    ("clairvoyant.published", named.clairvoyant_gap(), 2, 2.5),
    ("clairvoyant.twice", named.rare_long_runs(8), 4.5 / (2 - 2**-7), 2),
    ("availability.published", named.risky_run(0.1), 0.1 / 1.1, 0),
    ("availability.published", named.risky_run(0.5), 0.5 / 1.5, 0),
    ("safe_ratio.published", named.risky_run(0.1), 0, HALF),
    ("guarded.published", named.reserved_budget(0.01, 0.01), 0.0199 / 1.0099, HALF),
    ("guarded.published", named.reserved_budget(0.1, 0.2), 0.28 / 1.18, HALF),
    ("forbid.lenient", named.split_tolerance(), 0, 1),
    ("feasibility.published", crowded_window(), 1 / 6, 0),
    ("beyond.published", named.outlasting_run(), 1, 0),
    ("safe.constant", named.risky_runs(8, 0.01), 1.07 / 8, 0.25),
    ("safe.constant", named.risky_runs(20, 0.001), 1.019 / 20, 0.25),
    ("safe.half", named.early_commitment(0.001), 2 / 4.4975, HALF),
    ("safe.half", named.early_commitment(0.1), 2 / 4.25, HALF),
    ("safe.half", named.commitments(0.01), 2 / 4.59875, HALF),
    ("safe.quarter.large_runs", named.tempting_runs(8, 0.001, 0.05), 1 / 7.6, 0.25),
    ("safe.quarter.large_runs", named.tempting_runs(6, 0.001, 0.1), 1 / 5.4, 0.25),
]


def test_tight_instance_has_all_its_values():
    for epsilon in (0.5, 0.1, 1e-3):
        view = Evaluation(tight(epsilon))
        assert view.online == pytest.approx(1)
        assert view.integer == pytest.approx(1)
        assert view.offline == pytest.approx(2 - epsilon)
        assert view.plan.objective == pytest.approx(2 - epsilon)
        assert view.earned.sum() == pytest.approx(1)


def test_theorem_two_is_tight_from_both_sides():
    """Equal to 1/(2 - eps): neither a better policy nor a worse optimum would pass."""
    for epsilon in (0.5, 0.1, 1e-3):
        ids = ["rescue.theorem2", "rescue.theorem2.plan", "rescue.theorem2.algorithm"]
        for found in check(ids, tight(epsilon)):
            assert found.verdict == "holds"
            assert found.measured == pytest.approx(1 / (2 - epsilon), abs=1e-9)
    [limit] = check("rescue.theorem2", tight(1e-6))
    assert 0.5 < limit.measured < 0.5 + 1e-6


@pytest.mark.parametrize("change", ["first profit", "second profit", "duration", "reserved"])
def test_theorem_two_speaks_about_its_own_instance_only(change):
    instance = tight(0.1)
    other = {
        "first profit": instance.replace(profit=instance.profit * [[[[[1.1]]]], [[[[1]]]]]),
        "second profit": instance.replace(profit=instance.profit * [[[[[1]]]], [[[[1.1]]]]]),
        "duration": instance.replace(duration=np.array([[0.5, 0.5]])),
        "reserved": named.risky_run(),
    }[change]
    [found] = check("rescue.theorem2", other)
    assert found.verdict == "vacuous"


def test_risky_run_has_all_its_values():
    for delta in (0.1, 0.5):
        instance = named.risky_run(delta)
        view = Evaluation(instance)
        assert view.plan.objective == pytest.approx(1 / (1 + delta))
        assert view.earned.sum() == pytest.approx(1 / (1 + delta))
        assert view.offline_expected == pytest.approx(1 / (1 + delta))
        assert view.offline_pathwise == 0
        assert online_optimum(instance, reserved="pathwise") == 0
        assert view.forbidding.plan.objective == pytest.approx(0, abs=1e-9)


def test_reserved_budget_has_all_its_values():
    for epsilon, delta in ((0.01, 0.01), (0.1, 0.2)):
        instance = named.reserved_budget(epsilon, delta)
        view = Evaluation(instance)
        hindsight = 1 + (1 - epsilon) * delta
        assert view.plan.objective == pytest.approx(hindsight)
        assert view.forbidding.plan.objective == pytest.approx(hindsight)
        assert view.offline_pathwise == pytest.approx(hindsight)
        [priced] = check("rescue.guarded.priced", instance)
        assert priced.verdict == "holds"
        assert priced.certificate["earned"] == pytest.approx(1)
        assert priced.certificate["price"][0, 0] == pytest.approx(delta)


def test_independent_arrivals_have_all_their_values():
    instance = named.independent_arrivals(0.01, 0.01)
    view = Evaluation(instance)
    assert view.plan.objective == pytest.approx(1.0099)
    assert view.plan.y[0, :, 0, 0] == pytest.approx([0.99, 0.01])
    assert view.earned.sum() == pytest.approx(0.0199)
    [repaired] = check("rescue.microslot", instance)
    assert repaired.verdict == "holds"


def test_knowing_durations_is_worth_without_limit():
    for slots in (2, 4, 8):
        instance = named.rare_long_runs(slots)
        optimum, plan = clairvoyant_optimum(instance), Evaluation(instance).plan.objective
        assert plan == pytest.approx(2 - 2.0 ** (1 - slots))
        assert plan < 2
        assert optimum >= slots / 2
        assert offline_optimum(instance) == pytest.approx(plan)


def test_split_tolerance_separates_the_two_readings():
    instance = named.split_tolerance()
    assert offline_optimum(instance, reserved="pathwise", tolerance=1e-9) == 0
    assert offline_optimum(instance, reserved="pathwise", tolerance=1e-7) == 1
    [same] = check("rescue.forbid", instance)
    assert (same.verdict, same.measured) == ("holds", pytest.approx(0, abs=1e-9))


def test_half_routed_and_two_plans():
    view = Evaluation(named.half_routed())
    assert view.plan.y[:, :, 0, 0] == pytest.approx(np.array([[0.5, 0], [0, 0.5]]))
    assert (view.plan.objective, view.online) == pytest.approx((0.95, 0.9))
    [least] = check("rescue.plan_choice", named.two_plans())
    assert least.measured == pytest.approx(0.75)


def test_contested_slot_bounds_every_policy():
    instance = named.contested_slot()
    assert online_optimum(instance) == pytest.approx(0.75)
    assert integer_optimum(instance) == pytest.approx(1)


def test_risky_runs_have_all_their_values():
    for slots, delta in ((2, 0.5), (5, 0.1), (8, 1e-3)):
        instance = named.risky_runs(slots, delta)
        view = Evaluation(instance)
        assert view.forbidding.plan.objective == pytest.approx(slots / (1 + (slots - 1) * delta))
        assert safe_bound(instance).value == pytest.approx(1, abs=1e-12)
        assert online_optimum(instance, reserved="pathwise") == pytest.approx(1, abs=1e-12)
        assert view.offline_pathwise == pytest.approx(1, abs=1e-12)


def test_tempting_runs_have_all_their_values():
    for slots, delta, epsilon in ((4, 0.001, 0.05), (8, 0.001, 0.05), (6, 0.01, 0.2)):
        instance = named.tempting_runs(slots, delta, epsilon)
        view, safe = Evaluation(instance), (1 - epsilon) * slots
        assert view.forbidding.plan.objective == pytest.approx(slots / (1 + (slots - 1) * delta))
        assert view.forbidding.plan.y[..., 0] == pytest.approx(0)
        assert view.offline_pathwise == pytest.approx(safe)
        assert online_optimum(instance, reserved="pathwise") == pytest.approx(safe)
        [half] = check("rescue.safe.quarter", instance)
        assert half.measured == pytest.approx(1)


def test_commitments_have_all_their_values():
    for epsilon in (0.1, 1e-3):
        for build, known in (
            (named.early_commitment, 4.5 - 2.5 * epsilon),
            (named.commitments, 37 / 8 - 21 / 8 * epsilon),
        ):
            instance = build(epsilon)
            assert online_optimum(instance, reserved="pathwise") == pytest.approx(2)
            assert offline_optimum(instance, reserved="pathwise") == pytest.approx(known)
            [ignored] = check("rescue.theorem1", instance)
            assert ignored.verdict == "holds"


def test_devices_before_in_a_slot_count_against_the_guarantee():
    """Half of the time each device arrives, and the second may find the server taken."""
    [found] = check("rescue.safe.guarantee", named.contested_slot())
    assert found.certificate["load"] == pytest.approx([0.5])
    assert (found.measured, found.guaranteed) == pytest.approx((3 / 4, 2 / 3))
