"""What a device earns in a slot: the published reward, and parts of it that are its own doing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.learning.oinc.slots import MISSED
from edgeopt.models.oinc.slot.polish import share_out_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeopt.arrays import Flags, Floats, Ints
    from edgeopt.models.oinc.slot import SlotProblem


Credit: TypeAlias = Literal["global", "own", "difference"]
"""What a head learns from: the reward of the slot, its device's part of it, or what it changes."""


class Latencies(NamedTuple):
    """Latencies of slots, and what they are made of.

    Attributes
    ----------
    latency
        Latency of every request, s, shape [..., n].
    due_to
        Seconds that a request takes less if another one at its site were not there,
        ``due_to[..., k, i]`` those of k due to i, shape [..., n, n]; 0 at other sites and for
        itself.
    """

    latency: Floats
    due_to: Floats


@compiled(writes="latency")
def best_latencies(
    times: Floats, slo: Floats, site: Ints, room: Floats, asks: Flags, latency: Floats
) -> None:
    """Fill in latencies under the best shares for the objectives, shape [B, I], 0 for no request.

    `times` to send and compute are [2, B, I, J] with all band and CPU, and `room` what is left of
    the CPUs, [B, J]; all else has the shape [B, I].
    """
    for b in range(len(site)):
        n = np.flatnonzero(asks[b])
        here = site[b][n]
        sending, computing = times[0, b][n], times[1, b][n]
        band, cpu = np.zeros(n.size, dtype=np.float64), np.zeros(n.size, dtype=np.float64)
        weight = np.ones(n.size, dtype=np.float64)
        share_out_all(
            sending, computing, slo[b][n], weight, room[b], here, True, False, MISSED, band, cpu
        )
        for k in range(n.size):
            j = here[k]
            latency[b, n[k]] = sending[k, j] / band[k] + computing[k, j] / cpu[k]


def closed_latencies(a: Floats, e: Floats, site: Ints) -> Latencies:
    """Return latencies under the shares of least total latency without objectives.

    Roots a and e are those of requests at their sites, shape [..., n]; 0 for devices without one.
    """
    return _summed(a[..., :, None] * a[..., None, :] + e[..., :, None] * e[..., None, :], site)


def level_latencies(
    transmission: Floats, computation: Floats, site: Ints, band: Ints, cpu: Ints
) -> Latencies:
    """Return latencies under shares in proportion to levels, which count from 1.

    Times are those of requests at their sites with the whole band and the CPU that is left, shape
    [..., n]; devices without one have 0, and a site of their own.
    """
    due = transmission[..., None] * band[..., None, :] / band[..., None]
    return _summed(due + computation[..., None] * cpu[..., None, :] / cpu[..., None], site)


def _summed(due: Floats, site: Ints) -> Latencies:
    """Return latencies that are sums over the requests of a site."""
    due = due * (site[..., :, None] == site[..., None, :])
    latency = due.sum(axis=-1)
    np.einsum("...ii->...i", due)[...] = 0.0
    return Latencies(latency, due)


def earned(latency: Floats, slo: Floats, missed: float = MISSED) -> Floats:
    """Return minus latency, and minus a constant where it is longer than the objective."""
    return -latency - missed * (latency > slo)


def credits(
    found: Latencies, slo: Floats, credit: Credit, count: Any, missed: float = MISSED
) -> Floats:
    """Return what every request of slots is credited with, shape [..., n].

    ``"global"`` is the mean of all, equation (4) of Zeng et al., over as many requests as `count`
    says, shape [...]. ``"own"`` is the part of a request itself, which leaves out what it costs
    others. ``"difference"`` is what all earn together less what the others would without it: for
    fixed choices of the others it differs from the sum by what does not depend on its own choice.
    """
    reward = earned(found.latency, slo, missed)
    if credit == "own":
        return reward
    if credit == "global":
        mean = reward.sum(axis=-1) / count
        return np.broadcast_to(mean[..., None], reward.shape)
    # Latencies of others are not above those with it, but for rounding.
    without = earned(found.latency[..., None] - found.due_to, slo[..., None], missed)
    made: Floats = reward + (reward[..., None] - without).sum(axis=-2)
    return made


def expected_cost(p: Any, roots: Sequence[Any]) -> Any:
    r"""Return the expected sums of latencies if every request draws its site, without objectives.

    :math:`\\sum_j (\\sum_i p_{ij} a_{ij})^2 + \\sum_i p_{ij} (1 - p_{ij}) a_{ij}^2`, and the same
    with e; `roots` are a and e, arrays or tensors of the shape [..., n, J] that p has.
    """
    parts = [
        ((p * root).sum(-2) ** 2 + (p * (1.0 - p) * root**2).sum(-2)).sum(-1) for root in roots
    ]
    return parts[0] + parts[1]


def roots_of(problem: SlotProblem) -> tuple[Floats, Floats]:
    """Return the roots a and e of what requests take at sites alone, shape [n, J]."""
    return np.sqrt(problem.transmission), np.sqrt(problem.computation / problem.room)
