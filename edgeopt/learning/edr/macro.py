"""Deep Q-learning of how many rounds to train, with one network for all tasks."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import torch

from edgeopt.instances.edr import generate
from edgeopt.learning import ReplayBuffer
from edgeopt.learning.edr.rounds import (
    FEATURES,
    LEVELS,
    STATES,
    TaskEpisode,
    features_of,
    rounds_of,
)
from edgeopt.learning.networks import (
    NetworkLearner,
    Perceptron,
    double_dqn_target,
    dqn_loss,
    from_arrays,
    step,
    to_arrays,
)
from edgeopt.options import check_choice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.arrays import Floats
    from edgeopt.instances.edr import EdrInstance


MODES: Final = ("group", "none")
"""Who shares a band, in turn over the instances."""

FIRST: Final = 1000
"""Least seed of a training instance; validation and tests have smaller ones."""

APART: Final = 10_000
"""Seeds of instances between two seeds of a learner."""

VALIDATION: Final = (900, 901, 902, 903, 904, 905)
"""Seeds of the instances by which the best weights are chosen."""

HIDDEN: Final = 64


def drawn(seed: int) -> EdrInstance:
    """Draw two days with few slots, which train almost as those with all of them."""
    return generate(rng=seed, reuse=MODES[seed % 2], slots=3)


class Kept(NetworkLearner):
    """What learners share: seeds of instances, and gradient steps that are due."""

    system = "edr"
    counted = ("done", "steps", "owed")
    features: Sequence[str]
    """Names of what the networks see."""

    def __init__(
        self,
        seed: int,
        updates: int,
        draw: Callable[[int], EdrInstance],
        validation: tuple[int, ...],
        settings: Any,
    ) -> None:
        super().__init__(seed, updates)
        self.draw, self.validation, self.settings = draw, validation, settings
        self.stores = {"buffer": ReplayBuffer(settings.buffer)}
        self.steps = self.owed = 0

    def training(self) -> range:
        """Return the seeds of the training instances, one per update."""
        first = FIRST + APART * self.seed
        return range(first, first + self.updates)

    @cached_property
    def fingerprints(self) -> list[str]:
        """The fingerprints of these instances."""
        return [self.draw(seed).fingerprint() for seed in self.training()]

    def learn_from(self, rows: dict[str, NDArray[Any]]) -> None:
        """Add transitions, and take the gradient steps that are due."""
        buffer = self.stores["buffer"]
        buffer.add(rows)
        self.owed += len(rows["reward"])
        while self.owed >= self.settings.per_update:
            self.owed -= self.settings.per_update
            if len(buffer) >= self.settings.warm_up:
                rows = buffer.sample(self.settings.batch, self.rng)
                self.step({name: torch.from_numpy(part) for name, part in rows.items()})

    def step(self, held: dict[str, Any]) -> None:
        """Take a gradient step on a batch of transitions."""
        raise NotImplementedError

    def about(self) -> Mapping[str, Any]:
        """Return what the checkpoint says of the training."""
        return {
            "settings": asdict(self.settings),
            "features": list(self.features),
            "seeds": {
                "learner": [self.seed], "validation": list(self.validation),
                "training": list(self.training()),
            },
            "instances": self.fingerprints,
        }  # fmt: skip


@dataclass(frozen=True)
class RoundsSettings:
    """Numbers of deep Q-learning."""

    state: Literal["replay", "printed-minimal"] = "replay"  # what the network sees, see `STATES`
    rate: float = 1e-3  # step size of Adam
    batch: int = 128  # rows of a batch
    buffer: int = 50_000  # rows of the buffer
    copied: int = 500  # gradient steps between copies of the target
    warm_up: int = 1000  # transitions before the first step
    per_update: int = 4  # transitions per step
    least: float = 0.05  # share of random levels in the second half


class RoundsLearner(Kept):
    """Double deep Q-learning over tasks (van Hasselt et al. 2016), one instance per update.

    Parameters
    ----------
    seed
        Of weights, exploration and instances.
    updates
        Updates planned; exploration falls over the first half of them.
    draw
        Returns the instance of a seed.
    validation
        Seeds of the instances of evaluations.
    **settings
        As in `RoundsSettings`.
    """

    learner, figure, policy = "macro", "cost", "online"

    def __init__(
        self,
        *,
        seed: int = 0,
        updates: int,
        draw: Callable[[int], EdrInstance] = drawn,
        validation: tuple[int, ...] = VALIDATION,
        **settings: Any,
    ) -> None:
        super().__init__(seed, updates, draw, validation, RoundsSettings(**settings))
        check_choice("state", self.settings.state, tuple(STATES))
        self.features = STATES[self.settings.state]
        self._columns = [FEATURES.index(name) for name in self.features]
        sizes = (len(self._columns), HIDDEN, HIDDEN, len(LEVELS))
        self.nets = {"online": Perceptron(sizes), "target": Perceptron(sizes)}
        from_arrays(self.nets["target"], to_arrays(self.nets["online"]))
        rate = self.settings.rate
        self.optimisers = {"online": torch.optim.Adam(self.nets["online"].parameters(), rate)}
        self._judged: list[TaskEpisode] = []

    def values(self, states: Floats) -> Floats:
        """Return the values of all levels in states of all features, shape [A, L]."""
        with torch.no_grad():
            seen = torch.from_numpy(states[:, self._columns].astype(np.float32))
            return np.asarray(self.nets["online"](seen).numpy(), dtype=np.float64)

    def update(self) -> None:
        """Play an instance, and learn after every few transitions."""
        episode = TaskEpisode(self.draw(self.training()[self.done]))
        progress = min(1.0, 2.0 * self.done / self.updates)
        share = 1.0 + (self.settings.least - 1.0) * progress
        before: dict[str, NDArray[Any]] | None = None
        while (tasks := episode.observe()) is not None:
            states = features_of(tasks)
            if before is not None:
                # Tasks that have not ended are still there, and in the same order.
                place = np.searchsorted(episode.live, before.pop("task"))
                before["next"] = states[np.minimum(place, len(states) - 1)].astype(np.float32)
                self.learn_from(before)
            values = self.values(states)
            chosen = values.argmax(axis=1)
            random = self.rng.random(len(chosen)) < share
            chosen = np.where(random, self.rng.integers(len(LEVELS), size=len(chosen)), chosen)
            live = episode.live
            reward, ended = episode.act(*rounds_of(values, chosen, tasks))
            before = {
                "state": states.astype(np.float32), "action": chosen,
                "reward": reward.astype(np.float32),
                "discount": np.where(ended, 0.0, 1.0).astype(np.float32), "task": live,
            }  # fmt: skip
        if before is not None:
            before.pop("task")
            before["next"] = before["state"]
            self.learn_from(before)
        self.done += 1

    def step(self, held: dict[str, Any]) -> None:
        """Take a gradient step."""
        state, after = held["state"][:, self._columns], held["next"][:, self._columns]
        with torch.no_grad():
            online, target = self.nets["online"](after), self.nets["target"](after)
        wanted = double_dqn_target(held["reward"], held["discount"], online, target)
        step(
            self.optimisers["online"], dqn_loss(self.nets["online"](state), held["action"], wanted)
        )
        self.steps += 1
        if self.steps % self.settings.copied == 0:
            self.nets["target"].load_state_dict(self.nets["online"].state_dict())

    def evaluate(self) -> dict[str, float]:
        """Return the cost of training on validation instances, in terms of its mean cost."""
        if not self._judged:
            self._judged = [TaskEpisode(self.draw(seed)) for seed in self.validation]
        found = [played(episode, self.values) for episode in self._judged]
        return {"cost": float(np.mean(found))}


def played(episode: TaskEpisode, values: Callable[[Floats], Floats]) -> float:
    """Play the levels of most value, and return the cost in terms of the mean cost."""
    episode.restart()
    while (tasks := episode.observe()) is not None:
        found = values(features_of(tasks))
        episode.act(*rounds_of(found, found.argmax(axis=1), tasks))
    return episode.share()
