"""The setting of EDR's evaluation: drawn weeks, and a policy or an optimum on one of them."""

from __future__ import annotations

import dataclasses
import time
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.edr import generate
from edgeopt.studies.edr.policies import FRAMEWISE, OFFLINE
from edgeopt.studies.edr.tables import efficiency
from edgeopt.studies.sweeps import Job
from edgeopt_papers.edr.figures.growth import cut, lost
from edgeopt_papers.edr.losses import loss_after
from edgeopt_papers.edr.tuning import TUNING
from edgeopt_papers.figures import InstanceSpec
from edgeopt_papers.texts import texts
from edgeopt_papers.tuning import tuned, tuned_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from edgeopt.arrays import Floats
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr import EdrTrajectory
    from edgeopt.online.edr.events import Decision, Slot


CAVEATS: Final = texts(__file__, "caveats")
"""Why computed values may differ from published ones."""

OWN: Final = "saddle_point"
BEHIND: Final = "saddle_point+published"
OURS: Final = "scenario"
LEARNED: Final = "rl"

ONLINE: Final = {
    OWN: "PROPOSED",
    BEHIND: "PROPOSED, a frame behind",
    LEARNED: "RL",
    "oasdr": "OASDR",
    "lyapunov": "LYNO",
    "greedy": "GREEDY",
    OURS: "SCENARIO (ours)",
}
"""The policies of the paper's figures, and one that is not the paper's."""

BASELINES: Final = {name: ONLINE[name] for name in ("greedy", "oasdr", "lyapunov")}

RL: Final = {LEARNED: ONLINE[LEARNED]}

TITLES: Final = {**ONLINE, OFFLINE: "OFFLINE"}
"""With the offline optimum."""

RIVALS: Final = (*BASELINES, *RL, OURS)
"""The policies with which PROPOSED is compared."""

SIDES: Final = {"tuned": "tuned", "default": "default parameters"}
"""The parameters of policies; what has no options is the same on both sides."""

PANELS: Final = ("parameters", SIDES)

LONGER: Final = 40.0
"""How many times as long latency objectives are in the second setting of Figure 5; fitted."""

STEPS: Final = 20
"""Steps of a window, and of a distribution of run times."""

_NAMES: Final = ("sites", "tasks", "frames", "slots", "accuracy")
_FULL: Final[dict[str, Any]] = dict(zip(_NAMES, (50, 100, 168, 12, 0.01), strict=True))
SMALLER: Final[dict[str, Any]] = {"sites": 20, "tasks": 40, "frames": 48, "accuracy": 0.02}
"""Changes of the full size where a figure has many settings."""

_QUICK: Final[dict[str, Any]] = dict(zip(_NAMES, (8, 8, 24, 3, 0.1), strict=True))


def sizes(quick: bool, **changes: Any) -> str:
    """Say how large the instances are."""
    size = (_QUICK if quick else _FULL) | ({} if quick else changes)
    return (
        "The paper names 1000 sites and, elsewhere, 50, and 168 frames of 12 slots. Here "
        f"{size['sites']} sites lie at random places; there are {size['tasks']} tasks, "
        f"{size['frames']} frames of {size['slots']} slots, and the models are trained to an "
        f"accuracy of {size['accuracy']:g}."
    )


def steps(_: bool) -> str:
    """Say how step sizes and other parameters were chosen."""
    titles = {name: title for name, title in ONLINE.items() if name in TUNING.parameters}
    return (
        "The paper does not give its step sizes, on which PROPOSED depends more than on anything "
        f"else, nor the parameters of the baselines. {tuned_in_words('edr', titles, 'group')} "
        "Instances for tuning have 20 sites and last two days; what is best on them need not be on "
        "whole weeks."
    )


SHARED: Final = CAVEATS["shared band"]

OPEN: Final = (steps, *CAVEATS["open"])
"""What the paper leaves open in every figure, step sizes first."""

WEEKS: Final = (OPEN[0], sizes, SHARED, *OPEN[1:], CAVEATS["rivals"])
"""What it leaves open in figures of several policies."""


def parameters(name: str, reuse: str) -> dict[str, dict[str, float]]:
    """Return the options of a policy by side: the default, and the tuned ones where there are some.

    Tuned policies have the settings in common with which they were tuned. Where every receiver
    hears sites of its own, options are those of a shared band.
    """
    if name not in TUNING.parameters:
        return {"default": {}}
    found = tuned("edr", name, "none" if reuse == "none" else "group")
    return {"tuned": {**TUNING.settings, **found}, "default": {}}


