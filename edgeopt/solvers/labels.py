"""Names of rows and columns, made when they are asked for, and found again by what they say."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import InputError, InstanceError
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    AxisNames = Mapping[str, Sequence[str]]
    """What the entries of indices are called, by index, where they have names."""

NO_NAMES: Final[AxisNames] = {}

_INDEXED: Final = re.compile(r"([^\[\]]+)\[([^\[\]]+)\]")
_PAIR: Final = re.compile(r"([^=,\[\]]+)=(0|-?[1-9][0-9]{0,17})")
_SEARCHED: Final = 10_000  # names that an error looks through for similar ones


@compact_repr
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
        return prod(self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of an array over the members: the sizes of the indices, or [n] of a list."""
        return self.index if isinstance(self.index, tuple) else self.index.shape[:1]

    def label(self, position: int, names: AxisNames = NO_NAMES) -> str:
        """Return the name of one member, counted from 0, with names of entries where known."""
        if not self.dims:
            return self.name
        where = (
            np.unravel_index(position, self.index)
            if isinstance(self.index, tuple)
            else self.index[position]
        )
        pairs = [
            f"{dim}={names[dim][i] if dim in names else int(i)}"
            for dim, i in zip(self.dims, where, strict=True)
        ]
        return f"{self.name}[{', '.join(pairs)}]"

    def position(self, index: dict[str, int]) -> int | None:
        """Return which member has these indices, counted from 0; None if none has."""
        if set(index) != set(self.dims):
            return None
        wanted = [index[dim] for dim in self.dims]
        if not isinstance(self.index, tuple):
            found = np.flatnonzero((self.index == wanted).all(axis=1))
            return int(found[0]) if len(found) else None
        if not all(0 <= i < size for i, size in zip(wanted, self.index, strict=True)):
            return None
        return int(np.ravel_multi_index(wanted, self.index)) if wanted else 0

    def indices(self) -> NDArray[np.int64]:
        """Return the indices of all members, shape [n, len(dims)]."""
        if not isinstance(self.index, tuple):
            return np.asarray(self.index, dtype=np.int64)
        return np.indices(self.index, dtype=np.int64).reshape(len(self.dims), len(self)).T

    def __str__(self) -> str:
        if not len(self):
            return f"{self.name} without members"
        if isinstance(self.index, tuple):
            spans = [f"{dim}=0..{n - 1}" for dim, n in zip(self.dims, self.index, strict=True)]
        else:
            ends = zip(self.dims, self.index.min(axis=0), self.index.max(axis=0), strict=True)
            spans = [f"{dim}={low}..{high}" for dim, low, high in ends]
            spans += [f"{len(self.index)} members"]
        return f"{self.name}[{', '.join(spans)}]" if self.dims else self.name


def axis_names(
    called: Callable[[str], Sequence[str] | None], *blocks: Sequence[LabelBlock]
) -> dict[str, tuple[str, ...]]:
    """Return what the entries of the axes of blocks are called, of those that have names."""
    axes = dict.fromkeys(dim for group in blocks for block in group for dim in block.dims)
    return {axis: tuple(names) for axis in axes if (names := called(axis)) is not None}


