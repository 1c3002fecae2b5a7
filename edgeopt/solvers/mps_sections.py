"""Whole sections of an MPS file at once, where every line has the usual form.

A function returns None where a line has any other form, or breaks a rule: such a section is read
line by line, which says what is wrong with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from operator import itemgetter, ne
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH = map(itemgetter, range(5))
_ENDS: Final = {
    "UP": 4, "LO": 4, "FX": 4, "UI": 4, "LI": 4, "FR": 3, "MI": 3, "PL": 3, "BV": 3
}  # fmt: skip
"""Words of a line for each kind of bound."""

FEW: Final = 600  # lines of COLUMNS that are read faster in lists than in arrays

_LETTERS: Final = np.array([2 ** (8 * letters) - 1 for letters in range(9)], dtype=np.uint64)
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_POWER: Final = np.array([float(f"1e{power}") for power in range(17)])
_LONGEST: Final = 16  # letters of a number without its sign


class Columns(NamedTuple):
    """A section COLUMNS: names in order, which are whole, and the entries."""

    names: list[str]
    whole: list[bool]
    row: NDArray[np.int64]
    column: NDArray[np.int64]
    value: NDArray[np.float64]


def rows_of(lines: Sequence[str]) -> dict[str, str] | None:
    """Return the kind of each row."""
    words = list(map(str.split, lines))
    if set(map(len, words)) != {2}:
        return None
    kinds = dict(zip(map(_SECOND, words), map(_FIRST, words), strict=True))
    usual = len(kinds) == len(words) and set(kinds.values()) <= {"N", "L", "G", "E"}
    return kinds if usual else None


def columns_of(lines: Sequence[str], places: Mapping[str, int]) -> Columns | None:
    """Return columns with their entries, by the place of each row."""
    marks = [at for at, line in enumerate(lines) if "'MARKER'" in line]
    kinds = [lines[at].split()[1:] for at in marks]
    if kinds != [["'MARKER'", "'INTORG'"], ["'MARKER'", "'INTEND'"]] * (len(marks) // 2):
        return None
    lines = [line for line in lines if "'MARKER'" not in line] if marks else lines
    read = _few_entries if len(lines) < FEW else _many_entries
    entries = read(lines, places) if lines else None
    if entries is None or len(set(entries.names)) < len(entries.names):
        return None  # also where the entries of a column do not stand together
    whole, column = [False] * len(entries.names), entries.column
    ends = [at - before for before, at in enumerate(marks)]
    for begin, end in zip(ends[::2], ends[1::2], strict=True):
        if 0 < begin < end and column[begin - 1] == column[begin]:
            return None  # a column on both sides of a marker
        for number in range(column[begin], 1 + column[end - 1]) if begin < end else ():
            whole[number] = True
    column = np.concatenate([column, column[entries.double]])
    place = np.sort(column * len(places) + entries.row)
    if (place[1:] == place[:-1]).any():
        return None  # a second entry
    return Columns(entries.names, whole, entries.row, column, entries.value)


class _ByLine(NamedTuple):
    """Lines of a column with one or two entries, which come after those of all lines."""

    names: list[str]  # each where it differs from the one before
    column: NDArray[np.int64]  # of each line, counted along `names`
    double: Any  # lines with two entries
    row: NDArray[np.int64]
    value: NDArray[np.float64]


def _few_entries(lines: Sequence[str], places: Mapping[str, int]) -> _ByLine | None:
    entries = _entries(list(map(str.split, lines)))
    if entries is None or not places.keys() >= set(entries.name):
        return None
    row = np.array(list(map(places.__getitem__, entries.name)))
    first = entries.first
    change = [True, *map(ne, first[1:], first)]
    return _ByLine(
        list(compress(first, change)), np.cumsum(change) - 1, entries.double, row, entries.value
    )


def _many_entries(lines: Sequence[str], places: Mapping[str, int]) -> _ByLine | None:
    words = Words.of("\n".join(lines))
    if words is None or len(words.first) < len(lines) or not np.isin(words.count, (3, 5)).all():
        return None
    double = np.flatnonzero(words.count == 5)
    number_at = np.concatenate([words.first + 2, words.first[double] + 4])
    value = words.numbers(number_at)
    row = words.found(number_at - 1, list(places))
    if value is None or row is None:
        return None
    packed = words.packed(words.first)
    change = np.concatenate([[True], (packed[1:] != packed[:-1]).any(axis=1)])
    return _ByLine(words.text(words.first[change]), np.cumsum(change) - 1, double, row, value)


@dataclass(frozen=True, eq=False)
class Words:
    """The words of a text: where each begins and ends, the first of each line, and how many."""

    byte: NDArray[np.uint8]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    first: NDArray[np.int64]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, text: str) -> Words | None:
        """Return the words of a text in plain letters, None of another."""
        data = f"\n{text}\n".encode() + bytes([32] * 64)
        byte = np.frombuffer(data, dtype=np.uint8)
        blank = byte <= 32
        if (byte >= 127).any() or (blank & (byte != 32) & (byte != 10) & (byte != 9)).any():
            return None
        edge = 1 + np.flatnonzero(blank[1:] != blank[:-1])
        lines = np.flatnonzero(byte == 10)
        first = np.searchsorted(edge[::2], lines[:-1])
        return cls(byte, edge[::2], edge[1::2], first, np.diff(first, append=len(edge) // 2))

    def text(self, which: NDArray[np.int64]) -> list[str]:
        """Return some of the words."""
        data = self.byte.tobytes()
        ends = zip(self.begin[which].tolist(), self.end[which].tolist(), strict=True)
        return [data[begin:end].decode() for begin, end in ends]

    def packed(self, which: NDArray[np.int64], width: int = 0) -> NDArray[np.uint64]:
        """Return words as whole numbers of eight letters each, shape [words, `width`]."""
        begin, length = self.begin[which], self.end[which] - self.begin[which]
        width = width or -(-int(length.max(initial=1)) // 8)
        at_byte = np.ndarray(len(self.byte) - 7, "<u8", self.byte.data, strides=(1,))
        parts = [
            at_byte[np.minimum(begin + 8 * part, len(at_byte) - 1)]
            & _LETTERS[np.clip(length - 8 * part, 0, 8)]
            for part in range(width)
        ]
        return np.stack(parts, axis=1)

    def found(self, which: NDArray[np.int64], names: list[str]) -> NDArray[np.int64] | None:
        """Return which of some names each word is, None if one is none of them."""
        known = Words.of("\n".join(names))
        if known is None or len(known.begin) != len(names):
            return None
        longest = int(max((self.end[which] - self.begin[which]).max(), *map(len, names)))
        width = -(-longest // 8)
        own, other = self.packed(which, width), known.packed(np.arange(len(names)), width)
        factors = _FACTOR ** np.arange(width, dtype=np.uint64)
        keys, own_keys = other @ factors, own @ factors  # of names up to eight letters, themselves
        order = np.argsort(keys)
        place = np.minimum(np.searchsorted(keys[order], own_keys), len(names) - 1)
        found = order[place]
        return found if np.array_equal(other[found], own) else None

    def numbers(self, which: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Return the finite numbers that words say, None if one says none.

        Digits and a point give a whole number over a power of ten. Up to `_LONGEST` letters, both
        are exact as doubles, and their quotient is the nearest one, as `float` returns it.
        """
        begin, end = self.begin[which], self.end[which]
        minus = self.byte[begin] == ord("-")
        begin = begin + (minus | (self.byte[begin] == ord("+")))
        length = end - begin
        whole, after = np.zeros((2, len(begin)), dtype=np.int64)
        points, wrong = np.zeros((2, len(begin)), dtype=np.uint8)
        for place in range(min(_LONGEST, int(length.max(initial=0)))):
            letter = self.byte[begin + place]  # at the end of the text there is room
            letter[length <= place] = ord(" ")
            digit = letter - np.uint8(ord("0"))
            is_digit, is_point = digit < 10, letter == ord(".")
            wrong |= ~(is_digit | is_point | (letter == ord(" ")))
            digit[~is_digit] = 0
            whole *= 1 + 9 * is_digit.view(np.uint8)
            whole += digit
            after += is_digit & (points > 0)
            points += is_point
        value: NDArray[np.float64] = whole / _POWER[after]
        value[minus] *= -1.0
        usual = (wrong == 0) & (points < 2) & (length > points) & (length <= _LONGEST)
        if not usual.all():
            others = np.flatnonzero(~usual)
            parsed = _numbers(self.text(which[others]))
            if parsed is None:
                return None
            value[others] = parsed
        return value


