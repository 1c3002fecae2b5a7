"""Small instances of EDR."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from edgeopt.instances.edr import EdrHistory, EdrInstance
from edgeopt.testing.strategies.basic import array_of, composite, up_to

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn


@composite
def edr_instances(
    draw: DrawFn,
    *,
    frames: int = 4,
    slots: int = 3,
    sites: int = 4,
    tasks: int = 3,
    types: int = 2,
    negative: bool = True,
    capped: bool | None = None,
) -> EdrInstance:
    """Draw a tiny instance of EDR; there may be no task.

    All numbers are small whole numbers or halves of them, and every energy, delay and cost is exact
    in floating point, so that ties are frequent; so are frames without a cap or with a cap of zero,
    slots and whole instances without requests, sites without capacity or energy, rounds that cost
    nothing, links of infinite rate, and objectives that only some of the sites meet, by a clear
    margin.

    Parameters
    ----------
    frames, slots, sites, tasks, types
        Largest sizes.
    negative
        Whether prices may be negative.
    capped
        Whether some cap is finite; None leaves it to the draw.

    Returns
    -------
    A strategy of hypothesis for instances.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.edr import EdrEnvironment, EvenRate
    >>> from edgeopt.testing.strategies import edr_instances
    >>> found = []
    >>> @settings(max_examples=5, database=None, derandomize=True, deadline=None)
    ... @given(edr_instances(sites=2, capped=False))
    ... def look(drawn):
    ...     found.append(simulate(EdrEnvironment(drawn), EvenRate(), runs=1).excess.sum())
    ...
    >>> look()
    >>> int(max(found))
    0
    """
    T, D, J, N = (draw(up_to(largest)) for largest in (frames, slots, sites, types))
    I = draw(st.integers(0, tasks))  # noqa: E741
    arrival = np.array([draw(st.integers(0, T - 1)) for _ in range(I)], dtype=int)
    deadline = np.array([draw(st.integers(first, T - 1)) for first in arrival.tolist()], dtype=int)
    client = array_of(draw, (I, J), (1, 0)).astype(bool)
    server = np.array([draw(st.integers(0, J - 1)) for _ in range(I)], dtype=int)
    client[np.arange(I), server] = True
    capable = array_of(draw, (J, N), (1, 0, 1)).astype(bool)
    capable[np.array([draw(st.integers(0, J - 1)) for _ in range(N)]), np.arange(N)] = True

    cap = array_of(draw, (T,), (8, 0, 1, 2, 4, 6, 12)) * 1.0
    if capped is None:
        cap[array_of(draw, (T,), (1, 0)).astype(bool)] = np.inf
    elif not capped:
        cap[:] = np.inf
    prices = (1, 0, 2, 3, -1, -2) if negative else (1, 0, 2, 3)
    quiet = draw(st.sampled_from([False] * 7 + [True]))
    requests = array_of(draw, (T, D, J, N), (0,) if quiet else (1, 0, 0, 2, 3, 4)) * 1.0
    distance = array_of(draw, (J, J), (1, 0, 2, 4)) / 4.0
    np.fill_diagonal(distance, 0.0)
    travel = array_of(draw, (T, D), (1, 0, 2))[:, :, None, None] * distance
    rate = array_of(draw, (J, J), (1, 2, 4, np.inf)) * array_of(draw, (T,), (1, 2))[:, None, None]
    size = array_of(draw, (N,), (1, 0, 2)) / 4.0
    work = array_of(draw, (N,), (2, 1, 4)) / 4.0
    speed = array_of(draw, (J,), (2, 1, 4)) * 1.0

    # The objective is met by some request of its type, an eighth of a second to spare.
    alone = np.broadcast_to(np.where(np.eye(J) > 0, np.inf, rate), (T, J, J))
    seconds = (
        (travel + travel.swapaxes(2, 3))[..., None]
        + work / speed[:, None]
        + size / alone[:, None, :, :, None]
    )
    slack = np.array(draw(st.lists(st.integers(0, 9), min_size=N, max_size=N)))
    slo = np.empty((T, D, N))
    for t, d, n in np.ndindex(T, D, N):
        asked = requests[t, d, :, n] > 0
        origins = asked if asked.any() else np.ones(J, dtype=bool)
        delays = np.unique(seconds[t, d, :, :, n][origins][:, capable[:, n]])
        slo[t, d, n] = delays[min(int(slack[n]), delays.size - 1)] + 0.125
    return EdrInstance(
        cap=cap,
        price=array_of(draw, (T,), prices) * 1.0,
        arrival=arrival,
        deadline=deadline,
        rounds=array_of(draw, (I,), (2, 1, 3, 4)),
        client=client,
        server=server,
        local_steps=array_of(draw, (I,), (1, 2)),
        step_work=array_of(draw, (I, J), (2, 0, 1)) / 2.0,
        aggregation_work=array_of(draw, (I,), (0, 1)) / 2.0,
        model_size=array_of(draw, (I,), (1, 0, 2)) * 3600.0,
        request_size=size,
        request_work=work,
        energy_per_work=array_of(draw, (J,), (2, 0, 1, 3)) / 2.0,
        capacity=array_of(draw, (J,), (4, 0, 1, 2, 8)) * 1.0,
        speed=speed,
        capable=capable,
        requests=requests,
        propagation=travel,
        slo=slo,
        rate=alone,
        power=array_of(draw, draw(st.sampled_from([(J,), (T, J)])), (0, 1)) / 2.0,
        energy_weight=draw(st.sampled_from([1.0, 2.0, 1.0, 0.0])),
        delay_weight=draw(st.sampled_from([1.0, 0.5, 1.0, 0.0])),
        price_prior=draw(st.sampled_from([None, 1.0])),
        round_delay=draw(st.sampled_from(["sum", "max"])),
        accuracy=array_of(draw, (J, N), (2, 1, 0)) / 2.0 if draw(st.booleans()) else None,
        history=draw(_edr_histories(J)),
    )


@composite
def _edr_histories(draw: DrawFn, sites: int) -> EdrHistory | None:
    """Draw the day before, nothing known of it, or only a part."""
    if not draw(st.booleans()):
        return None
    price = array_of(draw, (24,), (1, 0, 2, -1)) * 1.0
    share = np.where(array_of(draw, (24,), (0, 1)) > 0, 0.5, np.inf)
    rate = array_of(draw, (24, 1, 1), (1, 2)) * np.ones((sites, sites))
    return EdrHistory(*(draw(st.sampled_from([part, None])) for part in (price, share, rate)))
