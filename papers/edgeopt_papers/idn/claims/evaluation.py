"""What the claims read of a network: slots of an adversary, and allocations to try."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Assumption, Measurement, NotApplicableError
from edgeopt.instances.idn import IdnInstance
from edgeopt_papers.claims.paper import EXACT, Paper, hashed, memoised
from edgeopt_papers.idn.claims.slot import Constants, Slot

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Adversary:
    """Requests and potential capacities of all slots, fixed before any allocation is drawn."""

    instance: IdnInstance  # the network with its requests
    # Potential capacity of each option of the ranking, requests, shape [T, P]. Entries of
    # repository models may fall short of the requests, as equation (10) lets them.
    potential: NDArray[np.float64]
    # Allocations of interest, integral or fractional, shape [N, V, M]; drawn where left out
    allocations: NDArray[np.float64] | None = field(default=None)

    def fingerprint(self) -> str:
        """Return a hash of network, capacities and allocations."""
        chosen = () if self.allocations is None else (self.allocations,)
        return hashed(self.instance.fingerprint(), self.potential, *chosen)


def adversary(instance: IdnInstance, *, rng: int | np.random.Generator = 0) -> Adversary:
    """Draw capacities that equation (10) allows and that leave repositories whole.

    In even slots every model could give all its capacity to every type; in odd slots it gives a
    whole number of requests, each equally likely up to that.
    """
    draw = np.random.default_rng(rng)
    ranking = instance.ranking
    potential = ranking.potential(instance.requests)
    some = np.floor(draw.uniform(size=potential[1::2].shape) * (potential[1::2] + 1))
    potential[1::2] = np.where(
        ranking.permanent, potential[1::2], np.minimum(some, potential[1::2])
    )
    return Adversary(instance, potential)


HALVINGS = 70
"""Bisection steps; more than a double can tell apart."""


def free(instance: IdnInstance) -> NDArray[np.bool_]:
    """Return the nodes with a choice, [V]: not pinned, with a budget for some models, not all."""
    return np.asarray(instance.active & ~instance.saturated)


def fill(
    weight: NDArray[np.float64], size: NDArray[np.float64], budget: float
) -> NDArray[np.float64]:
    """Return min(1, mu weight) that fills a budget, with mu found by bisection."""
    logs = np.log(weight)
    low, high = -800.0 - logs.max(), -logs.min()
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        too_much = size @ np.exp(np.minimum(middle + logs, 0)) > budget
        low, high = (low, middle) if too_much else (middle, high)
    return np.asarray(np.exp(np.minimum(low + logs, 0)))


def centre(instance: IdnInstance) -> NDArray[np.float64]:
    """Return the allocation that every policy of the paper starts from, shape [V, M]."""
    point = np.asarray(instance.empty, dtype=float).copy()
    point[instance.saturated] = 1
    for v in np.flatnonzero(free(instance)):
        point[v] = instance.budget[v] / instance.size[v].sum()
    return point


def fractional(instance: IdnInstance, count: int, draw: np.random.Generator) -> NDArray[np.float64]:
    """Draw fractional allocations that fill every budget, shape [count, V, M]."""
    points = np.repeat(centre(instance)[None], count, axis=0)
    for point in points:
        spread = draw.uniform(0.2, 6)
        for v in np.flatnonzero(free(instance)):
            weight = np.exp(spread * draw.normal(size=instance.models))
            point[v] = fill(weight, instance.size[v], instance.budget[v])
    return points


def vertices(instance: IdnInstance, count: int, draw: np.random.Generator) -> NDArray[np.float64]:
    """Draw extreme points: models in random order, the last one cut to fit, [count, V, M]."""
    points = np.repeat(centre(instance)[None], count, axis=0)
    for point in points:
        for v in np.flatnonzero(free(instance)):
            order = draw.permutation(instance.models)
            size = instance.size[v, order]
            before = np.cumsum(size) - size
            point[v, order] = np.clip((instance.budget[v] - before) / size, 0, 1)
    return points


def integral(instance: IdnInstance, count: int, draw: np.random.Generator) -> NDArray[np.float64]:
    """Draw allocations of whole models within the budgets, shape [count, V, M]."""
    points = np.repeat(centre(instance)[None], count, axis=0)
    for point in points:
        for v in np.flatnonzero(free(instance)):
            point[v] = 0
            left = float(instance.budget[v])
            for m in draw.permutation(instance.models):
                if instance.size[v, m] <= left and draw.uniform() < 0.8:
                    point[v, m] = 1
                    left -= instance.size[v, m]
    return points


SMALL = 400
"""Largest number of options for which claims are tried at many slots and allocations."""

NOISE = 1e-12
"""Differences below this share of the summands are rounding errors."""


class Evaluation:
    """A network with an adversary, whose capacities are drawn where only the network is given."""

    def __init__(self, given: IdnInstance | Adversary) -> None:
        self.adversary = given if isinstance(given, Adversary) else adversary(given)
        self.instance = self.adversary.instance
        self.small = len(self.instance.ranking) <= SMALL

    @cached_property
    def constants(self) -> Constants:
        """Constants of the regret bounds."""
        return Constants.of(self.instance)

    @cached_property
    def slots(self) -> list[Slot]:
        """The first slots, fewer of a large network."""
        count = min(self.instance.horizon, 6 if self.small else 2)
        return [self.slot(t) for t in range(count)]

    def slot(self, index: int) -> Slot:
        """Return a slot with the adversary's capacities; equal slots are one object."""
        return self._first_slot(int(self._kind[index]))

    @memoised
    def _first_slot(self, index: int) -> Slot:
        requests = self.instance.requests[index].astype(float)
        return Slot(self.instance, requests, self.adversary.potential[index])

    @cached_property
    def _kind(self) -> NDArray[np.int64]:
        """First slot that equals each slot, shape [T]."""
        both = np.hstack([self.instance.requests, self.adversary.potential])
        seen: dict[bytes, int] = {}
        return np.array([seen.setdefault(row.tobytes(), t) for t, row in enumerate(both)])

    @cached_property
    def distinct(self) -> list[tuple[Slot, float]]:
        """Different slots, with the share of the horizon that each makes up."""
        first, count = np.unique(self._kind, return_counts=True)
        return [
            (self.slot(int(t)), float(n) / self.instance.horizon)
            for t, n in zip(first, count, strict=True)
        ]

    @cached_property
    def largest_gain(self) -> float:
        """Gain over the horizon if every request were served by its cheapest option, ms."""
        ranking = self.instance.ranking
        saving = ranking.repository_cost - ranking.cost[ranking.first[:-1]]
        return float(self.instance.requests.sum(axis=0) @ saving)

    @cached_property
    def fractional(self) -> NDArray[np.float64]:
        """Fractional allocations, shape [N, V, M]: the starting point, inner and extreme ones."""
        if self.adversary.allocations is not None:
            return self.adversary.allocations
        draw, count = np.random.default_rng(1), 6 if self.small else 1
        start = centre(self.instance)[None]
        inner = fractional(self.instance, count, draw)
        outer = vertices(self.instance, count, draw)
        return np.concatenate([start, inner, outer])

    @cached_property
    def integral(self) -> NDArray[np.float64]:
        """Allocations of whole models within the budgets, shape [N, V, M]."""
        if self.adversary.allocations is not None:
            return self.adversary.allocations
        draw, count = np.random.default_rng(2), 8 if self.small else 2
        return integral(self.instance, count, draw)

    @cached_property
    def allocations(self) -> NDArray[np.float64]:
        """All of them as rows, shape [N, V M]."""
        if self.adversary.allocations is not None:
            return self.adversary.allocations.reshape(len(self.adversary.allocations), -1)
        both = np.concatenate([self.integral, self.fractional])
        return both.reshape(len(both), -1)


