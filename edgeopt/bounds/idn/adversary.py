"""A network together with what an oblivious adversary chose in advance."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance

__all__ = ["Adversary", "adversary"]


@dataclass(frozen=True, eq=False)
class Adversary:
    """Requests and potential capacities of all slots, fixed before any allocation is drawn.

    Parameters
    ----------
    instance
        The network with its requests.
    potential
        Potential capacity of each option of the ranking, requests, shape [T, P]. Entries of
        repository models may fall short of the requests, as equation (10) lets them.
    allocations
        Allocations of interest, integral or fractional, shape [N, V, M]; drawn where left out.
    """

    instance: IdnInstance
    potential: NDArray[np.float64]
    allocations: NDArray[np.float64] | None = field(default=None)

    def fingerprint(self) -> str:
        """Return a hash of network, capacities and allocations."""
        digest = hashlib.sha256(self.instance.fingerprint().encode())
        digest.update(np.ascontiguousarray(self.potential, dtype=float).tobytes())
        if self.allocations is not None:
            digest.update(np.ascontiguousarray(self.allocations, dtype=float).tobytes())
        return digest.hexdigest()[:16]


def adversary(instance: IdnInstance, *, rng: int | np.random.Generator = 0) -> Adversary:
    """Draw capacities that equation (10) allows and that leave repositories whole.

    In even slots every model could give all its capacity to every type; in odd slots it gives a
    whole number of requests, each equally likely up to that.
    """
    draw = np.random.default_rng(rng)
    ranking = instance.ranking
    potential = ranking.potential(instance.requests)
    some = np.floor(draw.uniform(size=potential[1::2].shape) * (potential[1::2] + 1))
    potential[1::2] = np.where(
        ranking.permanent, potential[1::2], np.minimum(some, potential[1::2])
    )
    return Adversary(instance, potential)
