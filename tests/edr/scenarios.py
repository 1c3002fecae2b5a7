"""Scenarios of EDR for tests: by hand, policies stepped through them, futures that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from edgeopt_papers.edr.claims.counterexamples import never_trained

from edgeopt.instances.edr import EdrDistribution, EdrInstance, generate
from edgeopt.instances.edr.generate import _cap_shares
from edgeopt.instances.edr.random_parts import draw_propagation, reference
from edgeopt.models.edr.routing import RoutingPlan
from edgeopt.online.edr.environment import EdrEnvironment
from edgeopt.online.edr.events import ClosedFrame, Flows, Frame, Served

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.online.edr.environment import EdrEpisode
    from edgeopt.online.edr.events import Decision, Feedback, Observation
    from edgeopt.online.edr.policies.policy import EdrPolicy


def drawn_small(seed: int) -> EdrInstance:
    """Draw 2 to 4 sites, 1 to 5 tasks and 3 to 8 frames."""
    draw = np.random.default_rng(seed)
    return generate(
        sites=int(draw.integers(2, 5)), tasks=int(draw.integers(1, 6)),
        frames=int(draw.integers(3, 9)), slots=int(draw.integers(2, 5)), rng=seed,
    )  # fmt: skip


def future(instance: EdrInstance, seed: int) -> EdrInstance:
    """Draw caps, prices, channels and delays of `generate` again."""
    draw = np.random.default_rng(seed)
    event, travelling = draw.spawn(2)
    position, frames = np.asarray(instance.position), instance.frames
    kilometres = np.linalg.norm(position[:, None] - position[None], axis=2)
    delay = draw_propagation(travelling, kilometres, frames, instance.slots)
    drawn = EdrDistribution().redrawn(instance, draw).replace(propagation=delay)
    usual, shares = reference(drawn), _cap_shares(event, frames, 0.1, (0.85, 1.0))
    cap = np.full(frames, np.inf)
    capped = np.isfinite(shares)
    cap[capped] = (shares * (usual.inference + usual.training))[capped]
    return drawn.replace(cap=cap, price_prior=float(drawn.price[0]))


def two_sites(**changes: Any) -> EdrInstance:
    """Return three frames of two slots; site 0 is cheap, site 1 serves both types.

    Task 0 trains on both sites in frames 0 and 1, task 1 on site 1 in frames 1 and 2. A round of
    either takes 1 GFLOP on each of its sites. Site 0 uses 1 Wh per GFLOP and serves type 0 only,
    site 1 uses 2 Wh. A request of type n takes n + 1 GFLOP. The way between the sites takes 1 s,
    there and back 2 s; a request is served in 1 s, and may take 5 s.
    """
    data: dict[str, Any] = {
        "cap": [np.inf, 20.0, 0.0],
        "price": [1.0, 2.0, -1.0],
        "arrival": [0, 1],
        "deadline": [1, 2],
        "rounds": [4, 3],
        "client": [[1, 1], [0, 1]],
        "server": [0, 1],
        "local_steps": [1, 1],
        "step_work": np.ones((2, 2)),
        "aggregation_work": [0.0, 0.0],
        "model_size": [0.0, 0.0],
        "request_size": [0.0, 0.0],
        "request_work": [1.0, 2.0],
        "energy_per_work": [1.0, 2.0],
        "capacity": [4.0, 8.0],
        "speed": [1.0, 2.0],
        "capable": [[1, 0], [1, 1]],
        "requests": np.broadcast_to([[2.0, 1.0], [3.0, 0.0]], (3, 2, 2, 2)),
        "propagation": np.broadcast_to([[0.0, 1.0], [1.0, 0.0]], (3, 2, 2, 2)),
        "slo": np.full((3, 2, 2), 5.0),
        "rate": np.ones((3, 2, 2)),
        "power": [1.0, 1.0],
        "energy_weight": 3.0,
        "delay_weight": 0.5,
        "price_prior": 1.5,
    }
    return EdrInstance(**data | changes)


NOTHING = Flows(*np.zeros((3, 0), dtype=np.int64), np.zeros(0))
"""Serve nobody."""

ALL = Flows(
    np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([0, 1, 0]), np.array([2.0, 1.0, 3.0])
)
"""Serve all requests of a slot of `two_sites` where they arrive, if they can be served there."""


def at_slot(instance: EdrInstance, rounds: list[int]) -> EdrEpisode:
    """Open a scenario at its first slot."""
    episode = EdrEnvironment(instance).episode(0)
    episode.act(np.array(rounds))
    return episode


class Step(NamedTuple):
    """One step of a run."""

    seen: Observation
    decision: Decision
    feedback: Feedback


def step_through(environment: EdrEnvironment, policy: EdrPolicy[Any], seed: int = 0) -> list[Step]:
    """Run a policy through one scenario and keep everything."""
    rng = np.random.default_rng(seed)
    [scenario] = environment.scenarios(rng, 1)
    episode = environment.episode(scenario)
    state = policy.start(environment.instance)
    steps = []
    while (seen := episode.observe()) is not None:
        decision, state = policy.decide(state, seen, rng)
        feedback = episode.act(decision)
        state = policy.learn(state, seen, decision, feedback)
        steps.append(Step(seen, decision, feedback))
    return steps


def table(instance: EdrInstance, decision: Decision) -> np.ndarray:
    """Write out the decision of a slot as requests by [origin, site, type]."""
    flows = np.zeros((instance.sites, instance.sites, instance.types))
    if isinstance(decision, RoutingPlan):
        problem = decision.problem
        np.add.at(flows, (problem.origin, problem.site, problem.type), decision.flow)
    else:
        origin, site, kind, amount = decision
        np.add.at(flows, (origin, site, kind), amount)
    return flows


def delays(instance: EdrInstance, frame: int, slot: int) -> np.ndarray:
    """Delays by [origin, site, type], from the raw data, one by one."""
    sites, types = instance.sites, instance.types
    seconds = np.empty((sites, sites, types))
    travel = instance.propagation[frame, slot]
    for j, k, n in np.ndindex(sites, sites, types):
        seconds[j, k, n] = (
            travel[j, k] + travel[k, j] + instance.request_work[n] / instance.speed[k]
        )
        if j != k:
            seconds[j, k, n] += instance.request_size[n] / instance.rate[frame, j, k]
    return seconds


class FrameStep(NamedTuple):
    """A frame as a policy simulated it: memory after its request, and after its end."""

    frame: Frame
    requested_rounds: NDArray[Any]
    planned: Any
    closed: Any


def show(instance: EdrInstance, t: int, remaining: NDArray[np.int64], **changes: Any) -> Frame:
    """Show a frame."""
    known, active = instance.arrival <= t, instance.active[t]
    fields = {
        "frame": t,
        "cap": float(instance.cap[t]),
        "price": float(instance.price[t - 1] if t else instance.price_prior),
        "prices": instance.price[:t],
        "active": active,
        "arrival": np.where(known, instance.arrival, -1),
        "deadline": np.where(known, instance.deadline, -1),
        "rounds": np.where(known, instance.rounds, 0),
        "remaining": np.where(active, remaining, 0),
        "even_rate": np.where(active, instance.even_rate, 0.0),
        "round_energy": np.where(active, instance.round_energy[t], 0.0),
        "round_seconds": np.where(active, instance.round_seconds[t], 0.0),
        "round_work": np.where(active[:, None], instance.round_work, 0.0),
        "client": instance.client & known[:, None],
        "server": np.where(known, instance.server, -1),
        "model_size": np.where(known, instance.model_size, 0.0),
        "rate": instance.rate[t],
        "power": np.broadcast_to(instance.power, instance.rate.shape[:2])[t],
    }
    return Frame(**fields | changes)


def tell(instance: EdrInstance, frame: Frame, rounds: NDArray[np.int64]) -> ClosedFrame:
    """Tell the end of a frame in which nothing was served."""
    energy = float(rounds @ frame.round_energy)
    nothing = np.zeros((instance.sites, instance.types))
    return ClosedFrame(
        frame=frame.frame,
        price=float(instance.price[frame.frame]),
        energy=energy,
        training_energy=energy,
        excess=0.0,
        rounds=rounds,
        missing=np.zeros_like(rounds),
        requests=np.zeros((instance.slots, instance.sites, instance.types)),
        unserved=nothing[0],
        served=Served(0.0, 0.0, np.zeros(instance.sites), nothing),
    )


def drive(policy: EdrPolicy[Any], instance: EdrInstance, seed: int = 0) -> list[FrameStep]:
    """Request rounds in all frames, each carried out as far as rounds are left."""
    rng = np.random.default_rng(seed)
    memory, remaining, steps = policy.begin(instance), instance.rounds.copy(), []
    for t in range(instance.frames):
        frame = show(instance, t, remaining)
        requested_rounds, planned = policy.requested_rounds(memory, frame, frame.cap, rng)
        rounds = np.minimum(np.ceil(requested_rounds - 1e-9), frame.remaining).astype(np.int64)
        memory = policy.close_frame(planned, frame, tell(instance, frame, rounds))
        remaining = remaining - rounds
        steps.append(FrameStep(frame, requested_rounds, planned, memory))
    return steps


def wide(rng: np.random.Generator) -> EdrInstance:
    """Return one frame with five tasks of uneven energy that needs 10 to 20 Wh at even rates."""
    n = 5
    one = never_trained(2)
    return one.replace(
        arrival=np.zeros(n, int),
        deadline=np.full(n, 1),
        rounds=np.full(n, 7),
        client=np.ones((n, 1), bool),
        server=np.zeros(n, int),
        local_steps=np.ones(n, int),
        step_work=rng.uniform(0.5, 1.5, (n, 1)),
        aggregation_work=np.zeros(n),
        model_size=np.zeros(n),
    )
