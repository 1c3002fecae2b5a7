"""Linear and mixed-integer linear programs as arrays: the compiled form of a formulation.

`LinearProgram.build`, `read` and `write` import builder and files when called: those make programs
themselves.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from scipy import sparse

from edgeopt.errors import InstanceError, OptionError
from edgeopt.representation import compact_repr
from edgeopt.solvers.alignment import has_labels
from edgeopt.solvers.conditions import Conditions, conditions_of
from edgeopt.solvers.labels import LabelBlock, Labels
from edgeopt.solvers.quadratic import ConvexMatrix, convex_matrix
from edgeopt.solvers.scaling import Units, units_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.solvers.alignment import AxisNames
    from edgeopt.solvers.builder import Builder


Sense = Literal["min", "max"]

NO_LIMIT: Final = 1e20
"""A side or bound of this size or more is none, as in HiGHS and in the formats of files."""

FEW: Final = 100_000  # entries of a matrix of which more may be kept than itself

logger = logging.getLogger("edgeopt.solvers")


def _frozen_vector(field: str, value: ArrayLike, length: int, dtype: type) -> NDArray[Any]:
    array: NDArray[Any] = np.array(value, dtype=dtype)
    if array.ndim == 0:
        array = np.full(length, array, dtype=dtype)
    if array.shape != (length,):
        raise InstanceError(field, f"must have shape ({length},)", value=f"shape {array.shape}")
    array.flags.writeable = False
    return array


def _limits(field: str, value: ArrayLike, length: int, none: float) -> NDArray[np.float64]:
    """Return lower or upper sides, those of `NO_LIMIT` or more being infinite."""
    given = _frozen_vector(field, value, length, np.float64)
    wrong = (
        f"must be a number below {NO_LIMIT:g}, or -inf"
        if none < 0
        else (f"must be a number above {-NO_LIMIT:g}, or inf")
    )
    require(np.copysign(1.0, none) * given > -NO_LIMIT, field, wrong, given)
    endless = (np.abs(given) >= NO_LIMIT) & np.isfinite(given)
    if not endless.any():
        return given
    logger.info("%s: %d numbers of %g or more are no limits", field, endless.sum(), NO_LIMIT)
    return _frozen_vector(field, np.where(endless, none, given), length, np.float64)


def _frozen_matrix(matrix: Any) -> sparse.csc_array:
    csc = sparse.csc_array(matrix)
    if csc.dtype != np.float64:
        csc = csc.astype(np.float64)
    if not csc.has_canonical_format:
        csc = csc.copy()
        csc.sum_duplicates()
    # The big arrays are shared, not copied; views of them are closed for writing.
    data, indices, indptr = csc.data.view(), csc.indices.view(), csc.indptr.view()
    for array in (data, indices, indptr):
        array.flags.writeable = False
    frozen = sparse.csc_array((data, indices, indptr), shape=csc.shape, copy=False)
    frozen.has_canonical_format = True
    return frozen


def _sizes(matrix: sparse.csc_array) -> tuple[sparse.csc_array, sparse.csr_array]:
    sizes = abs(matrix)
    return sizes, sizes.T


def _labels(
    count: int,
    names: Labels | Sequence[LabelBlock] | Sequence[str] | None,
    default: str,
    called: AxisNames,
) -> Labels:
    """Return labels as they are, or make them of blocks or names, and hold them to their number."""
    if not isinstance(names, Labels):
        return Labels(count, names, default, called)
    if names.count != count:
        raise InstanceError(
            f"{default} labels", f"must name {count} members", value=f"{names.count} names"
        )
    return names.with_called(called)


def require(holds: NDArray[np.bool_], field: str, rule: str, values: NDArray[Any]) -> None:
    """Raise at the first entry of a vector that does not keep a rule."""
    if not holds.all():
        first = int(np.argmin(holds))
        raise InstanceError(field, rule, index=(first,), value=values[first])


@compact_repr
@dataclass(frozen=True, eq=False)
class LinearProgram:
    r"""A linear program, some columns of which may have to be whole numbers.

    .. math::
        \min \text{ or } \max_x \quad & c^\top x + c_0 \\
        \text{s.t.} \quad & \underline{b} \le A x \le \overline{b},
        \quad \underline{x} \le x \le \overline{x},
        \quad x_j \in \mathbb{Z} \ (j \in I)

    A row with equal sides is an equation. Infinite sides and bounds are none, and so are those of
    1e20 or more, as in HiGHS and in the formats of files; the logger ``edgeopt.solvers`` says so.
    Tables of pandas and xarray are taken by label, in any order: by the labels of rows and columns,
    or by their numbers. All arrays are read-only; vectors are copied, the arrays of `matrix` are
    shared with the caller.

    Parameters
    ----------
    cost
        Objective coefficients c, shape [n].
    matrix
        Constraint matrix A, shape [m, n]; anything that `scipy.sparse.csc_array` takes.
    row_lower, row_upper
        Sides of the rows, shape [m], or one number for all.
    lower, upper
        Bounds of the columns, shape [n], or one number for all.
    integer
        Which columns are whole numbers, shape [n]; none by default.
    sense
        Whether the objective is minimised or maximised.
    offset
        Constant of the objective.
    quadratic
        Symmetric matrix Q, shape [n, n], of a further term :math:`\tfrac12 x^\top Q x` of the
        objective; none by default. It must be positive semidefinite when minimising, negative
        semidefinite when maximising.
    row_names, column_names
        Labels, as blocks or as plain names; numbered rows and columns by default.
    conditions
        What rows and bounds cannot say, a mapping with any of the following; columns are given by
        position or label. HiGHS takes semi-continuous columns, SCIP all; others refuse.
        ``"semicontinuous"``: the least value of each column that is 0, or at least that and at most
        its bound; its lower bound is 0. ``"sos"``: sets ``(kind, columns)`` of which at most one
        column (kind 1), or at most two that are neighbours (kind 2), differ from 0.
        ``"indicators"``: rows ``(column, value, terms, lower, upper)`` that hold where a binary
        column has the value 0 or 1; terms are coefficients by column. ``"quadratic"``: rows
        ``(products, terms, lower, upper)`` whose products are coefficients by pair of columns; they
        need not be convex.
    labels
        What the entries of indices of blocks are called, by index, all of them in order; labels
        say them instead of numbers.

    Raises
    ------
    InstanceError
        If shapes do not fit, a number is not allowed, a lower bound exceeds its upper one, or the
        quadratic term curves the wrong way.

    Examples
    --------
    >>> from edgeopt.solvers import solve
    >>> program = LinearProgram([3, 2], [[1, 1], [1, 0]], -np.inf, [4, 2], 0, np.inf, sense="max")
    >>> program.shape
    (2, 2)
    >>> program.row_label(1)
    'row[index=1]'
    >>> batch = LinearProgram([1, 1.5], [[1, 1]], 3, 3, upper=[9, 9])
    >>> least = batch.replace(conditions={"semicontinuous": {0: 5}})
    >>> [solve(one).values.tolist() for one in (batch, least)]
    [[3.0, 0.0], [0.0, 3.0]]
    """

    cost: NDArray[np.float64]
    matrix: sparse.csc_array
    row_lower: NDArray[np.float64]
    row_upper: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    integer: NDArray[np.bool_]
    sense: Sense
    offset: float
    quadratic: ConvexMatrix | None
    row_names: Labels
    column_names: Labels
    labels: AxisNames
    conditions: Conditions

    def __init__(
        self,
        cost: ArrayLike,
        matrix: Any,
        row_lower: ArrayLike,
        row_upper: ArrayLike,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        integer: ArrayLike | None = None,
        sense: Sense = "min",
        offset: float = 0.0,
        row_names: Labels | Sequence[LabelBlock] | Sequence[str] | None = None,
        column_names: Labels | Sequence[LabelBlock] | Sequence[str] | None = None,
        quadratic: Any = None,
        labels: AxisNames | None = None,
        conditions: Conditions | Mapping[str, Any] | None = None,
    ) -> None:
        if sense not in ("min", "max"):
            raise OptionError(f"sense is {sense!r}; it must be 'min' or 'max'")
        columns = np.atleast_1d(np.asarray(cost)).shape[0]
        if any(map(has_labels, (cost, matrix, row_lower, row_upper, lower, upper, integer))):
            named = dict(labels or {})
            of_rows = _labels(np.shape(matrix)[0], row_names, "row", named)
            of_columns = _labels(columns, column_names, "column", named)
            cost, lower = of_columns.arranged("cost", cost), of_columns.arranged("lower", lower)
            upper = of_columns.arranged("upper", upper)
            integer = of_columns.arranged("integer", integer)
            row_lower = of_rows.arranged("row_lower", row_lower)
            row_upper = of_rows.arranged("row_upper", row_upper)
            matrix = of_rows.arranged("matrix", matrix, of_columns)
        frozen_matrix = _frozen_matrix(matrix)
        rows = frozen_matrix.shape[0]
        if frozen_matrix.shape[1] != columns:
            raise InstanceError(
                "matrix",
                f"must have {columns} columns, one for each cost",
                value=frozen_matrix.shape,
            )
        store = object.__setattr__
        store(self, "cost", _frozen_vector("cost", cost, columns, np.float64))
        store(self, "matrix", frozen_matrix)
        store(self, "row_lower", _limits("row_lower", row_lower, rows, -np.inf))
        store(self, "row_upper", _limits("row_upper", row_upper, rows, np.inf))
        store(self, "lower", _limits("lower", lower, columns, -np.inf))
        store(self, "upper", _limits("upper", upper, columns, np.inf))
        whole = False if integer is None else integer
        store(self, "integer", _frozen_vector("integer", whole, columns, np.bool_))
        store(self, "sense", sense)
        store(self, "offset", float(offset))
        term = None if quadratic is None else convex_matrix(quadratic, columns, self.sign)
        store(self, "quadratic", term)
        store(self, "labels", dict(labels or {}))
        store(self, "row_names", _labels(rows, row_names, "row", self.labels))
        store(self, "column_names", _labels(columns, column_names, "column", self.labels))
        self._validate()
        store(self, "conditions", conditions_of(self, conditions))

    def _validate(self) -> None:
        require(np.isfinite(self.cost), "cost", "must be finite", self.cost)
        finite = np.isfinite(self.matrix.data)
        if not finite.all():
            entry = int(np.argmin(finite))
            column = int(np.searchsorted(self.matrix.indptr, entry, side="right")) - 1
            raise InstanceError(
                "matrix",
                "must be finite",
                index=(int(self.matrix.indices[entry]), column),
                value=self.matrix.data[entry],
            )
        for low, high, what in (("row_lower", "row_upper", "row"), ("lower", "upper", "column")):
            below, above = getattr(self, low), getattr(self, high)
            crossed = below > above
            if crossed.any():
                first = int(np.argmax(crossed))
                name = self.row_label(first) if what == "row" else self.column_label(first)
                raise InstanceError(
                    low,
                    f"must not exceed {high} = {above[first]} ({name})",
                    index=(first,),
                    value=below[first],
                )

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.matrix.shape[0], self.matrix.shape[1]

    @cached_property
    def is_mixed_integer(self) -> bool:
        """Whether a search is needed: for whole numbers, or for `conditions`."""
        return bool(self.integer.any()) or bool(self.conditions)

    @cached_property
    def transposed(self) -> sparse.csr_array:
        """The transposed matrix, which shares its numbers, shape [n, m]."""
        return self.matrix.T

    @cached_property
    def entry_range(self) -> tuple[float, float]:
        """Smallest and largest absolute value of the entries of the matrix but 0; 1 without any."""
        entries = np.abs(self.matrix.data)
        entries = entries[entries > 0.0]
        return (float(entries.min()), float(entries.max())) if len(entries) else (1.0, 1.0)

    @property
    def sizes(self) -> tuple[sparse.csc_array, sparse.csr_array]:
        """Absolute values of the entries of the matrix, and their transpose; few are kept."""
        return self._sizes if self.matrix.nnz <= FEW else _sizes(self.matrix)

    @cached_property
    def _sizes(self) -> tuple[sparse.csc_array, sparse.csr_array]:
        return _sizes(self.matrix)

    @cached_property
    def units(self) -> Units:
        """Powers of two that bring the entries of the matrix closer together."""
        return units_of(self)

    @cached_property
    def row_size(self) -> NDArray[np.float64]:
        """What one unit of its columns adds to a row at most, shape [m]."""
        return self.units.row_size(self)

    @property
    def sign(self) -> float:
        """Return 1 when minimising, -1 when maximising: `sign * cost` is always minimised."""
        return 1.0 if self.sense == "min" else -1.0

    def objective(self, values: NDArray[np.float64]) -> float:
        """Return the objective at a point of shape [n]."""
        linear = float(self.cost @ values) + self.offset
        if self.quadratic is None:
            return linear
        return linear + 0.5 * float(values @ (self.quadratic @ values))

    def row_label(self, row: int) -> str:
        """Return the name of a row, such as ``capacity[server=3, slot=7]``."""
        return self.row_names[row]

    def column_label(self, column: int) -> str:
        """Return the name of a column."""
        return self.column_names[column]

    def row(self, label: str) -> int:
        """Return the position of the row with a label, such as ``capacity[server=3, slot=7]``."""
        return self.row_names.position(label)

    def column(self, label: str) -> int:
        """Return the position of the column with a label."""
        return self.column_names.position(label)

    def replace(self, **changes: Any) -> LinearProgram:
        """Return a copy in which some of the constructor's arguments are exchanged.

        Costs, bounds and sides may be given for some labels or blocks alone:
        ``replace(upper={"flow[site=1, user=2]": 0}, row_upper={"supply": [5, 5]})``.
        """
        fields = (
            "cost", "matrix", "row_lower", "row_upper", "lower", "upper",
            "integer", "sense", "offset", "row_names", "column_names", "quadratic", "labels",
            "conditions",
        )  # fmt: skip
        for name, change in changes.items():
            if isinstance(change, Mapping) and name in fields[:7]:
                labels = self.row_names if name.startswith("row_") else self.column_names
                changes[name] = labels.changed(getattr(self, name), change)
        if changes.keys() <= {"cost", "offset"}:
            return self._with_objective(**changes)
        return LinearProgram(**({name: getattr(self, name) for name in fields} | changes))

    def _with_objective(
        self, cost: ArrayLike | None = None, offset: float | None = None
    ) -> LinearProgram:
        """Return a copy whose rows and bounds need not be checked again."""
        other = copy.copy(self)
        store = object.__setattr__
        if cost is not None:
            store(other, "cost", _frozen_vector("cost", cost, self.shape[1], np.float64))
            require(np.isfinite(other.cost), "cost", "must be finite", other.cost)
        if offset is not None:
            store(other, "offset", float(offset))
        return other

    def relaxed(self) -> LinearProgram:
        """Return the linear program without whole-number and other conditions."""
        return self.replace(integer=False, conditions=None)

    @classmethod
    def build(cls, sense: Sense = "min", *, offset: float = 0.0) -> Builder:
        """Begin a program of blocks whose members are named, not counted.

        The builder has three methods. ``columns(name, dims, cost=, lower=, upper=, integer=)`` adds
        a block of columns, ``rows(name, dims, terms, lower=, upper=, equal=)`` a block of rows, and
        ``program()`` returns the program.

        A block has a name for each of its indices: ``{"site": 2, "user": 3}`` are all pairs,
        ``{"site": [0, 1], "user": [2, 0]}`` are two of them, and without indices a block has one
        member. ``{"site": ["north", "south"]}``, or a ``pandas.Index``, names the entries of an
        index; later blocks say ``["site"]`` for all of them, list some, or give a
        ``pandas.MultiIndex`` of combinations.

        Costs, bounds and sides are numbers or arrays that spread over the shape of the block, or
        tables with labels: a ``Series``, ``DataFrame``, ``DataArray``, or a mapping. These are
        aligned by label, in whatever order, and spread over the indices that they lack; labels
        that are missing, unknown or twice are refused.

        ``terms`` says for each block of columns what it adds to the rows. A number is the
        coefficient wherever row and column agree in the indices that both have: ``{"flow": 1}``
        sums a flow with indices site and user over users in rows with the index site, over sites in
        rows with the index user, and over all in a row without. An array of coefficients has the
        shape of the block that has all indices of the other, of the columns if both have; a table
        with labels may have any of the indices of both. For any other pattern a term is a matrix,
        dense or sparse, of shape [rows, columns].

        Parameters
        ----------
        sense
            Whether the objective is minimised or maximised.
        offset
            Constant of the objective.

        Returns
        -------
        A builder with the methods ``columns``, ``rows`` and ``program``.

        Raises
        ------
        InputError
            From the builder, if blocks, shapes or names do not fit.

        Examples
        --------
        >>> build = LinearProgram.build()
        >>> build.columns("flow", {"site": 2, "user": 3}, cost=[[1, 3, 7], [2, 6, 4]])
        >>> build.rows("supply", {"site": 2}, {"flow": 1}, upper=[4, 5])
        >>> build.rows("demand", {"user": 3}, {"flow": 1}, equal=[3, 2, 3])
        >>> program = build.program()
        >>> program.shape, program.column("flow[site=1, user=2]")
        ((5, 6), 5)
        """
        from edgeopt.solvers.builder import Builder

        return Builder(sense, offset)

    @classmethod
    def read(cls, path: str | Path) -> LinearProgram:
        """Read a program from an MPS file, fixed or free, or from one in CPLEX LP format.

        What is no part of such a program, for instance a piecewise-linear term, is an error.
        Semi-continuous columns, SOS, indicators and rows with products become its `conditions`. A
        quadratic term of the objective stands in a section QUADOBJ, QSECTION or QMATRIX, or in
        ``[ ... ] / 2``. Bounds and sides of 1e20 or more stand for
        infinity. Where customs differ: of two rows of kind N in an MPS file, the first is the
        objective, and the second a row without sides; of several sets of RHS, RANGES or BOUNDS the
        first is used, and the logger ``edgeopt.solvers`` says so; text after ENDATA is not read; a
        whole-number column without bounds ends at 1; a negative upper bound without a lower one
        leaves the column open below. Labels that `write` kept come back, and names such as
        ``flow[site=2, slot=3]`` become blocks.

        Parameters
        ----------
        path
            File to read, ending in ``.mps`` or ``.lp``, or in either and ``.gz``; or in ``.mat``: a
            quadratic program with P, q, r, A, l and u in MATLAB's format, which stands for the
            minimum of x'Px/2 + q'x + r over l <= Ax <= u, where last rows of A that are the
            identity are bounds of the columns.

        Returns
        -------
        The program.

        Raises
        ------
        OptionError
            If the name ends otherwise.
        InputError
            If the file cannot be read, is damaged, or holds what is no part of a program; the text
            names the line.
        InstanceError
            If what the file says is no program, as a quadratic term that curves the wrong way.
        """
        from edgeopt.solvers.program_files import read_program

        return read_program(path)

    def write(self, path: str | Path) -> Path:
        """Write the program as free-format MPS or as CPLEX LP, depending on the suffix.

        Names are plain, for any solver; comments hold the labels, for `read`, which returns the
        same program.

        Parameters
        ----------
        path
            File to write, ending in ``.mps`` or ``.lp``, or in either and ``.gz``.

        Returns
        -------
        The path written.

        Raises
        ------
        OptionError
            If the suffix is neither, or the format cannot say what the program holds.
        """
        from edgeopt.solvers.program_files import write_program

        return write_program(self, path)
