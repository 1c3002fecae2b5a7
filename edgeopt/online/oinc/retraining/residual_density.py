"""Residual density: a part of the loop, slot by slot, and whole runs of fixed shares at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, get_args

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.validate import frozen
from edgeopt.models.oinc.retraining import Weights
from edgeopt.online.oinc.components import Part, Service, check_service, run_in_order
from edgeopt.online.oinc.retraining.dispatch import dispatch_new, new_state, simulate
from edgeopt.options import check_choice
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc.retraining import RetrainingProblem
    from edgeopt.online.oinc.components import Queues
    from edgeopt.online.oinc.events import Jobs, Runs
    from edgeopt.online.oinc.retraining.dispatch import State


@compact_repr
class JobRuns(NamedTuple):
    """What ran when, by site and then by time.

    Attributes
    ----------
    job, site
        The job and the site that served it, shape [r].
    begin, end
        Beginning and end, s since the start, shape [r].

    Examples
    --------
    >>> from edgeopt.models.oinc.retraining import RetrainingProblem
    >>> from edgeopt.online.oinc.retraining import run_density
    >>> problem = RetrainingProblem([0, 0, 1], [[2, 4], [2, 3], [1, 3]])
    >>> runs = run_density(problem).runs
    >>> runs.job, runs.site, runs.end
    (array([0, 2, 1]), array([0, 0, 1]), array([2., 3., 3.]))
    """

    job: Ints
    site: Ints
    begin: Floats
    end: Floats


@dataclass(frozen=True, eq=False, repr=False)
class RetrainingRun:
    """Result of dispatch by residual density.

    Attributes
    ----------
    problem
        The jobs.
    epsilon
        By how much the sites ran faster than the problem says.
    service
        What became of the rest of a slot in which a job ended.
    site
        Site of each job, in the end, -1 if it arrived after the horizon, shape [K].
    completion
        When each job was complete, s since the start, infinite if never, shape [K].
    cost
        What each job was expected to add to the sum of all, itself included, when it was
        dispatched, NaN if it never was, shape [K].
    runs
        What ran when.

    Examples
    --------
    >>> from edgeopt.models.oinc.retraining import RetrainingProblem
    >>> from edgeopt.online.oinc.retraining import run_density
    >>> run = run_density(RetrainingProblem([0, 0, 1], [[2, 4], [2, 3], [1, 3]]))
    >>> run.flow, run.weighted_flow
    (array([2., 3., 2.]), 7.0)
    """

    problem: RetrainingProblem
    epsilon: float
    service: Service
    site: Ints
    completion: Floats
    cost: Floats
    runs: JobRuns

    @cached_property
    def flow(self) -> Floats:
        """Time from arrival to completion of each job, s, infinite if never, shape [K]."""
        return frozen(self.completion - self.problem.arrival)

    @property
    def weighted_flow(self) -> float:
        """Sum of weight times flow time of all jobs; jobs of weight 0 may stay unfinished."""
        weight = np.asarray(self.problem.weight)
        heavy = weight > 0
        return float(weight[heavy] @ self.flow[heavy])

    @property
    def expected_flow(self) -> float:
        """Weighted flow expected at dispatch: the sum of costs.

        Fluid service makes it equal to the weighted flow, up to rounding, if all are complete.
        """
        return float(np.nansum(self.cost))

    def __repr__(self) -> str:
        return (
            f"RetrainingRun(jobs={self.problem.jobs}, sites={self.problem.sites}, "
            f"weighted_flow={self.weighted_flow:.6g})"
        )


def run_density(
    problem: RetrainingProblem,
    *,
    epsilon: float = 0.0,
    service: Service = "fluid",
    horizon: int | None = None,
) -> RetrainingRun:
    r"""Dispatch each job to where it adds least, and serve the densest job at every site.

    The residual density of a job is its weight over the time that it would still take,
    :math:`s_{kj} = l_k / h_{kj}`. With :math:`Q_1` the jobs at a site that are at least as dense as
    the new one and :math:`Q_2` the others, it goes to the site of least

    .. math::

        C_{kj} = \frac{1}{1 + \varepsilon} \Bigl( l_k \sum_{k' \in Q_1} h_{k'j} + l_k h_{kj}
            + h_{kj} \sum_{k' \in Q_2} l_{k'} \Bigr),

    which is what it adds to the weighted sum of flow times if no job comes after it. Of equal sites
    and of equally dense jobs, the lower number is taken.

    Parameters
    ----------
    problem
        The jobs; a site at which a job takes forever is not considered for it.
    epsilon
        By how much the sites run faster than the problem says, >= 0.
    service
        ``"fluid"``: the next job uses the rest of a slot in which one ends. ``"slot"``: a site
        serves one job in a slot and wastes what it leaves; jobs are complete as a slot ends.
    horizon
        Number of slots after which nothing is served and no job arrives; None for no end.

    Returns
    -------
    RetrainingRun
        Sites, completion times, costs, and what ran when.

    Raises
    ------
    OptionError
        If the augmentation is negative or not finite, the service is unknown, or the horizon is
        not a positive whole number.

    Notes
    -----
    Zeng et al., algorithm 4, equations (5) and (6). There the job of *least* residual density is
    served, and the third sum is that of :math:`l_{k'} h_{k'j}`; with either, the weighted flow time
    is not the sum of costs any more, and the guarantee falls. A dispatch takes time logarithmic in
    the jobs that wait at a site, for every site.

    Examples
    --------
    >>> from edgeopt.models.oinc.retraining import RetrainingProblem
    >>> problem = RetrainingProblem([0, 0, 1], [[2, 4], [2, 3], [1, 3]])
    >>> run = run_density(problem)
    >>> run.site.tolist(), run.completion.tolist()
    ([0, 1, 0], [2.0, 3.0, 3.0])
    >>> run.weighted_flow, run.expected_flow
    (7.0, 7.0)
    """
    check_service(service)
    if not 0.0 <= epsilon < np.inf:
        raise OptionError(f"epsilon = {epsilon}: must be finite and not negative")
    if horizon is not None and not (horizon >= 1 and horizon == int(horizon)):
        raise OptionError(f"horizon = {horizon}: must be a positive number of slots, or None")
    given = problem.arrival, problem.duration, np.asarray(problem.weight)
    end = np.inf if horizon is None else float(horizon)
    # The densest first, every arrival interrupts one job at most, so that room is enough at once.
    state = new_state(*given, 2 * problem.jobs + problem.sites)
    how = 1.0 + epsilon, service == "slot", end
    simulate(state, *how)
    if state.logged[0] > state.run.size:
        state = new_state(*given, int(state.logged[0]))
        simulate(state, *how)
    columns = {name: _column(state.job, name) for name in ("site", "completion", "cost")}
    return RetrainingRun(problem, float(epsilon), service, runs=_sorted(state), **columns)


def _sorted(state: State) -> JobRuns:
    runs = state.run[: int(state.logged[0])]
    runs = runs[np.lexsort((runs["begin"], runs["site"]))]
    return JobRuns(*(_column(runs, name) for name in JobRuns._fields))


def _column(records: NDArray[np.void], name: str) -> NDArray[Any]:
    return frozen(records[name].copy())


@dataclass(frozen=True, eq=False, kw_only=True)
class ResidualDensity(Part):
    r"""Send each job to where it adds least, and serve the densest job at every site.

    The residual density of a job is its weight over the time that it would still take at its site.
    A new job adds its own waiting and the delay of all less dense ones to the weighted sum of flow
    times; see `run_density`, which simulates a whole run of fixed shares at once. Here times
    follow from the shares of the slot. Jobs go only to sites that keep CPU for them, and wait as
    long as there is none. Of equal sites and of equally dense jobs, the lower number is taken.

    Parameters
    ----------
    service
        ``"fluid"``: the next job uses the rest of a slot in which one ends. ``"slot"``: a site
        serves one job in a slot and wastes what it leaves.
    weights
        What weighs the flow time of a job. ``"constant"``: its own weight; ``"deadline"``: its
        weight over the time from its arrival to its deadline. Either way it never changes: weights
        that grow as deadlines come near change the order of jobs that wait.

    Raises
    ------
    OptionError
        If a name is unknown.

    Notes
    -----
    Zeng et al., algorithm 4, equations (5) and (6), with the job of *largest* density served and
    the delay of others by the length of the new job. Speed augmentation is left out: it divides all
    costs by the same number.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.oinc import Oinc, OincEnvironment, ResidualDensity
    >>> simulate(OincEnvironment(small(1)), Oinc(retraining=ResidualDensity()), runs=1)
    OincTrajectory(OINC, 1 scenario, 2 slots, mean reward 4.94191)
    """

    title: ClassVar[str] = "ResidualDensity"
    steady: ClassVar[bool] = True

    service: Service = "fluid"
    weights: Weights = "constant"

    def __post_init__(self) -> None:
        check_service(self.service)
        check_choice("weights", self.weights, get_args(Weights))

    def start(self, instance: OincInstance) -> None:
        """Remember nothing: a slot shows all that counts."""

    def dispatch(self, memory: None, queues: Queues) -> tuple[Ints, None]:
        """Send the jobs that wait for a site, in the order of their numbers."""
        jobs = queues.jobs
        if (jobs.site >= 0).all() or not (queues.speed > 0).any():
            return jobs.site.copy(), None
        with np.errstate(divide="ignore"):
            duration = jobs.remaining[:, np.newaxis] / queues.speed
        state = new_state(jobs.arrival, duration, self._weight(jobs))
        dispatch_new(state, jobs.site)
        return _column(state.job, "site"), None

    def serve(self, memory: None, queues: Queues) -> tuple[Runs, None]:
        """Serve the densest job of every site."""
        jobs = queues.jobs
        density = self._weight(jobs) * queues.speed[jobs.site] / jobs.remaining
        return run_in_order(queues, np.lexsort((jobs.job, -density)), self.service), None

    def _weight(self, jobs: Jobs) -> Floats:
        if self.weights == "deadline":
            return np.asarray(jobs.weight / (jobs.deadline - jobs.arrival))
        return jobs.weight
