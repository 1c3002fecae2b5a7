"""Value functions, exact policy values and the theorems about them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.instances.rescue import tight
from edgeopt.models.rescue import solve_p1_lp
from edgeopt.online.rescue import (
    Rescue,
    RescuePlus,
    auxiliary_values,
    policy_value,
    value_functions,
)
from tests.oracles.rescue import hindsight, paths, plain, policies, programs, values
from tests.rescue.cases import cases

CLOSE = {"rel": 1e-7, "abs": 1e-9}


def exact(y):
    """Return an array as nested tuples of Fractions."""
    return tuple(map(exact, y)) if isinstance(y, list) else Fraction(y)


def planned(instance):
    """Return the plan of the package, the oracle's view of the instance, and y in Fractions."""
    plan = solve_p1_lp(instance)
    return plan, plain(instance), exact(plan.y.tolist())


def random_routing(instance, seed):
    """Return any y that respects (3a) and (3b): guarantees about values hold for all of them."""
    rng = np.random.default_rng(seed)
    y = rng.random(instance.shape[:4]) * rng.integers(0, 2, instance.shape[:4])
    y *= (instance.arrival / np.maximum(y.sum(axis=(2, 3)), 1e-300)).clip(0, 1)[..., None, None]
    oracle = plain(instance, float)
    occupation = max(
        sum(
            y[start, :, k, profile].sum() * oracle.S[profile][t - start]
            for start in range(max(0, t - oracle.D + 1), t + 1)
            for profile in range(oracle.L)
        )
        for k in range(oracle.K)
        for t in range(oracle.T)
    )
    return y / max(1.0, occupation)


def start_values(oracle, y):
    """Return the exact value of the routed policy on each server."""
    if oracle.independent:
        _, M = values.micro_value_functions(oracle, y)
        return [M[k][0][0] for k in range(oracle.K)]
    _, B = values.value_functions(oracle, y)
    return [B[k][0] for k in range(oracle.K)]


@given(cases())
def test_compiled_values_equal_the_recursion(instance):
    plan, oracle, y = planned(instance)
    activation, baseline = value_functions(instance, plan.y)
    assert activation.shape == instance.shape[:4]
    if oracle.independent:
        A, M = values.micro_value_functions(oracle, y)
        B = [[M[k][t][0] for t in range(oracle.T + 1)] for k in range(oracle.K)]
    else:
        A, B = values.value_functions(oracle, y)
    assert np.allclose(activation, np.array(A, dtype=float), rtol=1e-9, atol=1e-12)
    assert baseline == pytest.approx(np.array(B, dtype=float), **CLOSE)
    assert not baseline[:, -1].any()


@given(cases(arrivals="exclusive"))
def test_compiled_auxiliary_values_equal_the_recursion(instance):
    plan, oracle, y = planned(instance)
    expected = np.array(values.auxiliary_values(oracle, y), dtype=float)
    assert auxiliary_values(instance, plan.y).baseline == pytest.approx(expected, **CLOSE)


@given(cases(reserved=False))
def test_backward_forward_and_paths_give_one_expected_profit(instance):
    plan, oracle, y = planned(instance)
    backward = start_values(oracle, y)
    # a row of y may exceed p by the rounding of one float, and only by that
    assert [float(v) for v in values.forward_profit(oracle, y)] == pytest.approx(
        [float(v) for v in backward], rel=1e-12
    )
    outcome = paths.evaluate(oracle, policies.Rescue(oracle, y))
    assert float(outcome.profit) == pytest.approx(float(sum(backward)), rel=1e-12)
    compiled = value_functions(instance, plan.y).baseline[:, 0].sum()
    assert compiled == pytest.approx(float(outcome.profit), **CLOSE)
    assert policy_value(instance, Rescue(plan=plan)) == pytest.approx(
        float(outcome.profit), **CLOSE
    )


