"""How the tests let policies live through the frames and slots of an instance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.models.edr.routing import RoutingPlan
from edgeopt.online.edr import (
    EdrEnvironment,
    EvenRate,
    Frame,
    Greedy,
    Lyapunov,
    Oasdr,
    QuantileThreshold,
    SaddlePoint,
)

if TYPE_CHECKING:
    from edgeopt.instances.edr import EdrInstance

CAPPED = [
    Greedy(),
    Greedy(guard=None, reserve=None, training_room=1.0),
    EvenRate(),
    EvenRate(budget="proportional", training_room=0.9),
    EvenRate(budget="price", reserve=None),
    EvenRate(budget="left", guard=1.0),
    Oasdr(),
    QuantileThreshold(multiple=2.0),
    SaddlePoint(),
    SaddlePoint(index="stale", gradient="stale", guard=None, reserve=None),
    SaddlePoint(residual="floor", carry=True, budget="price"),
    SaddlePoint(margin=True, init="zero", price_forecast="mean", alpha0=1.0),
]
POLICIES = [*CAPPED, Lyapunov(), Lyapunov(weight=0.0, catch_up=2.0, guard=None)]


@dataclass
class Life:
    """What a policy saw and decided, frame by frame, and its state before each frame.

    Flows are keyed (slot, origin, site, type, place in the list); plans come with their slots.
    """

    frames: list[Frame] = field(default_factory=list)
    rounds: list[list[int]] = field(default_factory=list)
    flows: list[dict[tuple[int, ...], float]] = field(default_factory=list)
    plans: list[list[Any]] = field(default_factory=list)
    before: list[Any] = field(default_factory=list)


def live(instance: EdrInstance, policy: Any, *, seed: int, foresight: bool = False) -> Life:
    """Step a policy through an instance by hand."""
    environment = EdrEnvironment(instance, foresight=foresight)
    scenarios, coins = np.random.default_rng(seed).spawn(2)
    (coins,) = coins.spawn(1)
    episode = environment.episode(environment.scenarios(scenarios, 1)[0])
    state = policy.start(environment.instance)
    life = Life()
    while (seen := episode.observe()) is not None:
        if isinstance(seen, Frame):
            life.before.append(state)
        decision, state = policy.decide(state, seen, coins)
        feedback = episode.act(decision)
        state = policy.learn(state, seen, decision, feedback)
        if isinstance(seen, Frame):
            life.frames.append(seen)
            life.rounds.append(decision.tolist())
            life.flows.append({})
            life.plans.append([])
        else:
            life.flows[-1] |= listed(seen.slot, decision)
            life.plans[-1].append((seen, decision))
    return life


def listed(slot: int, decision: Any) -> dict[tuple[int, ...], float]:
    """Return the flows of a slot, keyed by their place in the list as well."""
    if isinstance(decision, RoutingPlan):
        problem = decision.problem
        columns = (problem.origin, problem.site, problem.type, decision.flow)
    else:
        columns = tuple(decision)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {(slot, j, k, n, at): amount for at, (j, k, n, amount) in enumerate(rows)}
