"""The offline problem of a scenario, and what no run of it falls below."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NoReturn

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import CertificateError, InputError, OptionError
from edgeopt.instances.tapfinger.durations import (
    scenario_durations,
    served,
)
from edgeopt.instances.validate import frozen, require
from edgeopt.kernels import compiled
from edgeopt.models.tapfinger.bounds import (
    GAP,
    affordable,
    flow_bound,
    fluid_bounds,
    known_method,
)
from edgeopt.models.tapfinger.column_generation import Menus
from edgeopt.models.tapfinger.lagrangian import bound_of_menus, pools_of, shared_blocks
from edgeopt.models.tapfinger.problem import SchedulingProblem, scheduling_problem
from edgeopt.models.tapfinger.programs import counted
from edgeopt.representation import compact_repr
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from edgeopt.instances.fields import Flags, Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.models.tapfinger.bounds import FlowBound, Method, Methods


LARGEST: Final = 2**63 - 1  # of the numbers of scenarios


@checked()
def scenario_problem(
    instance: TapFingerInstance, scenario: int, *, single_start: bool | None = None
) -> SchedulingProblem:
    """Return the offline problem of a scenario, with the durations that tasks have in it.

    Every run of the scenario that changes no bundle is a plan of this problem, with the same flow
    times; so no such policy is below its optimum, even one that knows all noise in advance.

    Parameters
    ----------
    instance
        The instance.
    scenario
        One of `TapFingerTrajectory.scenarios`, or any other number from 0 on.
    single_start
        Whether a cluster may start at most one task per slot; as in the instance by default.

    Returns
    -------
    The problem, in which every task is a kind of its own; without noise that of
    `scheduling_problem`.

    Raises
    ------
    OptionError
        If the scenario is not a whole number from 0 to 2**63 - 1.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import scenario_problem
    >>> scenario_problem(small(1), 0)
    SchedulingProblem(clusters=2, tasks=4)
    """
    calm = scheduling_problem(instance, single_start=single_start)
    if instance.noise == 0.0 or not instance.tasks:
        return calm
    return SchedulingProblem(
        capacity=calm.capacity,
        duration=scenario_durations(instance, scenario),
        arrival=calm.arrival,
        kind=np.arange(calm.tasks),
        eligible=calm.eligible,
        weight=calm.weight,
        single_start=calm.single_start,
        occupied=calm.occupied,
    )


@in_html
@compact_repr
@dataclass(frozen=True, eq=False)
class ScenarioBound:
    """What no policy that changes no bundle falls below in given scenarios of an instance.

    It holds for policies that know the future as well, and so contains the worth of knowing the
    noise: no policy that learns of it slot by slot need come near.

    Attributes
    ----------
    instance
        The instance.
    scenarios
        The scenarios, shape [R].
    values
        Lower bound on the weighted sum of flow times in each of them, slots, shape [R]; none is
        below that for any noise.
    methods
        Which method proved each, as in `FlowBound`; ``"any noise"`` where that bound is larger.
    any_noise
        The bound for any noise.
    seconds
        Time it took, all scenarios together.

    Notes
    -----
    Ours, see `scenario_bound`.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import ScenarioBound, scenario_bound
    >>> scenario_bound(small(1), [0, 1]).values.shape
    (2,)
    """

    instance: TapFingerInstance = field(repr=False)
    scenarios: Ints
    values: Floats
    methods: tuple[str, ...]
    any_noise: FlowBound = field(repr=False)
    seconds: float

    @property
    def value(self) -> float:
        """The mean over the scenarios, slots: it bounds the mean of one run in each of them."""
        return float(self.values.mean())

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """What each value is about: the fingerprint of the instance, and the scenario."""
        instance = self.instance.fingerprint()
        return tuple(f"{instance}/{scenario}" for scenario in self.scenarios.tolist())

    def of(self, instance: TapFingerInstance, scenarios: Ints) -> Floats:
        """Return the bounds of scenarios of an instance, shape [R].

        Parameters
        ----------
        instance
            The instance.
        scenarios
            Some of its scenarios, shape [R].

        Raises
        ------
        OptionError
            If it is another instance, or the bound of a scenario is not among these.
        """
        if instance != self.instance:
            raise OptionError("bound: is one of another instance")
        known = dict(zip(self.fingerprints, self.values.tolist(), strict=True))
        wanted = [f"{instance.fingerprint()}/{scenario}" for scenario in scenarios.tolist()]
        for name in wanted:
            if name not in known:
                raise OptionError(f"bound: is one of other scenarios, and not of {name}")
        return np.array([known[name] for name in wanted])

    def certificate(self) -> NoReturn:
        """Say why there is no certificate.

        Raises
        ------
        CertificateError
            Always; the text names the missing step.
        """
        raise CertificateError(
            "no certificate: a mean over scenarios needs one for each of them, and durations of "
            "a scenario come from random numbers and square roots, which no file of rationals "
            "derives from the instance; with the durations as data, one scenario is certified by "
            "pooled_bound(scenario_problem(instance, scenario)).certificate()"
        )


@checked()
def scenario_bound(
    instance: TapFingerInstance,
    scenarios: ArrayLike,
    *,
    method: Methods = "best",
    time_limit: float | None = None,
    any_noise: FlowBound | None = None,
) -> ScenarioBound:
    r"""Bound the weighted sum of flow times in scenarios of the noise.

    A run of scenario w is a plan of `scenario_problem`, so with its optimum,

    .. math:: F_\pi(w) \ge \mathrm{OPT}(P_w) \ge \mathrm{LB}(P_w)
              \quad\Rightarrow\quad \mathrm{E} F_\pi \ge \mathrm{E}\, \mathrm{LB}(P_w)

    for every policy that changes no bundle, pauses nothing and completes all tasks.

    Parameters
    ----------
    instance
        The instance.
    scenarios
        Scenarios, such as `TapFingerTrajectory.scenarios`, shape [R].
    method
        As for `flow_bound`; by default, of the relaxations, the strongest that the size allows.
    time_limit
        Seconds for each search for prices; what is proven by then is taken.
    any_noise
        The instance's bound for any noise by `flow_bound`, when it is at hand.

    Returns
    -------
    The bounds.

    Raises
    ------
    InputError
        If the scenarios are not whole numbers from 0 on, or there is none.
    OptionError
        If the method is unknown, or the bound at hand is another one.
    SolverError
        If HiGHS fails.

    Notes
    -----
    Ours: the expectation of bounds of each scenario bounds that of every policy.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import scenario_bound
    >>> scenario_bound(small(1), [0, 1]).values.round(3)
    array([13.396, 13.396])
    """
    began = time.perf_counter()
    known_method(method)
    given = _checked(scenarios)
    loose = any_noise
    if loose is None:
        loose = flow_bound(instance, method=method, time_limit=time_limit)
    if loose.instance != instance or loose.preemptive:
        raise OptionError("any_noise: must be a bound of the instance for the same policies")
    values, methods = np.full(given.size, loose.value), ["any noise"] * given.size
    if instance.noise > 0.0 and instance.tasks:
        tried = _tried(instance) if method == "best" else (method,)
        for scenario in np.unique(given).tolist():
            found = _values(instance, scenario, tried, time_limit)
            best = max(found, key=found.__getitem__, default="any noise")
            for i in np.flatnonzero(given == scenario).tolist():
                if found.get(best, 0.0) > loose.value:
                    values[i], methods[i] = found[best], best
    seconds = time.perf_counter() - began
    return ScenarioBound(instance, given, frozen(values), tuple(methods), loose, seconds)


def _checked(scenarios: ArrayLike) -> Ints:
    given = np.asarray(scenarios)
    if given.dtype.kind not in "iu" or given.ndim != 1 or not given.size:
        raise InputError("scenarios", "must be one or several whole numbers")
    require("scenarios", (given >= 0) & (given <= LARGEST), given, f"must lie in [0, {LARGEST}]")
    return frozen(given.astype(np.int64))


def _tried(instance: TapFingerInstance) -> tuple[Method, ...]:
    """Return the methods to try: each cluster by itself proves no less than all in one."""
    relaxations = affordable(instance)[2:]
    return ("trivial", "volume", relaxations[-1] if relaxations else "pooled")


def _values(
    instance: TapFingerInstance,
    scenario: int,
    tried: Sequence[Method],
    time_limit: float | None,
) -> dict[str, float]:
    """Return what each method proves of a scenario."""
    calm = scheduling_problem(instance)
    found: dict[str, float] = {}
    for one in tried:
        apart = one == "relaxation"
        pool = pools_of(calm, np.arange(calm.clusters) * apart)
        if apart or not found:
            menu = scenario_menus(instance, scenario, pool)
        if one in ("trivial", "volume"):
            found[one] = _alone(calm, menu, volume=one == "volume")
            continue
        least = np.minimum.reduceat(menu.duration, menu.first[:-1])[menu.profile]
        proof = bound_of_menus(calm, menu, pool, GAP, shared_blocks(least), time_limit)
        found[one] = proof.value
    return found


def _alone(problem: SchedulingProblem, menu: Menus, *, volume: bool) -> float:
    """Bound flow times by the fewest slots of every task, or by its volume on a fluid machine."""
    parts = menu.duration[:, None] * menu.bundle
    quickest, work = (
        np.minimum.reduceat(one, menu.first[:-1], axis=0)[menu.profile]
        for one in (menu.duration, parts)
    )
    if volume:
        return fluid_bounds(problem, quickest, work)
    return float(problem.weight @ quickest)


def scenario_menus(instance: TapFingerInstance, scenario: int, pool: Ints) -> Menus:
    """Return what pools of clusters offer to tasks in a scenario, without a table of it all."""
    parts = []
    for task, place, slots in served(instance, scenario):
        rows = _offers(place, slots, instance.eligible[task], pool)
        rows[:, 0] = task[rows[:, 0]]
        parts.append(rows)
    rows = np.concatenate(parts)
    task, at, cpu, gpu, duration = rows[
        np.lexsort((*rows.T[[3, 2]], rows[:, 2] + rows[:, 3], rows[:, 4], rows[:, 1], rows[:, 0]))
    ].T
    first = np.concatenate([[0], np.cumsum(np.bincount(task, minlength=instance.tasks))])
    # Tasks that are offered the same have one profile.
    keys, profile = dict[bytes, int](), np.zeros(instance.tasks, dtype=np.int64)
    offer = np.column_stack([at, cpu, gpu, duration])
    for j in range(instance.tasks):
        profile[j] = keys.setdefault(offer[first[j] : first[j + 1]].tobytes(), len(keys))
    _, leader = np.unique(profile, return_index=True)
    count = np.diff(first)[leader]
    kept = np.repeat(first[leader], count) + counted(count)
    begin = np.concatenate([[0], np.cumsum(count)])
    return Menus(profile, begin, at[kept], offer[kept, 1:3], duration[kept])


@compiled
def _offers(place: Ints, slots: Ints, eligible: Flags, pool: Ints) -> Ints:
    """List task, pool, CPU cores, GPUs and slots of all bundles faster than every smaller one."""
    clusters, cpus, gpus = place.shape
    found = np.empty((64, 5), dtype=np.int64)
    known, never = 0, np.iinfo(np.int64).max
    best = np.empty((cpus + 1, gpus + 1), dtype=np.int64)
    for j in range(slots.shape[0]):
        for g in range(pool.max() + 1):
            best[:] = never
            for cpu in range(cpus):
                for gpu in range(gpus):
                    least = never
                    for n in range(clusters):
                        if eligible[j, n] and pool[n] == g and place[n, cpu, gpu] >= 0:
                            least = min(least, slots[j, place[n, cpu, gpu]])
                    before = min(best[cpu, gpu + 1], best[cpu + 1, gpu])
                    best[cpu + 1, gpu + 1] = min(least, before)
                    if least >= before:
                        continue
                    if known == found.shape[0]:
                        longer = np.empty((2 * known, 5), dtype=np.int64)
                        for n in range(known):  # see `put`
                            for part in range(5):
                                longer[n, part] = found[n, part]
                        found = longer
                    found[known, 0], found[known, 1] = j, g
                    found[known, 2], found[known, 3], found[known, 4] = cpu, gpu, least
                    known += 1
    return found[:known]
