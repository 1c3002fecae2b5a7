r"""What the requests of a frame cost, given its training: a convex function, and cuts below it.

Training takes energy from the budget of a frame and computation from its sites. What requests then
cost, unserved ones included, is convex in the rounds, and the prices of energy and computation at
one point bound it from below at every other:

.. math:: V^t(x) \ge v + \nu\, (e^t)^\top (x - x') + \sum_k \mu_k\, \zeta_k^\top (x - x').
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from edgeopt.errors import ScalingWarning
from edgeopt.models.edr.penalties import late_price, unserved_price
from edgeopt.models.edr.routing import Penalties, RoutingPlan, conditions, routing_problem
from edgeopt.models.edr.routing.network_simplex import solve_by_network
from edgeopt.solvers import LabelBlock, LinearProgram, solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.models.edr.routing import RoutingProblem
    from edgeopt.solvers import Solution


DEAR = 10.0
"""Price of energy beyond a cap, in units of what not serving would cost: it is never worth it."""


class _Cut(NamedTuple):
    """A lower bound on the cost of a frame's requests, linear in its rounds."""

    constant: float  # its value without training
    slope: NDArray[np.float64]  # what a round adds, shape [I]

    def at(self, rounds: NDArray[np.float64]) -> float:
        """Return the bound for given rounds, shape [I]."""
        return self.constant + float(self.slope @ rounds)


class Served(NamedTuple):
    """How the requests of a frame are served, given its training."""

    value: float  # cost of serving, unserved requests at their price
    energy: float  # energy of the requests, Wh
    delay: float  # delays of all requests together, s
    unserved: NDArray[np.float64]  # requests of each type that are not served, shape [N]
    load: NDArray[np.float64]  # computation of requests on each site, GFLOP, shape [J]
    type_cost: NDArray[np.float64]  # cost of the served requests of each type, shape [N]
    accurate: float  # served requests, each weighted by the accuracy of its site
    cut: _Cut  # A bound on the cost for all other rounds, which meets the cost here


class FrameRecourse:
    """The cost of the requests of one frame as a function of its rounds, within its cap, Wh."""

    def __init__(self, instance: EdrInstance, frame: int, cap: float) -> None:
        self.instance, self.frame, self.cap = instance, frame, cap
        self.energy = instance.round_energy[frame]
        self.room = instance.slots * instance.capacity
        self.price = unserved_price(instance)
        self._problem: RoutingProblem | None = None
        self._last: RoutingPlan | None = None
        self.alone = self._solve(np.zeros(instance.tasks))
        if not np.isfinite(cap):
            self._problem = self._last = None

    @property
    def worst(self) -> float:
        """Cost of serving nothing, which no plan need exceed."""
        asked = self.instance.requests[self.frame].sum(axis=(0, 1))
        return float(asked @ self.price)

    def at(self, rounds: Floats) -> Served:
        """Route the requests, given the rounds."""
        alone = self.alone
        fits = float(self.energy @ rounds) + alone.energy <= self.cap
        if fits and (alone.load + rounds @ self.instance.round_work <= self.room).all():
            # The cheapest routing without training is still feasible.
            return alone
        return self._solve(rounds)

    def _solve(self, rounds: Floats) -> Served:
        instance = self.instance
        problem = self._shifted() if self._problem is None else self._problem
        self._problem = problem
        left = max(self.cap - float(self.energy @ rounds), 0.0)
        room = np.maximum(self.room - rounds @ instance.round_work, 0.0)
        problem = problem.replace(budget=left, room=room)
        unserved = float(self.price.max(initial=0.0))
        spent = problem.energy[problem.energy > 0]
        dearest = unserved + float(np.abs(problem.cost).max(initial=0.0))
        excess = DEAR * (dearest or 1.0) / float(spent.min(initial=np.inf)) if spent.size else 1.0
        plan = solve_by_network(problem, Penalties(unserved, excess), self._last)
        self._last = plan
        shift = float(((unserved - self.price) * problem.demand).sum())
        nu, mu = plan.energy_price, np.where(np.isfinite(problem.room), plan.prices.room, 0.0)
        constant = plan.bound - shift + mu @ (room - self.room)
        if np.isfinite(self.cap):
            constant += nu * (left - self.cap)
        slope = nu * self.energy + instance.round_work @ mu
        lost = plan.unserved.sum(axis=(0, 1))
        site, kind = plan.problem.site[plan.used], plan.row % instance.types
        unit = plan.problem.cost[plan.used] - (unserved - self.price)[kind]
        type_cost = np.bincount(kind, plan.amount * unit, instance.types).astype(np.float64)
        return Served(
            plan.objective - shift, plan.energy, plan.delay, lost, plan.load.sum(axis=0),
            type_cost,
            float(plan.amount @ instance.accuracy[site, kind]),
            _Cut(float(constant), slope),
        )  # fmt: skip

    def _shifted(self) -> RoutingProblem:
        """Return the routing problem of the frame with one price for all unserved requests.

        What a type is cheaper to leave unserved than the dearest one is added to its routes: all
        its requests pay that, whether they are served or not.
        """
        instance, t = self.instance, self.frame
        shown = [conditions(instance, t, s) for s in range(instance.slots)]
        problem = routing_problem(instance, shown, price=float(instance.price[t]), split="free")
        more = self.price.max(initial=0.0) - self.price
        return problem.replace(cost=problem.cost + more[problem.type])


class RoundsMaster:
    """A program over rounds, missing rounds, and one bound per frame that cuts push up.

    ``cap`` is the energy of each frame, Wh, shape [T], infinity allowed. ``floor`` and ``ceiling``
    are the cost of its requests without training, and with none of them served, shape [T].
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
        self.cuts: list[tuple[int, _Cut]] = []
        """Bounds on the cost of the requests of frames."""

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
        for row, (t, cut) in enumerate(self.cuts):
            own, scale = self._of[t], 1.0 / self.unit
            entries.append((np.full(own.size, height + row), own, -scale * cut.slope[task[own]]))
        cut_frame = np.array([t for t, _ in self.cuts], dtype=np.int64)
        cut_row = height + np.arange(cut_frame.size)
        entries.append((cut_row, theta[cut_frame], np.ones(cut_row.size)))
        height += cut_row.size
        constant = np.array([cut.constant for _, cut in self.cuts]) / self.unit
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
        """Return frames and sites where training alone could exceed the capacity."""
        instance = self.instance
        most = (instance.active * instance.rounds) @ instance.round_work
        return np.argwhere(most > instance.slots * instance.capacity)
