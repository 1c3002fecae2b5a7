"""Learning rates of mirror ascent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgeopt.options import check_real, check_whole

if TYPE_CHECKING:
    from edgeopt.online.mirror_ascent.method import MirrorMap

__all__ = ["AdaptiveStep", "FixedStep", "TheoryStep"]


@dataclass(frozen=True)
class FixedStep:
    """The same rate in every slot.

    Parameters
    ----------
    value
        The rate.

    Raises
    ------
    OptionError
        If it is negative or not finite.
    """

    value: float

    def __post_init__(self) -> None:
        check_real("value", self.value, "[0, inf)")

    def rate(self, mirror: MirrorMap, squares: float) -> float:
        """Return the rate."""
        return self.value


@dataclass(frozen=True)
class TheoryStep:
    r"""The fixed rate of least proven regret when gradients are bounded and the horizon is known.

    .. math:: \eta = \frac{1}{G} \sqrt{\frac{2 \kappa D}{T}}

    with diameter D and convexity :math:`\kappa` of the map. The regret is then at most
    :math:`G \sqrt{2 D T / \kappa}`.

    Parameters
    ----------
    largest
        Bound G of the dual norms of all gradients. In the weighted entropy it is half the bound
        of the range of g/s.
    horizon
        Number of slots T.

    Raises
    ------
    OptionError
        If the bound is negative or not finite, or the horizon is below 1.
    """

    largest: float
    horizon: int

    def __post_init__(self) -> None:
        check_real("largest", self.largest, "[0, inf)")
        check_whole("horizon", self.horizon, 1)

    def rate(self, mirror: MirrorMap, squares: float) -> float:
        """Return the rate; 0 if there is nothing to learn."""
        if self.largest == 0.0 or mirror.diameter == 0.0:
            return 0.0
        return math.sqrt(2.0 * mirror.convexity * mirror.diameter / self.horizon) / self.largest


@dataclass(frozen=True)
class AdaptiveStep:
    r"""Rates from the gradients seen so far: no horizon, and no bound known beforehand.

    .. math:: \eta_t = c \sqrt{\frac{2 \kappa D}{\sum_{\tau \le t} \lVert g_\tau \rVert_*^2}}

    and no step while all gradients were 0.

    Parameters
    ----------
    scale
        Factor c. The proof likes about 1; gradients that repeat themselves, as in practice, like
        more.

    Raises
    ------
    OptionError
        If the factor is not positive and finite.
    """

    scale: float = 10.0

    def __post_init__(self) -> None:
        check_real("scale", self.scale, "(0, inf)")

    def rate(self, mirror: MirrorMap, squares: float) -> float:
        """Return the rate of the step after gradients with this sum of squares."""
        if squares == 0.0 or mirror.diameter == 0.0:
            return 0.0
        return self.scale * math.sqrt(2.0 * mirror.convexity * mirror.diameter / squares)
