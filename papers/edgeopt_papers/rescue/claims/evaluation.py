"""What the claims read of an instance: the plan, its value functions and its occupancy."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.instances.rescue import RescueInstance, ReservedTasks
from edgeopt_papers.claims.paper import Paper
from edgeopt_papers.rescue.claims import exhaustive
from edgeopt_papers.rescue.claims.recursion import (
    Values,
    auxiliary_by_slot,
    values_by_slot,
    values_by_turn,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from edgeopt.models.rescue import P1Solution
    from edgeopt_papers.rescue.claims.exhaustive import Decide
    from edgeopt_papers.rescue.claims.exhaustive.scenario import Scenario


def routed(
    routing: NDArray[np.float64],
    activation: NDArray[np.float64],
    threshold: NDArray[np.float64],
    *,
    guarded: bool = False,
) -> Decide:
    """Return Algorithm 1: draw a pair by the plan, accept above the threshold on an idle server."""
    y, value, leave = routing.tolist(), activation.tolist(), threshold.tolist()

    def decide(
        scenario: Scenario,
        slot: int,
        device: int,
        free: tuple[bool, ...],
        remaining: tuple[float, ...],
    ) -> list[tuple[float, tuple[int, int]]]:
        arrives = scenario.arrival[slot][device]
        return [
            (y[slot][device][k][profile] / arrives, (k, profile))
            for k in range(scenario.servers)
            for profile in range(scenario.profiles)
            if free[k]
            and y[slot][device][k][profile] > 0
            and value[slot][device][k][profile] > leave[slot][device][k]
            and (not guarded or scenario.safe(k, profile, slot, remaining))
        ]

    return decide


def best_advantage(
    activation: NDArray[np.float64],
    threshold: NDArray[np.float64],
    *,
    guarded: bool = False,
    margin: float | None = 1e-12,
    size: NDArray[np.float64] | None = None,
) -> Decide:
    """Return RESCUE+: take the pair of largest advantage over leaving its server idle."""
    leave = threshold[:, :, :, None]
    if size is None:
        size = np.maximum(np.abs(activation), np.abs(leave))
    least = -np.inf if margin is None else margin * size
    advantage = np.where(activation - leave > least, activation - leave, -np.inf).tolist()

    def decide(
        scenario: Scenario,
        slot: int,
        device: int,
        free: tuple[bool, ...],
        remaining: tuple[float, ...],
    ) -> list[tuple[float, tuple[int, int]]]:
        gain = advantage[slot][device]
        pairs = [
            (-gain[k][profile], k, profile)
            for k in range(scenario.servers)
            for profile in range(scenario.profiles)
            if free[k]
            and gain[k][profile] > -math.inf
            and (not guarded or scenario.safe(k, profile, slot, remaining))
        ]
        if not pairs:
            return []
        _, k, profile = min(pairs)
        return [(1.0, (k, profile))]

    return decide


NOISE = 1e-12
"""Share of all that arrivals could earn below which a profit is a solver's noise."""

RESOLVE_LIMIT = 10_000
"""Largest number of columns y, (t, j, k, l), for which a check may solve a second LP."""


