"""Follow the pressure whose starts would do best over sampled futures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

import numpy as np

from edgeopt.models.tapfinger.list_scheduling import drawn_moves, least_flow, searched
from edgeopt.online.simulate import Deterministic, IgnoresFeedback, Titled
from edgeopt.online.tapfinger.events import Decision
from edgeopt.online.tapfinger.policies.efficient_bundles import (
    coming_outages,
    estimates,
    free_ahead,
)
from edgeopt.online.tapfinger.policies.reservation import ReservationSpt
from edgeopt.options import check_real, check_whole, refused
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Round
    from edgeopt.online.tapfinger.policies.efficient_bundles import Estimates, Information


PRESSURES: Final = (1.0, 0.5, 2.0)
"""Pressures between which to choose by default, the usual one first."""

PLANNED: Final = np.array([0.0, 2.0])
"""Pressures of the plans that tell what a decision leads to."""


class _Future(NamedTuple):
    """Tasks that wait or may come, in the order of their arrival, and durations."""

    slots: Ints  # slots that a task takes with each bundle of the estimates, shape [B]
    arrival: Ints  # slots from now, shape [m]
    kind: Ints
    eligible: NDArray[np.bool_]
    weight: NDArray[np.float64]


@compact_repr
@dataclass(frozen=True, eq=False, kw_only=True)
class FutureRollout(Titled, Deterministic, IgnoresFeedback):
    r"""In every round, take the decision that does best over sampled futures.

    Candidates are the decisions of `ReservationSpt` with several pressures and, for each future,
    what the best plan found for it starts now. In each of the futures, the same for all candidates,
    whatever would then still wait and would come is planned by lists; the candidate of least mean
    weighted sum of completions is taken, the first of equals.

    A future has a Poisson number of arrivals in each slot to come, with the mean number of those so
    far; kinds, eligible clusters and weights are those of tasks that have come, drawn again.

    Parameters
    ----------
    samples
        Futures.
    reach
        Slots to come in which tasks arrive in them; 0 for none.
    pressures
        Those of the candidates, see `ReservationSpt`.
    moves
        Moves of the search for the plan of each future, see `best_list`; None for no such plans.
    seed
        Seed of the futures.

    Raises
    ------
    OptionError
        If there is no future or no pressure, or another option is negative.

    Notes
    -----
    Not a published rule, and without a proven ratio. Plans know the future in which they are made,
    so they are too good, and about as much for all candidates. It knows the durations that
    `ReservationSpt` knows; where there is noise, their means are rounded up in as large a part of
    the futures as they exceed whole slots.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.tapfinger import FutureRollout, TapFingerEnvironment
    >>> simulate(TapFingerEnvironment(small(1)), FutureRollout(), runs=5)
    TapFingerTrajectory(FutureRollout, 5 scenarios, 9 slots, mean reward 14)
    """

    title: ClassVar[str] = "FutureRollout"
    preemptive: ClassVar[bool] = False
    information: ClassVar[Information] = "durations"

    samples: int = 8
    reach: int = 12
    pressures: tuple[float, ...] = PRESSURES
    moves: int | None = 50
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole("samples", self.samples, 1)
        check_whole("reach", self.reach)
        check_whole("moves", self.moves, none=True)
        check_whole("seed", self.seed)
        if not isinstance(self.pressures, tuple | list) or not self.pressures:
            raise refused("pressures", self.pressures, "must be several numbers, at least one")
        for place, pressure in enumerate(self.pressures):
            check_real(f"pressures[{place}]", pressure, "[0, inf)")

    def start(self, instance: TapFingerInstance) -> Estimates:
        """Return what is expected of the tasks."""
        return estimates(instance)

    def decide(
        self, state: Estimates, observation: Round, rng: np.random.Generator
    ) -> tuple[Decision, Estimates]:
        """Answer a round."""
        futures = self._futures(state, observation)
        held = _held(state, observation)
        found: dict[bytes, Decision] = {}
        for decision in self._candidates(state, observation, held, futures, rng):
            key = np.column_stack([decision.task, decision.bundle]).tobytes()
            found.setdefault(key, decision)
        candidates = list(found.values())
        if len(candidates) == 1:
            return candidates[0], state
        # Rollout with common random numbers (Bertsekas and Castanon, 1999).
        costs = [_cost(state, observation, held, one, futures) for one in candidates]
        return candidates[int(np.argmin(costs))], state

    def _candidates(
        self, state: Estimates, seen: Round, held: Ints, futures: list[_Future],
        rng: np.random.Generator,
    ) -> Iterator[Decision]:  # fmt: skip
        for pressure in self.pressures:
            yield ReservationSpt(pressure=pressure).decide(state, seen, rng)[0]
        if self.moves is None or not seen.tasks.waits.any():
            return
        draw = np.random.default_rng([self.seed, seen.slot, seen.number, 1])
        for future in futures:
            planned = _planned(state, seen, held, future, draw, self.moves)
            # Where nothing runs, waiting could go on for ever.
            if (planned.task >= 0).any() or seen.running.task.size:
                yield planned

    def _futures(self, state: Estimates, seen: Round) -> list[_Future]:
        """Draw futures, which begin with the tasks that wait."""
        draw = np.random.default_rng([self.seed, seen.slot, seen.number])
        tasks, rate = seen.tasks, seen.tasks.arrival.size / (seen.slot + 1)
        waiting = np.flatnonzero(tasks.waits)
        futures = []
        for sample in range(self.samples):
            # Means of durations are rounded up in as large a part of the futures as they exceed.
            up = (sample + 0.5) / self.samples
            slots = np.maximum(1, np.floor(state.duration + up)).astype(np.int64)
            count = draw.poisson(rate, self.reach)
            again = draw.integers(0, tasks.arrival.size, int(count.sum()))
            both = np.concatenate([waiting, again])
            later = np.repeat(np.arange(1, self.reach + 1), count)
            arrival = np.concatenate([np.zeros(waiting.size, dtype=np.int64), later])
            futures.append(
                _Future(slots, arrival, tasks.kind[both], tasks.eligible[both], tasks.weight[both])
            )
        return futures


def _held(state: Estimates, seen: Round) -> Ints:
    """Return what running tasks hold in the slots to come, shape [L, N, 2]."""
    instance, running = state.instance, seen.running
    assert instance.slowing is not None
    ahead = free_ahead(
        seen.free, running.cluster, running.bundle, running.progress, running.task,
        seen.tasks.kind, instance.speed, instance.slowing, state.ahead,
        coming_outages(instance, seen.slot, state.ahead), instance.capacity,
    )  # fmt: skip
    return np.asarray((instance.capacity[:, None] - ahead).swapaxes(0, 1))


def _planned(
    state: Estimates,
    seen: Round,
    held: Ints,
    future: _Future,
    draw: np.random.Generator,
    tries: int,
) -> Decision:
    """Return what the best plan found for a future starts now, one task per cluster."""
    instance, waiting = state.instance, np.flatnonzero(seen.tasks.waits)
    shown = np.asarray((seen.pending == waiting[:, None, None]).any(axis=2))
    eligible = np.concatenate([shown, future.eligible[waiting.size :]])
    some = np.flatnonzero(eligible.any(axis=1))  # the others wait behind the pending sets
    moves = drawn_moves(draw, some.size, tries, PLANNED.size)
    cluster, option, start = searched(
        np.arange(some.size)[None], PLANNED, *moves, future.arrival[some], future.kind[some],
        future.weight[some], eligible[some], instance.capacity, held, seen.started,
        instance.single_start, state.first, state.bundle, state.slots,
    )  # fmt: skip
    decision = Decision.void(instance.clusters)
    for i in np.flatnonzero((start == 0) & (some < waiting.size)).tolist():
        n = cluster[i]
        if decision.task[n] < 0:
            decision.task[n], decision.bundle[n] = waiting[some[i]], state.bundle[option[i]]
    return decision


def _cost(
    state: Estimates, seen: Round, held: Ints, decision: Decision, futures: list[_Future]
) -> float:
    """Return the sum over futures of what is complete when, by weight, after a decision."""
    instance, started = state.instance, seen.started.copy()
    gone = np.zeros(seen.tasks.waits.size, dtype=bool)
    begun: list[tuple[int, int, float]] = []  # cluster, entry of the estimates, weight
    for n in np.flatnonzero(decision.task >= 0).tolist():
        j = int(decision.task[n])
        place = n * instance.task_kinds + int(seen.tasks.kind[j])
        first, last = state.first[place : place + 2].tolist()
        same = (state.bundle[first:last] == decision.bundle[n]).all(axis=1)
        begun.append((n, first + int(np.argmax(same)), float(seen.tasks.weight[j])))
        gone[j], started[n] = True, True
    # What else waits starts in the next slot at the earliest if this is the last round.
    soonest = int(instance.single_start or not begun)
    kept, total = ~gone[seen.tasks.waits], 0.0
    for future in futures:
        taken = held.copy()
        for n, b, weight in begun:
            taken[: future.slots[b], n] += state.bundle[b]
            total += weight * float(future.slots[b])
        left = np.ones(future.arrival.size, dtype=bool)
        left[: kept.size] = kept
        arrival, weights = np.maximum(future.arrival[left], soonest), future.weight[left]
        total += float((arrival - future.arrival[left]) @ weights)
        total += least_flow(
            PLANNED, arrival, future.kind[left], weights, future.eligible[left],
            instance.capacity, taken, started, instance.single_start, state.first, state.bundle,
            future.slots,
        )  # fmt: skip
    return total
