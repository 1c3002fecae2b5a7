"""What does it cost to solve a problem again for other values of its parameters?

A portfolio of 200 assets in CVXPY and a packing program of 200 columns in Pyomo get new parameters,
20 times in a call. The peers are the libraries' own ways to do so: `solve(warm_start=True)` on one
CVXPY problem, and Pyomo's interface to HiGHS, which keeps the model. edgeopt's answers are
certified in addition. `solve` starts cold every time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import Benchmark, Candidate, Goal, Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CVXPY, PYOMO, SUBJECT, COLD = "CVXPY warm", "Pyomo's HiGHS", "Reusable", "solve"


def portfolio(count: int) -> tuple[Any, Callable[[Any], None]]:
    """Return a quadratic problem with factors, and how to set its expected gains."""
    import cvxpy

    rng = np.random.default_rng(0)
    x = cvxpy.Variable(count, name="x", nonneg=True)
    gain = cvxpy.Parameter(count, value=rng.random(count))
    factors = rng.normal(size=(count, max(2, count // 10)))
    own = cvxpy.multiply(rng.random(count), x)
    risk = cvxpy.sum_squares(factors.T @ x) + cvxpy.sum_squares(own)
    problem = cvxpy.Problem(cvxpy.Minimize(risk - gain @ x), [cvxpy.sum(x) == 1, x <= 0.2])

    def set_gain(values: Any) -> None:
        gain.value = values

    return problem, set_gain


def packing(count: int) -> tuple[Any, Callable[[Any], None]]:
    """Return a linear model, and how to set what its columns are worth and its rows hold."""
    import pyomo.environ as pyo

    rng, rows = np.random.default_rng(0), range(count // 2)
    use = rng.random((count // 2, count)) * (rng.random((count // 2, count)) < 0.2)
    model = pyo.ConcreteModel()
    model.worth = pyo.Param(range(count), mutable=True, initialize=1.0)
    model.room = pyo.Param(rows, mutable=True, initialize=1.0)
    model.share = pyo.Param(rows, mutable=True, initialize=0.5)
    model.x = pyo.Var(range(count), bounds=(0, 1))

    def fit(model: Any, i: int) -> Any:
        used = sum(float(use[i, j]) * model.x[j] for j in np.flatnonzero(use[i]).tolist())
        return used + model.share[i] * model.x[0] <= model.room[i]

    model.fit = pyo.Constraint(rows, rule=fit)
    total = sum(model.worth[j] * model.x[j] for j in range(count))
    model.total = pyo.Objective(expr=total, sense=pyo.maximize)

    def set_worth(values: Any) -> None:
        model.worth.store_values(dict(enumerate(values.tolist())))
        room = (0.5 + values[: len(rows)]).tolist()
        model.room.store_values(dict(enumerate(room)))
        model.share.store_values(dict(enumerate(room)))

    return model, set_worth


def again(problem: Any, candidate: str, solver: str | None) -> Callable[[], float]:
    """Return a call that solves the problem as it stands."""
    from edgeopt.solvers import Reusable, solve

    if candidate == CVXPY:
        name = str(solver).upper()
        return lambda: float(problem.solve(solver=name, warm_start=True))
    if candidate == PYOMO:
        from pyomo.contrib.solver.common.factory import SolverFactory

        highs = SolverFactory("highs")
        return lambda: float(highs.solve(problem).incumbent_objective)
    if candidate == COLD:
        return lambda: solve(problem, solver).objective
    model = Reusable(problem, solver)
    return lambda: model.solve().objective


def build(
    size: Mapping[str, Any], candidate: str, *, make: Callable[[int], Any], solver: str | None
) -> Candidate:
    """Solve once, and draw the values of parameters."""
    problem, change = make(size["count"])
    call = again(problem, candidate, solver)
    call()
    drawn = np.random.default_rng(1).random((size["times"], size["count"]))

    def run(_: float | None) -> Reading:
        total = 0.0
        for values in drawn:
            change(values)
            total += call()
        return Reading(objective=total, work=float(len(drawn)))

    return run


def _benchmark(
    name: str, question: str, make: Callable[[int], Any], solver: str | None, peer: str
) -> Benchmark:
    return Benchmark(
        name=name,
        question=question,
        build=partial(build, make=make, solver=solver),
        sizes={"full": {"count": 200, "times": 20}, "smoke": {"count": 12, "times": 2}},
        subject=SUBJECT,
        peers=(peer, COLD),
        variants=(COLD,),
        goals=(Goal("ratio", at_least=0.7),),
        unit="solves",
        tolerance=1e-3 if solver == "osqp" else 1e-5,
        processor=True,
    )


CLARABEL = _benchmark(
    "again-clarabel", "A portfolio of 200 assets in CVXPY with new gains, by Clarabel",
    portfolio, "clarabel", CVXPY,
)  # fmt: skip
OSQP = _benchmark(
    "again-osqp", "A portfolio of 200 assets in CVXPY with new gains, by OSQP",
    portfolio, "osqp", CVXPY,
)  # fmt: skip
MODEL = _benchmark(
    "again-pyomo", "A linear Pyomo model of 200 variables with new parameters, by HiGHS",
    packing, None, PYOMO,
)  # fmt: skip
