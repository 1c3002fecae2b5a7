"""The run of Algorithm 1 and the constants of its analysis, against plain ones."""

import itertools
import math

import numpy as np
import pytest
from edgeopt_papers.edr.claims.evaluation import Constants, run_policy, theory_sizes
from edgeopt_papers.edr.claims.instances import moving
from edgeopt_papers.edr.claims.relaxed import Relaxed
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.instances.edr.named import steady
from edgeopt.online.primal_dual import StepSizes
from tests.draws import LEAN, draws


@st.composite
def problems(draw, tasks=3, frames=5):
    """Draw a training problem of whole numbers and halves, with windows, caps of 0 and ties."""
    T, I = draw(st.integers(1, frames)), draw(st.integers(1, tasks))  # noqa: E741

    def table(values, *shape):
        some = draw(st.lists(st.sampled_from(values), min_size=1, max_size=12))
        return np.resize(np.array(some, dtype=float), shape)

    arrival = np.array([draw(st.integers(0, T - 1)) for _ in range(I)])
    deadline = np.array([draw(st.integers(first, T - 1)) for first in arrival])
    frame = np.arange(T)[:, None]
    active = (frame >= arrival) & (frame <= deadline)
    return Relaxed(
        cost=table([1, 2, 0.5, 0, -1, 3], T, I),
        energy=table([1, 2, 0.5, 0], T, I),
        cap=table([3, 1, 0, math.inf, 6], T),
        rate=table([1, 0.5, 2, 1.5], T, I) * active,
        active=active,
        upper=table([4, 2, 3], I),
    )


def plain_step(point, direction, energy, cap, upper, size):
    """Halve the interval of the price of energy."""

    def rounds(price):
        return np.clip(point - size * (direction + price * energy), 0, upper)

    if energy @ rounds(0.0) <= cap:
        return rounds(0.0)
    low, high = 0.0, 1.0
    while energy @ rounds(high) > cap:
        high *= 2
        if high > 1e12:
            return np.where(energy > 0, 0.0, rounds(0.0))
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if energy @ rounds(middle) > cap else (low, middle)
    return rounds(high)


def plain_run(problem, sizes, index):
    T, I = problem.cost.shape  # noqa: E741

    def fit(x, t):
        spent = problem.energy[t] @ x
        return x * (problem.cap[t] / spent) if spent > problem.cap[t] else x

    x, multipliers = fit(problem.rate[0], 0), np.zeros(I)
    points, duals = [x], [multipliers]
    for t in range(T):
        here = problem.active[t]
        multipliers = np.where(
            here, np.maximum(0, multipliers + sizes.dual * (problem.rate[t] - x)), multipliers
        )
        duals.append(multipliers)
        if t + 1 < T:
            known = t + 1 if index == "current" else t
            x = plain_step(
                x, problem.cost[t] - multipliers * here, problem.energy[known], problem.cap[known],
                problem.upper * problem.active[t + 1], sizes.primal,
            )  # fmt: skip
            new = problem.active[t + 1] & ~here
            if new.any():
                x = fit(np.where(new, problem.rate[t + 1], x), t + 1)
            points.append(x)
    return np.array(points), np.array(duals)


@given(problems(), st.sampled_from(["current", "stale"]), st.sampled_from([0.25, 0.5, 1.0, 2.0]))
def test_run_is_that_of_a_plain_loop(problem, index, size):
    sizes = StepSizes(size, 1 / size)
    run = run_policy(problem, index, sizes=sizes)
    points, duals = plain_run(problem, sizes, index)
    assert run.points == pytest.approx(points, abs=1e-9)
    assert run.multipliers == pytest.approx(duals, abs=1e-9)
    gaps = np.where(problem.active, problem.rate - points, 0).sum(axis=0)
    assert run.fit == pytest.approx(math.hypot(*np.maximum(gaps, 0)), abs=1e-8)
    assert run.regret == pytest.approx((problem.cost * (points - problem.rate)).sum(), abs=1e-8)


@settings(max_examples=draws(100))
@given(problems())
def test_current_cap_is_kept_in_every_frame(problem):
    run = run_policy(problem, "current")
    assert (problem.spent(run.points) <= problem.cap * (1 + 1e-9) + 1e-12).all()


def corners(most):
    return [np.array(corner) for corner in itertools.product(*([0.0, top] for top in most))]