def sides_of(
    lines: Sequence[str], known: Mapping[str, Any]
) -> tuple[str | None, dict[str, str]] | None:
    """Return the name of the set, None without one, and the side of each row, as it is written."""
    words = list(map(str.split, lines))
    named = bool(words) and len(words[0]) % 2 == 1
    entries = _entries(words if named else [["", *one] for one in words])
    if entries is None or len(set(entries.first)) > 1:
        return None
    sides = dict(zip(entries.name, entries.text, strict=True))
    usual = len(sides) == len(entries.name) and known.keys() >= sides.keys()
    return (entries.first[0] if named else None, sides) if usual else None


def bounds_of(
    lines: Sequence[str], places: Mapping[str, int]
) -> tuple[str | None, list[tuple[str, str, float]]] | None:
    """Return the name of the set, None without one, and kind, column and number of each bound."""
    words = list(map(str.split, lines))
    if not (words and all(words)):
        return None
    named = len(words[0]) == _ENDS.get(words[0][0])
    words = words if named else [[one[0], "", *one[1:]] for one in words]
    if list(map(len, words)) != list(map(_ENDS.get, map(_FIRST, words))):
        return None
    value = _numbers([one[3] if len(one) == 4 else "0" for one in words])
    bounds = [(one[0], one[2]) for one in words]
    one_set = len(set(map(_SECOND, words))) == 1 and len(set(bounds)) == len(bounds)
    if value is None or not one_set or not places.keys() >= set(map(_THIRD, words)):
        return None
    name = words[0][1] if named else None
    return name, [(*bound, one) for bound, one in zip(bounds, value.tolist(), strict=True)]


class _Entries(NamedTuple):
    """Lines of a name with one or two pairs of a name and a number: second pairs come last."""

    first: list[str]  # of each line
    name: list[str]
    text: list[str]
    value: NDArray[np.float64]
    double: list[int]  # lines with two pairs


def _entries(words: list[list[str]]) -> _Entries | None:
    length = list(map(len, words))
    if not words or not set(length) <= {3, 5}:
        return None
    double = [at for at, count in enumerate(length) if count == 5]
    more = [words[at] for at in double]
    text = [*map(_THIRD, words), *map(_FIFTH, more)]
    value = _numbers(text)
    if value is None:
        return None
    name = [*map(_SECOND, words), *map(_FOURTH, more)]
    return _Entries(list(map(_FIRST, words)), name, text, value, double)


def _numbers(text: list[str]) -> NDArray[np.float64] | None:
    """Return finite numbers, None where one is not."""
    different = set(text)  # most files say the same number often
    try:
        number_of = dict(zip(different, map(float, different), strict=True))
    except ValueError:
        return None
    value = np.array(list(map(number_of.__getitem__, text)))
    return value if np.isfinite(value).all() and "_" not in "".join(different) else None
