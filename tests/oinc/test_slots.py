"""Plans of slots: exact shares of a site, and the search for sites."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgeopt.models.oinc.programs import slot_misocp
from edgeopt.models.oinc.slot import (
    allocate,
    assign,
    assignment_cost,
    closed_form_cost,
    evaluate,
    fits,
    solve_slot,
)
from tests.draws import draws
from tests.oinc.cases import draw_rational_site, draw_slot
from tests.oinc.strategies import slot_problems
from tests.oracles.oinc import cones, shares, slots

SEEDS = st.integers(0, 2**32 - 1)
TOUCHING = 1e-6


def one_site(seed):
    """Return times, objectives, room and weights on the only site of a drawn slot."""
    problem = draw_slot(seed, requests=6, sites=1)
    columns = problem.transmission[:, 0], problem.computation[:, 0], problem.slo
    return (*(c.tolist() for c in columns), float(problem.room[0]), problem.weight.tolist())


def check_shares(found, A, E, S, room, weight):
    """Whatever is returned as shares is allowed and costs what it says."""
    assert (found.band >= 0).all()
    assert (found.cpu >= 0).all()
    assert found.band.sum() <= 1 + 1e-9
    assert found.cpu.sum() <= room * (1 + 1e-9)
    tau = shares.latency(A, E, found.band.tolist(), found.cpu.tolist())
    assert np.dot(weight, tau) == pytest.approx(found.objective, rel=1e-9, abs=1e-12)
    if S is not None:
        assert all(t <= s * (1 + 1e-9) for t, s in zip(tau, S, strict=True))
    proven = shares.dual(
        A, E, [math.inf] * len(A) if S is None else S, room, weight,
        found.band_price, found.cpu_price,
    )  # fmt: skip
    assert proven == pytest.approx(found.bound, rel=1e-7, abs=1e-9)
    assert proven <= found.objective * (1 + 1e-12) + 1e-15


@given(SEEDS)
def test_the_closed_form_is_proven_by_its_prices(seed):
    A, E, _, room, weight = one_site(seed)
    found = allocate(A, E, room=room, weight=weight)
    assert found.feasible
    check_shares(found, A, E, None, room, weight)
    assert found.gap < 1e-12


@given(SEEDS)
def test_objectives_are_shared_out_as_the_search_for_a_price_does(seed):
    """The verdict is that of the search for a price; where it is yes, so is the cost.

    Sets that are just feasible, or just not, are left out: there floats are not sure.
    """
    A, E, S, room, weight = one_site(seed)
    needed = shares.needed(A, E, S)
    assume(abs(needed - room) > 1e-3 * room)
    found = allocate(A, E, S, room=room, weight=weight)
    assert found.feasible == (needed < room)
    if not found.feasible:
        assert found.objective == math.inf
        assert np.isnan(found.band).all()
        return
    check_shares(found, A, E, S, room, weight)
    assert found.gap < 1e-7
    assert found.objective == pytest.approx(shares.best(A, E, S, room, weight).cost, rel=1e-8)


@given(SEEDS)
def test_the_verdict_turns_where_the_objectives_need_all_cpu(seed):
    """With rational square roots the need is a rational number, and neither side of it is far."""
    roots = draw_rational_site(seed)
    need = shares.needed_exactly(*roots)
    A, E = ([float(r * r) for r in row] for row in roots[:2])
    S = [float(s) for s in roots[2]]
    if need is None:
        found = fits(A, E, S)
        assert not found.feasible or sum(r * r / s for r, _, s in zip(*roots, strict=True)) == 1
        return
    # at the very edge the price of the CPU is infinite, and halving finds it no more
    if sum(r * r / s for r, _, s in zip(*roots, strict=True)) < 1:
        assert shares.needed(A, E, S) == pytest.approx(float(need), rel=1e-9, abs=1e-15)
    for factor in (1 - TOUCHING, 1 + TOUCHING):
        room = float(need) * factor
        if not 0 < room <= 1:
            continue
        found = fits(A, E, S, room)
        assert found.feasible == (factor > 1)
        assert found.needed == pytest.approx(float(need), rel=1e-9)
        check_verdict(found, A, E, S, room)


def check_verdict(found, A, E, S, room):
    """A yes comes with shares, a no with two numbers; either can be checked by hand."""
    if found.feasible:
        assert found.band.sum() <= 1 + 1e-9
        assert found.cpu.sum() <= room * (1 + 1e-9)
        tau = shares.latency(A, E, found.band.tolist(), found.cpu.tolist())
        assert all(t <= s * (1 + 1e-9) for t, s in zip(tau, S, strict=True))
        return
    p, q = found.proof
    assert min(p, q) >= 0
    pressed = sum(
        (p * math.sqrt(a) + q * math.sqrt(e)) ** 2 / s for a, e, s in zip(A, E, S, strict=True)
    )
    assert pressed > p * p + q * q * room


@given(SEEDS)
def test_the_closed_form_is_exact(seed):
    """With rational square roots the cost is a rational number."""
    root_A, root_E, _ = draw_rational_site(seed)
    rng = np.random.default_rng(seed)
    room = Fraction(int(rng.integers(1, 9)), 8)
    root_w = [Fraction(int(v), 4) for v in rng.integers(1, 9, len(root_A))]
    exact = shares.plain_cost(root_A, root_E, room, root_w)
    A, E, w = ([float(r * r) for r in row] for row in (root_A, root_E, root_w))
    assert closed_form_cost(A, E, room=float(room), weight=w) == pytest.approx(
        float(exact), rel=1e-13
    )
    found = allocate(A, E, room=float(room), weight=w)
    assert found.objective == pytest.approx(float(exact), rel=1e-12)
    total = sum(v * a for v, a in zip(root_w, root_A, strict=True))
    if total:
        shape = [float(v * a / total) for v, a in zip(root_w, root_A, strict=True)]
        assert found.band == pytest.approx(shape, rel=1e-12)


@settings(max_examples=draws(100))
@given(slot_problems(requests=4, sites=2, weighted=None), SEEDS)
def test_a_plan_costs_what_its_sites_do(problem, seed):
    """An assignment is evaluated site by site, each at its best shares."""
    site = np.random.default_rng(seed).integers(0, problem.sites, problem.requests)
    for objectives in (False, True):
        plan = evaluate(problem, site, objectives=objectives)
        assert plan.site.tolist() == site.tolist()
        for j in range(problem.sites):
            mine = np.flatnonzero(site == j)
            if mine.size == 0:
                continue
            A, E = (t[mine, j].tolist() for t in (problem.transmission, problem.computation))
            S, weight = problem.slo[mine].tolist(), problem.weight[mine].tolist()
            room = float(problem.room[j])
            cost = float(weight @ plan.latency[mine])
            # every objective that is kept is met, at the least cost of keeping these
            kept = [s if met and objectives else math.inf
                    for s, met in zip(S, plan.met[mine], strict=True)]  # fmt: skip
            if objectives and all(plan.met[mine]):
                assert cost == pytest.approx(shares.best(A, E, kept, room, weight).cost, rel=1e-7)
            elif not objectives:
                free = [math.inf] * len(S)
                assert cost == pytest.approx(shares.best(A, E, free, room, weight).cost, rel=1e-9)
            else:
                assert shares.needed(A, E, S) > room * (1 - 1e-9)


EXACT = 1e-9


@settings(max_examples=draws(100))
@given(SEEDS)
def test_a_plan_that_keeps_all_objectives_is_near_the_best(seed):
    """It is at least as dear as the best one and, with so few requests, hardly dearer."""
    problem = draw_slot(seed, slack=2.5)
    plan = solve_slot(problem)
    best = slots.brute(problem, objectives=True)
    if best.site is None:
        assert not plan.met.all()
        return
    assert evaluate(problem, np.array(best.site)).met.all()
    assume(plan.met.all())
    assert best.cost * (1 - 1e-7) <= plan.objective <= best.cost * 1.05


@settings(max_examples=draws(40))
@given(SEEDS)
def test_the_program_of_the_package_is_the_relaxation(seed):
    problem = draw_slot(seed, requests=3, sites=2)
    objectives = seed % 2 == 0
    expected = cones.relaxation(problem, objectives=objectives)
    model = slot_misocp(problem, objectives=objectives, relax=True)
    value = model.solve(solver="CLARABEL")
    if expected == math.inf:
        assert value == math.inf
    else:
        assert value == pytest.approx(expected, rel=1e-5, abs=1e-6)


@settings(max_examples=draws(100))
@given(SEEDS)
def test_no_move_and_no_swap_helps(seed):
    """The search stops where no request alone, nor two together, could do better elsewhere."""
    problem = draw_slot(seed, requests=5)
    site = assign(problem)
    n, J = problem.requests, problem.sites
    cost = assignment_cost(problem, site)
    for i in range(n):
        for j in range(J):
            other = site.copy()
            other[i] = j
            assert assignment_cost(problem, other) >= cost * (1 - EXACT)
        for k in range(i):
            other = site.copy()
            other[i], other[k] = site[k], site[i]
            assert assignment_cost(problem, other) >= cost * (1 - EXACT)