def weeks(
    quick: bool,
    names: Iterable[str] = TITLES,
    *,
    share: float = 1.0,
    draws: int | None = None,
    longer: float = 1.0,
    **changes: Any,
) -> list[Job]:
    """List a job for each policy, side and benchmark on the first share of the drawn weeks.

    Latency objectives may be a number of times `longer`.
    """
    from edgeopt.instances.edr.channel import NOISE

    own = {"reuse": "group", "noise": NOISE, **(_QUICK if quick else _FULL), "capable_share": 0.25}
    own |= changes
    frames = round(own["frames"] * share)
    listed, apart = [], {} if longer == 1.0 else {"longer": longer}
    for draw in range((3 if quick else 5) if draws is None else draws):
        spec = InstanceSpec.of(week, rng=draw, first=frames, **apart, **own)
        sides = {name: parameters(name, own["reuse"]) for name in names}
        for name, side, options in (
            (name, side, options) for name, of in sides.items() for side, options in of.items()
        ):
            online = name in ONLINE
            work, more = (_simulated, (draw, options)) if online else (_planned, ())
            identity = {
                "draw": draw,
                "frames": frames,
                "reuse": own["reuse"],
                "noise": own["noise"],
                **apart,
                "system": "edr",
                "instance": spec.fingerprint(),
                "policy": name,
                "parameters": side,
                "options": options,
                "aggregate": f"{work.__module__}.{work.__qualname__}",
            }
            listed.append(Job(identity, work, (spec, name, *more)))
    return listed


def on_both_sides(table: pd.DataFrame) -> pd.DataFrame:
    """Return the jobs by side: what is not tuned stands beside the tuned ones, too."""
    import pandas as pd

    found = set(table.loc[table["parameters"] == "tuned", "policy"])
    alone = table[~table["policy"].isin(found | {BEHIND})]
    both = pd.concat([table, alone.assign(parameters="tuned")], ignore_index=True)
    return both.sort_values("parameters", ascending=False, kind="stable", ignore_index=True)


def week(*, first: int, longer: float = 1.0, **settings: Any) -> EdrInstance:
    """Draw an instance and keep its first frames, with objectives a number of times longer."""
    drawn = cut(InstanceSpec.of(generate, **settings).instance(), first)
    return drawn if longer == 1.0 else drawn.replace(slo=longer * drawn.slo)


