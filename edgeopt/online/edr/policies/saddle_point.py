"""The online control of the paper: saddle-point steps on fractions of rounds, then rounding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.online.edr.policies.policy import EdrPolicy
from edgeopt.online.edr.training import (
    RelaxedFrame,
    TrainingSet,
    trainable,
    typical,
    unit_cost,
)
from edgeopt.online.primal_dual import PrimalDual, SaddleState, ScaledStep, StepRule
from edgeopt.options import check_able, check_choice, check_real
from edgeopt.rounding import pairwise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.events import ClosedFrame, Frame


@dataclass(frozen=True, eq=False)
class SaddleMemory:
    """What the saddle-point policy keeps from frame to frame."""

    instance: EdrInstance
    saddle: SaddleState  # fractional rounds, multipliers of the tasks' averages, [I] each
    trainable: NDArray[np.bool_]  # whether each task could train in the last frame, [I]
    rule: StepRule | None = None  # step sizes, once a task has shown what a round costs
    past: RelaxedFrame | None = None  # the last frame, with its true price once that is known
    allowed: TrainingSet | None = None  # what could be trained in the last frame


@dataclass(frozen=True, eq=False, kw_only=True)
class SaddlePoint(EdrPolicy[SaddleMemory]):
    r"""Learn how many rounds to train by saddle-point steps, and round them at random.

    Every task has a multiplier that grows while the task lacks rounds against its even rate. The
    rounds of a frame follow from those of the last one by a proximal step along cost less
    multiplier, within the energy cap; they are fractions, which pairwise rounding makes whole.

    Parameters
    ----------
    index
        Energy and cap that the step keeps to: ``"current"``, those of the frame it is for, or
        ``"stale"``, those of the frame before, as printed. Only the first keeps the cap.
    gradient
        Cost that the step goes down along: ``"current"``, of this frame at the expected price, or
        ``"stale"``, of the frame before at its true price, as printed.
    init
        Rounds in a task's first frame: its even ``"rate"``, or ``"zero"``.
    residual
        What becomes of the last fraction in rounding: ``"bernoulli"``, up or down at random, keeps
        every expectation and exceeds the energy of the fractions by less than one round;
        ``"floor"``, as printed, never exceeds it and trains less than requested.
    alpha0, mu0
        Factors of the sizes of descent and ascent, see `ScaledStep`; None: the mean window, in
        frames, of the tasks seen first, and 1. Such steps are long enough to train a task within a
        few cheap frames; a task that has not trained for a frame is owed the cost of a round.
    step
        A step rule instead of the scaled one; ``"printed"``: both factors are :math:`T^{-1/3}`.
    elastic, reserve, guard, training_room, price_forecast
        As for `EdrPolicy`.

    Raises
    ------
    OptionError
        If an option is unknown or out of range.

    Notes
    -----
    Zhu et al., Algorithms 0, 1 and 2. There the step is neither bounded by the rounds left nor by
    what the sites can compute, deadlines are not guarded, and sizes have no units. The sizes of
    Corollary 1 shrink with the horizon and are bounded in regret and fit; they are for costs that
    change slowly. Where the best frames are few, as with channels drawn anew in every frame, the
    bound of Lemma 4 is least at an :math:`\alpha` that does not depend on it.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.edr import EdrEnvironment, SaddlePoint
    >>> simulate(EdrEnvironment(small(1)), SaddlePoint(), runs=5)
    EdrTrajectory(Saddle point, 5 scenarios, 2 slots, mean reward 4980.28)
    """

    title: ClassVar[str] = "Saddle point"
    deterministic: ClassVar[bool] = False

    index: Literal["current", "stale"] = "current"
    gradient: Literal["current", "stale"] = "current"
    init: Literal["rate", "zero"] = "rate"
    residual: Literal["bernoulli", "floor"] = "bernoulli"
    alpha0: float | None = None
    mu0: float | None = None
    step: StepRule | Literal["printed"] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("index", self.index, ("current", "stale"))
        check_choice("gradient", self.gradient, ("current", "stale"))
        check_choice("init", self.init, ("rate", "zero"))
        check_choice("residual", self.residual, ("bernoulli", "floor"))
        check_real("alpha0", self.alpha0, "(0, inf)", none=True)
        check_real("mu0", self.mu0, "[0, inf)", none=True)
        if isinstance(self.step, str):
            check_choice("step", self.step, ("printed",), otherwise="a step rule")
        elif self.step is not None:
            check_able("step", self.step, "sizes")
        if self.step is not None and (self.alpha0, self.mu0) != (None, None):
            raise OptionError("step takes the place of alpha0 and mu0: give one of them")

    def begin(self, instance: EdrInstance) -> SaddleMemory:
        """Begin with no rounds and no multipliers."""
        nothing = np.zeros(instance.tasks)
        saddle = SaddleState(nothing, nothing)
        return SaddleMemory(instance, saddle, np.zeros(instance.tasks, np.bool_))

    def requested_rounds(
        self, memory: SaddleMemory, frame: Frame, cap: float, rng: np.random.Generator
    ) -> tuple[Ints, SaddleMemory]:
        """Step to the frame's fractions, and round them."""
        memory = self.relax(memory, frame, cap)
        return self.round(memory, frame, rng), memory

    def relax(self, memory: SaddleMemory, frame: Frame, cap: float) -> SaddleMemory:
        """Return the memory with the fractional rounds of a frame in ``saddle.point``.

        `cap` is the energy that training may use, Wh; for ``index="current"`` the point keeps it.
        """
        can_train = trainable(frame)
        fresh = can_train & ~memory.trainable
        cost = unit_cost(memory.instance, frame, self.price(frame))
        rule = memory.rule or self._rule(memory.instance, frame, cost)
        upper = np.where(can_train, frame.remaining, 0).astype(np.float64)
        allowed = TrainingSet(frame.round_energy, cap, upper)
        limits = allowed
        if self.index == "stale" and memory.allowed is not None:
            energy = np.where(fresh, allowed.energy, memory.allowed.energy)
            limits = TrainingSet(energy, memory.allowed.cap, allowed.upper)
        # A task that has left or is done counts no more.
        saddle = replace(
            memory.saddle,
            point=np.where(can_train, memory.saddle.point, 0.0),
            multipliers=np.where(can_train, memory.saddle.multipliers, 0.0),
        )
        if memory.past is not None and rule is not None:
            along = memory.past
            if self.gradient == "current":
                along = RelaxedFrame(cost, frame.even_rate, can_train)
            known = limits._replace(upper=np.where(fresh, 0.0, limits.upper))
            # Modified online saddle point (Chen, Ling and Giannakis 2017), over tasks known before.
            saddle = PrimalDual(rule).descend(saddle, along, known)
        if fresh.any():
            first = frame.even_rate if self.init == "rate" else np.zeros(can_train.size)
            saddle = replace(saddle, point=limits.shrink(np.where(fresh, first, saddle.point)))
        return replace(memory, saddle=saddle, trainable=can_train, rule=rule, allowed=allowed)

    def round(self, memory: SaddleMemory, frame: Frame, rng: np.random.Generator) -> Ints:
        """Return whole rounds for the fractions of a frame, shape [I]."""
        point, energy = memory.saddle.point, frame.round_energy
        if not memory.trainable.any():
            return np.zeros(point.size, dtype=np.int64)
        return pairwise(point, energy, rng=rng, residual=self.residual)

    def close_frame(self, memory: SaddleMemory, frame: Frame, closed: ClosedFrame) -> SaddleMemory:
        """Raise the multipliers by what the fractions lacked, and note the true cost."""
        cost = unit_cost(memory.instance, frame, closed.price)
        past = RelaxedFrame(cost, frame.even_rate, trainable(frame))
        if memory.rule is None:
            return replace(memory, past=past)
        return replace(
            memory, past=past, saddle=PrimalDual(memory.rule).ascend(memory.saddle, past)
        )

    def _rule(self, instance: EdrInstance, frame: Frame, cost: Floats) -> StepRule | None:
        """Return the step sizes, None while no task has shown what a round costs."""
        if self.step is not None and not isinstance(self.step, str):
            return self.step
        scale = typical(frame, cost)
        if scale is None:
            return None
        rule = ScaledStep(instance.frames, scale.rate, scale.cost, self.alpha0, self.mu0)
        if self.step == "printed":
            return rule
        alpha0 = scale.window if self.alpha0 is None else self.alpha0
        return replace(rule, primal=alpha0, dual=1.0 if self.mu0 is None else self.mu0)
