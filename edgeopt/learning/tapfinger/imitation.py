"""Imitation of a scheduler on the states that the learner itself visits; needs the extra ``rl``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from edgeopt.learning import ReplayBuffer
from edgeopt.learning.networks import NetworkLearner, mean_over, set_rate, step
from edgeopt.learning.tapfinger.network import Actions, Sizes, act, actor_shapes, initial
from edgeopt.learning.tapfinger.runs import Runs, Teacher, mean_flows
from edgeopt.learning.tapfinger.tensors import (
    TorchBackend,
    Weighted,
    check_device,
    log_shares,
    on,
    seen_by,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.learning.tapfinger.network import Architecture, Seen
    from edgeopt.learning.tapfinger.tensors import Device

RUNS: Final = 64
"""Runs side by side."""

ROUNDS: Final = 16
"""Rounds of each of them in an update."""

FIRST: Final = 4
"""Updates in which the teacher's actions are carried out."""

LABELLED: Final = 640 * 64
"""Most labelled rounds that are kept."""

PASSES, BATCH = 32, 256
"""Minibatches of an update, and rounds in each."""

RATE, LEAST = 2e-3, 0.05
"""Step size at first, and its part that is left at the end."""

FEATURES: Final = (
    "cluster: CPU cores and GPUs free, tasks behind the pending set, and in it",
    "pending: smallest CPU cores and GPUs, empty, kind, slots waited, 1 / clusters",
    "running: CPU cores and GPUs, empty, kind, slots in service",
)
"""Features of the nodes, in order."""

CLIP: Final = 1.0
"""Most norm of a gradient."""


class Common(NetworkLearner):
    """What the learners share: weights, evaluation, record.

    Parameters
    ----------
    form
        The network.
    pool
        Training instances.
    validation
        Instances of evaluations.
    seed
        Of weights and all draws.
    updates
        Updates of the schedule.
    rate
        Step size at first.
    device
        Of the network and what it learns from; runs are played by the processor.
    first
        Instances of the first runs, see `Runs`.
    """

    system, figure, policy = "tapfinger", "flow", "actor"
    eps = 1e-8

    def __init__(
        self, form: Architecture, pool: Sequence[TapFingerInstance],
        validation: Sequence[TapFingerInstance], *, seed: int, updates: int, rate: float,
        runs: int, device: Device = "cpu", first: Sequence[TapFingerInstance] = (),
    ) -> None:  # fmt: skip
        check_device(device)
        super().__init__(seed, updates)
        self.device, self.validation, self.rate = device, validation, rate
        self.form, self.sizes = form, Sizes.of(pool[0])
        drawn = initial(actor_shapes(form, self.sizes), self.rng)
        self.actor = Weighted(drawn, rate, device, eps=self.eps)
        self.nets = {"actor": self.actor}
        self.runs = Runs(pool, runs, self.rng, first)
        self.stores = {"runs": self.runs}
        self.fingerprints = [one.fingerprint() for one in (*pool, *first)]
        self.seeds: dict[str, list[int]] = {"learner": [seed]}

    def act(self, seen: Seen, rng: np.random.Generator | None) -> Actions:
        """Draw actions."""
        with torch.no_grad():
            parts = seen_by(seen, self.device)
            return act(TorchBackend, self.actor.tensors, self.form, self.sizes, parts, rng)

    def evaluate(self) -> dict[str, float]:
        """Return the mean flow time on validation instances, sampled, slots."""
        rng = np.random.default_rng(0)
        flows = mean_flows(lambda seen: self.act(seen, rng), self.validation)
        return {"flow": float(flows.mean())}

    @property
    def optimisers(self) -> dict[str, Any]:  # type: ignore[override]
        """Those of the networks."""
        return {name: one.optimiser for name, one in self.nets.items()}

    def anneal(self) -> float:
        """Set the actor's step size of an update, count it, and return what is left of the size."""
        left = LEAST + (1.0 - LEAST) * (1.0 - self.done / max(self.updates, 1))
        set_rate(self.actor.optimiser, self.actor.rate * left)
        self.done += 1
        return left

    def record(self, **said: Any) -> dict[str, Any]:
        """Return the record of a checkpoint, with further settings."""
        network = {"network": asdict(self.form), "sizes": asdict(self.sizes)}
        starts = "single" if self.runs.pool[0].single_start else "several"
        # Sums on other devices differ in their last bits.
        where = {} if self.device == "cpu" else {"device": self.device}
        return {
            "settings": network | {"starts": starts} | where | said,
            "seeds": self.seeds, "features": FEATURES, "instances": self.fingerprints,
        }  # fmt: skip


class Imitation(Common):
    """Supervised learning of what a teacher would do where the learner comes.

    Parameters
    ----------
    teacher
        A scheduler without coins and without preemption.
    form, pool, validation, seed, updates, device
        See `Common`.
    """

    learner = "imitation"

    def __init__(
        self, teacher: Any, form: Architecture, pool: Sequence[TapFingerInstance],
        validation: Sequence[TapFingerInstance], *, seed: int, updates: int, runs: int = RUNS,
        device: Device = "cpu",
    ) -> None:  # fmt: skip
        super().__init__(
            form, pool, validation, seed=seed, updates=updates, rate=RATE, runs=runs, device=device
        )
        self.teacher = Teacher(teacher, pool[0], runs)
        self.buffer = ReplayBuffer(LABELLED)
        self.stores = {"runs": self.runs, "buffer": self.buffer}

    @property
    def steps(self) -> int:
        """Gradient steps so far."""
        return PASSES * self.done

    def update(self) -> None:
        """Visit rounds, label them, and learn from some of all that are kept."""
        P = self.runs.seen.node.shape[2]
        for _ in range(ROUNDS):
            seen, label = self.runs.seen, self.teacher.actions(self.runs.session)
            mine = self.act(seen, self.rng)
            useful = mine.acts.any(-1)
            if useful.any():
                rows = seen._asdict() | {"label": label.astype(np.int16)}
                self.buffer.add({name: part[useful] for name, part in rows.items()})
            if self.done < FIRST:
                mine = Actions(label, np.ones(mine.score.shape), mine.acts)
            self.runs.renew(self.runs.act(mine))
        self.anneal()
        for _ in range(PASSES):
            rows = self.buffer.sample(BATCH, self.rng)
            label = on(self.device, rows["label"].astype(np.int64))
            step(
                self.actor.optimiser, self.loss(seen_by(rows, self.device), label, P),
                self.actor.tensors.values(), CLIP,
            )  # fmt: skip

    def loss(self, seen: Seen, label: Any, places: int) -> Any:
        """Return the cross-entropy of places, and that of bundles where a task is named."""
        place, bundle = label[..., 0], label[..., 1] * self.sizes.gpus + label[..., 2]
        shares = log_shares(self.actor.tensors, self.form, self.sizes, seen, place)
        named = place < places
        counts = shares.acts if self.form.void_place else shares.acts & named
        held = torch.where(counts, place, 0)
        picked = shares.place.gather(-1, held[..., None])[..., 0]
        given = shares.bundle.gather(-1, bundle[..., None])[..., 0]
        return -mean_over(picked, counts) - mean_over(given, named)

    def about(self) -> dict[str, Any]:
        """Return the record of the checkpoint."""
        information = getattr(self.teacher.policy, "information", "durations")
        said = {"teacher": self.teacher.policy.name, "told": information}
        return self.record(**said)
