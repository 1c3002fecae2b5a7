"""Baselines that toss coins: a random pending task, with the smallest or with any bundle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from edgeopt.online.tapfinger.environment import TapFingerEnvironment
from edgeopt.online.tapfinger.events import Decision
from edgeopt.online.tapfinger.policies.settled import Settled
from edgeopt.online.tapfinger.policies.uniform_choice import name_tasks
from edgeopt.online.tapfinger.policies.uniform_run import compiled_run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.simulate import Kernel
    from edgeopt.online.tapfinger.events import Round

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["Min", "RandomAllocation", "Uniform"]


@dataclass(frozen=True, eq=False)
class Uniform(Settled):
    """One cluster after the other names a pending task at random."""

    title: ClassVar[str]
    smallest: ClassVar[bool]
    preemptive: ClassVar[bool] = False

    def start(self, instance: TapFingerInstance) -> TapFingerInstance:
        """Remember the clusters and kinds of tasks."""
        return instance

    def decide(
        self, state: TapFingerInstance, observation: Round, rng: np.random.Generator
    ) -> tuple[Decision, TapFingerInstance]:
        """Toss two coins for every cluster."""
        task, bundle = name_tasks(
            rng.random((observation.waiting.size, 2)), observation.pending, observation.free,
            observation.tasks.kind, state.minimum, state.largest, self.smallest,
        )  # fmt: skip
        return Decision(task, bundle), state

    def compiled(self, environment: Any, state: TapFingerInstance) -> Kernel | None:
        """Return a stand-in for the loop that lives through whole runs in compiled code."""
        if isinstance(environment, TapFingerEnvironment):
            return compiled_run(environment, self)
        return None


@dataclass(frozen=True, eq=False)
class Min(Uniform):
    """A random pending task with its smallest bundle.

    Clusters choose in the order of their numbers, each uniformly among all of its pending set. A
    cluster whose task does not fit, or has been chosen by one before it, does nothing.

    Notes
    -----
    The baseline "Minimum allocation" of Li et al., section V-A.
    """

    title: ClassVar[str] = "Min"
    smallest: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class RandomAllocation(Uniform):
    """A random pending task with a random bundle that fits, or with none.

    Clusters choose in the order of their numbers, each uniformly among all of its pending set, and
    then uniformly among the bundles that fit and doing nothing. A cluster whose task has been
    chosen by one before it does nothing.

    Notes
    -----
    The baseline "Random allocation" of Li et al., section V-A.
    """

    title: ClassVar[str] = "Random"
    smallest: ClassVar[bool] = False
