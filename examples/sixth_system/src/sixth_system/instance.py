"""What is given: the requests of every slot, and what it costs to launch a batch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances import labelled
from edgeopt.instances.identity import Identified
from edgeopt.instances.labelled import Layout, Variable
from edgeopt.instances.validate import frozen_integers, require

if TYPE_CHECKING:
    import os

KIND, VERSION = "sixth", 1


@dataclass(frozen=True, eq=False)
class BatchInstance(Identified):
    """One day of one edge; `Identified` brings ``fingerprint``, ``save``, ``replace`` and ``==``.

    Parameters
    ----------
    requests
        Requests that arrive in each slot, whole numbers, shape [T].
    launch
        Price of a batch; a request that waits costs 1 per slot.
    """

    requests: np.ndarray
    launch: float = 12.0

    def __post_init__(self) -> None:
        requests = frozen_integers("requests", self.requests, ("slot",))
        require("requests", requests >= 0, requests, "must be at least 0")
        if not (math.isfinite(self.launch) and self.launch > 0):
            raise InstanceError("launch", "must be a number above 0", value=self.launch)
        object.__setattr__(self, "requests", requests)
        object.__setattr__(self, "launch", float(self.launch))

    def __repr__(self) -> str:
        count = int(self.requests.sum())
        return f"BatchInstance({self.requests.size} slots, {count} requests, launch={self.launch})"

    def _layout(self) -> Layout:
        arrays = {
            "requests": Variable(("slot",), self.requests, "1", "requests that arrive"),
            "launch": Variable((), self.launch, "slot", "price of a batch, in slots of waiting"),
        }
        return Layout(KIND, VERSION, arrays, {})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> BatchInstance:
        """Read what `save` wrote."""
        data = labelled.read(path, KIND, VERSION)
        return cls(data.array("requests"), data.array("launch").item())


def generate(
    *,
    slots: int = 300,
    launch: float = 12.0,
    rate: float = 0.5,
    burst: int = 10,
    bursts: float = 0.03,
    rng: int | np.random.Generator = 0,
) -> BatchInstance:
    """Draw a day: a steady trickle of `rate` per slot, now and then a burst of requests at once."""
    stream = np.random.default_rng(rng)
    trickle = stream.poisson(rate, slots)
    return BatchInstance(trickle + burst * (stream.random(slots) < bursts), launch)
