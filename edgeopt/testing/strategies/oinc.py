"""Small instances of OINC."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from edgeopt.instances.oinc import OincInstance
from edgeopt.testing.strategies.basic import array_of, composite, up_to

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn


@composite
def oinc_instances(
    draw: DrawFn,
    *,
    slots: int = 4,
    devices: int = 3,
    sites: int = 3,
    jobs: int = 3,
    empty: bool = True,
) -> OincInstance:
    """Draw a tiny instance of OINC.

    All numbers but the objectives are small whole numbers or binary fractions of them, so that ties
    are frequent; so are slots without a request, requests that send or compute nothing, objectives
    that cannot be met beside others or at all, rates that change over time, jobs that arrive
    together or in the last slot, deadlines that nobody meets, and weights of zero. A job alone
    takes between an eighth of a slot and 6 slots of a whole site.

    Parameters
    ----------
    slots, devices, sites, jobs
        Largest sizes.
    empty
        Whether there may be no job, or no request.

    Returns
    -------
    A strategy of hypothesis for instances.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.oinc import Oinc, OincEnvironment
    >>> from edgeopt.testing.strategies import oinc_instances
    >>> found = []
    >>> @settings(max_examples=5, database=None, derandomize=True, deadline=None)
    ... @given(oinc_instances(jobs=2))
    ... def look(drawn):
    ...     found.append(simulate(OincEnvironment(drawn), Oinc(), runs=1).complete.all())
    ...
    >>> look()
    >>> all(found)
    True
    """
    T, I, J = (draw(up_to(largest)) for largest in (slots, devices, sites))  # noqa: E741
    K = draw(st.integers(0, jobs)) if empty else draw(up_to(jobs))
    rate = array_of(draw, (I, J), (8, 4, 16)) * 1.0
    if draw(st.booleans()):
        rate = rate * array_of(draw, (T,), (1, 2))[:, None, None]
    quiet = draw(st.sampled_from([False] * 7 + [True])) if empty else False
    arrival = np.sort(np.array([draw(st.integers(0, T - 1)) for _ in range(K)], dtype=int))
    labelled = draw(st.booleans())
    return OincInstance(
        speed=array_of(draw, (J,), (2, 1, 4)) * 1.0,
        rate=rate,
        active=array_of(draw, (T, I), (0,) if quiet else (1, 1, 0)).astype(bool),
        request_size=array_of(draw, (T, I), (1, 0, 2, 4)) / 2.0,
        request_work=array_of(draw, (T, I), (1, 0, 2, 4)) / 16.0,
        slo=array_of(draw, (T, I), (1.0, 0.79, 0.53, 0.31, 0.11)),
        arrival=arrival,
        work=array_of(draw, (K,), (2, 1, 4, 6, 0.5)) * 1.0,
        deadline=arrival + array_of(draw, (K,), (4, 0.5, 1, 2, 20)),
        weight=array_of(draw, (K,), (1, 1, 0, 2)) * 1.0,
        request_weight=array_of(draw, (T,), (1, 1, 2, 0)) * 1.0,
        latency_scale=draw(st.sampled_from([1.0, 0.25])),
        completion_scale=draw(st.sampled_from([1.0, 4.0])),
        refusal_latency=draw(st.sampled_from([3.0, 1.0])),
        job_kind=array_of(draw, (K,), (0, 1)) if labelled else None,
        kinds=("small", "large") if labelled else None,
        names=tuple("ABC"[j % 3] + str(j) for j in range(J)) if labelled else None,
        origin=draw(st.sampled_from(["", "Drawn by a test."])),
    )