class Evaluation:
    """An instance and its solved P1-LP, which is solved here if no plan is given."""

    def __init__(self, instance: RescueInstance, plan: P1Solution | None = None) -> None:
        self.instance = instance
        if plan is not None:
            self.__dict__["plan"] = plan

    @cached_property
    def plan(self) -> P1Solution:
        """Optimum of P1-LP."""
        from edgeopt.models.rescue import solve_p1_lp

        return solve_p1_lp(self.instance)

    @cached_property
    def forbidding(self) -> Evaluation:
        """The same instance planned with all unsafe pairs fixed to zero."""
        from edgeopt.models.rescue import solve_p1_lp

        return Evaluation(self.instance, solve_p1_lp(self.instance, forbid_unsafe=True))

    @cached_property
    def without_reserved(self) -> Evaluation:
        """The same instance without its reserved tasks."""
        if len(self.instance.reserved) == 0:
            return self
        return Evaluation(self.instance.replace(reserved=ReservedTasks.none()))

    @cached_property
    def other_ending(self) -> Evaluation:
        """The same instance with the other rule for runs that end after the horizon."""
        columns = math.prod(self.instance.shape[:4])
        if columns > RESOLVE_LIMIT:
            raise NotApplicableError(f"too large to solve the LP once more: {columns} columns")
        beyond = "drop" if self.instance.beyond == "hold" else "hold"
        return Evaluation(self.instance.replace(beyond=beyond))

    def routing(self, slot: int) -> NDArray[np.float64]:
        """Planned probabilities y of one slot, shape [J, K, L]."""
        return self._of_slot(self.plan.y, slot)

    @cached_property
    def routings(self) -> NDArray[np.float64]:
        """Planned probabilities y of all slots, shape [T, J, K, L]."""
        return np.stack([self.routing(t) for t in range(self.instance.horizon)])

    @cached_property
    def values(self) -> tuple[Any, NDArray[np.float64]]:
        """Activation [T, J, K, L] and baseline [K, T+1] of the plan, equations (4) to (6).

        As printed, even where arrivals are independent. The activation of a sparse plan is sparse.
        """
        from edgeopt.online.rescue import value_functions

        if self.instance.arrivals == "independent":
            published = values_by_slot(self.instance, self.routings)
            return published.activation, published.baseline
        activation, baseline = value_functions(self.instance, self.plan.y)
        return activation, baseline

    @cached_property
    def threshold(self) -> NDArray[np.float64]:
        """Value of an idle server after the slot, for every task of the slot, shape [T, J, K]."""
        after = self.values[1].T[1:, None, :]
        return np.broadcast_to(after, (*self.instance.arrival.shape, self.instance.servers))

    @cached_property
    def auxiliary(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Activation [T, K, L] and baseline [K, T+1] of the auxiliary instance, (7) and (8)."""
        return auxiliary_by_slot(self.instance, self.routings)

    @cached_property
    def synthetic(self) -> NDArray[np.float64]:
        """Probability of a synthetic task, the sum of y over devices, shape [T, K, L]."""
        return np.stack([self.routing(t).sum(axis=0) for t in range(self.instance.horizon)])

    @cached_property
    def planned_profit(self) -> NDArray[np.float64]:
        """Profit that the plan promises on each server, the sum of y R, shape [K]."""
        total = np.zeros(self.instance.servers)
        for t in range(self.instance.horizon):
            reward = self.instance.expected_profit_block(slice(t, t + 1))[0]
            total += np.einsum("jkl,jkl->k", self.routing(t), reward)
        return total

    @cached_property
    def promise(self) -> float:
        """Expected profit of every arrival on its best pair, whatever is busy."""
        return sum(
            float(self.instance.arrival[t] @ reward.max(axis=(1, 2)))
            for t in range(self.instance.horizon)
            for reward in self.instance.expected_profit_block(slice(t, t + 1))
        )

    def worthwhile(self, profit: Any) -> Any:
        """Tell of profits whether they are more than a solver's noise."""
        return profit > NOISE * self.promise

    @cached_property
    def occupancy(self) -> NDArray[np.float64]:
        r"""Planned occupation :math:`u_k(t)` of each slot by runs started before it, [K, T]."""
        planned, alive = self.synthetic, self.instance.survival
        occupied = np.zeros(planned.shape[:2])
        for age in range(1, min(alive.shape[1], len(planned))):
            occupied[age:] += planned[:-age] @ alive[:, age]
        return occupied.T

    @cached_property
    def microslot_occupancy(self) -> NDArray[np.float64]:
        """Planned occupation before each device's turn, shape [K, T, J]."""
        before = np.zeros((*self.occupancy.shape, self.instance.devices))
        for t in range(self.instance.horizon):
            routed = self.routing(t).sum(axis=2)
            before[:, t, 1:] = np.cumsum(routed, axis=0)[:-1].T
        return before + self.occupancy[:, :, None]

    @cached_property
    def earned(self) -> NDArray[np.float64]:
        """Expected profit of Algorithm 1 on each server, by forward recursion, shape [K]."""
        return self._forward(self.values[0], self.threshold)

    @cached_property
    def by_turn(self) -> Values:
        """Value functions of the variant that orders the tasks within a slot."""
        return values_by_turn(self.instance, self.routings)

    @cached_property
    def microslot_earned(self) -> NDArray[np.float64]:
        """Expected profit of the micro-slot variant on each server, shape [K]."""
        return self._forward(self.by_turn.activation, self.by_turn.threshold)

    @cached_property
    def offline(self) -> float:
        """Exact E[OPT(I)] of the scheduler that ignores reserved tasks."""
        return exhaustive.offline_optimum(self.instance)

    @cached_property
    def offline_pathwise(self) -> float:
        """Exact E[OPT(I)] of the scheduler that meets reserved tasks on every path."""
        return exhaustive.offline_optimum(self.instance, reserved="pathwise")

    @cached_property
    def offline_expected(self) -> float:
        """Exact E[OPT(I)] of the scheduler that meets reserved tasks on average."""
        return exhaustive.offline_optimum(self.instance, reserved="expected")

    @cached_property
    def online(self) -> float:
        """Exact value of the best online policy that ignores reserved tasks."""
        return exhaustive.online_optimum(self.instance)

    @cached_property
    def integer(self) -> float:
        """OPT(P1)."""
        from edgeopt.models.rescue import p1
        from edgeopt.solvers import solve

        exhaustive.require_enumerable(self.instance)
        return solve(p1(self.instance)).objective

    def algorithm(self, *, guarded: bool = False) -> Decide:
        """Return Algorithm 1 as a rule that can be enumerated, guarded or not."""
        exhaustive.require_enumerable(self.instance)
        return routed(self.routings, self.values[0], self.threshold, guarded=guarded)

    def improved(self, *, guarded: bool = False, margin: float | None = 1e-12) -> Decide:
        """Return RESCUE+ as a rule that can be enumerated, with the values of the slots."""
        exhaustive.require_enumerable(self.instance)
        return best_advantage(self.values[0], self.threshold, guarded=guarded, margin=margin)

    def improved_by_turn(self) -> Decide:
        """Return RESCUE+ as a rule that can be enumerated, with the values of the turns."""
        exhaustive.require_enumerable(self.instance)
        return best_advantage(self.by_turn.activation, self.by_turn.threshold)

    def against_bound(self, earned: float, certificate: Mapping[str, Any]) -> Measurement:
        """Compare a profit with half of OPT(LP), as a share of its proven bound.

        The guarantee is half of what the plan promises; with a plan of positive gap that is a
        little less than half of the bound.
        """
        if not self.worthwhile(self.plan.objective):
            raise NotApplicableError("bound is trivial: OPT(LP) = 0")
        bound = self.plan.bound
        proof = {**certificate, "objective": self.plan.objective, "bound": bound}
        return Measurement(earned / bound, 0.5 * self.plan.objective / bound, proof)

    def _of_slot(self, array: Any, slot: int) -> NDArray[np.float64]:
        """Return one slot, shape [J, K, L], of an array [T, J, K, L] or sparse [T*J, K*L]."""
        if isinstance(array, np.ndarray):
            return np.asarray(array[slot], dtype=float)
        devices = self.instance.devices
        rows = array[slot * devices : (slot + 1) * devices].toarray()
        return np.asarray(rows, dtype=float).reshape(self.instance.shape[1:4])

    def _forward(self, activation: Any, threshold: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum expected profits, servers apart, over accepted tasks.

        Devices take turns within a slot. Under exclusive arrivals a task finds the server as the
        slot found it; under independent ones an earlier device may have taken it.
        """
        instance = self.instance
        exclusive = instance.arrivals == "exclusive"
        started = np.zeros((instance.horizon, instance.servers, instance.profiles))
        total = np.zeros(instance.servers)
        for t in range(instance.horizon):
            reward = instance.expected_profit_block(slice(t, t + 1))[0]
            wanted = self.routing(t) * (self._of_slot(activation, t) > threshold[t][:, :, None])
            idle = np.ones(instance.servers)
            for age in range(1, min(t + 1, instance.max_duration)):
                idle -= started[t - age] @ instance.survival[:, age]
            for j in range(instance.devices):
                accepted = idle[:, None] * wanted[j]
                total += (accepted * reward[j]).sum(axis=1)
                started[t] += accepted
                if not exclusive:
                    idle = idle - accepted.sum(axis=1)
        return total


EXACT = 1e-7
"""Relative tolerance of identities between recursions that solve no LP."""

_paper = Paper("rescue", instance_type=RescueInstance, view=Evaluation)

claim, erratum = _paper.claim, _paper.erratum
