r"""Corollary 1: how fast the bounds of fit and regret grow, and what that takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.bounds.claim import Measurement, NotApplicableError, worst
from edgeopt.bounds.edr import counterexamples
from edgeopt.bounds.edr.assumptions import ALWAYS, INTERIOR
from edgeopt.bounds.edr.constants import Constants
from edgeopt.bounds.edr.families import MOVING, STEADY, tiled
from edgeopt.bounds.edr.relaxed import Relaxed
from edgeopt.bounds.edr.statement import claim
from edgeopt.bounds.growth import growth_exponent
from edgeopt.bounds.named import one
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.edr import special
from edgeopt.online.primal_dual import StepSizes, VariationStep

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from edgeopt.bounds.edr.evaluation import Evaluation

__all__ = ["CLAIMS"]

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


def _fit_exponent(view: Evaluation) -> Measurement:
    return Measurement(_exponent(NEAR, lambda T: _at(view, T).fit), 2 / 3)


def _regret_exponent(view: Evaluation) -> Measurement:
    """Keep comparators and constraints as they are in the long run: they have settled."""
    fixed = Constants.of(view.problem)
    still = {"drift": fixed.drift, "path": fixed.path}
    return Measurement(_exponent(NEAR, lambda T: _at(view, T, **still).regret), 2 / 3)


def _path_exponents(view: Evaluation) -> Measurement:
    found = []
    for power in PATHS:
        value = growth_exponent(
            FAR,
            [_at(view, T, drift=0.0, largest_drift=0.0, path=T**power).regret for T in FAR],
        )
        found.append(Measurement(value.exponent, max(2 / 3, power + 1 / 3), {"path": power}))
    return worst(Relation.EQUAL, found)


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


def _fits_by_variation(view: Evaluation) -> Measurement:
    return worst(
        Relation.EQUAL,
        (Measurement(_fit_by_variation(view, p), 1 - p, {"path": p}) for p in PATHS[1:]),
    )


def _fit_with_a_short_path(view: Evaluation) -> Measurement:
    return Measurement(_fit_by_variation(view, 0.0), 2 / 3)


CLAIMS = (
    claim(
        "corollary1.fit",
        r"With $\alpha, \mu \propto T^{-1/3}$ the bound $\bar\lambda / \mu$ of the fit grows by an "
        "exponent of at most 2/3 between any two horizons, if F, U, D and the slack stay.",
        "Corollary 1",
        _fit_exponent,
        Relation.AT_MOST,
        {**STEADY, **MOVING},
        assumptions=(INTERIOR,),
    ),
    claim(
        "corollary1.regret",
        r"With $\alpha, \mu \propto T^{-1/3}$ the bound $A_T$ of the regret of training grows by "
        "an exponent of at most 2/3 between any two horizons, if F, U, D and the slack stay and "
        "the comparators settle.",
        "Corollary 1",
        _regret_exponent,
        Relation.AT_MOST,
        {**STEADY, **MOVING},
        assumptions=(INTERIOR,),
    ),
    claim(
        "corollary1.path",
        "If the path of the comparators has length $T^p$, the exponent of $A_T$ tends to "
        r"$\max(2/3, p + 1/3)$: sublinear if and only if $p < 2/3$.",
        "Corollary 1",
        _path_exponents,
        Relation.EQUAL,
        {**STEADY, **MOVING},
        assumptions=(INTERIOR,),
        tolerance=CLOSE,
    ),
    claim(
        "corollary1.printed",
        "The bound of the fit grows by an exponent of at most 2/3 on horizons over which tasks "
        "need as many rounds per frame. Without a cap what a frame may do is all rounds of a task, "
        "so that D grows like T.",
        "Corollary 1",
        _growing_diameter,
        Relation.AT_MOST,
        one(counterexamples.uncapped),
        assumptions=(INTERIOR,),
        counterexample="uncapped()",
        corrected_by=("edr.corollary1.fit",),
    ),
    claim(
        "equation17",
        "With steps (17) and a path of length $T^p$, $p > 0$, the exponent of the bound of the "
        "fit tends to $1 - p$, that of $T / V$.",
        "Corollary 1, equation (17)",
        _fits_by_variation,
        Relation.EQUAL,
        {**STEADY, **MOVING},
        assumptions=(INTERIOR,),
        tolerance=CLOSE,
    ),
    claim(
        "equation17.printed",
        "With steps (17) fit and regret are sublinear, the fit by an exponent of at most 2/3. If "
        "the path stays bounded, the bound of the fit grows like T.",
        "Corollary 1, equation (17)",
        _fit_with_a_short_path,
        Relation.AT_MOST,
        one(special.theorem3),
        assumptions=(INTERIOR,),
        counterexample="theorem3()",
        corrected_by=("edr.equation17", "edr.corollary1.fit"),
    ),
)
