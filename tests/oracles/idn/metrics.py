"""What a run is judged by, from the loads and allocations of its slots."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tests.oracles.idn.gains import gain_as_difference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.oracles.idn.data import Number, Plain
    from tests.oracles.idn.gains import Potential
    from tests.oracles.idn.serving import Loads


def gain_per_request(
    plain: Plain, requests: Sequence[int], potential: Potential, x: Sequence
) -> Number:
    """Return G / |r|, 0 in an empty slot."""
    total = sum(requests)
    if total == 0:
        return plain.number(0)
    return gain_as_difference(plain, requests, potential, x) / total


def served_average(plain: Plain, load: Loads, field: str) -> Number:
    """Return the average `latency` or `inaccuracy` over the served requests."""
    total = weighted = plain.number(0)
    for rho in range(plain.R):
        for o, amount in zip(plain.options(rho), load[rho], strict=True):
            total += amount
            weighted += amount * getattr(o, field)
    return weighted / total if total else total


def fetched(plain: Plain, before: Sequence, after: Sequence) -> Number:
    """Return the size of the models that a node hosts now and did not before."""
    return sum(
        (
            plain.size[v][m]
            for v in range(plain.V)
            if not plain.pinned(v)
            for m in range(plain.M)
            if after[v][m] and not before[v][m]
        ),
        plain.number(0),
    )


def model_updates(plain: Plain, hosted: Sequence[Sequence]) -> Number:
    """Return the average size fetched per slot; the first slot counts in the average only."""
    moved = [fetched(plain, a, b) for a, b in pairwise(hosted)]
    return sum(moved, plain.number(0)) / len(hosted)
