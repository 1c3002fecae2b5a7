"""The loop of OINC: reserve when jobs arrive, answer requests, dispatch and serve jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.online.oinc.components import Queues
from edgeopt.online.oinc.events import Decision
from edgeopt.online.oinc.inference import NearOptimalInference, PlannedInference
from edgeopt.online.oinc.reservation import Reservation
from edgeopt.online.oinc.retraining.residual_density import ResidualDensity
from edgeopt.online.simulate import Deterministic
from edgeopt.options import check_able, check_text
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc import SlotProgram
    from edgeopt.online.oinc.components import Inference, Reserving, Retraining
    from edgeopt.online.oinc.events import Outcome, Slot


@compact_repr
@dataclass(frozen=True, eq=False)
class OincState:
    """What the loop remembers.

    Attributes
    ----------
    instance
        What is known beforehand.
    share
        Share of the CPU of each site that is kept for jobs, shape [J]; 0 where no job is left.
    inference, retraining, reservation
        What the parts remember.
    """

    instance: OincInstance
    share: NDArray[np.float64]
    inference: Any
    retraining: Any
    reservation: Any


@dataclass(frozen=True, eq=False, kw_only=True)
class Oinc(Deterministic):
    """Inference, retraining and reservation put together.

    In every slot the reservation says how much CPU is kept for jobs; requests are answered on
    the rest; jobs are dispatched and served on what is kept. A site whose last job is complete
    keeps nothing from then on, until the reservation says otherwise.

    Parameters
    ----------
    inference
        How requests are answered.
    retraining
        How jobs are dispatched and served.
    reservation
        How much CPU is kept for jobs.
    title
        Name for tables and pictures; put together from the parts by default.

    Notes
    -----
    Zeng et al., algorithm 1; the lines that call the reservation are garbled in print, and the
    reset of idle sites stands in the text alone. Where all parts are deterministic, one run counts
    for all.

    Examples
    --------
    >>> from edgeopt.instances.oinc import generate
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.oinc import Oinc, OincEnvironment
    >>> environment = OincEnvironment(generate(sites=3, devices=4, slots=20, jobs=3))
    >>> trajectory = simulate(environment, Oinc(), runs=1)
    >>> bool(trajectory.complete.all())
    True
    """

    inference: Inference = field(default_factory=NearOptimalInference)
    retraining: Retraining = field(default_factory=ResidualDensity)
    reservation: Reserving = field(default_factory=Reservation)
    title: str | None = None

    def __post_init__(self) -> None:
        check_able("inference", self.inference, "start", "answer")
        check_able("retraining", self.retraining, "start", "dispatch", "serve")
        check_able("reservation", self.reservation, "start", "reserve")
        if self.title is not None:
            check_text("title", self.title)

    @classmethod
    def following(cls, plan: SlotProgram, **options: Any) -> Self:
        """Return the policy that answers requests by a program with constraints of one's own."""
        return cls(inference=PlannedInference(plan), **options)

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        """Whether no part draws random numbers."""
        parts = self.inference, self.retraining, self.reservation
        return all(getattr(part, "deterministic", False) for part in parts)

    @property
    def name(self) -> str:
        """Short name for tables and pictures: the title, or OINC and the parts of another name."""
        if self.title is not None:
            return self.title
        names = [self.inference.name, self.retraining.name, self.reservation.name]
        usual = {NearOptimalInference().name, ResidualDensity().name, Reservation().name}
        names = [name for name in names if name not in usual]
        return f"OINC with {' & '.join(names)}" if names else "OINC"

    def start(self, instance: OincInstance) -> OincState:
        """Return the state before the first slot."""
        return OincState(
            instance=instance,
            share=np.zeros(instance.sites),
            inference=self.inference.start(instance),
            retraining=self.retraining.start(instance),
            reservation=self.reservation.start(instance),
        )

    def decide(
        self, state: OincState, observation: Slot, rng: np.random.Generator
    ) -> tuple[Decision, OincState]:
        """Answer a slot."""
        share, reservation = self.reservation.reserve(state.reservation, observation, state.share)
        jobs = observation.jobs
        queues = Queues(observation.slot, jobs, share, share * state.instance.speed)
        job_site, retraining = self.retraining.dispatch(state.retraining, queues)
        queues = queues._replace(jobs=jobs._replace(site=job_site))
        runs, retraining = self.retraining.serve(retraining, queues)
        plan, inference = self.inference.answer(
            state.inference, observation.requests.with_reserved(share), rng
        )
        after = OincState(state.instance, share, inference, retraining, reservation)
        decision = Decision(plan, job_site, share, runs, self._stands(after, observation, job_site))
        return decision, after

    def _stands(self, state: OincState, observation: Slot, job_site: NDArray[np.int64]) -> bool:
        """Return whether the parts decide the same again while no job is complete."""
        parts = self.retraining, self.reservation
        if observation.slot < state.instance.slots or not all(
            getattr(part, "steady", False) for part in parts
        ):
            return False
        if (observation.jobs.site != job_site).any() or (job_site < 0).any():
            return False
        kept = self.reservation.reserve(state.reservation, observation, _kept(state, job_site))
        return np.array_equal(kept[0], state.share)

    def learn(
        self, state: OincState, observation: Slot, decision: Decision, feedback: Outcome
    ) -> OincState:
        """Return the state after a slot: sites without jobs keep nothing."""
        left = np.asarray(decision.job_site)
        if feedback.completed.size:
            left = np.delete(left, np.searchsorted(observation.jobs.job, feedback.completed))
        return OincState(
            state.instance,
            _kept(state, left),
            state.inference,
            state.retraining,
            state.reservation,
        )


def _kept(state: OincState, job_site: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the shares of the sites where there are jobs, 0 for the others."""
    busy = np.zeros(state.share.size, dtype=np.bool_)
    busy[job_site[job_site >= 0]] = True
    return np.where(busy, state.share, 0.0)
