"""What the saddle-point method is guaranteed about its multipliers and long-term constraints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from edgeopt.errors import InputError

if TYPE_CHECKING:
    from edgeopt.online.primal_dual.steps import StepSizes

__all__ = ["fit_bound", "multiplier_bound"]


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
        Bound U of the norm of :math:`g^t(x)` over all points that may be played.
    diameter
        Longest distance D between two points that may be played.
    slack
        Number :math:`\epsilon` such that one point, which may be played in every slot, has
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
    """
    known = {
        "gradient": gradient, "constraints": constraints, "diameter": diameter,
        "slack": slack, "drift": drift,
    }  # fmt: skip
    for name, value in known.items():
        if not 0.0 <= value < math.inf:
            raise InputError(name, "must be finite and at least 0", value=value)
    if not slack > drift:
        raise InputError("slack", f"must be above drift = {drift}", value=slack)
    reach = steps.dual * constraints**2 / 2 + 2 * gradient * diameter
    reach += diameter**2 / (2 * steps.primal)
    return reach / (slack - drift) + steps.dual * constraints


def fit_bound(multipliers: float, dual: float) -> float:
    r"""Bound by how much the constraints are broken in sum.

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
    """
    if not dual > 0:
        raise InputError("dual", "must be positive", value=dual)
    if not multipliers >= 0:
        raise InputError("multipliers", "must be at least 0", value=multipliers)
    return multipliers / dual
