"""Deep deterministic policy gradients for the routing of requests, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from edgeopt.instances.edr import generate
from edgeopt.learning.edr.macro import HIDDEN, MODES, VALIDATION, Kept
from edgeopt.learning.edr.rows import (
    FEATURES,
    OF_ROUTE,
    OF_SLOT,
    ROUTES,
    Rows,
    Shown,
    SlotEpisode,
    fractions_of,
    gap,
    mild,
    optima,
    paid,
    plain,
    plain_gap,
    projected,
)
from edgeopt.learning.networks import (
    Perceptron,
    critic_loss,
    from_arrays,
    masked_log_softmax,
    set_rate,
    soft_update,
    step,
    to_arrays,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.edr import EdrInstance


DISCOUNT: Final = 0.99
"""Of the next slot of a capped frame; in other frames slots have nothing to do with each other."""

WORST: Final = 1.0
"""Rewards beyond this look alike: as much again as the cheapest routes cost says enough."""

LOGIT: Final = 20.0
"""Largest change of a logit by noise."""

PER_ROUTE: Final = OF_ROUTE[:3]
"""What the critic sees of a route: cost, energy and load."""

CRITIC: Final = 4 * len(PER_ROUTE) + len(OF_SLOT)
"""Inputs of the critic."""


def drawn(seed: int) -> EdrInstance:
    """Draw two days."""
    return generate(rng=seed, reuse=MODES[seed % 2])


@dataclass(frozen=True)
class RoutingSettings:
    """Numbers of deep deterministic policy gradients."""

    actor_rate: float = 1e-3  # step size of Adam
    critic_rate: float = 3e-3  # and of the critic's
    batch: int = 64  # slots of a batch
    buffer: int = 4000  # slots of the buffer
    target_rate: float = 0.005  # step of the targets
    warm_up: int = 200  # slots before the first step
    alone: int = 300  # steps of the critic before the first one of the actor
    per_update: int = 2  # slots per step
    noise: float = 0.3  # standard deviation of the noise on the logit of every route by itself
    shared: float = 5.0  # and on the weights of cost, energy and load in all rows
    lead: float = 4.0  # by how much the logit of the cheapest route is ahead at the start
    # penalty on the mean square of logits: a softmax that is sure no longer learns
    quiet: float = 1e-3
    frames: int = 6  # frames of an instance in an update
    capped: float = 0.7  # share of them that is expected to be capped


class RoutingLearner(Kept):
    """Deep deterministic policy gradients (Lillicrap et al. 2016), some frames of one per update.

    Parameters
    ----------
    seed
        Of weights, noise and instances.
    updates
        Updates planned; step sizes fall to a tenth over them.
    draw
        Returns the instance of a seed.
    validation
        Seeds of the instances of evaluations, one frame in three of each.
    **settings
        As in `RoutingSettings`.
    """

    learner, figure, policy, features = "micro", "gap", "actor", FEATURES

    def __init__(
        self,
        *,
        seed: int = 0,
        updates: int,
        draw: Callable[[int], EdrInstance] = drawn,
        validation: tuple[int, ...] = VALIDATION,
        **settings: Any,
    ) -> None:
        super().__init__(seed, updates, draw, validation, RoutingSettings(**settings))
        self.nets = {
            name: Perceptron(sizes, 0.1)
            for end in ("", "_target")
            for name, sizes in (
                (f"actor{end}", (len(FEATURES), HIDDEN, HIDDEN, ROUTES)),
                (f"critic{end}", (CRITIC, HIDDEN, HIDDEN, 1)),
            )
        }
        first = to_arrays(self.nets["actor"])
        first["2.bias"][0] = self.settings.lead
        from_arrays(self.nets["actor"], first)
        for name in ("actor", "critic"):
            from_arrays(self.nets[f"{name}_target"], to_arrays(self.nets[name]))
        self.optimisers = {
            name: torch.optim.Adam(self.nets[name].parameters(), rate)
            for name, rate in self._rates.items()
        }
        self._judged: list[tuple[Shown, float]] = []

    @property
    def _rates(self) -> dict[str, float]:
        return {"actor": self.settings.actor_rate, "critic": self.settings.critic_rate}

    def update(self) -> None:
        """Serve some frames of an instance with noise, and learn after every few slots."""
        instance = self.draw(self.training()[self.done])
        episode = SlotEpisode(instance, self._frames(instance))
        size = instance.sites * instance.types
        weights, before = self.weights(), None
        for shown in episode.slots():
            rows, problem = shown.rows, shown.problem
            if not rows.usual > 0.0:
                before = None
                continue
            held = _padded(rows, size)
            if before is not None:
                self._add(before, held)
            fractions = self._explored(fractions_of(weights, rows), rows)
            amount = projected(problem, rows, fractions)
            episode.spent += float(amount @ problem.route_energy)
            saved = plain(problem, rows) - paid(problem, amount, mild(problem))
            goes_on = shown.capped and not shown.last
            before = {
                **held, "fractions": _filled(fractions, size),
                "reward": np.float32(np.clip(saved / rows.usual, -WORST, WORST)),
                "discount": np.float32(DISCOUNT if goes_on else 0.0),
            }  # fmt: skip
            if not goes_on:
                self._add(before, held)
                before = None
        self.done += 1
        left = max(0.1, 1.0 - self.done / self.updates)
        for name, rate in self._rates.items():
            set_rate(self.optimisers[name], left * rate)

    def _frames(self, instance: EdrInstance) -> Ints:
        """Choose frames to learn from, of which a given share is expected to be capped."""
        capped, share = np.isfinite(instance.cap), self.settings.capped
        weight = np.where(
            capped, share / max(capped.sum(), 1), (1.0 - share) / max((~capped).sum(), 1)
        )
        weight = np.maximum(weight, 1e-9)
        count = min(self.settings.frames, instance.frames)
        found = self.rng.choice(instance.frames, count, replace=False, p=weight / weight.sum())
        return np.asarray(found)

    def _explored(self, fractions: Floats, rows: Rows) -> Floats:
        """Change fractions at random, each by itself and all rows in common.

        What rows do in common decides whether a slot keeps its budget; noise of each row by itself
        cancels there. In half of the slots costs, energies and loads weigh as drawn.
        """
        logits = self.rng.normal(0.0, self.settings.noise, fractions.shape)
        drawn = self.rng.normal(0.0, self.settings.shared, len(PER_ROUTE))
        if self.rng.random() < 0.5:
            seen = per_route(rows.features)
            logits += np.einsum("c,rck->rk", drawn, seen - seen[..., :1])
        changed = fractions * np.exp(np.clip(logits, -LOGIT, LOGIT))
        return np.asarray(changed / changed.sum(axis=1, keepdims=True))

    def _add(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Add a transition."""
        row = before | {f"next_{name}": part for name, part in after.items()}
        self.learn_from({name: np.asarray(part)[None] for name, part in row.items()})

    def step(self, held: dict[str, Any]) -> None:
        """Take a gradient step of the critic and one of the actor."""
        nets = self.nets
        ahead = {name: held[f"next_{name}"] for name in ("features", "valid", "share")}
        with torch.no_grad():
            fractions = _fractions(nets["actor_target"](ahead["features"]), ahead["valid"])
            after = _value(nets["critic_target"], ahead, fractions)
        value = _value(nets["critic"], held, held["fractions"])
        loss = critic_loss(value, held["reward"], held["discount"], after)
        step(self.optimisers["critic"], loss)
        self.steps += 1
        if self.steps > self.settings.alone:
            logits = nets["actor"](held["features"])
            value = _value(nets["critic"], held, _fractions(logits, held["valid"])).mean()
            size = (logits.square().mean(-1) * held["share"]).sum(-1).mean()
            step(self.optimisers["actor"], self.settings.quiet * size - value)
        for name in ("actor", "critic"):
            soft_update(nets[f"{name}_target"], nets[name], self.settings.target_rate)

    def evaluate(self) -> dict[str, float]:
        """Return by how much slots of validation instances cost more than the linear programme."""
        weights = self.weights()
        gaps = [gap(*one, weights) for one in self._slots()]
        return {"gap": float(np.mean(gaps)), "median": float(np.median(gaps))}

    def cheapest(self) -> float:
        """Return the mean gap of the cheapest routes in the slots of an evaluation."""
        return float(np.mean([plain_gap(*one) for one in self._slots()]))

    def _slots(self) -> list[tuple[Shown, float]]:
        """Return the slots of an evaluation with their optima, which are computed once."""
        if not self._judged:
            for seed in self.validation:
                self._judged += optima(self.draw(seed), seed)
        return self._judged


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


