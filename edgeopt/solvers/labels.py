"""Names of rows and columns, made when they are asked for, and found again by what they say."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, groupby, islice
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import InputError, InstanceError
from edgeopt.representation import compact_repr
from edgeopt.solvers.alignment import Members, aligned, has_labels, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.solvers.alignment import AxisNames

NO_NAMES: Final[AxisNames] = {}

_INDEXED: Final = re.compile(r"([^\[\]]+)\[([^\[\]]+)\]")
_PAIR: Final = re.compile(r"([^=,\[\]]+)=([^=,\[\]]+)")
_NUMBER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")
_MARKS: Final = re.compile(r"[\[\],=]")
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
    grid
        Shape of an array over listed members, where they are all combinations of some entries.

    Examples
    --------
    >>> block = LabelBlock("capacity", ("server", "slot"), (4, 10))
    >>> block.label(37)
    'capacity[server=3, slot=7]'
    """

    name: str
    dims: tuple[str, ...]
    index: NDArray[np.integer] | tuple[int, ...]
    grid: tuple[int, ...] | None = None

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
        if isinstance(self.index, tuple):
            return self.index
        return self.index.shape[:1] if self.grid is None else self.grid

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

    def members(self, names: AxisNames = NO_NAMES) -> Members:
        """Return what labelled numbers are aligned with."""
        return Members(self.dims, self.indices(), names)

    def summary(self, names: AxisNames = NO_NAMES) -> str:
        """Return name and indices in one line, from the first entry of each to the last."""
        if not len(self):
            return f"{self.name} without members"
        if isinstance(self.index, tuple):
            ends = [(0, n - 1) for n in self.index]
        else:
            ends = list(zip(self.index.min(axis=0), self.index.max(axis=0), strict=True))
        spans = [
            f"{dim}={'..'.join(str(names[dim][n] if dim in names else n) for n in both)}"
            for dim, both in zip(self.dims, ends, strict=True)
        ]
        if not isinstance(self.index, tuple):
            spans += [f"{len(self.index)} members"]
        return f"{self.name}[{', '.join(spans)}]" if self.dims else self.name

    def __str__(self) -> str:
        return self.summary()


def axis_names(
    called: Callable[[str], Sequence[str] | None], *blocks: Sequence[LabelBlock]
) -> dict[str, tuple[str, ...]]:
    """Return what the entries of the axes of blocks are called, of those that have names."""
    axes = dict.fromkeys(dim for group in blocks for block in group for dim in block.dims)
    return {axis: tuple(names) for axis in axes if (names := called(axis)) is not None}


