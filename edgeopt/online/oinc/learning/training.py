"""The learners of OINC by name, and how long they train by default."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from edgeopt.options import check_choice, check_whole

if TYPE_CHECKING:
    from edgeopt.learning import Learner


class Schedule(NamedTuple):
    """How long a learner trains by default.

    Attributes
    ----------
    updates
        Updates of the schedule.
    every
        Updates between two evaluations.
    """

    updates: int
    every: int


SCHEDULES: Final = {"insertion": Schedule(500, 50), "sac-d": Schedule(200, 20)}
"""By name of the learner."""


def learner(name: str, *, seed: int = 0, updates: int | None = None, **options: Any) -> Learner:
    """Return a learner before its first update, for `edgeopt.learning.train`.

    Parameters
    ----------
    name
        ``"insertion"`` for the insertion actor, ``"sac-d"`` for the published learner.
    seed
        Of weights, batches and noise; instances have seeds of their own.
    updates
        Updates of the schedule, those of `SCHEDULES` by default.
    **options
        Those of the learner.

    Returns
    -------
    Learner
        The learner.

    Raises
    ------
    OptionError
        If there is no such learner, or an option is out of range.
    MissingDependencyError
        If PyTorch is not installed.
    """
    check_choice("name", name, SCHEDULES)
    check_whole("seed", seed, 0)
    planned = SCHEDULES[name].updates if updates is None else updates
    check_whole("updates", planned, 1)
    import_module("edgeopt.learning.networks")  # says what to install if there is no PyTorch
    if name == "insertion":
        from edgeopt.online.oinc.learning.insertion_learner import InsertionLearner

        return InsertionLearner(seed=seed, updates=planned, **options)
    from edgeopt.online.oinc.learning.sac import SacLearner

    return SacLearner(seed=seed, updates=planned, **options)
