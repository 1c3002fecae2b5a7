"""Optimus, for tasks whose bundles may change and for containers, which keep what they have."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple, get_args

import numpy as np

from edgeopt.instances.tapfinger.durations import SLOWING
from edgeopt.kernels import compiled, put
from edgeopt.online.simulate import Deterministic, IgnoresFeedback, Titled
from edgeopt.online.tapfinger.events import Decision
from edgeopt.options import check_choice, check_flag, check_real

if TYPE_CHECKING:
    from edgeopt.instances.fields import Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Round
    from edgeopt.online.tapfinger.policies.efficient_bundles import Information


Fit = Literal["correct", "published"]
"""How the formula is fitted: properly, or as in the program behind the paper's figures."""

NOTHING: Final = 1e-3
"""What the fit behind the paper's figures takes for no CPU core and no GPU."""


def check_fit(fit: str) -> None:
    """Check the name of a fit."""
    check_choice("fit", fit, get_args(Fit))


def fitted_slots(instance: TapFingerInstance, fit: Fit = "correct") -> Floats:
    r"""Return how many slots a whole task would take at its first speed, by a fitted formula.

    With :math:`w` GPUs and :math:`p` CPU cores that is

    .. math:: \theta_0 / w + \theta_1 + \theta_2 w / p + \theta_3 w + \theta_4 p .

    The baseline "Optimus" of Li et al., section V-A. A kind of task that slows down is measured
    when it begins.
    """
    check_fit(fit)
    assert instance.slowing is not None
    factor = np.where(instance.slowing, np.sqrt(SLOWING), 1.0)
    gain = instance.speed * factor[:, np.newaxis, np.newaxis]
    slots = np.empty(gain.shape)
    known: dict[bytes, Floats] = {}
    for n, k in np.ndindex(gain.shape[:2]):
        key = gain[n, k].tobytes()
        if key not in known:
            known[key] = _published(gain[n, k]) if fit == "published" else _correct(gain[n, k])
        slots[n, k] = known[key]
    return slots


def _terms(cpu: Floats, gpu: Floats) -> Floats:
    """Return what the coefficients are multiplied with, shape [points, 5]."""
    return np.stack([1.0 / gpu, np.ones_like(gpu), gpu / cpu, gpu, cpu], axis=-1)


def _correct(gain: Floats) -> Floats:
    from scipy.optimize import nnls

    with np.errstate(divide="ignore"):
        slots = 1.0 / gain
    cpu, gpu = np.nonzero(gain)
    inside = (cpu > 0) & (gpu > 0)
    cpu, gpu = cpu[inside], gpu[inside]
    if cpu.size:
        terms = _terms(cpu.astype(np.float64), gpu.astype(np.float64))
        # Non-negative least squares (Lawson and Hanson, 1974).
        # Columns of one length each leave the optimum where it is and help the method.
        length = np.linalg.norm(terms, axis=0)
        coefficients, _ = nnls(terms / length, slots[cpu, gpu])
        slots[cpu, gpu] = terms @ (coefficients / length)
    return slots


def _published(gain: Floats) -> Floats:
    from scipy.optimize import least_squares

    cpus, gpus = gain.shape
    cpu = np.maximum(np.arange(cpus, dtype=np.float64), NOTHING)
    gpu = np.maximum(np.arange(gpus, dtype=np.float64), NOTHING)
    believed = _terms(np.tile(cpu, gpus), np.repeat(gpu, cpus))
    speeds = gain.ravel()

    def excess(coefficients: Floats) -> Floats:
        return np.asarray(1.0 / (believed @ coefficients) - speeds)

    def slope(coefficients: Floats) -> Floats:
        return np.asarray(-believed / (believed @ coefficients)[:, np.newaxis] ** 2)

    start = np.ones(believed.shape[1])
    # Levenberg-Marquardt from ones, as in the authors' program.
    # Where the usual tolerances stop, differs from version to version in the fifth digit.
    close = dict.fromkeys(("ftol", "xtol", "gtol"), 1e-14)
    # The usual method wants as many bundles as coefficients.
    method = "lm" if speeds.size >= start.size else "trf"
    coefficients = least_squares(excess, start, slope, method=method, **close).x
    true = _terms(np.repeat(cpu, gpus), np.tile(gpu, cpus))
    return np.asarray(true @ coefficients).reshape(gain.shape)


GAIN: Final = 1e-9
"""Slots that count as no gain, so that rounding in a flat table does not hand anything out."""


