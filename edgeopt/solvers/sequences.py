"""Answers that take several solves: objectives in order, pools of points, rows added when broken.

Every solve is one of `solve`, with its certificate; what lies between them is added as rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import sparse

from edgeopt.errors import OptionError, ProblemTypeError, SolverError
from edgeopt.options import check_whole
from edgeopt.solvers.conditions import broken, column_finder, with_rows
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.tolerance import DEFAULT, TIGHT, relative_gap

if TYPE_CHECKING:
    from edgeopt.arrays import Floats as Vector
    from edgeopt.solvers.solution import Solution

    Row = tuple[dict[int, float], float, float]

RowSource = Callable[[Any], Iterable[tuple[Mapping[Any, float], float, float]] | None]
"""Returns rows, each of terms by column, lower and upper side, that a point may break."""

Once = Callable[..., "Solution"]
"""Solves a program; ``lazy=`` are rows that a solver with callbacks may ask for meanwhile."""

ROUNDS: Final = 100
"""How often the relaxation is solved again with cuts at most."""


def answered(
    program: Any,
    once: Once,
    *,
    then: Sequence[Any] = (),
    give: float | Sequence[float] = 0.0,
    pool: int = 1,
    within: float = np.inf,
    lazy: RowSource | None = None,
    cuts: RowSource | None = None,
) -> Solution:
    """Return what the options of `solve` of these names ask for."""
    if not isinstance(program, LinearProgram):
        raise ProblemTypeError("then, pool, lazy and cuts are for a LinearProgram")
    check_whole("pool", pool, 1)
    if pool > 1 and len(then):
        raise OptionError("pool and then: take one of them")

    def solved(asked: LinearProgram, **more: Any) -> Solution:
        return _lazily(asked, once, lazy, cuts, **more)

    first = solved(program)
    if not first.quality.usable:
        return first
    if len(then):
        return _in_order(first, solved, then, give)
    return _pooled(first, solved, pool, within) if pool > 1 else first


def _in_order(
    first: Solution, once: Once, then: Sequence[Any], give: float | Sequence[float]
) -> Solution:
    """Return the optimum of the last objective among those that keep the ones before."""
    slack = np.broadcast_to(np.asarray(give, dtype=float), (len(then),))
    if not (np.isfinite(slack).all() and (slack >= 0.0).all()):
        raise OptionError(f"give = {give!r}: must be numbers >= 0")
    found = [first]
    for cost, part in zip(then, slack, strict=True):
        last = found[-1]
        program: LinearProgram = last.problem
        if program.quadratic is not None:
            raise ProblemTypeError("then: the objectives before the last must be linear")
        size = float(np.abs(program.cost) @ np.abs(last.values))
        best = last.objective - program.offset
        room = max(part * abs(last.objective), TIGHT * size)
        low, high = (-np.inf, best + room) if program.sign > 0 else (best - room, np.inf)
        terms = {int(j): float(program.cost[j]) for j in np.flatnonzero(program.cost)}
        if isinstance(cost, Mapping):
            cost = program.column_names.changed(np.zeros(program.shape[1]), cost)
        found.append(once(with_rows(program.replace(cost=cost, offset=0.0), [(terms, low, high)])))
        if not found[-1].quality.usable:
            break
    return replace(found[-1], others=tuple(found[:-1]))


def _pooled(first: Solution, once: Once, pool: int, within: float) -> Solution:
    """Return the best point with the next best ones, each other than all before in whole numbers.

    No-good cuts: Balas, Jeroslow: Canonical cuts on the unit hypercube, SIAM J. Appl. Math. 23,
    1972; for whole numbers that are not binary with two binary columns for each.
    """
    program: LinearProgram = first.problem
    if not program.integer.any():
        raise ProblemTypeError("pool: points of a program without whole numbers lie close together")
    columns = program.shape[1]
    others: list[Solution] = []
    rest, last = program, first
    while len(others) + 1 < pool:
        rest = _without_point(rest, program, last.values)
        try:
            last = once(rest, raises=False)
        except SolverError:
            break
        if not last.quality.usable:
            break
        rest = last.problem  # with what was lazily added
        if relative_gap(last.objective, first.objective) > within:
            break
        point = replace(
            last, problem=program, values=last.values[:columns], bound=first.bound, duals=None,
            bound_by=first.bound_by,
        )  # fmt: skip
        others.append(point.certify())
    return replace(first, others=tuple(others))


def _without_point(rest: LinearProgram, program: LinearProgram, values: Vector) -> LinearProgram:
    """Return a program without the points that have the whole numbers of one."""
    whole = np.flatnonzero(program.integer & (program.lower < program.upper))
    low, high, at = program.lower, program.upper, np.round(values)
    terms, least = {}, 1.0
    rows: list[Row] = []
    wide = [int(j) for j in whole if not (low[j] == 0.0 and high[j] == 1.0)]
    if not np.isfinite(low[wide]).all() or not np.isfinite(high[wide]).all():
        raise ProblemTypeError("pool: whole numbers need finite bounds")
    for j in sorted({*whole.tolist()} - {*wide}):
        terms[j] = 1.0 if at[j] == 0.0 else -1.0
        least -= at[j]
    first = rest.shape[1]
    for number, j in enumerate(wide):
        above, below = first + 2 * number, first + 2 * number + 1
        terms |= {above: 1.0, below: 1.0}
        # One of them is 1 only if the column is larger, or smaller, than it was.
        rows.append(({j: 1.0, above: -(at[j] + 1.0 - low[j])}, low[j], np.inf))
        rows.append(({j: 1.0, below: high[j] - at[j] + 1.0}, -np.inf, high[j]))
    return with_rows(_with_binaries(rest, 2 * len(wide)), [*rows, (terms, least, np.inf)])


def _with_binaries(program: LinearProgram, count: int) -> LinearProgram:
    if not count:
        return program
    rows, columns = program.shape
    ends = {"cost": 0.0, "lower": 0.0, "upper": 1.0, "integer": True}
    grown: dict[str, Any] = {
        name: np.concatenate([getattr(program, name), np.full(count, end)])
        for name, end in ends.items()
    }
    if program.quadratic is not None:
        grown["quadratic"] = sparse.block_diag(
            [program.quadratic, sparse.csc_array((count, count))], format="csc"
        )
    return program.replace(
        **grown,
        matrix=sparse.hstack([program.matrix, sparse.csc_array((rows, count))], format="csc"),
        column_names=[*program.column_names, *(f"other[{columns + k}]" for k in range(count))],
        labels=None,
    )


def _lazily(
    program: LinearProgram,
    once: Once,
    lazy: RowSource | None,
    cuts: RowSource | None,
    **more: Any,
) -> Solution:
    """Return the optimum that breaks no lazy row, of a program with the rows that it took."""
    if cuts is not None and program.is_mixed_integer:
        asked = _Rows(program, cuts)
        for _ in range(ROUNDS):
            relaxed = once(program.relaxed(), raises=False)
            if not relaxed.quality.usable:
                break
            rows = asked(relaxed.values)
            if not rows:
                break
            program = with_rows(program, rows)
    if lazy is None:
        return once(program, **more)
    asked = _Rows(program, lazy)
    while True:
        asked.found.clear()
        meanwhile = asked if program.is_mixed_integer else None  # a linear program's duals fit it
        solution = once(program, lazy=meanwhile, **more)
        program = with_rows(program, list(asked.found))
        if not solution.quality.usable:
            return solution
        rows = asked(solution.values)
        if not rows:
            return replace(solution, problem=program).certify()
        program = with_rows(program, rows)


def _read(given: Any) -> list[tuple[dict[Any, float], float, float]]:
    """Return rows as a function of the caller has them."""
    try:
        rows = [(dict(terms), float(low), float(high)) for terms, low, high in given or ()]
    except (TypeError, ValueError) as failure:
        raise OptionError(f"lazy, cuts: return rows (terms, lower, upper): {failure}") from None
    return rows


class _Rows:
    """Asks for the rows that a point breaks, and keeps what was found."""

    def __init__(self, program: LinearProgram, source: RowSource) -> None:
        self._source = source
        self._column = column_finder(program)
        self._count = program.shape[1]
        self.found: list[Row] = []

    def __call__(self, values: Vector) -> list[Row]:
        """Return the rows that the point breaks, columns by position."""
        point = np.array(values[: self._count])
        rows = []
        for terms, low, high in _read(self._source(point)):
            placed = {self._column(name): float(size) for name, size in terms.items()}
            parts = [size * values[j] for j, size in placed.items()]
            if broken(parts, low, high) > DEFAULT:
                rows.append((placed, float(low), float(high)))
        self.found += rows
        return rows