@given(cases(reserved=False, servers=1, devices=2, horizon=3, max_duration=2))
def test_every_single_path_adds_up_to_the_compiled_value(instance):
    plan, oracle, y = planned(instance)
    every = list(paths.sample_paths(oracle, policies.Rescue(oracle, y)))
    assert float(sum(path.probability for path in every)) == pytest.approx(1, rel=1e-12)
    profit = float(sum(path.probability * path.profit for path in every))
    assert value_functions(instance, plan.y).baseline[:, 0].sum() == pytest.approx(profit, **CLOSE)


@given(cases(arrivals="exclusive"), st.integers(0, 2**32 - 1))
def test_lemmas_2_and_3_for_any_routing(instance, seed):
    """Merged devices earn no more, and half of what the relaxation collects on each server."""
    for y in (solve_p1_lp(instance).y, random_routing(instance, seed)):
        merged = auxiliary_values(instance, y).baseline
        assert (value_functions(instance, y).baseline >= merged - 1e-9).all()
        collected = np.einsum("tjkl,tjkl->k", y, instance.expected_profit)
        assert (merged[:, 0] >= collected / 2 - 1e-7).all()
        busiest = values.prior_occupation(plain(instance, float), exact(y.tolist()))
        sharper = collected / (1 + np.array(busiest, dtype=float))
        assert (merged[:, 0] >= sharper - 1e-7).all()


@given(cases(), st.integers(0, 2**32 - 1))
def test_stronger_bound_for_either_kind_of_arrivals(instance, seed):
    for y in (solve_p1_lp(instance).y, random_routing(instance, seed)):
        baseline = value_functions(instance, y).baseline
        collected = np.einsum("tjkl,tjkl->k", y, instance.expected_profit)
        busiest = values.prior_occupation(plain(instance, float), exact(y.tolist()))
        assert max(busiest) <= 1 + 1e-7
        assert (baseline[:, 0] >= collected / (1 + np.array(busiest, dtype=float)) - 1e-7).all()
        assert (np.diff(baseline, axis=1) <= 1e-12).all()


@given(cases())
def test_theorem_1_earns_half_of_the_proven_bound(instance):
    """Reserved tasks are ignored by the policy, and may only lower what it is compared with."""
    plan, oracle, y = planned(instance)
    earned = float(paths.evaluate(oracle, policies.Rescue(oracle, y)).profit)
    assert earned >= 0.5 * plan.bound - 1e-6 * max(1.0, plan.bound)


@given(st.floats(0.001, 0.999))
def test_theorem_2_no_online_policy_earns_more_than_its_share(epsilon):
    instance = tight(epsilon)
    plan = solve_p1_lp(instance)
    oracle = plain(instance)
    assert plan.objective == pytest.approx(2 - epsilon, rel=1e-6)
    assert float(hindsight.arrival_clairvoyant(oracle)) == pytest.approx(2 - epsilon)
    best = float(hindsight.online_optimum(oracle))
    assert best == pytest.approx(1.0)
    assert value_functions(instance, plan.y).baseline[:, 0].sum() == pytest.approx(1.0, rel=1e-6)
    assert best / plan.objective == pytest.approx(1 / (2 - epsilon), rel=1e-6)
    assert float(programs.p1_brute_force(oracle)) == pytest.approx(1.0)


@given(cases(reserved=False))
def test_rescue_plus_is_an_exact_improvement_and_below_the_best_policy(instance):
    plan, oracle, y = planned(instance)
    routed = paths.evaluate(oracle, policies.Rescue(oracle, y)).profit
    plus = paths.evaluate(oracle, policies.RescuePlus(oracle, y)).profit
    best = hindsight.online_optimum(oracle)
    slack = Fraction(1, 10**9)
    assert plus >= routed - slack
    assert best >= plus - slack
    assert policy_value(instance, RescuePlus(plan=plan)) == pytest.approx(float(plus), **CLOSE)
