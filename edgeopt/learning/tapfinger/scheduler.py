"""The learnt scheduler: weights from a checkpoint, run in NumPy."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

from edgeopt.errors import InputError, OptionError
from edgeopt.learning import Checkpoint
from edgeopt.learning.tapfinger.adapters.encoding import encoded
from edgeopt.learning.tapfinger.network import (
    Architecture,
    NumpyBackend,
    Seen,
    Sizes,
    act,
    actor_shapes,
)
from edgeopt.online.simulate import IgnoresFeedback, Titled
from edgeopt.online.tapfinger.events import Decision
from edgeopt.options import check_flag

if TYPE_CHECKING:
    import os

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Round
    from edgeopt.online.tapfinger.policies.efficient_bundles import Information

SHIPPED: Final = ("several", "single", "unknown")
"""Checkpoints that come with the package, for the tasks of simulations.

The first two imitate `ReservationSpt`, where clusters may start several tasks in a slot and where
they may start one; the third imitates `LearntReservation`, so that nobody knew durations.
"""


class LearnedState(NamedTuple):
    """What the scheduler remembers: the instance, and the network with its weights."""

    instance: TapFingerInstance
    form: Architecture
    weights: dict[str, Any]


@dataclass(frozen=True, eq=False)
class LearnedScheduler(Titled, IgnoresFeedback):
    """A network over the graph of tasks and clusters names tasks and chooses bundles.

    Every cluster draws a task that it wants, or nobody, and then a bundle for it; a task that
    several of them name goes to the one that wants it most.

    Parameters
    ----------
    checkpoint
        What was learnt: a checkpoint, its file, or the name of one that comes with the package,
        such as ``"several"``; see `SHIPPED`.
    greedy
        Whether the likeliest task and bundle are taken instead of drawn ones. Two clusters that
        want the same task most lose a round then, and may wait for ever.

    Attributes
    ----------
    information
        Whether durations went into the training: an imitation carries in its weights what its
        teacher knew.

    Raises
    ------
    InputError
        If the checkpoint cannot be read, is not one of TapFinger, or its weights are not those of
        its network; from `start`, if it was made for other kinds, bundles or clusters.

    Notes
    -----
    Li et al., section IV, with nodes that hear themselves and a place that names nobody. It needs
    no PyTorch.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import from_bundled
    >>> from edgeopt.learning.tapfinger import LearnedScheduler
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.tapfinger import TapFingerEnvironment
    >>> policy = LearnedScheduler("several")
    >>> policy.name, policy.information
    ('Learned, several', 'durations')
    """

    title: ClassVar[str] = "Learned"
    preemptive: ClassVar[bool] = False

    checkpoint: Checkpoint | str | os.PathLike[str] = "several"
    greedy: bool = False
    _known: Checkpoint = field(init=False, repr=False, default=None)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        check_flag("greedy", self.greedy)
        known = self.checkpoint
        if not isinstance(known, Checkpoint):
            name = str(known)
            path = Path(__file__).with_name(f"{name}.safetensors") if name in SHIPPED else known
            known = Checkpoint.load(path, system="tapfinger")
        form, sizes = _of(known)
        known.require(actor_shapes(form, sizes))
        object.__setattr__(self, "_known", known)

    @property
    def name(self) -> str:
        """Title, what was learnt, and whether it is greedy."""
        known = self.checkpoint
        said = known.learner if isinstance(known, Checkpoint) else Path(known).stem
        return f"{self.title}, {said}" + (", greedy" if self.greedy else "")

    @property
    def trained(self) -> Checkpoint:
        """What was learnt: weights, settings, seeds and the curve of the training."""
        return self._known

    @property
    def information(self) -> Information:
        """What its teacher, or its training, knew of durations."""
        found: Information = self._known.settings.get("told", "durations")
        return found

    def start(self, instance: TapFingerInstance) -> LearnedState:
        """Check that the network is made for such an instance."""
        form, made = _of(self._known)
        sizes = Sizes.of(instance)
        for name in ("kinds", "cpus", "gpus") + (() if form.shared_actors else ("clusters",)):
            mine, its = getattr(made, name), getattr(sizes, name)
            if mine != its:
                raise OptionError(f"checkpoint: was made for {mine} {name}, the instance has {its}")
        return LearnedState(instance, form, dict(self._known.weights))

    def decide(
        self, state: LearnedState, observation: Round, rng: np.random.Generator
    ) -> tuple[Decision, LearnedState]:
        """Answer a round."""
        decision = Decision.void(observation.waiting.size)
        if (observation.pending[:, 0] < 0).all():
            return decision, state
        seen = Seen.of(*encoded(state.instance, observation))
        sizes = Sizes.of(state.instance)
        made = act(
            NumpyBackend, state.weights, state.form, sizes, seen, None if self.greedy else rng
        )
        place, bundle = made.action[0, :, 0], made.action[0, :, 1:]
        named = np.flatnonzero(place < observation.pending.shape[1])
        decision.task[named] = observation.pending[named, place[named]]
        decision.bundle[named] = bundle[named]
        return decision._replace(score=made.score[0]), state


def _of(checkpoint: Checkpoint) -> tuple[Architecture, Sizes]:
    """Return the network that a checkpoint says it is of."""
    try:
        settings = checkpoint.settings
        return Architecture(**settings["network"]), Sizes(**settings["sizes"])
    except (KeyError, TypeError) as error:
        raise InputError("checkpoint", f"does not say of which network it is: {error}") from None
