"""Networks with drawn weights, and instances of one task whose costs are given, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.instances.edr import EdrInstance, generate
from edgeopt.learning import Checkpoint
from edgeopt.learning.arrays import layer_shapes
from edgeopt.learning.edr import rounds, rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def macro(seed: int = 0, state: str = "replay", **changes: Any) -> Checkpoint:
    """Return an untrained network for rounds."""
    features = rounds.STATES[state]
    weights = _drawn(seed, len(features), 64, 64, len(rounds.LEVELS))
    fields = {"system": "edr", "learner": "macro", "weights": weights, "features": features}
    return Checkpoint(**fields | changes)


def micro(seed: int = 0) -> Checkpoint:
    """Return an untrained network for routing."""
    weights = _drawn(seed, len(rows.FEATURES), 64, 64, rows.ROUTES)
    return Checkpoint(system="edr", learner="micro", weights=weights, features=rows.FEATURES)


def _drawn(seed: int, *sizes: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        name: rng.normal(0.0, 0.3, shape).astype(np.float32)
        for name, shape in layer_shapes(*sizes).items()
    }


def one_task(cost: ArrayLike, arrival: int, needed: int) -> EdrInstance:
    """Return an instance of one task, a round of which has the given cost in each frame."""
    cost = np.asarray(cost, dtype=float)
    frames = cost.size
    drawn = generate(rng=0, sites=2, tasks=1, frames=frames, slots=1, types=1, capped=None)
    rate = np.broadcast_to((2.0 / cost)[:, None, None], (frames, 2, 2))
    return drawn.replace(
        arrival=np.array([arrival]), deadline=np.array([frames - 1]), rounds=np.array([needed]),
        client=np.ones((1, 2), dtype=bool), model_size=np.ones(1), step_work=np.zeros((1, 2)),
        aggregation_work=np.zeros(1), request_size=np.zeros(1), rate=rate,
        propagation=np.zeros_like(drawn.propagation), energy_weight=0.0, delay_weight=1.0,
    )  # fmt: skip
