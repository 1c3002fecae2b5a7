"""Expected gain of a rounded allocation, over the exact law of the whole network."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from edgeopt.bounds.claim import NotApplicableError
from edgeopt.bounds.idn.law import joint_law

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from edgeopt.bounds.idn.evaluation import Evaluation
    from edgeopt.bounds.idn.law import Residual
    from edgeopt.bounds.idn.slot import Slot

__all__ = ["Rounded", "expectations", "expected_gain", "rounded"]

ALLOCATIONS = 4
"""Largest number of fractional allocations that are rounded."""


class Rounded(NamedTuple):
    """A fractional allocation and the law of what it is rounded to.

    Attributes
    ----------
    point
        Shape [V, M].
    outcomes
        Allocations drawn, shape [N, V M].
    chance
        Their probabilities, shape [N].
    """

    point: NDArray[np.float64]
    outcomes: NDArray[np.float64]
    chance: NDArray[np.float64]

    @property
    def flat(self) -> NDArray[np.float64]:
        """The fractional allocation as a row, shape [1, V M]."""
        return self.point.reshape(1, -1)

    def mean(self, value: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> float:
        """Return the expectation of a function of allocations."""
        return float(self.chance @ value(self.outcomes))


def rounded(view: Evaluation, residual: Residual = "bernoulli") -> list[Rounded]:
    """Round a few fractional allocations of a network."""
    found = []
    for point in view.fractional:
        try:
            found.append(Rounded(point, *joint_law(point, view.instance.size, residual)))
        except NotApplicableError as why:
            reason = why
        if len(found) == ALLOCATIONS:
            break
    if not found:
        raise reason
    return found


def expectations(
    view: Evaluation, residual: Residual = "bernoulli"
) -> Iterator[tuple[Rounded, Slot]]:
    """Pair every rounded allocation with every slot."""
    for found in rounded(view, residual):
        for slot in view.slots:
            yield found, slot


def expected_gain(view: Evaluation, slot: Slot, point: NDArray[np.float64]) -> float:
    """Return the expected gain of a slot when the nodes round a fractional allocation."""
    found = Rounded(point, *joint_law(point, view.instance.size))
    return found.mean(slot.ranked)
