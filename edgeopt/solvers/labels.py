"""Names of rows and columns that cost nothing until somebody reads them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import InstanceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["LabelBlock", "Labels"]


@dataclass(frozen=True, eq=False)
class LabelBlock:
    """Consecutive rows or columns that share a name and differ in their indices.

    Parameters
    ----------
    name
        Name of the block, such as an equation tag or a variable.
    dims
        Name of each index.
    index
        Either the shape of the block, whose members are then counted in C order, or an integer
        array of shape [n, len(dims)] with the indices of each of the n members.

    Examples
    --------
    >>> block = LabelBlock("capacity", ("server", "slot"), (4, 10))
    >>> block.label(37)
    'capacity[server=3, slot=7]'
    """

    name: str
    dims: tuple[str, ...]
    index: NDArray[np.integer] | tuple[int, ...]

    def __post_init__(self) -> None:
        width = len(self.index) if isinstance(self.index, tuple) else self.index.shape[-1]
        if width != len(self.dims) or (not isinstance(self.index, tuple) and self.index.ndim != 2):
            raise InstanceError(
                f"labels of {self.name!r}",
                f"needs one index for each of the dimensions {self.dims}",
            )

    def __len__(self) -> int:
        return prod(self.index) if isinstance(self.index, tuple) else len(self.index)

    def label(self, position: int) -> str:
        """Return the name of one member, counted from 0."""
        if not self.dims:
            return self.name
        where = (
            np.unravel_index(position, self.index)
            if isinstance(self.index, tuple)
            else self.index[position]
        )
        pairs = ", ".join(f"{dim}={int(i)}" for dim, i in zip(self.dims, where, strict=True))
        return f"{self.name}[{pairs}]"


class Labels:
    """Labels of all rows or of all columns: blocks one after the other, or plain names.

    Parameters
    ----------
    count
        How many rows or columns there are.
    names
        Blocks whose lengths add up to `count`, or `count` names; None counts them.
    default
        Name of the only block when `names` is None.

    Raises
    ------
    InstanceError
        If the names do not cover exactly `count` members.
    """

    def __init__(
        self, count: int, names: Sequence[LabelBlock] | Sequence[str] | None, default: str
    ) -> None:
        self.blocks: tuple[LabelBlock, ...] = ()
        self.names: tuple[str, ...] | None = None
        given = [LabelBlock(default, ("index",), (count,))] if names is None else list(names)
        blocks = [entry for entry in given if isinstance(entry, LabelBlock)]
        if blocks and len(blocks) != len(given):
            raise InstanceError(f"{default} labels", "must be either all blocks or all names")
        if blocks:
            self.blocks = tuple(blocks)
            self._starts = np.concatenate([[0], np.cumsum([len(block) for block in blocks])])
            covered = int(self._starts[-1])
        else:
            self.names = tuple(str(name) for name in given)
            covered = len(self.names)
        if covered != count:
            raise InstanceError(
                f"{default} labels", f"must name {count} members", value=f"{covered} names"
            )
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, position: int) -> str:
        if not -self._count <= position < self._count:
            raise IndexError(position)
        position %= self._count
        if self.names is not None:
            return self.names[position]
        which = int(np.searchsorted(self._starts, position, side="right")) - 1
        return self.blocks[which].label(position - int(self._starts[which]))

    def __iter__(self) -> Iterator[str]:
        return (self[position] for position in range(self._count))
