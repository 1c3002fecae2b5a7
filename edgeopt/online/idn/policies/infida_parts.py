"""What INFIDA is made of: refresh periods, ends of a rounding, noise of messages, node geometry."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.online.idn import compact
from edgeopt.options import check_real, check_whole
from edgeopt.rounding.kernels import BERNOULLI, DROP, HALF

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.models.idn.cells import Cells
    from edgeopt.online.idn.rates import NodeConstants
    from edgeopt.online.mirror_ascent import AscentState, MirrorAscent, MirrorMap

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stretching:
    """A refresh period that grows linearly.

    Parameters
    ----------
    initial, target
        First and last period, slots.
    over
        Slots until the last period is reached.

    Raises
    ------
    OptionError
        If a period is below 1, or `over` is not positive.
    """

    initial: int = 1
    target: int = 32
    over: int = 60

    def __post_init__(self) -> None:
        check_whole("initial", self.initial, 1)
        check_whole("target", self.target, 1)
        check_whole("over", self.over, 1)

    def period(self, slot: int) -> int:
        """Return the period in force at a slot."""
        part = min(1.0, slot / self.over)
        return round(self.initial + (self.target - self.initial) * part)


@dataclass(frozen=True)
class MessageLoss:
    r"""Control messages that are lost: those of a type in a slot, with probability q.

    Messages that arrive count :math:`1/(1-q)`, so that gradients are right on average given the
    past.

    Parameters
    ----------
    probability
        q, in [0, 1).

    Raises
    ------
    OptionError
        If the probability is not in [0, 1).

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, section IV-B, whose statement needs two
    conditions. *Statement.* Let the noise :math:`\xi_t` on the gradients be unbiased given the
    past, :math:`E[\xi_t \mid y_1, \dots, y_t, r, l] = 0`, and let
    :math:`E\,\mathrm{range}_m(\xi^v_t / s^v)^2 \le \nu_v^2 < \infty` at every node. With rates from
    :math:`\sigma_v + \nu_v` in place of :math:`\sigma_v`, the expected regret keeps its bound, with
    the same change of its constant. *Proof.* As :math:`y_t` does not depend on
    :math:`\xi_t`, :math:`E\,g_t (y_* - y_t) = E\,(g_t + \xi_t)(y_* - y_t)`. The bound of the right
    side holds for every sequence and is quadratic in the range of :math:`(g_t + \xi_t) / s`, whose
    second moment is at most :math:`(\sigma_v + \nu_v)^2` by Minkowski's inequality. Here the whole
    range is at most :math:`\sigma_v / (1-q)`. Losses that are more frequent for some types without
    being made up for are biased, and their regret may grow linearly.
    """

    probability: float

    def __post_init__(self) -> None:
        check_real("probability", self.probability, "[0, 1)")

    def weights(self, types: int, rng: np.random.Generator) -> Floats:
        """Draw what the messages of each type count, shape [R]."""
        arrives = rng.random(types) >= self.probability
        return np.where(arrives, 1.0 / (1.0 - self.probability), 0.0)

    def disturb(self, cells: Cells, gradient: Floats, rng: np.random.Generator) -> None:
        """Leave the gradient as it is."""

    def reach(self, reach: Floats, models: NDArray[np.int64]) -> Floats:
        """Return what bounds the range of noisy gradients per MB in the mean square, shape [V]."""
        return reach / (1.0 - self.probability)


@dataclass(frozen=True)
class Gaussian:
    r"""Normal noise on every gradient entry, on the scale of the node's largest gain per MB.

    .. math:: \xi_{vm} = z\, s_{vm} \max_{m'} \frac{g_{vm'}}{s_{vm'}}\; N(0, 1)

    Parameters
    ----------
    scale
        z, at least 0.

    Raises
    ------
    OptionError
        If the scale is negative or not finite.

    Notes
    -----
    The scale is known before the noise is drawn, so that it is unbiased given the past. The range
    of n normal numbers has a second moment of at most :math:`\min(2(n-1), 8 + 8 \log 2n)`; with z
    :math:`\sigma_v` times its root as :math:`\nu_v` the statement at `MessageLoss` holds.
    """

    scale: float

    def __post_init__(self) -> None:
        check_real("scale", self.scale, "[0, inf)")

    def weights(self, types: int, rng: np.random.Generator) -> Floats:
        """Let all messages count once."""
        return np.ones(types)

    def disturb(self, cells: Cells, gradient: Floats, rng: np.random.Generator) -> None:
        """Add noise in place."""
        drawn = self.scale * rng.standard_normal(gradient.size)
        for v in np.flatnonzero(cells.free):
            mine = slice(cells.first[v], cells.first[v + 1])
            drawn[mine] *= cells.size[mine] * (gradient[mine] / cells.size[mine]).max()
        gradient += np.where(np.repeat(cells.free, np.diff(cells.first)), drawn, 0.0)

    def reach(self, reach: Floats, models: NDArray[np.int64]) -> Floats:
        """Return what bounds the range of noisy gradients per MB in the mean square, shape [V]."""
        # range^2 <= 2 sum (x - mean)^2, and range <= 2 max |x| with E max^2 <= 2 log 2n + 2.
        count = np.maximum(models, 1)
        second = np.minimum(2.0 * (count - 1), 8.0 + 8.0 * np.log(2.0 * count))
        return np.asarray(reach * (1.0 + self.scale * np.sqrt(second)))


class Residual(NamedTuple):
    """What becomes of the last fractional entry of a node."""

    rule: int
    fitting: bool
    """Whether models are left out that exceed a budget alone."""
    refill: bool
    """Whether the rest of the budget is filled."""


RESIDUAL: Final = {
    "bernoulli": Residual(BERNOULLI, False, False),
    "drop": Residual(DROP, True, False),
    "fill": Residual(DROP, True, True),
    "half": Residual(HALF, True, True),
    "reserve": Residual(BERNOULLI, True, True),
}
ADAPTIVE = 10.0
"""Adaptive rates are this many times those of the proof, which pays in practice."""


PSI: Final = 1.0 - 1.0 / math.e
"""What dependent rounding keeps of a concave gain."""


class Guarantee(NamedTuple):
    """What is proven of a policy.

    Attributes
    ----------
    share
        Of the gain of the best fixed placement.
    why
        What holds of the budgets, in words.
    """

    share: float
    why: str


def guarantee_of(residual: str, kept: float) -> Guarantee:
    """Say what is proven of a way to round, `kept` being the least share of a budget it fills."""
    if residual in ("drop", "fill"):
        return Guarantee(0.0, "no constant share: a model that is dropped may be worth most")
    if residual == "bernoulli":
        return Guarantee(PSI, "budgets may be exceeded by part of one model")
    if residual == "half":
        return Guarantee(PSI / 2, "within the budgets")
    better = "; residual='half' proves more" if kept < 0.5 else ""
    return Guarantee(kept * PSI, f"within the budgets, c = {kept:.3f}{better}")


@dataclass(frozen=True, eq=False)
class NodeEntropy:
    """The product of the entropies of all nodes, `KnapsackEntropy` each, in compiled code.

    The nodes step in one compiled loop over cells stored node by node; `Product` gives the same
    points, but calls Python once per node and slot.
    """

    cells: Cells
    start: Floats
    diameter: Floats
    still: bool
    """Whether nodes rest whose gradient moves no mass, instead of projecting their point again."""

    @cached_property
    def convexity(self) -> Floats:
        """1/b, shape [V]; infinite at nodes without a choice."""
        filled = self.cells.filled
        return np.divide(1.0, filled, out=np.full_like(filled, np.inf), where=self.diameter > 0.0)

    @cached_property
    def width(self) -> Floats:
        """Twice the smaller of the budget and what it leaves out, MB, shape [V]."""
        first = np.diff(self.cells.first)
        whole = np.bincount(np.repeat(np.arange(first.size), first), self.cells.size, first.size)
        return 2.0 * np.maximum(np.minimum(self.cells.filled, whole - self.cells.filled), 0.0)

    def centre(self) -> Floats:
        """Return the point to begin with, shape [C]."""
        return self.start

    def step(self, point: Floats, gradient: Floats, rate: Floats) -> Floats:
        """Step at every node with a choice at its own rate, shape [V]."""
        moved = point.copy()
        norm = self.dual_norm(gradient) if self.still else rate
        compact.ascend(self.cells, gradient, norm, rate, moved)
        return moved

    def dual_norm(self, gradient: Floats) -> Floats:
        """Return half the range of g/s at every node with a choice, shape [V]."""
        norm = np.empty(self.diameter.size)
        compact.half_range(self.cells, gradient, norm)
        return norm


class NodeRates(NamedTuple):
    """Fixed learning rates of all nodes, MB/ms, shape [V]."""

    values: Floats

    def rate(self, mirror: MirrorMap, squares: Any) -> Floats:
        """Return the rates."""
        return self.values


@dataclass(frozen=True, eq=False)
class InfidaState:
    """What INFIDA remembers.

    Attributes
    ----------
    instance
        The network.
    constants
        Of its nodes.
    ascent
        Mirror ascent of all nodes, each at its own rate.
    climbing
        Where it stands, shape [C]: the cells that INFIDA decides on, node by node.
    gradient
        Last supergradient, shape [C], ms.
    drawn
        Shares behind what is deployed, shape [C]; negative before the first slot.
    deployed
        What is deployed, shape [C].
    allocation
        The same, repositories included, shape [V, M].
    refreshed
        Slot in which it was drawn, -1 before the first.
    coins
        One coin of every cell and one more of every node, once drawn and if they are common.
    noise
        Where noise is drawn from, if there is any.
    """

    instance: IdnInstance
    constants: NodeConstants
    ascent: MirrorAscent
    climbing: AscentState
    gradient: Floats
    drawn: Floats
    deployed: Bools
    allocation: Bools
    refreshed: int = -1
    coins: Floats | None = None
    noise: np.random.Generator | None = None

    @property
    def mirror(self) -> NodeEntropy:
        """Cells and geometry."""
        found = self.ascent.mirror
        assert isinstance(found, NodeEntropy)
        return found

    @property
    def fractional(self) -> Floats:
        """Fractional allocation y, repositories included, shape [V, M]."""
        return self.dense(self.climbing.point)

    def dense(self, values: NDArray[Any]) -> NDArray[Any]:
        """Spread values of cells over the network, shape [V, M]."""
        out = self.instance.empty.astype(values.dtype)
        out.flat[self.mirror.cells.place] = values
        return out
