r"""How many objectives of a slot can be met at all, where sites cannot meet them all.

A site can meet the objectives of its requests if and only if

.. math:: \sum_i (p \sqrt{A_i} + q \sqrt{E_i / \varphi})^2 / S_i \le 1

for all p and q of norm 1: rows that are linear in which requests it keeps. Rows that a solution
breaks most are added until none is broken, as whole numbers or as fractions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from edgeopt.instances.validate import frozen
from edgeopt.models.oinc.slot.local_search import measure
from edgeopt.models.oinc.slot.resource_shares import SLACK
from edgeopt.solvers import LinearProgram, Quality, solve
from edgeopt.solvers.tolerance import TIGHT
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints
    from edgeopt.models.oinc.slot.problem import SlotProblem


_BROKEN = 1e-4
"""Part of a site's room by which a row has to be broken to be added."""


@in_html
@dataclass(frozen=True, eq=False)
class MostMet:
    """Most objectives of a slot that any plan can meet.

    Parameters
    ----------
    problem
        The requests.
    bound
        No plan meets more.
    site
        Sites at which that many are met, -1 for the other requests, shape [n]; None where only the
        bound was asked for.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.slot import MostMet, most_met, slot_problem
    >>> most_met(slot_problem(small(1), 0)).bound
    1
    """

    problem: SlotProblem = field(repr=False)
    bound: int
    site: NDArray[np.int64] | None = field(repr=False, default=None)


def most_met(
    problem: SlotProblem, *, exact: bool = False, time_limit: float | None = None
) -> MostMet:
    """Bound how many objectives of a slot can be met, or find the most that can.

    Parameters
    ----------
    problem
        The requests. Those that miss their objectives need not be answered.
    exact
        Whether to find the most, by an integer program; otherwise its relaxation gives a bound.
    time_limit
        Seconds for each integer program; where they do not suffice, its bound is given.

    Returns
    -------
    The bound, and with `exact` sites that meet so many, unless time ran out.

    Raises
    ------
    SolverError
        If HiGHS fails.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.slot import most_met, slot_problem
    >>> most_met(slot_problem(small(1), 0)).bound
    1
    """
    ones = np.ones(problem.requests)
    terms = measure(problem.transmission, problem.computation, problem.slo, ones, problem.room)
    terms = terms[..., 2:]
    request, site = np.nonzero(np.isfinite(problem.transmission))
    fits = _stretch(terms[request, site])[0] <= 1.0 + SLACK
    request, site = request[fits], site[fits]
    first = np.repeat(np.arange(problem.sites), 3)
    cuts = _cuts(terms, request, site, first, np.tile([1.0, math.sqrt(0.5), 0.0], problem.sites))
    chosen = sparse.csc_array(
        (np.ones(request.size), (request, np.arange(request.size))),
        shape=(problem.requests, request.size),
    )
    while True:
        rows = sparse.vstack([chosen, cuts], format="csc")
        program = LinearProgram(
            np.ones(request.size), rows, -np.inf, 1.0, 0.0, 1.0, integer=exact, sense="max"
        )
        solution = solve(program, time_limit=time_limit, threads=1)
        loads = np.zeros((problem.sites, 3))
        np.add.at(loads, site, solution.values[:, np.newaxis] * terms[request, site])
        stretch, direction = _stretch(loads)
        broken = np.flatnonzero(stretch > 1.0 + (SLACK if exact else _BROKEN))
        if not broken.size or solution.quality is not Quality.OPTIMAL:
            break
        cuts = sparse.vstack([cuts, _cuts(terms, request, site, broken, direction[broken])])
    bound = math.floor(float(solution.bound) * (1.0 + TIGHT) + TIGHT)
    if not exact or broken.size:
        return MostMet(problem, bound)
    where = np.full(problem.requests, -1)
    taken = solution.values > 0.5
    where[request[taken]] = site[taken]
    return MostMet(problem, bound, frozen(where))


def _stretch(loads: Floats) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues of (a, c; c, e), and the first part of their vectors."""
    a, c, e = np.moveaxis(loads, -1, 0)
    largest = 0.5 * (a + e + np.sqrt((a - e) ** 2 + 4.0 * c * c))
    size = np.hypot(c, largest - a)
    return largest, np.where(size > 0.0, c / np.where(size > 0.0, size, 1.0), a >= e)


def _cuts(terms: Floats, request: Ints, site: Ints, where: Ints, p: Floats) -> sparse.csr_array:
    """Return the rows of directions (p, q), one site each."""
    q = np.sqrt(1.0 - p * p)
    parts = np.stack([p * p, 2.0 * p * q, q * q], axis=1)
    worth = parts @ terms[request, site].T
    return sparse.csr_array(np.where(where[:, np.newaxis] == site, worth, 0.0))
