"""Baselines: an even rate, and tasks by deadline as fast as they go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.online.edr.events import Flows
from edgeopt.online.edr.policies.policy import EdrPolicy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.events import Frame, Slot
    from edgeopt.online.edr.policies.policy import EdrState


@dataclass(frozen=True, eq=False, kw_only=True)
class EvenRate(EdrPolicy[None]):
    """Train the rounds left over the frames left, rounded up, whatever they cost.

    It ignores prices and channels; a policy that uses them should do better.

    Notes
    -----
    Ours.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.edr import EdrEnvironment, EvenRate
    >>> simulate(EdrEnvironment(small(1)), EvenRate(), runs=5)
    EdrTrajectory(Even rate, 5 scenarios, 2 slots, mean reward 4757.97)
    """

    title: ClassVar[str] = "Even rate"

    def begin(self, instance: EdrInstance) -> None:
        """Remember nothing."""

    def requested_rounds(
        self, memory: None, frame: Frame, cap: float, rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], None]:
        """Request the even rate of what is left."""
        frames_left = np.maximum(frame.deadline - frame.frame + 1, 1)
        return frame.remaining / frames_left, None


ROUNDING = 1e-12
"""Share of what a site or budget had that counts as nothing left."""


class Ladder(NamedTuple):
    """Capable sites of each request type, by energy of a request."""

    first: Ints  # where each type begins in `site`, and its length, [N + 1]
    site: Ints  # sites; of equal energy, the lower number first
    room: Floats  # computation that training may use on each site in a frame, GFLOP, [J]


@dataclass(frozen=True, eq=False, kw_only=True)
class Greedy(EdrPolicy[Ladder]):
    """Finish tasks one after the other and serve requests one after the other, by energy alone.

    Tasks train by deadline, each as many rounds as the cap and the sites leave. Requests are
    served by origin and type, in this order, each by the capable site of least energy that meets
    the objective and has room, then by the next. Prices and delays are ignored. With
    ``elastic="shed"`` a request that would exceed the slot's energy budget stays unserved.

    Notes
    -----
    The baseline GREEDY of Zhu et al., section V, of which the paper gives the idea only.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.edr import EdrEnvironment, Greedy
    >>> simulate(EdrEnvironment(small(1)), Greedy(), runs=5)
    EdrTrajectory(Greedy, 5 scenarios, 2 slots, mean reward 4208.19)
    """

    title: ClassVar[str] = "Greedy"

    def begin(self, instance: EdrInstance) -> Ladder:
        """Order the capable sites of each type."""
        ordered = np.argsort(instance.request_energy, axis=0, kind="stable")
        sites = [ordered[instance.capable[ordered[:, n], n], n] for n in range(instance.types)]
        first = np.concatenate([[0], np.cumsum([some.size for some in sites])])
        room = self.training_room * instance.slots * instance.capacity
        return Ladder(first.astype(np.int64), np.concatenate(sites).astype(np.int64), room)

    def requested_rounds(
        self, memory: Ladder, frame: Frame, cap: float, rng: np.random.Generator
    ) -> tuple[Ints, Ladder]:
        """Request all that fits, task after task by deadline."""
        order = np.lexsort((np.arange(frame.deadline.size), frame.deadline))
        rounds = np.zeros_like(frame.remaining)
        _fill(order, frame.remaining, frame.round_energy, frame.round_work, cap,
              memory.room.copy(), rounds)  # fmt: skip
        return rounds, memory

    def route(self, state: EdrState[Ladder], slot: Slot, budget: float) -> Flows:
        """Serve origin after origin, type after type."""
        instance, seen = state.instance, slot.conditions
        # A flow ends a request, fills a site, or uses up the budget.
        most = np.count_nonzero(seen.requests) + instance.sites + 1
        origin, site, kind = np.empty((3, most), dtype=np.int64)
        amount = np.empty(most)
        used = _serve(
            state.memory.first, state.memory.site, *seen, instance.request_work,
            instance.request_size, instance.speed, instance.request_energy,
            instance.capacity - slot.training / instance.slots,
            budget if self.elastic == "shed" else np.inf, origin, site, kind, amount,
        )  # fmt: skip
        return Flows(origin[:used], site[:used], kind[:used], amount[:used])


@compiled(writes="room rounds")
def _fill(
    order: Ints, most: Ints, energy: Floats, work: Floats, cap: float, room: Floats, rounds: Ints
) -> None:
    """Fill in as many rounds as energy and sites leave, task after task."""
    left = cap
    for i in order:
        count = most[i]
        if energy[i] > 0.0 and left < np.inf:
            count = min(count, int(np.floor(left / energy[i] * (1.0 + ROUNDING))))
        for j in range(room.size):
            if work[i, j] > 0.0:
                count = min(count, int(np.floor(room[j] / work[i, j] * (1.0 + ROUNDING))))
        rounds[i] = count
        left = max(left - count * energy[i], 0.0)
        for j in range(room.size):
            room[j] = max(room[j] - count * work[i, j], 0.0)


@compiled(writes="origin site type_ amount")
def _serve(
    first: Ints,
    ladder: Ints,
    requests: Floats,
    propagation: Floats,
    slo: Floats,
    rate: Floats,
    work: Floats,
    size: Floats,
    speed: Floats,
    energy: Floats,
    room: Floats,
    budget: float,
    origin: Ints,
    site: Ints,
    type_: Ints,
    amount: Floats,
) -> int:
    """Fill in the flows, and return how many there are."""
    free = room.copy()
    full = ROUNDING * room
    used = 0
    for j in range(requests.shape[0]):
        for n in range(requests.shape[1]):
            left = requests[j, n]
            for at in range(first[n], first[n + 1]):
                if left <= 0.0:
                    break
                k = ladder[at]
                if free[k] <= full[k] or rate[j, k] <= 0.0:
                    continue
                travel = propagation[j, k] + propagation[k, j]
                if travel + work[n] / speed[k] + size[n] / rate[j, k] > slo[n]:
                    continue
                taken = min(left, free[k] / work[n])
                spends = energy[k, n] > 0.0
                if spends:
                    taken = min(taken, budget / energy[k, n])
                if taken <= 0.0:
                    continue
                origin[used], site[used], type_[used] = j, k, n
                amount[used] = taken
                used += 1
                # What sets a limit is used up to the last digit, so that flows stay few.
                if taken * work[n] >= free[k] - full[k]:
                    free[k] = 0.0
                else:
                    free[k] -= taken * work[n]
                if spends:
                    budget -= taken * energy[k, n]
                    if budget <= ROUNDING * energy[k, n] * taken:
                        budget = 0.0
                left -= taken
    return used
