"""Jobs on unrelated machines: the retraining of OINC while the reserved shares stay as they are.

With it come the number of slots that its linear programs need, and what their dual points prove.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import OptionError
from edgeopt.instances.fields import Floats, Integers, field
from edgeopt.instances.records import Record, Size
from edgeopt.instances.validate import frozen_array, require
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.arrays import Ints
    from edgeopt.instances.oinc import OincInstance


Weights = Literal["constant", "deadline"]
"""What weighs the flow time of a job: its own weight, or its weight per time until its deadline."""


def _ascending(name: str, arrival: NDArray[np.int64]) -> None:
    ordered = np.diff(arrival, prepend=arrival[:1]) >= 0
    require(name, ordered, arrival, "must ascend: list jobs as they arrive")


def _servable(name: str, duration: NDArray[np.float64]) -> None:
    require(name, duration > 0, duration, "must be positive: there is nothing to do")
    somewhere = np.isfinite(duration).any(axis=1)
    rule = "must be finite at one site at least: no site can serve the job"
    require(name, somewhere, duration.min(axis=1, initial=np.inf), rule)


class RetrainingProblem(Record, axes={"job": "K", "site": "J"}, empty=("job",)):
    r"""Minimise the weighted flow time of jobs that are served at one site each.

    Preemption is free, migration is not allowed. The flow time of a job is the time from its
    arrival to its completion.

    Notes
    -----
    Zeng et al., section IV-C. In the theory of scheduling:
    :math:`R\,|\,r_k, pmtn, \text{no migration}\,|\,\sum_k l_k F_k`.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.retraining import RetrainingProblem, retraining_problem
    >>> problem = retraining_problem(small(1))
    >>> problem.jobs, problem.sites
    (3, 3)
    """

    arrival: Integers = field(
        "job", symbol="a_k", least=0, check=_ascending,
        doc="Slot in which each job arrives. Ascending.",
    )  # fmt: skip
    duration: Floats = field(
        "job", "site", unit="s", symbol="h_{kj}", infinite=True, check=_servable,
        doc="Time that each job takes alone at each site. Infinite where a site cannot serve it.",
    )  # fmt: skip
    weight: Floats = field(
        "job", symbol="l_k", least=0, default=None, fill=1.0,
        doc="Weight of its flow time. Fixed at its arrival.",
    )  # fmt: skip

    jobs = Size("job", "Number of jobs K.")
    sites = Size("site", "Number of sites J.")


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

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.retraining import retraining_problem
    >>> retraining_problem(small(1))
    RetrainingProblem(jobs=3, sites=3)
    """
    weight = instance.weight
    if weights == "deadline":
        weight = weight / (instance.deadline - instance.arrival)
    return RetrainingProblem(instance.arrival, instance.job_seconds(share), weight)


ServiceMode = Literal["fluid", "slot"]
"""What becomes of the rest of a slot in which a job ends: the next one uses it, or it is wasted."""

_SERVICES: Final = ("fluid", "slot")


@checked()
def horizon(problem: RetrainingProblem, service: ServiceMode = "fluid") -> int:
    r"""Return a number of slots within which some optimal schedule ends.

    From the last arrival on, a schedule that never idles needs at most the longest duration of
    every job,

    .. math:: T = \max_k a_k + \Big\lceil \sum_k \max_j h_{kj} \Big\rceil,

    or the sum of the durations rounded up where the rest of a slot is wasted. Sites that cannot
    serve a job do not count for it.

    Parameters
    ----------
    problem
        The jobs.
    service
        ``"fluid"`` or ``"slot"``.

    Returns
    -------
    Slots, at least 1.

    Raises
    ------
    OptionError
        If `service` is unknown.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.retraining import horizon, retraining_problem
    >>> horizon(retraining_problem(small(1)))
    5
    """
    check_service(service)
    if problem.jobs == 0:
        return 1
    longest = np.where(np.isfinite(problem.duration), problem.duration, 0.0).max(axis=1)
    total = np.ceil(longest).sum() if service == "slot" else np.ceil(longest.sum())
    return int(problem.arrival[-1]) + int(total)


def first_come(problem: RetrainingProblem) -> tuple[Ints, Floats, Floats]:
    """Serve the jobs as they come, each where it is complete first.

    Some schedule at least ends when this one does: that many slots are enough to serve in, though
    perhaps not to serve best.
    """
    free = np.zeros(problem.sites)
    site = np.zeros(problem.jobs, dtype=np.int64)
    begin, end = np.zeros(problem.jobs), np.zeros(problem.jobs)
    for k in range(problem.jobs):
        start = np.maximum(free, problem.arrival[k])
        done = start + problem.duration[k]
        j = int(np.argmin(done))
        site[k], begin[k], end[k] = j, start[j], done[j]
        free[j] = done[j]
    return site, begin, end


def check_service(service: str) -> None:
    """Refuse an unknown service."""
    if service not in _SERVICES:
        raise OptionError(f"service = {service!r}: must be 'fluid' or 'slot'")


def check_horizon(problem: RetrainingProblem, slots: int | None) -> int:
    """Return a number of slots that lasts until every job has arrived; `horizon` by default."""
    if slots is None:
        return horizon(problem)
    last = int(problem.arrival[-1]) if problem.jobs else 0
    if not slots > last:
        raise OptionError(f"horizon = {slots}: must end after the last arrival, slot {last}")
    return int(slots)


