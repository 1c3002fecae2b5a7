"""Lemma 3 and Theorem 2: multipliers stay bounded, and they bound what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement
from edgeopt.bounds.verdict import Relation
from edgeopt_papers.claims.paper import one
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
    claim(
        "equation22",
        r"$(\|\lambda^{t+1}\|^2 - \|\lambda^t\|^2) / 2 \le \mu \lambda^t \cdot g^t(x^t) + "
        r"\frac{\mu^2}{2} \|g^t(x^t)\|^2$ in every frame; the largest excess is measured, relative "
        "to the terms.",
        "Lemma 3, equation (22)",
        _step_of_multipliers,
        Relation.AT_MOST,
        {**STEADY, **MOVING, **DRAWN},
        assumptions=(TASKS,),
    ),
    claim(
        "lemma3",
        r"$\|\lambda^t\| \le \bar\lambda = \frac{\mu U^2 / 2 + 2 F D + D^2 / (2 \alpha)}{\epsilon "
        r"- \bar V(g)} + \mu U$ for all $t$, whichever cap a step keeps. The paper writes $T^2$ "
        "for $U^2$ on the way, and R for the distance D of two points.",
        "Lemma 3, equation (23)",
        _largest_multiplier,
        Relation.AT_MOST,
        {**STEADY, **MOVING},
        assumptions=(INTERIOR,),
    ),
    claim(
        "equation27",
        r"$\|g^t(x^t)\|^2 \le U^2$.",
        "Lemma 3, proof, equation (27)",
        lambda view: Measurement(_most_missing(view) ** 2, view.problem.constraints**2),
        Relation.AT_MOST,
        {**STEADY, **MOVING, **DRAWN, **one(named.few_frames)},
        assumptions=(TASKS,),
    ),
    claim(
        "equation27.published",
        r"$\|g^t(x^t)\|^2 \le T^2$, the square of the horizon.",
        "Lemma 3, proof, equation (27)",
        lambda view: Measurement(_most_missing(view) ** 2, float(view.problem.frames) ** 2),
        Relation.AT_MOST,
        one(named.few_frames),
        assumptions=(TASKS,),
        corrected_by=("edr.equation27",),
    ),
    claim(
        "equation46",
        r"$\|\lambda^2\| \le \mu U$ after the first frame; both sides over $\mu$.",
        "Lemma 4, proof, equation (46)",
        lambda view: Measurement(_first_multiplier(view), view.problem.constraints),
        Relation.AT_MOST,
        {**STEADY, **MOVING, **DRAWN, **one(named.few_frames)},
        assumptions=(TASKS,),
    ),
    claim(
        "equation46.published",
        r"$\|\lambda^2\| \le \mu F$ after the first frame, with the bound F of the cost gradients; "
        r"both sides over $\mu$.",
        "Lemma 4, proof, equation (46)",
        lambda view: Measurement(_first_multiplier(view), view.problem.gradient),
        Relation.AT_MOST,
        one(named.few_frames),
        assumptions=(TASKS,),
        corrected_by=("edr.equation46",),
    ),
    claim(
        "theorem2",
        r"$\widetilde{\mathrm{Fit}} \le \bar\lambda / \mu$, whichever cap a step keeps.",
        "Theorem 2",
        _fit_by_constants,
        Relation.AT_MOST,
        {**STEADY, **MOVING},
        assumptions=(INTERIOR,),
    ),
    claim(
        "theorem2.multipliers",
        r"$\widetilde{\mathrm{Fit}} \le \|\lambda^{T+1}\| / \mu$, whatever windows, caps and "
        "prices are, if the multiplier of a task that is over stays what it was.",
        "Theorem 2, equation (32)",
        _fit_by_multipliers,
        Relation.AT_MOST,
        {**STEADY, **MOVING, **DRAWN, **one(named.departed)},
        assumptions=(TASKS,),
    ),
    claim(
        "theorem2.reset",
        r"$\widetilde{\mathrm{Fit}} \le \|\lambda^{T+1}\| / \mu$ if the multiplier of a task "
        "that is over is set to 0, as in a controller that tracks only the tasks that it may "
        "still train.",
        "Theorem 2, equation (32)",
        _fit_by_reset_multipliers,
        Relation.AT_MOST,
        one(named.departed),
        assumptions=(TASKS,),
        corrected_by=("edr.theorem2.multipliers",),
    ),
    claim(
        "equation21",
        r"$\|[\sum_t g^t(x^t)]^+\| \le \|\sum_t g^t(x^t)\|$: what is trained beyond the need "
        "counts on the right only.",
        "Theorem 1, proof, equation (21)",
        _signed_norm,
        Relation.AT_MOST,
        {**STEADY, **MOVING, **DRAWN, **one(named.overtrained)},
        assumptions=(TASKS,),
    ),
    claim(
        "equation21.published",
        r"$\|\sum_t g^t(x^t)\| = \widetilde{\mathrm{Fit}}$, whose definition takes the positive "
        "part.",
        "Theorem 1, proof, equation (21)",
        _signed_norm,
        Relation.EQUAL,
        one(named.overtrained),
        assumptions=(TASKS,),
        corrected_by=("edr.equation21",),
    ),
)
