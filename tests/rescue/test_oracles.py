"""Hindsight optima, and the oracles against one another."""

from __future__ import annotations

from fractions import Fraction

import pytest
from edgeopt_papers.rescue.claims import exhaustive
from hypothesis import given, settings

from edgeopt.instances.rescue import ReservedTasks
from edgeopt.models.rescue import solve_p1_lp
from tests.draws import LEAN, draws
from tests.oracles.rescue import (
    build,
    hindsight,
    paths,
    plain,
    policies,
    programs,
    reserved,
    values,
)
from tests.oracles.rescue.paths import evaluate
from tests.papers.rescue.claims.integer import integer_optimum
from tests.rescue.cases import cases, with_reserved

DELTA, EPSILON = Fraction(1, 100), Fraction(1, 100)


def routed(instance, forbidden=None):
    """Return the optimum of the relaxation and an exact routing that attains it."""
    program = programs.p1_lp(instance, forbidden)
    value, point = programs.optimum(program)
    exact = programs.exact_optimum(program)
    assert value == pytest.approx(float(exact), abs=1e-9)
    y = programs.routing(instance, program, [Fraction(v).limit_denominator(10**6) for v in point])
    return exact, y


def two_slots(first, second, epsilon):
    """Return one device and one server: a sure small task, then a rare large one."""
    return build(
        [[1], [epsilon]],
        [[0, 1]],
        [[1, 1]],
        [[[[[0, first]]]], [[[[0, second]]]]],
    )


def test_the_tight_instance_is_earned_once_but_bounded_twice():
    e = Fraction(1, 10)
    instance = two_slots(1, 1 / e, e)
    value, y = routed(instance)
    assert value == 2 - e
    _, B = values.value_functions(instance, y)
    assert B[0][0] == 1
    assert hindsight.arrival_clairvoyant(instance) == 2 - e
    assert hindsight.online_optimum(instance) == 1
    assert programs.p1_brute_force(instance) == 1


def test_independent_arrivals_break_the_guarantee_of_the_published_rule():
    e = d = Fraction(1, 100)
    instance = build([[1, e]], [[1]], [[1]], [[[[[d]]], [[[1 / e]]]]], independent=True)
    value, y = routed(instance)
    assert value == (1 - e) * d + 1
    # Printed rule: threshold B(t+1) = 0 for every task of the slot, so the sure one goes first.
    assert y == ((((1 - e,),), ((e,),)),)
    published = policies.Rescue(instance, y)
    published.margin = [[[[d]], [[1 / e]]]]
    assert paths.evaluate(instance, published).profit == pytest.approx(float((1 - e) * d + e * 1))
    # Micro-slots: the value of waiting for the rare task rejects the sure one.
    assert paths.evaluate(instance, policies.Rescue(instance, y)).profit >= value / 2


def test_slot_level_occupation_is_wrong_for_independent_arrivals():
    half = Fraction(1, 2)
    instance = build([[1, 1]], [[1]], [[1]], 1, independent=True)
    y = ((((half,),), ((half,),)),)
    assert values.forward_profit(instance, y) == [Fraction(3, 4)]
    assert values.prior_occupation(instance, y) == [half]
    assert paths.evaluate(instance, policies.Rescue(instance, y)).profit == Fraction(3, 4)


def test_reserved_work_fails_with_the_known_probability():
    d = Fraction(1, 10)
    instance = build(
        [[1], [0]], [[1 - d, d]], [[1, 1]], [[[[[1, 1]]]], [[[[0, 0]]]]], [(0, 0, 1, 1)]
    )
    value, y = routed(instance)
    assert value == pytest.approx(float(1 / (1 + d)))
    y = ((((1 / (1 + d),),),), (((0,),),))
    outcome = paths.evaluate(instance, policies.Rescue(instance, y))
    assert outcome.profit == 1 / (1 + d)
    assert outcome.failure == (d / (1 + d),)
    assert outcome.any_failure == d / (1 + d)
    guarded = paths.evaluate(instance, policies.Rescue(instance, y, guarded=True))
    assert guarded.profit == guarded.any_failure == 0
    assert hindsight.arrival_clairvoyant(instance, pathwise=True) == 0
    assert reserved.unsafe_pairs(instance)[0] == [[True]]


def test_knowing_durations_beats_the_relaxation():
    instance = build([[1], [1]], [[Fraction(1, 2)] * 2], [[1, 1]], [[[[[1, 1]]]], [[[[2, 2]]]]])
    value, _ = routed(instance)
    assert value == 2
    assert hindsight.duration_clairvoyant(instance) == Fraction(5, 2)
    assert hindsight.arrival_clairvoyant(instance) == 2


def test_reserved_tasks_only_in_the_relaxation_void_the_bound():
    instance = build([[1]], [[1]], [[1]], 1, [(0, 0, 0, 1)])
    assert routed(instance)[0] == 0
    assert hindsight.arrival_clairvoyant(instance) == 1
    assert hindsight.arrival_clairvoyant(instance, pathwise=True) == 0


def test_two_tasks_that_fit_alone_and_not_together():
    instance = build([[1]], [[1]], [[1]], 1, [(0, 0, 0, Fraction(3, 5)), (0, 0, 0, Fraction(3, 5))])
    tasks = instance.reserved
    left = [task.demand for task in tasks]
    assert programs.exact_optimum(programs.p1_lp(instance)) is None
    assert programs.p1_brute_force(instance) is None
    assert reserved.edf_remainder(tasks, left, [1], 0) == Fraction(1, 5)
    assert reserved.demand_excess(tasks, left, [1], 0) == Fraction(1, 5)
    assert reserved.shortfall_by_lp(tasks, left, [1], 0) == pytest.approx(0.2)


def test_state_law_and_single_paths_agree(random_plain):
    for seed in range(4 if LEAN else 12):
        instance = random_plain(seed, slots=3)
        _, y = routed(instance)
        for guarded in (False, True):
            for name, policy in policies.all_policies(instance, y, guarded=guarded).items():
                every = list(paths.sample_paths(instance, policy))
                outcome = paths.evaluate(instance, policy)
                assert sum(path.probability for path in every) == 1
                assert sum(v.probability * v.profit for v in every) == outcome.profit, name
                failed = sum(v.probability for v in every if v.failed)
                assert failed == outcome.any_failure
                for i, chance in enumerate(outcome.failure):
                    assert chance == sum(v.probability for v in every if i in v.failed)


def test_lagrangian_bound_of_any_multipliers_is_a_bound(random_plain, rng):
    for seed in range(40):
        instance = random_plain(seed, slots=3)
        value, _ = routed(instance)
        mu = [[Fraction(v) for v in row] for row in rng.random((instance.T, instance.J)).tolist()]
        lam = [[Fraction(v) for v in row] for row in rng.random((instance.K, instance.T)).tolist()]
        pi = [Fraction(-v) for v in rng.random(len(instance.reserved)).tolist()]
        assert programs.dual_bound(instance, mu, lam, pi) >= value


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
