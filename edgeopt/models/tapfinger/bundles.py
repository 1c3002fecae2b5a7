"""The bundles that are worth a thought: no other is as small in both resources and as fast."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

__all__ = ["Bundles", "allowed", "efficient"]


class Bundles:
    """Lists of bundles with their durations, one for each cluster and kind of task.

    Attributes
    ----------
    first
        Where the bundles of a cluster and kind begin, shape [N * K + 1]: those of cluster n and
        kind k are entries ``first[n * K + k]`` to ``first[n * K + k + 1] - 1``.
    bundle
        CPU cores and GPUs, shape [B, 2], by duration within a list, then by size.
    duration
        Slots, shape [B].
    """

    def __init__(self, first: Ints, bundle: Ints, duration: Ints, kinds: int) -> None:
        self.first, self.bundle, self.duration = first, bundle, duration
        self._kinds = kinds

    def of(self, cluster: int, kind: int) -> tuple[Ints, Ints]:
        """Return the bundles of a kind of task on a cluster, shape [b, 2], and durations [b]."""
        place = cluster * self._kinds + kind
        mine = slice(int(self.first[place]), int(self.first[place + 1]))
        return self.bundle[mine], self.duration[mine]


def allowed(duration: Ints) -> Bundles:
    """Return all bundles with which a task can run.

    Parameters
    ----------
    duration
        Slots, shape [N, K, A, B]; 0 where a bundle is not allowed.
    """
    return _listed(duration, duration > 0)


def efficient(duration: Ints) -> Bundles:
    """Return the bundles without those that cost more of something and are not faster.

    A bundle is left out if another one is at most as large in both resources and at most as slow;
    no schedule needs it, since its holder could take the other and leave the rest idle.

    Parameters
    ----------
    duration
        Slots, shape [N, K, A, B]; 0 where a bundle is not allowed.
    """
    never = np.iinfo(np.int64).max
    slots = np.where(duration > 0, duration, never)
    best = np.minimum.accumulate(np.minimum.accumulate(slots, axis=2), axis=3)
    before = np.full_like(best, never)  # the best of all smaller bundles, itself left out
    before[:, :, 1:] = best[:, :, :-1]
    before[:, :, :, 1:] = np.minimum(before[:, :, :, 1:], best[:, :, :, :-1])
    return _listed(duration, (duration > 0) & (slots < before))


def _listed(duration: Ints, kept: NDArray[np.bool_]) -> Bundles:
    clusters, kinds = duration.shape[:2]
    n, k, cpu, gpu = np.nonzero(kept)
    slots = duration[n, k, cpu, gpu]
    order = np.lexsort((gpu, cpu, cpu + gpu, slots, k, n))
    count = np.bincount(n * kinds + k, minlength=clusters * kinds)
    first = np.concatenate([[0], np.cumsum(count)])
    bundle = np.stack([cpu, gpu], axis=1)[order]
    return Bundles(first.astype(np.int64), bundle, slots[order], kinds)
