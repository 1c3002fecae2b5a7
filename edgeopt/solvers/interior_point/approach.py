"""The loop: step until the method's own gap is small enough, and show every point on the way."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.solvers.gap import relative_gap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.solvers.interior_point.method import InteriorPoint, Point

__all__ = ["approach"]

# Row activities may miss their right-hand sides by this much: points are repaired afterwards.
PRIMAL_ACCURACY = 1e-8


def approach(
    method: InteriorPoint,
    point: Point,
    gap: float,
    *,
    max_iterations: int = 300,
    time_limit: float | None = None,
) -> Iterator[tuple[Point, float]]:
    """Yield the start and every point after it, each with its relative gap, until one will do.

    The walk ends as well when time or iterations are used up, or when the normal equations have
    become unsolvable: the last point yielded is then the best there is.

    Parameters
    ----------
    method
        The method.
    point
        Where to start.
    gap
        Relative gap of the two objectives to reach, with the rows nearly met: `relative_gap`.
    max_iterations
        Largest number of steps.
    time_limit
        Seconds after which no further step is begun.
    """
    began = time.perf_counter()
    missed = np.inf
    for iteration in range(max_iterations + 1):
        primal, dual = method.objectives(point)
        sizes = method.sizes(point)
        reached = relative_gap(primal, dual, objective_size=sizes[0], bound_size=sizes[1])
        yield point, reached
        if reached <= gap:
            # Near the optimum cancellation makes the rows worse again: then it is time to stop.
            before, missed = missed, float(np.abs(method.missing(point)).max(initial=0.0))
            if missed <= PRIMAL_ACCURACY or missed >= before:
                return
        late = time_limit is not None and time.perf_counter() - began > time_limit
        if late or iteration == max_iterations:
            return
        try:
            point = method.step(point)
        except FloatingPointError:
            return
