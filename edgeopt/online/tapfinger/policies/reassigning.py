"""What policies share that hand out the resources of a cluster anew in every round."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from edgeopt.kernels import compiled, put
from edgeopt.online.repeated import Deterministic
from edgeopt.online.tapfinger.events import Decision
from edgeopt.online.tapfinger.policies.settled import Settled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.online.tapfinger.events import Round

    Ints = NDArray[np.int64]

__all__ = ["Reassigning", "chosen_by_any", "enter", "oldest", "sharers"]


class Reassigning(Settled, Deterministic):
    """A policy that gives all tasks of a cluster new bundles in every round."""

    preemptive: ClassVar[bool] = True

    @abstractmethod
    def _assign(self, state: Any, observation: Round) -> tuple[Ints, Ints, Ints]:
        """Return the task that would join each cluster, its bundle, and those of running tasks."""

    def decide(
        self, state: Any, observation: Round, rng: np.random.Generator
    ) -> tuple[Decision, Any]:
        """Let one task join each cluster, if there is room, and give its tasks new bundles.

        A task that would be given nothing does not join.
        """
        task, bundle, other = self._assign(state, observation)
        held = observation.running.bundle
        moved = np.flatnonzero((other != held).any(axis=1))
        decision = Decision(
            np.where(bundle.any(axis=1), task, -1),
            bundle,
            changed=observation.running.task[moved],
            other=other[moved],
        )
        return decision, state


@compiled
def chosen_by_any(task: int, chosen: Ints) -> bool:
    """Return whether some cluster has chosen a task."""
    found = False
    for other in chosen:
        found |= other == task
    return found


@compiled
def oldest(pending: Ints, chosen: Ints) -> int:
    """Return the oldest pending task that no other cluster has chosen, -1 if there is none."""
    for j in pending:
        if j >= 0 and not chosen_by_any(j, chosen):
            return int(j)
    return -1


@compiled
def sharers(
    n: int, capacity: Ints, minimum: Ints, pending: Ints, chosen: Ints, kind: Ints, task: Ints,
    cluster: Ints,
) -> tuple[Ints, Ints]:  # fmt: skip
    """Return the tasks that are to share a cluster, in the order of their placement.

    The last one may be the oldest pending task of the cluster, which joins if the smallest bundles
    of all, its own included, fit into the cluster.
    """
    number, place = np.empty(task.size + 1, np.int64), np.empty(task.size + 1, np.int64)
    count = 0
    cpu, gpu = capacity[n, 0], capacity[n, 1]
    for i in range(task.size):
        if cluster[i] == n:
            number[count], place[count] = task[i], i
            cpu -= minimum[kind[task[i]], 0]
            gpu -= minimum[kind[task[i]], 1]
            count += 1
    j = oldest(pending[n], chosen)
    if j >= 0 and minimum[kind[j], 0] <= cpu and minimum[kind[j], 1] <= gpu:
        number[count], place[count] = j, -1
        count += 1
    return number[:count], place[:count]


@compiled(writes="new new_bundle other")
def enter(
    n: int, number: Ints, place: Ints, bundle: Ints, new: Ints, new_bundle: Ints, other: Ints
) -> None:
    """Enter the bundles of `sharers`: in `other` by place, in `new` for the one that joins."""
    for i in range(number.size):
        if place[i] >= 0:
            put(bundle[i], other[place[i]])
        else:
            new[n] = number[i]
            put(bundle[i], new_bundle[n])