class _Watched:
    """A policy that decides as another one, and records how long that takes and what types cost."""

    def __init__(self, policy: Any, instance: EdrInstance) -> None:
        self.policy, self.instance = policy, instance
        self.name, self.start = policy.name, policy.start
        self.frame_seconds: list[float] = []
        self.slot_seconds: list[float] = []
        self.type_cost = np.zeros(instance.types)
        self.unserved = np.zeros(instance.types)

    def decide(self, state: Any, observation: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        """Decide as the policy does, and measure the time."""
        from edgeopt.online.edr import Slot

        began = time.perf_counter()
        decision, state = self.policy.decide(state, observation, rng)
        seconds = time.perf_counter() - began
        if isinstance(observation, Slot):
            self.slot_seconds.append(seconds)
            self._add_cost(observation, decision)
        else:
            self.frame_seconds.append(seconds)
        return decision, state

    def learn(self, state: Any, observation: Any, decision: Any, feedback: Any) -> Any:
        """Learn as the policy does, and record the requests that a frame left unserved."""
        from edgeopt.online.edr import ClosedFrame

        if isinstance(feedback, ClosedFrame):
            self.unserved += feedback.unserved
        return self.policy.learn(state, observation, decision, feedback)

    def _add_cost(self, slot: Slot, decision: Decision) -> None:
        from edgeopt.online.edr.environment import flows_of

        instance = self.instance
        origin, site, kind, amount = flows_of(decision, instance.sites, instance.types)
        seconds = instance.request_seconds(slot.frame, slot.slot)[origin, site, kind]
        dollars = instance.price[slot.frame] * instance.request_energy[site, kind]
        unit = instance.energy_weight * dollars + instance.delay_weight * seconds
        self.type_cost += np.bincount(kind, amount * unit, instance.types)


@cache
def _warm_up(name: str) -> None:
    """Simulate a policy on a small day with caps, so that what it needs is compiled."""
    from edgeopt.online import simulate
    from edgeopt.online.edr import EdrEnvironment
    from edgeopt.studies.registry import choose, find_system

    [entry] = choose(find_system("edr"), [name])
    instance = generate(**_QUICK)
    policy: Any = entry.make(instance, {})
    simulate(EdrEnvironment(instance), policy, rng=0, runs=1)


def _simulated(
    spec: InstanceSpec, name: str, seed: int, options: Mapping[str, float]
) -> dict[str, Any]:
    """Simulate a policy on a week, and return what the figures show of it."""
    from edgeopt.models.edr import unserved_price
    from edgeopt.online import simulate
    from edgeopt.online.edr import EdrEnvironment
    from edgeopt.studies.registry import choose, find_system

    [entry] = choose(find_system("edr"), [name])
    _warm_up(name)
    instance: EdrInstance = spec.instance()
    made: Any = entry.make(instance, {})
    policy = dataclasses.replace(made, **options)
    watched: Any = _Watched(policy, instance)
    found: EdrTrajectory = simulate(EdrEnvironment(instance), watched, rng=seed, runs=1)
    return {
        "total": np.cumsum(found.reward[0]).tolist(),
        "energy": np.cumsum(found.energy_cost[0]).tolist(),
        "task_cost": _by_task_kind(instance, found.rounds[0], found.missing[0]),
        "type_cost": (watched.type_cost + watched.unserved * unserved_price(instance)).tolist(),
        "efficiency": float(efficiency(instance, found)[0]),
        "served_share": float(found.served_share()[0]),
        "paid": float((found.cost + found.unserved_cost).sum()),
        "fit": lost(instance, found, np.zeros(instance.frames))[1],
        "loss": global_loss(instance, found.rounds[0]),
        "frame_ms": _steps(watched.frame_seconds),
        "slot_ms": _steps(watched.slot_seconds),
        "quality": found.quality[0].tolist(),
    }


def _planned(spec: InstanceSpec, name: str) -> dict[str, Any]:
    """Solve a benchmark on a week, and return what the figures show of it."""
    from edgeopt.models.edr import late_price, unserved_price
    from edgeopt.studies.registry import find_system

    instance: EdrInstance = spec.instance()
    solved = find_system("edr").offline.bounds[name].compute(instance)
    if name == FRAMEWISE:
        return {"paid": solved.value}
    assert name == OFFLINE
    found = solved.plan
    late = np.bincount(instance.deadline, found.missing * late_price(instance), instance.frames)
    price = unserved_price(instance)
    lost_requests = found.unserved @ price
    total = found.training_cost + found.request_cost + late + lost_requests
    spent = instance.energy_weight * instance.price * found.energy
    return {
        "bound": solved.bound,
        "total": np.cumsum(total).tolist(),
        "energy": np.cumsum(spent).tolist(),
        "task_cost": _by_task_kind(instance, found.rounds, found.missing),
        "type_cost": (found.type_cost + found.unserved * price).sum(axis=0).tolist(),
        "efficiency": float(found.accurate.sum() / found.request_cost.sum()),
        "served_share": float(1.0 - found.unserved.sum() / instance.requests.sum()),
    }


def _by_task_kind(instance: EdrInstance, rounds: Floats, missing: Floats) -> list[float]:
    """Return what each kind of task costs, rounds that miss their deadline at their price."""
    from edgeopt.models.edr import late_price

    assert instance.task_kind is not None
    cost = (rounds * instance.round_cost).sum(axis=0) + missing * late_price(instance)
    return list(map(float, np.bincount(instance.task_kind, cost)))


def global_loss(instance: EdrInstance, rounds: Floats) -> list[list[float]]:
    """Return the loss of each kind of task as its windows pass, by the rounds that it has done."""
    assert instance.task_kind is not None
    done = np.vstack([np.zeros(instance.tasks), np.cumsum(rounds, axis=0)])
    passed = np.rint(np.linspace(0.0, 1.0, STEPS + 1)[:, None] * instance.window).astype(np.int64)
    so_far = np.take_along_axis(done, instance.arrival + passed, axis=0)
    loss = loss_after(instance.task_kind, so_far)
    kinds = range(int(instance.task_kind.max(initial=-1)) + 1)
    return [loss[:, instance.task_kind == kind].mean(axis=1).tolist() for kind in kinds]


def _steps(seconds: list[float]) -> list[float]:
    """Return how long the fastest, each further twentieth and the slowest take, ms."""
    return list(map(float, 1e3 * np.quantile(seconds, np.linspace(0.0, 1.0, STEPS + 1))))
