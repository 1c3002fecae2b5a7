r"""How far a policy stays behind a benchmark, with interval and certificate.

The regret of a policy is what the benchmark collects over the horizon less what the policy is
expected to collect. Two things keep it from being known exactly: the policy's mean is estimated
from runs, and an offline optimum is known only to lie between the value of a solution in hand and
a proven bound. Both are reported: `value` charges the policy with the proven bound, so the true
regret exceeds it by sampling error alone; `floor` charges it with the solution in hand. The
interval runs from the lower confidence limit of the one to the upper limit of the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.intervals import finite_numbers, student
from edgeopt.checked import checked
from edgeopt.errors import OptionError
from edgeopt.representation import brief
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

PSI = 1 - 1 / math.e
"""Share of the optimum that a polynomial algorithm can reach for submodular gains."""

ROUNDING = 1e-9
"""Share of its terms by which a value may exceed its own bound before it counts as a mistake."""


@in_html
@brief
@dataclass(frozen=True, kw_only=True)
class Regret:
    """Regret of a policy over a horizon.

    Parameters
    ----------
    value
        Proven benchmark less the mean of the policy (for costs: the mean less the benchmark).
    floor
        The same against the solution in hand; equal to `value` when the optimum is known.
    standard_error
        Estimated standard deviation of both; 0 when expectations are given.
    low, high
        Confidence limits: lower end of `floor`, upper end of `value`.
    slots
        Length T of the horizon.
    guarantee
        What a theorem promises the regret to stay below, if one was given.
    certificate
        The numbers from which all others can be recomputed.
    """

    value: float
    floor: float
    standard_error: float
    low: float
    high: float
    slots: int
    guarantee: float | None = None
    certificate: Mapping[str, Any] = field(default_factory=dict)

    @property
    def per_slot(self) -> float:
        """Mean regret of a slot, which vanishes as T grows if the regret is sublinear."""
        return self.value / self.slots

    @property
    def within(self) -> bool | None:
        """Whether the whole interval respects the guarantee; None without one."""
        return None if self.guarantee is None else self.high <= self.guarantee


@brief
@dataclass(frozen=True, kw_only=True)
class PsiRegret(Regret):
    r"""Regret against a share of the best static decision.

    Parameters
    ----------
    psi
        The share :math:`\psi` of the optimum that is charged.
    """

    psi: float


@checked(psi="(0, 1]")
def psi_regret(
    gains: ArrayLike,
    best_static: float | tuple[float, float],
    psi: float = PSI,
    *,
    guarantee: float | None = None,
    confidence: float = 0.95,
) -> PsiRegret:
    r"""Compare a policy with a share of the best static decision in hindsight.

    .. math:: \psi \sum_t G_t(x_*) - \mathbb{E} \sum_t G_t(x_t)

    Parameters
    ----------
    gains
        Gain of every run in every slot, shape [runs, T] with at least two runs; or the exact
        expected gain of every slot, shape [T].
    best_static
        Gain of the best static decision, summed over the T slots: the gain of a decision in hand
        and a proven upper bound on the optimum, or one number if the optimum is known.
    psi
        Share of the optimum in (0, 1]; :math:`1 - 1/e` by default.
    guarantee
        What a theorem promises, such as :math:`A \sqrt T`.
    confidence
        Probability that the interval covers the true regret, in (0, 1).

    Returns
    -------
    PsiRegret
        The regret with interval and certificate.

    Raises
    ------
    OptionError
        If a number is not finite, the gain in hand exceeds its bound, there is but one run, or
        `psi` is outside (0, 1].

    Notes
    -----
    Si Salem et al.: Toward Inference Delivery Networks, equation (20).

    Examples
    --------
    >>> found = psi_regret([1.0, 2.0, 3.0], 12.0, psi=0.5, guarantee=1.0)
    >>> found.value, found.within
    (0.0, True)
    """
    in_hand, bound = (finite_numbers("best_static", part) for part in _pair(best_static))
    if in_hand.ndim or bound.ndim:
        raise OptionError("best_static: must be one number, or one in hand and one proven")
    plain = regret(gains, (psi * in_hand, psi * bound), guarantee=guarantee, confidence=confidence)
    proof = {
        **plain.certificate,
        "static_value": float(in_hand),
        "static_bound": float(bound),
        "psi": psi,
    }
    return PsiRegret(**{**vars(plain), "certificate": proof}, psi=psi)


@checked()
def regret(
    outcomes: ArrayLike,
    benchmark: ArrayLike | tuple[ArrayLike, ArrayLike],
    *,
    cost: bool = False,
    guarantee: float | None = None,
    confidence: float = 0.95,
) -> Regret:
    """Compare the outcomes of a policy with a benchmark, both summed over the slots.

    Parameters
    ----------
    outcomes
        Gain or cost of every run in every slot, shape [runs, T] with at least two runs; or exact
        expectations, shape [T].
    benchmark
        What it is compared with: one number for the whole horizon, or one per slot [T] for a
        benchmark that moves with the slots; a pair of these if the optimum is not known: the value
        of a solution in hand, then a proven bound on the optimum.
    cost
        Whether outcomes are costs, of which less is better.
    guarantee
        What a theorem promises.
    confidence
        Probability that the interval covers the true regret, in (0, 1).

    Returns
    -------
    Regret
        The regret with interval and certificate.

    Raises
    ------
    OptionError
        If a number is not finite, the solution in hand is better than its bound, a series does
        not fit the horizon, or there is but one run.
    """
    table = finite_numbers("outcomes", outcomes)
    if table.ndim not in (1, 2) or table.shape[-1] == 0:
        raise OptionError(f"outcomes: expected shape [runs, T] or [T], got {table.shape}")
    sign = -1.0 if cost else 1.0
    parts = [_by_slot(part, table.shape[-1]) for part in _pair(benchmark)]
    in_hand, bound = (float(part.sum()) for part in parts)
    size = max(float(np.abs(part).sum()) for part in parts)
    if sign * (in_hand - bound) > ROUNDING * size:
        raise OptionError(
            f"benchmark: the solution in hand, {in_hand}, is better than its bound {bound}"
        )
    if table.ndim == 1:
        mean, error, reach = float(table.sum()), 0.0, 0.0
    else:
        mean, error, reach = map(float, student(table.sum(axis=1), confidence))
    value, floor = sign * (bound - mean), sign * (in_hand - mean)
    proof = {"mean": mean, "benchmark_value": in_hand, "benchmark_bound": bound}
    return Regret(
        value=value,
        floor=floor,
        standard_error=error,
        low=floor - reach,
        high=value + reach,
        slots=table.shape[-1],
        guarantee=guarantee,
        certificate=proof,
    )


def _pair(benchmark: Any) -> tuple[Any, Any]:
    if isinstance(benchmark, tuple):
        if len(benchmark) != 2:
            raise OptionError("benchmark: give (value in hand, proven bound), or one number")
        return benchmark
    return benchmark, benchmark


def _by_slot(part: ArrayLike, slots: int) -> NDArray[np.float64]:
    numbers = finite_numbers("benchmark", part)
    if numbers.shape not in ((), (slots,)):
        raise OptionError(f"benchmark: shape {numbers.shape} does not fit {slots} slots")
    return numbers
