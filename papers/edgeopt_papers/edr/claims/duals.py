"""Lemma 3 and Theorem 2: multipliers stay bounded, and they bound what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement
from edgeopt_papers.edr.claims import instances as named
from edgeopt_papers.edr.claims.evaluation import INTERIOR, TASKS, Constants, Evaluation, claim
from edgeopt_papers.edr.claims.instances import DRAWN, MOVING, STEADY

if TYPE_CHECKING:
    from collections.abc import Iterator


def _step_of_multipliers(view: Evaluation) -> Iterator[Measurement]:
    """Largest excess over (22) in any frame, which is to be at most 0."""
    for index, run in view.simulated.items():
        missing = view.problem.missing(run.points)
        before, after = run.multipliers[:-1], run.multipliers[1:]
        mu = run.sizes.dual
        grown = ((after**2).sum(axis=1) - (before**2).sum(axis=1)) / 2
        linear = mu * (before * missing).sum(axis=1)
        square = mu**2 * (missing**2).sum(axis=1) / 2
        terms = (after**2).sum(axis=1) + np.abs(linear) + square
        excess = np.zeros(terms.size)
        np.divide(grown - linear - square, terms, out=excess, where=terms > 0)
        t = int(np.argmax(excess))
        yield Measurement(excess[t], 0.0, {"frame": t, "index": index}, size=1.0)


def _largest_multiplier(view: Evaluation) -> Iterator[Measurement]:
    promise = Constants.of(view.problem).multiplier
    for index, run in view.simulated.items():
        yield Measurement(np.linalg.norm(run.multipliers, axis=1).max(), promise, {"index": index})


def _fit_by_constants(view: Evaluation) -> Iterator[Measurement]:
    promise = Constants.of(view.problem).fit
    for index, run in view.simulated.items():
        yield Measurement(run.fit, promise, {"index": index, "points": run.points})


def _fit_by_multipliers(view: Evaluation) -> Iterator[Measurement]:
    for index, run in view.simulated.items():
        yield Measurement(
            run.fit,
            float(np.linalg.norm(run.multipliers[-1])) / run.sizes.dual,
            {"index": index, "multipliers": run.multipliers[-1]},
        )


def _fit_by_reset_multipliers(view: Evaluation) -> Measurement:
    """Forget the multiplier of a task once its window is over, as a controller may."""
    run = view.simulated["current"]
    over = ~view.problem.active[-1]
    kept = np.where(over, 0.0, run.multipliers[-1])
    return Measurement(run.fit, float(np.linalg.norm(kept)) / run.sizes.dual, {"over": over})


def _signed_norm(view: Evaluation) -> Measurement:
    run = view.simulated["current"]
    missing = view.problem.missing(run.points).sum(axis=0)
    return Measurement(run.fit, float(np.linalg.norm(missing)), {"missing": missing})


def _most_missing(view: Evaluation) -> float:
    """Largest norm of the constraints of a frame of the run."""
    missing = view.problem.missing(view.simulated["current"].points)
    return float(np.linalg.norm(missing, axis=1).max())


def _first_multiplier(view: Evaluation) -> float:
    """Norm of the multipliers after the first frame, in steps."""
    run = view.simulated["current"]
    return float(np.linalg.norm(run.multipliers[1])) / run.sizes.dual


CLAIMS = (
    claim("equation22", _step_of_multipliers, (STEADY, MOVING, DRAWN), assumptions=(TASKS,)),
    claim("lemma3", _largest_multiplier, (STEADY, MOVING), assumptions=(INTERIOR,)),
    claim(
        "equation27",
        lambda view: Measurement(_most_missing(view) ** 2, view.problem.constraints**2),
        (STEADY, MOVING, DRAWN, named.few_frames),
        assumptions=(TASKS,),
    ),
    claim(
        "equation27.published",
        lambda view: Measurement(_most_missing(view) ** 2, float(view.problem.frames) ** 2),
        named.few_frames,
        assumptions=(TASKS,),
    ),
    claim(
        "equation46",
        lambda view: Measurement(_first_multiplier(view), view.problem.constraints),
        (STEADY, MOVING, DRAWN, named.few_frames),
        assumptions=(TASKS,),
    ),
    claim(
        "equation46.published",
        lambda view: Measurement(_first_multiplier(view), view.problem.gradient),
        named.few_frames,
        assumptions=(TASKS,),
    ),
    claim("theorem2", _fit_by_constants, (STEADY, MOVING), assumptions=(INTERIOR,)),
    claim(
        "theorem2.multipliers",
        _fit_by_multipliers,
        (STEADY, MOVING, DRAWN, named.departed),
        assumptions=(TASKS,),
    ),
    claim("theorem2.reset", _fit_by_reset_multipliers, named.departed, assumptions=(TASKS,)),
    claim(
        "equation21", _signed_norm, (STEADY, MOVING, DRAWN, named.overtrained), assumptions=(TASKS,)
    ),
    claim("equation21.published", _signed_norm, named.overtrained, assumptions=(TASKS,)),
)
