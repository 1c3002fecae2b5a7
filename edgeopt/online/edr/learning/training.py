"""Which learners EDR has, and how long they train by default."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from edgeopt.options import check_choice

if TYPE_CHECKING:
    from edgeopt.learning import Learner


class Schedule(NamedTuple):
    """How long a learner trains by default."""

    updates: int
    every: int  # updates between two evaluations


SCHEDULES: Final = {"macro": Schedule(150, 10), "micro": Schedule(20, 5)}
"""By name: rounds of training by deep Q-learning, routing of requests by DDPG; a minute or two of
one processor each."""


def learner(name: str, *, seed: int = 0, updates: int | None = None, **options: Any) -> Learner:
    """Return a learner for `edgeopt.learning.train`, by default with the updates of `SCHEDULES`."""
    check_choice("learner", name, tuple(SCHEDULES))
    planned = SCHEDULES[name].updates if updates is None else updates
    import_module("edgeopt.learning.networks")  # says what to install if there is no PyTorch
    if name == "macro":
        from edgeopt.online.edr.learning.macro import RoundsLearner

        return RoundsLearner(seed=seed, updates=planned, **options)
    from edgeopt.online.edr.learning.micro import RoutingLearner

    return RoutingLearner(seed=seed, updates=planned, **options)
