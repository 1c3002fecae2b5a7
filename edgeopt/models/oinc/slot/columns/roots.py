"""A slot in the units of the compiled loops over columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.oinc.slot.problem import SlotProblem

    Floats = NDArray[np.float64]

__all__ = ["Roots", "roots_of"]


class Roots(NamedTuple):
    r"""Roots of what sites take for requests, and objectives, in units around 1.

    With them a site costs the least :math:`\sum_i a_i^2 / v_i + e_i^2 / z_i` such that no term is
    more than :math:`s_i` and v and z sum to at most 1. Weights and room are contained.

    Attributes
    ----------
    a
        :math:`\sqrt{w_i A_{ij} / u}`, shape [J, n].
    e
        :math:`\sqrt{w_i E_{ij} / (\varphi_j u)}`, shape [J, n].
    s
        :math:`w_i S_i / u`, infinite without objectives, shape [n].
    """

    a: Floats
    e: Floats
    s: Floats


def roots_of(problem: SlotProblem, objectives: bool) -> tuple[Roots, float]:
    """Return the roots of a problem and the unit u of cost: what a request takes alone, s."""
    weight = problem.weight
    assert weight is not None
    sending = weight[:, np.newaxis] * problem.transmission
    computing = weight[:, np.newaxis] * problem.computation / problem.room
    slo = weight * problem.slo if objectives else np.full(problem.requests, np.inf)
    alone = (sending + computing).min(axis=1)
    unit = float(alone.mean()) if alone.any() else 1.0
    a, e = (np.ascontiguousarray(np.sqrt(cost / unit).T) for cost in (sending, computing))
    return Roots(a, e, slo / unit), unit
