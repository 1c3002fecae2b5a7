"""The saddle-point method against its equations, and the rounding of its fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.bounds.regret import dynamic_fit, dynamic_regret
from edgeopt.online.edr.training import TrainingSet
from edgeopt.online.primal_dual import (
    FixedStep,
    LinearSlot,
    PrimalDual,
    ScaledStep,
    StepSizes,
    fit_bound,
    multiplier_bound,
)
from edgeopt.rounding import pairwise_distribution
from tests.oracles.edr import relaxed as oracle

if TYPE_CHECKING:
    from tests.oracles.edr.relaxed import Run


SEEDS = st.integers(0, 2**32 - 1)
INDICES = st.sampled_from(["current", "stale"])


@dataclass(frozen=True)
class Setting:
    """A training problem, a point to begin with, step sizes, and a point inside all frames."""

    problem: oracle.Training
    start: list[float]
    steps: StepSizes
    inner: np.ndarray

    def run_policy(self, index: str) -> Run:
        return oracle.run_policy(
            self.problem, self.start, alpha=self.steps.primal, mu=self.steps.dual, index=index
        )

    @property
    def best(self) -> list[np.ndarray]:
        found = [oracle.comparator(self.problem, t) for t in range(self.problem.T)]
        assert all(x is not None for x in found)
        return found  # type: ignore[return-value]


def settings(*, inside: bool = True) -> st.SearchStrategy[Setting]:
    return SEEDS.map(lambda seed: draw(seed, inside=inside))


def draw(seed: int, *, inside: bool) -> Setting:
    """Draw a problem; `inside`: with a common interior point, as the bounds assume.

    Otherwise caps are anything, windows open and close, and prices may be negative.
    """
    rng = np.random.default_rng(seed)
    T, n = int(rng.integers(2, 11)), int(rng.integers(1, 5))
    u = rng.uniform(1.0, 4.0, n)
    base = rng.uniform(0.1, 0.5, n) * u
    slack = float(rng.uniform(0.05, 0.4)) * float((u - base).min())
    # rates wander by less than the slack, in norm
    wander = rng.choice([0.0, 0.2]) * slack / np.sqrt(n)
    a = base + rng.uniform(-wander, 0, (T, n))
    c = rng.uniform(0.1, 2.0, (T, n))
    e = rng.uniform(0.2, 1.5, (T, n))
    inner = base + slack
    R = (e @ inner) * rng.choice([1.0, 1.0, 1.3, np.inf], T)
    due = np.ones((T, n), dtype=bool)
    start = rng.uniform(0, 1, n) * base
    if not inside:
        R = (e @ base) * rng.choice([0.0, 0.3, 0.7, 1.0, np.inf], T)
        first = rng.integers(0, T, n)
        last = rng.integers(first, T)
        frame = np.arange(T)[:, None]
        due = (frame >= first) & (frame <= last)
        c = c - 0.5
        start *= 0 if R[0] == 0 else min(1.0, R[0] / max(1e-9, float(e[0] @ start)))
    rule = ScaledStep(T, float(a.mean()), float(np.abs(c[0]).mean()))
    steps = StepSizes(*(float(s * rng.choice([0.3, 1.0, 3.0])) for s in rule.sizes(0)))
    tables = (v.tolist() for v in (c, e, R, a, u, due))
    return Setting(oracle.Training(*tables), start.tolist(), steps, inner)


@given(settings(inside=False), INDICES)
def test_the_driver_follows_the_equations(setting, index):
    problem, expected = setting.problem, setting.run_policy(index)
    method = PrimalDual(FixedStep(*setting.steps))
    state = method.start(setting.start, len(setting.start))
    for t in range(problem.T):
        assert state.point == pytest.approx(expected.x[t], abs=1e-9)
        assert state.multipliers == pytest.approx(expected.lam[t], abs=1e-9)
        due = np.array(problem.due[t], dtype=float)
        revealed = LinearSlot(problem.c[t], -np.diag(due), due * problem.a[t])
        if t + 1 == problem.T:
            state = method.ascend(state, revealed)
            continue
        row = t + 1 if index == "current" else t
        space = TrainingSet(np.array(problem.e[row]), float(problem.R[row]), np.array(problem.u))
        state = method.update(state, revealed, space)
    assert state.multipliers == pytest.approx(expected.lam[-1], abs=1e-9)


@given(settings(inside=False))
def test_the_current_cap_is_never_exceeded(setting):
    problem, run = setting.problem, setting.run_policy("current")
    for t in range(problem.T):
        used = float(np.dot(problem.e[t], run.x[t]))
        assert used <= problem.R[t] * (1 + 1e-12) + 1e-12


def test_a_stale_cap_is_exceeded():
    problem = oracle.Training(
        c=[[-1.0]] * 2, e=[[1.0]] * 2, R=[2.0, 1.0], a=[[1.0]] * 2, u=[5.0], due=[[True]] * 2
    )
    for index, used in (("stale", 2.0), ("current", 1.0)):
        run = oracle.run_policy(problem, [1.0], alpha=10.0, mu=1.0, index=index)
        assert run.x[1].tolist() == [used]


@given(settings(inside=False), INDICES)
def test_multipliers_grow_no_faster_than_the_ascent(setting, index):
    """Lemma 3, (22): half the growth of the squared norm against the step itself."""
    problem, run, mu = setting.problem, setting.run_policy(index), setting.steps.dual
    for t in range(problem.T):
        g = problem.g(t, run.x[t])
        grown = (np.dot(run.lam[t + 1], run.lam[t + 1]) - np.dot(run.lam[t], run.lam[t])) / 2
        assert grown <= mu * np.dot(run.lam[t], g) + mu**2 * np.dot(g, g) / 2 + 1e-12


@given(settings(inside=False), INDICES)
def test_the_fit_is_bounded_by_the_last_multipliers(setting, index):
    """Theorem 2 without its second half: nothing is assumed of caps, windows or prices."""
    problem, run = setting.problem, setting.run_policy(index)
    guaranteed = fit_bound(float(np.linalg.norm(run.lam[-1])), setting.steps.dual)
    g = [problem.g(t, run.x[t]) for t in range(problem.T)]
    found = dynamic_fit(g, guarantee=guaranteed + 1e-12)
    assert found.value == pytest.approx(oracle.fit(problem, run.x), abs=1e-12)
    assert found.within


@given(settings(), INDICES)
def test_multipliers_fit_and_regret_stay_below_their_bounds(setting, index):
    """Lemma 3, (23), Theorem 2 and Lemma 4, where caps and rates have a common interior point.

    The cheapest training of each frame is then the even rate.
    """
    problem, steps, run, best = (
        setting.problem,
        setting.steps,
        setting.run_policy(index),
        setting.best,
    )
    assert best == [pytest.approx(problem.a[t], abs=1e-9) for t in range(problem.T)]
    k = oracle.constants(problem, best, setting.inner)
    bound = multiplier_bound(
        steps, gradient=k.F, constraints=k.U, diameter=k.diameter, slack=k.slack,
        drift=max(k.moved, default=0.0),
    )  # fmt: skip
    assert bound == pytest.approx(oracle.dual_bound(k, *steps), rel=1e-12)
    assert max(float(np.linalg.norm(lam)) for lam in run.lam) <= bound
    assert oracle.fit(problem, run.x) <= fit_bound(bound, steps.dual)
    paid = [float(np.dot(problem.c[t], run.x[t])) for t in range(problem.T)]
    least = [float(np.dot(problem.c[t], best[t])) for t in range(problem.T)]
    guarantee = oracle.regret_bound(k, *steps, problem.T)
    found = dynamic_regret(paid, least, guarantee=guarantee)
    assert found.value == pytest.approx(sum(paid) - sum(least), abs=1e-9)
    assert found.within


@given(st.integers(0, 40), st.floats(0.5, 2.0))
def test_multipliers_of_a_task_that_is_over_keep_what_it_missed(frames, mu):
    """A window of one frame in which nothing is done: the fit is 1, and so must be lam / mu."""
    T = frames + 1
    due = [[t == 0] for t in range(T)]
    problem = oracle.Training(
        c=[[1.0]] * T, e=[[1.0]] * T, R=[9.0] * T, a=[[1.0]] * T, u=[0.0], due=due
    )
    run = oracle.run_policy(problem, [0.0], alpha=1.0, mu=mu, index="current")
    assert oracle.fit(problem, run.x) == 1.0
    assert run.lam[-1].tolist() == [mu]


F = Fraction


@pytest.mark.parametrize("residual", ["floor", "bernoulli"])
def test_no_rounding_has_both(residual):
    """Half a round under a cap of half a round: expectation 1/2 and never above 0 is impossible."""
    distribution = pairwise_distribution([F(1, 2)], [1], residual=residual)
    exact = sum(p * z[0] for z, p in distribution.items()) == F(1, 2)
    within = all(z[0] <= F(1, 2) for z in distribution)
    assert exact != within
    assert within == (residual == "floor")


def test_floor_never_trains_a_task_of_constant_rate():
    assert pairwise_distribution([F(99, 100)], [1], residual="floor") == {(0,): 1}
