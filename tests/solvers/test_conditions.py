"""Semi-continuous columns, SOS, indicators, quadratic rows and MIQP, against enumeration."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.optimize import linprog

from edgeopt.errors import InputError, ProblemTypeError
from edgeopt.solvers import (
    Backend,
    Kind,
    LinearProgram,
    Quality,
    Reusable,
    Status,
    explain,
    solve,
)
from edgeopt.solvers.certificates import Certificate
from edgeopt.solvers.conditions import Conditions
from edgeopt.solvers.solution import answer
from tests.draws import every

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = 5
"""Four columns and one that indicates."""


def drawn(seed: int, sense: str = "max") -> LinearProgram:
    """A program under two conditions of each linear kind."""
    rng = np.random.default_rng(seed)
    upper = np.append(rng.integers(3, 7, 4), 1)
    least = rng.uniform(1, 3, 2)
    sides = rng.integers(1, 4, 2)
    conditions = Conditions(
        {0: least[0], "column[index=3]": least[1]},
        [(1 + seed % 2, rng.permutation(4)[:3].tolist()), (2, rng.permutation(4).tolist())],
        [
            (4, 1, {1: 1.0, 2: -1.0}, -sides[0], sides[1]),
            (4, 0, {0: 1.0, 3: 2.0}, -np.inf, sides.sum()),
        ],
    )
    cost = np.append(rng.uniform(-1, 3, 4), rng.uniform(-2, 2))
    matrix = np.hstack([rng.uniform(0, 2, (2, 4)), np.zeros((2, 1))])
    signed = cost if sense == "max" else -cost
    whole = np.arange(COLUMNS) == 4
    return LinearProgram(
        signed,
        matrix,
        -np.inf,
        8.0,
        0,
        upper,
        whole,
        sense,
        conditions=conditions,  # type: ignore[arg-type]
    )


def enumerated(program: LinearProgram) -> float:
    """The optimum of a program, by a linear program for each way to keep its conditions."""
    held, best = program.conditions, np.inf
    supports = []
    for kind, columns in held.sos:
        runs = [columns[k : k + kind] for k in range(len(columns) - kind + 1)]
        supports.append([set(columns) - set(run) for run in runs])
    for used in product([False, True], repeat=len(held.semicontinuous)):
        for zeros in product(*supports):
            for state in (0, 1):
                low, high = program.lower.copy(), program.upper.copy()
                for (column, least), on in zip(held.semicontinuous.items(), used, strict=True):
                    low[column], high[column] = (least, high[column]) if on else (0.0, 0.0)
                for columns in zeros:
                    high[list(columns)] = np.minimum(high[list(columns)], 0.0)
                low[4] = high[4] = state
                rows, sides = [program.matrix.toarray()], [program.row_upper]
                for one in held.indicators:
                    if one.value == state:
                        row = np.zeros((1, COLUMNS))
                        row[0, list(one.terms)] = list(one.terms.values())
                        for sign, side in ((1, one.upper), (-1, -one.lower)):
                            if np.isfinite(side):
                                rows.append(sign * row)
                                sides.append(np.array([side]))
                if (low > high).any():
                    continue
                found = linprog(
                    program.sign * program.cost, np.vstack(rows), np.concatenate(sides),
                    bounds=np.column_stack([low, high]),
                )  # fmt: skip
                best = min(best, found.fun) if found.status == 0 else best
    return float(program.sign * best)


@pytest.mark.parametrize("seed", every(3, list(range(12))))
def test_optimum_under_conditions_is_that_of_enumeration(seed: int) -> None:
    pytest.importorskip("pyscipopt")
    program = drawn(seed, "min" if seed % 2 else "max")
    solution = solve(program)
    assert solution.solver == "scip"
    assert solution.quality is Quality.OPTIMAL
    assert solution.objective == pytest.approx(enumerated(program), rel=1e-6)
    assert program.conditions.violation(solution.values) <= 1e-9
    relaxed = solve(program.relaxed())
    assert program.sign * relaxed.objective <= program.sign * solution.objective + 1e-9
    start = solve(program, start=solution.values)
    assert start.path == "start"
    assert start.objective == pytest.approx(solution.objective, rel=1e-6)


@pytest.mark.parametrize("seed", every(3, list(range(6))))
@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_semicontinuous_columns(seed: int, solver: str) -> None:
    if solver == "scip":
        pytest.importorskip("pyscipopt")
    program = drawn(seed)
    program = program.replace(conditions=Conditions(program.conditions.semicontinuous))
    solution = solve(program, solver)
    assert solution.quality is Quality.OPTIMAL
    assert solution.objective == pytest.approx(enumerated(program), rel=1e-6)


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_semicontinuous_whole_numbers_are_repaired(solver: str) -> None:
    if solver == "scip":
        pytest.importorskip("pyscipopt")
    # The cheaper column starts at 3 units of 0.7, and the rest is bought elsewhere.
    program = LinearProgram(
        [0.7, 1.0, 0.6], [[0.7, 1, 0]], 2.5, 9, 0, [8, 9, 4], [True, False, True],
        conditions={"semicontinuous": {0: 3, 2: 2}},
    )  # fmt: skip
    solution = solve(program, solver)
    assert solution.objective == pytest.approx(2.5, rel=1e-9)
    start = solve(program, solver, start={"column[index=0]": 3, "column[index=2]": 0})
    assert start.path == "repaired start"


@pytest.mark.parametrize("seed", every(2, list(range(6))))
def test_whole_numbers_with_a_quadratic_objective(seed: int) -> None:
    pytest.importorskip("pyscipopt")
    rng = np.random.default_rng(seed)
    factor = rng.integers(-2, 3, (3, 3))
    quadratic = factor @ factor.T + np.eye(3)
    sign = -1.0 if seed % 2 else 1.0
    cost = sign * rng.uniform(-20, 0, 3)
    program = LinearProgram(
        cost, [[1, 1, 1]], -np.inf, 7, -3, 4, True, "max" if sign < 0 else "min", 2.5,
        quadratic=sign * quadratic,
    )  # fmt: skip
    points = np.array([x for x in product(range(-3, 5), repeat=3) if sum(x) <= 7], dtype=float)
    values = points @ cost + 2.5 + 0.5 * sign * np.einsum("ki,ij,kj->k", points, quadratic, points)
    solution = solve(program)
    assert (solution.solver, solution.quality) == ("scip", Quality.OPTIMAL)
    assert solution.objective == pytest.approx(sign * (sign * values).min(), rel=1e-6)
    assert str(solution).startswith("optimal (bound by the solver)")


def test_quadratic_rows_need_not_be_convex() -> None:
    pytest.importorskip("pyscipopt")
    disc = ({(0, 0): 1, (1, 1): 1}, {}, -np.inf, 2)
    flat = LinearProgram([-1, -1], np.zeros((0, 2)), [], [], -5, 5)
    inside = solve(flat.replace(conditions=Conditions(quadratic=[disc])))
    assert inside.objective == pytest.approx(-2.0, rel=1e-6)
    outside = solve(flat.replace(cost=[1, 0.5], lower=0, conditions=Conditions(
        quadratic=[({(0, 0): 1, (1, 1): 1}, {}, 2, np.inf), ({(0, 1): 1}, {0: 1}, 1, np.inf)]
    )))  # fmt: skip
    grid = np.stack(np.meshgrid(*[np.linspace(0, 5, 2001)] * 2), -1).reshape(-1, 2)
    x, y = grid.T
    best = (x + 0.5 * y)[(x**2 + y**2 >= 2) & (x * y + x >= 1)].min()
    assert outside.quality is Quality.OPTIMAL
    assert best - 0.01 < outside.objective <= best + 1e-6


def test_points_that_break_a_condition_are_seen() -> None:
    program = LinearProgram(
        np.zeros(3), np.zeros((0, 3)), [], [], 0, [9, 9, 1], [False, False, True]
    )

    def broken(point: list[float], **conditions: object) -> float:
        held = program.replace(conditions=Conditions(**conditions))  # type: ignore[arg-type]
        return held.conditions.violation(np.array(point, dtype=float))

    assert broken([1, 0, 0], semicontinuous={0: 4}) == pytest.approx(0.25)
    assert broken([3, 0, 0], semicontinuous={0: 4}) == pytest.approx(0.25)
    assert broken([0, 0, 0], semicontinuous={0: 4}) == broken([5, 0, 0], semicontinuous={0: 4}) == 0
    assert broken([2, 4, 0], sos=[(1, [0, 1, 2])]) == pytest.approx(0.5)
    assert broken([2, 4, 0], sos=[(2, [0, 1, 2])]) == 0
    assert broken([2, 4, 0], sos=[(2, [0, 2, 1])]) == pytest.approx(0.5)
    assert broken([6, 0, 1], indicators=[(2, 1, {0: 1}, -np.inf, 3)]) == pytest.approx(0.5)
    assert broken([6, 0, 0], indicators=[(2, 1, {0: 1}, -np.inf, 3)]) == 0
    assert broken([2, 2, 0], quadratic=[({(0, 1): 1}, {}, 8, 8)]) == pytest.approx(0.5)
    set_of_one = program.replace(conditions=Conditions(sos=[(1, [0, 1])]), cost=[-1, -1, 0])
    solution = solve(set_of_one)
    tampered = replace(solution, values=np.array([9.0, 9.0, 0.0])).certify()
    assert tampered.quality is Quality.INFEASIBLE


def test_what_a_solver_does_not_take_names_one_that_does() -> None:
    program = drawn(0)
    for solver in ("highs", "scipy"):
        with pytest.raises(ProblemTypeError, match=r"take .*scip \(pip install pyscipopt\)"):
            solve(program, solver)
    semi = program.replace(conditions=Conditions(program.conditions.semicontinuous))
    with pytest.raises(ProblemTypeError, match=r"highs .*scip"):
        solve(semi, "scipy")
    curved = LinearProgram([1.0], [[1.0]], 0, 3, integer=True, quadratic=[[2.0]])
    with pytest.raises(ProblemTypeError, match="quadratic objective; take scip"):
        solve(curved, "highs")
    for refusing in (explain, Reusable):
        with pytest.raises(ProblemTypeError, match="condition"):
            refusing(program)


def test_no_false_proof_comes_from_the_relaxation() -> None:
    pytest.importorskip("pyscipopt")
    # The relaxation has points; the set leaves none.
    program = LinearProgram([1, 1], [[1, 0], [0, 1]], 1, 9, 0, 9)
    program = program.replace(conditions=Conditions(sos=[(1, [0, 1])]))
    nothing = solve(program, raises=False)
    assert nothing.status.value == "infeasible by the solver's word"
    # A ray of the relaxation that the set ends.
    ray = LinearProgram([-2, 1], [[1, -1]], -np.inf, 0)
    ended = solve(ray.replace(conditions=Conditions(sos=[(1, [0, 1])])), raises=False)
    assert ended.objective == pytest.approx(0.0, abs=1e-9)


def test_a_claim_of_no_end_is_not_proven_by_a_ray_of_the_relaxation() -> None:
    def claims(program: LinearProgram, request: Any) -> Any:
        values = None if program.cost.any() else np.zeros(2)  # it has points, as it says
        status = Status.CLAIMED_UNBOUNDED if values is None else Status.ITERATION_LIMIT
        return answer(program, request, status, seconds=(0.0, 0.0), version="1", values=values)

    liar = Backend("liar", "scipy", "scipy", {Kind.MIXED_INTEGER: claims}, takes=("SOS",))
    ray = LinearProgram([-2, 1], [[1, -1]], -np.inf, 0, conditions={"sos": [(1, [0, 1])]})
    found = solve(ray, liar, raises=False)
    assert found.status is Status.CLAIMED_UNBOUNDED
    assert found.evidence is None
    assert solve(ray.relaxed(), raises=False).status is Status.PROVEN_UNBOUNDED


def test_an_infeasible_relaxation_is_proof() -> None:
    pytest.importorskip("pyscipopt")
    apart = LinearProgram([1, 1], [[1, 1]], 5, 9, 0, [1, 1])
    held = apart.replace(conditions=Conditions(sos=[(1, [0, 1])]))
    proven = solve(held, raises=False)
    assert proven.status.value == "proven infeasible"
    assert isinstance(proven.certificate(), Certificate)


@pytest.mark.parametrize(
    ("conditions", "rule"),
    [
        ({"sets": []}, "are semicontinuous, sos"),
        ({"semicontinuous": {0: 9}}, "least value"),
        ({"semicontinuous": 3}, "another form"),
        ({"sos": [5]}, "another form"),
        ({"sos": [(1, ["nobody"])]}, "there is none"),
        ({"indicators": [(1, 1, [0], 0, 1)]}, "another form"),
        ({"quadratic": [({0: 1}, {}, 0, 1)]}, "another form"),
        (Conditions({2: 1}), "finite upper"),
        (Conditions({7: 1}), "name a column"),
        (Conditions(sos=[(3, [0, 1])]), "kind 1 or 2"),
        (Conditions(sos=[(1, [0, 0])]), "named once"),
        (Conditions(indicators=[(0, 1, {1: 1}, 0, 1)]), "0 or 1, to indicate"),
        (Conditions(indicators=[(1, 1, {0: 1}, 2, 1)]), "lower <= upper"),
        (Conditions(quadratic=[({(0, 0): np.nan}, {}, 0, 1)]), "finite coefficients"),
    ],
)
def test_conditions_that_do_not_fit(conditions: Conditions | dict[str, Any], rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        LinearProgram(
            [1, 1, 1], [[1, 1, 1]], 0, 9, 0, [4, 1, np.inf], [False, True, False],
            conditions=conditions,
        )  # fmt: skip


def same(one: LinearProgram, other: LinearProgram) -> None:
    """Require the same program, products of columns in either order."""
    assert list(one.row_names) == list(other.row_names)
    np.testing.assert_array_equal(one.matrix.toarray(), other.matrix.toarray())
    for field in ("cost", "lower", "upper", "integer", "row_lower", "row_upper"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))
    a, b = one.conditions, other.conditions
    assert dict(a.semicontinuous) == dict(b.semicontinuous)
    assert (a.sos, a.indicators) == (b.sos, b.indicators)
    assert len(a.quadratic) == len(b.quadratic)
    for left, right in zip(a.quadratic, b.quadratic, strict=True):
        assert (left.terms, left.lower, left.upper) == (right.terms, right.lower, right.upper)
        assert halves(left.products) == halves(right.products)


def halves(products: dict[tuple[int, int], float]) -> dict[tuple[int, ...], float]:
    sums: dict[tuple[int, ...], float] = {}
    for pair, value in products.items():
        key = tuple(sorted(pair))
        sums[key] = sums.get(key, 0.0) + value
    return sums


@pytest.mark.parametrize("suffix", [".mps", ".lp", ".lp.gz"])
@pytest.mark.parametrize("seed", range(3))
def test_conditions_go_through_files(tmp_path: Path, suffix: str, seed: int) -> None:
    program = drawn(seed)
    held = replace(
        program.conditions,
        quadratic=[({(0, 0): 1.5, (0, 2): 2.0}, {1: 1.0, 2: -0.3}, -7.1, 30.0),
                   ({(3, 1): 1.0}, {}, -np.inf, 5.0)],
    )  # fmt: skip
    program = program.replace(conditions=held, offset=1.25)
    path = program.write(tmp_path / f"held{suffix}")
    same(LinearProgram.read(path), program)
    scip = pytest.importorskip("pyscipopt")
    if suffix == ".lp.gz":
        return
    model = scip.Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.optimize()
    assert model.getObjVal() == pytest.approx(solve(program).objective, rel=1e-5)


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
def test_other_solvers_read_the_same_conditions(tmp_path: Path, suffix: str) -> None:
    gurobi = pytest.importorskip("gurobipy")
    program = drawn(1)
    path = program.write(tmp_path / f"held{suffix}")
    with gurobi.Env(params={"OutputFlag": 0}) as quiet:
        model = gurobi.read(str(path), quiet)
        model.optimize()
        assert model.ObjVal == pytest.approx(enumerated(program), rel=1e-6)


QSECTION = """NAME t
ROWS
 N obj
 L r
COLUMNS
 x obj 1 r 1
 y obj 1
RHS
 RHS r 4
QSECTION r
 x x 2
 x y 3
ENDATA
"""


def test_qsection_of_a_row_is_one_half_of_a_half(tmp_path: Path) -> None:
    path = tmp_path / "mosek.mps"
    path.write_text(QSECTION)
    [row] = LinearProgram.read(path).conditions.quadratic
    assert (row.products, row.terms) == ({(0, 0): 1.0, (0, 1): 3.0}, {0: 1.0})
    path.write_text(QSECTION.replace(" x y 3\n", " x y 3\n y x 3\n"))
    with pytest.raises(InputError, match=r"line 13 .*second entry"):
        LinearProgram.read(path)
