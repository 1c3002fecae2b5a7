"""Deep deterministic policy gradients for the routing of requests, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np
import torch

from edgeopt.instances.edr import generate
from edgeopt.learning import ReplayBuffer
from edgeopt.learning.networks import (
    Perceptron,
    from_arrays,
    masked_log_softmax,
    optimiser_state,
    restore_optimiser,
    seeded,
    to_arrays,
)
from edgeopt.learning.updates import critic_loss, soft_update, step
from edgeopt.models.edr.routing import conditions
from edgeopt.models.edr.routing.network import solve_by_network
from edgeopt.online.edr.budget import Terms, routing, slot_budget
from edgeopt.online.edr.events import Slot
from edgeopt.online.edr.learning.macro import APART, FIRST, HIDDEN, MODES, VALIDATION
from edgeopt.online.edr.learning.rows import (
    FEATURES,
    ROUTES,
    Rows,
    fractions_of,
    mild,
    paid,
    projected,
    rows_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.models.edr.routing import RoutingProblem

    Floats = NDArray[np.float64]

DISCOUNT: Final = 0.99
"""Of the next slot of a capped frame; in other frames slots have nothing to do with each other."""

WORST: Final = -10.0
"""Least reward; a cost of ten times that of the cheapest routes says enough."""


def drawn(seed: int) -> EdrInstance:
    """Draw two days."""
    return generate(rng=seed, reuse=MODES[seed % 2])


class Shown(NamedTuple):
    """A slot and what a policy makes of it."""

    rows: Rows
    problem: RoutingProblem
    capped: bool
    last: bool  # of its frame


class SlotEpisode:
    """Slots of some frames of an instance, whose tasks train at their even rates.

    Parameters
    ----------
    instance
        The instance.
    frames
        Frames in turn.
    """

    def __init__(self, instance: EdrInstance, frames: NDArray[np.int64]) -> None:
        self.instance, self.frames = instance, frames

    def slots(self) -> Iterator[Shown]:
        """Show the slots; `spent` is set between them by who serves."""
        instance = self.instance
        for t in self.frames.tolist():
            rounds = np.where(instance.active[t], instance.even_rate, 0.0)
            training = np.minimum(rounds @ instance.round_work, 0.9 * instance.capacity)
            energy = float(rounds @ instance.round_energy[t])
            price = float(instance.price[t - 1] if t else instance.price_prior)
            self.spent = 0.0
            for tau in range(instance.slots):
                slot = Slot(
                    t, tau, conditions(instance, t, tau), float(instance.cap[t]), training, energy,
                    self.spent,
                )  # fmt: skip
                budget = slot_budget("even", slot, instance.slots)
                problem = routing(instance, slot.conditions, Terms(price), training, budget)
                seen = rows_of(instance, slot, problem)
                capped = bool(np.isfinite(slot.cap))
                yield Shown(seen, problem, capped, tau == instance.slots - 1)


class RoutingLearner:
    """Deep deterministic policy gradients over slots, a few frames of one instance per update.

    Parameters
    ----------
    seed
        Of weights, noise and instances.
    updates
        Updates planned.
    draw
        Returns the instance of a seed.
    validation
        Seeds of the instances of evaluations, one frame in six of each.
    actor_rate, critic_rate, batch, buffer, target_rate, warm_up, per_update
        Step sizes of Adam, slots of a batch and of the buffer, step of the targets, slots before
        the first step, and slots per step.
    noise
        Standard deviation of the noise on logits.
    frames
        Frames of an instance in an update.
    """

    system, learner, figure = "edr", "micro", "gap"
    sense: Literal["min", "max"] = "min"

    def __init__(
        self,
        *,
        seed: int = 0,
        updates: int = 20,
        draw: Callable[[int], EdrInstance] = drawn,
        validation: tuple[int, ...] = VALIDATION[:2],
        actor_rate: float = 5e-4,
        critic_rate: float = 1e-3,
        batch: int = 64,
        buffer: int = 2000,
        target_rate: float = 0.005,
        warm_up: int = 200,
        per_update: int = 2,
        noise: float = 0.3,
        frames: int = 6,
    ) -> None:
        self.seed, self.updates, self.draw, self._validation = seed, updates, draw, validation
        self._options: dict[str, Any] = {
            "actor_rate": actor_rate, "critic_rate": critic_rate, "batch": batch, "buffer": buffer,
            "target_rate": target_rate, "warm_up": warm_up, "per_update": per_update,
            "noise": noise, "frames": frames,
        }  # fmt: skip
        seeded(seed)
        self._rng = np.random.default_rng(seed)
        width = len(FEATURES)
        self._nets = {
            name: Perceptron(sizes)
            for name, sizes in (
                ("actor", (width, HIDDEN, HIDDEN, ROUTES)),
                ("critic", (width + ROUTES, HIDDEN, HIDDEN, 1)),
                ("actor_target", (width, HIDDEN, HIDDEN, ROUTES)),
                ("critic_target", (width + ROUTES, HIDDEN, HIDDEN, 1)),
            )
        }
        for name in ("actor", "critic"):
            from_arrays(self._nets[f"{name}_target"], to_arrays(self._nets[name]))
        self._optimisers = {
            name: torch.optim.Adam(self._nets[name].parameters(), rate)
            for name, rate in (("actor", actor_rate), ("critic", critic_rate))
        }
        self._buffer = ReplayBuffer(buffer)
        self._done = self._owed = 0
        self._judged: list[tuple[Shown, float]] = []

    def update(self) -> None:
        """Serve some frames of an instance with noise, and learn after every few slots."""
        instance = self.draw(FIRST + APART * self.seed + self._done)
        count = min(self._options["frames"], instance.frames)
        chosen = self._rng.choice(instance.frames, count, replace=False)
        episode, size = SlotEpisode(instance, chosen), instance.sites * instance.types
        weights, before = to_arrays(self._nets["actor"]), None
        for shown in episode.slots():
            rows, problem = shown.rows, shown.problem
            if not rows.usual > 0.0:
                before = None
                continue
            held = _padded(rows, size)
            if before is not None:
                self._add(before, held)
            logits = self._rng.normal(0.0, self._options["noise"], rows.route.shape)
            fractions = fractions_of(weights, rows) * np.exp(logits)
            fractions /= fractions.sum(axis=1, keepdims=True)
            amount = projected(problem, rows, fractions)
            episode.spent += float(amount @ problem.route_energy)
            reward = -paid(problem, amount, mild(problem)) / rows.usual
            goes_on = shown.capped and not shown.last
            before = {
                **held, "fractions": _filled(fractions, size),
                "reward": np.float32(max(reward, WORST)),
                "discount": np.float32(DISCOUNT if goes_on else 0.0),
            }  # fmt: skip
            if not goes_on:
                self._add(before, held)
                before = None
            if self._owed >= self._options["per_update"]:
                weights = to_arrays(self._nets["actor"])
        self._done += 1

    def _add(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Add a transition, and take the gradient steps that are due."""
        row = before | {f"next_{name}": part for name, part in after.items()}
        self._buffer.add({name: np.asarray(part)[None] for name, part in row.items()})
        self._owed += 1
        while self._owed >= self._options["per_update"]:
            self._owed -= self._options["per_update"]
            if len(self._buffer) >= self._options["warm_up"]:
                self._step()

    def _step(self) -> None:
        """Take a gradient step of the critic and one of the actor."""
        rows = self._buffer.sample(self._options["batch"], self._rng)
        held = {name: torch.from_numpy(part) for name, part in rows.items()}
        nets = self._nets
        ahead = {name: held[f"next_{name}"] for name in ("features", "valid", "share")}
        with torch.no_grad():
            after = _value(
                nets["critic_target"], ahead, _fractions(nets["actor_target"], ahead)
            )  # fmt: skip
        value = _value(nets["critic"], held, held["fractions"])
        loss = critic_loss(value, held["reward"], held["discount"], after)
        step(self._optimisers["critic"], loss)
        step(
            self._optimisers["actor"],
            -_value(nets["critic"], held, _fractions(nets["actor"], held)).mean(),
        )
        for name in ("actor", "critic"):
            soft_update(nets[f"{name}_target"], nets[name], self._options["target_rate"])

    def evaluate(self) -> dict[str, float]:
        """Return by how much slots of validation instances cost more than the linear programme."""
        if not self._judged:
            self._judged = list(self._optima())
        weights = to_arrays(self._nets["actor"])
        gaps = [gap(shown, least, weights) for shown, least in self._judged]
        return {"gap": float(np.mean(gaps)), "median": float(np.median(gaps))}

    def _optima(self) -> Iterator[tuple[Shown, float]]:
        """Yield some slots of the validation instances, and the least cost of each."""
        for seed in self._validation:
            instance = self.draw(seed)
            episode = SlotEpisode(instance, np.arange(0, instance.frames, 6))
            for place, shown in enumerate(episode.slots()):
                if place % 3 == 0 and shown.rows.usual > 0.0:
                    plan = solve_by_network(shown.problem, mild(shown.problem))
                    yield shown, plan.objective

    def weights(self) -> dict[str, NDArray[Any]]:
        """Return copies of the actor's weights."""
        return to_arrays(self._nets["actor"])

    def about(self) -> Mapping[str, Any]:
        """Return what the checkpoint says of the training."""
        first = FIRST + APART * self.seed
        return {
            "settings": dict(self._options),
            "features": list(FEATURES),
            "seeds": {
                "learner": [self.seed], "validation": list(self._validation),
                "training": list(range(first, first + self.updates)),
            },
        }  # fmt: skip

    def state(self) -> dict[str, Any]:
        """Return what is needed to go on."""
        return {
            "nets": {name: to_arrays(net) for name, net in self._nets.items()},
            "optimisers": {name: optimiser_state(one) for name, one in self._optimisers.items()},
            "buffer": self._buffer.state(), "generator": self._rng.bit_generator.state,
            "counts": [self._done, self._owed],
        }  # fmt: skip

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up such a state."""
        for name, net in self._nets.items():
            from_arrays(net, state["nets"][name])
        for name, one in self._optimisers.items():
            restore_optimiser(one, state["optimisers"][name])
        self._buffer.restore(state["buffer"])
        self._rng.bit_generator.state = state["generator"]
        self._done, self._owed = state["counts"]


def gap(shown: Shown, least: float, weights: Mapping[str, NDArray[Any]]) -> float:
    """Return by how much a slot costs more than its linear programme, both with mild penalties."""
    amount = projected(shown.problem, shown.rows, fractions_of(weights, shown.rows))
    return paid(shown.problem, amount, mild(shown.problem)) / least - 1.0


def _filled(part: NDArray[Any], size: int) -> NDArray[np.float32]:
    """Return an array with rows of 0 at its end."""
    found = np.zeros((size, *part.shape[1:]), dtype=np.float32)
    found[: len(part)] = part
    return found


def _padded(rows: Rows, size: int) -> dict[str, NDArray[Any]]:
    """Return what the networks see of a slot, with rows that count for nothing at its end."""
    return {
        "features": _filled(rows.features, size),
        "valid": _filled(rows.valid, size) > 0,
        "share": _filled(rows.demand / rows.demand.sum(), size),
    }


def _fractions(actor: Perceptron, held: Mapping[str, Any]) -> Any:
    """Return the fractions of all rows of a batch, 0 where there is no route."""
    shares = masked_log_softmax(actor(held["features"]), held["valid"]).exp()
    return torch.where(held["valid"], shares, torch.zeros_like(shares))


def _value(critic: Perceptron, held: Mapping[str, Any], fractions: Any) -> Any:
    """Return the value of each slot: of its rows, weighted by their requests."""
    each = critic(torch.cat([held["features"], fractions], dim=-1)).squeeze(-1)
    return (each * held["share"]).sum(-1)
