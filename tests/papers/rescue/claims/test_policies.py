"""The decision rules that the claims evaluate are the policies that the package ships."""

import pytest
from edgeopt_papers.rescue.claims.evaluation import Evaluation, best_advantage, routed
from edgeopt_papers.rescue.claims.exhaustive import (
    evaluate,
    evaluate_by_state,
    offline_optimum,
    online_optimum,
)
from edgeopt_papers.rescue.claims.instances import risky_run
from hypothesis import given

from edgeopt.instances.rescue import small
from edgeopt.models.rescue import solve_p1_lp
from edgeopt.online import simulate
from edgeopt.online.rescue import (
    CompetingOffers,
    PriceGreedy,
    Rescue,
    RescueEnvironment,
    RescuePlus,
    SafeRescue,
    SafeRescuePlus,
    policy_value,
)
from edgeopt.testing.strategies import rescue_instances
from tests.rescue.plans import expected_violations


@given(rescue_instances(reserved=None, arrivals=None, beyond=None, horizon=3))
def test_unguarded_policies(instance):
    view = Evaluation(instance)
    if instance.arrivals == "exclusive":
        activation, threshold, earned = view.values[0], view.threshold, view.earned
    else:
        activation, threshold, _ = view.by_turn
        earned = view.microslot_earned
    rescue = policy_value(instance, Rescue(plan=view.plan))
    assert rescue == pytest.approx(earned.sum(), abs=1e-9)
    improved = evaluate(instance, best_advantage(activation, threshold)).profit
    assert policy_value(instance, RescuePlus(plan=view.plan)) == pytest.approx(improved, abs=1e-9)


@given(rescue_instances(reserved=True, arrivals="exclusive", horizon=3))
def test_guarded_policies(instance):
    view = Evaluation(instance).forbidding
    rule = routed(view.routings, view.values[0], view.threshold, guarded=True)
    found = evaluate(instance, rule)
    shipped = Rescue(plan=view.plan, guarded=True)
    assert found.failure == 0
    assert policy_value(instance, shipped) == pytest.approx(found.profit, abs=1e-9)
    assert found.profit <= online_optimum(instance, reserved="pathwise") + 1e-9
    assert found.profit <= offline_optimum(instance, reserved="pathwise") + 1e-9


@given(rescue_instances(reserved=False, arrivals=None, beyond=None, horizon=3))
def test_policies_by_state_are_the_published_ones_where_nothing_is_reserved(instance):
    plan = solve_p1_lp(instance, forbid_unsafe=True)
    for by_state, other in ((SafeRescue, Rescue), (SafeRescuePlus, RescuePlus)):
        found = evaluate_by_state(instance, by_state(plan=plan))
        assert found.profit == pytest.approx(policy_value(instance, other(plan=plan)), abs=1e-9)


@given(rescue_instances(reserved=True, arrivals=None, horizon=3))
def test_no_safe_policy_beats_the_best_or_fails_a_task(instance):
    best = online_optimum(instance, reserved="pathwise")
    for policy in (SafeRescue(), SafeRescuePlus(), PriceGreedy(), CompetingOffers(paths=10)):
        found = evaluate_by_state(instance, policy)
        assert (found.failure, found.violations) == (0, 0)
        assert found.profit <= best + 1e-9
        if instance.servers == 1 and isinstance(policy, PriceGreedy):
            assert found.profit == pytest.approx(best, abs=1e-9)


def test_simulated_runs_earn_what_all_histories_do():
    instance = small(8)
    assert len(instance.reserved) > 0
    policy = SafeRescue()
    profits = simulate(RescueEnvironment(instance), policy, runs=4000).reward.sum(axis=1)
    expected = evaluate_by_state(instance, policy).profit
    assert abs(profits.mean() - expected) <= 4 * profits.std() / 4000**0.5


def test_algorithm_one_risks_what_the_claim_says():
    for delta in (0.1, 0.5):
        instance = risky_run(delta)
        plan = Evaluation(instance).plan
        assert expected_violations(instance, Rescue(plan=plan)) == pytest.approx(
            delta / (1 + delta)
        )
        assert expected_violations(instance, Rescue(plan=plan, guarded=True)) == 0
