"""The exact recursions against each other, against second implementations and closed forms."""

import numpy as np
import pytest
from edgeopt_papers.rescue.claims.evaluation import Evaluation, best_advantage, routed
from edgeopt_papers.rescue.claims.exhaustive import (
    clairvoyant_optimum,
    evaluate,
    hindsight,
    offline_optimum,
    online_optimum,
)
from edgeopt_papers.rescue.claims.instances import rare_long_runs, risky_run
from edgeopt_papers.rescue.claims.recursion import values_by_slot, values_by_turn
from hypothesis import given
from scipy.optimize import Bounds, LinearConstraint

from edgeopt.bounds import NotApplicableError
from edgeopt.instances.rescue import ReservedTasks, generate, small
from edgeopt.models.rescue import p1_lp_matrix
from edgeopt.online.rescue import value_functions
from edgeopt.testing.strategies import rescue_instances
from tests.certified import milp
from tests.papers.rescue.claims.integer import integer_optimum

ANY = {"reserved": None, "arrivals": None, "beyond": None, "horizon": 3, "devices": 2}


@given(rescue_instances(**ANY))
def test_more_knowledge_and_fewer_duties_never_earn_less(instance):
    online = online_optimum(instance)
    offline = offline_optimum(instance)
    safe_online = online_optimum(instance, reserved="pathwise")
    safe_offline = offline_optimum(instance, reserved="pathwise")
    on_average = offline_optimum(instance, reserved="expected")
    chain = [0.0, safe_online, safe_offline, on_average, offline]
    assert np.all(np.diff(chain) >= -1e-7)
    assert safe_online <= online + 1e-9 <= offline + 2e-9


@given(rescue_instances(**{**ANY, "reserved": False}))
def test_without_reserved_tasks_all_readings_coincide(instance):
    ignored = offline_optimum(instance)
    assert offline_optimum(instance, reserved="pathwise") == pytest.approx(ignored, abs=1e-9)
    assert offline_optimum(instance, reserved="expected") == pytest.approx(ignored, abs=1e-7)


@given(rescue_instances(reserved=False, arrivals="exclusive", horizon=3, devices=2))
def test_certain_durations_leave_nothing_to_foresee(instance):
    certain = np.zeros(instance.duration.shape)
    certain[np.arange(instance.profiles), np.arange(instance.profiles)] = 1
    fixed = instance.replace(duration=certain)
    assert clairvoyant_optimum(fixed) == pytest.approx(offline_optimum(fixed), abs=1e-9)
    assert clairvoyant_optimum(instance) >= offline_optimum(instance) - 1e-9


@given(rescue_instances(reserved=None, arrivals=None, horizon=3, devices=2))
def test_integer_program_agrees_with_branch_and_bound(instance):
    program = p1_lp_matrix(instance)
    columns = int(np.prod(instance.shape[:4]))
    # P1 in its own variables: y counts tasks, the LP's y the probability that they come.
    scale = np.ones(len(program.cost))
    scale[:columns] = instance.arrival.repeat(instance.servers * instance.profiles)
    upper = np.ones(len(scale))
    row_upper = np.where(np.isfinite(program.row_upper), program.row_upper, np.inf)
    solved = milp(
        -program.cost * scale,
        constraints=LinearConstraint(program.matrix * scale, program.row_lower, row_upper),
        integrality=np.arange(len(scale)) < columns,
        bounds=Bounds(0, upper),
    )
    assert integer_optimum(instance) == pytest.approx(-solved.fun, abs=1e-6)


@given(rescue_instances(reserved=None, arrivals="exclusive"))
def test_forward_recursion_equals_joint_enumeration(instance):
    view = Evaluation(instance)
    joint = evaluate(instance, routed(view.routings, view.values[0], view.threshold))
    assert view.earned.sum() == pytest.approx(joint.profit, abs=1e-9)
    assert joint.profit <= online_optimum(instance) + 1e-9


@given(rescue_instances(reserved=None, arrivals="independent", horizon=3))
def test_turns_equal_joint_enumeration(instance):
    view = Evaluation(instance)
    values = view.by_turn
    joint = evaluate(instance, routed(view.routings, values.activation, values.threshold))
    published = evaluate(instance, routed(view.routings, view.values[0], view.threshold))
    assert view.microslot_earned.sum() == pytest.approx(joint.profit, abs=1e-9)
    assert view.earned.sum() == pytest.approx(published.profit, abs=1e-9)


@given(rescue_instances(reserved=None, arrivals="exclusive", beyond=None))
def test_plain_and_compiled_recursions_agree(instance):
    routing = Evaluation(instance).routings
    activation, baseline = value_functions(instance, routing)
    plain = values_by_slot(instance, routing)
    assert plain.activation == pytest.approx(activation, abs=1e-10)
    assert plain.baseline == pytest.approx(baseline, abs=1e-10)


@given(rescue_instances(reserved=None, arrivals="independent", beyond=None))
def test_plain_and_compiled_turns_agree(instance):
    routing = Evaluation(instance).routings
    activation, baseline = value_functions(instance, routing)
    plain = values_by_turn(instance, routing)
    assert plain.activation == pytest.approx(activation, abs=1e-10)
    assert plain.baseline == pytest.approx(baseline, abs=1e-10)


def test_policy_values_average_over_arrival_sequences():
    instance = small(3)
    view = Evaluation(instance)
    rule = best_advantage(view.values[0], view.threshold)
    by_sequence = [
        (chance, evaluate(instance, rule, arrivals=arrivals), optimum)
        for chance, arrivals, optimum in hindsight(instance)
    ]
    together = evaluate(instance, rule)
    assert sum(chance for chance, _, _ in by_sequence) == pytest.approx(1)
    assert sum(c * v.profit for c, v, _ in by_sequence) == pytest.approx(together.profit)
    assert sum(c * v.failure for c, v, _ in by_sequence) == pytest.approx(together.failure)
    assert sum(c * best for c, _, best in by_sequence) == pytest.approx(offline_optimum(instance))
    assert all(value.profit <= best + 1e-9 for _, value, best in by_sequence)


def test_failure_counts_paths_not_tasks():
    """Two tasks that fail together on one path fail once."""
    delta = 0.25
    base = risky_run(delta)
    both = np.array([0, 0])
    twice = base.replace(
        reserved=ReservedTasks(both, both, both + 1, np.array([0.5, 0.5])),
    )
    always = best_advantage(np.ones((2, 1, 1, 1)), np.zeros((2, 1, 1)))
    for instance in (base, twice):
        found = evaluate(instance, always)
        assert (found.profit, found.failure) == pytest.approx((1, delta))


@pytest.mark.parametrize(
    "exact", [offline_optimum, online_optimum, clairvoyant_optimum, integer_optimum, hindsight]
)
def test_large_instances_are_refused_before_any_work(exact):
    with pytest.raises(NotApplicableError, match="too large for exact enumeration"):
        exact(generate())


def test_limit_is_the_callers():
    instance = rare_long_runs(6)
    assert clairvoyant_optimum(instance, limit=400) > 2
    with pytest.raises(NotApplicableError, match="at most 63"):
        clairvoyant_optimum(instance, limit=63)


def test_rules_of_a_large_instance_are_refused_without_solving_it():
    view = Evaluation(generate())
    for rule in (view.algorithm, view.improved, view.improved_by_turn):
        with pytest.raises(NotApplicableError, match="too large"):
            rule()
    assert "plan" not in vars(view)
