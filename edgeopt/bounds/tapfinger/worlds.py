"""The tasks that policies see who are compared with each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgeopt.bounds.claim import Measurement
from edgeopt.bounds.tapfinger.statement import claim
from edgeopt.bounds.verdict import Relation

__all__ = ["CLAIMS", "Streams"]


@dataclass(frozen=True)
class Streams:
    """Slots in which two policies let different numbers of tasks run.

    Parameters
    ----------
    running, others
        Tasks that run in each slot, of one policy and of the other: so many times the noise is
        drawn.
    rate
        Mean number of arrivals per slot.
    seed
        Seed of the generators.
    """

    running: tuple[int, ...]
    others: tuple[int, ...]
    rate: float = 2.0
    seed: int = 0

    def differences(self, *, shared: bool) -> int:
        """Return in how many slots the two policies see different arrivals."""
        first, second = (self._arrivals(tasks, shared) for tasks in (self.running, self.others))
        return sum(a != b for a, b in zip(first, second, strict=True))

    def _arrivals(self, running: tuple[int, ...], shared: bool) -> list[int]:
        arrivals, noise = np.random.default_rng(self.seed).spawn(2)
        noise = arrivals if shared else noise
        found = []
        for tasks in running:
            found.append(int(arrivals.poisson(self.rate)))
            noise.uniform(-0.1, 0.1, tasks)
        return found


_STREAMS = {"instance_type": Streams, "view": lambda streams: streams}
_SERVED = {
    "Streams((1, 1), (2, 1))": lambda: Streams((1, 1), (2, 1)),
    "Streams((3, 1, 4, 1), (2, 7, 1, 8))": lambda: Streams((3, 1, 4, 1), (2, 7, 1, 8)),
}
_FIRST = next(iter(_SERVED))

CLAIMS = (
    claim(
        "worlds",
        "Policies that are compared see the same arrivals if these are drawn from a generator of "
        "their own.",
        "Section V-A, task arrivals, corrected",
        lambda streams: Measurement(float(streams.differences(shared=False)), 0.0),
        Relation.EQUAL,
        _SERVED,
        **_STREAMS,
    ),
    claim(
        "worlds.shared",
        "They do if one generator draws arrivals and noise, as in the program behind the paper's "
        "figures. The noise of a running task moves all later arrivals.",
        "Section V-A, task arrivals",
        lambda streams: Measurement(float(streams.differences(shared=True)), 0.0),
        Relation.EQUAL,
        {_FIRST: _SERVED[_FIRST]},
        counterexample=_FIRST,
        corrected_by=("tapfinger.worlds",),
        **_STREAMS,
    ),
)
