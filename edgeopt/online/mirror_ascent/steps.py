"""Learning rates of mirror ascent, and what they need to know of a mirror map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.options import check_real, check_whole, real_array
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeopt.online.mirror_ascent.method import MirrorMap


def needed(mirror: MirrorMap, user: str, *members: str) -> list[Any]:
    """Return members of a map that its protocol does not demand, or say which one is missing."""
    found = []
    for member in members:
        try:
            found.append(getattr(mirror, member))
        except AttributeError as error:
            raise OptionError(f"mirror: {user} needs its {member}: {error}") from None
    return found


def reach_of(mirror: MirrorMap, user: str) -> Any:
    r"""Return :math:`\sqrt{2 \kappa D}`, 0 where a set is a single point."""
    convexity, diameter = needed(mirror, user, "convexity", "diameter")
    far = np.asarray(diameter, dtype=np.float64)
    return np.sqrt(2.0 * np.where(far > 0.0, convexity, 0.0) * far)


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

    Examples
    --------
    >>> from edgeopt.online.mirror_ascent import FixedStep, KnapsackEntropy, MirrorAscent
    >>> ascent = MirrorAscent(KnapsackEntropy([1.0, 2.0, 3.0], 3.0), FixedStep(0.1))
    >>> ascent.update(ascent.start(), [1.0, 0.0, 0.0]).point.round(2)
    array([0.54, 0.49, 0.49])
    """

    value: float

    def __post_init__(self) -> None:
        check_real("value", self.value, "[0, inf)")

    def rate(self, mirror: MirrorMap, squares: Any) -> Any:
        """Return the rate."""
        return self.value


@compact_repr
@dataclass(frozen=True)
class TheoryStep:
    r"""The fixed rate of least proven regret when gradients are bounded and the horizon is known.

    .. math:: \eta = \frac{1}{G} \sqrt{\frac{2 \kappa D}{T}}

    with diameter D and convexity :math:`\kappa` of the map. The regret is then at most
    :math:`G \sqrt{2 D T / \kappa}`, summed over the blocks where the set is a product.

    Parameters
    ----------
    largest
        Bound G of the dual norms of all gradients: one for all blocks of a product, or one of each,
        which proves more.
    horizon
        Number of slots T.

    Raises
    ------
    OptionError
        If a bound is negative or not finite, or the horizon is below 1.

    Examples
    --------
    >>> from edgeopt.online.mirror_ascent import KnapsackEntropy, MirrorAscent, TheoryStep
    >>> ascent = MirrorAscent(
    ...     KnapsackEntropy([1.0, 2.0, 3.0], 3.0), TheoryStep(largest=1.0, horizon=100)
    ... )
    >>> ascent.update(ascent.start(), [1.0, 0.0, 0.0]).point.round(2)
    array([0.55, 0.49, 0.49])
    """

    largest: float | Sequence[float]
    horizon: int

    def __post_init__(self) -> None:
        if isinstance(self.largest, list | tuple | np.ndarray):
            bounds = real_array("largest", self.largest)
            if bounds.ndim != 1 or not ((bounds >= 0.0) & (bounds < np.inf)).all():
                raise OptionError("largest: bounds, one per block, must be finite and at least 0")
            object.__setattr__(self, "largest", tuple(map(float, bounds)))
        else:
            check_real("largest", self.largest, "[0, inf)")
        check_whole("horizon", self.horizon, 1)

    def rate(self, mirror: MirrorMap, squares: Any) -> Any:
        """Return the rate; 0 if there is nothing to learn.

        Raises
        ------
        OptionError
            If the map lacks a convexity or a diameter, or has another number of blocks.
        """
        reach, largest = reach_of(mirror, "TheoryStep"), np.asarray(self.largest)
        if largest.ndim and largest.shape != reach.shape:
            raise OptionError(
                f"largest: {largest.size} bounds, but blocks have shape {reach.shape}"
            )
        best = reach / np.sqrt(self.horizon)
        return np.where(largest > 0.0, best / np.where(largest > 0.0, largest, 1.0), 0.0)[()]


@dataclass(frozen=True)
class AdaptiveStep:
    r"""Rates from the gradients seen so far: no horizon, and no bound known beforehand.

    .. math:: \eta_t = c \, \frac{r}{\sqrt{\sum_{\tau \le t} \lVert g_\tau \rVert_*^2}},
        \qquad r = \sqrt{2 \kappa D}

    and no step while all gradients were 0. With ``ascent="leader"`` the regret is bounded at every
    time, see :meth:`MirrorAscent.regret_bound`.

    Parameters
    ----------
    scale
        Factor c. Least regret is proven near :math:`1/\sqrt2`; gradients that repeat themselves, as
        in practice, allow more.
    reach
        r, for maps without a convexity or a diameter; from these unless given.

    Raises
    ------
    OptionError
        If a number is not positive and finite.

    Examples
    --------
    >>> from edgeopt.online.mirror_ascent import AdaptiveStep, KnapsackEntropy, MirrorAscent
    >>> ascent = MirrorAscent(KnapsackEntropy([1.0, 2.0, 3.0], 3.0), AdaptiveStep())
    >>> ascent.update(ascent.start(), [1.0, 0.0, 0.0]).point.round(2)
    array([1. , 0.4, 0.4])
    """

    scale: float = 0.5**0.5
    reach: float | None = None

    def __post_init__(self) -> None:
        check_real("scale", self.scale, "(0, inf)")
        check_real("reach", self.reach, "(0, inf)", none=True)

    def rate(self, mirror: MirrorMap, squares: Any) -> Any:
        """Return the rate of the step after gradients with this sum of squares.

        Raises
        ------
        OptionError
            If `reach` is not given and the map lacks a convexity or a diameter.
        """
        norm = np.sqrt(squares)
        reach = (
            reach_of(mirror, "AdaptiveStep without reach=") if self.reach is None else self.reach
        )
        known = norm > 0.0
        return np.where(known, self.scale * reach / np.where(known, norm, 1.0), 0.0)[()]