@compiled(writes="bundle")
def hand_out_by_gain(
    slots: Floats, kind: Ints, remaining: Floats, bundle: Ints, cpus: int, gpus: int,
    offset: float,
) -> int:  # fmt: skip
    """Enlarge bundles, unit by unit, as long as there is a gain; return the resource of the last.

    The gain of a unit is an offset and the expected slots that it saves, divided by the units of
    that resource that the task has, at least 1. Of equals the first task and CPU cores come first.
    Without any unit, -1 is returned.
    """
    left, last = (cpus, gpus), -1
    while True:
        # Marginal allocation, unit by unit (Fox, 1966).
        best, at, resource = GAIN, -1, -1
        for i in range(kind.size):
            cpu, gpu = bundle[i, 0], bundle[i, 1]
            now = slots[kind[i], cpu, gpu]
            for r in range(2):
                more_cpu, more_gpu = cpu + (r == 0), gpu + (r == 1)
                if left[r] <= 0 or more_cpu >= slots.shape[1] or more_gpu >= slots.shape[2]:
                    continue
                gain = remaining[i] * (now - slots[kind[i], more_cpu, more_gpu])
                gain = offset + gain / max(bundle[i, r], 1)
                if gain > best:
                    best, at, resource = gain, i, r
        if at < 0:
            return last
        bundle[at, resource] += 1
        last = resource
        left = (left[0] - (resource == 0), left[1] - (resource == 1))


class Reassigning(Titled, Deterministic, IgnoresFeedback):
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
    number, place = np.empty(task.size + 1, dtype=np.int64), np.empty(task.size + 1, dtype=np.int64)
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


class Expectations(NamedTuple):
    """The instance, and the slots that it expects a whole task to take, shape [N, K, A, B]."""

    instance: TapFingerInstance
    slots: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Optimus(Reassigning):
    """Share every cluster among its tasks by marginal gains.

    In each round the oldest pending task joins a cluster if the smallest bundles of its tasks all
    fit; clusters choose in the order of their numbers. Then every task of the cluster is given its
    smallest bundle, and what is left goes unit by unit to the task and resource with the largest
    expected reduction of the time that is left, per unit of that resource that the task has. So
    bundles of running tasks change, which costs part of a slot.

    Parameters
    ----------
    fit
        How the formula for the time of a task is fitted to the table of speeds: ``"correct"``, or
        ``"published"`` as behind the paper's figures, where CPU cores and GPUs are mixed up.

    Raises
    ------
    OptionError
        If the fit is unknown.

    Notes
    -----
    The baseline "Optimus" of Li et al., section V-A.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.tapfinger import Optimus, TapFingerEnvironment
    >>> simulate(TapFingerEnvironment(small(1)), Optimus(), runs=5)
    TapFingerTrajectory(Optimus, 5 scenarios, 9 slots, mean reward 14)
    """

    title: ClassVar[str] = "Optimus"
    information: ClassVar[Information] = "durations"

    fit: Fit = "correct"

    def __post_init__(self) -> None:
        check_fit(self.fit)

    def start(self, instance: TapFingerInstance) -> Expectations:
        """Fit the formula."""
        return Expectations(instance, fitted_slots(instance, self.fit))

    def _assign(self, state: Expectations, observation: Round) -> tuple[Ints, Ints, Ints]:
        running = observation.running
        return _share(
            state.instance.capacity, state.instance.minimum, state.slots, observation.pending,
            observation.tasks.kind, running.task, running.cluster, running.progress,
        )  # fmt: skip


@compiled
def _share(
    capacity: Ints, minimum: Ints, slots: Floats, pending: Ints, kind: Ints,
    task: Ints, cluster: Ints, progress: Floats,
) -> tuple[Ints, Ints, Ints]:  # fmt: skip
    """Return the task that would join each cluster, its bundle, and those of running tasks."""
    clusters = capacity.shape[0]
    new, new_bundle = np.full(clusters, -1), np.zeros((clusters, 2), dtype=np.int64)
    other = np.zeros((task.size, 2), dtype=np.int64)
    for n in range(clusters):
        number, place = sharers(n, capacity, minimum, pending, new, kind, task, cluster)
        kinds, remaining = (
            np.empty(number.size, dtype=np.int64),
            np.ones(number.size, dtype=np.float64),
        )
        bundle = np.empty((number.size, 2), dtype=np.int64)
        cpus, gpus = capacity[n, 0], capacity[n, 1]
        for i in range(number.size):
            kinds[i] = kind[number[i]]
            if place[i] >= 0:
                remaining[i] -= progress[place[i]]
            bundle[i, 0], bundle[i, 1] = minimum[kinds[i], 0], minimum[kinds[i], 1]
            cpus -= bundle[i, 0]
            gpus -= bundle[i, 1]
        hand_out_by_gain(slots[n], kinds, remaining, bundle, cpus, gpus, 0.0)
        enter(n, number, place, bundle, new, new_bundle, other)
    return new, new_bundle, other


