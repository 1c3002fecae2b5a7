"""An instance together with fractional training rounds that are fixed in advance."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance

__all__ = ["Planned"]


@dataclass(frozen=True, eq=False)
class Planned:
    """What is given, and what Algorithm 1 is taken to have decided.

    Parameters
    ----------
    instance
        The instance.
    points
        Fractional rounds of each frame, shape [T, I].
    """

    instance: EdrInstance
    points: NDArray[np.float64]

    def fingerprint(self) -> str:
        """Return a hash of instance and rounds."""
        digest = hashlib.sha256(self.instance.fingerprint().encode())
        digest.update(np.ascontiguousarray(self.points, dtype=float).tobytes())
        return digest.hexdigest()[:16]
