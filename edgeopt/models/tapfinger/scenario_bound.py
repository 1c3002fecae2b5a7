"""The offline problem of a scenario, and what no run of it falls below."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NoReturn

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import CertificateError, InputError, OptionError
from edgeopt.instances.tapfinger.durations import (
    BLOCK,
    SLOWING,
    noise_block,
    progress_gain,
    scenario_durations,
    served,
)
from edgeopt.instances.validate import frozen, require
from edgeopt.kernels import compiled
from edgeopt.models.tapfinger.bounds import GAP, affordable, flow_bound, known_method
from edgeopt.models.tapfinger.column_generation import Menus
from edgeopt.models.tapfinger.lagrangian import bound_of_menus, pools_of, shared_blocks
from edgeopt.models.tapfinger.problem import SchedulingProblem, scheduling_problem
from edgeopt.models.tapfinger.volume_bound import ENOUGH, fluid_bound
from edgeopt.representation import brief
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from edgeopt.instances.fields import Flags, Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.models.tapfinger.bounds import FlowBound, Method, Methods


MOST: Final = 128  # unit-slots up to which the least volume of a task is searched for


def more_is_better(instance: TapFingerInstance) -> bool:
    r"""Return whether more progress before a slot never leads to less after it, if below 1.

    Where :math:`p + v \sqrt{1.2 - p}` falls in p it is at least :math:`1 + v \sqrt{.2}`, which
    noise must not bring below 1.
    """
    assert instance.slowing is not None
    falling = 2.0 * np.sqrt(SLOWING - 1.0)  # speed from which on it falls somewhere
    fast = instance.speed[:, instance.slowing] > falling
    return bool(instance.noise <= falling * np.sqrt(SLOWING - 1.0) or not fast.any())


def least_work(instance: TapFingerInstance, scenario: int) -> tuple[Ints, Ints]:
    r"""Return the fewest slots and the fewest CPU-slots and GPU-slots of each task, [J], [J, 2].

    Pauses do not advance the noise :math:`U_i` of the i-th slot of service. With the most progress
    :math:`P_x(i, u)` after i slots of service and a volume u, the last bundle being x,

    .. math::
        P_x(i, u) = \max\{P_x(i-1, u-x) + g_x^+,\; \max_y P_y(i-1, u-x) + \sigma g_x^+\}, \qquad
        g_x^+ = \max(0, g_x(P) + \varepsilon U_i).

    The three need not be attained together. More progress must never be worse.
    """
    assert instance.slowing is not None
    quickest = np.zeros(instance.tasks, dtype=np.int64)
    volumes = np.zeros((instance.tasks, 2), dtype=np.int64)
    never = np.iinfo(np.int64).max
    blocks = range(-(-MOST // BLOCK))
    noise = np.hstack([noise_block(scenario, instance.tasks, block) for block in blocks])
    noise *= instance.noise
    for k, (task, place, slots) in enumerate(served(instance, scenario)):
        tables, of = np.unique(place.reshape(place.shape[0], -1), axis=0, return_inverse=True)
        found = np.full((tables.shape[0], task.size, 3), never)
        for c, table in enumerate(tables.reshape(-1, *place.shape[1:]) if task.size else ()):
            if (table < 0).all():
                continue
            found[c, :, 0] = slots[:, table[table >= 0]].min(axis=1)
            for r in range(2):
                best = table.max(axis=1 - r)  # the speeds ascend
                size = np.flatnonzero(best > np.maximum.accumulate(np.append(-1, best[:-1])))
                if size[0] == 0:
                    found[c, :, 1 + r] = 0
                    continue
                at = best[size]
                speed = np.unique(instance.speed[:, k][instance.duration[:, k] > 0])[at]
                found[c, :, 1 + r] = _volumes(
                    size, speed, bool(instance.slowing[k]), noise[task],
                    instance.switching, (slots[:, at] * size).min(axis=1),
                )  # fmt: skip
        offered = np.where(instance.eligible[task].T[:, :, None], found[np.ravel(of)], never)
        least = offered.min(axis=0, initial=never)
        quickest[task], volumes[task] = least[:, 0], least[:, 1:]
    return quickest, volumes


@compiled
def _grown(speed: float, slowing: bool, progress: float, noise: float, factor: float) -> float:
    """Return the progress after a slot."""
    return progress + factor * max(0.0, progress_gain(speed, slowing, progress) + noise)


@compiled(writes="fixed")
def _volumes(
    size: Ints, speed: Floats, slowing: bool, noise: Floats, switching: float, fixed: Ints
) -> Ints:
    """Return the least volume of each task, at most that with its best fixed bundle, or `MOST`."""
    for j in range(fixed.size):
        limit = min(fixed[j], noise.shape[1])
        held = np.full((limit + 1, size.size), -1.0)  # most progress by volume and last bundle
        for i in range(limit):
            most = np.full(limit + 1, -1.0)
            for u in range(limit + 1):
                most[u] = held[u].max()
            longer = np.full((limit + 1, size.size), -1.0)
            for x in range(size.size):
                for u in range(size[x], limit):
                    before = u - size[x]
                    reached = -1.0
                    if i == 0:
                        if before == 0:
                            reached = _grown(speed[x], slowing, 0.0, noise[j, 0], 1.0)
                    else:
                        if held[before, x] >= 0.0:
                            reached = _grown(speed[x], slowing, held[before, x], noise[j, i], 1.0)
                        if most[before] >= 0.0:
                            other = _grown(speed[x], slowing, most[before], noise[j, i], switching)
                            reached = max(reached, other)
                    longer[u, x] = reached
                    if reached >= ENOUGH:
                        limit = min(limit, u)
            held = longer
        fixed[j] = limit
    return fixed


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
    )


@in_html
@brief
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
    preemptive
        Whether it holds for policies that change the bundles of running tasks, too.
    any_noise
        The bound for any noise.
    seconds
        Time it took, all scenarios together.
    """

    instance: TapFingerInstance = field(repr=False)
    scenarios: Ints
    values: Floats
    methods: tuple[str, ...]
    preemptive: bool
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
    preemptive: bool = False,
    method: Methods = "best",
    time_limit: float | None = None,
    any_noise: FlowBound | None = None,
) -> ScenarioBound:
    r"""Bound the weighted sum of flow times in scenarios of the noise.

    A run of scenario w is a plan of `scenario_problem`, so with its optimum,

    .. math:: F_\pi(w) \ge \mathrm{OPT}(P_w) \ge \mathrm{LB}(P_w)
              \quad\Rightarrow\quad \mathrm{E} F_\pi \ge \mathrm{E}\, \mathrm{LB}(P_w)

    for every policy that changes no bundle, pauses nothing and completes all tasks. Bounds for
    policies that do rest on the fewest slots of service and the least volume of each task: neither
    pauses nor other bundles advance its noise.

    Parameters
    ----------
    instance
        The instance.
    scenarios
        Scenarios, such as `TapFingerTrajectory.scenarios`, shape [R].
    preemptive
        Whether to bound policies that change the bundles of running tasks or pause them.
    method
        As for `flow_bound`; by default, of the relaxations, the strongest that the size allows. For
        preemptive policies those hold for any noise, and the other methods alone for a scenario.
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
    """
    began = time.perf_counter()
    known_method(method)
    given = _checked(scenarios)
    loose = any_noise
    if loose is None:
        loose = flow_bound(instance, preemptive=preemptive, method=method, time_limit=time_limit)
    if loose.instance != instance or loose.preemptive != preemptive:
        raise OptionError("any_noise: must be a bound of the instance for the same policies")
    values, methods = np.full(given.size, loose.value), ["any noise"] * given.size
    if instance.noise > 0.0 and instance.tasks:
        tried = _tried(instance) if method == "best" else (method,)
        found: dict[str, float]
        for scenario in np.unique(given).tolist():
            if preemptive:
                found = _changing(instance, scenario)
            else:
                found = _values(instance, scenario, tried, time_limit)
            best = max(found, key=found.__getitem__, default="any noise")
            for i in np.flatnonzero(given == scenario).tolist():
                if found.get(best, 0.0) > loose.value:
                    values[i], methods[i] = found[best], best
    seconds = time.perf_counter() - began
    return ScenarioBound(
        instance, given, frozen(values), tuple(methods), preemptive, loose, seconds
    )


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


