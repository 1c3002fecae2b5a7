"""The instance: the requests of every slot, and the price of a batch."""

from __future__ import annotations

import numpy as np

from edgeopt.instances import Instance, Integers, field


class BatchInstance(Instance, kind="sixth", axes={"slot": "T"}):
    """One day at one edge. A request that waits costs 1 per slot.

    `Instance` provides the checks, files, fingerprint, ``replace`` and ``==``.
    """

    requests: Integers = field("slot", least=0, doc="Requests that arrive.")
    launch: float = field(
        unit="slot", above=0, default=12.0, always=True,
        doc="Price of a batch, in slots of waiting.",
    )  # fmt: skip

    def __repr__(self) -> str:
        count = int(self.requests.sum())
        return f"BatchInstance({self.requests.size} slots, {count} requests, launch={self.launch})"


def generate(
    *,
    slots: int = 300,
    launch: float = 12.0,
    rate: float = 0.5,
    burst: int = 10,
    bursts: float = 0.03,
    rng: int | np.random.Generator = 0,
) -> BatchInstance:
    """Draw a day: `rate` requests per slot on average, and occasional bursts."""
    stream = np.random.default_rng(rng)
    trickle = stream.poisson(rate, slots)
    return BatchInstance(trickle + burst * (stream.random(slots) < bursts), launch)
