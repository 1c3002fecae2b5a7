"""What the loop of OINC is put together from: inference, retraining, reservation.

A part is an immutable value; what it remembers is in a memory that it is handed and hands back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc.slot import SlotPlan, SlotProblem
    from edgeopt.online.oinc.events import Jobs, Runs, Slot

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["Inference", "Queues", "Reserving", "Retraining"]


class Queues(NamedTuple):
    """Jobs and the sites that serve them, as a slot begins.

    Attributes
    ----------
    slot
        The slot.
    jobs
        The jobs that are not complete.
    share
        Share of the CPU of each site that is kept for jobs, in [0, 1), shape [J].
    speed
        Speed of each site at jobs, its share times its CPU, Gcycle/s, shape [J].
    """

    slot: int
    jobs: Jobs
    share: Floats
    speed: Floats


class Inference(Protocol):
    """A way to answer the requests of a slot."""

    @property
    def name(self) -> str:
        """Short name for tables and pictures."""
        ...

    def start(self, instance: OincInstance) -> Any:
        """Return the memory before the first slot."""
        ...

    def answer(self, memory: Any, problem: SlotProblem) -> tuple[SlotPlan, Any]:
        """Return a plan for the requests beside what is kept for jobs, and the memory after it."""
        ...


class Retraining(Protocol):
    """A way to dispatch jobs to sites and to serve them there."""

    @property
    def name(self) -> str:
        """Short name for tables and pictures."""
        ...

    def start(self, instance: OincInstance) -> Any:
        """Return the memory before the first slot."""
        ...

    def dispatch(self, memory: Any, queues: Queues) -> tuple[Ints, Any]:
        """Return the site of every job, -1 to keep it waiting, shape [q], and the memory after."""
        ...

    def serve(self, memory: Any, queues: Queues) -> tuple[Runs, Any]:
        """Return what runs when in the slot, jobs being where `dispatch` sent them."""
        ...


class Reserving(Protocol):
    """A way to say how much CPU is kept for jobs."""

    @property
    def name(self) -> str:
        """Short name for tables and pictures."""
        ...

    def start(self, instance: OincInstance) -> Any:
        """Return the memory before the first slot."""
        ...

    def reserve(self, memory: Any, slot: Slot, share: Floats) -> tuple[Floats, Any]:
        """Return the shares that are kept for jobs in a slot, and the memory after it.

        Parameters
        ----------
        memory
            Memory so far.
        slot
            The slot that begins.
        share
            Shares kept in the slot before, shape [J]; 0 where no job was left.
        """
        ...