@dataclass(frozen=True, eq=False, kw_only=True)
class OptimusContainers(Titled, Deterministic, IgnoresFeedback):
    """Start the pending task that marginal gains would give the most GPUs.

    Clusters choose from the last to the first. Each imagines that all its pending tasks, without
    those that a cluster before it starts, had their smallest bundles, and hands out what is free
    to them, unit by unit, to the task and resource with the largest gain: the expected slots that
    the unit saves per unit of that resource that the task has, and an offset. The task with the
    most GPUs, of equals the oldest, is started with its bundle, as far as that is free; if less
    than its smallest bundle is, none is.

    Parameters
    ----------
    fit
        How the formula for the time of a task is fitted to the table of speeds, ``"correct"`` or
        ``"published"``.
    offset
        What every unit gains beside the slots that it saves: 1 in the authors' program, so that
        all that is free is handed out, and 0 in the text.
    take_back
        Whether one unit of the resource that was handed out last is taken back from a bundle of
        several GPUs, as in the authors' program. In the text only what exceeds the free resources
        is taken back.

    Raises
    ------
    OptionError
        If the fit is unknown, the offset negative or not finite, or `take_back` no flag.

    Notes
    -----
    The baseline "Optimus" of Li et al., section V-D, where running containers keep what they have.
    Which task starts, and in which order clusters choose, is that of the program; the text does not
    say.
    In the program a bundle begins with one CPU core and one GPU, the smallest bundle of all its
    containers.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.tapfinger import OptimusContainers, TapFingerEnvironment
    >>> simulate(TapFingerEnvironment(small(2)), OptimusContainers(), runs=5)
    TapFingerTrajectory(Optimus containers, 5 scenarios, 3 slots, mean reward 2)
    """

    title: ClassVar[str] = "Optimus containers"
    preemptive: ClassVar[bool] = False
    information: ClassVar[Information] = "durations"

    fit: Fit = "correct"
    offset: float = 1.0
    take_back: bool = True

    def __post_init__(self) -> None:
        check_fit(self.fit)
        check_real("offset", self.offset, "[0, inf)")
        check_flag("take_back", self.take_back)

    def start(self, instance: TapFingerInstance) -> Expectations:
        """Fit the formula."""
        return Expectations(instance, fitted_slots(instance, self.fit))

    def decide(
        self, state: Expectations, observation: Round, rng: np.random.Generator
    ) -> tuple[Decision, Expectations]:
        """Start at most one task on each cluster."""
        task, bundle = _most_gpus(
            observation.pending, observation.free, observation.tasks.kind,
            state.instance.minimum, state.slots, float(self.offset), bool(self.take_back),
        )  # fmt: skip
        return Decision(task, bundle), state


@compiled
def _most_gpus(
    pending: Ints, free: Ints, kind: Ints, minimum: Ints, slots: Floats, offset: float,
    take_back: bool,
) -> tuple[Ints, Ints]:  # fmt: skip
    """Return the task that each cluster starts, -1 for none, and its bundle."""
    clusters, places = pending.shape
    task, bundle = np.full(clusters, -1), np.zeros((clusters, 2), dtype=np.int64)
    for n in range(clusters - 1, -1, -1):
        waiting, kinds = np.empty(places, dtype=np.int64), np.empty(places, dtype=np.int64)
        imagined = np.empty((places, 2), dtype=np.int64)
        count = 0
        for j in pending[n]:
            if j >= 0 and not chosen_by_any(j, task):
                waiting[count], kinds[count] = j, kind[j]
                for r in range(2):
                    imagined[count, r] = minimum[kind[j], r]
                count += 1
        last = hand_out_by_gain(
            slots[n], kinds[:count], np.ones(count, dtype=np.float64), imagined, free[n, 0],
            free[n, 1], offset,
        )  # fmt: skip
        best = -1
        for i in range(count):
            if best < 0 or imagined[i, 1] > imagined[best, 1]:
                best = i
        if best < 0:
            continue
        given, fits = np.empty(2, dtype=np.int64), True
        for r in range(2):
            given[r] = min(imagined[best, r], free[n, r])
        if take_back and given[1] > 1 and last >= 0:
            given[last] -= 1
        for r in range(2):
            fits &= given[r] >= minimum[kinds[best], r]
        if fits:
            task[n] = waiting[best]
            put(given, bundle[n])
    return task, bundle
