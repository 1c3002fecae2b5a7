"""What the claims measure on one instance, each piece of work done once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from edgeopt.bounds.claim import NotApplicableError
from edgeopt.bounds.edr.planned import Planned
from edgeopt.bounds.edr.play import INDICES, Play, play
from edgeopt.bounds.edr.relaxed import Relaxed
from edgeopt.bounds.edr.serving import Serving
from edgeopt.instances.edr import EdrInstance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Evaluation"]


class Evaluation:
    """An instance, its relaxed training problem and the runs of Algorithm 1 on it.

    Parameters
    ----------
    given
        The instance, with or without rounds fixed in advance, or the training problem alone.
    """

    def __init__(self, given: EdrInstance | Planned | Relaxed) -> None:
        self.given = given
        self.fixed = given.points if isinstance(given, Planned) else None
        self._whole = given.instance if isinstance(given, Planned) else given
        self.problem = Relaxed.of(self._whole)

    @property
    def instance(self) -> EdrInstance:
        """The instance itself."""
        if not isinstance(self._whole, EdrInstance):
            raise NotApplicableError("speaks about requests, and only training is given")
        return self._whole

    @cached_property
    def serving(self) -> Serving:
        """What serving costs in each frame."""
        return Serving(self.instance)

    @cached_property
    def plays(self) -> dict[str, Play]:
        """Runs of Algorithm 1 with the step sizes of the theory, by the cap that a step keeps."""
        if self.problem.tasks == 0:
            raise NotApplicableError("there is nothing to train")
        return {index: play(self.problem, index) for index in INDICES}

    @property
    def points(self) -> NDArray[np.float64]:
        """Fractional rounds: those fixed in advance, or those of Algorithm 1, shape [T, I]."""
        return self.plays["current"].points if self.fixed is None else self.fixed