def _changing(instance: TapFingerInstance, scenario: int) -> dict[str, float]:
    """Return what is proven of a scenario where bundles may change."""
    if not more_is_better(instance):
        return {}
    quickest, work = least_work(instance, scenario)
    return {
        "trivial": float(instance.weight @ quickest),
        "volume": _fluid(scheduling_problem(instance), quickest, work),
    }


def _fluid(problem: SchedulingProblem, quickest: Ints, work: Ints) -> float:
    """Bound flow times on one machine of each resource; see `volume_bound`."""
    total, nothing = problem.capacity.sum(axis=0), np.zeros(0, dtype=np.int64)
    return max(
        fluid_bound(
            problem.arrival, problem.weight, np.ascontiguousarray(work[:, r]), quickest, nothing,
            total[r],
        )
        for r in range(2)
    )  # fmt: skip


def _alone(problem: SchedulingProblem, menu: Menus, *, volume: bool) -> float:
    """Bound flow times by the fewest slots of every task, or by its volume on a fluid machine."""
    parts = menu.duration[:, None] * menu.bundle
    quickest, work = (
        np.minimum.reduceat(one, menu.first[:-1], axis=0)[menu.profile]
        for one in (menu.duration, parts)
    )
    if volume:
        return _fluid(problem, quickest, work)
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
    kept = np.repeat(first[leader] - (np.cumsum(count) - count), count) + np.arange(count.sum())
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
                        longer[:known] = found
                        found = longer
                    found[known, 0], found[known, 1] = j, g
                    found[known, 2], found[known, 3], found[known, 4] = cpu, gpu, least
                    known += 1
    return found[:known]
