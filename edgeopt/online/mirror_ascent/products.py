"""Mirror maps on boxes and on products of sets, with one learning rate per block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import InputError, OptionError
from edgeopt.online.mirror_ascent.steps import needed
from edgeopt.options import check_able, finite_vector, listed
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeopt.arrays import Floats
    from edgeopt.online.mirror_ascent.method import MirrorMap


@compact_repr
@dataclass(frozen=True, eq=False)
class BoxEuclidean:
    r"""The mirror map :math:`\frac12 y_i^2` on every interval :math:`l_i \le y_i \le u_i`.

    A box is the product of its intervals: every entry has a rate of its own, and all numbers are
    one per entry, shape [n].

    Parameters
    ----------
    lower, upper
        Bounds l and u of each entry, shape [n].

    Raises
    ------
    InputError
        If bounds are not finite, their shapes differ, or a lower bound is above an upper one.

    Examples
    --------
    >>> from edgeopt.online.mirror_ascent import BoxEuclidean, FixedStep, MirrorAscent
    >>> ascent = MirrorAscent(BoxEuclidean([0.0, 0.0], [1.0, 2.0]), FixedStep(0.1))
    >>> ascent.update(ascent.start(), [1.0, 0.0]).point.round(2)
    array([0.6, 1. ])
    """

    lower: Floats
    upper: Floats

    def __post_init__(self) -> None:
        low = finite_vector("lower", self.lower)
        high = finite_vector("upper", self.upper, low.shape)
        if not (low <= high).all():
            index = int(np.argmin(low <= high))
            raise InputError("upper", "must not be below lower", index=(index,), value=high[index])
        for name, bound in (("lower", low), ("upper", high)):
            bound.flags.writeable = False
            object.__setattr__(self, name, bound)

    @property
    def convexity(self) -> Floats:
        """1, in the norm of magnitudes."""
        return np.ones(self.lower.shape)

    @property
    def diameter(self) -> Floats:
        r""":math:`(u - l)^2 / 8`."""
        return self.farthest(self.centre())

    @property
    def width(self) -> Floats:
        """Lengths of the intervals."""
        return self.upper - self.lower

    def centre(self) -> Floats:
        """Return the middle of the box."""
        return self.lower + self.width / 2.0

    def project(self, point: Floats) -> Floats:
        """Return the nearest point of the box."""
        return np.asarray(np.clip(point, self.lower, self.upper))

    def step(self, point: Floats, gradient: Floats, rate: Any) -> Floats:
        r"""Project :math:`y + \eta g`, with one rate or one per entry."""
        return self.project(np.asarray(point) + rate * np.asarray(gradient))

    def divergence(self, point: Floats, other: Floats) -> Floats:
        r"""Return :math:`\frac12 (y - y')^2`."""
        return np.asarray((np.asarray(point) - np.asarray(other)) ** 2 / 2.0)

    def farthest(self, point: Floats) -> Floats:
        """Return the divergence of the farther end of every interval from a point."""
        other = np.asarray(point, dtype=np.float64)
        return np.maximum(self.upper - other, other - self.lower) ** 2 / 2.0

    def best(self, gradient: Floats) -> Floats:
        """Return a point that earns most along a gradient."""
        return np.where(np.asarray(gradient) > 0.0, self.upper, self.lower)

    def dual_norm(self, gradient: Floats) -> Floats:
        """Return magnitudes of the gradient."""
        return np.abs(np.asarray(gradient, dtype=np.float64))


@compact_repr
@dataclass(frozen=True, eq=False)
class Product:
    r"""Several sets side by side, each with its own mirror map, and points strung together.

    Rates and all other numbers are one per block, strung together where a block has several, so
    that every block ascends as if it were alone. The regret is the sum over the blocks, and so is
    its bound: by Cauchy-Schwarz it is never above that of one rate for all.

    Parameters
    ----------
    blocks
        The maps, in the order of their entries in a point. A member that a map may lack is that of
        the product if all blocks have it.

    Raises
    ------
    OptionError
        If there is no block, or one is no mirror map.

    Examples
    --------
    A cache of 3 GB beside a share of power:

    >>> from edgeopt.online.mirror_ascent import BoxEuclidean, KnapsackEntropy, Product
    >>> both = Product([KnapsackEntropy([1.0, 2.0, 3.0], 3.0), BoxEuclidean([0.0], [1.0])])
    >>> both.centre()
    array([0.5, 0.5, 0.5, 0.5])
    >>> both.diameter.round(3)
    array([2.079, 0.125])
    >>> [part.size for part in both.split(both.centre())]
    [3, 1]
    """

    blocks: Sequence[MirrorMap]

    def __post_init__(self) -> None:
        blocks = tuple(listed("blocks", self.blocks))
        if not blocks:
            raise OptionError("blocks: must not be empty")
        for k, block in enumerate(blocks):
            check_able(f"blocks[{k}]", block, "centre", "step", "dual_norm")
        object.__setattr__(self, "blocks", blocks)

    @cached_property
    def _ends(self) -> Any:
        """Where blocks end in a point, but for the last."""
        return np.cumsum([block.centre().size for block in self.blocks])[:-1]

    @cached_property
    def _shapes(self) -> list[tuple[int, ...]]:
        """Shape of the numbers of every block."""
        return [np.shape(block.dual_norm(0.0 * block.centre())) for block in self.blocks]

    def split(self, point: Floats) -> list[Floats]:
        """Return the parts of a point, or of a gradient, one per block."""
        return np.split(np.asarray(point, dtype=np.float64), self._ends)

    def _numbers(self, values: Sequence[Any]) -> Floats:
        parts = zip(values, self._shapes, strict=True)
        return np.concatenate([np.broadcast_to(one, shape).ravel() for one, shape in parts])

    def _of_all(self, member: str) -> Floats:
        return self._numbers([getattr(block, member) for block in self.blocks])

    @property
    def convexity(self) -> Floats:
        """Those of the blocks."""
        return self._of_all("convexity")

    @property
    def diameter(self) -> Floats:
        """Those of the blocks."""
        return self._of_all("diameter")

    @property
    def width(self) -> Floats:
        """Those of the blocks."""
        return self._of_all("width")

    def centre(self) -> Floats:
        """Return the centres."""
        return np.concatenate([block.centre() for block in self.blocks])

    def project(self, point: Floats) -> Floats:
        """Return the nearest point; blocks without a projection are left as they are."""
        return np.concatenate(
            [
                block.project(part) if hasattr(block, "project") else part
                for block, part in zip(self.blocks, self.split(point), strict=True)
            ]
        )

    def step(self, point: Floats, gradient: Floats, rate: Any) -> Floats:
        """Step in every block, with one rate or one per number."""
        counts = [int(np.prod(shape)) for shape in self._shapes]
        rates = np.split(np.broadcast_to(rate, sum(counts)), np.cumsum(counts)[:-1])
        moved = self.split(point)
        parts = zip(self.blocks, self.split(gradient), rates, self._shapes, strict=True)
        for k, (block, direction, rate_k, shape) in enumerate(parts):
            moved[k] = block.step(moved[k], direction, rate_k.reshape(shape)[()])
        return np.concatenate(moved)

    def best(self, gradient: Floats) -> Floats:
        """Return a point that earns most along a gradient."""
        parts = zip(self.blocks, self.split(gradient), strict=True)
        return np.concatenate(
            [needed(block, "Product.best", "best")[0](part) for block, part in parts]
        )

    def farthest(self, point: Floats) -> Floats:
        """Return an upper bound of the divergence from a point."""
        parts = zip(self.blocks, self.split(point), strict=True)
        return self._numbers(
            [needed(block, "Product.farthest", "farthest")[0](part) for block, part in parts]
        )

    def dual_norm(self, gradient: Floats) -> Floats:
        """Return those of the blocks."""
        parts = zip(self.blocks, self.split(gradient), strict=True)
        return self._numbers([block.dual_norm(part) for block, part in parts])