def network(given: IdnInstance | Adversary) -> IdnInstance:
    """Return the network itself, with or without an adversary."""
    return given.instance if isinstance(given, Adversary) else given


def _permanent(given: IdnInstance | Adversary) -> tuple[np.ndarray, np.ndarray]:
    """Potential of the repository models and requests of their types, [T, P] each, and 0 else."""
    assert isinstance(given, Adversary)
    ranking = given.instance.ranking
    return given.potential * ranking.permanent, given.instance.requests[:, ranking.type]


def _covered(given: IdnInstance | Adversary) -> bool:
    if not isinstance(given, Adversary):
        return True
    potential, _ = _permanent(given)
    served = np.add.reduceat(potential, given.instance.ranking.first[:-1], axis=1)
    return bool((served >= given.instance.requests).all())


def _whole(given: IdnInstance | Adversary) -> bool:
    if not isinstance(given, Adversary):
        return True
    potential, requests = _permanent(given)
    return bool((potential == requests)[:, given.instance.ranking.permanent].all())


def _in_set(given: IdnInstance | Adversary) -> bool:
    """Test the printed set (10): potential capacities between 0 and min(L, r)."""
    if not isinstance(given, Adversary):
        return True
    ranking = given.instance.ranking
    most = np.minimum(ranking.capacity, given.instance.requests[:, ranking.type])
    return bool(((given.potential >= 0) & (given.potential <= most)).all())


COVERED = Assumption(
    "repositories can serve everything",
    r"the potential capacities of a type's repository models sum to at least $r_\rho$",
    _covered,
)

WHOLE = Assumption(
    "every repository model can serve everything",
    r"$l = r$ for every repository model on the path",
    _whole,
)

IN_SET = Assumption(
    "requests and capacities from the printed set",
    r"$0 \le l \le \min\{L, r\}$, equation (10)",
    _in_set,
)

CHOICE = Assumption(
    "a node with a choice",
    "some node has a budget for something but not for everything",
    lambda given: bool(free(network(given)).any()),
)

ONE_CHOICE = Assumption(
    "one node with a choice",
    "exactly one node has a budget for something but not for everything, and no other hosts more "
    "than its repository models",
    lambda given: free(network(given)).sum() == 1 and not network(given).saturated.any(),
)


def alike(
    measured: NDArray[np.float64], guaranteed: NDArray[np.float64], scale: float
) -> Measurement:
    """Compare two series entry by entry and return the entry where they differ most."""
    if len(measured) == 0:
        raise NotApplicableError("there is nothing to compare")
    row = int(np.argmax(np.abs(measured - guaranteed)))
    one, other = float(measured[row]), float(guaranteed[row])
    if abs(one - other) <= NOISE * scale:
        one = other
    return Measurement(one, other, {"allocation": row, "scale": scale})


_paper = Paper("idn", instance_type=(IdnInstance, Adversary), view=Evaluation, tolerance=EXACT)

claim, erratum = _paper.claim, _paper.erratum
"""Build a claim about a network, with or without an adversary, measured on its `Evaluation`."""
