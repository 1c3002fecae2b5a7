"""What rows and bounds cannot say: semi-continuous columns, SOS, indicators, quadratic rows.

A program without its conditions is a relaxation, which all proofs of bounds go by; whether a point
keeps them is judged here, from their definition.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from itertools import count, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy import sparse

from edgeopt.errors import EdgeOptError, InputError, InstanceError
from edgeopt.representation import compact_repr
from edgeopt.solvers.labels import grouped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from edgeopt.arrays import Floats as Vector
    from edgeopt.solvers.draft import Draft, Source
    from edgeopt.solvers.program import LinearProgram

    Column = int | str

SEMICONTINUOUS: Final = "semi-continuous columns"
SOS: Final = "SOS"
INDICATORS: Final = "indicators"
QUADRATIC_ROWS: Final = "quadratic rows"
CURVED_SEARCH: Final = "whole numbers with a quadratic objective"
"""What some solvers take and others do not."""

FLOOR: Final = 1e-6
"""Part of the largest column that counts in every set: at a tolerance of 1e-6, its rounding."""


class Set(NamedTuple):
    """A special ordered set: at most `kind` columns, next to one another, differ from 0."""

    kind: int
    columns: tuple[int, ...]


class Indicator(NamedTuple):
    """A row that must hold where a binary column has a value."""

    column: int
    value: int
    terms: dict[int, float]
    lower: float
    upper: float


class QuadraticRow(NamedTuple):
    """A row with products of columns."""

    products: dict[tuple[int, int], float]
    terms: dict[int, float]
    lower: float
    upper: float


@compact_repr
@dataclass(frozen=True, eq=False)
class Conditions:
    """Conditions of a `LinearProgram`, whose docstring says how they are given."""

    semicontinuous: Mapping[Any, float] = field(default_factory=dict)
    sos: Sequence[Any] = ()
    indicators: Sequence[Any] = ()
    quadratic: Sequence[Any] = ()

    def __bool__(self) -> bool:
        return bool(self.semicontinuous or self.sos or self.indicators or self.quadratic)

    @property
    def features(self) -> list[str]:
        """What a solver must be able to take."""
        parts = {
            SEMICONTINUOUS: self.semicontinuous, SOS: self.sos, INDICATORS: self.indicators,
            QUADRATIC_ROWS: self.quadratic,
        }  # fmt: skip
        return [name for name, part in parts.items() if part]

    def fitted(self, program: LinearProgram) -> Conditions:
        """Return the conditions of a program, checked, with columns by position."""
        column = column_finder(program)
        least = {column(name): float(value) for name, value in dict(self.semicontinuous).items()}
        for place, value in least.items():
            upper = program.upper[place]
            fits = program.lower[place] == 0.0 and 0.0 < value <= upper < np.inf
            _require(
                fits, program, place,
                "must have the lower bound 0, a finite upper one, and a least value between them",
            )  # fmt: skip
        sets = [Set(kind, tuple(column(one) for one in members)) for kind, members in self.sos]
        for one in sets:
            if one.kind not in (1, 2) or len(set(one.columns)) < len(one.columns):
                raise InstanceError("sos", "must be of kind 1 or 2, of columns named once")
        held = [
            Indicator(column(by), int(value), _numbers(terms, column), float(low), float(high))
            for by, value, terms, lower, upper in self.indicators
            for low, high in _one_sided(float(lower), float(upper))
        ]
        for by in held:
            place = by.column
            ends = {program.lower[place], program.upper[place]}
            binary = program.integer[place] and ends <= {0, 1} and by.value in (0, 1)
            _require(binary, program, place, "must be a whole number, 0 or 1, to indicate")
        curved = [
            QuadraticRow(
                {(column(a), column(b)): float(size) for (a, b), size in products.items()},
                _numbers(terms, column),
                float(low),
                float(high),
            )
            for products, terms, low, high in self.quadratic
        ]
        rows: list[Indicator | QuadraticRow] = [*held, *curved]
        for row in rows:
            sizes = [*row.terms.values()]
            sizes += row.products.values() if isinstance(row, QuadraticRow) else ()
            if not (np.isfinite(sizes).all() and row.lower <= row.upper):
                raise InstanceError("conditions", "need finite coefficients, and lower <= upper")
        return Conditions(least, sets, held, curved)

    def violation(self, values: Vector) -> float:
        """Return the largest violation at a point, relative to what meets in each condition."""
        return max(self._violations(values), default=0.0)

    def _violations(self, values: Vector) -> Iterator[float]:
        for place, least in self.semicontinuous.items():
            yield min(abs(values[place]), max(least - values[place], 0.0)) / least
        floor = FLOOR * float(np.abs(values).max(initial=0.0))
        for one in self.sos:
            sizes = np.abs(values[list(one.columns)])
            rest = float(np.where(_kept(one, sizes), 0.0, sizes).max(initial=0.0))
            yield rest / max(float(sizes.max(initial=0.0)), floor) if rest else 0.0
        for row in self.indicators:
            if round(values[row.column]) == row.value:
                terms = [size * values[at] for at, size in row.terms.items()]
                yield broken(terms, row.lower, row.upper)
        for row in self.quadratic:
            terms = [size * values[a] * values[b] for (a, b), size in row.products.items()]
            terms += [size * values[at] for at, size in row.terms.items()]
            yield broken(terms, row.lower, row.upper)


NONE: Final = Conditions()


def conditions_of(
    program: LinearProgram, given: Conditions | Mapping[str, Any] | None
) -> Conditions:
    """Return conditions of a program that are given as such, or by the names of their kinds."""
    if not given:
        return NONE
    if isinstance(given, Conditions):
        return _read(given, program)
    known = [one.name for one in fields(Conditions)]
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        raise InstanceError("conditions", f"are {', '.join(known)}", value=repr(unknown))
    return _read(Conditions(**given), program)


def _read(given: Conditions, program: LinearProgram) -> Conditions:
    try:
        return given.fitted(program)
    except (TypeError, ValueError, AttributeError, OverflowError) as failure:
        if isinstance(failure, EdgeOptError):
            raise
        raise InstanceError("conditions", f"have another form: {failure}") from None


def _kept(one: Set, sizes: Vector) -> Any:
    """Return which columns of a set may differ from 0: the largest ones that are neighbours."""
    sums = np.convolve(sizes, np.ones(one.kind))[one.kind - 1 :]
    first = int(np.argmax(sums[: max(len(sizes) - one.kind + 1, 1)]))
    places = np.arange(len(sizes))
    return (places >= first) & (places < first + one.kind)


def broken(terms: Sequence[float], lower: float, upper: float) -> float:
    """Return by how much a sum leaves its sides, relative to what meets in it."""
    total, scale = sum(terms), sum(map(abs, terms))
    scale = max([scale, *(abs(side) for side in (lower, upper) if np.isfinite(side))])
    over = max(lower - total, total - upper, 0.0)
    return over / scale if over else 0.0


def column_finder(program: LinearProgram) -> Callable[[Column], int]:
    """Return the function from labels or positions of columns to positions."""
    columns = program.shape[1]

    def column(name: Column) -> int:
        place = program.column(name) if isinstance(name, str) else int(name)
        if not 0 <= place < columns:
            raise InstanceError("conditions", f"name a column of {columns}", value=name)
        return place

    return column


def _one_sided(low: float, high: float) -> list[tuple[float, float]]:
    """Return sides as solvers and formats take them behind an indicator: equal, or one of them."""
    both = np.isfinite(low) and np.isfinite(high) and low < high
    return [(low, np.inf), (-np.inf, high)] if both else [(low, high)]


def _numbers(terms: Mapping[Any, float], column: Callable[[Column], int]) -> dict[int, float]:
    return {column(name): float(value) for name, value in terms.items()}


def _require(holds: Any, program: LinearProgram, column: int, rule: str) -> None:
    if not holds:
        raise InstanceError("conditions", f"{program.column_label(column)} {rule}")


def with_rows(
    program: LinearProgram, rows: Sequence[tuple[Mapping[Any, float], float, float]]
) -> LinearProgram:
    """Return a program with more rows, each of terms by column, lower and upper side."""
    if not rows:
        return program
    column = column_finder(program)
    more = sparse.lil_array((len(rows), program.shape[1]))
    for place, (terms, _, _) in enumerate(rows):
        for name, value in terms.items():
            more[place, column(name)] = value
    names = list(program.row_names)
    taken = set(names)
    free = (name for name in (f"row[index={k}]" for k in count(len(names))) if name not in taken)
    return program.replace(
        matrix=sparse.vstack([program.matrix, more], format="csc"),
        row_lower=np.concatenate([program.row_lower, [low for _, low, _ in rows]]),
        row_upper=np.concatenate([program.row_upper, [high for _, _, high in rows]]),
        row_names=[*names, *islice(free, len(rows))],
    )


def with_all_rows(
    program: LinearProgram,
) -> tuple[LinearProgram, dict[int, Indicator], dict[int, QuadraticRow]]:
    """Return a program with indicator and quadratic rows as rows, as files have them; and which."""
    held = program.conditions
    rows = [(one.terms, one.lower, one.upper) for one in (*held.indicators, *held.quadratic)]
    first, second = program.shape[0], program.shape[0] + len(held.indicators)
    return (
        with_rows(program, rows), dict(enumerate(held.indicators, first)),
        dict(enumerate(held.quadratic, second)),
    )  # fmt: skip


def read_conditions(
    draft: Draft,
    source: Source,
    labels: dict[tuple[str, str], str],
    semi: Sequence[int],
    sets: Sequence[tuple[int, Sequence[int]]],
    indicated: Mapping[int, tuple[int, int]],
    curved: Mapping[int, Mapping[tuple[int, int], float]],
) -> LinearProgram:
    """Return the program of a file, some of whose columns and rows are under conditions."""
    least = {column: draft.lower[column] for column in semi}
    for column in semi:
        draft.lower[column] = 0.0
    program = draft.program(source, labels)
    if not (semi or sets or indicated or curved):
        return program
    by_row, taken = program.matrix.tocsr(), {*indicated, *curved}
    if both := indicated.keys() & curved.keys():
        name = program.row_label(min(both))
        raise InputError(str(source.path), f"row {name} has an indicator and products")

    def parts(row: int) -> tuple[dict[int, float], float, float]:
        span = slice(by_row.indptr[row], by_row.indptr[row + 1])
        terms = zip(by_row.indices[span].tolist(), by_row.data[span].tolist(), strict=True)
        return dict(terms), float(program.row_lower[row]), float(program.row_upper[row])

    keep = np.array([row not in taken for row in range(program.shape[0])], dtype=bool)
    conditions = Conditions(
        {column: value for column, value in least.items() if value},
        sets,
        [(*by, *parts(row)) for row, by in indicated.items()],
        [(products, *parts(row)) for row, products in curved.items()],
    )
    names = [name for name, stays in zip(program.row_names, keep, strict=True) if stays]
    (of_rows, of_columns), called = grouped(names, list(program.column_names))
    try:
        return program.replace(
            matrix=by_row[keep], row_lower=program.row_lower[keep],
            row_upper=program.row_upper[keep], row_names=of_rows, column_names=of_columns,
            labels=called, conditions=conditions,
        )  # fmt: skip
    except InstanceError as failure:
        raise InstanceError(str(source.path), f"holds no such program: {failure}") from None


def decided(program: LinearProgram, values: Vector) -> LinearProgram | None:
    """Return the continuous program in which whole numbers and conditions are as at a point.

    None where a whole number is outside of its bounds, or rows have products.
    """
    held, whole = program.conditions, program.integer
    inside = (values[whole] >= program.lower[whole]) & (values[whole] <= program.upper[whole])
    if held.quadratic or not inside.all():
        return None
    lower = np.where(whole, values, program.lower)
    upper = np.where(whole, values, program.upper)
    for place, least in held.semicontinuous.items():
        if values[place] < 0.5 * least:
            upper[place] = 0.0
        else:
            lower[place] = max(lower[place], least)
    for one in held.sos:
        columns = np.array(one.columns)
        out = columns[~_kept(one, np.abs(values[columns]))]
        lower[out] = upper[out] = 0.0
    rows = [one for one in held.indicators if round(values[one.column]) == one.value]
    if (lower > upper).any():
        return None
    changed = program.replace(lower=lower, upper=upper, integer=False, conditions=None)
    return with_rows(changed, [(one.terms, one.lower, one.upper) for one in rows])


def needs(program: LinearProgram) -> list[str]:
    """Return what a solver must be able to take beside a linear or mixed-integer program."""
    curved = program.quadratic is not None and program.is_mixed_integer
    return program.conditions.features + ([CURVED_SEARCH] if curved else [])