class Labels:
    """Labels of all rows or of all columns: blocks whose lengths add up, or one name for each."""

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
        self.count = count
        self._kind = default

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, position: int) -> str:
        if not -self.count <= position < self.count:
            raise IndexError(position)
        return self.label(position % self.count)

    def label(self, position: int, names: AxisNames = NO_NAMES) -> str:
        """Return the label of a member, with names of entries where they are known."""
        if self.names is not None:
            return self.names[position]
        which = int(np.searchsorted(self._starts, position, side="right")) - 1
        return self.blocks[which].label(position - int(self._starts[which]), names)

    def __iter__(self) -> Iterator[str]:
        return (self[position] for position in range(self.count))

    def position(self, label: str) -> int:
        """Return which row or column has a label, such as ``flow[site=2, slot=3]``."""
        if self.names is not None:
            if label not in self._position_of:
                raise self._unknown(label)
            if self._twice and self.names.count(label) > 1:
                raise InputError(
                    self._kind, "several have this name; say its number", value=repr(label)
                )
            return self._position_of[label]
        name, index = _parsed(label)
        for block, start in zip(self.blocks, self._starts.tolist(), strict=False):
            if name == block.name:
                place = block.position(index)
            else:
                place = 0 if label == block.name and not block.dims else None
            if place is not None:
                return int(start) + place
        raise self._unknown(label)

    def block(self, name: str) -> tuple[slice, tuple[int, ...]]:
        """Return where the members of a block are, and the shape of an array over them."""
        found = [place for place, block in enumerate(self.blocks) if block.name == name]
        if len(found) > 1:
            raise InputError(self._kind, "several blocks have this name", value=repr(name))
        if not found:
            raise self._unknown(name)
        start, end = self._starts[found[0] : found[0] + 2].tolist()
        return slice(start, end), self.blocks[found[0]].shape

    def changed(self, vector: NDArray[Any], parts: Mapping[str, ArrayLike]) -> NDArray[Any]:
        """Return a copy of a vector over all, with new parts for some blocks or single labels."""
        copy = vector.copy()
        names = {block.name for block in self.blocks}
        for label, part in parts.items():
            place = self.position(label) if label not in names else None
            where, shape = self.block(label) if place is None else (slice(place, place + 1), ())
            if np.shape(part) not in ((), shape):
                rule = f"its new values must be a number or of shape {shape}"
                raise InputError(self._kind, rule, value=repr(label))
            copy[where] = np.ravel(part)
        return copy

    @cached_property
    def _position_of(self) -> dict[str, int]:
        assert self.names is not None
        return {name: place for place, name in enumerate(self.names)}

    @property
    def _twice(self) -> bool:
        return len(self._position_of) < self.count

    def _unknown(self, label: str) -> InputError:
        name, _ = _parsed(label)
        same = [str(block) for block in self.blocks if block.name == name]
        if same:
            return InputError(self._kind, f"there is only {' and '.join(same)}", value=repr(label))
        names = self.names or [block.name for block in self.blocks]
        close = difflib.get_close_matches(name, list(islice(names, _SEARCHED)), 3, 0.5)
        close += [] if close else difflib.get_close_matches(label, list(islice(names, 3)), 3, 0.0)
        listed = ", ".join(close)
        advice = f"there is none; did you mean {listed}?" if listed else "there is none"
        return InputError(self._kind, advice, value=repr(label))


def _parsed(label: str) -> tuple[str, dict[str, int]]:
    """Return name and indices of a label; one without indices is all name."""
    whole = _INDEXED.fullmatch(label)
    if whole is None:
        return label, {}
    pairs = [_PAIR.fullmatch(part.strip()) for part in whole[2].split(",")]
    index = {pair[1]: int(pair[2]) for pair in pairs if pair}
    return (whole[1], index) if len(index) == len(pairs) else (label, {})


def grouped(names: Sequence[str]) -> list[LabelBlock] | list[str]:
    """Return names as blocks where they say indices: the same labels, in less memory."""
    parsed = [_parsed(name) for name in names]
    if not any(index for _, index in parsed):
        return list(names)
    blocks: list[LabelBlock] = []
    for (name, dims), members in groupby(parsed, lambda one: (one[0], tuple(one[1]))):
        indices = [list(index.values()) for _, index in members]
        if not dims:
            blocks += [LabelBlock(name, (), ()) for _ in indices]
            continue
        listed = np.array(indices, dtype=np.int64)
        sizes = tuple((listed.max(axis=0) + 1).tolist())
        full = LabelBlock(name, dims, sizes) if prod(sizes) == len(listed) else None
        regular = full is not None and np.array_equal(full.indices(), listed)
        blocks.append(full if full and regular else LabelBlock(name, dims, listed))
    same = all(a == b for a, b in zip(Labels(len(names), blocks, "name"), names, strict=True))
    return blocks if same else list(names)
