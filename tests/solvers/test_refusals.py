"""What `solve` cannot take is refused in the package's own words: what, where, and what to do."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import casadi
import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest
from cvxpy.atoms.affine.wraps import nsd_wrap
from pyomo.gdp import Disjunct, Disjunction
from scipy import sparse

from edgeopt.errors import EdgeOptError, InstanceError, ProblemTypeError, SolverError
from edgeopt.solvers import CasadiNlp, LinearProgram, solve
from edgeopt.solvers.registry import Backend, Request, find_backend, kind_of
from edgeopt.solvers.solution import Quality, Status

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
BACKENDS = ("highs", "scipy", "scip", "clarabel", "osqp", "scs", "glop", "pdlp", "ipopt")


def available(name: str) -> str:
    backend = find_backend(name)
    if not backend.installed or backend.fault:
        pytest.skip(f"{backend.distribution} is not installed")
    return name


class CallersError(Exception):
    """No error of the package's."""


def knapsack() -> LinearProgram:
    draws = np.random.default_rng(0)
    weights = draws.integers(5, 60, (5, 40)).astype(float)
    values = draws.integers(10, 60, 40)
    return LinearProgram(values, weights, -np.inf, weights.sum(1) / 2.3, 0, 1, True, "max")


def shares(quadratic: bool = False) -> LinearProgram:
    draws = np.random.default_rng(0)
    weights = draws.uniform(0, 1, (30, 40))
    term = np.eye(40) if quadratic else None
    cost = -draws.uniform(1, 2, 40)
    return LinearProgram(cost, weights, -np.inf, weights.sum(1) / 3, 0, 1, quadratic=term)


