"""Rounds over all frames against lower bounds on what the requests of each frame then cost."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from edgeopt.errors import ScalingWarning
from edgeopt.models.edr.penalties import late_price
from edgeopt.solvers import LabelBlock, LinearProgram, solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.models.edr.recourse import Cut
    from edgeopt.solvers import Solution

    Floats = NDArray[np.float64]

__all__ = ["RoundsMaster"]


class RoundsMaster:
    """A program over rounds, missing rounds, and one bound per frame that cuts push up.

    Parameters
    ----------
    instance
        What is given.
    cap
        Energy of each frame, Wh, infinity allowed, shape [T].
    floor, ceiling
        Cost of the requests of each frame without training, and with none of them served,
        shape [T].
    """

    def __init__(self, instance: EdrInstance, cap: Floats, floor: Floats, ceiling: Floats) -> None:
        self.instance, self.cap = instance, cap
        self.pairs = np.argwhere(instance.active)
        self.late = late_price(instance)
        self.floor, self.ceiling = floor, np.maximum(ceiling, floor)
        most = float(self.late @ instance.rounds)
        # Tolerances of solvers are absolute; in these units a solution costs about 1000.
        self.unit = (float(np.abs(floor).sum()) + most) / 1000.0 or 1.0
        self._of: list[NDArray[np.int64]] = [
            np.flatnonzero(self.pairs[:, 0] == t) for t in range(instance.frames)
        ]
        self._cuts: list[tuple[int, Cut]] = []

    def __len__(self) -> int:
        return len(self._cuts)

    def add(self, frame: int, cut: Cut) -> None:
        """Add a bound on the cost of the requests of a frame."""
        self._cuts.append((frame, cut))

    def solve(self, *, relax: bool, **options: Any) -> Solution:
        """Solve the program as it stands; its objective and bound are in the unit of costs."""
        with warnings.catch_warnings():
            # The program is the method's own: its caller can do nothing about its coefficients.
            warnings.simplefilter("ignore", ScalingWarning)
            solution = solve(self.program(relax=relax), **options)
        return replace(
            solution, objective=solution.objective * self.unit, bound=solution.bound * self.unit
        )

    def rounds(self, values: Floats) -> Floats:
        """Return the rounds that a solution contains, shape [T, I]."""
        rounds = np.zeros((self.instance.frames, self.instance.tasks))
        rounds[tuple(self.pairs.T)] = values[: len(self.pairs)]
        return rounds

    def program(self, *, relax: bool) -> LinearProgram:
        """Build the program: columns x, missing rounds, then a bound per frame."""
        instance = self.instance
        frame, task = self.pairs.T
        count, tasks, frames = frame.size, instance.tasks, instance.frames
        x = np.arange(count)
        theta = count + tasks + np.arange(frames)
        capped = np.flatnonzero(np.isfinite(self.cap))
        cap_row = np.full(frames, -1)
        cap_row[capped] = tasks + np.arange(capped.size)
        mine = np.flatnonzero(cap_row[frame] >= 0)
        entries = [
            (task, x, np.ones(count)),
            (np.arange(tasks), count + np.arange(tasks), np.ones(tasks)),
            (cap_row[frame[mine]], x[mine], instance.round_energy[frame, task][mine]),
        ]
        height = tasks + capped.size
        held = self._held()
        for row, (t, k) in enumerate(held.tolist()):
            own = self._of[t]
            entries.append(
                (np.full(own.size, height + row), own, instance.round_work[task[own], k])
            )
        height += len(held)
        for row, (t, cut) in enumerate(self._cuts):
            own, scale = self._of[t], 1.0 / self.unit
            entries.append((np.full(own.size, height + row), own, -scale * cut.slope[task[own]]))
        cut_frame = np.array([t for t, _ in self._cuts], dtype=np.int64)
        cut_row = height + np.arange(cut_frame.size)
        entries.append((cut_row, theta[cut_frame], np.ones(cut_row.size)))
        height += cut_row.size
        constant = np.array([cut.constant for _, cut in self._cuts]) / self.unit
        rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
        matrix = sparse.csc_array((values, (rows, columns)), shape=(height, count + tasks + frames))
        matrix.eliminate_zeros()
        open_rows = np.full(capped.size + len(held), -np.inf)
        room = instance.slots * instance.capacity[held[:, 1]]
        return LinearProgram(
            np.concatenate(
                [instance.round_cost[frame, task] / self.unit, self.late / self.unit,
                 np.ones(frames)]
            ),
            matrix,
            np.concatenate([instance.rounds, open_rows, constant]),
            np.concatenate(
                [instance.rounds, self.cap[capped], room, np.full(constant.size, np.inf)]
            ),
            np.concatenate([np.zeros(count + tasks), self.floor / self.unit]),
            np.concatenate(
                [instance.rounds[task], instance.rounds, self.ceiling / self.unit]
            ),
            integer=False if relax else np.arange(count + tasks + frames) < count,
            row_names=[
                LabelBlock("eq_1a", ("task",), (tasks,)),
                LabelBlock("eq_1b", ("frame",), capped[:, np.newaxis]),
                LabelBlock("eq_1g", ("frame", "site"), held),
                LabelBlock("cut", ("frame", "number"),
                           np.column_stack([cut_frame, np.arange(cut_frame.size)])),
            ],
            column_names=[
                LabelBlock("x", ("frame", "task"), self.pairs),
                LabelBlock("missing", ("task",), (tasks,)),
                LabelBlock("requests", ("frame",), (frames,)),
            ],
        )  # fmt: skip

    def _held(self) -> NDArray[np.int64]:
        """Return frames and sites where training alone could ask for more than there is."""
        instance = self.instance
        most = (instance.active * instance.rounds) @ instance.round_work
        return np.argwhere(most > instance.slots * instance.capacity)
