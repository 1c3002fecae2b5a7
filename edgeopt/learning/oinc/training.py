"""The learners of OINC by name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from edgeopt.options import check_choice, check_whole

if TYPE_CHECKING:
    from edgeopt.learning import Learner


LEARNERS: Final = ("insertion", "sac-d")
"""Names of the learners."""


def learner(name: str, *, updates: int, seed: int = 0, **options: Any) -> Learner:
    """Return a learner before its first update, for `edgeopt.learning.train`.

    Parameters
    ----------
    name
        ``"insertion"`` for the insertion actor, ``"sac-d"`` for the published learner.
    updates
        Updates of the schedule.
    seed
        Of weights, batches and noise; instances have seeds of their own.
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

    Examples
    --------
    >>> from edgeopt.learning.oinc import learner
    >>> learner("dqn", updates=10)
    Traceback (most recent call last):
    ...
    edgeopt.errors.OptionError: name = 'dqn': must be one of 'insertion', 'sac-d'
    """
    check_choice("name", name, LEARNERS)
    check_whole("seed", seed, 0)
    check_whole("updates", updates, 1)
    import_module("edgeopt.learning.networks")  # says what to install if there is no PyTorch
    if name == "insertion":
        from edgeopt.learning.oinc.insertion_learner import InsertionLearner

        return InsertionLearner(seed=seed, updates=updates, **options)
    from edgeopt.learning.oinc.sac import SacLearner

    return SacLearner(seed=seed, updates=updates, **options)
