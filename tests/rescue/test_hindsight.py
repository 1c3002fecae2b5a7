"""What better-informed players earn, against the relaxation that is said to bound them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from edgeopt.bounds.rescue import exhaustive
from edgeopt.instances.rescue import ReservedTasks
from edgeopt.models.rescue import solve_p1_lp
from tests.bounds.rescue.integer import integer_optimum
from tests.draws import draws
from tests.oracles.rescue import hindsight, plain, policies, programs
from tests.oracles.rescue.paths import evaluate
from tests.rescue.cases import cases, with_reserved

CLOSE = {"rel": 1e-9, "abs": 1e-9}


@given(cases(reserved=False, devices=2, horizon=4))
def test_lemma_1_the_relaxation_bounds_who_knows_the_arrivals(instance):
    optimum = hindsight.arrival_clairvoyant(plain(instance, float))
    assert solve_p1_lp(instance).bound >= optimum - 1e-9
    assert exhaustive.offline_optimum(instance) == pytest.approx(optimum, **CLOSE)


@given(with_reserved())
def test_relaxations_bound_who_keeps_all_promises_on_every_path(instance):
    optimum = hindsight.arrival_clairvoyant(plain(instance, float), pathwise=True)
    plan = solve_p1_lp(instance)
    safe = solve_p1_lp(instance, forbid_unsafe=True)
    assert plan.bound >= optimum - 1e-7
    assert safe.bound >= optimum - 1e-7
    found = exhaustive.offline_optimum(instance, reserved="pathwise")
    assert found == pytest.approx(optimum, **CLOSE)


@given(with_reserved())
def test_guarded_policies_stay_below_the_safe_relaxation(instance):
    """Every policy that never fails a reserved task is covered by the safe relaxation."""
    oracle = plain(instance, float)
    safe = solve_p1_lp(instance, forbid_unsafe=True)
    y = tuple(tuple(tuple(map(tuple, b)) for b in a) for a in safe.y.tolist())
    best = hindsight.online_optimum(oracle, pathwise=True)
    assert safe.bound >= best - 1e-7
    for name, policy in policies.all_policies(oracle, y, guarded=True).items():
        outcome = evaluate(oracle, policy)
        assert outcome.any_failure == 0, name
        assert outcome.profit <= best + 1e-7, name
    found = exhaustive.online_optimum(instance, reserved="pathwise")
    assert found == pytest.approx(best, **CLOSE)


@given(cases(reserved=False))
def test_best_online_policy(instance):
    best = hindsight.online_optimum(plain(instance, float))
    assert exhaustive.online_optimum(instance) == pytest.approx(best, **CLOSE)
    assert hindsight.arrival_clairvoyant(plain(instance, float)) >= best - 1e-9


@given(cases(servers=2, devices=2, profiles=1, horizon=2, max_duration=2))
def test_integer_optimum(instance):
    oracle = plain(instance, float)
    found = integer_optimum(instance)
    wide = programs.p1_brute_force(oracle, slack=1e-6)
    narrow = programs.p1_brute_force(oracle, slack=-1e-6)
    assert found <= wide + 1e-9
    if narrow is not None:
        assert found >= narrow - 1e-9


@given(
    cases(reserved=False, arrivals="exclusive", devices=2, profiles=1, horizon=3, max_duration=2)
)
def test_who_knows_the_durations_too(instance):
    """With one profile there is one duration per task, however it is coupled."""
    optimum = hindsight.duration_clairvoyant(plain(instance, float))
    assert exhaustive.clairvoyant_optimum(instance) == pytest.approx(optimum, **CLOSE)
    assert optimum >= hindsight.arrival_clairvoyant(plain(instance, float)) - 1e-9


@settings(max_examples=draws(50))
@given(with_reserved(devices=2))
def test_reserved_tasks_are_ignored_where_it_says_so(instance):
    bare = instance.replace(reserved=ReservedTasks.none())
    value = hindsight.arrival_clairvoyant(plain(instance, float))
    assert exhaustive.offline_optimum(instance) == pytest.approx(value, **CLOSE)
    assert exhaustive.offline_optimum(bare) == pytest.approx(value, **CLOSE)
