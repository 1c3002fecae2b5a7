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
from edgeopt.representation import compact_repr
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray


PSI = 1 - 1 / math.e
"""Share of the optimum that a polynomial algorithm can reach for submodular gains."""

ROUNDING = 1e-9
"""Share of its terms by which a value may exceed its own bound before it counts as a mistake."""


@in_html
@compact_repr
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

    Examples
    --------
    >>> from edgeopt.bounds import Regret, regret
    >>> regret([[1.0, 2.0], [2.0, 2.0]], [2.0, 3.0]).slots
    2
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


@compact_repr
@dataclass(frozen=True, kw_only=True)
class PsiRegret(Regret):
    r"""Regret against a share of the best static decision.

    Parameters
    ----------
    psi
        The share :math:`\psi` of the optimum that is charged.

    Examples
    --------
    >>> from edgeopt.bounds import psi_regret
    >>> found = psi_regret([1.0, 2.0, 3.0], 12.0, psi=0.5)
    >>> found.psi, found.value
    (0.5, 0.0)
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

    Examples
    --------
    >>> from edgeopt.bounds import regret
    >>> found = regret([[1.0, 2.0], [2.0, 2.0]], [2.0, 3.0])
    >>> found.value
    1.5
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


@compact_repr
@dataclass(frozen=True, kw_only=True)
class DynamicRegret(Regret):
    """Regret against the best decision of each slot.

    Parameters
    ----------
    path
        Mean regret of the slots so far, against the proven benchmark, shape [T]; its last entry is
        `value`.

    Examples
    --------
    >>> from edgeopt.bounds import dynamic_regret
    >>> dynamic_regret([3.0, 1.0, 2.0], [1.0, 1.0, 1.0]).path
    array([2., 2., 3.])
    """

    path: NDArray[np.float64]


@in_html
@compact_repr
@dataclass(frozen=True, kw_only=True)
class DynamicFit:
    """By how much long-term constraints are missed in sum.

    Parameters
    ----------
    value
        Norm of the positive part of the mean sums.
    low, high
        Confidence limits; equal to `value` when exact sums are given.
    missing
        Mean sum of each constraint, negative where more than enough was done, shape [m].
    path
        The fit of the slots so far, shape [T]; its last entry is `value`.
    slots
        Length T of the horizon.
    guarantee
        What a theorem promises the fit to stay below, if one was given.

    Examples
    --------
    >>> from edgeopt.bounds import dynamic_fit
    >>> fit = dynamic_fit([[1.0, -1.0], [2.0, -3.0], [0.0, 2.0]], guarantee=4.0)
    >>> fit.value, fit.per_slot, fit.within
    (3.0, 1.0, True)
    """

    value: float
    low: float
    high: float
    missing: NDArray[np.float64]
    path: NDArray[np.float64]
    slots: int
    guarantee: float | None = None

    @property
    def per_slot(self) -> float:
        """Mean fit of a slot, which vanishes as T grows if the fit is sublinear."""
        return self.value / self.slots

    @property
    def within(self) -> bool | None:
        """Whether the whole interval respects the guarantee; None without one."""
        return None if self.guarantee is None else self.high <= self.guarantee


@checked()
def dynamic_regret(
    costs: ArrayLike,
    comparators: ArrayLike | tuple[ArrayLike, ArrayLike],
    *,
    guarantee: float | None = None,
    confidence: float = 0.95,
) -> DynamicRegret:
    r"""Compare the costs of a policy with those of the best decision of each slot.

    .. math:: \mathbb{E} \sum_t f^t(x^t) - \sum_t f^t(x^{t*})

    Parameters
    ----------
    costs
        Cost of every run in every slot, shape [runs, T] with at least two runs; or exact
        expectations, shape [T].
    comparators
        Cost of the best decision of each slot, shape [T]; or, where it is not known, a pair of
        these: the cost of a decision in hand and a proven lower bound.
    guarantee
        What a theorem promises.
    confidence
        Probability that the interval covers the true regret, in (0, 1).

    Returns
    -------
    DynamicRegret
        The regret with interval, certificate and its path; negative where the policy does less
        than the comparator has to.

    Raises
    ------
    OptionError
        If a number is not finite, a series does not fit the horizon, a decision in hand is cheaper
        than its bound in sum, or there is but one run.

    Notes
    -----
    Zhu et al., section 3.5, dynamic regret.

    Examples
    --------
    >>> found = dynamic_regret([3.0, 1.0, 2.0], [1.0, 1.0, 1.0])
    >>> found.value, found.path.tolist()
    (3.0, [2.0, 2.0, 3.0])
    """
    plain = regret(costs, comparators, cost=True, guarantee=guarantee, confidence=confidence)
    paid = np.asarray(costs, dtype=float)
    best = comparators[1] if isinstance(comparators, tuple) else comparators
    bound = np.asarray(best, dtype=float)
    if bound.shape != paid.shape[-1:]:
        raise OptionError(f"comparators: one per slot is needed, shape {paid.shape[-1:]}")
    mean = paid if paid.ndim == 1 else paid.mean(axis=0)
    return DynamicRegret(**vars(plain), path=np.cumsum(mean - bound))


@checked()
def dynamic_fit(
    constraints: ArrayLike, *, guarantee: float | None = None, confidence: float = 0.95
) -> DynamicFit:
    r"""Measure by how much long-term constraints are missed in sum.

    .. math:: \Bigl\lVert \Bigl[ \mathbb{E} \sum_t g^t(x^t) \Bigr]^+ \Bigr\rVert_2

    The positive part is taken of the sum over the slots, per constraint: what is done early pays
    for what is left out late, but one constraint never pays for another.

    Parameters
    ----------
    constraints
        Values :math:`g^t(x^t)`, to be at most 0 in sum, shape [T, m] if exact, or
        [runs, T, m] with at least two runs; 0 where a constraint does not apply to a slot.
    guarantee
        What a theorem promises.
    confidence
        Probability that the interval covers the true fit, in (0, 1): every constraint has its own
        interval, with the error shared evenly among them, so that it covers at least as often.

    Returns
    -------
    DynamicFit
        The fit with interval and path.

    Raises
    ------
    OptionError
        If the shape is another, a number is not finite, or there is but one run.

    Notes
    -----
    Zhu et al., section 3.5, dynamic fit. With sampled runs `value` lies above the true fit on
    average, because the norm of a positive part is convex; the interval is not affected.

    Examples
    --------
    >>> found = dynamic_fit([[1.0, -1.0], [2.0, -3.0], [0.0, 2.0]])
    >>> found.value, found.missing.tolist()
    (3.0, [3.0, -2.0])
    """
    table = finite_numbers("constraints", constraints)
    if table.ndim not in (2, 3) or table.shape[-2] == 0:
        raise OptionError(f"constraints: expected shape [runs, T, m] or [T, m], got {table.shape}")
    mean = table if table.ndim == 2 else table.mean(axis=0)
    path = np.linalg.norm(np.maximum(np.cumsum(mean, axis=0), 0.0), axis=1)
    missing, reach = mean.sum(axis=0), np.zeros(table.shape[-1])
    if table.ndim == 3:
        each = 1 - (1 - confidence) / max(1, reach.size)
        for i, sums in enumerate(table.sum(axis=1).T):
            reach[i] = student(sums, each)[2]
    return DynamicFit(
        value=float(path[-1]),
        low=_positive_norm(missing - reach),
        high=_positive_norm(missing + reach),
        missing=missing,
        path=path,
        slots=table.shape[-2],
        guarantee=guarantee,
    )


def _positive_norm(values: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(np.maximum(values, 0.0)))
