"""The interior-point method on the cooperative program, as a master that pricing completes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.models.idn.cooperative.form import CooperativeForm
from edgeopt.models.idn.cooperative.program import CooperativeProgram
from edgeopt.solvers.columns import Priced, Restricted
from edgeopt.solvers.interior_point import InteriorPoint, approach

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeopt.solvers.program import Sense

    Floats = NDArray[np.float64]

__all__ = ["CooperativeMaster", "compile_kernels"]

MAX_ITERATIONS = 200
# Factorising the small blocks costs no more than solving with them: correctors do not pay.
CORRECTORS = 0


class CooperativeMaster:
    """The whole program; every solve goes on from the last point.

    Parameters
    ----------
    program
        What is to be decided; it has at least one option that is asked for.
    """

    sense: Sense = "max"
    name = "edgeopt structured interior point"

    def __init__(self, program: CooperativeProgram) -> None:
        from edgeopt import __version__

        self.version = __version__
        self.program, self.form = program, CooperativeForm(program)
        self.iterations = 0
        self._point = self.form.start()

    def solve(self, gap: float, time_limit: float | None) -> Restricted:
        """Iterate until the relative gap of the two objectives is reached."""
        walk = approach(
            InteriorPoint(self.form, correctors=CORRECTORS),
            self._point,
            gap,
            max_iterations=MAX_ITERATIONS,
            time_limit=time_limit,
        )
        self.iterations -= 1  # the start is no step
        for point, _ in walk:
            self._point = point
            self.iterations += 1
        hosted, served = self.form.point_of(self._point)
        hosted, served = self.program.repaired(hosted, served)
        prices = self.form.prices_of(self._point)
        return Restricted(self.program.value(served), {"x": hosted, "q": served}, prices)

    def bound(self, prices: Floats) -> Priced[None]:
        """Return the bound that capacity prices prove; nothing is ever left out of the master."""
        return Priced(self.program.bound(prices), None)

    def add(self, columns: None) -> int:
        """Add nothing: all columns are there."""
        return 0

    def complete(self, values: Any) -> Any:
        """Return the values: no column came later."""
        return values

    def whole(self, pricing: Callable[[Any], Priced[Any]]) -> CooperativeProgram:
        """Return the program, which certifies points and prices itself."""
        return self.program


@functools.cache
def compile_kernels() -> None:
    """Compile or load all kernels once per process, on the smallest of programs.

    Called before a clock is started: the time of a solve should not depend on being the first.
    """
    zero, one = np.zeros(1, dtype=np.int64), np.ones(1)
    ends = np.array([0, 1])
    program = CooperativeProgram(
        weight=one, requests=np.ones((1, 1)), type_first=ends, cell_first=ends, option_first=ends,
        cell=zero, gain=one, capacity=np.ones((1, 1)), copies=one, size=2.0 * one, node=zero,
        budget=one, offer=zero, option=zero,
    )  # fmt: skip
    master = CooperativeMaster(program)
    master.bound(master.solve(0.1, None).duals)
