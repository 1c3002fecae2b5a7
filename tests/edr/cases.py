"""Instances of EDR for tests, drawn and held twice, and policies stepped through them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from edgeopt.instances.edr import EdrHistory, EdrInstance
from edgeopt.learning.edr import RlBoth, RlRouting, RlTraining
from edgeopt.models.edr.routing import RoutingPlan
from edgeopt.online.edr import (
    EdrEnvironment,
    EvenRate,
    Frame,
    Greedy,
    Lyapunov,
    Oasdr,
    SaddlePoint,
    Scenario,
)
from edgeopt.testing.strategies import edr_instances
from tests.oracles.edr import Plain, plain

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn


def draw_sites(
    seed: int,
    *,
    frames: int = 4,
    slots: int = 3,
    sites: int = 4,
    tasks: int = 3,
    types: int = 2,
    rounds: int = 5,
    ample: bool = False,
) -> EdrInstance:
    """Draw an instance; the integers are the largest sizes.

    One half has small dyadic numbers and many ties, the other any numbers. `ample` gives every site
    room for everything, so that all that has a route is served.
    """
    rng = np.random.default_rng(seed)
    T, D, J, N = (int(rng.integers(1, top + 1)) for top in (frames, slots, sites, types))
    J = max(J, int(rng.integers(1, sites + 1)))
    count = int(rng.integers(0, tasks + 1))
    tied = bool(rng.integers(2))

    def among(shape: tuple[int, ...], *values: float) -> np.ndarray:
        chosen = rng.choice(np.array(values, dtype=float), shape)
        return chosen if tied else chosen * rng.uniform(0.7, 1.3, shape)

    arrival = rng.integers(0, T, count)
    server = rng.integers(0, J, count)
    client = rng.random((count, J)) < 0.6
    client[np.arange(count), server] = True
    capable = rng.random((J, N)) < 0.6
    capable[rng.integers(0, J, N), np.arange(N)] = True
    travel = among((T, D, J, J), 0, 0.25, 0.5, 1) * (1 - np.eye(J))
    rate = among((T, J, J), 1, 2, 4)
    requests = among((T, D, J, N), 0, 0, 1, 2, 3, 4)
    if rng.random() < 0.06:
        requests[...] = 0.0
    data = {
        "request_size": among((N,), 0, 0.25, 0.5),
        "request_work": among((N,), 0.25, 0.5, 1),
        "speed": among((J,), 1, 2, 4),
    }
    seconds = (
        (travel + travel.swapaxes(2, 3))[..., None]
        + data["request_work"] / data["speed"][:, None]
        + data["request_size"] / np.where(np.eye(J) > 0, np.inf, rate)[:, None, :, :, None]
    )
    slo = np.empty((T, D, N))
    for t, d, n in np.ndindex(T, D, N):
        asked = requests[t, d, :, n] > 0
        origins = asked if asked.any() else np.ones(J, dtype=bool)
        delays = np.unique(seconds[t, d, :, :, n][origins][:, capable[:, n]])
        slo[t, d, n] = delays[rng.integers(0, delays.size)] + 1 / 64
    cap = np.where(rng.random(T) < 0.4, np.inf, among((T,), 0, 1, 2, 4, 6, 12))
    return EdrInstance(
        cap=cap,
        price=among((T,), -1, 0, 1, 2, 3) if rng.random() < 0.5 else among((T,), 1, 2, 3),
        arrival=arrival,
        deadline=rng.integers(arrival, T) if count else arrival,
        rounds=rng.integers(1, rounds + 1, count),
        client=client,
        server=server,
        local_steps=rng.integers(1, 3, count),
        step_work=among((count, J), 0, 0.25, 0.5, 1),
        aggregation_work=among((count,), 0, 0.5),
        model_size=among((count,), 0, 0.5, 1),
        energy_per_work=among((J,), 0, 0.5, 1, 1.5),
        capacity=among((J,), 16, 32) * 8 if ample else among((J,), 0, 1, 2, 4, 8),
        capable=capable,
        requests=requests,
        propagation=travel,
        slo=slo,
        rate=rate,
        power=among((J,) if rng.random() < 0.5 else (T, J), 0, 900, 1800),
        energy_weight=float(rng.choice([1.0, 2.0, 0.5])),
        delay_weight=float(rng.choice([1.0, 0.5, 0.0])),
        price_prior=None if rng.random() < 0.5 else 1.0,
        round_delay=str(rng.choice(["sum", "max"])),  # type: ignore[arg-type]
        history=draw_history(rng, J) if rng.random() < 0.5 else None,
        **data,
    )


def draw_history(rng: np.random.Generator, sites: int) -> EdrHistory:
    """Draw the day before, each part of it known or not."""
    price = rng.choice([-1.0, 0.0, 1.0, 2.0, 3.0], 24)
    share = np.where(rng.random(24) < 0.6, np.inf, 0.9)
    rate = rng.choice([1.0, 2.0, 4.0], (24, sites, sites))
    known = [None if rng.random() < 0.3 else part for part in (price, share, rate)]
    return EdrHistory(*known)


@dataclass(frozen=True)
class Case:
    """An instance and a stream for whatever else is to be drawn."""

    instance: EdrInstance
    seed: int

    @cached_property
    def exact(self) -> Plain:
        """Return the data in rationals."""
        return plain(self.instance)

    @cached_property
    def plain(self) -> Plain:
        """Return the data in floats."""
        return plain(self.instance, float)

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)


@st.composite
def cases(draw: DrawFn, **sizes: Any) -> Case:
    """Draw an instance: some shrink well, most come from a stream of their own."""
    seed = draw(st.integers(0, 2**32 - 1))
    # examples with more to draw are drawn more often: this makes them about a tenth
    if seed % 64 != 7:
        return Case(draw_sites(seed, **sizes), seed)
    shared = {name: size for name, size in sizes.items() if name not in ("rounds", "ample")}
    instance = draw(edr_instances(**shared))
    if sizes.get("ample"):
        instance = instance.replace(capacity=np.full(instance.sites, 256.0))
    return Case(instance, seed)


CAPPED = [
    Greedy(),
    Greedy(guard=None, reserve=None, training_room=1.0),
    Greedy(elastic="shed", reserve=None),
    EvenRate(),
    EvenRate(reserve=None, guard=None, training_room=1.0),
    EvenRate(training_room=0.9),
    EvenRate(elastic="shed", guard=1.0),
    Oasdr(),
    SaddlePoint(),
    SaddlePoint(index="stale", gradient="stale", guard=None, reserve=None),
    SaddlePoint(residual="floor"),
    SaddlePoint(residual="floor", init="zero", price_forecast="hour"),
    SaddlePoint(price_forecast="hour", elastic="shed"),
    SaddlePoint(init="zero", alpha0=1.0),
    Scenario(),
    Scenario(samples=2, history=False, guard=1.0, reserve=None, training_room=1.0),
    Scenario(price_forecast="last", cap_room=0.0, elastic="shed"),
    Scenario(samples=2, reserve="last"),
    RlTraining(),
]
POLICIES = [
    *CAPPED,
    Lyapunov(),
    Lyapunov(weight=0.0, catch_up=2.0, guard=None),
    RlRouting(history=False),
    RlBoth(),
]


@dataclass
class Record:
    """What a policy saw and decided, frame by frame, and its state before each frame.

    Flows are keyed (slot, origin, site, type, place in the list); plans come with their slots.
    """

    frames: list[Frame] = field(default_factory=list)
    rounds: list[list[int]] = field(default_factory=list)
    flows: list[dict[tuple[int, ...], float]] = field(default_factory=list)
    plans: list[list[Any]] = field(default_factory=list)
    before: list[Any] = field(default_factory=list)


def step_through(instance: EdrInstance, policy: Any, *, seed: int) -> Record:
    """Step a policy through an instance by hand."""
    environment = EdrEnvironment(instance)
    scenarios, coins = np.random.default_rng(seed).spawn(2)
    (coins,) = coins.spawn(1)
    episode = environment.episode(environment.scenarios(scenarios, 1)[0])
    state = policy.start(environment.instance)
    ran = Record()
    while (seen := episode.observe()) is not None:
        if isinstance(seen, Frame):
            ran.before.append(state)
        decision, state = policy.decide(state, seen, coins)
        feedback = episode.act(decision)
        state = policy.learn(state, seen, decision, feedback)
        if isinstance(seen, Frame):
            ran.frames.append(seen)
            ran.rounds.append(decision.tolist())
            ran.flows.append({})
            ran.plans.append([])
        else:
            ran.flows[-1] |= listed(seen.slot, decision)
            ran.plans[-1].append((seen, decision))
    return ran


def listed(slot: int, decision: Any) -> dict[tuple[int, ...], float]:
    """Return the flows of a slot, keyed by their place in the list as well."""
    if isinstance(decision, RoutingPlan):
        problem = decision.problem
        columns = (problem.origin, problem.site, problem.type, decision.flow)
    else:
        columns = tuple(decision)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {(slot, j, k, n, at): amount for at, (j, k, n, amount) in enumerate(rows)}
