"""The policies that an EDR study compares, and the bounds that know the future."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

import edgeopt
from edgeopt.bounds.validity import Check
from edgeopt.solvers.tolerance import relative_gap
from edgeopt.studies.entries import Benchmark, BenchmarkEntry, PolicyEntry, made
from edgeopt.studies.learners import Learned
from edgeopt.studies.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.learning import Checkpoint
    from edgeopt.online.simulate import Step

OFFLINE, FRAMEWISE, INFORMED = "offline", "framewise", "informed"
"""Names of the benchmarks."""

METHODS = ("benders", "highs")
"""Ways to solve the offline problem."""


class Framewise(NamedTuple):
    """The best plan of every frame by itself, training at the even rate at least.

    The cost includes penalties for unserved requests; `bound` is a proven lower bound, shape [T].
    """

    cost: NDArray[np.float64]
    bound: NDArray[np.float64]


def solve(instance: EdrInstance, *, time_limit: float | None = None, **options: Any) -> Benchmark:
    """Bound the penalised cost of every plan within the caps."""
    from edgeopt.models.edr import solve_offline

    plan = solve_offline(instance, time_limit=time_limit, **options)
    proven = "to" if plan.certified else "short of"
    return Benchmark(
        value=plan.objective,
        bound=plan.bound,
        gap=abs(plan.gap),
        seconds=plan.seconds,
        solver="HiGHS" if plan.method == "highs" else "HiGHS and network simplex",
        status=f"{plural(plan.iterations, 'plan')} of rounds, proven {proven} the requested gap",
        plan=plan,
        labels=dict(instance.labels),
    )


def least_rounds(instance: EdrInstance) -> NDArray[np.float64]:
    """Return the rounds that the best plan of a frame by itself has to train, shape [T, I].

    The even rate; where serving all requests leaves too little for that, all tasks get the same
    share of it.
    """
    from edgeopt.models.edr.penalties import least_energy

    rate = np.where(instance.active, instance.even_rate, 0.0)
    needed = (instance.round_energy * rate).sum(axis=1)
    share = np.ones(instance.frames)
    for frame in np.flatnonzero(np.isfinite(instance.cap) & (needed > 0)).tolist():
        left = float(instance.cap[frame]) - least_energy(instance, frame)
        share[frame] = min(1.0, max(0.0, left) / needed[frame])
    most = instance.slots * instance.capacity
    load = rate @ instance.round_work
    busiest = np.divide(most, load, out=np.ones_like(load), where=load > most).min(axis=1)
    return np.asarray(rate * np.minimum(share, busiest)[:, None])


def _framewise(instance: EdrInstance) -> Benchmark:
    """Solve every frame by itself."""
    from edgeopt.models.edr.bounds import frame_comparator
    from edgeopt.models.edr.penalties import served_cap

    began = time.perf_counter()
    cap, rates = served_cap(instance), least_rounds(instance)
    found = [
        frame_comparator(instance, t, minimum=rates[t], cap=float(cap[t]))
        for t in range(instance.frames)
    ]
    cost = np.array([one.cost for one in found])
    bound = np.array([one.bound for one in found])
    value, low = float(cost.sum()), float(bound.sum())
    return Benchmark(
        value=value,
        bound=low,
        gap=relative_gap(
            value,
            low,
            objective_size=float(np.abs(cost).sum()),
            bound_size=float(np.abs(bound).sum()),
        ),
        seconds=time.perf_counter() - began,
        solver="network simplex",
        status=f"{instance.frames} frames",
        plan=Framewise(cost, bound),
    )


def _informed(instance: EdrInstance) -> Benchmark:
    """Bound what plans without foresight cost on average, less two standard errors."""
    from edgeopt.models.edr import informed_bound

    found = informed_bound(instance)
    return Benchmark(
        value=found.value,
        bound=found.bound,
        gap=relative_gap(found.value, found.bound),
        seconds=found.seconds,
        solver="network simplex",
        status=f"estimated from {plural(found.draws, 'draw')}, two standard errors taken off",
        plan=found,
    )


def _excess(_instance: EdrInstance, trajectory: Any) -> Any:
    return trajectory.excess > 0


WITHIN = Check(
    "caps kept", _excess, high=0, source="trajectory",
    sentence="keeps the caps, or uses no more than serving alone needs where that exceeds a cap",
)  # fmt: skip
"""The offline program then contains each run."""

EVEN = Check(
    "even rate", None,
    sentence="trains each task in every frame at its even rate or faster, as far as the cap allows",
)  # fmt: skip
"""Regret is measured against such plans; of policies it is not measured."""

ON_AVERAGE = Check(
    "on average", None,
    sentence="does not know channels and prices in advance, on average over these",
)  # fmt: skip
"""One instance tells nothing of it: there such a policy may cost less."""


def point(instance: EdrInstance, log: Sequence[Step]) -> dict[str, NDArray[np.float64]]:
    """Return rounds [T, I], requests served [T, S, J, J, N], and what is left of both."""
    from edgeopt.online.edr.environment import flows_of
    from edgeopt.online.edr.events import Frame

    rounds = np.zeros((instance.frames, instance.tasks))
    sites, types = instance.sites, instance.types
    served = np.zeros((instance.frames, instance.slots, sites, sites, types))
    for seen, decision, _ in log:
        if isinstance(seen, Frame):
            rounds[seen.frame] = decision
            continue
        flows = flows_of(decision, sites, types)
        np.add.at(
            served[seen.frame, seen.slot], (flows.origin, flows.site, flows.type), flows.amount
        )
    return {
        "x": rounds,
        "missing": instance.rounds - rounds.sum(axis=0),
        "y": served,
        "unserved": instance.requests - served.sum(axis=3),
    }


BENCHMARKS = {
    OFFLINE: BenchmarkEntry(
        "LP bound",
        solve,
        (WITHIN,),
    ),
    FRAMEWISE: BenchmarkEntry(
        "frame-by-frame bound",
        _framewise,
        (WITHIN, EVEN),
    ),
    INFORMED: BenchmarkEntry(
        "informed bound",
        _informed,
        (ON_AVERAGE,),
        offered=lambda instance: instance.distribution is not None,
    ),
}


_PUBLISHED: dict[str, Any] = {
    "index": "stale", "gradient": "stale", "residual": "floor", "step": "printed", "guard": None,
    "reserve": None,
}  # fmt: skip

_Edition = Literal["published", "improved", "own"]

_FORMS: tuple[tuple[str, str, str, str, _Edition, dict[str, Any], bool], ...] = (
    # name, title, subpackage, class, edition, options, takes part by default
    ("scenario", "Scenario control", "online", "Scenario", "own", {"history": False}, True),
    # What it knows of the day before no other policy does.
    ("scenario+history", "Scenario control with history", "online", "Scenario", "own", {}, False),
    ("saddle_point", "Saddle point", "online", "SaddlePoint", "improved", {}, True),
    ("saddle_point+published", "Saddle point, a frame behind", "online", "SaddlePoint", "published",
     _PUBLISHED, True),
    ("lyapunov", "Lyapunov", "online", "Lyapunov", "published", {}, True),
    ("oasdr", "OASDR", "online", "Oasdr", "published", {}, True),
    ("even_rate", "Even rate", "online", "EvenRate", "own", {}, True),
    ("greedy", "Greedy", "online", "Greedy", "published", {}, True),
    ("rl", "RL", "learning", "RlBoth", "published", {}, False),
    ("rl+lp", "RL rounds, optimal routing", "learning", "RlTraining", "own", {}, False),
    ("rl+routing", "Scenario control, RL routing", "learning", "RlRouting", "own",
     {"history": False}, False),
    # It drops requests rather than exceed a cap; the others do not route by an energy budget.
    ("scenario+shed", "Shedding scenario control", "online", "Scenario", "own",
     {"history": False, "elastic": "shed"}, True),
)  # fmt: skip

POLICIES = tuple(
    PolicyEntry(
        name,
        title,
        made(f"edgeopt.{part}.edr", kind, **options),
        edition=edition,
        learned=part == "learning",
        default=default,
    )
    for name, title, part, kind, edition, options, default in _FORMS
)


def _run(checkpoint: Checkpoint) -> Any:
    """Return a policy with a network for rounds or for requests; the other part is optimised."""
    from edgeopt.learning.edr import RlRouting, RlTraining

    if checkpoint.learner == "micro":
        return RlRouting(routing=checkpoint, history=False)
    return RlTraining(checkpoint)


def _checkpoints(policy: Any) -> list[Checkpoint]:
    from edgeopt.learning.edr import RlBoth, RlRouting, RlTraining
    from edgeopt.learning.edr.policy import shipped

    found = [policy.checkpoint or shipped("macro")] if isinstance(policy, RlTraining) else []
    if isinstance(policy, RlRouting | RlBoth):
        found.append(policy.routing or shipped("micro"))
    return found


LEARNED: Final = Learned(
    "rl", Path(edgeopt.__file__).parent / "learning" / "edr", _run, _checkpoints
)
"""What runs the results of training: a network for rounds, for requests, or both."""
