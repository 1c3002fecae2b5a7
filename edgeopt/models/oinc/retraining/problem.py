"""Jobs on unrelated machines: the retraining of OINC while the reserved shares stay as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from edgeopt.checked import checked
from edgeopt.instances.validate import frozen_array, frozen_integers, require

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.oinc import OincInstance

__all__ = ["RetrainingProblem", "Weights", "retraining_problem"]

Weights = Literal["constant", "deadline"]
"""What weighs the flow time of a job: its own weight, or its weight per time until its deadline."""


@dataclass(frozen=True, eq=False)
class RetrainingProblem:
    r"""Minimise the weighted flow time of jobs that are served at one site each.

    Preemption is free, migration is not allowed. The flow time of a job is the time from its
    arrival to its completion.

    Parameters
    ----------
    arrival
        Slot in which each job arrives, ascending, shape [K].
    duration
        Time :math:`h_{kj} > 0` that each job takes alone at each site, s, shape [K, J]; infinite
        where a site cannot serve it.
    weight
        Weight :math:`l_k \ge 0` of its flow time, fixed at its arrival, shape [K]; 1 by default.

    Raises
    ------
    InstanceError
        If a shape or an entry breaks these rules, or no site can serve some job.

    Notes
    -----
    Zeng et al., section IV-C. In the theory of scheduling:
    :math:`R\,|\,r_k, pmtn, \text{no migration}\,|\,\sum_k l_k F_k`.
    """

    arrival: NDArray[np.int64]
    duration: NDArray[np.float64]
    weight: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        arrival = frozen_integers("arrival", self.arrival, ("job",), empty=True)
        require("arrival", arrival >= 0, arrival, "must not be negative")
        ordered = np.diff(arrival, prepend=arrival[:1]) >= 0
        require("arrival", ordered, arrival, "must ascend: list jobs as they arrive")
        sizes = {"job": arrival.size}
        duration = frozen_array(
            "duration", self.duration, ("job", "site"), sizes, empty=True, infinite=True
        )
        require("duration", duration > 0, duration, "must be positive: there is nothing to do")
        servable = np.isfinite(duration).any(axis=1)
        rule = "must be finite at one site at least: no site can serve the job"
        require("duration", servable, duration.min(axis=1, initial=np.inf), rule)
        weight = np.ones(arrival.size) if self.weight is None else self.weight
        weight = frozen_array("weight", weight, ("job",), sizes, empty=True)
        require("weight", weight >= 0, weight, "must not be negative")
        for name, value in {"arrival": arrival, "duration": duration, "weight": weight}.items():
            object.__setattr__(self, name, value)

    @property
    def jobs(self) -> int:
        """Number of jobs K."""
        return int(self.arrival.size)

    @property
    def sites(self) -> int:
        """Number of sites J."""
        return int(self.duration.shape[1])


@checked()
def retraining_problem(
    instance: OincInstance, share: ArrayLike = 1.0, weights: Weights = "constant"
) -> RetrainingProblem:
    r"""Return the jobs of an instance under fixed shares of the CPU.

    Parameters
    ----------
    instance
        The instance.
    share
        Share of the CPU that is reserved for jobs, in [0, 1], a number or shape [J].
    weights
        ``"constant"``: the weight of a job; ``"deadline"``: its weight over the time from its
        arrival to its deadline, :math:`\beta_k / (D_k - a_k)`.

    Returns
    -------
    The problem.

    Raises
    ------
    OptionError
        If `weights` is unknown.
    InstanceError
        If a share lies outside [0, 1], or all are 0.
    """
    weight = instance.weight
    assert weight is not None
    if weights == "deadline":
        weight = weight / (instance.deadline - instance.arrival)
    return RetrainingProblem(instance.arrival, instance.job_seconds(share), weight)
