"""Exact distribution of the allocation that a rounding draws, node by node and jointly."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from edgeopt.bounds.claim import NotApplicableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64] | Sequence[Fraction]

__all__ = ["Law", "Residual", "joint_law", "mean", "node_law", "node_laws"]

Law: TypeAlias = dict[tuple[int, ...], Fraction]
Residual: TypeAlias = Literal["bernoulli", "drop", "half"]

LARGEST = 1024
"""Largest number of joint outcomes."""

WIDEST = 10
"""Largest number of fractional entries at one node."""


def node_law(point: Numbers, size: Numbers, residual: Residual = "bernoulli") -> Law:
    """Return what a node draws from a fractional allocation, exactly."""
    count = sum(0 < entry < 1 for entry in point)
    if count > WIDEST:
        raise NotApplicableError(
            f"too large for the exact law of a rounding: {count} fractional entries at a node, "
            f"{WIDEST} at most"
        )
    return _kept_law(tuple(point), tuple(size), residual)


@lru_cache(maxsize=1024)
def _kept_law(point: tuple[Any, ...], size: tuple[Any, ...], residual: Residual) -> Law:
    # Several claims ask for the same law, and fractions are slow.
    from edgeopt.rounding import depround_law

    if residual == "half":
        # The rounding refuses what may exceed its budget; whether it does is for the claim to say.
        return depround_law(point, size, residual=residual, budget=float(sum(size)))
    return depround_law(point, size, residual=residual)


def node_laws(
    allocations: NDArray[np.float64],
    size: NDArray[np.float64],
    nodes: Sequence[int],
    residual: Residual = "bernoulli",
) -> list[tuple[int, NDArray[np.float64], Law]]:
    """Return the law of single nodes under several fractional allocations."""
    found = [
        (int(v), point[v], node_law(point[v], size[v], residual))
        for point in allocations
        for v in nodes
        if 0 < ((point[v] > 0) & (point[v] < 1)).sum() <= WIDEST
    ]
    if not found:
        raise NotApplicableError("no node is rounded, or all have too many fractional entries")
    return found


def joint_law(
    allocation: NDArray[np.float64],
    size: NDArray[np.float64],
    residual: Residual = "bernoulli",
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the law of the whole network, whose nodes draw independently."""
    drawn = [v for v in range(len(size)) if ((allocation[v] > 0) & (allocation[v] < 1)).any()]
    if 2 ** len(drawn) > LARGEST:
        raise NotApplicableError(f"too large for the exact joint law of {len(drawn)} nodes")
    laws = [list(node_law(allocation[v], size[v], residual).items()) for v in drawn]
    count = int(np.prod([len(law) for law in laws], dtype=float))
    if count > LARGEST:
        raise NotApplicableError(f"too large for the exact joint law: {count} outcomes")
    outcomes = np.repeat(allocation[None], count, axis=0)
    chance = np.ones(count)
    for n, pick in enumerate(itertools.product(*laws)):
        for v, (outcome, probability) in zip(drawn, pick, strict=True):
            outcomes[n, v] = outcome
            chance[n] *= float(probability)
    return outcomes.reshape(count, -1), chance


def mean(law: Law) -> tuple[Fraction, ...]:
    """Return the probability of each entry, exactly."""
    width = len(next(iter(law)))
    return tuple(
        sum((p for outcome, p in law.items() if outcome[m]), Fraction(0)) for m in range(width)
    )
