"""Decision variables y and x as they stand in the program, and what its rows let pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.bounds.tapfinger.statement import claim
from edgeopt.bounds.verdict import Relation

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CLAIMS", "Placement", "drawn_placement", "no_bundle", "one_resource", "two_clusters"]


@dataclass(frozen=True, eq=False)
class Placement:
    """Values of the variables of the program.

    Parameters
    ----------
    scheduled
        Whether a cluster schedules a task in a timestep, :math:`y_{j,n,t}`, shape [J, N, T].
    bundle
        What a cluster gives to a task, :math:`x_{j,r,n}`, shape [J, R, N].
    minimum
        Smallest bundle of each task, :math:`b_{j,r}`, shape [J, R].
    capacity
        Units of each cluster, :math:`C_{r,n}`, shape [R, N].
    """

    scheduled: NDArray[np.int64]
    bundle: NDArray[np.int64]
    minimum: NDArray[np.int64]
    capacity: NDArray[np.int64]

    @property
    def once(self) -> NDArray[np.int64]:
        """Whether a cluster ever schedules a task, shape [J, N]."""
        return np.asarray(self.scheduled.max(axis=2))

    @property
    def keeps_2(self) -> bool:
        """Whether no cluster schedules two tasks in a timestep."""
        return bool((self.scheduled.sum(axis=0) <= 1).all())

    @property
    def keeps_3(self) -> bool:
        """Whether every task is scheduled once, (3) being an equation."""
        return bool((self.scheduled.sum(axis=(1, 2)) == 1).all())

    @property
    def keeps_7(self) -> bool:
        """Whether only clusters that schedule a task give it something, as far as they can."""
        return bool((self.bundle <= self.once[:, None, :] * self.capacity).all())

    @property
    def keeps_8(self) -> bool:
        """Whether each amount by itself is nothing, or at least the smallest."""
        enough = self.bundle >= self.minimum[:, :, None]
        return bool(((self.bundle == 0) | enough).all())

    @property
    def linked(self) -> bool:
        """Whether (8) is tied to y: the smallest bundle in every resource where y is 1."""
        least = self.minimum[:, :, None] * self.once[:, None, :]
        return bool((self.bundle >= least).all())


def _alone(bundle: tuple[int, int]) -> Placement:
    whole = np.array([bundle], dtype=np.int64)[:, :, None]
    return Placement(
        np.ones((1, 1, 1), dtype=np.int64), whole, np.array([[1, 1]]), np.array([[1], [1]])
    )


def no_bundle() -> Placement:
    """Schedule a task that needs (1, 1), and give it nothing."""
    return _alone((0, 0))


def one_resource() -> Placement:
    """Give it a CPU core and no GPU."""
    return _alone((1, 0))


def two_clusters() -> Placement:
    """Let two clusters schedule the same task in the same timestep."""
    return Placement(
        np.ones((1, 2, 1), dtype=np.int64), np.ones((1, 2, 2), dtype=np.int64),
        np.ones((1, 2), dtype=np.int64), np.ones((2, 2), dtype=np.int64),
    )  # fmt: skip


def drawn_placement(seed: int) -> Placement:
    """Draw variables for up to two tasks, clusters and timesteps; each row is kept by some."""
    draw = np.random.default_rng(seed)
    tasks, clusters, steps = draw.integers(1, 3, 3).tolist()
    y = (draw.random((tasks, clusters, steps)) < 0.4).astype(np.int64)
    if seed % 2:
        y[:] = 0
        y[np.arange(tasks), draw.integers(0, clusters, tasks), draw.integers(0, steps, tasks)] = 1
    minimum = draw.integers(1, 3, (tasks, 2))
    bundle = minimum[:, :, None] + draw.integers(0, 2, (tasks, 2, clusters))
    if seed % 4 > 1:
        bundle[draw.random(bundle.shape) < 0.2] = 0
    bundle *= y.max(axis=2)[:, None, :]
    return Placement(y, bundle, minimum, draw.integers(2, 4, (2, clusters)))


def _clusters_at_once(placement: Placement) -> Measurement:
    """Measure on how many clusters a task is scheduled in one timestep, at most."""
    at_once = placement.scheduled.sum(axis=1)
    return Measurement(float(at_once.max(initial=0)), 1.0)


def _by_2(placement: Placement) -> Measurement:
    if not placement.keeps_2:
        raise NotApplicableError("a cluster schedules two tasks in a timestep")
    return _clusters_at_once(placement)


def _by_3(placement: Placement) -> Measurement:
    if not placement.keeps_3:
        raise NotApplicableError("a task is not scheduled once")
    return _clusters_at_once(placement)


def _least_bundle(placement: Placement) -> Measurement:
    """Measure by how much a scheduled task exceeds its smallest bundle in the worst resource."""
    j, n = np.nonzero(placement.once)
    if not j.size:
        raise NotApplicableError("no task is scheduled")
    beyond = placement.bundle[j, :, n] - placement.minimum[j]
    return Measurement(float(beyond.min()), 0.0)


def _by_7_and_8(placement: Placement) -> Measurement:
    if not (placement.keeps_7 and placement.keeps_8):
        raise NotApplicableError("the bundles break (7) or (8)")
    return _least_bundle(placement)


def _by_link(placement: Placement) -> Measurement:
    if not (placement.keeps_7 and placement.linked):
        raise NotApplicableError("a scheduled task has less than its smallest bundle")
    return _least_bundle(placement)


_PLACEMENT = {"instance_type": Placement, "view": lambda placement: placement}
_NAMED = {"no_bundle()": no_bundle, "one_resource()": one_resource}
_TWO = {"two_clusters()": two_clusters}
_DRAWN = {f"drawn_placement({seed})": lambda seed=seed: drawn_placement(seed) for seed in range(40)}

CLAIMS = (
    claim(
        "equation3",
        r"If $\sum_{n,t} y_{j,n,t} = 1$ for every task, no task is scheduled by two clusters in a "
        "timestep.",
        "Equation (3), corrected",
        _by_3,
        Relation.AT_MOST,
        {**_TWO, **_DRAWN},
        **_PLACEMENT,
    ),
    claim(
        "equation2.printed",
        r"If $\sum_j y_{j,n,t} \le 1$ for every cluster and timestep, none is. What it limits are "
        "the tasks of a cluster.",
        "Equation (2) and section III-B",
        _by_2,
        Relation.AT_MOST,
        _TWO,
        counterexample="two_clusters()",
        corrected_by=("tapfinger.equation3",),
        **_PLACEMENT,
    ),
    claim(
        "equation8",
        r"A scheduled task has its smallest bundle if $b_{j,r} \max_t y_{j,n,t} \le x_{j,r,n} \le "
        r"C_{r,n} \max_t y_{j,n,t}$.",
        "Equations (7) and (8), corrected",
        _by_link,
        Relation.AT_LEAST,
        {**_NAMED, **_DRAWN},
        **_PLACEMENT,
    ),
    claim(
        "equation8.printed",
        "It has by (7) and (8), as printed. They let it have nothing.",
        "Equations (7) and (8)",
        _by_7_and_8,
        Relation.AT_LEAST,
        {"no_bundle()": no_bundle},
        counterexample="no_bundle()",
        corrected_by=("tapfinger.equation8",),
        **_PLACEMENT,
    ),
    claim(
        "equation8.one_resource",
        "A scheduled task with CPU cores also has GPUs, by (7) and (8) as printed.",
        "Equations (7) and (8)",
        _by_7_and_8,
        Relation.AT_LEAST,
        {"one_resource()": one_resource},
        counterexample="one_resource()",
        corrected_by=("tapfinger.equation8",),
        **_PLACEMENT,
    ),
)
