"""A policy that does anything at random: it starts tasks, changes their bundles, pauses them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgeopt.online.tapfinger.events import Decision
from edgeopt.online.tapfinger.policies.estimates import Settled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Round

    Ints = NDArray[np.int64]

__all__ = ["Restless"]


@dataclass(frozen=True, eq=False)
class Restless(Settled):
    """Whatever the rules allow, at random.

    Parameters
    ----------
    change
        Chance of every running task to be given another bundle in the first round of a slot.
    hurry
        Chance of every cluster to start a task in a round, if some bundle fits.
    """

    change: float = 0.3
    hurry: float = 0.8

    title: ClassVar[str] = "Restless"
    preemptive: ClassVar[bool] = True

    def start(self, instance: TapFingerInstance) -> TapFingerInstance:
        """Remember the clusters and kinds of tasks."""
        return instance

    def decide(
        self, state: TapFingerInstance, observation: Round, rng: np.random.Generator
    ) -> tuple[Decision, TapFingerInstance]:
        """Change some bundles, then start some tasks with what is free."""
        free, running = observation.free.copy(), observation.running
        changed: list[int] = []
        other: list[tuple[int, int]] = []
        for i in range(running.task.size if observation.number == 0 else 0):
            n, kind = running.cluster[i], observation.tasks.kind[running.task[i]]
            held = (int(running.bundle[i, 0]), int(running.bundle[i, 1]))
            # What is paused goes on as soon as it can, so that the run ends.
            if rng.random() >= self.change and held != (0, 0):
                continue
            options = [(0, 0), *_fitting(state, int(kind), free[n] + held)]
            choice = options[int(rng.integers(held == (0, 0) and len(options) > 1, len(options)))]
            changed.append(int(running.task[i]))
            other.append(choice)
            free[n] += np.array(held) - choice
        task, bundle = np.full(free.shape[0], -1), np.zeros_like(free)
        for n in range(free.shape[0]):
            mine = [j for j in observation.pending[n].tolist() if j >= 0 and j not in task]
            if not mine or rng.random() >= self.hurry:
                continue
            j = int(rng.choice(mine))
            options = _fitting(state, int(observation.tasks.kind[j]), free[n])
            if options:
                task[n], bundle[n] = j, options[int(rng.integers(len(options)))]
        some = np.array(changed, dtype=np.int64)
        sizes = np.array(other, dtype=np.int64).reshape(-1, 2)
        return Decision(task, bundle, changed=some, other=sizes), state


def _fitting(instance: TapFingerInstance, kind: int, free: Ints) -> list[tuple[int, int]]:
    """Return the bundles of a kind of task that fit."""
    least, most = instance.minimum[kind], np.minimum(free, instance.largest)
    cpus = range(int(least[0]), int(most[0]) + 1)
    return [(cpu, gpu) for cpu in cpus for gpu in range(int(least[1]), int(most[1]) + 1)]
