r"""Regret against a decision that moves with the slots, and what long-term constraints miss.

A policy that may break a constraint :math:`g^t \le 0` in a slot, if only it holds in sum, is judged
by two numbers: the dynamic regret :math:`\sum_t f^t(x^t) - \sum_t f^t(x^{t*})` against the best
decision of each slot, and the dynamic fit :math:`\lVert [\sum_t g^t(x^t)]^+ \rVert`, which counts
what is missing at the end. Neither means much alone: a policy that serves nothing has a negative
regret.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.intervals import finite_numbers, student
from edgeopt.bounds.regret.benchmark import Regret, regret
from edgeopt.checked import checked
from edgeopt.errors import OptionError
from edgeopt.representation import brief
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@brief
@dataclass(frozen=True, kw_only=True)
class DynamicRegret(Regret):
    """Regret against the best decision of each slot.

    Parameters
    ----------
    path
        Mean regret of the slots so far, against the proven benchmark, shape [T]; its last entry is
        `value`.
    """

    path: NDArray[np.float64]


@in_html
@brief
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
