"""Lemma 5 and Theorem 3, the cost of training and serving apart; Corollary 1, its growth."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from edgeopt.bounds.claim import Measured, Measurement, NotApplicableError
from edgeopt.bounds.growth import growth_exponent
from edgeopt.instances.edr.named import tiled
from edgeopt.online.primal_dual import StepSizes, VariationStep
from edgeopt_papers.claims.paper import SOLVED, named_instance
from edgeopt_papers.edr.claims import counterexamples
from edgeopt_papers.edr.claims import instances as named
from edgeopt_papers.edr.claims.evaluation import (
    AFFORDABLE,
    ALWAYS,
    CAPPED,
    INTERIOR,
    NONNEGATIVE,
    Constants,
    Evaluation,
    claim,
)
from edgeopt_papers.edr.claims.instances import MOVING, STEADY
from edgeopt_papers.edr.claims.relaxed import Relaxed
from edgeopt_papers.edr.claims.separation import (
    BOUNDED,
    CAPPED_INSTANCES,
    SEPARATE_INSTANCES,
    corrected_constant,
    published_constant,
    route_spread,
)
from edgeopt_papers.edr.claims.serving import require_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np

    from edgeopt.instances.edr import EdrInstance


LONGEST = 200
"""Most frames that are served."""

TIMES = (1, 2, 4, 8)
"""How often an instance is repeated to see its regret grow."""


def _served(view: Evaluation, points: np.ndarray) -> float:
    """Cost of serving slot by slot at the last price, charged at the true one."""
    instance, total = view.instance, 0.0
    if instance.frames > LONGEST:
        raise NotApplicableError(f"has {instance.frames} frames, more than {LONGEST}")
    for t in range(instance.frames):
        last = float(instance.price[t - 1]) if t else float(instance.price_prior or 0.0)
        found = view.serving.slot_by_slot(t, points[t], price=last)
        total += require_whole(found, t).cost(instance.delay_weight)
    return total


def _best(view: Evaluation) -> float:
    """Cost of serving all slots of each frame together, with the even rates trained."""
    problem, weight = view.problem, view.instance.delay_weight
    found = (view.serving.together(t, problem.rate[t]) for t in range(problem.frames))
    return sum(require_whole(one, t).cost(weight) for t, one in enumerate(found))


def _apart(view: Evaluation, promise: float) -> Measured:
    """Compare the left side of (47), for even rates and for the run, with a constant.

    Training costs the same on both of its sides, since the comparators are the even rates.
    """

    def apart(rounds: np.ndarray) -> Measurement:
        served, best = _served(view, rounds), _best(view)
        return Measurement(served - best, promise, size=abs(served) + abs(best))

    found = [apart(view.problem.rate)]
    if view.problem.tasks:
        with suppress(NotApplicableError):
            found.append(apart(view.points))
    return found


def _regret(view: Evaluation, promise: Callable[[EdrInstance], float]) -> Measurement:
    """Regret of training and serving, compared with the bound of training and a constant."""
    training = float((view.problem.cost * (view.points - view.problem.rate)).sum())
    served, best = _served(view, view.points), _best(view)
    regret = training + served - best
    bound, constant = Constants.of(view.problem).regret, promise(view.instance)
    proof = {"training": training, "training_bound": bound, "constant": constant}
    size = abs(training) + abs(served) + abs(best)
    return Measurement(regret, bound + constant, proof, size=size)


def _growth(view: Evaluation) -> Measurement:
    """Fit the exponent of the regret over horizons that repeat the instance."""
    from edgeopt_papers.edr.claims.evaluation import Evaluation

    horizons, regrets = [], []
    for times in TIMES:
        longer = Evaluation(tiled(view.instance, times, keep_rate=True))
        points = longer.points if longer.problem.tasks else longer.problem.rate
        training = float((longer.problem.cost * (points - longer.problem.rate)).sum())
        horizons.append(longer.problem.frames)
        regrets.append(training + _served(longer, points) - _best(longer))
    if min(regrets) <= 0:
        raise NotApplicableError("the regret is not positive on every horizon")
    found = growth_exponent(horizons, regrets)
    return Measurement(found.low, 2 / 3, {"growth": found})


FAR = tuple(10**k for k in range(60, 67))
"""Horizons at which the term that grows fastest has left all others behind."""

NEAR = tuple(10**k for k in range(1, 8))
"""Horizons of all sizes."""

CLOSE = 1e-2
"""How near a fitted exponent is to its limit."""

PATHS = (0.0, 1 / 3, 2 / 3, 1.0)
"""Exponents p of a path of comparators of length T^p."""


def _at(view: Evaluation, horizon: int, **changes: float) -> Constants:
    """Return the constants for a longer horizon whose frames are like these."""
    found = Constants.of(view.problem, horizon)
    times = horizon / view.problem.frames
    return found.replace(**{"drift": found.drift * times, "path": found.path * times, **changes})


def _exponent(horizons: Sequence[int], value: Callable[[int], float]) -> float:
    """Largest exponent between neighbouring horizons."""
    return float(growth_exponent(horizons, [value(T) for T in horizons]).local.max())


def _regret_exponent(view: Evaluation) -> Measurement:
    """Keep comparators and constraints as they are in the long run, when they no longer change."""
    fixed = Constants.of(view.problem)
    still = {"drift": fixed.drift, "path": fixed.path}
    return Measurement(_exponent(NEAR, lambda T: _at(view, T, **still).regret), 2 / 3)


def _path_exponents(view: Evaluation) -> Iterator[Measurement]:
    for power in PATHS:
        value = growth_exponent(
            FAR,
            [_at(view, T, drift=0.0, largest_drift=0.0, path=T**power).regret for T in FAR],
        )
        yield Measurement(value.exponent, max(2 / 3, power + 1 / 3), {"path": power})


def _growing_diameter(view: Evaluation) -> Measurement:
    """Let tasks need as many more rounds as there are frames: what a frame may do grows too."""
    base = view.instance
    if not ALWAYS.holds(base):
        raise NotApplicableError("windows must be the whole horizon")
    values, frames = [], []
    for times in (1, 4, 16, 64):
        longer = Relaxed.of(tiled(base, times, keep_rate=True))
        frames.append(longer.frames)
        values.append(Constants.of(longer).fit)
    found = growth_exponent(frames, values)
    return Measurement(found.exponent, 2 / 3, {"growth": found})


def _variation_sizes(path: float, horizon: int) -> StepSizes:
    return VariationStep(horizon, path=path, drift=0.0).sizes(0)


def _fit_by_variation(view: Evaluation, power: float) -> float:
    """Exponent of the bound of the fit with steps (17) and a path of length T^power."""
    fixed = Constants.of(view.problem)
    still = fixed.replace(drift=0.0, largest_drift=0.0)
    values = [still.replace(sizes=_variation_sizes(T**power, T)).fit for T in FAR]
    return growth_exponent(FAR, values).exponent


def _fits_by_variation(view: Evaluation) -> Iterator[Measurement]:
    for p in PATHS[1:]:
        yield Measurement(_fit_by_variation(view, p), 1 - p, {"path": p})


CLAIMS = (
    claim(
        "lemma5",
        lambda view: _apart(view, route_spread(view.instance)),
        SEPARATE_INSTANCES,
        assumptions=(NONNEGATIVE, AFFORDABLE),
        tolerance=SOLVED,
    ),
    claim(
        "lemma5.constant",
        lambda view: _apart(view, corrected_constant(view.instance)),
        CAPPED_INSTANCES,
        assumptions=BOUNDED,
        tolerance=SOLVED,
    ),
    claim(
        "lemma5.published",
        lambda view: _apart(view, published_constant(view.instance)),
        counterexamples.lemma5,
        assumptions=BOUNDED,
        tolerance=SOLVED,
    ),
    claim(
        "theorem3",
        lambda view: _regret(view, route_spread),
        (counterexamples.theorem3, STEADY),
        assumptions=(INTERIOR, NONNEGATIVE),
        tolerance=SOLVED,
    ),
    claim(
        "theorem3.published",
        lambda view: _regret(view, published_constant),
        counterexamples.theorem3,
        assumptions=(INTERIOR, NONNEGATIVE, CAPPED),
        tolerance=SOLVED,
    ),
    claim(
        "sublinear.published",
        _growth,
        named_instance(named.alternating_price, 16),
        assumptions=(NONNEGATIVE, AFFORDABLE),
    ),
    claim(
        "corollary1.fit",
        lambda view: Measurement(_exponent(NEAR, lambda T: _at(view, T).fit), 2 / 3),
        (STEADY, MOVING),
        assumptions=(INTERIOR,),
    ),
    claim("corollary1.regret", _regret_exponent, (STEADY, MOVING), assumptions=(INTERIOR,)),
    claim(
        "corollary1.path",
        _path_exponents,
        (STEADY, MOVING),
        assumptions=(INTERIOR,),
        tolerance=CLOSE,
    ),
    claim("corollary1.published", _growing_diameter, named.uncapped, assumptions=(INTERIOR,)),
    claim(
        "equation17", _fits_by_variation, (STEADY, MOVING), assumptions=(INTERIOR,), tolerance=CLOSE
    ),
    claim(
        "equation17.published",
        lambda view: Measurement(_fit_by_variation(view, 0.0), 2 / 3),
        counterexamples.theorem3,
        assumptions=(INTERIOR,),
    ),
)
