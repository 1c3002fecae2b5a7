"""What a device earns in a slot: the published reward, and parts of it that are its own doing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from edgeopt.learning.oinc.slots import MISSED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeopt.arrays import Floats, Ints
    from edgeopt.models.oinc.slot import SlotProblem


Credit: TypeAlias = Literal["global", "own", "difference"]
"""What a head learns from: the reward of the slot, its device's part of it, or what it changes."""


class Latencies(NamedTuple):
    """Latencies of a slot, and what they are made of.

    Attributes
    ----------
    latency
        Latency of every request, s, shape [n].
    due_to
        Seconds that a request takes less if another one at its site were not there,
        ``due_to[k, i]`` those of k due to i, shape [n, n]; 0 at other sites and for itself.
    """

    latency: Floats
    due_to: Floats


def closed_latencies(problem: SlotProblem, site: Ints) -> Latencies:
    """Return latencies under the shares of least total latency without objectives."""
    request = np.arange(site.size)
    a, e = (root[request, site] for root in roots_of(problem))
    together = site[:, None] == site
    due = (np.outer(a, a) + np.outer(e, e)) * together
    latency = due.sum(axis=1)
    np.fill_diagonal(due, 0.0)
    return Latencies(latency, due)


def level_latencies(problem: SlotProblem, site: Ints, band: Ints, cpu: Ints) -> Latencies:
    """Return latencies under shares in proportion to levels, which count from 1."""
    request = np.arange(site.size)
    together = site[:, None] == site
    due = problem.transmission[request, site, None] * band / band[:, None]
    due += (problem.computation[request, site] / problem.room[site])[:, None] * cpu / cpu[:, None]
    due = due * together
    latency = due.sum(axis=1)
    np.fill_diagonal(due, 0.0)
    return Latencies(latency, due)


def earned(latency: Floats, slo: Floats, missed: float = MISSED) -> Floats:
    """Return minus latency, and minus a constant where it is longer than the objective."""
    return -latency - missed * (latency > slo)


def credits(found: Latencies, slo: Floats, credit: Credit, missed: float = MISSED) -> Floats:
    """Return what every request of a slot is credited with, shape [n].

    ``"global"`` is the mean of all, equation (4) of Zeng et al. ``"own"`` is the part of a request
    itself, which leaves out what it costs others. ``"difference"`` is what all earn together less
    what the others would without it: for fixed choices of the others it differs from the sum by
    what does not depend on its own choice.
    """
    reward = earned(found.latency, slo, missed)
    if credit == "own":
        return reward
    if credit == "global":
        return np.full(reward.size, reward.mean())
    # Latencies of others are not above those with it, but for rounding.
    without = earned(found.latency[:, None] - found.due_to, slo[:, None], missed)
    made: Floats = reward + (reward[:, None] - without).sum(axis=0)
    return made


def expected_cost(p: Any, roots: Sequence[Any]) -> Any:
    r"""Return the expected sum of latencies if every request draws its site, without objectives.

    :math:`\\sum_j (\\sum_i p_{ij} a_{ij})^2 + \\sum_i p_{ij} (1 - p_{ij}) a_{ij}^2`, and the same
    with e; `roots` are a and e, arrays or tensors of the shape [n, J] that p has.
    """
    mean = [(p * root).sum(0) for root in roots]
    spread = [p * (1.0 - p) * root**2 for root in roots]
    return sum((one**2).sum() for one in mean) + sum(one.sum() for one in spread)


def roots_of(problem: SlotProblem) -> tuple[Floats, Floats]:
    """Return the roots a and e of what requests take at sites alone, shape [n, J]."""
    return np.sqrt(problem.transmission), np.sqrt(problem.computation / problem.room)
