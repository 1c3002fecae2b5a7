r"""Inference of a slot in convex form, as CVXPY problems.

These programs are the specification and the door to every solver that CVXPY knows; the compiled
allocation and assignment beside the slot are their twins. Constraints carry the tags of the paper's
equations as labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import InputError
from edgeopt.models.oinc.slot.site import own_site

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.models.oinc.slot import SlotProblem

    Floats = NDArray[np.float64]

__all__ = ["allocation_program", "slot_misocp"]


@checked(room="[0, inf)")
def allocation_program(
    transmission: ArrayLike,
    computation: ArrayLike,
    slo: ArrayLike | None = None,
    *,
    room: float = 1.0,
    weight: ArrayLike | None = None,
) -> Any:
    r"""Build the allocation of one site's band and CPU to the requests that it serves.

    .. math::

       \min_{v, z}\ & \sum_i \alpha_i \left(\frac{A_i}{v_i} + \frac{E_i}{z_i}\right) \\
       \text{(1a)}\ & A_i / v_i + E_i / z_i \le S_i \\
       \text{(1c)}\ & \textstyle\sum_i v_i \le 1 \\
       \text{(3a)}\ & \textstyle\sum_i z_i \le \varphi, \qquad v, z \ge 0

    Parameters
    ----------
    transmission
        Time to send each request with the whole band, A >= 0, s, shape [n].
    computation
        Time to compute it with the whole CPU, E >= 0, s, shape [n].
    slo
        Longest latency of each request, positive, s, infinity for none, shape [n]; None for none.
    room
        Share of the CPU that requests may use, in (0, 1].
    weight
        Weight of each latency, positive, shape [n]; 1 by default.

    Returns
    -------
    A CVXPY `Problem` with the variables ``band`` and ``cpu``, shape [n], and constraints ``eq_1a``
    (requests with an objective, if there are any), ``eq_1c`` and ``eq_3a``.

    Raises
    ------
    InputError
        If a shape or an entry breaks these rules.

    Notes
    -----
    Zeng et al., problem (3) with the assignment given.
    """
    import cvxpy

    cp: Any = cvxpy
    send, compute, limit, weights, room = own_site(transmission, computation, slo, weight, room)
    if send.size == 0:
        raise InputError("transmission", "needs at least one request", value="none")
    band = cp.Variable(send.size, nonneg=True, name="band")
    cpu = cp.Variable(send.size, nonneg=True, name="cpu")
    # Nothing to send takes no time, even without a share: such terms are left out.
    sends, computes = np.flatnonzero(send > 0), np.flatnonzero(compute > 0)
    sending = _scatter(sends, send) @ cp.inv_pos(band[sends]) if sends.size else np.zeros(send.size)
    computing = (
        _scatter(computes, compute) @ cp.inv_pos(cpu[computes])
        if computes.size
        else np.zeros(send.size)
    )
    latency: Any = sending + computing
    constraints = [
        (cp.sum(band) <= 1.0).set_label("eq_1c"),
        (cp.sum(cpu) <= float(room)).set_label("eq_3a"),
    ]
    limited = np.flatnonzero(np.isfinite(limit) & ((send > 0) | (compute > 0)))
    if limited.size:
        constraints.append((latency[limited] <= limit[limited]).set_label("eq_1a"))
    return cp.Problem(cp.Minimize(weights @ latency), constraints)


@checked()
def slot_misocp(problem: SlotProblem, *, objectives: bool = True, relax: bool = False) -> Any:
    r"""Build the inference of a slot: one site for every request, and shares of band and CPU there.

    .. math::

       \min\ & \sum_{ij} \alpha_i (A_{ij}\, p_{ij} + E_{ij}\, q_{ij}) \\
       \text{(cone)}\ & y_{ij}^2 \le p_{ij}\, v_{ij}, \quad y_{ij}^2 \le q_{ij}\, z_{ij} \\
       \text{(1a)}\ & A_{ij}\, p_{ij} + E_{ij}\, q_{ij} \le S_i\, y_{ij} \\
       \text{(1b)}\ & \textstyle\sum_j y_{ij} = 1 \\
       \text{(1c)}\ & \textstyle\sum_i v_{ij} \le 1, \quad v_{ij} \le y_{ij} \\
       \text{(3a)}\ & \textstyle\sum_i z_{ij} \le \varphi_j, \quad z_{ij} \le \varphi_j\, y_{ij} \\
       \text{(1g)}\ & y_{ij} \in \{0, 1\}, \qquad v, z \ge 0

    The cones are the perspectives of 1/v and 1/z: with whole y they say :math:`p \ge y / v`, and
    no other convex conditions on a single pair allow less between.

    Parameters
    ----------
    problem
        The requests.
    objectives
        Whether every request has to be answered within its objective.
    relax
        Allow requests to be split: :math:`0 \le y \le 1`. The optimum is a lower bound.

    Returns
    -------
    A CVXPY `Problem` with the variables ``y``, ``band`` and ``cpu``, shape [n, J], and
    ``sending`` and ``computing``, the p and q of the pairs that send and that compute; constraints
    are labelled ``eq_1a``, ``eq_1b``, ``eq_1c``, ``eq_3a``, ``band_of_chosen``, ``cpu_of_chosen``,
    ``cone_band`` and ``cone_cpu``.

    Raises
    ------
    InputError
        If there are no requests.

    Notes
    -----
    Zeng et al., problem (3), where (1a) and (1b) sum over requests instead of sites.
    """
    import cvxpy

    cp: Any = cvxpy
    if problem.requests == 0:
        raise InputError("problem", "must have requests: there is nothing to decide")
    shape = (problem.requests, problem.sites)
    weight, room = problem.weight, problem.room
    assert weight is not None
    domain = {"bounds": [0, 1]} if relax else {"boolean": True}
    y = cp.Variable(shape, name="y", **domain)
    band = cp.Variable(shape, nonneg=True, name="band")
    cpu = cp.Variable(shape, nonneg=True, name="cpu")
    chosen = cp.vec(y, order="C")
    latency: Any = 0.0
    constraints = [
        (cp.sum(y, axis=1) == 1.0).set_label("eq_1b"),
        (cp.sum(band, axis=0) <= 1.0).set_label("eq_1c"),
        (cp.sum(cpu, axis=0) <= room).set_label("eq_3a"),
        (band <= y).set_label("band_of_chosen"),
        (cpu <= cp.multiply(np.tile(room, (shape[0], 1)), y)).set_label("cpu_of_chosen"),
    ]
    for seconds, share, name, label in (
        (problem.transmission.ravel(), cp.vec(band, order="C"), "sending", "cone_band"),
        (problem.computation.ravel(), cp.vec(cpu, order="C"), "computing", "cone_cpu"),
    ):
        pairs = np.flatnonzero(seconds > 0)
        if not pairs.size:
            continue
        per_share = cp.Variable(pairs.size, nonneg=True, name=name)
        ends = cp.vstack([2.0 * chosen[pairs], per_share - share[pairs]])
        constraints.append(cp.SOC(per_share + share[pairs], ends, axis=0).set_label(label))
        latency = latency + _scatter(pairs, seconds) @ per_share
    if isinstance(latency, float):
        return cp.Problem(cp.Minimize(0.0), constraints)
    limit = np.repeat(problem.slo, problem.sites)
    limited = np.flatnonzero(np.isfinite(limit))
    if objectives and limited.size:
        within = latency[limited] <= cp.multiply(limit[limited], chosen[limited])
        constraints.append(within.set_label("eq_1a"))
    return cp.Problem(cp.Minimize(np.repeat(weight, problem.sites) @ latency), constraints)


def _scatter(at: NDArray[np.int64], seconds: Floats) -> Any:
    """Return the matrix that puts what a unit at some places takes into its place among all."""
    from scipy import sparse

    return sparse.csr_array((seconds[at], (at, np.arange(at.size))), shape=(seconds.size, at.size))
