"""Algorithm 1: the saddle-point method on the relaxed training problem, frame by frame."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from edgeopt.models.edr.training import take_step
from edgeopt.online.primal_dual import FixedStep, LinearSlot, PrimalDual, ScaledStep, StepSizes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.bounds.edr.relaxed import Relaxed

    Floats = NDArray[np.float64]

__all__ = ["INDICES", "Play", "play", "theory_sizes"]

Index = Literal["current", "stale"]

INDICES: tuple[Index, ...] = ("current", "stale")
"""Whether a step keeps the cap of the frame that it is for, or of the one before, as printed."""


@dataclass(frozen=True, eq=False)
class Play:
    """One run of the method.

    Parameters
    ----------
    problem
        What was played.
    sizes
        Sizes of its steps.
    points
        Rounds of each frame, fractional, shape [T, I].
    multipliers
        Multipliers before each frame and after the last one, shape [T + 1, I]. Those of a task
        that is over stay what they were.
    """

    problem: Relaxed
    sizes: StepSizes
    points: Floats
    multipliers: Floats

    @property
    def regret(self) -> float:
        """Cost of the training less that of the even rates."""
        return float((self.problem.cost * (self.points - self.problem.rate)).sum())

    @property
    def fit(self) -> float:
        """Rounds that are missing in sum."""
        missing = self.problem.missing(self.points).sum(axis=0)
        return float(np.linalg.norm(np.maximum(missing, 0.0)))


@dataclass(frozen=True, eq=False)
class _Frame:
    """Rounds within their limits that keep the cap of a frame."""

    energy: Floats
    cap: float
    upper: Floats

    def step(self, point: Floats, direction: Floats, size: float) -> Floats:
        return take_step(point, direction, self.energy, self.cap, self.upper, size).rounds


def theory_sizes(problem: Relaxed, horizon: int | None = None) -> StepSizes:
    r"""Return step sizes proportional to :math:`T^{-1/3}`, in units of the problem."""
    rate = float(problem.rate[problem.active].mean()) if problem.active.any() else 1.0
    cost = float(np.abs(problem.cost[0]).mean()) if problem.tasks else 1.0
    rule = ScaledStep(horizon or problem.frames, point=rate or 1.0, gradient=cost or 1.0)
    return rule.sizes(0)


def play(
    problem: Relaxed,
    index: Index = "current",
    *,
    sizes: StepSizes | None = None,
    first: Floats | None = None,
) -> Play:
    """Run the method over all frames."""
    chosen = theory_sizes(problem) if sizes is None else sizes
    method = PrimalDual(FixedStep(*chosen))
    start = problem.rate[0] if first is None else first
    state = method.start(_within(start, problem, 0), problem.tasks)
    points, multipliers = [state.point], [state.multipliers]
    for t in range(problem.frames):
        slot = LinearSlot(
            problem.cost[t], -np.diag(problem.active[t].astype(float)), problem.rate[t]
        )
        state = method.ascend(state, slot)
        multipliers.append(state.multipliers)
        if t + 1 == problem.frames:
            break
        known = t + 1 if index == "current" else t
        frame = _Frame(
            problem.energy[known], float(problem.cap[known]), problem.upper * problem.active[t + 1]
        )
        state = method.descend(state, slot, frame)
        new = problem.active[t + 1] & ~problem.active[t]
        if new.any():
            point = np.where(new, problem.rate[t + 1], state.point)
            state = replace(state, point=_within(point, problem, t + 1))
        points.append(state.point)
    return Play(problem, chosen, np.array(points), np.array(multipliers))


def _within(point: Floats, problem: Relaxed, frame: int) -> Floats:
    """Scale a point down until it keeps the cap of a frame."""
    spent = float(problem.energy[frame] @ point)
    cap = float(problem.cap[frame])
    return point * (cap / spent) if spent > cap else point.copy()
