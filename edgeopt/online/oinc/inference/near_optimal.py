"""Near-optimal inference: a search for sites, exact shares, objectives where they fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, get_args

from edgeopt.errors import OptionError
from edgeopt.models.oinc.slot.solve import Unfit, solve_slot
from edgeopt.online.oinc.naming import named

if TYPE_CHECKING:
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc.slot import SlotPlan, SlotProblem

__all__ = ["NearOptimalInference"]


@dataclass(frozen=True, eq=False, kw_only=True)
class NearOptimalInference:
    """Plan every slot by `solve_slot`: greedy, local search, exact shares, admission.

    Parameters
    ----------
    objectives
        Whether objectives count; without them the sum of latencies alone does.
    unfit
        What becomes of requests whose objectives do not fit: answered ``"late"``, or ``"refuse"``.

    Raises
    ------
    OptionError
        If an option is unknown or out of range.

    Notes
    -----
    Stands in place of the learned actor of Zeng et al., algorithm 3: the next slot does not depend
    on what is decided in this one, so that the best plan of every slot is the best policy.
    """

    title: ClassVar[str] = "NearOptimal"

    objectives: bool = True
    unfit: Unfit = "late"

    def __post_init__(self) -> None:
        if self.unfit not in get_args(Unfit):
            raise OptionError(f"unfit = {self.unfit!r}: must be one of {get_args(Unfit)}")

    @property
    def name(self) -> str:
        """Short name for tables and pictures."""
        return named(self.title, self)

    def start(self, instance: OincInstance) -> float:
        """Remember the latency that a refused request counts with, s."""
        return instance.refusal_latency

    def answer(self, memory: float, problem: SlotProblem) -> tuple[SlotPlan, float]:
        """Plan the requests of a slot.

        Parameters
        ----------
        memory
            Latency within which late requests should still be answered, s.
        problem
            The requests, with the CPU that retraining leaves.

        Returns
        -------
        The plan, and the memory as it was.
        """
        plan = solve_slot(problem, objectives=self.objectives, unfit=self.unfit, late=memory)
        return plan, memory
