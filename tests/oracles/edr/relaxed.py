"""Algorithm 1 on the training problem alone: the play, what it is compared with, and its bounds."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tests.certified import linprog
from tests.oracles.edr import step

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Training:
    """Costs c[t][i], energies e[t][i], caps R[t], rates a[t][i] (0: nothing is due), box u[i]."""

    c: Sequence[Sequence[float]]
    e: Sequence[Sequence[float]]
    R: Sequence[float]
    a: Sequence[Sequence[float]]
    u: Sequence[float]
    due: Sequence[Sequence[bool]]

    @property
    def T(self) -> int:  # noqa: N802 - as in the mathematics
        return len(self.c)

    def g(self, t: int, x: Sequence[float]) -> np.ndarray:
        """Return what is due and not done in frame t."""
        return np.where(self.due[t], np.array(self.a[t]) - np.array(x), 0.0)


@dataclass
class Run:
    """x[t] of every frame and lam[t] before its dual step; lam has one more."""

    x: list = field(default_factory=list)
    lam: list = field(default_factory=list)


def run_policy(
    problem: Training, start: Sequence[float], *, alpha: float, mu: float, index: str
) -> Run:
    """Play all frames: x^0 is given; (6) with frame t, then (7) for frame t + 1.

    The gradient of (7) is that of frame t. Its energy row is that of frame t + 1 with the current
    index and that of frame t with the stale one.
    """
    run = Run()
    x = np.array(start, dtype=float)
    lam = np.zeros(len(start))
    for t in range(problem.T):
        run.x.append(x)
        run.lam.append(lam)
        lam = np.maximum(0.0, lam + mu * problem.g(t, x))
        if t + 1 == problem.T:
            break
        row = t + 1 if index == "current" else t
        # outside its window a task has the constraint 0 <= 0, which pulls nowhere
        slope = np.array(problem.c[t]) - np.where(problem.due[t], lam, 0.0)
        x = np.array(step.bisect(x, slope, problem.e[row], problem.R[row], problem.u, alpha).rounds)
    run.lam.append(lam)
    return run


def comparator(problem: Training, t: int) -> np.ndarray | None:
    """Return the cheapest x >= a within cap and box, None if there is none."""
    low = np.where(problem.due[t], problem.a[t], 0.0)
    rows = None if math.isinf(problem.R[t]) else np.array([problem.e[t]])
    right = None if rows is None else [problem.R[t]]
    bounds = list(zip(low, problem.u, strict=True))
    if any(high < lower for lower, high in bounds):
        return None
    found = linprog(problem.c[t], A_ub=rows, b_ub=right, bounds=bounds)
    return found.x if found.status == 0 else None


@dataclass(frozen=True)
class Constants:
    """Diameter, largest gradient and constraint, slack, and how much the problem moves."""

    diameter: float
    F: float
    U: float
    slack: float
    moved: list[float]
    path: float


def constants(problem: Training, best: Sequence[np.ndarray], inner: np.ndarray) -> Constants:
    """Compute them for an interior point `inner` and the comparators of all frames.

    U is the largest norm of g over the box and all frames; the drift of g between two frames is
    the norm of the positive part of a's change.
    """
    u = np.array(problem.u)
    U = max(
        float(np.linalg.norm([
            max(abs(a), abs(a - top)) if due else 0.0
            for a, top, due in zip(problem.a[t], u, problem.due[t], strict=True)
        ]))
        for t in range(problem.T)
    )  # fmt: skip
    slack = min(
        float(x - a)
        for t in range(problem.T)
        for x, a, due in zip(inner, problem.a[t], problem.due[t], strict=True)
        if due
    )
    rates = [np.where(due, a, 0.0) for a, due in zip(problem.a, problem.due, strict=True)]
    return Constants(
        diameter=float(np.linalg.norm(u)),
        F=max(float(np.linalg.norm(c)) for c in problem.c),
        U=U,
        slack=slack,
        moved=[
            float(np.linalg.norm(np.maximum(0.0, after - before)))
            for before, after in itertools.pairwise(rates)
        ],
        path=sum(
            float(np.linalg.norm(after - before)) for before, after in itertools.pairwise(best)
        ),
    )


def dual_bound(k: Constants, alpha: float, mu: float) -> float:
    """Bound the norm of the multipliers (23)."""
    above = mu * k.U**2 / 2 + 2 * k.F * k.diameter + k.diameter**2 / (2 * alpha)
    return above / (k.slack - max(k.moved, default=0.0)) + mu * k.U


def regret_bound(k: Constants, alpha: float, mu: float, frames: int) -> float:
    """Bound sum c.(x - X*) (Lemma 4)."""
    return (
        mu * k.U**2 * (frames + 1) / 2
        + alpha * k.F**2 * frames / 2
        + dual_bound(k, alpha, mu) * sum(k.moved)
        + k.diameter * k.path / alpha
        + k.diameter**2 / (2 * alpha)
    )


def fit(problem: Training, x: Sequence[Sequence[float]]) -> float:
    """Return the norm of the positive part of what is due and not done, summed over time."""
    total = sum((problem.g(t, x[t]) for t in range(problem.T)), np.zeros(len(problem.u)))
    return float(np.linalg.norm(np.maximum(0.0, total)))
