"""Sizes of the steps of the saddle-point method, and what they guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

from edgeopt.errors import InputError, OptionError
from edgeopt.options import check_real, check_whole

FARTHEST: Final = 10**100
"""Longest horizon of a rule: bounds are read off far beyond any array that is ever held."""


class StepSizes(NamedTuple):
    r"""Sizes of the descent, :math:`\alpha`, and of the ascent, :math:`\mu`.

    The first has the unit of points squared per cost, the second that of cost per points squared.

    Attributes
    ----------
    primal
        Size :math:`\alpha` of the descent, in units of the point per unit of the gradient.
    dual
        Size :math:`\mu` of the ascent, in units of the multipliers per unit of the constraints.

    Examples
    --------
    >>> from edgeopt.online.primal_dual import StepSizes
    >>> StepSizes(primal=0.1, dual=0.2).dual
    0.2
    """

    primal: float
    dual: float


@dataclass(frozen=True)
class FixedStep:
    """The same sizes in every slot.

    Parameters
    ----------
    primal
        Size of the descent.
    dual
        Size of the ascent; 0 ignores the long-term constraints.

    Raises
    ------
    OptionError
        If `primal` is not positive and finite, or `dual` is negative or not finite.

    Examples
    --------
    >>> from edgeopt.online.primal_dual import Box, FixedStep, LinearSlot, PrimalDual
    >>> method = PrimalDual(FixedStep(primal=0.1, dual=0.5))
    >>> seen = LinearSlot(cost=[2.0], matrix=[[-1.0]], offset=[1.0])
    >>> state = method.update(method.start([1.0], 1), seen, Box([0.0], [2.0]))
    >>> state.point, state.multipliers
    (array([0.8]), array([0.]))
    """

    primal: float
    dual: float

    def __post_init__(self) -> None:
        check_real("primal", self.primal, "(0, inf)")
        check_real("dual", self.dual, "[0, inf)")

    def sizes(self, slot: int) -> StepSizes:
        """Return the sizes."""
        return StepSizes(self.primal, self.dual)


@dataclass(frozen=True)
class ScaledStep:
    r"""Fixed sizes that shrink with the horizon and have the right units.

    .. math:: \alpha = \alpha_0 \frac{\bar x}{\bar c}, \qquad \mu = \mu_0 \frac{\bar c}{\bar x},
        \qquad \alpha_0 = \mu_0 = T^{-1/3} \text{ unless given}

    Parameters
    ----------
    horizon
        Number of slots T.
    point
        Typical size :math:`\bar x` of an entry of the point.
    gradient
        Typical size :math:`\bar c` of an entry of the gradient, cost per unit of the point.
    primal, dual
        Factors :math:`\alpha_0` and :math:`\mu_0`, without a unit.

    Raises
    ------
    OptionError
        If the horizon is below 1, or another number is not positive and finite (`dual` may be 0).

    Notes
    -----
    Zhu et al., Corollary 1, which gives the exponent; it leaves out the units.

    Examples
    --------
    >>> from edgeopt.online.primal_dual import ScaledStep
    >>> sizes = ScaledStep(horizon=1000, point=5.0, gradient=2.0).sizes(0)
    >>> round(sizes.primal, 3), round(sizes.dual, 3)
    (0.25, 0.04)
    """

    horizon: int
    point: float = 1.0
    gradient: float = 1.0
    primal: float | None = None
    dual: float | None = None

    def __post_init__(self) -> None:
        check_whole("horizon", self.horizon, 1, FARTHEST)
        check_real("point", self.point, "(0, inf)")
        check_real("gradient", self.gradient, "(0, inf)")
        check_real("primal", self.primal, "(0, inf)", none=True)
        check_real("dual", self.dual, "[0, inf)", none=True)

    def sizes(self, slot: int) -> StepSizes:
        """Return the sizes."""
        usual = float(self.horizon) ** (-1 / 3)
        primal = usual if self.primal is None else self.primal
        dual = usual if self.dual is None else self.dual
        unit = self.point / self.gradient
        return StepSizes(primal * unit, dual / unit)


@dataclass(frozen=True)
class VariationStep:
    r"""Sizes from how much the best points and the constraints move in all.

    .. math:: \alpha = \mu = \sqrt{\max(V_x, V_g) / T}

    Both are known only afterwards. While they are larger than a constant, regret and fit are
    bounded by terms that grow more slowly than T if they do so themselves.

    Parameters
    ----------
    horizon
        Number of slots T.
    path
        Length :math:`V_x = \sum_t \lVert x^{t*} - x^{t-1*} \rVert` of the path of best points.
    drift
        Growth :math:`V_g = \sum_t \lVert [g^{t+1} - g^t]^+ \rVert` of the constraints.

    Raises
    ------
    OptionError
        If the horizon is below 1, a variation is negative or not finite, or both are 0: then the
        rule has no step.

    Notes
    -----
    Zhu et al., equation (17).

    Examples
    --------
    >>> from edgeopt.online.primal_dual import VariationStep
    >>> VariationStep(horizon=100, path=1.0, drift=4.0).sizes(0)
    StepSizes(primal=0.2, dual=0.2)
    """

    horizon: int
    path: float
    drift: float

    def __post_init__(self) -> None:
        check_whole("horizon", self.horizon, 1, FARTHEST)
        check_real("path", self.path, "[0, inf)", largest=FARTHEST)
        check_real("drift", self.drift, "[0, inf)")
        if max(self.path, self.drift) == 0.0:
            raise OptionError("path = drift = 0: nothing varies, and the rule has no step")

    def sizes(self, slot: int) -> StepSizes:
        """Return the sizes."""
        size = math.sqrt(max(self.path, self.drift) / self.horizon)
        return StepSizes(size, size)


def multiplier_bound(
    steps: StepSizes,
    *,
    gradient: float,
    constraints: float,
    diameter: float,
    slack: float,
    drift: float = 0.0,
) -> float:
    r"""Bound the norm of the multipliers in all slots when both step sizes are fixed.

    .. math:: \lVert \lambda^t \rVert \le \bar\lambda = \frac{\mu U^2 / 2 + 2 F D
        + D^2 / (2 \alpha)}{\epsilon - v} + \mu U

    Parameters
    ----------
    steps
        The sizes :math:`\alpha > 0` and :math:`\mu`.
    gradient
        Bound F of the norm of cost gradients.
    constraints
        Bound U of the norm of :math:`g^t(x)` over all feasible points.
    diameter
        Longest distance D between two feasible points.
    slack
        Number :math:`\epsilon` such that one point, feasible in every slot, has
        :math:`g^t \le -\epsilon` in every slot and entry.
    drift
        Largest :math:`v = \max_x \lVert [g^{t+1}(x) - g^t(x)]^+ \rVert` between slots.

    Returns
    -------
    The bound, in the unit of cost per unit of the constraints.

    Raises
    ------
    InputError
        If a number is negative, or `slack` is not above `drift`: then nothing is guaranteed.

    Notes
    -----
    Multipliers begin at 0. Zhu et al., Lemma 3, equation (23), after Chen, Ling, Giannakis.

    Examples
    --------
    >>> from edgeopt.online.primal_dual import StepSizes, multiplier_bound
    >>> multiplier_bound(
    ...     StepSizes(0.1, 0.1), gradient=1.0, constraints=1.0, diameter=1.0, slack=0.5
    ... )
    14.2
    """
    _check_known(
        gradient=gradient, constraints=constraints, diameter=diameter, slack=slack, drift=drift
    )
    if not slack > drift:
        raise InputError("slack", f"must be above drift = {drift}", value=slack)
    reach = steps.dual * constraints**2 / 2 + 2 * gradient * diameter
    reach += diameter**2 / (2 * steps.primal)
    return reach / (slack - drift) + steps.dual * constraints


def regret_bound(
    steps: StepSizes,
    slots: int,
    *,
    gradient: float,
    constraints: float,
    diameter: float,
    multipliers: float = 0.0,
    drift: float = 0.0,
    path: float = 0.0,
) -> float:
    r"""Bound the regret against points that keep the constraints in every slot.

    .. math:: \sum_{t \le T} f^t(x^t) - f^t(x^{t*}) \le \frac{\mu U^2 (T + 1) + \alpha F^2 T}{2}
        + \frac{D V_x + D^2 / 2}{\alpha} + \bar\lambda V_g

    Parameters
    ----------
    steps
        The sizes :math:`\alpha > 0` and :math:`\mu`, fixed.
    slots
        Number of slots T.
    gradient
        Bound F of the norm of cost gradients.
    constraints
        Bound U of the norm of :math:`g^t(x)` over all feasible points.
    diameter
        Longest distance D between two feasible points.
    multipliers
        Bound :math:`\bar\lambda` of the norm of the multipliers, see :func:`multiplier_bound`. Only
        constraints that grow need it.
    drift
        Growth :math:`V_g = \sum_t \max_x \lVert [g^{t+1}(x) - g^t(x)]^+ \rVert` of the constraints.
    path
        Length :math:`V_x = \sum_t \lVert x^{t*} - x^{t-1*} \rVert` of the path of the points
        compared with; 0 for a fixed one.

    Returns
    -------
    The bound, in the unit of cost.

    Raises
    ------
    InputError
        If a number is negative or not finite, or `slots` is below 1.

    Notes
    -----
    Every :math:`x^{t*}` lies in the sets of slots t and t + 1, with :math:`g^t(x^{t*}) \le 0`.
    Zhu et al., Lemma 4, equation (34).

    Examples
    --------
    >>> from edgeopt.online.primal_dual import StepSizes, regret_bound
    >>> regret_bound(StepSizes(0.1, 0.1), 100, gradient=1.0, constraints=1.0, diameter=1.0)
    15.05
    """
    if slots < 1:
        raise InputError("slots", "must be at least 1", value=slots)
    _check_known(
        gradient=gradient, constraints=constraints, diameter=diameter, multipliers=multipliers,
        drift=drift, path=path,
    )  # fmt: skip
    alpha, mu = steps
    sizes = mu * constraints**2 * (slots + 1) + alpha * gradient**2 * slots
    moves = diameter * path + diameter**2 / 2
    return sizes / 2 + multipliers * drift + moves / alpha


def _check_known(**known: float) -> None:
    """Check constants of a bound."""
    for name, value in known.items():
        if not 0.0 <= value < math.inf:
            raise InputError(name, "must be finite and at least 0", value=value)


def fit_bound(multipliers: float, dual: float) -> float:
    r"""Bound by how much the constraints are violated in sum.

    .. math:: \Bigl\lVert \Bigl[ \sum_{t} g^t(x^t) \Bigr]^+ \Bigr\rVert
        \le \lVert \lambda^{T+1} \rVert / \mu

    Parameters
    ----------
    multipliers
        Norm of the multipliers after the last slot, or a bound of it.
    dual
        Size :math:`\mu > 0` of the ascent, fixed.

    Returns
    -------
    The bound, in the unit of the constraints.

    Raises
    ------
    InputError
        If `dual` is not positive or `multipliers` is negative.

    Notes
    -----
    Zhu et al., Theorem 2. It needs no assumption beyond multipliers that begin at 0 and are never
    reset.

    Examples
    --------
    >>> from edgeopt.online.primal_dual import fit_bound
    >>> fit_bound(multipliers=2.0, dual=0.1)
    20.0
    """
    if not dual > 0:
        raise InputError("dual", "must be positive", value=dual)
    if not multipliers >= 0:
        raise InputError("multipliers", "must be at least 0", value=multipliers)
    return multipliers / dual
