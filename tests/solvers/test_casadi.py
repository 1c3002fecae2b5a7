from __future__ import annotations

from dataclasses import replace

import casadi
import numpy as np
import pytest

from edgeopt.errors import InstanceError, MissingDependencyError, OptionError, SolverError
from edgeopt.solvers import CasadiNlp, Quality, Status, solve

INF = np.inf


def disc(radius: float = 2.0, *, sense: str = "min", convex: bool = True) -> CasadiNlp:
    """The point of a disc cut by bounds that is nearest to (2, 1)."""
    x = casadi.SX.sym("x", 2)
    sign = 1 if sense == "min" else -1
    return CasadiNlp(
        x,
        sign * ((x[0] - 2) ** 2 + (x[1] - 1) ** 2),
        casadi.vertcat(x[0] ** 2 + x[1] ** 2, x[0] + x[1]),
        row_upper=[radius, 5.0],
        lower=0.0,
        upper=[INF, 0.5],
        sense=sense,
        convex=convex,
        row_names=["disc", "sum"],
        column_names=["right", "up"],
    )


OPTIMUM = (np.sqrt(1.75) - 2.0) ** 2 + 0.25


@pytest.mark.parametrize("sense", ["min", "max"])
def test_convex_program_is_proven(sense: str) -> None:
    solution = solve(disc(sense=sense), "ipopt")
    sign = 1.0 if sense == "min" else -1.0
    assert solution.objective == pytest.approx(sign * OPTIMUM, rel=1e-6)
    assert solution.quality is Quality.OPTIMAL
    assert solution.gap <= 1e-6
    assert solution.dual_residual() <= 1e-6
    assert set(solution.values) == {"right", "up"}
    assert solution.duals["sum"] == pytest.approx(0.0, abs=1e-6)
    step = 1e-3
    above, below = (
        solve(disc(2.0 + move, sense=sense), "ipopt").objective for move in (step, -step)
    )
    assert (above - below) / (2 * step) == pytest.approx(solution.duals["disc"], rel=1e-3)


def test_bound_is_below_every_feasible_value() -> None:
    solution = solve(disc(), "ipopt")
    rough = {name: round(dual, 1) for name, dual in solution.duals.items()}
    bound = replace(solution, duals=rough).certify().bound
    assert bound <= OPTIMUM + 1e-9
    assert bound > OPTIMUM - 0.1


def test_wrong_point_is_downgraded() -> None:
    solution = solve(disc(), "ipopt")
    outside = replace(solution, values={"right": 1.9, "up": 0.5})
    assert outside.certify().quality is Quality.INFEASIBLE
    inside = replace(solution, values={"right": 1.0, "up": 0.5}, objective=1.25)
    assert inside.certify().quality is Quality.FEASIBLE


def test_local_optimum_is_only_feasible() -> None:
    solution = solve(disc(convex=False), "ipopt")
    assert solution.status is Status.CONVERGENCE_CRITERIA_SATISFIED
    assert solution.quality is Quality.FEASIBLE
    assert solution.bound == -INF


def test_start_chooses_among_local_optima() -> None:
    x = casadi.MX.sym("x")
    ends = [
        solve(CasadiNlp(x, casadi.sin(x), lower=-6, upper=6, start=start), "ipopt").values
        for start in (-1.0, 5.0)
    ]
    found = [float(next(iter(end.values()))) for end in ends]
    assert found == pytest.approx([-np.pi / 2, 3 * np.pi / 2], abs=1e-5)


def test_infeasibility_is_proven_only_if_convex() -> None:
    x = casadi.SX.sym("x", 2)
    square = x[0] ** 2 + x[1] ** 2
    for convex, status in ((True, Status.PROVEN_INFEASIBLE), (False, Status.UNKNOWN)):
        problem = CasadiNlp(x, x[0], square, row_upper=-1.0, lower=-5, upper=5, convex=convex)
        with pytest.raises(SolverError) as caught:
            solve(problem, "ipopt")
        assert caught.value.solution.status is status


def test_iteration_limit_and_interruption_return_the_iterate() -> None:
    limited = solve(disc(), "ipopt", raises=False, max_iter=2)
    assert limited.status is Status.ITERATION_LIMIT
    assert limited.values is not None
    stopped = solve(disc(), "ipopt", raises=False, progress=lambda p: p.iterations >= 3)
    assert stopped.status is Status.INTERRUPTED
    assert stopped.values is not None


def test_casadi_dictionary_is_taken() -> None:
    x = casadi.SX.sym("x")
    problem = CasadiNlp.from_mapping({"x": x, "f": (x - 1) ** 2}, lower=2, convex=True)
    assert solve(problem, "ipopt").objective == pytest.approx(1.0, rel=1e-6)
    with pytest.raises(InstanceError, match="needs the key 'f'"):
        CasadiNlp.from_mapping({"x": x})
    with pytest.raises(InstanceError, match="parameters"):
        CasadiNlp.from_mapping({"x": x, "f": x, "p": x})


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"lower": [0.0]}, "lower"),
        ({"upper": np.nan}, "upper"),
        ({"lower": 2.0, "upper": 1.0}, "lower"),
        ({"start": [1.0, 2.0, 3.0]}, "start"),
        ({"row_names": ["one"]}, "row labels"),
    ],
)
def test_bad_data_name_the_field(change: dict[str, object], field: str) -> None:
    with pytest.raises(InstanceError) as caught:
        replace(disc(), **change)
    assert caught.value.field == field


def test_what_cannot_be_taken_is_said() -> None:
    with pytest.raises(OptionError, match="sense"):
        replace(disc(), sense="most")
    with pytest.raises(MissingDependencyError, match="nosuchsolver"):
        solve(disc(), "casadi:nosuchsolver")
    with pytest.raises(OptionError, match="threads"):
        solve(disc(), "ipopt", threads=3)


def test_a_point_without_slopes_proves_nothing() -> None:
    x = casadi.SX.sym("x")
    problem = CasadiNlp(x, casadi.sqrt(x), lower=0.0, upper=4.0)
    found = solve(CasadiNlp(x, (x - 1) ** 2 + 1, lower=0.0, upper=4.0, convex=True), "ipopt")
    nowhere = replace(found, problem=problem, values={"x[0]": 0.0}, duals={})
    label = next(iter(problem.column_names))
    nowhere = replace(nowhere, values={label: 0.0})
    assert nowhere.dual_residual() == np.inf
    assert nowhere.primal_residual() == np.inf
