"""A training of EDR's rounds that a test kills; run as a program."""

from __future__ import annotations

import sys
import time
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.edr.nets import one_task

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.instances.edr import EdrInstance

UPDATES, EVERY = 40, 4


@cache
def lottery(seed: int) -> EdrInstance:
    """Draw a task of six frames after eight, at costs of 1 and 3."""
    cost = np.random.default_rng(seed).choice([1.0, 3.0], 14)
    return one_task(cost, 8, 3)


def slowly(seed: int) -> EdrInstance:
    """Draw the same, after a pause in which a test can kill the training."""
    time.sleep(0.05)
    return lottery(seed)


def trained(folder: str | Path, draw: Any = lottery, **how: Any) -> Path:
    """Train, and return the file of the checkpoint."""
    from edgeopt.learning import train
    from edgeopt.learning.edr.macro import RoundsLearner

    made = RoundsLearner(
        seed=4, updates=UPDATES, draw=draw, validation=(0, 1), warm_up=20, batch=8, per_update=1
    )
    return train(made, folder, updates=UPDATES, every=EVERY, **how).path


if __name__ == "__main__":
    trained(sys.argv[1], slowly)