@settings(max_examples=draws(100))
@given(problems())
def test_constants_are_the_largest_over_the_corners_of_the_box(problem):
    """Norms are convex, and each entry of a positive part too: their maxima are at corners."""
    box = corners(problem.most)
    here, rate = problem.active, problem.rate
    largest = max(
        np.linalg.norm(np.where(here[t], rate[t] - x, 0))
        for t in range(problem.frames)
        for x in box
    )
    assert problem.constraints == pytest.approx(largest)
    far = max(np.linalg.norm(x - y) for x in box for y in box)
    assert problem.diameter == pytest.approx(far)
    assert problem.gradient == pytest.approx(max(np.linalg.norm(c) for c in problem.cost))
    for t in range(problem.frames - 1):

        def g(x, t):
            return np.where(here[t], rate[t] - x, 0)

        most = max(np.linalg.norm(np.maximum(g(x, t + 1) - g(x, t), 0)) for x in box)
        assert problem.drift[t] == pytest.approx(most)


@settings(max_examples=draws(100))
@given(problems())
def test_most_rounds_of_a_task_are_those_it_can_do_alone(problem):
    for i, most in enumerate(problem.most):
        alone = [
            min(problem.upper[i], cap / e if e > 0 else math.inf)
            for cap, e in zip(problem.cap.tolist(), problem.energy[:, i].tolist(), strict=True)
        ]
        assert most == max(alone)


@settings(max_examples=draws(100))
@given(problems(), st.integers(0, 2**32 - 1))
def test_no_point_that_is_played_leaves_the_box(problem, seed):
    draw = np.random.default_rng(seed)
    for index in ("current", "stale"):
        run = run_policy(problem, index, first=draw.uniform(0, 1, problem.tasks) * problem.most)
        assert (run.points <= problem.most * (1 + 1e-9) + 1e-12).all()


@settings(max_examples=draws(100))
@given(problems())
def test_slack_is_the_optimum_of_a_program(problem):
    from tests.certified import linprog

    if not problem.steady:
        assert problem.slack == 0
        return
    width = problem.tasks
    rows, limits = [], []
    for t in range(problem.frames):
        for i in range(width):
            rows.append([*(-np.eye(width)[i]), 1.0])
            limits.append(-problem.rate[t, i])
        if np.isfinite(problem.cap[t]):
            rows.append([*problem.energy[t], 0.0])
            limits.append(problem.cap[t])
    # A negative slack says only that no point has every constraint at most 0; energy could then be
    # saved below 0 rounds, which the formula allows and the program does not.
    answer = linprog(
        [0.0] * width + [-1.0], A_ub=rows, b_ub=limits,
        bounds=[(0, top) for top in problem.upper] + [(None, None)],
    )  # fmt: skip
    if problem.slack >= 0:
        assert problem.slack == pytest.approx(-answer.fun, abs=1e-7)
    else:
        assert answer.status == 0
        assert -answer.fun < 1e-9


def test_bounds_by_hand():
    """U = 2, F = 3, D = 4, slack 1/2, drift 1/4, in steps of 1/2 and 2 over 8 frames."""
    constants = Constants(
        frames=8, sizes=StepSizes(0.5, 2.0), gradient=3.0, constraints=2.0, diameter=4.0,
        slack=0.5, largest_drift=0.25, drift=1.0, path=3.0,
    )  # fmt: skip
    multiplier = (2 * 4 / 2 + 2 * 3 * 4 + 16 / (2 * 0.5)) / 0.25 + 2 * 2
    assert constants.multiplier == pytest.approx(multiplier)
    assert constants.fit == pytest.approx(multiplier / 2)
    bound = 2 * 4 * 9 / 2 + 0.5 * 9 * 8 / 2 + multiplier * 1 + 4 * 3 / 0.5 + 16 / (2 * 0.5)
    assert constants.regret == pytest.approx(bound)


def test_sizes_of_the_theory_have_the_units_of_the_problem():
    problem = moving(0)
    primal, dual = theory_sizes(problem)
    rate, cost = problem.rate.mean(), problem.cost[0].mean()
    assert primal == pytest.approx(30 ** (-1 / 3) * rate / cost)
    assert dual == pytest.approx(30 ** (-1 / 3) * cost / rate)


def test_steady_instances_fulfil_the_assumptions():
    for seed in range(12 if LEAN else 50):
        problem = Relaxed.of(steady(seed))
        assert problem.steady
        assert problem.slack > problem.drift.max() == 0
        assert problem.affordable.all()
