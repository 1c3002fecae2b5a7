"""The policies that a TapFinger study compares, and the bounds that are valid for each."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np

import edgeopt
from edgeopt.bounds.validity import Check
from edgeopt.errors import OptionError
from edgeopt.models.tabular import Tabular, named
from edgeopt.solvers.tolerance import relative_gap
from edgeopt.studies.entries import Benchmark, BenchmarkEntry, PolicyEntry, made
from edgeopt.studies.learners import Learned
from edgeopt.studies.wording import listed, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.learning import Checkpoint
    from edgeopt.models.tabular import Labels
    from edgeopt.models.tapfinger import FlowBound, ScenarioBound, Schedule, SchedulingProblem
    from edgeopt.studies.results import Case

CHANGING, FIXED = "changing", "fixed"
"""Names of the benchmarks: bundles may change while a task runs, or may not."""

Method = Literal["best", "trivial", "volume", "pooled", "relaxation"]

METHODS: Final[tuple[Method, ...]] = get_args(Method)
"""Ways to bound the flow times."""

FEW: Final = 12
"""Most tasks for which branch and bound searches for the plan as well."""

_SOLVING: Final = 15.0
"""Seconds for branch and bound, and for every search for the prices of a bound."""


def bound_label(case: Case, name: str) -> str:
    """Name a bound as tables do, with its scope: ``bound without reallocation, per scenario``."""
    scope = case.benchmarks[name].scope
    label = case.system.offline.bounds[name].label
    return f"{label}, per {scope}" if scope else label


@dataclass(frozen=True, eq=False)
class Plan(Tabular):
    """A plan for all tasks without noise, known in advance, and a bound with noise."""

    problem: SchedulingProblem
    schedule: Schedule
    bound: FlowBound | ScenarioBound

    def _rows(self) -> dict[str, Any]:
        problem, schedule = self.problem, self.schedule
        return {
            "task": np.arange(problem.tasks),
            "arrival": problem.arrival,
            "kind": problem.kind,
            "cluster": schedule.cluster,
            "cpu": schedule.bundle[:, 0],
            "gpu": schedule.bundle[:, 1],
            "start": schedule.start,
            "completion": schedule.completion(problem),
        }

    def _arrays(self, labels: Labels) -> dict[str, Any]:
        units = dict.fromkeys(("arrival", "start", "completion"), "slot")
        rows = self._rows()
        del rows["task"]
        return {
            name: (("task",), named(labels.get(name), values), {"units": units.get(name, "1")})
            for name, values in rows.items()
        }


def solve(
    instance: TapFingerInstance,
    *,
    preemptive: bool = True,
    method: Method = "best",
    time_limit: float | None = None,
) -> Benchmark:
    """Bound the weighted sum of flow times, and plan all tasks as if known in advance."""
    from edgeopt.models.tapfinger import flow_bound, scheduling_problem

    began = time.perf_counter()
    problem = scheduling_problem(instance)
    limit = _SOLVING if time_limit is None else min(_SOLVING, time_limit)
    schedule = _schedule(instance, problem, limit)
    least = flow_bound(instance, preemptive=preemptive, method=method, time_limit=limit)
    value = schedule.flow_time(problem)
    return Benchmark(
        value=value,
        bound=least.value,
        gap=relative_gap(value, least.value),
        seconds=time.perf_counter() - began,
        solver=f"lists and the {least.method} bound",
        status=f"{plural(instance.tasks, 'task')}, planned without noise",
        plan=Plan(problem, schedule, least),
        labels=dict(instance.labels),
    )


def of_scenarios(
    instance: TapFingerInstance,
    found: Benchmark,
    scenarios: NDArray[np.int64],
    *,
    time_limit: float | None = None,
) -> Benchmark:
    """Bound each scenario, and plan all tasks of it as if its noise were known in advance."""
    from edgeopt.models.tapfinger import best_list, scenario_bound, scenario_problem

    if instance.noise == 0.0 or not instance.tasks:
        return found
    began = time.perf_counter()
    each = _SOLVING if time_limit is None else min(_SOLVING, time_limit / scenarios.size)
    least = scenario_bound(instance, scenarios, time_limit=each, any_noise=found.plan.bound)
    problems = [scenario_problem(instance, scenario) for scenario in scenarios.tolist()]
    value = float(np.mean([best_list(problem).flow_time(problem) for problem in problems]))
    return replace(
        found,
        value=value,
        bound=least.value,
        gap=relative_gap(value, least.value),
        seconds=found.seconds + time.perf_counter() - began,
        solver=f"lists and the {listed(list(dict.fromkeys(least.methods)))} bound",
        status=f"{plural(instance.tasks, 'task')}, mean over {plural(scenarios.size, 'scenario')}",
        plan=replace(found.plan, bound=least),
        each=tuple(least.values.tolist()),
    )


def _schedule(instance: TapFingerInstance, problem: SchedulingProblem, limit: float) -> Schedule:
    """Return the best plan that is cheap to find."""
    from edgeopt.models.tapfinger import best_list, optimal_schedule

    plans = (best_list(problem), _ran(instance))
    found = min(plans, key=lambda plan: plan.flow_time(problem))
    if problem.tasks > FEW:
        return found
    return optimal_schedule(problem, time_limit=limit, start=found).schedule


def _ran(instance: TapFingerInstance) -> Schedule:
    """Return the schedule of a policy that reserves, without noise."""
    from edgeopt.models.tapfinger import Schedule
    from edgeopt.online import simulate
    from edgeopt.online.tapfinger import TapFingerEnvironment
    from edgeopt.online.tapfinger.policies.reservation import ReservationSpt

    environment = TapFingerEnvironment(instance.replace(noise=0.0))
    run = simulate(environment, ReservationSpt(), runs=1, keep_trace=True)
    assert run.held is not None  # one stretch for each task, since no bundle changes
    return Schedule(run.cluster[0], run.held.bundle, run.start[0])


def _changes(_instance: TapFingerInstance, trajectory: Any) -> Any:
    return trajectory.preemptions.sum(axis=1)


def _never_changes(policy: Any) -> bool | None:
    preemptive = getattr(policy, "preemptive", None)
    return None if preemptive is None else not preemptive


UNCHANGED = Check(
    "bundles unchanged", _changes, high=0, source="trajectory", declared=_never_changes,
    sentence="never changes the bundle of a running task",
)  # fmt: skip
"""Policies say it by an attribute ``preemptive = False``."""

BENCHMARKS = {
    CHANGING: BenchmarkEntry(
        "bound for any policy",
        solve,
    ),
    FIXED: BenchmarkEntry(
        "bound without reallocation",
        partial(solve, preemptive=False),
        (UNCHANGED,),
        of_scenarios=of_scenarios,
    ),
}


_Edition = Literal["published", "improved", "own"]

_FORMS: tuple[tuple[str, str, str, str, _Edition, dict[str, Any]], ...] = (
    # name, title, subpackage, class, edition, options
    ("rollout", "Future rollout", "online", "FutureRollout", "own", {}),
    ("reservation", "Reservation", "online", "ReservationSpt", "own", {}),
    ("learnt", "Learned durations, reset each run", "online", "LearntReservation", "own", {}),
    ("learnt+kept", "Learned durations, carried over", "online", "LearntReservation", "own", {}),
    ("imitation", "Imitation, durations known", "learning", "LearnedScheduler", "own", {}),
    ("imitation+unknown", "Imitation, durations unknown", "learning", "LearnedScheduler", "own",
     {"checkpoint": "unknown"}),
    ("priced", "Priced", "online", "PricedSpt", "own", {}),
    ("optimus", "Optimus", "online", "Optimus", "improved", {}),
    ("optimus+swapped", "Optimus, swapped fit", "online", "Optimus", "published",
     {"fit": "published"}),
    ("optimus+containers", "Optimus without preemption", "online", "OptimusContainers", "published",
     {}),
    ("optimus+text", "Optimus without preemption, by gain alone", "online", "OptimusContainers",
     "published", {"offset": 0.0, "take_back": False}),
    ("tiresias", "Tiresias, minimum", "online", "Tiresias", "published", {"target": "minimum"}),
    ("tiresias+elastic", "Tiresias, elastic", "online", "Tiresias", "published",
     {"target": "elastic"}),
    ("tiresias+containers", "Tiresias without preemption", "online", "TiresiasContainers",
     "published", {}),
    ("random", "Random", "online", "RandomAllocation", "published", {}),
    ("min", "Min", "online", "Min", "published", {}),
)  # fmt: skip


def earlier(instance: TapFingerInstance, seed: int = 0) -> TapFingerInstance:
    """Draw as many tasks that might have come before those of an instance.

    Kinds, eligibility and weights are those of tasks drawn with replacement, the slots from one
    arrival to the next are shuffled; clusters, speeds and rules are the same.
    """
    draw = np.random.default_rng(seed)
    drawn = draw.integers(0, instance.tasks, instance.tasks)
    return instance.replace(
        arrival=np.cumsum(draw.permutation(np.diff(instance.arrival, prepend=0))),
        kind=instance.kind[drawn],
        eligible=instance.eligible[drawn],
        weight=instance.weight[drawn],
    )


def _kept(instance: TapFingerInstance, _found: Mapping[str, Benchmark]) -> Any:
    """Return the policy that has kept the book of one run on earlier tasks."""
    from edgeopt.online import simulate
    from edgeopt.online.tapfinger import LearntReservation, TapFingerEnvironment

    policy = LearntReservation(memory="kept")
    if not instance.tasks:
        return policy
    environment = TapFingerEnvironment(earlier(instance))
    return policy.after(simulate(environment, policy, rng=0, runs=1, keep_trace=True))


def setting_of(instance: TapFingerInstance) -> str:
    """Name the setting of training of which the tasks of an instance are, by their kinds."""
    kinds = instance.kinds or ()
    if "lm" in kinds:  # measured; containers may have a single CPU core
        return "containers" if instance.minimum[0, 0] == 1 else "testbed"
    if "long" in kinds:
        return "pointer"
    return "single" if instance.single_start else "several"


def _imitation(instance: TapFingerInstance, _found: Mapping[str, Benchmark]) -> Any:
    from edgeopt.learning.tapfinger import LearnedScheduler
    from edgeopt.learning.tapfinger.scheduler import SHIPPED

    name = setting_of(instance)
    if name not in SHIPPED:
        raise OptionError(
            f"policy 'imitation': no network for such tasks comes with the package; train one by "
            f"`edgeopt train tapfinger imitation --set setting={name} --out DIR`, and compare "
            "learned:DIR/seed-0"
        )
    return LearnedScheduler(name)


_MADE: Final = {"learnt+kept": _kept, "imitation": _imitation}
"""Policies that depend on the instance."""

_SHOWN: Final = (
    "rollout", "reservation", "priced", "learnt", "optimus", "tiresias", "random", "min",
)  # fmt: skip
"""Those that a study compares by default."""

POLICIES = tuple(
    PolicyEntry(
        name,
        title,
        _MADE.get(name) or made(f"edgeopt.{part}.tapfinger", form, **options),
        edition=edition,
        # Networks are made for the kinds and bundles of the paper's simulations.
        learned=part == "learning",
        # Its book is of tasks drawn from those of the instance, later ones among them.
        kind="hindsight" if name == "learnt+kept" else "causal",
        default=name in _SHOWN,
    )
    for name, title, part, form, edition, options in _FORMS
)
"""The paper's baselines in their forms, schedulers that need no training, and learnt ones."""


def _run(checkpoint: Checkpoint) -> Any:
    from edgeopt.learning.tapfinger import LearnedScheduler

    return LearnedScheduler(checkpoint)


def _checkpoints(policy: Any) -> list[Checkpoint]:
    from edgeopt.learning.tapfinger import LearnedScheduler

    return [policy.trained] if isinstance(policy, LearnedScheduler) else []


LEARNED: Final = Learned(
    "imitation",
    Path(edgeopt.__file__).parent / "learning" / "tapfinger",
    _run,
    _checkpoints,
)
"""What runs the results of training: `imitation` is the one for the starts of an instance."""
