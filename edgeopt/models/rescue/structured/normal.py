"""Normal equations of P1-LP in band form, with the long reserved windows as a border."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack

from edgeopt.models.rescue import kernels
from edgeopt.models.rescue.structured import band as banded
from edgeopt.models.rescue.structured import maps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.rescue.structured.columns import ColumnSet

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["Normal", "ReservedColumns", "Rows", "Sizes"]

# A relative lift of the diagonal: small enough to leave 12 digits, large enough to survive
# columns whose weight has vanished.
LIFT = 1e-13


@dataclass(frozen=True)
class Sizes:
    """Numbers of slots T, devices J and servers K."""

    slots: int
    devices: int
    servers: int


@dataclass(frozen=True)
class ReservedColumns:
    """The x columns: one per (reserved task, slot of its window).

    Parameters
    ----------
    task
        `[n]`, reserved task of each column, nondecreasing.
    row
        `[n]`, occupancy row `slot * servers + server`.
    share
        `[n]`, part of the task's demand that a whole slot serves, `c[k, t] / demand`.
    tasks
        Number of reserved tasks with positive demand.
    """

    task: Ints
    row: Ints
    share: Floats
    tasks: int


class Rows(NamedTuple):
    """One number per row of P1-LP, those of (3a), of (3b) slot by slot, and of (2d)."""

    arrival: Floats
    occupancy: Floats
    reserved: Floats


class Normal:
    """Factorised normal matrix of one interior-point iteration.

    Eliminating the (3a) multipliers, then those of the reserved tasks whose window is no longer
    than a run, leaves a band over (slot, server). Tasks with longer windows would widen the band,
    so they stay outside as a border and are solved by their Schur complement.

    Parameters
    ----------
    columns
        Retraining columns.
    survival
        Shape [L, D].
    sizes
        T, J and K.
    reserved
        The x columns.
    """

    def __init__(
        self,
        columns: ColumnSet,
        survival: Floats,
        sizes: Sizes,
        reserved: ReservedColumns,
    ) -> None:
        self._columns = (columns.indptr, columns.cell)
        self._survival = survival
        self._sizes = sizes
        self._reserved = reserved
        reach = min(survival.shape[1], sizes.slots)
        self._band = np.zeros((sizes.slots * sizes.servers, reach * sizes.servers))
        starts = np.searchsorted(reserved.task, np.arange(reserved.tasks + 1))
        self._window = [slice(a, b) for a, b in pairwise(starts)]
        # Slots that reserved work fills are left out of a window: its span counts, not its length.
        slot = reserved.row // sizes.servers
        span = slot[starts[1:] - 1] - slot[starts[:-1]] + 1
        self._inside = np.flatnonzero(span <= reach)
        self._border = np.flatnonzero(span > reach)

    def factorise(
        self,
        weight: Floats,
        row_weight: Floats,
        reserved_weight: Floats,
        idle_weight: Floats,
        surplus_weight: Floats,
    ) -> None:
        """Assemble and factorise for the given column weights (primal over dual slack)."""
        band, res = self._band, self._reserved
        band[:] = 0.0
        self._weight, self._row_weight = weight, row_weight
        banded.assemble_band(
            *self._columns,
            weight,
            row_weight,
            self._survival,
            self._sizes.devices,
            self._sizes.servers,
            band,
        )
        band[:, 0] += idle_weight
        np.add.at(band[:, 0], res.row, reserved_weight)
        self._coupling = reserved_weight * res.share
        self._own = surplus_weight + np.bincount(
            res.task, self._coupling * res.share, minlength=res.tasks
        )
        for i in self._inside:
            part = self._window[i]
            rows, coupling = res.row[part], self._coupling[part]
            for a in range(rows.size):
                band[rows[a], rows[a:] - rows[a]] -= coupling[a] * coupling[a:] / self._own[i]
        band[:, 0] *= 1.0 + LIFT
        self._factor = self._cholesky()
        if self._border.size:
            self._outside = np.zeros((band.shape[0], self._border.size))
            for column, i in enumerate(self._border):
                part = self._window[i]
                self._outside[res.row[part], column] = self._coupling[part]
            self._swept = self._band_solve(self._outside)
            schur = np.diag(self._own[self._border]) - self._outside.T @ self._swept
            schur[np.diag_indices_from(schur)] *= 1.0 + LIFT
            self._schur = cho_factor(schur, lower=True)

    def _cholesky(self) -> Floats:
        # LAPACK wants the band column by column: exactly the rows of our C-ordered array.
        lift = LIFT
        while lift < 1.0:
            factor, info = lapack.dpbtrf(self._band.T, lower=1)
            if info == 0:
                return factor  # type: ignore[no-any-return]
            lift *= 100.0
            self._band[:, 0] *= 1.0 + lift
        raise FloatingPointError("the normal matrix has lost its positive definiteness")

    def _band_solve(self, right: Floats) -> Floats:
        solution, _ = lapack.dpbtrs(self._factor, right, lower=1)
        return solution  # type: ignore[no-any-return]

    def solve(self, right: Rows) -> Rows:
        """Multiplier step for the right-hand side `right`."""
        res, survival = self._reserved, self._survival
        scaled = right.arrival / self._row_weight
        load = np.zeros((self._sizes.slots, survival.shape[0] * self._sizes.servers))
        maps.load_scaled(*self._columns, self._weight, scaled, self._sizes.devices, load)
        taken = np.empty((self._sizes.slots, self._sizes.servers))
        kernels.occupancy(load, survival, taken)
        reduced = right.occupancy - taken.ravel()
        inside = np.zeros(res.tasks)
        inside[self._inside] = right.reserved[self._inside] / self._own[self._inside]
        reduced -= np.bincount(res.row, self._coupling * inside[res.task], minlength=reduced.size)
        step = self._band_solve(reduced)
        reserved_step = inside
        if self._border.size:
            outer = cho_solve(self._schur, right.reserved[self._border] - self._outside.T @ step)
            step = step - self._swept @ outer
            reserved_step[self._border] = outer
        back = np.bincount(res.task, self._coupling * step[res.row], minlength=res.tasks)
        reserved_step[self._inside] -= back[self._inside] / self._own[self._inside]
        run_price = np.empty_like(load)
        kernels.price_runs(
            step.reshape(self._sizes.slots, self._sizes.servers), survival, run_price
        )
        arrival = np.empty_like(scaled)
        maps.weighted_price(*self._columns, self._weight, run_price, self._sizes.devices, arrival)
        return Rows((right.arrival - arrival) / self._row_weight, step, reserved_step)
