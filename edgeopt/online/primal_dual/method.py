r"""Modified saddle-point steps on costs and constraints that are revealed slot by slot.

In slot t a point :math:`x^t` is chosen. Then a convex cost :math:`f^t` and constraints :math:`g^t`
are revealed, which need to hold in sum only, :math:`\sum_t g^t(x^t) \le 0`; a set :math:`X^t` is
kept in every slot. With multipliers :math:`\lambda \ge 0`,

.. math::

    \text{ascent:} \quad & \lambda^{t+1} = [\lambda^t + \mu \, g^t(x^t)]^+, \\
    \text{descent:} \quad & x^{t+1} = \arg\min_{X} \; \nabla f^t(x^t) \cdot (X - x^t)
        + \lambda^{t+1} \cdot g^t(X) + \frac{\lVert X - x^t \rVert^2}{2 \alpha}.

"Modified" means that the descent uses the multipliers that the ascent has just found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from edgeopt.errors import InputError
from edgeopt.options import check_able, finite_vector, real_array
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeopt.arrays import Floats
    from edgeopt.online.primal_dual.steps import StepSizes


class LinearSlot:
    """A linear cost c . x with affine constraints A x + b.

    Parameters
    ----------
    cost
        Cost c of each entry of the point, shape [n].
    matrix
        Matrix A of the constraints, shape [m, n].
    offset
        Offset b of the constraints, shape [m].

    Raises
    ------
    InputError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.online.primal_dual import LinearSlot
    >>> seen = LinearSlot(cost=[1.0, 2.0], matrix=[[1.0, 1.0]], offset=[-1.0])
    >>> point = np.array([0.5, 0.75])
    >>> seen.constraints(point), seen.pull(point, np.array([2.0]))
    (array([0.25]), array([2., 2.]))
    """

    def __init__(self, cost: ArrayLike, matrix: ArrayLike, offset: ArrayLike) -> None:
        self.cost = np.asarray(cost, dtype=np.float64)
        self.matrix = np.asarray(matrix, dtype=np.float64)
        self.offset = np.asarray(offset, dtype=np.float64)
        if self.cost.ndim != 1:
            raise InputError("cost", "must have shape [n]", value=f"shape {self.cost.shape}")
        if self.offset.ndim != 1:
            raise InputError("offset", "must have shape [m]", value=f"shape {self.offset.shape}")
        shape = (self.offset.size, self.cost.size)
        if self.matrix.shape != shape:
            raise InputError(
                "matrix", f"must have shape {shape}", value=f"shape {self.matrix.shape}"
            )

    def gradient(self, point: Floats) -> Floats:
        """Return the cost per unit, shape [n]."""
        return self.cost

    def constraints(self, point: Floats) -> Floats:
        """Return A x + b, shape [m]."""
        return np.asarray(self.matrix @ point + self.offset)

    def pull(self, point: Floats, multipliers: Floats) -> Floats:
        """Return the multipliers times A, shape [n]."""
        return np.asarray(multipliers @ self.matrix)


@compact_repr
@dataclass(frozen=True, eq=False)
class Box:
    """Points between a lower and an upper bound.

    Parameters
    ----------
    lower, upper
        Bounds of each entry, shape [n], possibly infinite.

    Raises
    ------
    InputError
        If the shapes differ or a lower bound is above an upper one.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.online.primal_dual import Box
    >>> box = Box([0.0, 0.0], [1.0, np.inf])
    >>> box.step(np.array([0.5, 0.5]), np.array([-2.0, 1.0]), 0.5)
    array([1., 0.])
    """

    lower: ArrayLike
    upper: ArrayLike

    def __post_init__(self) -> None:
        low, high = real_array("lower", self.lower), real_array("upper", self.upper)
        if low.ndim != 1 or low.shape != high.shape:
            raise InputError("upper", f"must have the shape {low.shape} of lower", value=high.shape)
        if not (low <= high).all():
            index = int(np.argmin(low <= high))
            raise InputError(
                "upper", "must not be below lower", index=(index,), value=float(high[index])
            )

    def step(self, point: Floats, direction: Floats, size: float) -> Floats:
        """Return the point moved against the direction and cut off at the bounds, shape [n]."""
        # Projected gradient step: onto a box, entry by entry.
        return np.asarray(np.clip(point - size * direction, self.lower, self.upper))


class FeasibleSet(Protocol):
    """What must hold in a slot, as a set of points that can be stepped on.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.online.primal_dual import FixedStep, LinearSlot, PrimalDual
    >>> class UnitBall:
    ...     def step(self, point, direction, size):
    ...         point = point - size * direction
    ...         return point / max(1.0, np.linalg.norm(point))
    ...
    >>> method = PrimalDual(FixedStep(primal=1.0, dual=0.5))
    >>> seen = LinearSlot(cost=[3.0, 4.0], matrix=[[1.0, 0.0]], offset=[0.0])
    >>> method.update(method.start([0.0, 0.0], 1), seen, UnitBall()).point
    array([-0.6, -0.8])
    """

    def step(self, point: Floats, direction: Floats, size: float) -> Floats:
        r"""Return :math:`\arg\min_X d \cdot X + \lVert X - x \rVert^2 / (2\alpha)` over the set.

        `point` x and `direction` d have shape [n], `size` is :math:`\alpha`; `point` need not lie
        in the set.
        """
        ...


class RevealedSlot(Protocol):
    """A cost and constraints that have been revealed.

    Constraints are affine in the point; convex ones are replaced by their tangents.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.online.primal_dual import Box, FixedStep, PrimalDual
    >>> class Quadratic:
    ...     def gradient(self, point):
    ...         return 2 * (point - 3.0)
    ...     def constraints(self, point):
    ...         return point - 1.0
    ...     def pull(self, point, multipliers):
    ...         return multipliers
    ...
    >>> method, box = PrimalDual(FixedStep(primal=0.1, dual=0.1)), Box([0.0], [5.0])
    >>> state = method.start([0.0], 1)
    >>> for _ in range(500):
    ...     state = method.update(state, Quadratic(), box)
    ...
    >>> state.point.round(2), state.multipliers.round(2)
    (array([1.]), array([4.]))
    """

    def gradient(self, point: Floats) -> Floats:
        r"""Return a subgradient of the cost, :math:`\nabla f(x)`, shape [n]."""
        ...

    def constraints(self, point: Floats) -> Floats:
        """Return what is to be at most 0 in the long run, g(x), shape [m]."""
        ...

    def pull(self, point: Floats, multipliers: Floats) -> Floats:
        r"""Return the gradient of :math:`\lambda \cdot g` at the point, shape [n]."""
        ...


class StepRule(Protocol):
    """A rule for the sizes of both steps.

    Examples
    --------
    >>> from edgeopt.online.primal_dual import Box, LinearSlot, PrimalDual, StepSizes
    >>> class Shrinking:
    ...     def sizes(self, slot):
    ...         return StepSizes(1 / (slot + 1) ** 0.5, 0.1)
    ...
    >>> seen, box = LinearSlot([-1.0], [[1.0]], [-0.5]), Box([0.0], [9.0])
    >>> method = PrimalDual(Shrinking())
    >>> state = method.update(method.start([0.0], 1), seen, box)
    >>> method.update(state, seen, box).point.round(3)
    array([1.672])
    """

    def sizes(self, slot: int) -> StepSizes:
        """Return the sizes of the steps that follow slot `slot`, counted from 0."""
        ...


@compact_repr
@dataclass(frozen=True, eq=False)
class SaddleState:
    """What the method remembers.

    Attributes
    ----------
    point
        Point of the next slot, shape [n].
    multipliers
        Prices of the long-term constraints, at least 0, shape [m].
    slot
        Number of descents so far.

    Examples
    --------
    >>> from edgeopt.online.primal_dual import Box, FixedStep, LinearSlot, PrimalDual
    >>> method = PrimalDual(FixedStep(primal=0.1, dual=0.5))
    >>> state = method.start([0.0], 1)
    >>> seen = LinearSlot(cost=[2.0], matrix=[[-1.0]], offset=[1.0])
    >>> method.update(state, seen, Box([0.0], [2.0]))
    SaddleState(point=float64[1], multipliers=float64[1], slot=1)
    """

    point: Floats
    multipliers: Floats
    slot: int = 0


@compact_repr
@dataclass(frozen=True)
class PrimalDual:
    """Dual ascent and proximal descent with their step sizes.

    A caller who learns the cost of a slot after it, but what must hold in it before, calls `ascend`
    when the slot ends and `descend` when the next one begins; `update` does both at once.

    Parameters
    ----------
    rule
        The step sizes.

    Raises
    ------
    OptionError
        If the rule is none.

    Notes
    -----
    Chen, Ling, Giannakis, An online convex optimization approach to proactive network resource
    allocation; Zhu et al., equations (6) and (7).

    Examples
    --------
    One unit of work per slot is required on average; it costs 1 or 3 by turns:

    >>> from edgeopt.online.primal_dual import Box, FixedStep, LinearSlot, PrimalDual
    >>> method = PrimalDual(FixedStep(primal=0.1, dual=0.5))
    >>> box = Box([0.0], [2.0])
    >>> state = method.start([0.0], 1)
    >>> done = 0.0
    >>> for slot in range(300):
    ...     done += float(state.point[0])
    ...     seen = LinearSlot(cost=[3.0 if slot % 2 else 1.0], matrix=[[-1.0]], offset=[1.0])
    ...     state = method.update(state, seen, box)
    >>> round(done / 300, 1)
    1.0
    """

    rule: StepRule

    def __post_init__(self) -> None:
        check_able("rule", self.rule, "sizes")

    def start(self, point: ArrayLike, constraints: int | ArrayLike) -> SaddleState:
        """Return the state before the first slot, at a point of shape [n].

        `constraints` is their number m, and multipliers begin at 0; or the multipliers, shape [m].
        """
        first = finite_vector("point", point)
        if isinstance(constraints, int | np.integer):
            return SaddleState(first, np.zeros(int(constraints)))
        multipliers = finite_vector("constraints", constraints)
        if (multipliers < 0).any():
            index = int(np.argmin(multipliers))
            raise InputError(
                "constraints", "a multiplier must not be negative",
                index=(index,), value=float(multipliers[index]),
            )  # fmt: skip
        return SaddleState(first, multipliers)

    def ascend(self, state: SaddleState, slot: RevealedSlot) -> SaddleState:
        """Return the state with the multipliers raised where a constraint was violated."""
        missed = finite_vector(
            "constraints", slot.constraints(state.point), state.multipliers.shape
        )
        # Dual ascent, projected onto the multipliers that are not negative (Arrow et al. 1958).
        raised = state.multipliers + self.rule.sizes(state.slot).dual * missed
        return replace(state, multipliers=np.maximum(raised, 0.0))

    def descend(self, state: SaddleState, slot: RevealedSlot, feasible: FeasibleSet) -> SaddleState:
        """Return the state with the next point, down along the cost and constraints of `slot`.

        The point lies in `feasible`: the set of the slot to come, where that is known.
        """
        cost = finite_vector("gradient", slot.gradient(state.point), state.point.shape)
        pull = finite_vector("pull", slot.pull(state.point, state.multipliers), state.point.shape)
        size = self.rule.sizes(state.slot).primal
        point = feasible.step(state.point, cost + pull, size)
        return replace(state, point=point, slot=state.slot + 1)

    def update(self, state: SaddleState, slot: RevealedSlot, feasible: FeasibleSet) -> SaddleState:
        """Ascend, then descend: return the state for the next slot."""
        return self.descend(self.ascend(state, slot), slot, feasible)
