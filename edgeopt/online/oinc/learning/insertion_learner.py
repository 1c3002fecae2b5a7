"""Training of the insertion actor: straight through the choices of a batch of slots.

Requests are placed by the compiled kernel of execution, with noise on the scores; PyTorch then
scores all pairs of requests and sites that it saw at once. A choice has the gradient of a softmax,
and moves the loads at the end; what it changes for later choices is left out, so that nothing is
computed step by step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import torch
from torch import nn

from edgeopt.learning.networks import (
    Perceptron,
    from_arrays,
    optimiser_state,
    restore_optimiser,
    seeded,
    to_arrays,
)
from edgeopt.learning.updates import set_rate, step
from edgeopt.models.oinc.slot import evaluate
from edgeopt.online.oinc.learning.insertion import (
    HIDDEN,
    MISSED,
    in_order,
    measured,
    placed,
    terms_of,
)
from edgeopt.online.oinc.learning.placing import FEATURES, REGRET, SCALE, place, places
from edgeopt.online.oinc.learning.slots import TRAINING, VALIDATION, drawn, held_out

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.models.oinc.slot import SlotProblem
    from edgeopt.online.oinc.learning.slots import Rooms

RATE: Final = 3e-3
"""Step size of the first update; it falls to 0."""

COLDEST: Final = 0.3
"""Noise on the scores in the last update, in terms of the first; without any it unlearns."""

CLIP: Final = 1.0
"""Largest norm of a gradient."""

GREED: Final = 3.0
"""Logarithm of the weight of the regret before training."""

FULL: Final = 0.985
"""Stretch of a site from which objectives count as missed."""

STEEP: Final = 40.0
"""How sharply."""

SOFT: Final = 0.7
"""Missed objectives by that."""

MANY: Final = 12.0
"""Missed objectives of a site from which further ones count less."""

FLATTER: Final = 0.25
"""How much they count then; if they did not at all, crowded sites would draw all requests."""


class InsertionNetwork(nn.Module):
    """The score of a request at a site."""

    def __init__(self) -> None:
        super().__init__()
        self.network = Perceptron((len(FEATURES), HIDDEN, HIDDEN, 1), last=0.1)
        self.greed = nn.Parameter(torch.tensor([GREED]))

    def forward(self, features: Any) -> Any:
        """Return the scores of requests at sites, without noise, [..., J]."""
        score = self.network(features).squeeze(-1)
        return SCALE * score - self.greed.exp() * features[..., REGRET]


class Batch:
    """Slots whose requests were placed, one after the other in flat arrays of N requests.

    Attributes
    ----------
    features, chosen
        What was seen and which site was taken, [N, J, 12] and [N].
    noise
        What was added to the scores, [N, J].
    terms, there
        What each request adds to each site, and which sites there are, [N, J, 5] and [N, J].
    slot, count
        Slot of every request [N], and requests of every slot [B].
    """

    def __init__(
        self, problems: Sequence[SlotProblem], weights: Any, temperature: float, rng: Any
    ) -> None:
        count = np.array([one.requests for one in problems])
        together, sites = int(count.sum()), max(one.sites for one in problems)
        features = np.zeros((together, sites, len(FEATURES)), np.float32)
        noise = temperature * rng.gumbel(size=(together, sites))
        chosen = np.zeros(together, np.int64)
        terms = np.zeros((together, sites, 5), np.float32)
        there = np.zeros((together, sites), np.bool_)
        first = 0
        for one in problems:
            here, width = slice(first, first + one.requests), one.sites
            found = terms_of(one)
            order = places(found, one.slo)
            seen = np.empty((one.requests, width, len(FEATURES)))
            taken = np.empty(one.requests, np.int64)
            raised = np.ascontiguousarray(noise[here, :width])
            site = np.empty(one.requests, np.int64)
            place(found, one.slo, order, *weights, raised, site, seen, taken)
            features[here, :width], chosen[here] = seen, taken
            terms[here, :width], there[here, :width] = found[order], True
            first += one.requests
        self.features, self.chosen = torch.from_numpy(features), torch.from_numpy(chosen)
        self.noise = torch.from_numpy(noise.astype(np.float32))
        self.terms, self.there = torch.from_numpy(terms), torch.from_numpy(there)
        self.slot = torch.from_numpy(np.repeat(np.arange(count.size), count))
        self.count = torch.from_numpy(count)


def surrogate(loads: Any) -> Any:
    """Return latencies of sites, and a smooth stand-in for those that miss objectives, [..., J]."""
    a, c, e = loads[..., 2], loads[..., 3], loads[..., 4]
    # The root has no slope at 0.
    stretch = 0.5 * (a + e + torch.sqrt((a - e) ** 2 + 4.0 * c * c + 1e-12))
    late = SOFT * nn.functional.softplus(STEEP * (stretch - FULL))
    late = torch.where(late < MANY, late, MANY + FLATTER * (late - MANY))
    return loads[..., 0] ** 2 + loads[..., 1] ** 2 + MISSED * late


def insertion_loss(network: InsertionNetwork, batch: Batch) -> Any:
    """Return the surrogate per request, averaged over slots, whose gradient is straight-through."""
    there = batch.there
    score = torch.full(there.shape, -torch.inf)
    score = score.masked_scatter(there, network(batch.features[there]) + batch.noise[there])
    p = torch.softmax(score, -1)
    share = nn.functional.one_hot(batch.chosen, p.shape[-1]) + p - p.detach()
    loads = torch.zeros(len(batch.count), *batch.terms.shape[1:])
    loads = loads.index_add(0, batch.slot, share[..., None] * batch.terms)
    return (surrogate(loads).sum(-1) / batch.count).mean()


class InsertionLearner:
    """Learner of the insertion actor."""

    system: str = "oinc"
    learner: str = "insertion"
    figure: str = "reward"
    sense: Literal["min", "max"] = "max"

    def __init__(
        self,
        *,
        seed: int,
        updates: int,
        batch: int = 128,
        rooms: Sequence[Rooms] | None = None,
        validation: Sequence[SlotProblem] | None = None,
    ) -> None:
        seeded(seed)
        self.seed, self.updates, self.batch, self.done = seed, updates, batch, 0
        self.rooms = drawn(TRAINING) if rooms is None else rooms
        self.validation = (
            held_out(drawn(VALIDATION), 25, VALIDATION[0]) if validation is None else validation
        )
        self.rng = np.random.default_rng(seed)
        self.network = InsertionNetwork()
        self.optimiser = torch.optim.Adam(self.network.parameters(), RATE)

    def update(self) -> None:
        """Learn from a batch of drawn slots."""
        left = max(1.0 - self.done / self.updates, 0.0)
        set_rate(self.optimiser, RATE * left)
        chosen = self.rng.integers(len(self.rooms), size=self.batch)
        problems = [self.rooms[place].draw(self.rng) for place in chosen]
        temperature = COLDEST + (1.0 - COLDEST) * left
        batch = Batch(problems, in_order(to_arrays(self.network)), temperature, self.rng)
        step(self.optimiser, insertion_loss(self.network, batch), self.network.parameters(), CLIP)
        self.done += 1

    def evaluate(self) -> dict[str, float]:
        """Return the mean reward of validation slots, and their latency and share in time."""
        return self.measure(self.validation)

    def measure(self, problems: Sequence[SlotProblem]) -> dict[str, float]:
        """Return the same of other slots."""
        weights = in_order(to_arrays(self.network))
        return measured(
            [evaluate(one, placed(weights, terms_of(one), one.slo)) for one in problems]
        )

    def weights(self) -> dict[str, NDArray[Any]]:
        """Return copies of the weights."""
        return to_arrays(self.network)

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

    def state(self) -> dict[str, Any]:
        """Return what is needed to go on."""
        return {
            "network": to_arrays(self.network),
            "optimiser": optimiser_state(self.optimiser),
            "generator": self.rng.bit_generator.state,
            "done": self.done,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up a state."""
        from_arrays(self.network, state["network"])
        restore_optimiser(self.optimiser, state["optimiser"])
        self.rng.bit_generator.state = state["generator"]
        self.done = state["done"]