def valley() -> CasadiNlp:
    x = casadi.SX.sym("x", 2)
    return CasadiNlp(x, (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2, start=[-1.2, 1.0])


def chosen() -> Any:
    program, model = knapsack(), pyo.ConcreteModel()
    rows, columns = range(program.shape[0]), range(program.shape[1])
    weights = program.matrix.toarray()
    model.x = pyo.Var(columns, within=pyo.Binary)
    model.room = pyo.Constraint(
        rows,
        rule=lambda m, i: sum(weights[i, j] * m.x[j] for j in columns) <= program.row_upper[i],
    )
    total = sum(program.cost[j] * model.x[j] for j in columns)
    model.worth = pyo.Objective(expr=total, sense=pyo.maximize)
    return model


REPORTING = {
    "highs": ("highs", knapsack, {}),
    "highs simplex": ("highs", shares, {}),
    "highs ipm": ("highs", shares, {"algorithm": "ipm"}),
    "scip": ("scip", knapsack, {}),
    "scip linear": ("scip", shares, {}),
    "ipopt": ("ipopt", valley, {}),
    "ipopt linear": ("ipopt", shares, {}),
    "ipopt quadratic": ("ipopt", lambda: shares(quadratic=True), {}),
    "pyomo by highs": ("highs", chosen, {}),
    "pyomo by scip": ("scip", chosen, {}),
}


@pytest.mark.parametrize("how", REPORTING)
def test_what_a_progress_function_raises_comes_out_unchanged(how: str) -> None:
    name, problem, options = REPORTING[how]
    calls, mine = [], CallersError("mine")

    def fails(report: Any) -> None:
        calls.append(report)
        raise mine

    with pytest.raises(CallersError) as caught:
        solve(problem(), available(name), progress=fails, **options)
    assert caught.value is mine
    assert len(calls) == 1
    assert solve(problem(), name, **options).quality.usable


@pytest.mark.parametrize("name", ["highs", "scip", "ipopt"])
def test_an_exit_in_a_progress_function_reaches_the_caller(name: str) -> None:
    """SCIP and CasADi would end the process themselves, and nothing could catch it."""
    available(name)
    code = f"""
import sys
from tests.solvers.test_refusals import REPORTING
from edgeopt.solvers import solve
def leave(_): sys.exit(7)
try:
    solve(REPORTING[{name!r}][1](), {name!r}, progress=leave)
except SystemExit:
    print("heard")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "heard\n"


INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])


@pytest.mark.parametrize("solver", [None, "highs", "osqp", "scs"])
@pytest.mark.parametrize("matrix", [INDEFINITE, sparse.diags_array([1.0, -1e-3]).tocsc()])
def test_an_indefinite_matrix_is_not_taken_for_a_definite_one(solver: Any, matrix: Any) -> None:
    x = cp.Variable(2)
    box = [x >= -1, x <= 1]
    form = cp.quad_form(x, cp.psd_wrap(matrix)) + cp.sum(x)
    with pytest.raises(InstanceError, match="psd_wrap in the objective"):
        solve(cp.Problem(cp.Minimize(form), box), solver)
    with pytest.raises(InstanceError, match="psd_wrap in room"):
        solve(cp.Problem(cp.Minimize(cp.sum(x)), [*box, (form <= 1).set_label("room")]), solver)
    with pytest.raises(InstanceError, match="nsd_wrap in the objective"):
        solve(cp.Problem(cp.Maximize(cp.quad_form(x, nsd_wrap(matrix))), box), solver)


def test_a_matrix_that_is_definite_up_to_rounding_is_taken() -> None:
    x = cp.Variable(3)
    matrix = np.ones((3, 3)) - 1e-12 * np.eye(3)
    problem = cp.Problem(cp.Minimize(cp.quad_form(x, cp.psd_wrap(matrix))), [cp.sum(x) == 2])
    assert solve(problem).objective == pytest.approx(4.0)


def test_data_of_cvxpy_are_named_by_constraint() -> None:
    x, p = cp.Variable(2), cp.Parameter(name="load")
    with pytest.raises(InstanceError, match=r"parameter load: is used in constraint\[1\]"):
        solve(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0, x[0] >= p]))
    with pytest.raises(InstanceError, match=r"constant .* constraint\[1\] must be finite"):
        solve(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0, x[0] >= np.nan]))


@pytest.mark.parametrize("norm", [cp.norm2, cp.sum_squares])
def test_a_mixed_integer_cone_program_is_led_to_who_takes_it(
    norm: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    available("scip")
    x = cp.Variable(2, integer=True)
    problem = cp.Problem(cp.Minimize(norm(x - 0.4)), [x >= -3])
    with pytest.raises(ProblemTypeError, match=r"Take scip"):
        solve(problem, "highs")
    found = solve(problem)
    assert (found.quality, found.solver) == (Quality.OPTIMAL, "scip")
    with pytest.raises(ProblemTypeError, match="mosek"):
        solve(cp.Problem(cp.Minimize(cp.sum(cp.exp(x))), [x >= -3]))
    monkeypatch.setattr(Backend, "installed", property(lambda self: self.name in ("highs", "osqp")))
    with pytest.raises(ProblemTypeError, match="pip install pyscipopt"):
        solve(problem)


def undefined(case: str) -> CasadiNlp:
    x = casadi.MX.sym("x", 2)
    square = casadi.sumsqr(x)
    names: dict[str, Any] = {"column_names": ["size", "rate"], "row_names": []}
    if case == "objective":
        return CasadiNlp(x, square + casadi.log(x[0]), start=[-1.0, 2.0], **names)
    if case == "slope":
        return CasadiNlp(x, casadi.sqrt(x[0]) + x[1] ** 2, start=[0.0, 2.0], **names)
    if case == "everywhere":
        return CasadiNlp(x, square + float("nan"), start=[-1.0, 2.0], **names)
    rows = casadi.vertcat(x[0] + x[1], 1 / x[0])
    return CasadiNlp(x, square, rows, 0.0, start=[0.0, 2.0], **names | {"row_names": ["a", "b"]})


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("objective", "the objective: is nan at the start, size = -1, rate = 2: pass a start"),
        ("slope", "the slope of the objective by size: is inf at the start, size = 0, rate = 2"),
        ("everywhere", "nor is it finite at 16 other points"),
        ("constraint", "the constraint b: is inf at the start, size = 0, rate = 2"),
    ],
)
def test_a_start_where_a_function_is_undefined_is_named(case: str, said: str) -> None:
    with pytest.raises(InstanceError, match=said):
        solve(undefined(case))


def test_a_start_on_the_edge_is_left_to_ipopt() -> None:
    x = casadi.SX.sym("x")
    assert solve(CasadiNlp(x, x - casadi.log(x), lower=0.0)).objective == pytest.approx(1.0)


def test_numbers_and_symbols_of_a_nonlinear_program_are_checked() -> None:
    x, p = casadi.SX.sym("x"), casadi.SX.sym("p")
    with pytest.raises(InstanceError, match=r"start\[0\] = inf: must be finite"):
        CasadiNlp(x, x**2, start=np.inf)
    with pytest.raises(InstanceError, match="the objective: depends on p"):
        solve(CasadiNlp(x, x**2 + p))


def base() -> Any:
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0, 1))
    model.c = pyo.Constraint(expr=model.x + model.y >= 1)
    model.cost = pyo.Objective(expr=model.x)
    return model


def two_objectives(model: Any) -> None:
    model.other = pyo.Objective(expr=model.y)


def no_value(model: Any) -> None:
    model.p = pyo.Param(["a", "b"], initialize={"a": 1.0}, mutable=True)
    model.d = pyo.Constraint(expr=model.p["b"] * model.x <= 1)


def no_value_in_a_bound(model: Any) -> None:
    model.p = pyo.Param(mutable=True)
    model.w = pyo.Var(bounds=(0, model.p))
    model.d = pyo.Constraint(expr=model.w + model.x <= 1)


def no_value_beside_a_square(model: Any) -> None:
    model.p = pyo.Param(mutable=True)
    model.d = pyo.Constraint(expr=model.p * model.x**2 <= 1)


def fixed_nowhere(model: Any) -> None:
    model.x.fix()


def any_domain(model: Any) -> None:
    model.z = pyo.Var(within=pyo.Any)
    model.d = pyo.Constraint(expr=model.z >= 0.5)


def gaps_in_the_domain(model: Any) -> None:
    model.z = pyo.Var(within=pyo.Set(initialize=[1, 3, 7]))
    model.d = pyo.Constraint(expr=model.z >= 2)


def coefficient_nan(model: Any) -> None:
    model.d = pyo.Constraint(expr=float("nan") * model.x + model.y <= 1)


def disjunction(model: Any) -> None:
    model.left, model.right = Disjunct(), Disjunct()
    model.choice = Disjunction(expr=[model.left, model.right])


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        (two_objectives, "2 active objectives, cost, other"),
        (no_value, r"parameter p\[b\]: is used in d, but has no value"),
        (no_value_in_a_bound, "parameter p: is used in the bounds of w"),
        (no_value_beside_a_square, "parameter p: is used in d"),
        (fixed_nowhere, "variable x: .*fixed without a value"),
        (any_domain, "variable z: has the domain Any"),
        (gaps_in_the_domain, "variable z: has the domain {1, 3, 7}"),
        (coefficient_nan, "a coefficient of x, d = nan: must be finite"),
        (disjunction, "left is a Disjunct"),
    ],
)
@pytest.mark.parametrize("solver", [None, "scip", "pyomo:highs"])
def test_a_flaw_of_a_pyomo_model_is_named(flaw: Callable[[Any], None], said: str, solver: Any):
    if solver == "scip":
        available("scip")
    model = base()
    flaw(model)
    with pytest.raises(EdgeOptError, match=said):
        solve(model, solver)


def test_an_abstract_model_is_refused_and_one_without_objective_is_not() -> None:
    with pytest.raises(InstanceError, match="abstract"):
        solve(pyo.AbstractModel())
    model = base()
    model.cost.deactivate()
    assert solve(model).quality is Quality.OPTIMAL


@pytest.mark.parametrize("domain", [pyo.Reals, pyo.Integers])
def test_a_nonlinear_pyomo_model_is_led_to_who_takes_it(domain: Any) -> None:
    available("scip")
    model = base()
    model.z = pyo.Var(within=domain, bounds=(0, 5))
    model.d = pyo.Constraint(expr=pyo.exp(model.z) <= 20 * model.x)
    with pytest.raises(ProblemTypeError, match="scip takes nonlinear models"):
        solve(model, "highs")
    found = solve(model)
    assert found.quality is Quality.OPTIMAL
    assert found.solver == "scip"


def test_a_nonlinear_pyomo_model_names_the_solver_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = base()
    model.d = pyo.Constraint(expr=model.x**2 <= model.y)
    monkeypatch.setattr(Backend, "installed", property(lambda self: self.name != "scip"))
    with pytest.raises(ProblemTypeError, match=r"scip takes .* \(pip install pyscipopt\)"):
        solve(model)


def test_a_quadratic_objective_that_highs_does_not_take_is_led_to_scip() -> None:
    whole, bent = base(), base()
    whole.z = pyo.Var(within=pyo.Integers, bounds=(0, 5))
    whole.cost.set_value((whole.z - 1.4) ** 2)
    bent.cost.set_value(bent.x * bent.y - bent.x**2)
    for model in (whole, bent):
        with pytest.raises(ProblemTypeError, match="scip takes nonlinear models"):
            solve(model, "highs")
    assert solve(whole, available("scip")).solver == solve(whole).solver == "scip"


ODD: dict[str, Callable[[Any], LinearProgram]] = {
    "empty": lambda Q: LinearProgram([], sparse.csc_array((0, 0)), [], [], quadratic=Q(0)),
    "no rows": lambda Q: LinearProgram(
        [1, -1], sparse.csc_array((0, 2)), [], [], 0, 3, quadratic=Q(2)
    ),
    "no columns": lambda Q: LinearProgram(
        [], sparse.csc_array((2, 0)), [-1, 0], [0, 1], quadratic=Q(0)
    ),
    "rows of zeros": lambda Q: LinearProgram(
        [1, 2], np.zeros((3, 2)), [-1, 0, -np.inf], [0, np.inf, np.inf], 0, 4, quadratic=Q(2)
    ),
    "free columns": lambda Q: LinearProgram(
        [1, 2], [[1, 2]], 3, 5, -np.inf, np.inf, quadratic=Q(2)
    ),
    "fixed columns": lambda Q: LinearProgram(
        [1, 2], [[1, 2]], 3, 9, [1, 2], [1, 2], quadratic=Q(2)
    ),
    "same rows": lambda Q: LinearProgram([1, 2], np.ones((2000, 2)), 1, quadratic=Q(2),
                                         row_upper=np.inf),
    "huge box": lambda Q: LinearProgram([1, -1], [[1, 1]], -1e18, 1e18, -1e18, 1e18,
                                        quadratic=Q(2)),
} | {
    f"{what} {size:g}": make
    for size in (1e300, 1e-300, 1e22)
    for what, make in (
        ("coefficient", lambda Q, c=size: LinearProgram(
            [1, 1], [[c, 1], [1, c]], 1, np.inf, 0, 10, quadratic=Q(2))),
        ("cost", lambda Q, c=size: LinearProgram(
            [c, 1], [[1, 1]], 1, np.inf, 0, 10, quadratic=Q(2))),
        ("side", lambda Q, c=size: LinearProgram(
            [1, 1], [[1, 1]], min(c, 9e19), np.inf, quadratic=Q(2))),
        ("bound", lambda Q, c=size: LinearProgram(
            [1, -1], [[1, 1]], 1, 5, -c, c, quadratic=Q(2))),
    )
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("odd", ODD)
def test_odd_programs_are_answered_or_refused_in_own_words(odd: str, name: str) -> None:
    """By `solve`, and by the backend itself, to which the units of the program may come."""
    backend = find_backend(available(name))
    plain = ODD[odd](lambda _: None)
    programs = [plain, ODD[odd](np.eye)]
    if plain.shape[1]:
        programs.append(plain.replace(integer=True))
    tried = 0
    for program in programs:
        kind = kind_of(program)
        if kind not in backend.routes:
            continue
        run = backend.solve_function(kind)
        for limit in ({"time_limit": 0.5}, {"time_limit": 0.0}, {"time_limit": 0.5, "threads": 1}):
            tried += 1
            with contextlib.suppress(EdgeOptError):
                solve(program, name, raises=False, **limit)
            with contextlib.suppress(EdgeOptError):
                run(program, Request(name, **limit))
    assert tried >= 3


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.filterwarnings("ignore")
def test_rows_without_columns_hold_or_do_not(name: str) -> None:
    program = LinearProgram([], sparse.csc_array((1, 0)), [-1], [1])
    assert solve(program, available(name)).quality is Quality.OPTIMAL
    never = solve(program.replace(row_lower=[0.5]), name, raises=False)
    assert not never.quality.usable


def test_scip_says_which_number_it_does_not_take() -> None:
    program = LinearProgram([1, 1], [[1, 1], [1, 1e21]], 1, np.inf, 0, 10, column_names=["x", "y"])
    with pytest.raises(
        SolverError, match=r"SCIP refused .* the coefficient of y in row\[index=1\]"
    ):
        find_backend(available("scip")).solve_function(kind_of(program))(program, Request("scip"))


def test_no_solver_is_asked_about_a_program_without_columns() -> None:
    program = LinearProgram([], sparse.csc_array((1, 0)), [0.5], [1])
    run = find_backend("scipy").solve_function(kind_of(program))
    assert run(program, Request("scipy")).status is Status.CLAIMED_INFEASIBLE
