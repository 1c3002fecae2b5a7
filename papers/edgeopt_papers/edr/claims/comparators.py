"""Lemma 4 and what it compares with: the even rates, whatever frame it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.solvers import LinearProgram, solve
from edgeopt_papers.claims.paper import SOLVED
from edgeopt_papers.edr.claims import instances as named
from edgeopt_papers.edr.claims.evaluation import (
    AFFORDABLE,
    ALWAYS,
    INTERIOR,
    NONNEGATIVE,
    TASKS,
    Constants,
    Evaluation,
    Run,
    claim,
)
from edgeopt_papers.edr.claims.instances import DRAWN, MOVING, STEADY

if TYPE_CHECKING:
    from collections.abc import Iterator


FEW = 30
"""Frames in which a linear program is solved."""


def _regret(view: Evaluation) -> Iterator[Measurement]:
    promise = Constants.of(view.problem).regret
    for index, run in view.simulated.items():
        yield Measurement(run.regret, promise, {"index": index, "points": run.points})


def _steps(view: Evaluation, run: Run, index: str) -> Iterator[tuple[int, int, Measurement]]:
    """Yield frame, frame whose cap was kept, and both sides of (38) where there is a comparator."""
    problem, alpha = view.problem, run.sizes.primal
    for t in np.flatnonzero(problem.affordable[:-1]).tolist():
        best, last, following = problem.rate[t], run.points[t], run.points[t + 1]
        following = np.where(problem.active[t], following, 0.0)
        pull = problem.cost[t] - run.multipliers[t + 1] * problem.active[t]

        def objective(x: np.ndarray, pull: np.ndarray = pull, last: np.ndarray = last) -> float:
            return float(pull @ x + ((x - last) ** 2).sum() / (2 * alpha))

        distance = float(((best - following) ** 2).sum() / (2 * alpha))
        known = t + 1 if index == "current" else t
        sides = Measurement(objective(best), objective(following) + distance, {"frame": t})
        yield t, known, sides


def _step_38(view: Evaluation, index: str) -> Iterator[Measurement]:
    steps = _steps(view, view.simulated[index], index)
    for _, _, sides in steps:
        yield sides


def _step_38_where_affordable(view: Evaluation) -> Iterator[Measurement]:
    """Leave out the frames whose comparator breaks the cap of the next one."""
    problem = view.problem
    for t, known, sides in _steps(view, view.simulated["current"], "current"):
        if problem.energy[known] @ problem.rate[t] <= problem.cap[known]:
            yield sides


def _best_costs(view: Evaluation) -> np.ndarray:
    """Solve the program of each frame: the least cost that does not fall behind, shape [T]."""
    problem = view.problem
    if problem.frames > FEW:
        raise NotApplicableError(f"solves a program in at most {FEW} frames")
    best = np.zeros(problem.frames)
    for t in range(problem.frames):
        here = problem.active[t]
        if here.any():
            energy, cap = problem.energy[t, here][None], problem.cap[t : t + 1]
            program = LinearProgram(
                problem.cost[t, here], energy, -np.inf, cap, problem.rate[t, here], np.inf
            )
            best[t] = solve(program).objective
    return best


def _distance_of_comparators(view: Evaluation) -> Measurement:
    """Compare the optimum of each frame with the cost of its even rates."""
    even = (view.problem.cost * view.problem.rate).sum(axis=1)
    best = _best_costs(view)
    t = int(np.argmax(np.abs(best - even)))
    return Measurement(best[t], even[t], {"frame": t, "best": best})


def _largest_excess(view: Evaluation, index: str) -> Measurement:
    """Energy and cap of the frame where the cap is missed most."""
    spent, cap = view.problem.spent(view.simulated[index].points), view.problem.cap
    known = np.flatnonzero(np.isfinite(cap))
    if known.size == 0:
        return Measurement(0.0, 0.0, {"frames with a cap": 0})
    t = known[np.argmax((spent - cap)[known])]
    return Measurement(spent[t], cap[t], {"frame": int(t), "energy": spent})


CLAIMS = (
    claim("lemma4", _regret, (STEADY, MOVING), assumptions=(INTERIOR, NONNEGATIVE)),
    claim(
        "equation38",
        lambda view: _step_38(view, "stale"),
        (STEADY, MOVING, named.sudden_cap),
        assumptions=(ALWAYS,),
    ),
    claim(
        "equation38.current",
        lambda view: _step_38(view, "current"),
        named.sudden_cap,
        assumptions=(ALWAYS,),
    ),
    claim(
        "equation38.affordable", _step_38_where_affordable, (STEADY, MOVING), assumptions=(ALWAYS,)
    ),
    claim(
        "comparator",
        _distance_of_comparators,
        (STEADY, MOVING, DRAWN),
        assumptions=(TASKS, NONNEGATIVE, AFFORDABLE),
        tolerance=SOLVED,
    ),
    claim(
        "cap",
        lambda view: _largest_excess(view, "current"),
        (STEADY, MOVING, DRAWN, named.sudden_cap),
        assumptions=(TASKS,),
    ),
    claim(
        "cap.published",
        lambda view: _largest_excess(view, "stale"),
        named.sudden_cap,
        assumptions=(TASKS,),
    ),
)
