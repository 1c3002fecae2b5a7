"""Training of the insertion actor: by what its choices cost, in the states that it comes to.

Requests are placed by the compiled kernel of execution, with noise on the scores. It notes what
each site would have counted with more, latencies and missed objectives together, which is what the
search weighs its moves by; PyTorch then scores all pairs of requests and sites that were seen at
once, and both networks learn to choose as a softmax of those costs does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import torch
from torch import nn

from edgeopt.learning.networks import NetworkLearner, Perceptron, set_rate, step, to_arrays
from edgeopt.learning.oinc.insertion import HIDDEN, in_order, measured, sites_by_weights, terms_of
from edgeopt.learning.oinc.placing import FEATURES, REGRET, SCALE, SWEEPS
from edgeopt.learning.oinc.slots import TRAINING, VALIDATION, drawn, held_out
from edgeopt.models.oinc.slot import evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeopt.learning.oinc.slots import Drawn, Rooms
    from edgeopt.models.oinc.slot import SlotProblem

RATE: Final = 5e-3
"""Step size of the first update; it falls to 0."""

COLDEST: Final = 0.3
"""Noise on the scores in the last update, in terms of the first."""

CLIP: Final = 1.0
"""Largest norm of a gradient."""

GREED: Final = (2.5, 3.0)
"""Logarithms of the weight of the regret before training, by sweep."""

CLOSE: Final = 0.05
"""Difference of costs from which one choice is clearly better than another, s."""


class InsertionNetwork(nn.Module):
    """The scores of a request at a site in both sweeps."""

    def __init__(self) -> None:
        super().__init__()
        layers = (len(FEATURES), HIDDEN, HIDDEN, 1)
        self.sweeps = nn.ModuleList(Perceptron(layers, last=0.1) for _ in range(SWEEPS))
        self.greed = nn.Parameter(torch.tensor(GREED))

    def forward(self, features: Any, sweep: int) -> Any:
        """Return the scores of requests at sites, without noise, [..., J]."""
        score = self.sweeps[sweep](features).squeeze(-1)
        return SCALE * score - self.greed[sweep].exp() * features[..., REGRET]


class Batch:
    """Slots whose requests were placed, one after the other in flat arrays of N requests.

    Attributes
    ----------
    features, costs
        What was seen, and how much more every site would have counted with, [2, N, J, 12] and
        [2, N, J].
    there
        Which sites there are, [N, J].
    """

    def __init__(self, slots: Sequence[Drawn], weights: Any, temperature: float, rng: Any) -> None:
        size = sum(one.slo.size for one in slots), max(one.terms.shape[1] for one in slots)
        features = np.zeros((SWEEPS, *size, len(FEATURES)), np.float32)
        noise = temperature * rng.gumbel(size=(SWEEPS, *size))
        costs = np.zeros((SWEEPS, *size), np.float32)
        there = np.zeros(size, np.bool_)
        first = 0
        for terms, slo in slots:
            n, width = terms.shape[:2]
            here = slice(first, first + n)
            seen, more = np.empty((SWEEPS, n, width, len(FEATURES))), np.empty((SWEEPS, n, width))
            sites_by_weights(weights, terms, slo, noise[:, here, :width], seen, more)
            features[:, here, :width], costs[:, here, :width] = seen, more
            there[here, :width] = True
            first += n
        self.features, self.costs = torch.from_numpy(features), torch.from_numpy(costs)
        self.there = torch.from_numpy(there)


def cost_loss(network: InsertionNetwork, batch: Batch) -> Any:
    """Return the cross entropy of choices and a softmax of what they would have cost."""
    total = torch.zeros(())
    for sweep in range(SWEEPS):
        p = torch.softmax((-batch.costs[sweep] / CLOSE).masked_fill(~batch.there, -torch.inf), -1)
        score = torch.full(batch.there.shape, -torch.inf)
        score = score.masked_scatter(
            batch.there, network(batch.features[sweep][batch.there], sweep)
        )
        log_p = torch.log_softmax(score, -1).masked_fill(~batch.there, 0.0)
        total = total - (p * log_p).sum(-1).mean()
    return total


class InsertionLearner(NetworkLearner):
    """Learner of the insertion actor."""

    system, learner, figure, policy = "oinc", "insertion", "reward", "network"
    sense: Literal["min", "max"] = "max"

    def __init__(
        self,
        *,
        seed: int,
        updates: int,
        batch: int = 64,
        rooms: Sequence[Rooms] | None = None,
        validation: Sequence[SlotProblem] | None = None,
    ) -> None:
        super().__init__(seed, updates)
        self.batch = batch
        self.rooms = drawn(TRAINING) if rooms is None else rooms
        self.validation = (
            held_out(drawn(VALIDATION), 20, VALIDATION[0]) if validation is None else validation
        )
        self.network = InsertionNetwork()
        self.nets = {"network": self.network}
        self.optimisers = {"network": torch.optim.Adam(self.network.parameters(), RATE)}

    def update(self) -> None:
        """Learn from a batch of drawn slots."""
        left = max(1.0 - self.done / self.updates, 0.0)
        optimiser = self.optimisers["network"]
        set_rate(optimiser, RATE * left)
        chosen = self.rng.integers(len(self.rooms), size=self.batch)
        slots = [self.rooms[place].terms(self.rng) for place in chosen]
        temperature = COLDEST + (1.0 - COLDEST) * left
        batch = Batch(slots, in_order(to_arrays(self.network)), temperature, self.rng)
        step(optimiser, cost_loss(self.network, batch), self.network.parameters(), CLIP)
        self.done += 1

    def evaluate(self) -> dict[str, float]:
        """Return the mean reward of validation slots, and their latency and share in time."""
        return self.measure(self.validation)

    def measure(self, problems: Sequence[SlotProblem]) -> dict[str, float]:
        """Return the same of other slots."""
        weights = in_order(to_arrays(self.network))
        return measured(
            [evaluate(one, sites_by_weights(weights, terms_of(one), one.slo)) for one in problems]
        )

    def about(self) -> dict[str, Any]:
        """Return what the checkpoint says of the training."""
        return {
            "settings": {"batch": self.batch, "rate": RATE, "hidden": HIDDEN},
            "features": list(FEATURES),
            "seeds": {
                "learner": [self.seed], "training": list(TRAINING), "validation": list(VALIDATION),
            },
            "instances": [one.instance.fingerprint() for one in self.rooms],
        }  # fmt: skip
