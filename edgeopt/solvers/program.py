"""Linear and mixed-integer linear programs as arrays: the compiled form of a formulation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

from edgeopt.errors import InstanceError, OptionError
from edgeopt.solvers.quadratic import ConvexMatrix, convex_matrix, units_of_quadratic
from edgeopt.solvers.units import Units, units_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray


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


Sense = Literal["min", "max"]


def _frozen_vector(field: str, value: ArrayLike, length: int, dtype: type) -> NDArray[Any]:
    array: NDArray[Any] = np.array(value, dtype=dtype)
    if array.ndim == 0:
        array = np.full(length, array, dtype=dtype)
    if array.shape != (length,):
        raise InstanceError(field, f"must have shape ({length},)", value=f"shape {array.shape}")
    array.flags.writeable = False
    return array


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


def _require(holds: NDArray[np.bool_], field: str, rule: str, values: NDArray[Any]) -> None:
    if not holds.all():
        first = int(np.argmin(holds))
        raise InstanceError(field, rule, index=(first,), value=values[first])


@dataclass(frozen=True, eq=False)
class LinearProgram:
    r"""A linear program, some columns of which may have to be whole numbers.

    .. math::
        \min \text{ or } \max_x \quad & c^\top x + c_0 \\
        \text{s.t.} \quad & \underline{b} \le A x \le \overline{b},
        \quad \underline{x} \le x \le \overline{x},
        \quad x_j \in \mathbb{Z} \ (j \in I)

    A row with equal sides is an equation; infinite sides are absent. All arrays are read-only;
    vectors are copied, the arrays of `matrix` are shared with the caller.

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

    Raises
    ------
    InstanceError
        If shapes do not fit, a number is not allowed, a lower bound exceeds its upper one, or the
        quadratic term curves the wrong way.

    Examples
    --------
    >>> program = LinearProgram([3, 2], [[1, 1], [1, 0]], -np.inf, [4, 2], 0, np.inf, sense="max")
    >>> program.shape
    (2, 2)
    >>> program.row_label(1)
    'row[index=1]'
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
    ) -> None:
        if sense not in ("min", "max"):
            raise OptionError(f"sense is {sense!r}; it must be 'min' or 'max'")
        columns = np.atleast_1d(np.asarray(cost)).shape[0]
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
        store(self, "row_lower", _frozen_vector("row_lower", row_lower, rows, np.float64))
        store(self, "row_upper", _frozen_vector("row_upper", row_upper, rows, np.float64))
        store(self, "lower", _frozen_vector("lower", lower, columns, np.float64))
        store(self, "upper", _frozen_vector("upper", upper, columns, np.float64))
        whole = False if integer is None else integer
        store(self, "integer", _frozen_vector("integer", whole, columns, np.bool_))
        store(self, "sense", sense)
        store(self, "offset", float(offset))
        term = None if quadratic is None else convex_matrix(quadratic, columns, self.sign)
        store(self, "quadratic", term)
        store(self, "row_names", _labels(rows, row_names, "row"))
        store(self, "column_names", _labels(columns, column_names, "column"))
        self._validate()

    def _validate(self) -> None:
        _require(np.isfinite(self.cost), "cost", "must be finite", self.cost)
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
            _require(~np.isnan(below) & (below < np.inf), low, "must be a number or -inf", below)
            _require(~np.isnan(above) & (above > -np.inf), high, "must be a number or inf", above)
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
        """Whether any column must be a whole number."""
        return bool(self.integer.any())

    @cached_property
    def units(self) -> Units:
        """Powers of two that take the units out of rows and columns."""
        return units_of(self) if self.quadratic is None else units_of_quadratic(self)

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

    def replace(self, **changes: Any) -> LinearProgram:
        """Return a copy in which some of the constructor's arguments are exchanged."""
        fields = (
            "cost", "matrix", "row_lower", "row_upper", "lower", "upper",
            "integer", "sense", "offset", "row_names", "column_names", "quadratic",
        )  # fmt: skip
        return LinearProgram(**({name: getattr(self, name) for name in fields} | changes))

    def relaxed(self) -> LinearProgram:
        """Return the linear program without the whole-number conditions."""
        return self.replace(integer=False)

    def write(self, path: str | Path) -> Path:
        """Write the program as free-format MPS or as CPLEX LP, depending on the suffix.

        Parameters
        ----------
        path
            File to write, ending in ``.mps`` or ``.lp``.

        Returns
        -------
        The path written.

        Raises
        ------
        OptionError
            If the suffix is neither, or the objective has a quadratic term.
        """
        if self.quadratic is not None:
            raise OptionError("write: these formats are written of linear objectives only")
        from edgeopt.solvers.writing import write_program

        return write_program(self, path)


def _labels(
    count: int, names: Labels | Sequence[LabelBlock] | Sequence[str] | None, default: str
) -> Labels:
    if isinstance(names, Labels):
        if len(names) != count:
            raise InstanceError(
                f"{default} labels", f"must name {count} members", value=f"{len(names)} names"
            )
        return names
    return Labels(count, names, default)