@in_html
class Certificate(NamedTuple):
    """What a dual point proves.

    Attributes
    ----------
    violation
        Largest violation of a constraint, 0 where the point is feasible. A point proves its value
        only if this is 0, up to rounding.
    value
        Value of the point, a lower bound on the weighted flow time.

    Examples
    --------
    >>> from edgeopt.models.oinc.retraining import RetrainingProblem, certify
    >>> problem = RetrainingProblem([0, 0, 1], [[2, 4], [2, 3], [1, 3]])
    >>> found = certify(problem, theta=[1.0, 1.0, 0.5], eta=[[0.0], [0.0]])
    >>> found.violation, found.value
    (0.0, 2.5)
    """

    violation: float
    value: float


def certify(
    problem: RetrainingProblem,
    theta: ArrayLike,
    eta: ArrayLike,
    zeta: ArrayLike | None = None,
    *,
    midpoint: bool = False,
    horizon: int | None = None,
) -> Certificate:
    r"""Check a point of the dual program in every slot there will ever be.

    .. math::

       \text{(9a)}\ & \theta_k / h_{kj} - \eta_{jt} - \zeta_{kt}
           \le l_k (t - a_k) / h_{kj} + l_k / 2, \qquad t \ge a_k \\
       & \theta, \eta, \zeta \ge 0

    with the value :math:`\sum \theta - \sum \eta - \sum \zeta`. After the last slot of `eta` both
    eta and zeta are 0; since the right-hand side grows with t, the first slot after decides.

    Parameters
    ----------
    problem
        The jobs.
    theta
        Price of a job, shape [K].
    eta
        Price of a slot of a site, shape [J, T].
    zeta
        Price of a slot of a job, for the program in which a job is at one site at a time, shape
        [K, T]; 0 by default.
    midpoint
        Whether the time of a slot counts from its middle, t + 1/2 in place of t.
    horizon
        Look no further than this slot: the value then bounds those schedules alone that end by it.

    Returns
    -------
    Violation and value.

    Raises
    ------
    InputError
        If a shape is wrong, or a price is no finite number.
    OptionError
        If the horizon lies beyond the last slot of `eta`.

    Notes
    -----
    Zeng et al., problem (9).

    Examples
    --------
    >>> from edgeopt.models.oinc.retraining import RetrainingProblem, certify
    >>> problem = RetrainingProblem([0, 0, 1], [[2, 4], [2, 3], [1, 3]])
    >>> for price in (0.5, 1.0):
    ...     certify(problem, [price] * 3, [[0.0], [0.0]])
    ...
    Certificate(violation=0.0, value=1.5)
    Certificate(violation=0.5, value=3.0)
    """
    theta = frozen_array("theta", theta, ("job",), {"job": problem.jobs}, empty=True)
    eta, zeta = _slot_prices(problem, eta, zeta)
    allowed = largest_theta(problem, eta, zeta, midpoint=midpoint, horizon=horizon, each=True)
    finite = np.isfinite(problem.duration)
    excess = (theta[:, None] - allowed)[finite] / problem.duration[finite]
    violation = float(np.max(excess, initial=0.0))
    for price in (theta, eta, zeta):
        violation = max(violation, float(np.max(-price, initial=0.0)))
    return Certificate(violation, float(theta.sum() - eta.sum() - zeta.sum()))


def largest_theta(
    problem: RetrainingProblem,
    eta: ArrayLike,
    zeta: ArrayLike | None = None,
    *,
    midpoint: bool = False,
    horizon: int | None = None,
    each: bool = False,
) -> Floats:
    """Return the largest prices of jobs that prices of slots allow.

    With them any prices of slots that are not negative become a feasible dual point, and the best
    one: that is how the duals of a solver become a proof.
    """
    eta, zeta = _slot_prices(problem, eta, zeta)
    slots = eta.shape[1]
    if horizon is not None and horizon > slots:
        raise OptionError(f"horizon = {horizon}: there are prices of {slots} slots only")
    weight = problem.weight
    largest = np.full(problem.duration.shape, np.inf)
    for k in range(problem.jobs):
        # One slot without prices stands for all that follow.
        end = max(slots, int(problem.arrival[k])) + 1 if horizon is None else horizon
        slot = np.arange(int(problem.arrival[k]), end)
        sites = np.flatnonzero(np.isfinite(problem.duration[k]))
        price = np.zeros((sites.size, slot.size))
        priced = slot[slot < slots]
        price[:, : priced.size] = eta[np.ix_(sites, priced)] + zeta[k, priced]
        time = slot - problem.arrival[k] + (0.5 if midpoint else 0.0)
        duration = problem.duration[k, sites]
        limit = weight[k] * time + duration[:, None] * (0.5 * weight[k] + price)
        largest[k, sites] = limit.min(axis=1, initial=np.inf)
    return largest if each else largest.min(axis=1, initial=np.inf)


def _slot_prices(
    problem: RetrainingProblem, eta: ArrayLike, zeta: ArrayLike | None
) -> tuple[Floats, Floats]:
    """Check the shapes of prices of slots."""
    eta = frozen_array("eta", eta, ("site", "slot"), {"site": problem.sites}, empty=True)
    sizes = {"job": problem.jobs, "slot": eta.shape[1]}
    if zeta is None:
        zeta = np.zeros((problem.jobs, eta.shape[1]))
    return eta, frozen_array("zeta", zeta, ("job", "slot"), sizes, empty=True)
