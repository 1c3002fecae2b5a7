"""Dispatch and service by residual density, slot by slot, while shares of the CPU may change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, get_args

import numpy as np

from edgeopt.models.oinc.retraining import Weights
from edgeopt.online.oinc.parts import Service, check_service, run_in_order
from edgeopt.online.playing import named
from edgeopt.options import check_choice, check_flag
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc.events import Jobs, Runs
    from edgeopt.online.oinc.parts import Queues

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["ResidualDensity"]


@dataclass(frozen=True, eq=False, kw_only=True)
class ResidualDensity:
    r"""Send each job to where it adds least, and serve the densest job at every site.

    The residual density of a job is its weight over the time that it would still take at its site.
    A new job adds its own waiting and the delay of all less dense ones to the weighted sum of flow
    times; see `run_density`, which lives through a whole run of fixed shares at once. Here times
    are told by the shares of the slot. Jobs go only to sites that keep CPU for them, and wait as
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
    late_binding
        When jobs have been dispatched, all jobs that have not been served are dispatched anew, the
        least dense first, if less is to be expected for all of them then.

    Raises
    ------
    OptionError
        If a name is unknown.

    Notes
    -----
    Zeng et al., algorithm 4, equations (5) and (6), with the job of *largest* density served and
    the delay of others told by the length of the new job. Speed augmentation has no part here: it
    divides all costs by the same number.
    """

    title: ClassVar[str] = "ResidualDensity"

    service: Service = "fluid"
    weights: Weights = "constant"
    late_binding: bool = False

    def __post_init__(self) -> None:
        check_service(self.service)
        check_choice("weights", self.weights, get_args(Weights))
        check_flag("late_binding", self.late_binding)

    @property
    def name(self) -> str:
        """Title, and the options that are not default."""
        return named(self.title, self)

    def start(self, instance: OincInstance) -> None:
        """Remember nothing: a slot shows all that counts."""

    def dispatch(self, memory: None, queues: Queues) -> tuple[Ints, None]:
        """Send the jobs that wait for a site, in the order of their numbers."""
        jobs = queues.jobs
        line = Line(queues, self._weight(jobs), jobs.site.copy())
        waiting = np.flatnonzero(jobs.site < 0)
        for q in waiting:
            line.send(int(q))
        if self.late_binding and (line.site[waiting] >= 0).any():
            line.send_anew(np.flatnonzero(~jobs.started & (line.site >= 0)))
        return line.site, None

    def serve(self, memory: None, queues: Queues) -> tuple[Runs, None]:
        """Serve the densest job of every site."""
        jobs = queues.jobs
        density = self._weight(jobs) * queues.speed[jobs.site] / jobs.remaining
        return run_in_order(queues, np.lexsort((jobs.job, -density)), self.service), None

    def _weight(self, jobs: Jobs) -> Floats:
        if self.weights == "deadline":
            return np.asarray(jobs.weight / (jobs.deadline - jobs.arrival))
        return jobs.weight


class Line(NamedTuple):
    """Jobs where they are for now.

    Attributes
    ----------
    queues
        Jobs and sites.
    weight
        Weight of the flow time of each job, shape [q].
    site
        Where each job waits, -1 for nowhere, shape [q]; changes.
    """

    queues: Queues
    weight: Floats
    site: Ints

    def send(self, job: int) -> float:
        """Send a job that waits nowhere to where it adds least, and return how much that is."""
        cost = self._costs(job)
        best = int(np.argmin(cost))
        if np.isfinite(cost[best]):
            self.site[job] = best
        return float(cost[best])

    def send_anew(self, jobs: Ints) -> None:
        """Send jobs anew, the least dense first, if they add less then."""
        former = self.site.copy()
        fastest = self.queues.jobs.remaining[jobs] / self.queues.speed.max()
        loose = jobs[np.lexsort((jobs, self.weight[jobs] / fastest))]
        before = 0.0
        for job in loose:
            self.site[job] = -1
            before += float(self._costs(job)[former[job]])
        after = sum(self.send(job) for job in loose)
        if not after < before * (1.0 - TIGHT):
            self.site[:] = former

    def _costs(self, job: int) -> Floats:
        """Return what a job that waits nowhere would add at each site, infinite where none works.

        Shape [J].
        """
        speed = self.queues.speed
        others = np.flatnonzero(self.site >= 0)
        at = self.site[others]
        with np.errstate(divide="ignore", invalid="ignore"):
            length = self.queues.jobs.remaining[job] / speed
            left = self.queues.jobs.remaining[others] / speed[at]
            denser = self.weight[others] / left >= (self.weight[job] / length)[at]
            ahead = np.bincount(at, np.where(denser, left, 0.0), speed.size)
            behind = np.bincount(at, np.where(denser, 0.0, self.weight[others]), speed.size)
            cost = self.weight[job] * (ahead + length) + length * behind
        return np.where(speed > 0, cost, np.inf)