def _fractions(logits: Any, valid: Any) -> Any:
    """Return the fractions of all rows of a batch, 0 where there is no route."""
    shares = masked_log_softmax(logits, valid).exp()
    return torch.where(valid, shares, torch.zeros_like(shares))


def _value(critic: Perceptron, held: Mapping[str, Any], fractions: Any) -> Any:
    """Return the value of each slot: of its rows, weighted by their requests.

    The critic sees what the fractions of a row come to in cost, energy and load, beside its
    cheapest route; the same of all rows together; and the slot.
    """
    routes, share = per_route(held["features"]), held["share"].unsqueeze(-1)
    least = routes[..., 0]
    more = (routes * fractions.unsqueeze(-2)).sum(-1) - least
    whole = [(part * share).sum(-2, keepdim=True).expand_as(part) for part in (more, least)]
    seen = torch.cat([more, least, *whole, held["features"][..., -len(OF_SLOT) :]], dim=-1)
    return (critic(seen).squeeze(-1) * held["share"]).sum(-1)


def per_route(features: Any) -> Any:
    """Return cost, energy and load of the routes of rows, shape [..., 3, K]."""
    shape = (*features.shape[:-1], len(PER_ROUTE), ROUTES)
    return features[..., : len(PER_ROUTE) * ROUTES].reshape(shape)
