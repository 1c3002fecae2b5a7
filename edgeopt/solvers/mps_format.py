"""MPS files, fixed and free."""

from __future__ import annotations

import logging
import re
from bisect import bisect_left
from decimal import Decimal, localcontext
from functools import cached_property
from itertools import compress, pairwise, repeat, takewhile
from operator import ge
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.errors import InputError
from edgeopt.solvers.conditions import read_conditions
from edgeopt.solvers.draft import Draft
from edgeopt.solvers.mps_sections import bounds_of, columns_of, rows_of, sides_of

if TYPE_CHECKING:
    from collections.abc import Container

    from edgeopt.solvers.draft import Source
    from edgeopt.solvers.program import LinearProgram

logger = logging.getLogger("edgeopt.solvers")

_SENSES: Final = {
    "MIN": "min", "MINIMIZE": "min", "MINIMISE": "min",
    "MAX": "max", "MAXIMIZE": "max", "MAXIMISE": "max",
}  # fmt: skip
_FIELDS: Final = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))
"""Where the six fields of fixed format stand; what is between them must be blank."""

_BELOW: Final = {"LO", "LI", "FX", "FR", "MI", "BV"}
"""Bounds that say where a column begins; without one, a negative upper bound leaves it open."""

_DIGITS: Final = 50
"""Digits of the sum that gives a row its second side: more than two numbers can tell apart."""


def read_mps(source: Source) -> LinearProgram:
    """Read an MPS file: by blanks, or by its columns where names have blanks in them."""
    free = _Mps(source, fixed=False)
    try:
        return free.program()
    except InputError:
        if not _may_be_fixed(source):
            raise
        fixed = _Mps(source, fixed=True)
        try:
            return fixed.program()
        except InputError:
            if fixed.line > free.line:
                raise
        raise


def _may_be_fixed(source: Source) -> bool:
    before = takewhile(lambda line: line[:6].upper() != "ENDATA", source.lines)
    lines = [line for line in before if line[:1] == " " and line.strip()]
    between = [(0, 1), *((a[1], b[0]) for a, b in pairwise(_FIELDS)), (61, None)]
    return not any("\t" in line or line[a:b].strip() for line in lines for a, b in between)


def other_side(side: str, span: str, sign: int) -> float:
    """Return side + sign |span| of decimals, rounded once: 0.3 less 0.1 is 0.2."""
    with localcontext() as context:
        context.prec = _DIGITS
        return float(Decimal(side) + sign * abs(Decimal(span)))


def span_between(low: float, high: float) -> str:
    """Return high - low, as both are written, with as many digits as `other_side` heeds."""
    with localcontext() as context:
        context.prec = _DIGITS
        return format(Decimal(repr(high)) - Decimal(repr(low)), "e")


