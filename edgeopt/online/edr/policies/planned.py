"""Following a plan that knows all frames."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.online.edr.events import Flows, Frame
from edgeopt.online.simulate import Deterministic, IgnoresFeedback
from edgeopt.options import check_kind, check_text
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.models.edr import OfflinePlan
    from edgeopt.online.edr.events import Observation


class _Planned(NamedTuple):
    """What is planned, sorted by slots."""

    rounds: Ints  # rounds up to each frame, itself included, shape [T, I]
    first: Ints  # where the flows of each slot begin, shape [T * D + 1]
    route: Ints  # frame, slot, origin, site and type, shape [A, 5]
    amount: Floats  # requests, shape [A]
    slots: int


@compact_repr
@dataclass(frozen=True, eq=False)
class Planned(IgnoresFeedback, Deterministic):
    """Train the rounds of a plan frame by frame, and serve requests as it does slot by slot.

    The plan knows all frames, which no online policy does.

    Parameters
    ----------
    plan
        From `edgeopt.models.edr.OfflinePlan.of`, with whole rounds.
    name
        Name in tables.
    """

    hindsight: ClassVar[bool] = True
    plan: OfflinePlan = field(repr=False)
    name: str = "Plan"

    def __post_init__(self) -> None:
        from edgeopt.models.edr import OfflinePlan

        check_kind("plan", self.plan, OfflinePlan)
        check_text("name", self.name)
        if self.plan.route is None:
            raise OptionError(
                "plan: says nothing of who serves which requests; take that of "
                "OfflinePlan.of(colocation(instance), instance)"
            )
        if (self.plan.rounds % 1.0).any():
            raise OptionError("plan: trains parts of rounds; build its program with relax=False")

    def start(self, instance: EdrInstance) -> _Planned:
        """Sort the flows by slots."""
        plan = self.plan
        assert plan.route is not None
        assert plan.amount is not None
        if plan.rounds.shape != (instance.frames, instance.tasks):
            raise OptionError(
                f"plan: is one of {plan.rounds.shape} frames and tasks, not "
                f"{(instance.frames, instance.tasks)}"
            )
        slot = plan.route[:, 0] * instance.slots + plan.route[:, 1]
        order = np.argsort(slot, kind="stable")
        first = np.searchsorted(slot[order], np.arange(instance.frames * instance.slots + 1))
        until = np.cumsum(plan.rounds.astype(np.int64), axis=0)
        return _Planned(until, first, plan.route[order], plan.amount[order], instance.slots)

    def decide(
        self, state: _Planned, observation: Observation, rng: np.random.Generator | None = None
    ) -> tuple[Any, _Planned]:
        """Return the rounds that are planned, less what was trained before, or the flows."""
        if isinstance(observation, Frame):
            done = np.where(observation.active, observation.rounds - observation.remaining, 0)
            left = state.rounds[observation.frame] - done
            return np.clip(left, 0, observation.remaining), state
        place = observation.frame * state.slots + observation.slot
        mine = slice(state.first[place], state.first[place + 1])
        _, _, origin, site, kind = state.route[mine].T
        return Flows(origin, site, kind, state.amount[mine]), state
