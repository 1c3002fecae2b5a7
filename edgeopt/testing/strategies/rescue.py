"""Small instances of RESCUE."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from hypothesis import strategies as st

from edgeopt.instances.edf import edf_feasible, edf_order
from edgeopt.instances.rescue import RescueInstance, ReservedTasks
from edgeopt.testing.strategies.basic import array_of, composite, up_to

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy


@composite
def rescue_instances(
    draw: DrawFn,
    *,
    servers: int = 2,
    devices: int = 3,
    profiles: int = 2,
    horizon: int = 4,
    max_duration: int = 3,
    reserved: bool | None = None,
    arrivals: Literal["exclusive", "independent"] | None = "exclusive",
    beyond: Literal["hold", "drop"] | None = "hold",
) -> RescueInstance:
    """Draw a tiny instance of RESCUE.

    Everything comes from whole numbers, so that examples shrink to few slots, small profits and
    certain durations. Probabilities are simple fractions; zeros, certain arrivals and ties are
    frequent.

    Parameters
    ----------
    servers, devices, profiles, horizon, max_duration
        Largest sizes.
    reserved
        Whether there may be reserved tasks; None leaves it to the draw.
    arrivals, beyond
        As in the instance; None leaves them to the draw.

    Returns
    -------
    A strategy of hypothesis for instances.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.rescue import PickConfigs, RescueEnvironment
    >>> from edgeopt.testing.strategies import rescue_instances
    >>> found = []
    >>> @settings(max_examples=5, database=None, derandomize=True, deadline=None)
    ... @given(rescue_instances(reserved=True))
    ... def look(drawn):
    ...     runs = simulate(RescueEnvironment(drawn), PickConfigs(guarded=True), runs=9)
    ...     found.append(runs.violations.sum())
    ...
    >>> look()
    >>> int(max(found))
    0
    """
    K, J, T, D = (draw(up_to(largest)) for largest in (servers, devices, horizon, max_duration))
    L = draw(up_to(min(profiles, D)))
    kind = draw(st.sampled_from(["exclusive", "independent"])) if arrivals is None else arrivals
    tail = draw(st.sampled_from(["hold", "drop"])) if beyond is None else beyond

    arrival = array_of(draw, (T, J), (0, 1, 2, 3, 4, 6, 9, 12)) / 12.0
    if kind == "exclusive":
        total = arrival.sum(axis=1, keepdims=True)
        arrival = np.where(total > 1, arrival / np.maximum(total, 1), arrival)

    duration = np.array(draw(_durations(L, D)), dtype=np.float64)
    duration /= duration.sum(axis=1, keepdims=True)
    capacity = array_of(draw, (K, T), (1, 2, 3)).astype(np.float64)

    full = (T, J, K, L, D)
    kept = draw(st.tuples(*(st.booleans() for _ in full)))  # False: the axis keeps size 1
    shape = tuple(n if keep else 1 for n, keep in zip(full, kept, strict=True))
    profit = array_of(draw, shape, (2, 0, 1, 3, 5, 8)) / 2.0
    with_tasks = draw(st.sampled_from([False, True, True])) if reserved is None else reserved
    tasks = _tasks(draw, capacity) if with_tasks else ReservedTasks.none()
    return RescueInstance(arrival, duration, capacity, tasks, profit, kind, tail)


def _durations(profiles: int, longest: int) -> SearchStrategy[list[list[int]]]:
    """Rows of whole weights with strictly increasing means."""
    row = st.lists(st.integers(0, 4), min_size=longest, max_size=longest).filter(any)
    rows = st.lists(row, min_size=profiles, max_size=profiles)
    return rows.map(lambda some: sorted(some, key=_mean)).filter(
        lambda some: all(_mean(b) - _mean(a) > 1e-9 for a, b in pairwise(some))
    )


def _mean(weights: list[int]) -> float:
    return sum(d * w for d, w in enumerate(weights, start=1)) / sum(weights)


def _tasks(draw: DrawFn, capacity: np.ndarray) -> ReservedTasks:
    servers, horizon = capacity.shape
    kept: list[tuple[int, int, int, float]] = []
    for _ in range(draw(st.sampled_from([0, 1, 2, 3]))):
        k = draw(st.integers(0, servers - 1))
        first = draw(st.integers(0, horizon - 1))
        last = draw(st.integers(first, horizon - 1))
        halves = int(2 * capacity[k, first : last + 1].sum())
        trial = [*kept, (k, first, last, draw(st.integers(1, halves)) / 2.0)]
        server, start, end, demand = (np.array(column) for column in zip(*trial, strict=True))
        order, offset = edf_order(server, end, servers)
        mine = order[offset[k] : offset[k + 1]]
        if edf_feasible(mine, start, end, demand, demand, capacity[k], 0, 0):
            kept = trial
    if not kept:
        return ReservedTasks.none()
    return ReservedTasks(*(np.array(column) for column in zip(*kept, strict=True)))
