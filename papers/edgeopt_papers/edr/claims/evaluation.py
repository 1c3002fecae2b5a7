"""What the claims measure on one instance, each piece of work done once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from edgeopt.bounds.claim import Assumption, NotApplicableError
from edgeopt.instances.edr import EdrInstance
from edgeopt.models.edr.training import take_step
from edgeopt.online.primal_dual import (
    FixedStep,
    LinearSlot,
    PrimalDual,
    ScaledStep,
    StepSizes,
    fit_bound,
    multiplier_bound,
    regret_bound,
)
from edgeopt_papers.claims.paper import EXACT, Paper, hashed
from edgeopt_papers.edr.claims.relaxed import Relaxed
from edgeopt_papers.edr.claims.serving import Serving

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeopt.arrays import Floats


@dataclass(frozen=True, eq=False)
class Planned:
    """An instance, and the rounds that Algorithm 1 is taken to have planned."""

    instance: EdrInstance
    points: NDArray[np.float64]  # fractional rounds of each frame, shape [T, I]

    def fingerprint(self) -> str:
        """Return a hash of instance and rounds."""
        return hashed(self.instance.fingerprint(), self.points)


Index = Literal["current", "stale"]

INDICES: tuple[Index, ...] = ("current", "stale")
"""Whether a step keeps the cap of the frame that it is for, or of the one before, as printed."""


@dataclass(frozen=True, eq=False)
class Run:
    """One run of the method."""

    problem: Relaxed
    sizes: StepSizes
    points: Floats  # rounds of each frame, fractional, shape [T, I]
    # Multipliers before each frame and after the last one, shape [T + 1, I]. Those of a task
    # that is over stay what they were.
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


def run_policy(
    problem: Relaxed,
    index: Index = "current",
    *,
    sizes: StepSizes | None = None,
    first: Floats | None = None,
) -> Run:
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
    return Run(problem, chosen, np.array(points), np.array(multipliers))


def _within(point: Floats, problem: Relaxed, frame: int) -> Floats:
    """Scale a point down until it keeps the cap of a frame."""
    spent = float(problem.energy[frame] @ point)
    cap = float(problem.cap[frame])
    return point * (cap / spent) if spent > cap else point.copy()


@dataclass(frozen=True)
class Constants:
    """What the bounds of the analysis are made of."""

    frames: int  # length T of the horizon
    sizes: StepSizes
    # Largest norm F of a cost gradient, U of the constraints, and largest distance of two
    # points
    gradient: float
    constraints: float
    diameter: float
    slack: float  # the \epsilon of Assumption 2
    # Largest growth of the constraints from one frame to the next, and the sum of all
    largest_drift: float
    drift: float
    path: float  # length of the path of the comparators

    @classmethod
    def of(cls, problem: Relaxed, horizon: int | None = None) -> Constants:
        """Compute them from a problem, for another horizon with the same frames if one is given."""
        return cls(
            frames=horizon or problem.frames,
            sizes=theory_sizes(problem, horizon),
            gradient=problem.gradient,
            constraints=problem.constraints,
            diameter=problem.diameter,
            slack=problem.slack,
            largest_drift=float(problem.drift.max(initial=0.0)),
            drift=float(problem.drift.sum()),
            path=problem.path,
        )

    def replace(self, **changes: Any) -> Constants:
        """Return a copy with other numbers."""
        return replace(self, **changes)

    @property
    def multiplier(self) -> float:
        r"""The :math:`\bar\lambda` of Lemma 3, equation (23)."""
        return multiplier_bound(
            self.sizes,
            gradient=self.gradient,
            constraints=self.constraints,
            diameter=self.diameter,
            slack=self.slack,
            drift=self.largest_drift,
        )

    @property
    def fit(self) -> float:
        """Bound of the fit, Theorem 2."""
        return fit_bound(self.multiplier, self.sizes.dual)

    @property
    def regret(self) -> float:
        r"""Bound :math:`A_T` of the regret of training, Lemma 4, equation (34)."""
        return regret_bound(
            self.sizes,
            self.frames,
            gradient=self.gradient,
            constraints=self.constraints,
            diameter=self.diameter,
            multipliers=self.multiplier,
            drift=self.drift,
            path=self.path,
        )


class Evaluation:
    """An instance, its relaxed training problem and the runs of Algorithm 1 on it."""

    def __init__(self, given: EdrInstance | Planned | Relaxed) -> None:
        self.given = given
        self.fixed = given.points if isinstance(given, Planned) else None
        self._whole = given.instance if isinstance(given, Planned) else given
        self.problem = Relaxed.of(self._whole)

    @property
    def instance(self) -> EdrInstance:
        """The instance itself."""
        if not isinstance(self._whole, EdrInstance):
            raise NotApplicableError("needs requests, and only the training problem is given")
        return self._whole

    @cached_property
    def serving(self) -> Serving:
        """What serving costs in each frame."""
        return Serving(self.instance)

    @cached_property
    def simulated(self) -> dict[str, Run]:
        """Runs of Algorithm 1 with the step sizes of the theory, by the cap that a step keeps."""
        if self.problem.tasks == 0:
            raise NotApplicableError("there is nothing to train")
        return {index: run_policy(self.problem, index) for index in INDICES}

    @property
    def points(self) -> NDArray[np.float64]:
        """Fractional rounds: those fixed in advance, or those of Algorithm 1, shape [T, I]."""
        return self.simulated["current"].points if self.fixed is None else self.fixed


Given = EdrInstance | Planned | Relaxed


def whole(given: Given) -> EdrInstance | Relaxed:
    """Return the instance itself, with or without rounds that are fixed."""
    return given.instance if isinstance(given, Planned) else given


def _of_problem(test: Callable[[Relaxed], bool]) -> Callable[[Given], bool]:
    return lambda given: test(Relaxed.of(whole(given)))


TASKS = Assumption("something to train", "there is a task", _of_problem(lambda one: one.tasks > 0))

ALWAYS = Assumption(
    "windows of all frames",
    "all tasks may train in all frames",
    _of_problem(lambda one: one.steady),
)

NONNEGATIVE = Assumption(
    "no round earns money",
    r"$c^t_i \ge 0$ for all tasks and frames, which no negative price is needed for",
    _of_problem(lambda one: bool((one.cost >= 0).all())),
)


def _priced(given: Given) -> bool:
    instance = whole(given)
    return isinstance(instance, EdrInstance) and bool((instance.price >= 0).all())


PRICED = Assumption("no negative price", r"$r^t \ge 0$ for all $t$", _priced)

AFFORDABLE = Assumption(
    "the even rates keep every cap",
    r"$e^t \cdot a^t \le R^t$, without which a frame has no comparator",
    _of_problem(lambda one: bool(one.affordable.all())),
)

INTERIOR = Assumption(
    "Assumptions 2 and 3",
    r"all tasks may train in all frames, and one point has $g^t \le -\epsilon$ in every frame with "
    r"$\epsilon$ larger than $\max_t \|[a^{t+1} - a^t]^+\|$",
    _of_problem(
        lambda one: one.steady and np.isfinite(one.diameter)
        and one.slack > float(one.drift.max(initial=0.0))
    ),
)  # fmt: skip

CAPPED = Assumption(
    "a cap in every frame",
    r"$R^t < \infty$ for all $t$",
    _of_problem(lambda one: bool(np.isfinite(one.cap).all())),
)


_paper = Paper(
    "edr", instance_type=(EdrInstance, Planned, Relaxed), view=Evaluation, tolerance=EXACT
)

claim, erratum = _paper.claim, _paper.erratum
"""Build a claim, by default about the training problem alone."""

about_requests = partial(claim, instance_type=(EdrInstance, Planned))
"""Build a claim about the requests of an instance."""
