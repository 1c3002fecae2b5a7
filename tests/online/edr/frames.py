"""Frames by hand: what a policy is shown and told, with no environment in between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.instances.edr import never_trained
from edgeopt.online.edr.events import ClosedFrame, Frame, Served

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.policies.policy import EdrPolicy


class Step(NamedTuple):
    """A frame as a policy simulated it: memory after its wish, and after its end."""

    frame: Frame
    requested_rounds: NDArray[Any]
    wished: Any
    settled: Any


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


def drive(policy: EdrPolicy[Any], instance: EdrInstance, seed: int = 0) -> list[Step]:
    """Ask for the wishes of all frames, each carried out as far as rounds are left."""
    rng = np.random.default_rng(seed)
    memory, remaining, steps = policy.begin(instance), instance.rounds.copy(), []
    for t in range(instance.frames):
        frame = show(instance, t, remaining)
        requested_rounds, wished = policy.requested_rounds(memory, frame, frame.cap, rng)
        rounds = np.minimum(np.ceil(requested_rounds - 1e-9), frame.remaining).astype(np.int64)
        memory = policy.close_frame(wished, frame, tell(instance, frame, rounds))
        remaining = remaining - rounds
        steps.append(Step(frame, requested_rounds, wished, memory))
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
