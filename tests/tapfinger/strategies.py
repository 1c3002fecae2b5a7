"""Strategies that draw small offline problems of TapFinger."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from edgeopt.models.tapfinger.problem import SchedulingProblem
from edgeopt.testing.strategies.basic import array_of, composite, nearly, up_to
from edgeopt.testing.strategies.tapfinger import PER_TASK, plans, smallest, some_cluster, weights

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn


@composite
def scheduling_problems(
    draw: DrawFn,
    *,
    clusters: int = 3,
    tasks: int = 4,
    kinds: int = 2,
    capacity: int = 4,
    longest: int = 6,
    single_start: bool | None = None,
    running: bool | None = None,
    weighted: bool | None = None,
    empty: bool = False,
    combinations: int | None = None,
) -> SchedulingProblem:
    """Draw a tiny offline problem; the integers are the largest sizes.

    As `tapfinger_instances`, but any bundles may be missing from the table of durations, also
    between others. ``running`` says whether tasks of before occupy the clusters for some slots and
    some clusters have started one already; None leaves it to the draw.
    """
    N, K = draw(up_to(clusters)), draw(up_to(kinds))
    J = draw(st.integers(0, tasks)) if empty else draw(nearly(tasks))
    units = np.minimum(array_of(draw, (N, 2), (2, 1, 3, 4, 0)), capacity)
    units[0] = np.maximum(units[0], 1)
    minimum = smallest(draw, units, K)
    ends = [draw(st.integers(max(1, low), capacity)) for low in minimum.max(axis=0).tolist()]
    lengths = tuple(min(slots, longest) for slots in (1, 2, 3, 0, 4, 2, 6))
    table = array_of(draw, (K, ends[0] + 1, ends[1] + 1), lengths)
    longer = array_of(draw, (N,), (0, 0, 1, 2))[:, None, None, None]
    table = np.where(table > 0, np.minimum(table + longer, longest), 0)
    cpu, gpu = np.indices(table.shape[2:])
    least = minimum[:, :, None, None]
    table[:, (cpu < least[:, 0]) | (gpu < least[:, 1])] = 0
    top = units[:, :, None, None]
    for n in range(N):
        for k in range(K):
            if (minimum[k] <= units[n]).all() and table[n, k, minimum[k, 0], minimum[k, 1]] == 0:
                table[n, k, minimum[k, 0], minimum[k, 1]] = longest
    table[((cpu > top[:, 0]) | (gpu > top[:, 1]))[:, None].repeat(K, axis=1)] = 0
    kind = array_of(draw, (J,), (0, 1)).astype(int) % K
    busy = draw(st.booleans()) if running is None else running
    slots = draw(st.integers(1, 3)) if busy else 0
    taken = np.minimum(array_of(draw, (slots, N, 2), (0, 1, 2, 4)), units).astype(int)
    problem = SchedulingProblem(
        capacity=units,
        duration=table,
        arrival=np.sort(array_of(draw, (J,), (0, 0, 1, 2, 4)).astype(int)),
        kind=kind,
        eligible=some_cluster(draw, (table > 0).any(axis=(2, 3)).T[kind]),
        weight=weights(draw, J, weighted),
        single_start=draw(st.booleans()) if single_start is None else single_start,
        occupied=taken[::-1] if draw(st.booleans()) else -np.sort(-taken, axis=0),
        started=array_of(draw, (N,), (0, 1)).astype(bool) if busy else None,
    )
    while combinations is not None and plans(problem) > combinations:
        fewer = {name: getattr(problem, name)[:-1] for name in PER_TASK}
        problem = replace(problem, **fewer)
    return problem
