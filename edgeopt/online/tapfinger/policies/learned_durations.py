"""A scheduler that nobody tells durations: it estimates them from the services that it has seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final, Literal, NamedTuple, get_args

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger.instance import MANY, holdable
from edgeopt.online.simulate import Deterministic, Titled
from edgeopt.online.tapfinger.environment import TapFingerTrajectory
from edgeopt.online.tapfinger.policies.duration_estimates import (
    COLUMNS,
    ServiceBook,
    fill_durations,
    level,
)
from edgeopt.online.tapfinger.policies.efficient_bundles import (
    Estimates,
    Told,
    estimates_from,
    whole_slots,
)
from edgeopt.online.tapfinger.policies.reservation import FARTHEST, reserved
from edgeopt.options import check_choice, check_kind, check_real, check_whole, listed
from edgeopt.representation import brief

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Decision, Outcome, Round

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

Memory = Literal["fresh", "kept"]

EARLY: Final = 0.3
"""What may lie above a whole number of slots without counting as a further one."""


class LearntState(NamedTuple):
    """What the policy remembers.

    Attributes
    ----------
    instance
        Clusters, kinds and rules; of its speeds nothing but the largest bundle is used.
    fits
        Which bundles a cluster can give to a kind, shape [N, K, A, B].
    alike
        Class of each cluster, shape [N].
    book
        The services seen so far.
    slot
        Slot for which the estimates are, -1 for none.
    duration
        Estimates for all bundles, slots, shape [C, K, A, B].
    expected
        Those of the bundles that count.
    """

    instance: TapFingerInstance
    fits: NDArray[np.bool_]
    alike: Ints
    book: ServiceBook
    slot: int = -1
    duration: Floats | None = None
    expected: Estimates | None = None


@brief
@dataclass(frozen=True, eq=False, kw_only=True)
class LearntReservation(Titled, Deterministic):
    r"""Reserve as `ReservationSpt` does, by durations estimated from completed services.

    Nobody tells it how long tasks take. It knows clusters, kinds, smallest and largest bundles, and
    sees which bundle its own tasks have, since when they run and when they are complete; it uses
    neither the speeds of the instance nor the progress of tasks. Completed services enter a
    `ServiceBook`. At the first round of a slot durations are estimated anew, see `PRIOR` and
    `TOLERANCE`: a model of three coefficients per kind, averaged with the durations seen with the
    bundle itself. A larger bundle counts only if it promises to save more than a tenth of the time.
    A task that has run for longer than estimated counts as complete in the next slot.

    Parameters
    ----------
    pressure
        Price :math:`\kappa \ge 0` of keeping others waiting, see `ReservationSpt`.
    look
        Slots that are planned ahead, see `ReservationSpt`.
    memory
        With what a run begins: ``"fresh"``, an empty book, or ``"kept"``, that of earlier runs.
    book
        The book of earlier runs where memory is kept; by default an empty one. `after` adds a run.
    classes
        Class of each cluster, shape [N], from 0: those of one class are as fast as each other. By
        default all are of one class.

    Raises
    ------
    OptionError
        If an option is out of range, a book is given where memory is fresh, or, from `start`,
        classes or book do not fit the instance.

    Notes
    -----
    Not a published rule, and without a proven ratio. It tries no bundle to learn about it: where
    CPU cores help, which the model does not expect, it may never find out.
    """

    title: ClassVar[str] = "LearntReservation"
    preemptive: ClassVar[bool] = False
    told: ClassVar[Told] = "nothing"

    pressure: float = 1.0
    look: int | None = None
    memory: Memory = "fresh"
    book: ServiceBook | None = None
    classes: Sequence[int] | None = None

    def __post_init__(self) -> None:
        check_real("pressure", self.pressure, "[0, inf)")
        check_whole("look", self.look, 1, FARTHEST, none=True)
        check_choice("memory", self.memory, get_args(Memory))
        check_kind("book", self.book, ServiceBook, none=True)
        if self.book is not None and self.memory == "fresh":
            raise OptionError("book: fresh memory begins with an empty one; set memory='kept'")
        if self.classes is not None:
            classes = tuple(listed("classes", self.classes))
            for place, one in enumerate(classes):
                check_whole(f"classes[{place}]", one, 0, MANY)
            object.__setattr__(self, "classes", classes)

    def after(self, *trajectories: TapFingerTrajectory) -> LearntReservation:
        """Return the policy with kept memory, whose book has the services of further runs, too.

        Parameters
        ----------
        *trajectories
            Recorded runs of a policy without preemption; the first run of each counts.

        Raises
        ------
        OptionError
            If one is not recorded, or a bundle changes in it.
        """
        book = (self.book or ServiceBook()).merged(*(self._seen(one) for one in trajectories))
        return replace(self, memory="kept", book=book)

    def _seen(self, trajectory: TapFingerTrajectory) -> ServiceBook:
        check_kind("trajectories", trajectory, TapFingerTrajectory)
        held = trajectory.held
        if held is None or trajectory.preemptions[0].any():
            raise OptionError(
                "trajectories: must be recorded (simulate(..., record=True)), without preemption"
            )
        alike = self._alike(trajectory.instance)
        done = trajectory.complete[0, held.task]
        rows = np.column_stack(
            [
                alike[held.cluster], trajectory.instance.kind[held.task], held.bundle,
                held.end - held.begin, np.ones_like(held.task),
            ]
        )  # fmt: skip
        return ServiceBook(rows[done])

    def _alike(self, instance: TapFingerInstance) -> Ints:
        """Return the class of each cluster."""
        if self.classes is None:
            return np.zeros(instance.clusters, dtype=np.int64)
        alike = np.array(self.classes, dtype=np.int64)
        if alike.size != instance.clusters or alike.max() >= instance.clusters:
            raise OptionError(
                f"classes: must be {instance.clusters} numbers below that, one for each cluster, "
                f"got {self.classes}"
            )
        return alike

    def start(self, instance: TapFingerInstance) -> LearntState:
        """Open the book."""
        alike, book = self._alike(instance), self.book or ServiceBook()
        shape = (instance.clusters, instance.task_kinds, *np.add(instance.largest, 1))
        cpus, gpus = np.ogrid[: shape[2], : shape[3]]
        least = instance.minimum[:, :, None, None]
        enough = (cpus >= least[:, 0]) & (gpus >= least[:, 1])
        known = (
            (book.services[:, 0] <= alike.max()) & (book.services[:, 1] < shape[1])
            & (book.services[:, 2] < shape[2]) & (book.services[:, 3] < shape[3])
        )  # fmt: skip
        known[known] = enough[tuple(book.services[known, 1:4].T)]
        for row in book.services[~known].tolist():
            raise OptionError(
                "book: must be of classes of clusters, kinds and bundles of the instance, got "
                f"{dict(zip(COLUMNS, row, strict=True))}"
            )
        fits = holdable(instance.capacity, shape[2:])[:, None] & enough
        return LearntState(instance, fits, alike, book)

    def decide(
        self, state: LearntState, observation: Round, rng: np.random.Generator
    ) -> tuple[Decision, LearntState]:
        """Answer a round."""
        if state.slot != observation.slot:
            state = _estimated(state, observation)
        assert state.expected is not None
        assert state.duration is not None
        running = observation.running
        whole = whole_slots(state.duration[_places(state, observation)], EARLY)
        left = np.maximum(1, whole - (observation.slot - running.start))
        look = state.expected.ahead if self.look is None else int(self.look)
        return reserved(float(self.pressure), look, state.expected, observation, left), state

    def learn(
        self, state: LearntState, observation: Round, decision: Decision, feedback: Outcome
    ) -> LearntState:
        """Enter the services that are complete."""
        if not feedback.completed.size:
            return state
        running, kind = observation.running, observation.tasks.kind
        new = np.flatnonzero(feedback.started >= 0)
        task = np.concatenate([running.task, feedback.started[new]])
        cluster = np.concatenate([running.cluster, new])
        bundle = np.concatenate([running.bundle, decision.bundle[new]])
        start = np.concatenate([running.start, np.full(new.size, observation.slot)])
        # Another policy may have been followed before, and have changed a bundle.
        service = (observation.slot - running.start)[:, None]
        kept = (running.attained == running.bundle * service).all(axis=1)
        done = np.isin(task, feedback.completed) & np.append(kept, np.ones(new.size, dtype=bool))
        rows = np.column_stack(
            [
                state.alike[cluster], kind[task], bundle, observation.slot + 1 - start,
                np.ones_like(task),
            ]
        )  # fmt: skip
        return state._replace(book=ServiceBook(np.concatenate([state.book.services, rows[done]])))


def _places(state: LearntState, seen: Round) -> tuple[Ints, Ints, Ints, Ints]:
    """Return where the estimates of running tasks stand."""
    running = seen.running
    cpu, gpu = running.bundle.T
    return state.alike[running.cluster], seen.tasks.kind[running.task], cpu, gpu


def _estimated(state: LearntState, seen: Round) -> LearntState:
    """Estimate all durations anew."""
    instance, book = state.instance, state.book.services
    classes = int(state.alike.max()) + 1
    duration = np.zeros((classes, *state.fits.shape[1:]))
    fill_durations(book, book[:0], instance.minimum, duration)
    places = _places(state, seen)
    least = seen.slot - seen.running.start + 1
    late = least > duration[places]
    if late.any():
        rows = np.column_stack([*places, least, np.ones_like(least)])[late]
        fill_durations(book, rows, instance.minimum, duration)
    counting = level(duration, instance.minimum)
    table = np.where(state.fits, counting[state.alike], 0.0)
    expected = estimates_from(instance, table, EARLY)
    return state._replace(slot=seen.slot, duration=duration, expected=expected)
