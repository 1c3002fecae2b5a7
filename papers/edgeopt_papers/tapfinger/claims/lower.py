"""Lower bounds on flow times, and what they bound."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.bounds.claim import Measured, Measurement, NotApplicableError
from edgeopt.instances.tapfinger import TapFingerInstance, shortest_durations
from edgeopt.instances.tapfinger.durations import COMPLETE, progress_gain
from edgeopt.models.tapfinger import list_schedule, scheduling_problem
from edgeopt.models.tapfinger.bounds import trivial_bound
from edgeopt.models.tapfinger.programs import fastest
from edgeopt_papers.claims.paper import SOLVED, named_instance
from edgeopt_papers.tapfinger.claims import instances as named
from edgeopt_papers.tapfinger.claims.evaluation import Evaluation, about_plans, claim
from edgeopt_papers.tapfinger.claims.gap import METHODS
from edgeopt_papers.tapfinger.claims.instances import INSTANCES, NOISY, TASKS
from edgeopt_papers.tapfinger.claims.plan import least_flow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from edgeopt.online.tapfinger import TapFingerTrajectory

MOST = 20_000
"""Most states of the tasks that are visited; an instance with more is too large."""

FEW = 3
"""Most tasks of which every run is tried."""

Bundle = tuple[int, int]


class _Placed(NamedTuple):
    """A task that has been placed: its cluster, its bundle in the last slot, its progress."""

    cluster: int
    bundle: Bundle
    progress: float


Task = _Placed | None
"""None while it waits."""

State = tuple[tuple[int, Task], ...]
"""The tasks in the system by number."""


def least_preempted_flow(instance: TapFingerInstance) -> float:
    """Return the least weighted flow time if the bundles of running tasks may change.

    Every bundle of every task in every slot is tried, those excepted that a smaller one equals in
    speed. There is no noise.
    """
    if instance.noise > 0.0:
        raise NotApplicableError("there is noise")
    if instance.tasks > FEW:
        raise NotApplicableError("there are too many tasks to try every run")
    return _Search(instance).least()


class _Search:
    def __init__(self, instance: TapFingerInstance) -> None:
        assert instance.slowing is not None
        self.instance, self.kind = instance, instance.kind.tolist()
        self.weight, self.arrival = instance.weight.tolist(), instance.arrival.tolist()
        self.slowing = instance.slowing.tolist()
        self.clusters = [np.flatnonzero(eligible).tolist() for eligible in instance.eligible]
        self.capacity = [(int(c), int(g)) for c, g in instance.capacity]
        clusters, kinds = instance.clusters, instance.task_kinds
        self.speeds = [[self._efficient(n, k) for k in range(kinds)] for n in range(clusters)]
        # Asked for in every state, of which many have tasks that come from the same past.
        self.slots: Callable[[int, int, float], int] = cache(self._fastest)
        # No run is needed that is worse than the best one without changes.
        self.known = least_flow(scheduling_problem(instance))

    def _efficient(self, n: int, k: int) -> dict[Bundle, float]:
        allowed = np.argwhere(self.instance.duration[n, k] > 0).tolist()
        speed = {(c, g): float(self.instance.speed[n, k, c, g]) for c, g in allowed}
        return {
            x: v
            for x, v in speed.items()
            if not any(
                y != x and y[0] <= x[0] and y[1] <= x[1] and u >= v for y, u in speed.items()
            )
        }

    def least(self) -> float:
        """Go from slot to slot with every state that can be reached, and the least cost of each."""
        states: dict[State, float] = {(): 0.0}
        best, slot, left = self.known, 0, MOST
        last = max(self.arrival, default=-1)
        while states:
            following: dict[State, float] = {}
            new = tuple((j, None) for j, a in enumerate(self.arrival) if a == slot)
            for state, cost in states.items():
                here = (*state, *new)
                paid = cost + sum(self.weight[j] for j, _ in here)
                for after in self._moves(here):
                    left -= 1
                    if left < 0:
                        raise NotApplicableError("there are too many runs to try")
                    if not after and slot >= last:
                        best = min(best, paid)
                    elif paid + self._at_least(after, slot) < min(
                        best, following.get(after, np.inf)
                    ):
                        following[after] = paid
            states, slot = following, slot + 1
        return best

    def _at_least(self, state: State, slot: int) -> float:
        """Return what tasks here and to come cost at least after a slot."""
        rest = sum(self.weight[j] * self._alone(j, task) for j, task in state)
        later = [j for j, a in enumerate(self.arrival) if a > slot]
        return float(rest + sum(self.weight[j] * self._alone(j, None) for j in later))

    def _alone(self, j: int, task: Task) -> int:
        """Return the slots that a task takes at least from now on."""
        if task is None:
            return min(self.slots(n, self.kind[j], 0.0) for n in self.clusters[j])
        return self.slots(task.cluster, self.kind[j], task.progress)

    def _fastest(self, n: int, k: int, progress: float) -> int:
        speed, slots = max(self.speeds[n][k].values()), 0
        while progress < COMPLETE:
            progress += progress_gain(speed, self.slowing[k], min(progress, 1.0))
            slots += 1
        return slots

    def _moves(self, state: State) -> Iterator[State]:
        """Yield what the tasks in the system can come to in a slot."""
        free = [list(amount) for amount in self.capacity]
        yield from self._choose(state, 0, free, set(), ())

    def _choose(
        self,
        state: State,
        place: int,
        free: list[list[int]],
        started: set[int],
        after: State,
    ) -> Iterator[State]:
        if place == len(state):
            yield after
            return
        j, task = state[place]
        if task is None:
            yield from self._choose(state, place + 1, free, started, (*after, (j, None)))
        for n in self.clusters[j] if task is None else [task.cluster]:
            if task is None and self.instance.single_start and n in started:
                continue
            begun = started | {n} if task is None else started
            # A task that is placed and paused has had its start, which may be worth something.
            idle = task is not None or self.instance.single_start
            for bundle in [(0, 0)] * idle + list(self.speeds[n][self.kind[j]]):
                if bundle[0] > free[n][0] or bundle[1] > free[n][1]:
                    continue
                free[n] = [free[n][0] - bundle[0], free[n][1] - bundle[1]]
                progress = self._progress(j, task, n, bundle)
                kept = () if progress >= COMPLETE else ((j, _Placed(n, bundle, progress)),)
                yield from self._choose(state, place + 1, free, begun, (*after, *kept))
                free[n] = [free[n][0] + bundle[0], free[n][1] + bundle[1]]

    def _progress(self, j: int, task: Task, n: int, bundle: Bundle) -> float:
        k = self.kind[j]
        before = 0.0 if task is None else task.progress
        if bundle == (0, 0):
            return before
        gain = progress_gain(self.speeds[n][k][bundle], self.slowing[k], before)
        if task is not None and task.bundle != bundle:
            gain *= self.instance.switching
        return float(before + gain)


def _below_plans(method: str, view: Evaluation) -> Measurement:
    """Compare a bound with the best plan of all, or with those at hand."""
    value = view.below(method)
    try:
        least = view.optimum
    except NotApplicableError:
        plans = [plan.schedule for plan in view.feasible]
        if view.given is None:
            plans.append(list_schedule(view.problem))
        least = min(plan.flow_time(view.problem) for plan in plans)
    return Measurement(value, least)


def _least(runs: Iterable[TapFingerTrajectory]) -> float:
    return min((float(run.weighted_flow_time().min()) for run in runs), default=np.inf)


def _below_runs(view: Evaluation, *, preemptive: bool) -> Measured:
    """Compare every bound with the runs of policies, and with the best run if there is no noise."""
    assert view.instance is not None
    least = _least(view.runs if preemptive else view.steady_runs)
    if preemptive:
        least = min(least, _best_run(view))
    return (
        Measurement(bound.value, least, {"bound": bound})
        for bound in (view.bound(method, preemptive) for method in METHODS)
    )


def _below_scenarios(view: Evaluation) -> Iterator[Measurement]:
    """Compare the bound of each scenario with its best plan, and that plan with the runs."""
    assert view.instance is not None
    for run in view.steady_runs:
        assert run.scenarios is not None
        for scenario, value in zip(run.scenarios, run.weighted_flow_time(), strict=True):
            bound, optimum = view.of_scenario(int(scenario))
            yield Measurement(bound.value, optimum, {"bound": bound, "scenario": int(scenario)})
            yield Measurement(optimum, float(value), {"scenario": int(scenario)})


def _above_any_noise(view: Evaluation) -> Iterator[Measurement]:
    """Compare the best plan of each scenario with that for the most favourable noise."""
    instance = view.instance
    assert instance is not None
    least = least_flow(scheduling_problem(instance, duration=shortest_durations(instance)))
    for scenario in np.unique(np.concatenate([run.scenarios for run in view.steady_runs])):
        bound, optimum = view.of_scenario(int(scenario))
        yield Measurement(optimum, least, {"scenario": int(scenario)})
        yield Measurement(bound.value, bound.any_noise.value, {"bound": bound})


def _best_run(view: Evaluation) -> float:
    assert view.instance is not None
    try:
        return least_preempted_flow(view.instance)
    except NotApplicableError:
        return np.inf


def _fixed_bound(view: Evaluation) -> Measurement:
    """Compare the bound for policies that change nothing with a run in which bundles change."""
    assert view.instance is not None
    bound = view.bound("relaxation", preemptive=False)
    return Measurement(bound.value, least_preempted_flow(view.instance), {"bound": bound})


def _far_from_optimum(view: Evaluation) -> Measurement:
    """Compare the relaxation with each cluster by itself with that of all in one."""
    return Measurement(view.below("relaxation"), view.below("pooled"))


def _without_noise(instance: TapFingerInstance) -> Measurement:
    problem = scheduling_problem(instance, duration=shortest_durations(instance))
    return Measurement(trivial_bound(scheduling_problem(instance)), float(fastest(problem).sum()))


_INSTANCES = {**TASKS, **INSTANCES}

_ALL = {**INSTANCES, **NOISY, **named_instance(named.overtaken)}

_SCENARIOS = {**NOISY, **named_instance(named.one_gpu), **named_instance(named.insensitive)}

_INSTANCE = {"instance_type": TapFingerInstance}

CLAIMS = (
    *(
        about_plans(f"bound.{method}", partial(_below_plans, method), _INSTANCES, tolerance=SOLVED)
        for method in ("trivial", "volume", "pooled", "relaxation")
    ),
    claim("bound.order", _far_from_optimum, _INSTANCES, tolerance=2e-4),
    claim(
        "bound.steady", partial(_below_runs, preemptive=False), _ALL, tolerance=SOLVED, **_INSTANCE
    ),
    claim("bound.scenario", _below_scenarios, _SCENARIOS, tolerance=SOLVED, **_INSTANCE),
    claim("bound.scenario.order", _above_any_noise, _SCENARIOS, tolerance=SOLVED, **_INSTANCE),
    claim(
        "bound.preemptive",
        partial(_below_runs, preemptive=True),
        _ALL,
        tolerance=SOLVED,
        **_INSTANCE,
    ),
    claim("bound.fixed", _fixed_bound, named.overtaken, tolerance=SOLVED, **_INSTANCE),
    claim(
        "bound.noise",
        _without_noise,
        named.one_gpu,
        instance_type=TapFingerInstance,
        view=lambda instance: instance,
    ),
)
