"""Public results pass from process to process: by `pickle`, in copies and through a pool."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import re
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import edgeopt
from edgeopt import solve
from edgeopt.bounds import Claim, Measurement, Relation, Source
from edgeopt.errors import ProblemTypeError
from edgeopt.online.rescue import PickConfigs
from edgeopt.solvers import CasadiNlp, Kind, LinearProgram, Quality, backends, explain
from edgeopt.studies import find_system
from tests.draws import some
from tests.results import SYSTEMS, results_of, study_of
from tests.test_html import RESULTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.solvers import Solution
    from edgeopt.studies import Study

PASSED = {"study", "case", "benchmarks", "trajectories", "verdicts", "system", "instance"}
PASSED |= {"claims", "errata", "spaces", "found", "table"}


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    """One process that has imported nothing."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool


def same_runs(one: Study, other: Study) -> bool:
    return all(
        np.array_equal(run.reward, other.cases[0].trajectories[name].reward)
        for name, run in one.cases[0].trajectories.items()
    )


@pytest.mark.parametrize("system", some(SYSTEMS, "oinc"))
def test_results_survive_a_pool(system: str, pool: ProcessPoolExecutor) -> None:
    study = study_of(system)
    table = study.table  # computed by now, as a user has it
    back = pool.submit(copy.copy, study).result()
    assert back is not study
    assert back.to_json() == study.to_json() == pool.submit(type(study).to_json, study).result()
    assert back.table.to_csv() == table.to_csv()
    assert same_runs(study, back)
    assert repr(back) == repr(study)
    assert back.system is study.system
    assert back.cases[0].entries == study.cases[0].entries
    found = results_of(system)["found"]
    again = pool.submit(copy.copy, found).result()
    assert again.parameters == found.parameters
    assert again.space.build(dict(found.parameters)) is not None


@pytest.mark.parametrize("system", some(SYSTEMS, "oinc"))
def test_results_are_pickled_and_copied(system: str) -> None:
    results = {name: one for name, one in results_of(system).items() if name in PASSED}
    assert set(results) == PASSED
    for name, one in results.items():
        for back in (pickle.loads(pickle.dumps(one, 5)), copy.deepcopy(one)):
            assert type(back) is type(one), name
            assert repr(back) == repr(one), name
    for claim in results["claims"].values():
        assert pickle.loads(pickle.dumps(claim, 5)) is claim


def test_what_another_package_has_not_named_is_pickled_by_value() -> None:
    """A record or claim under the name of another one is no reference to that."""
    record = find_system("rescue")
    mine = replace(record, title="Mine")
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(mine)
    own = Claim(
        id="oinc.theorem3",
        statement="",
        source=Source("nobody", "1"),
        measure=float_of,
        relation=Relation.AT_MOST,
        instance_type=float,
        test_instances={"one": float},
    )
    back = pickle.loads(pickle.dumps(own))
    assert back.source == own.source
    assert back.check(0.5).verdict == "holds"


def float_of(number: float) -> Measurement:
    return Measurement(number, 1.0)


def test_a_policy_of_ones_own_is_kept() -> None:
    instance = study_of("rescue").cases[0].instance
    study = edgeopt.study(instance, [PickConfigs(), "srs"], runs=2, progress=False)
    back = pickle.loads(pickle.dumps(study, 5))
    assert list(back.cases[0].policies) == list(study.cases[0].policies)
    assert same_runs(study, back)
    first = next(iter(back.cases[0].entries.values()))
    assert first.make(instance, {}).name == PickConfigs().name


def linear(_: str) -> LinearProgram:
    return LinearProgram([3, 2], [[1, 1], [1, 0]], -np.inf, [4, 2], sense="max")


def pyomo_model(_: str) -> Any:
    pyo = pytest.importorskip("pyomo.environ", reason="Pyomo is not installed")
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 4))
    model.row = pyo.Constraint(rule=lambda model: model.x >= 1)  # cannot be pickled
    model.cost = pyo.Objective(expr=3 * model.x)
    return model


