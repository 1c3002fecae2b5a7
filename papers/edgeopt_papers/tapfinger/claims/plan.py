"""Plans of tasks: drawn ones, and one of least flow time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from edgeopt.bounds.claim import NotApplicableError
from edgeopt.errors import OptionError
from edgeopt.models.tapfinger import Schedule, SchedulingProblem, allowed, efficient, usage, verify
from edgeopt.online.simulate import IgnoresFeedback, Titled
from edgeopt.online.tapfinger.events import Decision, Round

if TYPE_CHECKING:
    from edgeopt.arrays import Ints
    from edgeopt.instances.tapfinger import TapFingerInstance


DELAY = 2
"""Slots by which a drawn plan starts a task later than it could, at most."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Tasks and one plan for them, which need not keep within the capacities.

    Parameters
    ----------
    problem
        The tasks.
    schedule
        Where, when and with what each of them runs.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import list_schedule, scheduling_problem
    >>> from edgeopt_papers.tapfinger.claims import Plan
    >>> problem = scheduling_problem(small(1))
    >>> plan = Plan(problem, list_schedule(problem))
    >>> plan.completion, plan.flow, plan.carried_out
    (array([2, 5, 7, 9]), array([2, 2, 4, 6]), True)
    """

    problem: SchedulingProblem
    schedule: Schedule

    @cached_property
    def completion(self) -> Ints:
        """When each task is complete, slots since the start, shape [J]."""
        return self.schedule.completion(self.problem)

    @cached_property
    def flow(self) -> Ints:
        """Flow time of each task, slots, shape [J]."""
        return np.asarray(self.completion - self.problem.arrival)

    @cached_property
    def carried_out(self) -> bool:
        """Whether the plan breaks no rule, the capacities among them."""
        try:
            verify(self.problem, self.schedule)
        except OptionError:
            return False
        return True

    @property
    def held(self) -> Ints:
        """What is held in each slot, shape [H, N, 2]."""
        return usage(self.problem, self.schedule)

    def held_until(self, end: Ints) -> Ints:
        """Return what would be held if each task kept its bundle from its start to another end.

        Parameters
        ----------
        end
            First slot in which each task holds nothing, shape [J]; one that ends before it starts
            holds nothing at all.

        Returns
        -------
        What tasks hold in each slot, those of before left out, shape [H, N, 2].
        """
        start, (tasks, held) = self.schedule.start, (self.problem.tasks, self.problem.capacity)
        found = np.zeros((int(max(end.max(initial=0), 1)), *held.shape), dtype=np.int64)
        for j in range(tasks):
            mine = slice(int(start[j]), max(int(start[j]), int(end[j])))
            found[mine, self.schedule.cluster[j]] += self.schedule.bundle[j]
        return found


class Profile:
    """What is held on every cluster, slot by slot, as tasks are placed and taken back."""

    def __init__(self, problem: SchedulingProblem) -> None:
        assert problem.occupied is not None
        assert problem.started is not None
        occupied, longest = problem.occupied.shape[0], int(problem.duration.max(initial=1))
        first = max(occupied, int(problem.arrival.max(initial=0)))
        # Behind the last of all tasks, one after the other, there is always space.
        slots = first + (longest + DELAY) * (problem.tasks + 1) + 1
        free = np.repeat(problem.capacity[:, :, None], slots, axis=2)
        free[:, :, :occupied] -= problem.occupied.transpose(1, 2, 0)
        self._free: list[list[list[int]]] = free.tolist()
        self._taken = [{0} if begun else set() for begun in problem.started.tolist()]
        self._single = problem.single_start

    def earliest(self, cluster: int, bundle: tuple[int, int], slots: int, first: int) -> int:
        """Return the first slot, at or after one, from which a bundle can be held for so long."""
        (cpus, gpus), (cpu, gpu) = self._free[cluster], bundle
        taken = self._taken[cluster] if self._single else set()
        start = t = first
        while t < start + slots:
            if cpus[t] < cpu or gpus[t] < gpu or (t == start and t in taken):
                start = t + 1
            t += 1
        return start

    def take(self, cluster: int, bundle: tuple[int, int], slots: int, start: int) -> None:
        """Hold a bundle."""
        self._change(cluster, bundle, slots, start)
        self._taken[cluster].add(start)

    def give_back(self, cluster: int, bundle: tuple[int, int], slots: int, start: int) -> None:
        """Undo what has been taken last."""
        self._change(cluster, (-bundle[0], -bundle[1]), slots, start)
        # Where several starts are allowed in a slot it does not matter which were taken.
        self._taken[cluster].discard(start)

    def _change(self, cluster: int, bundle: tuple[int, int], slots: int, start: int) -> None:
        for row, amount in zip(self._free[cluster], bundle, strict=True):
            for t in range(start, start + slots):
                row[t] -= amount


def drawn_plan(problem: SchedulingProblem, seed: int) -> Plan:
    """Place tasks in a random order, each somewhere with some bundle, some later than needed."""
    draw = np.random.default_rng(seed)
    bundles, profile = allowed(problem.duration), Profile(problem)
    cluster = np.zeros(problem.tasks, dtype=np.int64)
    bundle, start = np.zeros((problem.tasks, 2), dtype=np.int64), cluster.copy()
    for j in draw.permutation(problem.tasks).tolist():
        kind = int(problem.kind[j])
        may = problem.eligible[j] & problem.runnable[:, kind]
        n = int(draw.choice(np.flatnonzero(may)))
        sizes, slots = bundles.of(n, kind)
        b = int(draw.integers(len(slots)))
        x = int(sizes[b, 0]), int(sizes[b, 1])
        first = int(problem.arrival[j]) + int(draw.integers(DELAY + 1) * draw.integers(2))
        s = profile.earliest(n, x, int(slots[b]), first)
        profile.take(n, x, int(slots[b]), s)
        cluster[j], bundle[j], start[j] = n, x, s
    return Plan(problem, Schedule(cluster, bundle, start))


MOST = 60_000
"""Placements of a task that are tried before a problem counts as too large."""

FEW = 6
"""Most tasks of which every plan is tried."""

Option = tuple[int, tuple[int, int], int]
"""Cluster, bundle and slots that it takes."""


def best_plan(
    problem: SchedulingProblem, bundles: Literal["allowed", "efficient"] = "allowed"
) -> Plan:
    """Return a plan of least weighted flow time.

    Tasks are placed in the order in which they start, each as early as those before it allow.
    Some best plan is among these: in the order of its starts no task gets later if all are moved
    forward as far as possible, since those before it then hold less from that slot on.
    """
    if problem.tasks > FEW:
        raise NotApplicableError("there are too many tasks to try every plan")
    return _Search(problem, bundles).plan()


def least_flow(
    problem: SchedulingProblem, bundles: Literal["allowed", "efficient"] = "allowed"
) -> float:
    """Return the least weighted flow time; see `best_plan`."""
    return best_plan(problem, bundles).schedule.flow_time(problem)


class _Search:
    def __init__(self, problem: SchedulingProblem, bundles: str) -> None:
        self.problem, self.profile = problem, Profile(problem)
        listed = allowed(problem.duration) if bundles == "allowed" else efficient(problem.duration)
        self.options: list[list[Option]] = []
        for j, kind in enumerate(problem.kind.tolist()):
            mine: list[Option] = []
            for n in np.flatnonzero(problem.eligible[j]).tolist():
                sizes, slots = listed.of(n, kind)
                mine += [
                    (n, (x[0], x[1]), d)
                    for x, d in zip(sizes.tolist(), slots.tolist(), strict=True)
                ]
            self.options.append(mine)
        self.shortest = [min(d for _, _, d in mine) for mine in self.options]
        self.arrival, self.weight = problem.arrival.tolist(), problem.weight.tolist()
        self.least, self.left = np.inf, MOST
        self.placed: dict[int, tuple[Option, int]] = {}
        self.best: dict[int, tuple[Option, int]] = {}

    def plan(self) -> Plan:
        self._place(0.0, (0, -1))
        tasks = self.problem.tasks
        options = [self.best[j][0] for j in range(tasks)]
        schedule = Schedule(
            np.array([n for n, _, _ in options], dtype=np.int64),
            np.array([x for _, x, _ in options], dtype=np.int64).reshape(tasks, 2),
            np.array([self.best[j][1] for j in range(tasks)], dtype=np.int64),
        )
        return Plan(self.problem, schedule)

    def _place(self, cost: float, last: tuple[int, int]) -> None:
        """Place one more task behind the last one, by start and then by number."""
        waiting = [j for j in range(self.problem.tasks) if j not in self.placed]
        if not waiting:
            if cost < self.least:
                self.least, self.best = cost, dict(self.placed)
            return
        if cost + sum(self._at_least(j, last[0]) for j in waiting) >= self.least:
            return
        for j in waiting:
            first = max(self.arrival[j], last[0])
            for option in self.options[j]:
                self.left -= 1
                if self.left < 0:
                    raise NotApplicableError("there are too many tasks to try every plan")
                cluster, bundle, slots = option
                start = self.profile.earliest(cluster, bundle, slots, first)
                if (start, j) > last:
                    self.profile.take(cluster, bundle, slots, start)
                    self.placed[j] = option, start
                    flow = start + slots - self.arrival[j]
                    self._place(cost + self.weight[j] * flow, (start, j))
                    del self.placed[j]
                    self.profile.give_back(cluster, bundle, slots, start)

    def _at_least(self, j: int, first: int) -> float:
        late = max(first - self.arrival[j], 0) + self.shortest[j]
        return float(self.weight[j] * late)


@dataclass(frozen=True, eq=False)
class Restless(Titled, IgnoresFeedback):
    """Whatever the rules allow, at random."""

    # Chance of every running task to be given another bundle in the first round of a slot
    change: float = 0.3
    hurry: float = 0.8  # chance of every cluster to start a task in a round, if some bundle fits

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