class Labels:
    """Labels of all rows or of all columns: blocks whose lengths add up, or one name for each.

    `called` has what the entries of indices of blocks are called, where they have names.
    """

    def __init__(
        self,
        count: int,
        names: Sequence[LabelBlock] | Sequence[str] | None,
        default: str,
        called: AxisNames = NO_NAMES,
    ) -> None:
        self.called = called
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
        position %= self.count
        if self.names is not None:
            return self.names[position]
        which = int(np.searchsorted(self._starts, position, side="right")) - 1
        return self.blocks[which].label(position - int(self._starts[which]), self.called)

    def with_called(self, called: AxisNames) -> Labels:
        """Return the same labels with other names of entries."""
        if called == self.called:
            return self
        return Labels(self.count, self.blocks or self.names, self._kind, called)

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
        numbers = {dim: self._number(dim, entry) for dim, entry in index.items()}
        whole = {dim: number for dim, number in numbers.items() if number is not None}
        for block, start in zip(self.blocks, self._starts.tolist(), strict=False):
            if name == block.name:
                place = block.position(whole)
            else:
                place = 0 if label == block.name and not block.dims else None
            if place is not None:
                return int(start) + place
        if _MARKS.search("".join(map(str, chain(*self.called.values())))):
            for place, one in enumerate(self):  # such names cannot be told from the label's own
                if one == label:
                    return place
        raise self._unknown(label)

    def _number(self, dim: str, entry: str) -> int | None:
        """Return which entry of an index a word of a label says, None if there is none."""
        if dim in self._numbers and entry in self._numbers[dim]:
            return self._numbers[dim][entry]
        return int(entry) if _NUMBER.fullmatch(entry) else None

    @cached_property
    def _numbers(self) -> dict[str, dict[str, int]]:
        return {
            dim: {str(name): number for number, name in enumerate(names)}
            for dim, names in self.called.items()
        }

    def block(self, name: str) -> tuple[slice, tuple[int, ...]]:
        """Return where the members of a block are, and the shape of an array over them."""
        found = [place for place, block in enumerate(self.blocks) if block.name == name]
        if len(found) > 1:
            raise InputError(self._kind, "several blocks have this name", value=repr(name))
        if not found:
            raise self._unknown(name)
        start, end = self._starts[found[0] : found[0] + 2].tolist()
        return slice(start, end), self.blocks[found[0]].shape

    def arranged(self, field: str, value: Any, *others: Labels) -> Any:
        """Return numbers in the order of these labels, if they are a table of pandas or xarray.

        Its labels are those of rows or columns, or their numbers. A matrix has others across.
        """
        table = table_of(field, value) if has_labels(value) else None
        kinds = (self, *others)
        if table is None or len(table.axes) != len(kinds):
            return value
        axes = tuple(one._kind for one in kinds)
        names = {
            labels._kind: list(labels)
            for labels, given in zip(kinds, table.labels, strict=True)
            if given is not None and not all(isinstance(one, int | np.integer) for one in given)
        }
        places = np.indices(tuple(map(len, kinds))).reshape(len(kinds), -1).T
        found = aligned(field, replace(table, axes=axes), Members(axes, places, names))
        return found.reshape(tuple(map(len, kinds)))

    def changed(self, vector: NDArray[Any], parts: Mapping[str, ArrayLike]) -> NDArray[Any]:
        """Return a copy of a vector over all, with new parts for some blocks or single labels."""
        copy = vector.copy()
        names = {block.name for block in self.blocks}
        for label, part in parts.items():
            place = self.position(label) if label not in names else None
            where, shape = self.block(label) if place is None else (slice(place, place + 1), ())
            table = None if place is not None else table_of(label, part)
            if table is not None:
                [block] = [one for one in self.blocks if one.name == label]
                part = aligned(f"new values of {label!r}", table, block.members(self.called))
            elif np.shape(part) not in ((), shape):
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
        name, index = _parsed(label)
        same = [block.summary(self.called) for block in self.blocks if block.name == name]
        for dim, entry in index.items() if same else ():
            if dim in self.called and self._number(dim, entry) is None:
                close = difflib.get_close_matches(entry, list(self._numbers[dim]), 3, 0.5)
                hint = f"; did you mean {' or '.join(close)}?" if close else ""
                rule = f"there is no {dim} {entry!r}{hint}"
                return InputError(self._kind, rule, value=repr(label))
        if same:
            return InputError(self._kind, f"there is only {' and '.join(same)}", value=repr(label))
        names = self.names or [block.name for block in self.blocks]
        close = difflib.get_close_matches(name, list(islice(names, _SEARCHED)), 3, 0.5)
        close += [] if close else difflib.get_close_matches(label, list(islice(names, 3)), 3, 0.0)
        listed = ", ".join(close)
        advice = f"there is none; did you mean {listed}?" if listed else "there is none"
        return InputError(self._kind, advice, value=repr(label))


def _parsed(label: str) -> tuple[str, dict[str, str]]:
    """Return name and indices of a label; one without indices is all name."""
    whole = _INDEXED.fullmatch(label)
    if whole is None:
        return label, {}
    pairs = [_PAIR.fullmatch(part.strip()) for part in whole[2].split(",")]
    index = {pair[1]: pair[2] for pair in pairs if pair}
    return (whole[1], index) if len(index) == len(pairs) else (label, {})


def grouped(*kinds: Sequence[str]) -> tuple[list[Any], dict[str, tuple[str, ...]]]:
    """Return names of rows, of columns, ... as blocks where they say indices, in less memory.

    The labels are the same; the second part is what the entries of their indices are called.
    """
    if not any("[" in "".join(names) for names in kinds):
        return list(map(list, kinds)), {}
    parsed = [[_parsed(name) for name in names] for names in kinds]
    words: dict[str, dict[str, int]] = {}
    for _, index in chain(*parsed):
        for dim, word in index.items():
            words.setdefault(dim, {}).setdefault(word, len(words[dim]))
    called = {
        dim: tuple(found) for dim, found in words.items() if not all(map(_NUMBER.fullmatch, found))
    }
    for dim in words.keys() - called.keys():
        words[dim] = {word: int(word) for word in words[dim]}
    made: list[Any] = []
    for names, ones in zip(kinds, parsed, strict=True):
        blocks = _blocks(ones, words)
        labels = Labels(len(names), blocks, "name", called)
        if not all(a == b for a, b in zip(labels, names, strict=True)):
            return list(map(list, kinds)), {}
        made.append(blocks)
    return made, called


def _blocks(
    parsed: list[tuple[str, dict[str, str]]], words: dict[str, dict[str, int]]
) -> list[LabelBlock]:
    blocks: list[LabelBlock] = []
    for (name, dims), members in groupby(parsed, lambda one: (one[0], tuple(one[1]))):
        indices = [[words[dim][word] for dim, word in index.items()] for _, index in members]
        if not dims:
            blocks += [LabelBlock(name, (), ()) for _ in indices]
            continue
        listed = np.array(indices, dtype=np.int64)
        sizes = tuple((listed.max(axis=0) + 1).tolist())
        full = LabelBlock(name, dims, sizes) if prod(sizes) == len(listed) else None
        regular = full is not None and np.array_equal(full.indices(), listed)
        blocks.append(full if full and regular else LabelBlock(name, dims, listed))
    return blocks