def cvxpy_problem(_: str) -> Any:
    cvxpy = pytest.importorskip("cvxpy", reason="CVXPY is not installed")
    x = cvxpy.Variable(2, name="x")
    return cvxpy.Problem(cvxpy.Minimize(3 * cvxpy.sum(x)), [x >= 1])


def casadi_program(symbols: str) -> CasadiNlp:
    casadi = pytest.importorskip("casadi", reason="CasADi is not installed")
    x = getattr(casadi, symbols).sym("x", 2)
    return CasadiNlp(x, casadi.sumsqr(x - 1), x[0] + x[1], row_upper=1, convex=True)


def routes() -> Iterator[Any]:
    """Yield what makes a problem, and the solver, for every kind that an installed one takes."""
    problem = {Kind.LINEAR: linear, Kind.PYOMO: pyomo_model, Kind.CVXPY: cvxpy_problem}
    for backend in backends(installed=True):
        for kind in (one for one in problem if one in backend.routes):
            solver = f"cvxpy:{backend.name}" if kind is Kind.CVXPY else backend.name
            yield pytest.param(problem[kind], solver, id=f"{backend.name} {kind.name}")
    for symbols in ("SX", "MX"):
        yield pytest.param(casadi_program, symbols, id=f"CasADi {symbols}")


def same_solution(one: Solution, other: Solution) -> bool:
    """Return whether all that was found is the same; the problem is another matter."""
    plain = ("status", "quality", "objective", "bound", "seconds", "solver", "version", "options")
    equal = all(getattr(one, name) == getattr(other, name) for name in (*plain, "path", "sense"))
    for name in ("values", "duals"):
        np.testing.assert_equal(getattr(one, name), getattr(other, name))
    return equal and one.gap == other.gap and str(one) == str(other) and repr(one) == repr(other)


@pytest.mark.parametrize(("make", "solver"), list(routes()))
def test_solutions_of_every_backend_survive(
    make: Any, solver: str, pool: ProcessPoolExecutor
) -> None:
    problem = make(solver)
    found = solve(problem, None if make is casadi_program else solver)
    assert found.quality is Quality.OPTIMAL
    for back in (copy.copy(found), copy.deepcopy(found)):
        assert same_solution(found, back)
        assert back.problem is problem
        assert back.certify().quality is Quality.OPTIMAL
    for back in (pickle.loads(pickle.dumps(found, 5)), pool.submit(copy.copy, found).result()):
        assert same_solution(found, back)
        assert same_solution(found, pickle.loads(pickle.dumps(back)))
        assert back._repr_html_() == found._repr_html_()
        if type(back.problem) is type(problem):
            assert back.certify().quality is Quality.OPTIMAL
        elif make is pyomo_model:  # what was solved came along as a linear program
            assert "Pyomo model was left behind" in repr(back.problem)
            assert back.certify().quality is Quality.OPTIMAL
        else:
            assert re.search("(CVXPY problem|CasADi.*) was left behind.*cannot", repr(back.problem))
            assert len([back.value(name) for name in found.values]) == len(found.values)
            for needing in (back.certify, back.primal_residual, partial(solve, back.problem)):
                with pytest.raises(ProblemTypeError, match="left behind in the process"):
                    needing()


@pytest.mark.parametrize("name", RESULTS)
def test_plans_and_bounds_survive(name: str) -> None:
    found = RESULTS[name][0]()
    for back in (pickle.loads(pickle.dumps(found, 5)), copy.deepcopy(found)):
        assert type(back) is type(found)
        assert back._repr_html_() == found._repr_html_()


def test_an_explanation_survives() -> None:
    program = LinearProgram([1], [[1], [1]], [2, -np.inf], [np.inf, 1])
    found = explain(program)
    for back in (pickle.loads(pickle.dumps(found, 5)), copy.deepcopy(found)):
        assert str(back) == str(found)


def test_what_can_be_pickled_is_not_left_behind() -> None:
    found = solve(linear(""))
    back = pickle.loads(pickle.dumps(found))
    assert back.dual_residual() == found.dual_residual()
    assert np.array_equal(back.problem.matrix.toarray(), found.problem.matrix.toarray())
