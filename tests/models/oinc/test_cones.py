"""One site and one slot in convex form: closed form, brute force, what the continuous bound is."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import InputError
from edgeopt.models.oinc.programs import allocation_program, slot_misocp
from edgeopt.models.oinc.slot import SlotProblem, allocate, fits
from edgeopt.solvers import Status, solve
from tests.draws import draws, every
from tests.oinc.strategies import slot_problems
from tests.oracles.oinc.slots import brute


def drawn(rng, requests, sites=2):
    """Return the requests of a slot, some of which send or compute nothing."""
    shape = requests, sites
    return SlotProblem(
        rng.uniform(0.02, 0.3, shape) * (rng.random(shape) > 0.1),
        rng.uniform(0.01, 0.1, shape) * (rng.random(shape) > 0.1),
        np.full(requests, np.inf),
        rng.uniform(0.3, 1.0, sites),
        weight=rng.uniform(0.5, 2.0, requests),
    )


def test_an_objective_that_cannot_be_met_is_proven():
    # Two equal requests: the best latency that both can have is (0.2 + 0.2) s.
    for slo, status in ((0.39, "PROVEN_INFEASIBLE"), (0.41, "CONVERGENCE_CRITERIA_SATISFIED")):
        program = allocation_program([0.1, 0.1], [0.1, 0.1], [slo, slo])
        assert solve(program, "clarabel", raises=False).status is Status[status]


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"transmission": [-1.0, 1.0]}, r"transmission\[0\] = -1.0"),
        ({"computation": [1.0]}, "computation"),
        ({"slo": [1.0, 0.0]}, r"slo\[1\] = 0.0"),
        ({"weight": [1.0, -2.0]}, r"weight\[1\] = -2.0"),
        ({"room": 0.0}, "room = 0.0"),
        ({"transmission": [np.nan, 1.0]}, r"transmission\[0\] = nan"),
    ],
)
def test_wrong_numbers_of_a_site_are_named(changed, named):
    given = {"transmission": [0.1, 0.1], "computation": [0.1, 0.1], "slo": [1.0, 1.0]} | changed
    with pytest.raises(InputError, match=named):
        allocation_program(**given)


@pytest.mark.parametrize("seed", every(2, range(2)))
def test_the_optimum_of_a_slot_is_that_of_brute_force(seed):
    problem = drawn(np.random.default_rng(seed), 3)
    found = solve(slot_misocp(problem), "scip", gap=1e-5)
    assert found.objective == pytest.approx(brute(problem, objectives=False).cost, rel=1e-4)
    assert set(np.round(found.values["y"], 6).ravel()) <= {0.0, 1.0}


@pytest.mark.parametrize(("seed", "slo"), [(2, 0.35), (3, 0.3), (3, 0.25)])
def test_the_optimum_with_objectives_is_that_of_brute_force(seed, slo):
    free = drawn(np.random.default_rng(seed), 3)
    problem = dataclasses.replace(free, slo=np.full(3, slo))
    found = solve(slot_misocp(problem), "scip", gap=1e-5, raises=False)
    expected = brute(problem, objectives=True).cost
    assert expected > 1.01 * brute(free, objectives=False).cost
    if np.isinf(expected):
        assert found.status.infeasible
    else:
        assert found.objective == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("seed", range(10))
def test_splitting_requests_bounds_the_optimum(seed):
    problem = drawn(np.random.default_rng(seed), 4)
    found = solve(slot_misocp(problem, relax=True), "clarabel")
    assert found.objective <= brute(problem, objectives=False).cost * (1.0 + 1e-6)
    # A request alone cannot gain by being split over equal sites: neither can any of them here.
    alone = np.sqrt(problem.transmission), np.sqrt(problem.computation / problem.room)
    each = problem.weight * (alone[0] ** 2 + alone[1] ** 2).min(axis=1)
    assert found.objective >= each.sum() / problem.sites


@given(slot_problems(requests=5, sites=1, weighted=None, objectives=None), st.integers(0, 10**6))
@settings(max_examples=draws(60))
def test_the_compiled_allocation_finds_what_the_program_has(problem, seed):
    given_to = problem.transmission[:, 0], problem.computation[:, 0], problem.slo
    keywords = {"room": float(problem.room[0]), "weight": problem.weight}
    if seed % 2:
        # Objectives close to the latencies that are best without: most of these bind.
        free = allocate(*given_to[:2], **keywords)
        latency = sum(
            np.divide(amount, share, out=np.zeros(share.size), where=amount > 0)
            for amount, share in zip(given_to[:2], (free.band, free.cpu), strict=True)
        )
        near = np.random.default_rng(seed).choice([0.9, 1.05, 1.4], latency.size)
        given_to = *given_to[:2], np.maximum(near * latency, 1e-3)
    compiled = allocate(*given_to, **keywords)
    program = allocation_program(*given_to, **keywords)
    found = solve(program, "clarabel", raises=False)
    assert compiled.feasible == fits(*given_to, keywords["room"]).feasible
    if compiled.feasible:
        assert found.status is Status.CONVERGENCE_CRITERIA_SATISFIED
        assert found.objective == pytest.approx(compiled.objective, rel=1e-5, abs=1e-6)
        # The shares of one are a point of the other.
        program.var_dict["band"].value = compiled.band
        program.var_dict["cpu"].value = compiled.cpu
        for row in program.constraints:
            assert np.max(row.violation()) <= 1e-7 * problem.slo.max(
                where=problem.slo < 99, initial=1
            )
        assert program.objective.value == pytest.approx(compiled.objective, rel=1e-9)
    else:
        assert found.status is Status.PROVEN_INFEASIBLE


def test_splitting_a_request_does_not_help_it_to_its_objective():
    # Half of it at either site takes half the time there, and half the time is what it then has.
    times = np.full((1, 2), 0.3), np.full((1, 2), 0.3)
    for slo, status in ((0.59, "PROVEN_INFEASIBLE"), (0.61, "CONVERGENCE_CRITERIA_SATISFIED")):
        problem = SlotProblem(*times, np.array([slo]), np.ones(2))
        found = solve(slot_misocp(problem, relax=True), "clarabel", raises=False)
        assert found.status is Status[status]


def test_an_empty_slot_is_refused():
    problem = SlotProblem(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0), np.ones(2))
    with pytest.raises(InputError, match="nothing to decide"):
        slot_misocp(problem)
