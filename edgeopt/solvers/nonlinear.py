r"""Smooth nonlinear programs over CasADi expressions, with names for what they contain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import InstanceError, OptionError
from edgeopt.representation import compact_repr
from edgeopt.solvers.labels import Labels
from edgeopt.solvers.program import require

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.solvers.program import Sense


@compact_repr
@dataclass(frozen=True, eq=False)
class CasadiNlp:
    r"""A smooth nonlinear program.

    .. math::
        \min \text{ or } \max_x f(x) \quad \text{s.t.} \quad
        \underline{b} \le g(x) \le \overline{b}, \quad \underline{x} \le x \le \overline{x}

    Parameters
    ----------
    variables
        Column vector of CasADi symbols (SX or MX), shape [n].
    objective
        Scalar expression f.
    constraints
        Column vector of expressions g, shape [m]; None for none.
    row_lower, row_upper
        Sides of the constraints, shape [m] or one number for all.
    lower, upper
        Bounds of the variables, shape [n] or one number for all.
    start
        Starting point, shape [n]; the projection of 0 onto the bounds by default.
    sense
        Whether f is minimised or maximised.
    convex
        Whether the caller vouches for convexity (f convex when minimising, g affine or convex
        below an upper side only): a stationary point then proves its own optimality, otherwise a
        local optimum counts as no more than feasible.
    row_names, column_names
        Labels, as for a `LinearProgram`.

    Raises
    ------
    InstanceError
        If shapes do not fit or bounds cross.

    Examples
    --------
    >>> import casadi
    >>> from edgeopt.solvers import CasadiNlp, solve
    >>> x = casadi.SX.sym("x")
    >>> solution = solve(CasadiNlp(x, x + 4 / x, lower=0.1, upper=10, start=[1], convex=True))
    >>> round(solution.objective, 6)
    4.0
    """

    variables: Any
    objective: Any
    constraints: Any = None
    row_lower: Any = -np.inf
    row_upper: Any = np.inf
    lower: Any = -np.inf
    upper: Any = np.inf
    start: Any = None
    sense: Sense = "min"
    convex: bool = False
    row_names: Any = field(default=None, repr=False)
    column_names: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.sense not in ("min", "max"):
            raise OptionError(f"sense is {self.sense!r}; it must be 'min' or 'max'")
        columns = int(self.variables.numel())
        rows = 0 if self.constraints is None else int(self.constraints.numel())
        if int(self.objective.numel()) != 1:
            raise InstanceError("objective", "must be one expression", value=self.objective.shape)
        store = object.__setattr__
        for name, length in (
            ("row_lower", rows), ("row_upper", rows), ("lower", columns), ("upper", columns),
        ):  # fmt: skip
            store(self, name, _vector(name, getattr(self, name), length))
        for low, high in (("row_lower", "row_upper"), ("lower", "upper")):
            below, above = getattr(self, low), getattr(self, high)
            require(below <= above, low, f"must not exceed {high}", below)
        nearest = np.clip(0.0, self.lower, self.upper)
        start = _vector("start", nearest if self.start is None else self.start, columns)
        require(np.isfinite(start), "start", "must be finite", start)
        store(self, "start", start)
        store(self, "row_names", Labels(rows, self.row_names, "row"))
        store(self, "column_names", Labels(columns, self.column_names, "column"))

    @classmethod
    def from_mapping(cls, problem: Mapping[str, Any], **fields: Any) -> CasadiNlp:
        """Build one from CasADi's own dictionary with the keys ``x``, ``f`` and perhaps ``g``.

        Parameters ``p`` must have been substituted; the fields are the others of this class.
        """
        for key in ("x", "f"):
            if key not in problem:
                raise InstanceError("problem", f"needs the key {key!r}")
        if "p" in problem:
            raise InstanceError("problem", "has parameters p: substitute their values first")
        return cls(problem["x"], problem["f"], problem.get("g"), **fields)

    @property
    def sign(self) -> float:
        """Return 1 when minimising, -1 when maximising."""
        return 1.0 if self.sense == "min" else -1.0


def _vector(field_name: str, value: ArrayLike, length: int) -> NDArray[np.float64]:
    array = np.array(value, dtype=float)
    array = np.full(length, array) if array.ndim == 0 else array.reshape(-1)
    if array.shape != (length,):
        raise InstanceError(field_name, f"must have shape ({length},)", value=array.shape)
    require(~np.isnan(array), field_name, "must be a number", array)
    array.flags.writeable = False
    return array
