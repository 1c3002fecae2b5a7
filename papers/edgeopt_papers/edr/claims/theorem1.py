"""Theorem 1: what rounding does to regret and fit."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt_papers.claims.paper import SOLVED, named_instance
from edgeopt_papers.edr.claims import instances as named
from edgeopt_papers.edr.claims.evaluation import NONNEGATIVE, TASKS, Evaluation, claim
from edgeopt_papers.edr.claims.instances import DRAWN, STEADY
from edgeopt_papers.edr.claims.rounded import SMALLEST, WIDEST, Frame, mean

if TYPE_CHECKING:
    from collections.abc import Iterator


LONGEST = 120
"""Most frames whose distributions are found."""

SERVED = 16
"""Most frames in which all outcomes are served."""


def fractions_of(view: Evaluation, most: int = SERVED) -> Iterator[tuple[int, Frame]]:
    """Yield the fractional rounds of all frames, as short fractions."""
    problem = view.problem
    if problem.frames > most:
        raise NotApplicableError(f"has {problem.frames} frames, more than {most}")
    for t, point in enumerate(view.points):
        rounds = [Fraction(x).limit_denominator(SMALLEST) for x in point.tolist()]
        if sum(x.denominator > 1 for x in rounds) > WIDEST:
            raise NotApplicableError("too many fractions for an exact distribution")
        yield t, Frame.of(rounds, problem.energy[t].tolist(), problem.cost[t].tolist())


def _floats(rounds: tuple[Fraction, ...]) -> list[float]:
    return [float(x) for x in rounds]


def _cost(view: Evaluation, frame: int, rounds: list[float]) -> float:
    """Cost of training and of serving, penalties included."""
    instance = view.instance
    if (rounds @ instance.round_work > instance.capacity * instance.slots * (1 + 1e-12)).any():
        raise NotApplicableError(f"frame {frame}: more may be trained than a site can do")
    training = float(view.problem.cost[frame] @ rounds)
    return training + view.serving.slot_by_slot(frame, rounds).objective


def _before_and_after(view: Evaluation) -> Iterator[tuple[int, Frame, float, float]]:
    """Yield frame, rounds, the expected cost after rounding and the cost before."""
    for t, frame in fractions_of(view, SERVED):
        after = sum(
            float(chance) * _cost(view, t, [float(z) for z in outcome])
            for outcome, chance in frame.distribution("bernoulli").items()
        )
        yield t, frame, after, _cost(view, t, _floats(frame.rounds))


def _expected_cost(view: Evaluation) -> Iterator[Measurement]:
    for t, frame, after, before in _before_and_after(view):
        yield Measurement(after, before, {"frame": t, "rounds": frame.rounds})


def _regrets(view: Evaluation) -> Measurement:
    """Compare the regret after rounding with that before, each against its own comparators."""
    integral, fractional, size = 0.0, 0.0, 0.0
    for t, frame, after, before in _before_and_after(view):
        outcomes = [[float(z) for z in outcome] for outcome in frame.distribution("bernoulli")]
        for rounds in [_floats(frame.rounds), *outcomes]:
            if not view.serving.slot_by_slot(t, rounds).whole:
                raise NotApplicableError(f"frame {t}: not all can be served under the cap")
        whole = _comparator(view, t, np.ceil(view.problem.rate[t] - 1e-12))
        even = _comparator(view, t, view.problem.rate[t])
        integral += after - whole
        fractional += before - even
        size += max(map(abs, (after, whole, before, even)))
    return Measurement(integral, fractional, size=size)


def _comparator(view: Evaluation, frame: int, rounds: np.ndarray) -> float:
    """Cost of the best decision that trains at least so much: just that, and all slots together."""
    served = view.serving.together(frame, rounds)
    over = float(view.problem.energy[frame] @ rounds) - view.problem.cap[frame]
    if over > 0 or not served.whole:
        raise NotApplicableError(f"frame {frame} has no comparator")
    return float(view.problem.cost[frame] @ rounds) + served.objective


def _regrets_apart(view: Evaluation) -> Measurement:
    """Do the same where training leaves to requests all that they can use."""
    for t, frame in fractions_of(view, SERVED):
        top = [float(-(-x.numerator // x.denominator)) for x in frame.rounds]
        idle = view.serving.slot_by_slot(t, np.zeros(len(top))).objective
        busy = view.serving.slot_by_slot(t, top).objective
        if abs(busy - idle) > 1e-9 * max(abs(busy), abs(idle)):
            raise NotApplicableError(f"frame {t}: training takes from the requests")
    return _regrets(view)


def _fits(view: Evaluation, residual: str) -> tuple[float, float]:
    """Return the fit after rounding and before."""
    problem = view.problem
    before, after = np.zeros(problem.tasks), np.zeros(problem.tasks)
    for t, frame in fractions_of(view, LONGEST):
        wanted = np.where(problem.active[t], problem.rate[t], 0.0)
        here = problem.active[t]
        after += np.where(here, wanted - _floats(mean(frame.distribution(residual))), 0.0)
        before += np.where(here, wanted - _floats(frame.rounds), 0.0)
    return tuple(float(np.linalg.norm(np.maximum(m, 0.0))) for m in (after, before))  # type: ignore[return-value]


def _fit_down_plus_horizon(view: Evaluation) -> Measurement:
    after, before = _fits(view, "floor")
    return Measurement(after, before + view.problem.frames)


CLAIMS = (
    claim(
        "theorem1",
        _expected_cost,
        (named.jensen_half, STEADY, DRAWN),
        assumptions=(TASKS,),
        tolerance=SOLVED,
    ),
    claim(
        "theorem1.apart",
        _regrets_apart,
        (STEADY, named.uncapped),
        assumptions=(TASKS, NONNEGATIVE),
        tolerance=SOLVED,
    ),
    claim(
        "theorem1.published",
        _regrets,
        named.jensen_half,
        assumptions=(TASKS, NONNEGATIVE),
        tolerance=SOLVED,
    ),
    claim(
        "fit",
        lambda view: Measurement(*_fits(view, "bernoulli")),
        (named_instance(named.always_dropped, 100), STEADY, DRAWN),
        assumptions=(TASKS,),
    ),
    claim(
        "fit.down",
        _fit_down_plus_horizon,
        (named_instance(named.always_dropped, 100), STEADY, DRAWN),
        assumptions=(TASKS,),
    ),
    claim(
        "fit.published",
        lambda view: Measurement(*_fits(view, "floor")),
        named_instance(named.always_dropped, 100),
        assumptions=(TASKS,),
    ),
)
