r"""The relaxed training problem that Algorithm 1 solves, and the constants of its analysis.

.. math:: \min \sum_t c^t \cdot x^t \quad \text{s.t.} \quad \sum_t g^t(x^t) \le 0, \quad
    e^t \cdot x^t \le R^t, \quad 0 \le x^t \le u, \qquad g^t_i(x) = a^t_i - x_i

for the tasks that may train in a frame, and 0 for the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeopt_papers.claims.paper import hashed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats
    from edgeopt.instances.edr import EdrInstance


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Costs, energies and rates of the training tasks, frame by frame."""

    cost: Floats  # cost of a round c, shape [T, I]
    energy: Floats  # energy of a round e \ge 0, Wh, shape [T, I]
    cap: Floats  # energy R of each frame, Wh, infinity where there is none, shape [T]
    rate: Floats  # rounds per frame that are wanted on average, a, shape [T, I]
    active: NDArray[np.bool_]  # whether a task may train in a frame, shape [T, I]
    upper: Floats  # most rounds of a task in a frame, u, shape [I]

    @classmethod
    def of(cls, given: EdrInstance | Relaxed) -> Relaxed:
        """Read the problem off an instance; no task does more than all its rounds in a frame."""
        if isinstance(given, Relaxed):
            return given
        return cls(
            cost=given.round_cost,
            energy=given.round_energy,
            cap=given.cap,
            rate=np.where(given.active, given.even_rate, 0.0),
            active=given.active,
            upper=given.rounds.astype(float),
        )

    def fingerprint(self) -> str:
        """Return a hash of all numbers."""
        return hashed(self.cost, self.energy, self.cap, self.rate, self.active, self.upper)

    @property
    def frames(self) -> int:
        """Number of frames T."""
        return int(self.cost.shape[0])

    @property
    def tasks(self) -> int:
        """Number of tasks I."""
        return int(self.cost.shape[1])

    def missing(self, points: Floats) -> Floats:
        """Return the constraints :math:`g^t(x^t)` at points of shape [T, I], of that shape."""
        return np.where(self.active, self.rate - points, 0.0)

    def spent(self, points: Floats) -> Floats:
        """Return the energy of points of shape [T, I], Wh, shape [T]."""
        return np.asarray((self.energy * points).sum(axis=1))

    @cached_property
    def affordable(self) -> NDArray[np.bool_]:
        """Whether the even rates keep the cap of a frame, shape [T]."""
        return np.asarray(self.spent(self.rate) <= self.cap)

    @cached_property
    def steady(self) -> bool:
        """Whether there are tasks, and all of them may train in every frame."""
        return self.tasks > 0 and bool(self.active.all())

    # --- constants of the analysis -----------------------------------------------------------

    @cached_property
    def most(self) -> Floats:
        """Largest value that each entry of a point may have in some frame, shape [I]."""
        with np.errstate(divide="ignore", invalid="ignore"):
            alone = np.where(self.energy > 0, self.cap[:, None] / self.energy, np.inf)
        return np.asarray(np.minimum(self.upper, alone.max(axis=0, initial=0.0)))

    @property
    def diameter(self) -> float:
        """Distance that no two points exceed."""
        return float(np.linalg.norm(self.most))

    @property
    def gradient(self) -> float:
        """Largest norm F of the cost of a frame."""
        return float(np.linalg.norm(self.cost, axis=1).max())

    @property
    def constraints(self) -> float:
        """Largest norm U of the constraints of a frame, over all points."""
        far = np.where(self.active, np.maximum(self.rate, np.abs(self.rate - self.most)), 0.0)
        return float(np.linalg.norm(far, axis=1).max())

    @cached_property
    def drift(self) -> Floats:
        """Growth of the constraints from frame to frame, in norm, shape [T - 1]."""
        # At a point x the change is that of a - x where a task stays, and a - x or x - a where it
        # comes or goes; the most of it over the points of the box.
        now, then = self.active[:-1], self.active[1:]
        come = np.where(then & ~now, self.rate[1:], 0.0)
        gone = np.where(now & ~then, np.maximum(self.most - self.rate[:-1], 0.0), 0.0)
        stay = np.where(now & then, np.maximum(np.diff(self.rate, axis=0), 0.0), 0.0)
        return np.asarray(np.linalg.norm(come + gone + stay, axis=1))

    @property
    def path(self) -> float:
        """Length of the path of the even rates, which are the comparators if no cost is negative.

        The frame before the first has no comparator, so that the path starts with the second.
        """
        return float(np.linalg.norm(np.diff(self.rate, axis=0), axis=1).sum())

    @cached_property
    def slack(self) -> float:
        r"""Largest :math:`\epsilon` such that one point has :math:`g^t \le -\epsilon` always.

        It is not positive where a task may not train in some frame: there its constraint is 0.
        """
        if not self.steady:
            return 0.0
        wanted = self.rate.max(axis=0)
        left = self.cap - self.energy @ wanted
        per_unit = self.energy.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            spare = np.where(per_unit > 0, left / per_unit, np.inf)
        return float(min((self.upper - wanted).min(), spare.min()))
