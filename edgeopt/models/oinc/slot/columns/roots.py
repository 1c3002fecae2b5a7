"""A slot in the units of the compiled loops over columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.oinc.slot.problem import SlotProblem

    Floats = NDArray[np.float64]

__all__ = ["Roots"]


class Roots(NamedTuple):
    r"""Roots of what sites take for requests, weighted, and objectives.

    With them a site costs the least :math:`\sum_i a_i^2 / v_i + e_i^2 / z_i` such that no term is
    more than :math:`s_i` and v and z sum to at most 1.

    Attributes
    ----------
    a
        :math:`\sqrt{w_i A_{ij}}`, shape [J, n].
    e
        :math:`\sqrt{w_i E_{ij} / \varphi_j}`, shape [J, n].
    s
        :math:`w_i S_i`, infinite without objectives, shape [n].
    """

    a: Floats
    e: Floats
    s: Floats

    @classmethod
    def of(cls, problem: SlotProblem, objectives: bool) -> Roots:
        """Return those of a problem."""
        weight = problem.weight
        assert weight is not None
        sending = weight[:, np.newaxis] * problem.transmission
        computing = weight[:, np.newaxis] * problem.computation / problem.room
        slo = weight * problem.slo if objectives else np.full(problem.requests, np.inf)
        return cls(
            np.ascontiguousarray(np.sqrt(sending).T),
            np.ascontiguousarray(np.sqrt(computing).T),
            slo,
        )
