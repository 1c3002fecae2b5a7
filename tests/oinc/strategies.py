"""Strategies that draw small problems of a slot, and of jobs, of OINC."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from edgeopt.models.oinc.retraining import RetrainingProblem
from edgeopt.models.oinc.slot import SlotProblem
from edgeopt.testing.strategies.basic import array_of, composite, up_to

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn


@composite
def slot_problems(
    draw: DrawFn,
    *,
    requests: int = 4,
    sites: int = 3,
    objectives: bool | None = None,
    zeros: bool = True,
    weighted: bool | None = False,
    empty: bool = False,
) -> SlotProblem:
    """Draw the requests of a slot; the integers are the largest sizes.

    Times are eighths of a second, so that equal requests and equal sites are frequent; with `zeros`
    some requests send or compute nothing. ``objectives``: False, no request has one; True, all
    have; None, the draw decides for each. Objectives are loose, binding or out of reach, never met
    exactly: they are no multiples of an eighth. The room is that of a whole site or down to a
    twentieth. ``weighted`` says whether weights differ from 1; None leaves it to the draw.
    """
    n = draw(st.integers(0, requests)) if empty else draw(up_to(requests))
    J = draw(up_to(sites))
    amounts = (1, 0, 2, 3, 8) if zeros else (1, 2, 3, 8)
    finite = (1, 2, 4, 8, 16, 32, 80)
    among = {True: finite, False: (np.inf,), None: (np.inf, *finite)}[objectives]
    heavier = draw(st.booleans()) if weighted is None else weighted
    amount = array_of(draw, (2, n, J), amounts) / 8.0
    if n > 1 and draw(st.booleans()):
        amount[:, 1] = amount[:, 0]
    if J > 1 and draw(st.sampled_from([False, False, True])):
        amount[:, :, 1] = amount[:, :, 0]
    return SlotProblem(
        transmission=amount[0],
        computation=amount[1],
        slo=array_of(draw, (n,), among) / 8.0 + 0.0137,
        room=array_of(draw, (J,), (1.0, 0.5, 0.75, 0.2, 0.05)),
        weight=array_of(draw, (n,), (1.0, 2.0, 0.5)) if heavier else None,
    )


@composite
def retraining_problems(
    draw: DrawFn,
    *,
    jobs: int = 4,
    sites: int = 3,
    whole: bool | None = None,
    infinite: bool = True,
    zero_weights: bool = True,
    empty: bool = False,
) -> RetrainingProblem:
    """Draw jobs on unrelated sites; the integers are the largest sizes.

    ``whole`` says whether durations are whole slots; otherwise they are quarters of a slot, from a
    quarter; None leaves it to the draw. With `infinite` some sites cannot serve some jobs. Ties of
    durations, densities and arrivals are frequent.
    """
    K = draw(st.integers(0, jobs)) if empty else draw(up_to(jobs))
    J = draw(up_to(sites))
    integral = draw(st.booleans()) if whole is None else whole
    lengths = (1, 2, 3, 4, 6) if integral else (0.25, 0.5, 1, 1.25, 2.75, 4)
    duration = array_of(draw, (K, J), lengths) * 1.0
    if infinite:
        able = array_of(draw, (K, J), (1, 1, 1, 0)).astype(bool)
        able[np.arange(K), np.array([draw(st.integers(0, J - 1)) for _ in range(K)], int)] = True
        duration[~able] = np.inf
    weights = (1, 2, 0, 0.5, 4) if zero_weights else (1, 2, 0.5, 4)
    return RetrainingProblem(
        arrival=np.sort(array_of(draw, (K,), (0, 0, 1, 2, 4)).astype(int)),
        duration=duration,
        weight=array_of(draw, (K,), weights) * 1.0,
    )
