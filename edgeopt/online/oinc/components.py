"""What the loop of OINC is put together from: inference, retraining, reservation.

A part is an immutable value; what it remembers is in a memory that it is handed and hands back.
"""

from __future__ import annotations

from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    get_args,
)

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.online.oinc.events import Runs
from edgeopt.online.simulate import Titled
from edgeopt.options import check_choice
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc.slot import SlotPlan, SlotProblem
    from edgeopt.online.oinc.events import Jobs, Slot


@compact_repr
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

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.online.oinc import OincEnvironment, Queues, ResidualDensity
    >>> environment, retraining = OincEnvironment(small(1)), ResidualDensity()
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> jobs, share = environment.episode(scenario).observe().jobs, np.array([0.0, 0.5, 0.5])
    >>> queues = Queues(slot=0, jobs=jobs, share=share, speed=share * small(1).speed)
    >>> retraining.dispatch(retraining.start(small(1)), queues)[0]
    array([2, 1])
    """

    slot: int
    jobs: Jobs
    share: Floats
    speed: Floats


class Part(Titled):
    """A part that draws no random numbers.

    A part that does, such as an actor that samples, says ``deterministic = False``; so does one
    that says nothing.
    """

    deterministic: ClassVar[bool] = True

    steady: ClassVar[bool] = False
    """Whether it decides the same in every slot until a job arrives, waits or is complete."""


class Inference(Protocol):
    """A way to answer the requests of a slot.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.slot import solve_slot
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.oinc import Oinc, OincEnvironment
    >>> class Exact:
    ...     name = "exact slots"
    ...     def start(self, instance):
    ...         return None
    ...     def answer(self, memory, problem, rng):
    ...         return solve_slot(problem), memory
    ...
    >>> simulate(OincEnvironment(small(1)), Oinc(inference=Exact()), runs=1)
    OincTrajectory(OINC with exact slots, 1 scenario, 2 slots, mean reward 4.94191)
    """

    @property
    def name(self) -> str:
        """Short name for tables and pictures."""
        ...

    def start(self, instance: OincInstance) -> Any:
        """Return the memory before the first slot."""
        ...

    def answer(
        self, memory: Any, problem: SlotProblem, rng: np.random.Generator
    ) -> tuple[SlotPlan, Any]:
        """Return a plan for the requests on what jobs leave, and the memory after it."""
        ...


class Retraining(Protocol):
    """A way to dispatch jobs to sites and to serve them there.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.oinc import Oinc, OincEnvironment, Runs
    >>> class FirstComeFirstServed:
    ...     name = "first come, first served"
    ...     def start(self, instance):
    ...         return None
    ...     def dispatch(self, memory, queues):
    ...         fastest = np.full_like(queues.jobs.site, queues.speed.argmax())
    ...         return np.where(queues.jobs.started, queues.jobs.site, fastest), memory
    ...     def serve(self, memory, queues):
    ...         one = np.ones(queues.jobs.job[:1].size)
    ...         share = queues.share[queues.jobs.site[:1]]
    ...         return Runs(queues.jobs.job[:1], share, 0 * one, one), memory
    ...
    >>> simulate(OincEnvironment(small(1)), Oinc(retraining=FirstComeFirstServed()), runs=1)
    OincTrajectory(OINC with first come, first served, 1 scenario, 2 slots, mean reward 5.09357)
    """

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

        `share` was kept in the slot before, shape [J]; 0 where no job was left.
        """
        ...


Service: TypeAlias = Literal["fluid", "slot"]
"""What becomes of the rest of a slot in which a job ends: the next job runs, or nothing does."""


def check_service(service: str) -> None:
    """Refuse what is no way of service."""
    check_choice("service", service, get_args(Service))


def run_in_order(queues: Queues, order: Ints, service: Service = "fluid") -> Runs:
    """Let every site serve its jobs one after the other, with all that is kept for jobs there.

    Zeng et al., algorithm 4, lines 5 to 9, is ``"slot"``; the analysis needs ``"fluid"``.
    """
    check_service(service)
    places = np.asarray(order, dtype=np.int64)
    begin, end = np.empty((2, places.size))
    jobs = queues.jobs
    whole = service == "slot"
    ran = _fill(places, jobs.site, jobs.remaining, queues.speed, whole, begin, end)
    site = jobs.site[places[ran]]
    return Runs(jobs.job[places[ran]], queues.share[site], begin[ran], end[ran])


@compiled(writes="begin end")
def _fill(
    order: Ints,
    site: Ints,
    remaining: Floats,
    speed: Floats,
    whole: bool,
    begin: Floats,
    end: Floats,
) -> NDArray[np.bool_]:
    """Fill in when each job of the order runs, and return which run at all."""
    free = np.zeros(speed.size, dtype=np.float64)
    ran = np.zeros(order.size, dtype=np.bool_)
    for place in range(order.size):
        job = order[place]
        j = site[job]
        if j < 0 or not speed[j] > 0.0 or free[j] >= 1.0:
            continue
        begin[place], end[place], ran[place] = free[j], 1.0, True
        if not whole:
            # Next to nothing still takes a time that a clock can show.
            later = max(free[j] + remaining[job] / speed[j], np.nextafter(free[j], 2.0))
            end[place] = min(later, 1.0)
        free[j] = end[place]
    return ran
