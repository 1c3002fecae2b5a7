"""Allocations at which statements for all allocations are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance

__all__ = ["centre", "fill", "fractional", "free", "integral", "vertices"]

HALVINGS = 70
"""Bisection steps; more than a double can tell apart."""


def free(instance: IdnInstance) -> NDArray[np.bool_]:
    """Return the nodes with a choice: neither pinned nor without budget nor room for all, [V]."""
    return np.asarray(instance.active & ~instance.saturated)


def fill(
    weight: NDArray[np.float64], size: NDArray[np.float64], budget: float
) -> NDArray[np.float64]:
    """Return min(1, mu weight) that fills a budget, with mu found by bisection."""
    logs = np.log(weight)
    low, high = -800.0 - logs.max(), -logs.min()
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        too_much = size @ np.exp(np.minimum(middle + logs, 0)) > budget
        low, high = (low, middle) if too_much else (middle, high)
    return np.asarray(np.exp(np.minimum(low + logs, 0)))


def centre(instance: IdnInstance) -> NDArray[np.float64]:
    """Return the allocation that every policy of the paper starts from, shape [V, M]."""
    point = np.asarray(instance.empty, dtype=float).copy()
    point[instance.saturated] = 1
    for v in np.flatnonzero(free(instance)):
        point[v] = instance.budget[v] / instance.size[v].sum()
    return point


def fractional(instance: IdnInstance, count: int, draw: np.random.Generator) -> NDArray[np.float64]:
    """Draw fractional allocations that fill every budget, shape [count, V, M]."""
    points = np.repeat(centre(instance)[None], count, axis=0)
    for point in points:
        spread = draw.uniform(0.2, 6)
        for v in np.flatnonzero(free(instance)):
            weight = np.exp(spread * draw.normal(size=instance.models))
            point[v] = fill(weight, instance.size[v], instance.budget[v])
    return points


def vertices(instance: IdnInstance, count: int, draw: np.random.Generator) -> NDArray[np.float64]:
    """Draw extreme points: models in random order, the last one cut to fit, [count, V, M]."""
    points = np.repeat(centre(instance)[None], count, axis=0)
    for point in points:
        for v in np.flatnonzero(free(instance)):
            order = draw.permutation(instance.models)
            size = instance.size[v, order]
            before = np.cumsum(size) - size
            point[v, order] = np.clip((instance.budget[v] - before) / size, 0, 1)
    return points


def integral(instance: IdnInstance, count: int, draw: np.random.Generator) -> NDArray[np.float64]:
    """Draw allocations of whole models within the budgets, shape [count, V, M]."""
    points = np.repeat(centre(instance)[None], count, axis=0)
    for point in points:
        for v in np.flatnonzero(free(instance)):
            point[v] = 0
            left = float(instance.budget[v])
            for m in draw.permutation(instance.models):
                if instance.size[v, m] <= left and draw.uniform() < 0.8:
                    point[v, m] = 1
                    left -= instance.size[v, m]
    return points
