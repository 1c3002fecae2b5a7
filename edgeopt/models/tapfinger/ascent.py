r"""Good prices of shared limits without a linear program, where there are too many tasks for one.

The bound :math:`v(\lambda)` that prices prove is concave, and what tasks take beyond the room is a
supergradient. Each step goes along a running mean of those,

.. math:: \lambda \leftarrow \Big(\lambda + \frac{\delta}{\lVert S d \rVert^2} S^2 d\Big)^+,
          \qquad d \leftarrow (1 - \alpha)\, d + \alpha\,(\text{use} - \text{room}),

from the best prices so far, with :math:`S` the inverse of the room: as far as would be needed to
prove :math:`\delta` more. At first many slots share their prices, then fewer and fewer.

References
----------
Barahona, Anbil: The volume algorithm: producing primal solutions with a subgradient method,
Mathematical Programming 87, 2000.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from edgeopt.models.tapfinger.generation import BestPrices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.tapfinger.limits import Limits

    Floats = NDArray[np.float64]

BLOCKS: Final = (32, 16, 8, 4, 2, 1)
"""Slots that share their prices, one after the other."""

STEPS: Final = 500
"""Steps with each number of slots, at most."""

_HOPE: Final = 0.02  # part of the bound by which a step hopes to raise it, at first
_LEAST: Final = 1e-5  # the same, below which there are no more steps
_PATIENCE: Final = 10  # steps without success after which hopes are lowered
_FRESH: Final = 0.2  # part of the newest supergradient in the mean, at first


class Responsive(Protocol):
    """Tasks that answer prices together."""

    limits: Limits

    def respond(self, prices: Floats) -> tuple[float, Floats]:
        """Return what all tasks pay at least, and what they take of each limit as they do so."""


def ascended_prices(pricing: Responsive) -> BestPrices:
    """Return good prices and what they prove; how far from the best they are is not known."""
    search = _Ascent(pricing)
    for block in BLOCKS:
        search.run(block)
    return BestPrices(search.value, search.prices, np.inf, 0.0, search.rounds)


class _Ascent:
    def __init__(self, pricing: Responsive) -> None:
        self.pricing, self.sides, self.rounds = pricing, pricing.limits.sides(), 0
        self.prices = np.zeros(self.sides.size)
        self.value, self.excess = self.attempt(self.prices)

    def attempt(self, prices: Floats) -> tuple[float, Floats]:
        """Return what prices prove, and what tasks take at them beyond the room."""
        self.rounds += 1
        paid, use = self.pricing.respond(prices)
        return paid - float(prices @ self.sides), use - self.sides

    def run(self, block: int) -> None:
        """Raise the prices of blocks of slots."""
        merge = self.pricing.limits.merging(block)
        scale = 1.0 / np.maximum(merge @ self.sides, 1.0)
        hope, fresh, failed = _HOPE * self.value, _FRESH, 0
        mean = self.excess
        for _ in range(STEPS):
            way = self._way(merge, mean, scale)
            if not way.any():
                mean, hope = self.excess, hope / 2
                way = self._way(merge, mean, scale)
            if not way.any() or hope < _LEAST * self.value:
                return
            step = merge.T @ (hope / (way @ way) * way * scale)
            prices = np.maximum(self.prices + step, 0.0)
            value, excess = self.attempt(prices)
            mean = fresh * excess + (1.0 - fresh) * mean
            if value > self.value:
                if value - self.value > hope / 4:
                    hope *= 1.5
                self.value, self.prices, self.excess, failed = value, prices, excess, 0
                continue
            failed += 1
            if failed == _PATIENCE:
                mean, failed = (mean + self.excess) / 2, 0
                hope, fresh = 0.6 * hope, max(0.02, 0.9 * fresh)

    def _way(self, merge: Any, mean: Floats, scale: Floats) -> Floats:
        """Return the direction, 0 where it would lower prices that are 0."""
        way: Floats = (merge @ mean) * scale
        way[(way < 0.0) & (merge @ self.prices <= 0.0)] = 0.0
        return way
