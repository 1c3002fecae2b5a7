"""A scheduler that nobody tells durations: it estimates them from the services that it has seen."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Final, Literal, NamedTuple, get_args

import numpy as np

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.tables import write_table
from edgeopt.instances.tapfinger.instance import MANY, holdable
from edgeopt.instances.traces import read_rows
from edgeopt.instances.traces.columns import check_length, read_number
from edgeopt.instances.validate import frozen, frozen_integers, path_of, require
from edgeopt.kernels import compiled
from edgeopt.online.simulate import Deterministic, Titled
from edgeopt.online.tapfinger.environment import TapFingerTrajectory
from edgeopt.online.tapfinger.policies.efficient_bundles import (
    Estimates,
    Information,
    estimates_from,
    whole_slots,
)
from edgeopt.online.tapfinger.policies.reservation import FARTHEST, reserved
from edgeopt.options import check_choice, check_kind, check_real, check_whole, listed
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from edgeopt.instances.fields import Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.instances.traces import Rule
    from edgeopt.online.tapfinger.events import Decision, Outcome, Round


COLUMNS: Final = ("class", "kind", "cpus", "gpus", "slots", "times")
"""What a row of a book says."""

_LEAST: Final = np.array((0, 0, 0, 0, 1, 1))
_MOST: Final = 10**15  # of any entry: what is added up stays exact
_RULE: Final = "must be a whole number from 0 to 10**15; slots and times are at least 1"


@dataclass(frozen=True, eq=False, repr=False)
class ServiceBook:
    """Completed services: how often a task of a kind took so many slots with a bundle.

    It does not say when that was, or of which task. A service counts only if the task kept its
    bundle from its start to its completion. Books of several runs are merged by adding.

    Parameters
    ----------
    services
        Class of the cluster, kind of the task, CPU cores, GPUs, slots, and how often that was seen,
        shape [S, 6]; by default none. Rows that differ only in the last entry are added, up to
        10**15; kept in ascending order and read-only.

    Raises
    ------
    InstanceError
        If an entry is no whole number from 0 to 10**15, or slots or times are below 1.

    Notes
    -----
    Kinds and slots are those of the instances on which the book was kept: it is of use for others
    with the same kinds of tasks and slots of the same length.

    Examples
    --------
    >>> from edgeopt.online.tapfinger import ServiceBook
    >>> monday, tuesday = ServiceBook([[0, 1, 2, 1, 5, 3]]), ServiceBook([[0, 1, 2, 1, 5, 1]])
    >>> book = monday.merged(tuesday)
    >>> book.services, book.count
    (array([[0, 1, 2, 1, 5, 4]]), 4)
    """

    services: Ints = field(default_factory=lambda: np.zeros((0, len(COLUMNS)), dtype=np.int64))

    def __post_init__(self) -> None:
        axes, sizes = ("service", "entry"), {"entry": len(COLUMNS)}
        rows = frozen_integers("services", self.services, axes, sizes, empty=True)
        require("services", (rows >= _LEAST) & (rows <= _MOST), rows, _RULE)
        kept, place = np.unique(rows[:, :-1], axis=0, return_inverse=True)
        times = np.zeros(kept.shape[0], dtype=np.int64)
        np.add.at(times, place.reshape(-1), rows[:, -1])
        rows = np.column_stack([kept, np.minimum(times, _MOST)])
        object.__setattr__(self, "services", frozen(rows))

    def __str__(self) -> str:
        return f"{self.count} services"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ServiceBook) and np.array_equal(self.services, other.services)

    def __hash__(self) -> int:
        return hash(self.services.tobytes())

    @property
    def count(self) -> int:
        """Number of services."""
        return int(self.services[:, -1].sum())

    def merged(self, *others: ServiceBook) -> ServiceBook:
        """Return the book of the services of this one and of others.

        Parameters
        ----------
        *others
            Books of the same kinds of tasks, classes of clusters and length of a slot.

        Raises
        ------
        OptionError
            If one of them is no book.
        """
        for other in others:
            check_kind("others", other, ServiceBook)
        return ServiceBook(np.concatenate([one.services for one in (self, *others)]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the book as a CSV table, one line per row.

        Parameters
        ----------
        path
            The file; one that exists is replaced.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        write_table(path_of(path), COLUMNS, self.services.tolist())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ServiceBook:
        """Read a book that `save` has written.

        Parameters
        ----------
        path
            The file.

        Raises
        ------
        InstanceError
            If the file cannot be read, has other columns, or an entry is out of range, named by
            file, column and line.
        """
        return cls(np.array(_read(path_of(path)), dtype=np.int64).reshape(-1, len(COLUMNS)))


def _read(path: Path) -> list[list[int]]:
    lines = read_rows(path)
    header = lines[0][1] if lines else []
    if tuple(header) != COLUMNS:
        raise InstanceError(str(path), f"must begin with the line {','.join(COLUMNS)}")
    found = []
    for line, texts in lines[1:]:
        check_length(path, line, texts, len(COLUMNS))
        found.append(
            [
                int(read_number(path, name, line, text, _whole(int(least))))
                for name, text, least in zip(COLUMNS, texts, _LEAST, strict=True)
            ]
        )
    return found


def _whole(least: int) -> Rule:
    rule = f"must be a whole number from {least} to 10**15"
    return (lambda x: x == int(x) and least <= x <= _MOST, rule)


PRIOR: Final = (1.0, 4.0, 0.0)
"""Coefficients of the model that an empty book stands for, slots."""

SPREAD: Final = (6.0, 16.0, 0.5)
"""How far each of them may be from that, as a standard deviation, slots."""

ERROR: Final = 0.3
"""Standard deviation of a duration, as a share of it."""

ENOUGH: Final = 10**6
"""Most services of a row that enter the fit, which rounding would spoil with many more."""

MODEL: Final = 2.0
"""How many services the model counts for beside those with a bundle itself."""

TOLERANCE: Final = 0.1
"""A larger bundle counts if it promises to save more than this share of the time."""


@compiled(writes="expected")
def fill_durations(services: Ints, late: Ints, minimum: Ints, expected: Floats) -> None:
    r"""Estimate durations, slots, shape [C, K, A, B], from services and from those still running.

    For every class of clusters and kind, the coefficients of

    .. math:: \theta_0 + \theta_1 b_{GPU} / x_{GPU} + \theta_2 b_{CPU} / x_{CPU}

    are fitted to the services by least squares, weighted by :math:`1 / (0.3 d)^2`, with a ridge
    towards `PRIOR`; a negative one is left out. b is the smallest bundle; where it has none of a
    resource, 1 is added to both. `late` rows enter the fit alone. The duration with a bundle is the
    mean of those seen with it and twice that of the model, at least 1.
    """
    classes, kinds, cpus, gpus = expected.shape
    matrix, right = np.zeros((classes, kinds, 3, 3)), np.zeros((classes, kinds, 3))
    for m in range(classes):
        for k in range(kinds):
            for i in range(3):
                matrix[m, k, i, i] = 1.0 / SPREAD[i] ** 2
                right[m, k, i] = PRIOR[i] / SPREAD[i] ** 2
    # Normal equations of a ridge regression (Hoerl and Kennard, 1970), row by row.
    for rows in (services, late):
        for place in range(rows.shape[0]):
            m, k, cpu, gpu, slots, times = _entries(rows, place)
            weight = min(times, ENOUGH) / (ERROR * slots) ** 2
            term = _terms(minimum[k, 0], minimum[k, 1], cpu, gpu)
            for i in range(3):
                right[m, k, i] += weight * term[i] * slots
                for j in range(3):
                    matrix[m, k, i, j] += weight * term[i] * term[j]
    seen, total = np.zeros(expected.shape), np.zeros(expected.shape)
    for place in range(services.shape[0]):
        m, k, cpu, gpu, slots, times = _entries(services, place)
        seen[m, k, cpu, gpu] += times
        total[m, k, cpu, gpu] += slots * times
    for m in range(classes):
        for k in range(kinds):
            theta = fitted(matrix[m, k], right[m, k])
            for cpu in range(minimum[k, 0], cpus):
                for gpu in range(minimum[k, 1], gpus):
                    term = _terms(minimum[k, 0], minimum[k, 1], cpu, gpu)
                    model = theta[0] + theta[1] * term[1] + theta[2] * term[2]
                    mean = (MODEL * model + total[m, k, cpu, gpu]) / (MODEL + seen[m, k, cpu, gpu])
                    expected[m, k, cpu, gpu] = max(1.0, mean)


@compiled
def _entries(rows: Ints, i: int) -> tuple[int, int, int, int, int, int]:
    """Return a row as numbers."""
    return rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3], rows[i, 4], rows[i, 5]


@compiled
def _terms(least_cpu: int, least_gpu: int, cpu: int, gpu: int) -> tuple[float, float, float]:
    """Return what the coefficients are multiplied with."""
    no_cpu, no_gpu = int(least_cpu == 0), int(least_gpu == 0)
    return 1.0, (least_gpu + no_gpu) / (gpu + no_gpu), (least_cpu + no_cpu) / (cpu + no_cpu)


@compiled(both=True)
def fitted(matrix: Floats, right: Floats) -> Floats:
    """Solve normal equations without the coefficients that would be negative, least first."""
    size = right.size
    kept = np.ones(size, dtype=np.bool_)
    while True:
        theta, left = np.zeros(size), matrix.copy()
        for i in range(size):
            theta[i] = right[i] if kept[i] else 0.0
            for j in range(size):
                if not (kept[i] and kept[j]):
                    left[i, j] = 1.0 if i == j else 0.0
        # Elimination without pivots: the matrix is positive definite.
        for i in range(size):
            for j in range(i + 1, size):
                factor = left[j, i] / left[i, i]
                theta[j] -= factor * theta[i]
                for q in range(i, size):
                    left[j, q] -= factor * left[i, q]
        for i in range(size - 1, -1, -1):
            for q in range(i + 1, size):
                theta[i] -= left[i, q] * theta[q]
            theta[i] /= left[i, i]
        # Active set: the most negative coefficient leaves (after Lawson and Hanson, 1974).
        worst = np.argmin(theta)
        if theta[worst] >= 0.0:
            return theta
        kept[worst] = False


@compiled(writes="expected")
def level(expected: Floats, minimum: Ints) -> Floats:
    """Give larger bundles that save no more than `TOLERANCE` the time of the best smaller one."""
    classes, kinds, cpus, gpus = expected.shape
    found = np.zeros(expected.shape)
    for m in range(classes):
        for k in range(kinds):
            for cpu in range(minimum[k, 0], cpus):
                for gpu in range(minimum[k, 1], gpus):
                    # Durations fall with the bundle: a monotone pass from small to large.
                    least = np.inf
                    if cpu > minimum[k, 0]:
                        least = found[m, k, cpu - 1, gpu]
                    if gpu > minimum[k, 1]:
                        least = min(least, found[m, k, cpu, gpu - 1])
                    mine = expected[m, k, cpu, gpu]
                    found[m, k, cpu, gpu] = mine if mine < (1.0 - TOLERANCE) * least else least
    return found


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


@compact_repr
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

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.tapfinger import LearntReservation, TapFingerEnvironment
    >>> simulate(TapFingerEnvironment(small(1)), LearntReservation(), runs=5)
    TapFingerTrajectory(LearntReservation, 5 scenarios, 14 slots, mean reward 29)
    """

    title: ClassVar[str] = "LearntReservation"
    preemptive: ClassVar[bool] = False
    information: ClassVar[Information] = "nothing"

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
                "trajectories: must be recorded (simulate(..., keep_trace=True)), and without "
                "preemption"
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
