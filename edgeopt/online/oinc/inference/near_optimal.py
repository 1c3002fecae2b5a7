"""Near-optimal inference: a search for sites, exact shares, objectives where they fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, get_args

import numpy as np

from edgeopt.models.oinc.slot.solve import Unfit, solve_slot
from edgeopt.online.naming import named
from edgeopt.options import check_choice, check_flag, check_real
from edgeopt.solvers.tolerance import TIGHT

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
    certify
        Whether every plan carries a proven lower bound on the latencies of any plan that answers
        the same requests and meets the objectives that are met here; `OincTrajectory.gap` tells
        how far each slot lies above. That takes far longer than the plan itself.
    gap
        Relative gap at which the search for a bound stops.
    time_limit
        Seconds per slot after which it stops in any case, with what it has proved; none by default.

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
    certify: bool = False
    gap: float = 1e-4
    time_limit: float | None = None

    def __post_init__(self) -> None:
        check_flag("objectives", self.objectives)
        check_choice("unfit", self.unfit, get_args(Unfit))
        check_flag("certify", self.certify)
        check_real("gap", self.gap, "(0, inf)")
        check_real("time_limit", self.time_limit, "(0, inf]", none=True)

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
        The plan, with its bound where one is asked for, and the memory as it was.
        """
        plan = solve_slot(problem, objectives=self.objectives, unfit=self.unfit, late=memory)
        return (self._certified(plan) if self.certify else plan), memory

    def _certified(self, plan: SlotPlan) -> SlotPlan:
        """Add a bound on all plans that answer and meet what this one does."""
        from edgeopt.models.oinc.slot.columns import slot_bound

        whole, here = plan.problem, plan.site >= 0
        assert whole.weight is not None
        assert whole.device is not None
        # What is met but for rounding can be met, so that the bound is finite.
        slo = np.where(plan.met, whole.slo * (1.0 + 2.0 * TIGHT), np.inf)
        answered = replace(
            whole,
            transmission=whole.transmission[here],
            computation=whole.computation[here],
            slo=slo[here],
            weight=whole.weight[here],
            device=whole.device[here],
        )
        found = slot_bound(
            answered,
            objectives=self.objectives,
            gap=self.gap,
            site=plan.site[here],
            time_limit=self.time_limit,
        )
        return replace(plan, bound=found.value)
