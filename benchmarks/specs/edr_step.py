"""How much faster is the macro step of training in closed form than Ipopt, which the paper uses?

One peer keeps its solver and is handed new parameters, so that only solving counts; it is told that
its derivatives of first and second order are constant where they are. The other one builds its
problem for every step. The cap binds in all steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Steps = list[tuple[Any, ...]]
    Solver = Callable[..., np.ndarray[Any, Any]]

OPTIONS = {"hessian_constant": "yes", "jac_d_constant": "yes", "bound_relax_factor": 0.0}


def steps(tasks: int, count: int) -> Iterator[tuple[Any, ...]]:
    """Draw points near even rates, gradients of both signs, and caps below what is wanted."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        point, upper = rng.uniform(0.0, 8.0, tasks), rng.uniform(2.0, 150.0, tasks)
        gradient, energy = rng.normal(0.0, 2.0, tasks), rng.uniform(0.001, 0.01, tasks)
        step = 0.5
        wanted = np.clip(point - step * gradient, 0.0, upper)
        yield point, gradient, energy, float(rng.uniform(0.3, 0.9) * energy @ wanted), upper, step


def kept(tasks: int) -> Solver:
    """Return Ipopt on a problem with parameters, built once."""
    import casadi

    rounds, parameters = casadi.SX.sym("rounds", tasks), casadi.SX.sym("p", 3 * tasks + 1)
    point, gradient, energy, step = casadi.vertsplit(
        parameters, [0, tasks, 2 * tasks, 3 * tasks, 3 * tasks + 1]
    )
    problem = {
        "x": rounds,
        "p": parameters,
        "f": casadi.dot(gradient, rounds) + casadi.sumsqr(rounds - point) / (2 * step),
        "g": casadi.dot(energy, rounds),
    }
    options = {"print_level": 0, "sb": "yes", "tol": 1e-9, **OPTIONS}
    solver = casadi.nlpsol("step", "ipopt", problem, {"print_time": False, "ipopt": options})

    def solve(point: Any, gradient: Any, energy: Any, cap: float, upper: Any, step: float) -> Any:
        given = np.concatenate([point, gradient, energy, [step]])
        found = solver(x0=np.minimum(point, upper), p=given, lbx=0.0, ubx=upper, ubg=cap)
        return np.array(found["x"]).ravel()

    return solve


def built(*step: Any) -> Any:
    """Build and solve."""
    from edgeopt.models.edr import step_nlp
    from edgeopt.solvers import solve

    values = solve(step_nlp(*step), "casadi:ipopt", **OPTIONS).values
    return np.fromiter(values.values(), dtype=float)


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    from edgeopt.models.edr import take_step

    drawn: Steps = list(steps(**size))
    solver: Solver = {
        BENCHMARK.subject: lambda *step: take_step(*step).rounds,
        BENCHMARK.peers[0]: kept(size["tasks"]),
        BENCHMARK.peers[1]: built,
    }[candidate]

    def run(_: float | None) -> Reading:
        total = 0.0
        for one in drawn:
            point, gradient, _energy, _cap, _upper, step = one
            rounds = solver(*one)
            total += gradient @ rounds + ((rounds - point) ** 2).sum() / (2 * step)
        return Reading(objective=float(total), work=float(len(drawn)))

    return run


BENCHMARK = Benchmark(
    name="edr-step",
    question="The macro step of 500 training tasks: closed form against Ipopt",
    build=build,
    sizes={"full": {"tasks": 500, "count": 20}, "smoke": {"tasks": 5, "count": 2}},
    subject="take_step",
    peers=("Ipopt, kept", "Ipopt, built for every step"),
    goals=(Goal("ratio", at_least=500.0),),
    unit="steps",
    repeats=51,
    peer_repeats=5,
    ladder=Ladder.over("tasks", (20, 60, 200, 600, 2_000), count=4),
)
