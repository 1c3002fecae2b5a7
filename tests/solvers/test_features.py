"""The table of what backends do shows what is measured, good or bad."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from fill.solver_features import NOT_OFFERED, PASSED, features

from edgeopt.solvers import Backend, Kind, Status, backends
from edgeopt.solvers.backend.highs import solve as highs
from tests.draws import every


def backend(change: Any = lambda solution: solution, *kinds: Kind, **forced: Any) -> Backend:
    """HiGHS under another name, with its answers changed or some of its options overruled."""

    def solve(program: Any, request: Any) -> Any:
        return change(highs(program, replace(request, **forced)))

    kinds = kinds or (Kind.LINEAR, Kind.MIXED_INTEGER)
    return Backend("mine", "highspy", "highspy", dict.fromkeys(kinds, solve))


def test_a_sound_backend_passes_what_it_offers() -> None:
    found = features(backend())
    offered = {name for name, cell in found.items() if cell == PASSED}
    assert offered == {
        "linear", "integer", "duals", "proven infeasible", "proven unbounded",
        "point at a time limit", "stops at a gap",
    }  # fmt: skip
    assert set(found.values()) == {PASSED, NOT_OFFERED}
    continuous = features(backend(lambda solution: solution, Kind.LINEAR))
    assert {name for name, cell in continuous.items() if cell == PASSED} == {
        "linear", "duals", "proven infeasible", "proven unbounded",
    }  # fmt: skip


def without_point_in_time(solution: Any) -> Any:
    late = solution.status is Status.MAX_TIME_LIMIT
    return replace(solution, values=None, objective=float("nan")) if late else solution


@pytest.mark.filterwarnings("ignore::edgeopt.errors.QualityWarning")
@pytest.mark.parametrize(
    ("mine", "feature", "cell"),
    every(
        3,
        [
            (backend(lambda one: replace(one, duals=None)), "duals", NOT_OFFERED),
            (
                backend(lambda one: replace(one, duals=None if one.duals is None else -one.duals)),
                "duals",
                "maximisation: .*has the duals",
            ),
            (backend(without_point_in_time), "point at a time limit", "no solution"),
            (backend(gap=0.0), "stops at a gap", "time limit, gap"),
        ],
        rows=True,
    ),
)
def test_what_a_backend_gets_wrong_is_told(mine: Backend, feature: str, cell: str) -> None:
    assert re.search(cell, features(mine)[feature])


def test_models_of_libraries_are_tried() -> None:
    pytest.importorskip("casadi")
    known = {one.name: one for one in backends(installed=True)}
    assert features(known["ipopt"])["nonlinear (CasADi)"] == PASSED
    found = features(known["clarabel"])
    assert [found[f"{kind} (CVXPY)"] for kind in ("quadratic", "cone")] == [PASSED, PASSED]
    assert found["linear (Pyomo)"] == PASSED
