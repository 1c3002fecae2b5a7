"""A learner of two choices in two states, to test the loop of training; also run as a program."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from edgeopt.learning import ReplayBuffer, train

REWARD = np.array([[1.0, 0.0], [0.2, 0.7]])
"""Mean reward by state and choice."""


class Bandit:
    """Deep Q-learning on the table of rewards."""

    system, learner, figure, sense = "toy", "bandit", "reward", "max"

    def __init__(self, seed: int = 0, pause: float = 0.0) -> None:
        from edgeopt.learning.networks import Perceptron, seeded, torch

        self.torch, self.seed, self.pause = torch, seed, pause
        seeded(seed)
        self.rng = np.random.default_rng(seed)
        self.network = Perceptron((2, 8, 2))
        self.optimiser = torch.optim.Adam(self.network.parameters(), 2e-2)
        self.buffer = ReplayBuffer(200)

    def update(self) -> None:
        from edgeopt.learning.networks import double_dqn_target, dqn_loss, step

        time.sleep(self.pause)
        state = self.rng.integers(2, size=8)
        action = self.rng.integers(2, size=8)
        reward = REWARD[state, action] + self.rng.normal(0.0, 0.1, 8)
        self.buffer.add({"state": state, "action": action, "reward": reward})
        batch = {
            name: self.torch.from_numpy(part)
            for name, part in self.buffer.sample(16, self.rng).items()
        }
        seen = self.torch.eye(2)[batch["state"]]
        values = self.network(seen)
        target = double_dqn_target(
            batch["reward"].float(), self.torch.zeros(16), values, values.detach()
        )
        step(self.optimiser, dqn_loss(values, batch["action"], target))

    def evaluate(self) -> dict[str, float]:
        with self.torch.no_grad():
            chosen = self.network(self.torch.eye(2)).argmax(-1).numpy()
        return {"reward": float(REWARD[[0, 1], chosen].mean())}

    def weights(self) -> dict[str, Any]:
        from edgeopt.learning.networks import to_arrays

        return to_arrays(self.network)

    def about(self) -> dict[str, Any]:
        return {"settings": {"seed": self.seed}, "seeds": {"training": [self.seed]}}

    def state(self) -> dict[str, Any]:
        from edgeopt.learning.networks import optimiser_state, to_arrays

        return {
            "network": to_arrays(self.network),
            "optimiser": optimiser_state(self.optimiser),
            "buffer": self.buffer.state(),
            "generator": self.rng.bit_generator.state,
        }

    def restore(self, state: Any) -> None:
        from edgeopt.learning.networks import from_arrays, restore_optimiser

        from_arrays(self.network, state["network"])
        restore_optimiser(self.optimiser, state["optimiser"])
        self.buffer.restore(state["buffer"])
        self.rng.bit_generator.state = state["generator"]


if __name__ == "__main__":
    train(Bandit(3, pause=0.002), sys.argv[1], updates=200, every=10)
