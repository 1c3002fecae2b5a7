"""Listens to the iterations of a nonlinear solver."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np

from edgeopt.solvers.request import Progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgeopt.solvers.request import ProgressCallback

__all__ = ["IterationWatch"]


class IterationWatch(casadi.Callback):
    """Keeps the last iterate, and reports progress.

    Parameters
    ----------
    columns, rows
        Size of the problem.
    progress
        The caller's callback, or None.
    sign
        1 when minimising, -1 when maximising.
    """

    def __init__(
        self, columns: int, rows: int, progress: ProgressCallback | None, sign: float
    ) -> None:
        casadi.Callback.__init__(self)
        self.values: NDArray[np.float64] | None = None
        self._sizes = {"x": columns, "lam_x": columns, "f": 1, "g": rows, "lam_g": rows}
        self._progress = progress
        self._sign = sign
        self._iterations = 0
        self._start = time.perf_counter()
        self.construct("edgeopt_watch", {})

    def get_n_in(self) -> int:
        """Return how many results CasADi hands over."""
        return int(casadi.nlpsol_n_out())

    def get_n_out(self) -> int:
        """Return 1: whether to stop."""
        return 1

    def get_name_in(self, position: int) -> str:
        """Return the name of a result."""
        return str(casadi.nlpsol_out(position))

    def get_name_out(self, _: int) -> str:
        """Return the name of the answer."""
        return "stop"

    def get_sparsity_in(self, position: int) -> Any:
        """Return the shape of a result; empty for those that are not used."""
        size = self._sizes.get(str(casadi.nlpsol_out(position)), 0)
        return casadi.Sparsity.dense(size, 1) if size else casadi.Sparsity(0, 0)

    def eval(self, results: Sequence[Any]) -> list[int]:
        """Note the iterate and ask the caller whether to go on."""
        self._iterations += 1
        self.values = np.array(results[0]).reshape(-1)
        if self._progress is None:
            return [0]
        seconds = time.perf_counter() - self._start
        report = Progress.of(seconds, self._iterations, self._sign, float(results[1]))
        return [1 if self._progress(report) else 0]