class _Mps:
    """One pass over the lines of an MPS file."""

    def __init__(self, source: Source, *, fixed: bool) -> None:
        self._source = source
        self._fixed = fixed
        self._draft = Draft()
        self._kinds: dict[str, str] = {}
        self._objective: str | None = None
        self._chosen: str | None = None  # by OBJNAME
        self._sides: dict[str, str] = {}
        self._spans: dict[str, str] = {}
        self._bounds: dict[str, set[str]] = {}
        self._sets: dict[str, str] = {}
        self._unused: dict[str, InputError] = {}  # by section, its first line of another set
        self._products: set[tuple[str, str]] = set()
        self._semi: set[str] = set()
        self._sos: list[tuple[int, list[tuple[float, int]]]] = []
        self._indicators: dict[str, tuple[int, int]] = {}
        self._curved: dict[str, dict[tuple[int, int], float]] = {}
        self._bent = ""  # the row whose products are read
        self._whole = False
        self._current = -1  # the column whose entries are read
        self._seen: set[str] = set()  # its rows so far
        self.line = 0

    def _error(self, rule: str, value: str | None = None) -> InputError:
        return self._source.error(self.line, rule, value)

    def program(self) -> LinearProgram:
        section = ""
        sections = {
            "OBJSENSE": self._sense,
            "OBJNAME": self._name_objective,
            "ROWS": self._row,
            "COLUMNS": self._column,
            "RHS": self._side,
            "RANGES": self._span,
            "BOUNDS": self._bound,
            "QUADOBJ": self._half_of_products,
            "QSECTION": self._half_of_products,
            "QMATRIX": self._product,
            "QCMATRIX": self._row_product,
            "SOS": self._set,
            "INDICATORS": self._indicator,
        }
        lines, number = self._source.lines, 0
        while number < len(lines):
            line = lines[number]
            number += 1
            self.line = number
            if line[:1] == "*" or not line.strip() or section == "ENDATA":
                continue
            begins = line[0] not in " \t"
            if begins and not (section == "OBJSENSE" and line.strip().upper() in _SENSES):
                section, *rest = line.split()
                section = section.upper()
                if section not in (*sections, "NAME", "ENDATA"):
                    raise self._error("this section is no part of a linear program", section)
                if rest and section in ("OBJSENSE", "OBJNAME"):
                    sections[section](rest)
                elif section in ("QSECTION", "QCMATRIX") and (rest or section == "QCMATRIX"):
                    self._bend(section, " ".join(rest))
                elif rest and section in sections:
                    raise self._error("a line of data must begin with a blank", line)
                if section in ("ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS"):
                    number = self._at_once(section, number)
            elif section in sections:
                sections[section](self._words(line, section))
            else:
                raise self._error("stands outside of any section", line.strip())
        if section != "ENDATA":
            raise self._error("the file ends without ENDATA: it is cut short")
        return self._finished()

    @cached_property
    def _heads(self) -> list[int]:
        lines = self._source.lines
        return list(
            compress(range(len(lines)), map(ge, lines, repeat("!")))
        )  # no blank comes first

    @cached_property
    def _may_comment(self) -> bool:
        """Whether a word that is not the first one begins with $, as comments do."""
        text = self._source.text
        return "$" in text and re.search(r"\S[^\S\n]+\$", text) is not None

    def _at_once(self, section: str, begin: int) -> int:
        """Read all lines of a section where they have the usual form, and return the next one."""
        if self._fixed or self._may_comment:
            return begin
        after = bisect_left(self._heads, begin)
        lines = self._source.lines
        end = self._heads[after] if after < len(self._heads) else begin
        if end == begin or lines[end][0] == "*":
            return begin
        read = {
            "ROWS": self._rows_at_once,
            "COLUMNS": self._columns_at_once,
            "RHS": self._sides_at_once,
            "RANGES": self._spans_at_once,
            "BOUNDS": self._bounds_at_once,
        }[section]
        return end if read(lines[begin:end]) else begin

    def _rows_at_once(self, lines: list[str]) -> bool:
        kinds = rows_of(lines)
        if kinds is None or self._kinds or self._chosen is not None:
            return False
        self._kinds = kinds
        self._objective = next((name for name, kind in kinds.items() if kind == "N"), None)
        rows = (name for name in kinds if name != self._objective)
        self._draft.rows = {name: place for place, name in enumerate(rows)}
        return True

    def _columns_at_once(self, lines: list[str]) -> bool:
        draft, objective = self._draft, len(self._draft.rows)
        places = (
            draft.rows if self._objective is None else {**draft.rows, self._objective: objective}
        )
        found = None if draft.columns else columns_of(lines, places)
        if found is None:
            return False
        count = len(found.names)
        draft.columns = {name: place for place, name in enumerate(found.names)}
        draft.lower, draft.upper, draft.integer = [0.0] * count, [np.inf] * count, found.whole
        costs = found.row == objective
        cost, others = np.zeros(count), ~costs
        cost[found.column[costs]] = found.value[costs]
        draft.cost = cost.tolist()
        draft.entries = found.value[others], found.row[others], found.column[others]
        names = list(places)
        self._current = count - 1
        self._seen = {names[row] for row in found.row[found.column == count - 1].tolist()}
        return True

    def _sides_at_once(self, lines: list[str]) -> bool:
        return self._hold("RHS", self._sides, self._kinds, lines)

    def _spans_at_once(self, lines: list[str]) -> bool:
        kinds = {name: kind for name, kind in self._kinds.items() if kind != "N"}
        return self._hold("RANGES", self._spans, kinds, lines)

    def _hold(
        self, section: str, numbers: dict[str, str], kinds: dict[str, str], lines: list[str]
    ) -> bool:
        """Keep a section of numbers by row, if it is the first and of the usual form."""
        found = None if section in self._sets or numbers else sides_of(lines, kinds)
        if found is None:
            return False
        name, more = found
        self._keep_set(section, name)
        numbers |= more
        return True

    def _keep_set(self, section: str, name: str | None) -> None:
        if name is not None:
            self._sets[section] = name

    def _bounds_at_once(self, lines: list[str]) -> bool:
        columns = self._draft.columns
        found = None if "BOUNDS" in self._sets or self._bounds else bounds_of(lines, columns)
        if found is None:
            return False
        title, bounds = found
        self._keep_set("BOUNDS", title)
        lower, upper, given = self._draft.lower, self._draft.upper, self._bounds
        for kind, name, value in bounds:
            if name in given:
                given[name].add(kind)
            else:
                given[name] = {kind}
            if kind == "UP":
                upper[columns[name]] = value
            elif kind == "LO":
                lower[columns[name]] = value
            else:
                self._set_bound(kind, columns[name], value)
        return True

    def _words(self, line: str, section: str) -> list[str]:
        words = line.split()
        if self._fixed and section not in ("OBJSENSE", "OBJNAME"):
            words = [line[a:b].strip() for a, b in _FIELDS]
            while words and not words[-1]:
                words.pop()
            words = words[0 if section in ("ROWS", "BOUNDS", "SOS", "INDICATORS") else 1 :]
        for at, word in enumerate(words):
            named = word in self._kinds or word in self._draft.columns
            if at > 1 and word[:1] == "$" and not named:
                return words[:at]  # the rest is a comment
        return words

    def _sense(self, words: list[str]) -> None:
        sense = _SENSES.get(" ".join(words).upper())
        if sense is None:
            raise self._error("is neither MIN nor MAX", " ".join(words))
        self._draft.sense = "max" if sense == "max" else "min"

    def _bend(self, section: str, row: str) -> None:
        """Begin the products of a row."""
        objective = section == "QSECTION" and row == self._objective
        if not objective and row not in self._draft.rows:
            raise self._error("there is no row of this name", row)
        self._bent = "" if objective else row
        if self._bent in self._curved:
            raise self._error("a second section of this row", row)
        if self._bent:
            self._curved[self._bent] = {}

    def _name_objective(self, words: list[str]) -> None:
        self._chosen = " ".join(words)

    def _row(self, words: list[str]) -> None:
        if len(words) != 2:
            raise self._error("a row is given by two words: its kind and its name", " ".join(words))
        kind, name = words[0].upper(), words[1]
        if kind not in ("N", "L", "G", "E"):
            raise self._error("is no kind of row; they are N, L, G and E", words[0])
        if name in self._kinds:
            raise self._error("a second row of this name", name)
        self._kinds[name] = kind
        free = kind == "N" and self._chosen in (None, name)
        if free and self._objective is None:
            self._objective = name
        else:
            self._draft.rows[name] = len(self._draft.rows)

    def _pairs(
        self, words: list[str], known: Container[str], kind: str = "row"
    ) -> list[tuple[str, str]]:
        """Return the rows and numbers that follow a name."""
        if len(words) not in (2, 4):
            rule = f"here one or two {kind}s with a number each are needed"
            raise self._error(rule, " ".join(words))
        pairs = list(zip(words[::2], words[1::2], strict=True))
        for name, _ in pairs:
            if name not in known:
                raise self._error(f"there is no {kind} of this name", name)
        return pairs

    def _column(self, words: list[str]) -> None:
        if len(words) > 2 and words[1].upper() == "'MARKER'":
            self._mark(words[-1].strip("'").upper())
            return
        name, draft = words[0], self._draft
        if draft.columns.get(name, -1) != self._current or self._current < 0:
            if name in draft.columns:
                raise self._error("the entries of a column must stand together", name)
            self._current = draft.column(name)
            draft.integer[-1] = self._whole
            self._seen = set()
        for row, text in self._pairs(words[1:], self._kinds):
            if row in self._seen:
                raise self._error(f"a second entry of column {name} in this row", row)
            self._seen.add(row)
            value = self._source.coefficient(text, self.line)
            if row == self._objective:
                draft.cost[self._current] = value
            else:
                draft.entry_row.append(draft.rows[row])
                draft.entry_column.append(self._current)
                draft.entry_value.append(value)

    def _mark(self, kind: str) -> None:
        if kind not in ("INTORG", "INTEND"):
            raise self._error("this marker is no part of a linear program", kind)
        if self._whole is (kind == "INTORG"):
            raise self._error("markers INTORG and INTEND must alternate", kind)
        self._whole = kind == "INTORG"

    def _of_first_set(self, section: str, words: list[str], *, named: bool) -> list[str]:
        """Return the words without the name of the set, none if another set came before."""
        if not named:
            return words
        first = self._sets.setdefault(section, words[0]) if words[0] else ""
        if words[0] == first:
            return words[1:]
        rule = f"this and later lines are not used, as the first set of {section} is {first!r}"
        self._unused.setdefault(section, self._error(rule, words[0]))
        return []

    def _pairs_of_first_set(self, section: str, words: list[str]) -> list[tuple[str, str]]:
        rest = self._of_first_set(section, words, named=len(words) % 2 == 1)
        return self._pairs(rest, self._kinds) if rest else []

    def _side(self, words: list[str]) -> None:
        for row, text in self._pairs_of_first_set("RHS", words):
            if row in self._sides:
                raise self._error("a second right-hand side of this row", row)
            if row == self._objective:
                self._source.coefficient(text, self.line)
            self._sides[row] = self._decimal(text)

    def _span(self, words: list[str]) -> None:
        for row, text in self._pairs_of_first_set("RANGES", words):
            if row in self._spans:
                raise self._error("a second range of this row", row)
            if self._kinds[row] == "N":
                raise self._error("a row of kind N has no range", row)
            self._source.coefficient(text, self.line)
            self._spans[row] = self._decimal(text)

    def _decimal(self, text: str) -> str:
        """Return a number as it is written, in the spelling of Python."""
        self._source.number(text, self.line)
        return text.lower().replace("d", "e")

    def _bound(self, words: list[str]) -> None:
        kind = words[0].upper()
        columns, bare = self._draft.columns, ("FR", "MI", "PL", "BV")
        if kind not in ("LO", "UP", "FX", "LI", "UI", "SC", "SI", *bare):
            raise self._error("is no kind of bound", words[0])
        count = len(words)
        if kind in bare:
            named = count == 4 or (count == 3 and (self._fixed or words[2] in columns))
            least = 1
        else:
            named, least = count == 4, 2
        rest = self._of_first_set("BOUNDS", words[1:], named=named)
        if not rest:
            return
        if not least <= len(rest) <= 2:
            rule = (
                f"a bound {kind} needs a column{' and a number' if least == 2 else ''}, not words"
            )
            raise self._error(rule, " ".join(words[1:]))
        if rest[0] not in columns:
            raise self._error("there is no column of this name", rest[0])
        given = self._bounds.setdefault(rest[0], set())
        if kind in given:
            raise self._error(f"a second bound {kind} of this column", rest[0])
        given.add(kind)
        value = self._source.number(rest[1], self.line) if len(rest) == 2 else 0.0
        if kind in ("SC", "SI"):
            self._semi.add(rest[0])
        self._set_bound(kind, columns[rest[0]], value)

    def _set(self, words: list[str]) -> None:
        """Begin a special ordered set, or add a column with its weight to the last one."""
        words = [word for word in words if word]
        if words[0].upper() in ("S1", "S2") and words[0] not in self._draft.columns:
            self._sos.append((int(words[0][1]), []))
            return
        for name, weight in self._pairs(words[-2:], self._draft.columns, "column"):
            if not self._sos:
                raise self._error("stands before the first set", name)
            number = self._source.coefficient(weight, self.line)
            self._sos[-1][1].append((number, self._draft.columns[name]))

    def _indicator(self, words: list[str]) -> None:
        if len(words) != 4 or words[0].upper() != "IF":
            raise self._error("must be IF, a row, a column and 0 or 1", " ".join(words))
        _, row, column, value = words
        if row not in self._draft.rows or column not in self._draft.columns:
            raise self._error("there is no row or column of this name", f"{row} {column}")
        if row in self._indicators:
            raise self._error("a second indicator of this row", row)
        number = int(self._source.coefficient(value, self.line))
        self._indicators[row] = self._draft.columns[column], number

    def _row_product(self, words: list[str]) -> None:
        """Add an entry of Q in x'Qx; both halves of QCMATRIX are in the file."""
        columns = self._draft.columns
        if words[0] not in columns:
            raise self._error("there is no column of this name", words[0])
        for name, text in self._pairs(words[1:], columns, "column"):
            place = columns[words[0]], columns[name]
            if place in self._curved[self._bent]:
                raise self._error(f"a second entry of column {words[0]} and this one", name)
            self._curved[self._bent][place] = self._source.coefficient(text, self.line)

    def _half_of_products(self, words: list[str]) -> None:
        """Keep one half of a symmetric matrix: of the objective, or of x'Qx / 2 in a row."""
        if not self._bent:
            self._product(words, both=True)
            return
        held = dict(self._curved[self._bent])
        self._row_product(words)
        for (a, b), value in self._curved[self._bent].items():
            if (a, b) not in held:
                if (b, a) in held:
                    raise self._error("a second entry of this pair of columns", words[0])
                self._curved[self._bent][a, b] = value if a != b else 0.5 * value

    def _product(self, words: list[str], *, both: bool = False) -> None:
        """Keep entries of the quadratic term; of QUADOBJ and QSECTION each stands for both."""
        columns = self._draft.columns
        if words[0] not in columns:
            raise self._error("there is no column of this name", words[0])
        for name, text in self._pairs(words[1:], columns, "column"):
            places = {(words[0], name)} | ({(name, words[0])} if both else set())
            if places & self._products:
                raise self._error(f"a second entry of column {words[0]} and this one", name)
            self._products |= places
            value = self._source.coefficient(text, self.line)
            self._draft.products += [(columns[a], columns[b], value) for a, b in places]

    def _set_bound(self, kind: str, column: int, value: float) -> None:
        draft = self._draft
        if kind in ("LO", "LI", "FX"):
            draft.lower[column] = value
        if kind in ("UP", "UI", "FX", "SC", "SI"):
            draft.upper[column] = value or (np.inf if kind[0] == "S" else 0.0)
        if kind in ("FR", "MI"):
            draft.lower[column] = -np.inf
        if kind in ("FR", "PL"):
            draft.upper[column] = np.inf
        if kind == "BV":
            draft.lower[column], draft.upper[column] = 0.0, 1.0
        if kind in ("BV", "LI", "UI", "SI"):
            draft.integer[column] = True

    def _finished(self) -> LinearProgram:
        draft = self._draft
        if self._chosen not in (None, self._objective):
            raise self._error("OBJNAME names no row of kind N that follows it", self._chosen)
        if self._objective is not None:
            draft.offset = 0.0 - float(self._sides.get(self._objective, 0.0))
        sides = [float(self._sides.get(row, 0.0)) for row in draft.rows]
        kinds = [self._kinds[row] for row in draft.rows]
        both = list(zip(kinds, sides, strict=True))
        draft.row_lower = [-np.inf if kind in "LN" else side for kind, side in both]
        draft.row_upper = [np.inf if kind in "GN" else side for kind, side in both]
        for row in self._spans:
            place = draft.rows[row]
            draft.row_lower[place], draft.row_upper[place] = self._row_sides(row)
        for name, given in self._bounds.items():
            column = draft.columns[name]
            if draft.upper[column] < 0.0 and not given & _BELOW:
                draft.lower[column] = -np.inf
        if True in draft.integer:
            for name, column in draft.columns.items():
                if draft.integer[column] and name not in self._bounds:
                    draft.upper[column] = 1.0
        labels, _ = self._source.comments()
        semi = [draft.columns[name] for name in self._semi]
        sets = [(kind, [place for _, place in sorted(members)]) for kind, members in self._sos]
        rows = draft.rows
        indicated = {rows[name]: by for name, by in self._indicators.items()}
        curved = {rows[name]: products for name, products in self._curved.items()}
        program = read_conditions(draft, self._source, labels, semi, sets, indicated, curved)
        for unused in self._unused.values():
            logger.info("%s", unused)
        return program

    def _row_sides(self, row: str) -> tuple[float, float]:
        kind, side, span = self._kinds[row], self._sides.get(row, "0"), self._spans.get(row)
        low = -np.inf if kind in ("L", "N") else float(side)
        high = np.inf if kind in ("G", "N") else float(side)
        if span is not None:
            down = kind == "L" or (kind == "E" and span.startswith("-"))
            other = other_side(side, span, -1 if down else 1)
            low, high = (other, high) if down else (low, other)
        return low, high
