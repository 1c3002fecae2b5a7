"""The saddle-point method: steps in fractions, units of the step rules, and what is guaranteed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from edgeopt.errors import InputError, OptionError
from edgeopt.online.primal_dual import (
    Box,
    FixedStep,
    LinearSlot,
    PrimalDual,
    ScaledStep,
    StepSizes,
    VariationStep,
    fit_bound,
    multiplier_bound,
    regret_bound,
)
from tests.draws import draws

if TYPE_CHECKING:
    from collections.abc import Callable

Floats = NDArray[np.float64]
SEEDS = st.integers(0, 2**32 - 1)


def rate_slot(cost: Floats, wanted: Floats) -> LinearSlot:
    """Every entry of the point is to reach its rate on average."""
    return LinearSlot(cost, -np.eye(len(cost)), wanted)


@settings(max_examples=draws(60))
@given(SEEDS)
def test_steps_are_those_of_a_plain_loop_in_fractions(seed: int):
    rng = np.random.default_rng(seed)
    n, m, slots = rng.integers(1, 5), rng.integers(1, 4), 5
    primal, dual = Fraction(int(rng.integers(1, 9)), 8), Fraction(int(rng.integers(0, 9)), 8)
    cost = rng.integers(-8, 9, (slots, n))
    matrix = rng.integers(-4, 5, (slots, m, n))
    offset = rng.integers(-8, 9, (slots, m))
    upper = rng.integers(0, 8, (slots + 1, n))
    method = PrimalDual(FixedStep(float(primal), float(dual)))
    state = method.start(np.zeros(n), int(m))
    point, multipliers = [Fraction(0)] * int(n), [Fraction(0)] * int(m)
    for t in range(slots):
        for row in range(m):
            value = int(offset[t, row]) + sum(int(matrix[t, row, i]) * point[i] for i in range(n))
            multipliers[row] = max(Fraction(0), multipliers[row] + dual * value)
        new = []
        for i in range(n):
            slope = int(cost[t, i]) + sum(
                multipliers[row] * int(matrix[t, row, i]) for row in range(m)
            )
            new.append(min(max(point[i] - primal * slope, Fraction(0)), Fraction(int(upper[t, i]))))
        point = new
        slot = LinearSlot(cost[t], matrix[t], offset[t])
        state = method.update(state, slot, Box(np.zeros(n), upper[t]))
        np.testing.assert_allclose(state.multipliers, [float(x) for x in multipliers], rtol=1e-12)
        np.testing.assert_allclose(state.point, [float(x) for x in point], rtol=1e-9, atol=1e-9)
        assert state.slot == t + 1


@given(SEEDS)
def test_descent_minimises_what_it_says(seed: int):
    """Against the objective of the step itself, with the constraints of the slot in full."""
    rng = np.random.default_rng(seed)
    n, m, size = int(rng.integers(1, 6)), int(rng.integers(1, 4)), float(rng.uniform(0.05, 2.0))
    slot = LinearSlot(rng.normal(size=n), rng.normal(size=(m, n)), rng.normal(size=m))
    method = PrimalDual(FixedStep(size, 1.0))
    upper = rng.uniform(0.0, 2.0, n)
    state = method.start(rng.uniform(0.0, 2.0, n), rng.uniform(0.0, 3.0, m))
    reached = method.descend(state, slot, Box(np.zeros(n), upper)).point

    def objective(point: Floats) -> float:
        move = point - state.point
        lagrange = slot.cost @ move + state.multipliers @ slot.constraints(point)
        return float(lagrange + move @ move / (2 * size))

    assert ((reached >= 0) & (reached <= upper)).all()
    for _ in range(20):
        other = rng.uniform(0.0, upper)
        for part in (1.0, 1e-3):
            assert objective(reached) <= objective(reached + part * (other - reached)) + 1e-12


@dataclass(frozen=True)
class Bowl:
    """A cost and a constraint that are curved: |x - target|^2 / 2 and |x|^2 - 1 <= 0."""

    target: Floats

    def gradient(self, point: Floats) -> Floats:
        return point - self.target

    def constraints(self, point: Floats) -> Floats:
        return np.array([point @ point - 1.0])

    def pull(self, point: Floats, multipliers: Floats) -> Floats:
        return 2.0 * multipliers[0] * point


def test_curved_slots_reach_the_constrained_optimum():
    """The target (2, 0) outside the unit disc: the best point is (1, 0), the price 1/2."""
    method = PrimalDual(FixedStep(0.05, 0.05))
    state = method.start([0.0, 1.0], 1)
    slot, box = Bowl(np.array([2.0, 0.0])), Box([-3.0, -3.0], [3.0, 3.0])
    for _ in range(3000):
        state = method.update(state, slot, box)
    np.testing.assert_allclose(state.point, [1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(state.multipliers, [0.5], atol=1e-6)


class Drawn:
    """Slots in which entries are to reach rates that vary, with a common point of slack."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.n, self.slots = int(rng.integers(1, 6)), int(rng.integers(2, 40))
        self.cost = rng.uniform(0.0, rng.choice([0.1, 1.0, 10.0]), (self.slots, self.n))
        self.upper = rng.uniform(0.5, 4.0, self.n)
        share = rng.uniform(0.05, 0.7)
        change = rng.choice([0.0, 0.02])
        moving = 1.0 + change * rng.uniform(-1.0, 1.0, (self.slots, self.n))
        self.wanted = share * self.upper * moving
        self.slack = float((self.upper - self.wanted).min())
        grown = np.maximum(np.diff(self.wanted, axis=0), 0.0)
        self.drift = float(np.linalg.norm(grown, axis=1).max(initial=0.0))
        # The entry of |a - x| is largest at one of the ends of the box.
        worst = np.maximum(self.wanted, np.abs(self.wanted - self.upper))
        self.largest = float(np.linalg.norm(worst, axis=1).max())
        self.steps = StepSizes(*(10.0 ** rng.uniform(-2, 1, 2)))

    def run_policy(self) -> tuple[Floats, Floats]:
        """Return constraints [T, n] and multipliers [T + 1, n]."""
        method = PrimalDual(FixedStep(*self.steps))
        state = method.start(np.zeros(self.n), self.n)
        missed, multipliers = [], [state.multipliers]
        for t in range(self.slots):
            slot = rate_slot(self.cost[t], self.wanted[t])
            missed.append(slot.constraints(state.point))
            state = method.update(state, slot, Box(np.zeros(self.n), self.upper))
            multipliers.append(state.multipliers)
        return np.array(missed), np.array(multipliers)


@given(SEEDS)
def test_multipliers_keep_their_bounds(seed: int):
    """Growth of half the squared norm, the norm itself, and the constraints in sum."""
    drawn = Drawn(seed)
    missed, multipliers = drawn.run_policy()
    dual = drawn.steps.dual
    squares = (multipliers**2).sum(axis=1)
    growth = np.diff(squares) / 2
    allowed = dual * (multipliers[:-1] * missed).sum(axis=1) + dual**2 * (missed**2).sum(axis=1) / 2
    assert (growth <= allowed + 1e-9 * (1 + np.abs(allowed))).all()
    bound = multiplier_bound(
        drawn.steps,
        gradient=float(np.linalg.norm(drawn.cost, axis=1).max()),
        constraints=drawn.largest,
        diameter=float(np.linalg.norm(drawn.upper)),
        slack=drawn.slack,
        drift=drawn.drift,
    )
    assert np.sqrt(squares.max()) <= bound * (1 + 1e-12)
    fit = np.linalg.norm(np.maximum(missed.sum(axis=0), 0.0))
    last = float(np.sqrt(squares[-1]))
    assert fit <= fit_bound(last, dual) * (1 + 1e-9) + 1e-9
    assert fit <= fit_bound(bound, dual) * (1 + 1e-9)


@given(SEEDS)
def test_regret_keeps_its_bound(seed: int):
    """Against what is wanted in each slot, and against the least that suffices in all."""
    drawn = Drawn(seed)
    missed, multipliers = drawn.run_policy()
    points = drawn.wanted - missed
    paid = float((drawn.cost * points).sum())
    grown = np.maximum(np.diff(drawn.wanted, axis=0), 0.0)
    moved = np.diff(drawn.wanted, axis=0)
    known = {
        "gradient": float(np.linalg.norm(drawn.cost, axis=1).max()),
        "constraints": drawn.largest,
        "diameter": float(np.linalg.norm(drawn.upper)),
        "multipliers": float(np.linalg.norm(multipliers, axis=1).max()),
        "drift": float(np.linalg.norm(grown, axis=1).sum()),
    }
    path = float(np.linalg.norm(moved, axis=1).sum())
    for best, length in ((drawn.wanted, path), (drawn.wanted.max(axis=0), 0.0)):
        bound = regret_bound(drawn.steps, drawn.slots, **known, path=length)
        assert paid - float((drawn.cost * best).sum()) <= bound * (1 + 1e-9)


def test_regret_bound_by_hand():
    bound = regret_bound(
        StepSizes(0.5, 2.0), 7, gradient=3.0, constraints=4.0, diameter=5.0, multipliers=6.0,
        drift=1.5, path=2.5,
    )  # fmt: skip
    assert bound == (2.0 * 16.0 * 8 + 0.5 * 9.0 * 7) / 2 + (5.0 * 2.5 + 12.5) / 0.5 + 6.0 * 1.5


def test_multiplier_bound_by_hand():
    bound = multiplier_bound(
        StepSizes(0.5, 2.0), gradient=3.0, constraints=4.0, diameter=5.0, slack=2.0, drift=1.0
    )
    assert bound == (2.0 * 16.0 / 2 + 2 * 3.0 * 5.0 + 25.0 / 1.0) / 1.0 + 2.0 * 4.0


def test_fit_bound_is_attained_by_work_that_is_never_done():
    method = PrimalDual(FixedStep(1.0, 1.0))
    slot = rate_slot(np.array([9.0]), np.array([1.0]))
    state = method.update(method.start([0.0], 1), slot, Box([0.0], [0.0]))
    assert fit_bound(float(state.multipliers[0]), 1.0) == 1.0
    assert slot.constraints(state.point).tolist() == [1.0]


@given(SEEDS, st.sampled_from([0.25, 8.0]), st.sampled_from([0.125, 4.0]))
def test_scaled_steps_know_no_units(seed: int, money: float, amount: float):
    """Costs in another currency, or points in another unit, lead to the same play."""
    rng = np.random.default_rng(seed)
    cost, wanted = rng.uniform(0, 2, (12, 3)), rng.uniform(0, 1, (12, 3))
    upper = np.full(3, 1.5)
    simulated = []
    for dearer, more in ((1.0, 1.0), (money, amount)):
        rule = ScaledStep(12, point=0.5 * more, gradient=1.0 * dearer / more)
        method = PrimalDual(rule)
        state = method.start(np.zeros(3), 3)
        points = []
        for t in range(12):
            slot = rate_slot(cost[t] * dearer / more, wanted[t] * more)
            state = method.update(state, slot, Box(np.zeros(3), upper * more))
            points.append(state.point / more)
        simulated.append(points)
    np.testing.assert_allclose(simulated[0], simulated[1], rtol=1e-9, atol=1e-12)


def test_sizes_of_the_rules():
    assert FixedStep(0.5, 0.0).sizes(7) == (0.5, 0.0)
    sizes = ScaledStep(27, point=6.0, gradient=2.0).sizes(0)
    assert sizes == pytest.approx((1.0, 1 / 9))
    assert ScaledStep(27, 6.0, 2.0, primal=2.0, dual=0.3).sizes(3) == pytest.approx((6.0, 0.1))
    size = VariationStep(100, path=4.0, drift=25.0).sizes(0)
    assert size == pytest.approx((0.5, 0.5))
    assert VariationStep(100, path=36.0, drift=25.0).sizes(0).primal == pytest.approx(0.6)


def test_the_descent_may_look_at_the_set_to_come():
    """Costs of the slot before, limits of the slot to come: nothing leaves them."""
    method = PrimalDual(FixedStep(1.0, 1.0))
    state = method.start([2.0], 1)
    slot = rate_slot(np.array([0.0]), np.array([5.0]))
    for limit in (2.0, 0.5, 3.0, 0.0):
        state = method.ascend(state, slot)
        state = method.descend(state, slot, Box([0.0], [limit]))
        assert state.point.tolist() == [limit]


def test_states_are_explicit():
    """A state that was kept goes on as the first time, and is left as it was."""
    drawn = Drawn(5)
    method = PrimalDual(FixedStep(0.1, 0.1))
    box = Box(np.zeros(drawn.n), drawn.upper)
    first = [method.start(np.zeros(drawn.n), drawn.n)]
    slots = [rate_slot(c, a) for c, a in zip(drawn.cost, drawn.wanted, strict=True)]
    for slot in slots:
        first.append(method.update(first[-1], slot, box))
    kept = [(one.point.copy(), one.multipliers.copy()) for one in first]
    state = first[1]
    for slot in slots[1:]:
        state = method.update(state, slot, box)
    np.testing.assert_array_equal(state.point, first[-1].point)
    np.testing.assert_array_equal(state.multipliers, first[-1].multipliers)
    for one, (point, multipliers) in zip(first, kept, strict=True):
        np.testing.assert_array_equal(one.point, point)
        np.testing.assert_array_equal(one.multipliers, multipliers)


METHOD = PrimalDual(FixedStep(1.0, 1.0))


@pytest.mark.parametrize(
    ("make", "error", "named"),
    [
        (lambda: FixedStep(0.0, 1.0), OptionError, "primal"),
        (lambda: FixedStep(1.0, -1.0), OptionError, "dual"),
        (lambda: FixedStep(math.nan, 1.0), OptionError, "primal"),
        (lambda: FixedStep(1.0, math.inf), OptionError, "dual"),
        (lambda: ScaledStep(0), OptionError, "horizon"),
        (lambda: ScaledStep(3, point=0.0), OptionError, "point"),
        (lambda: ScaledStep(3, gradient=-1.0), OptionError, "gradient"),
        (lambda: ScaledStep(3, primal=0.0), OptionError, "primal"),
        (lambda: ScaledStep(3, dual=-1.0), OptionError, "dual"),
        (lambda: VariationStep(0, 1.0, 1.0), OptionError, "horizon"),
        (lambda: VariationStep(3, -1.0, 1.0), OptionError, "path"),
        (lambda: VariationStep(3, 1.0, math.nan), OptionError, "drift"),
        (lambda: VariationStep(3, 0.0, 0.0), OptionError, "nothing varies"),
        (lambda: METHOD.start([np.nan], 1), InputError, r"point\[0\]"),
        (lambda: METHOD.start([[1.0]], 1), InputError, "point"),
        (lambda: METHOD.start([1.0], [1.0, -1.0]), InputError, r"constraints\[1\]"),
        (lambda: LinearSlot([[1.0]], [[1.0]], [1.0]), InputError, "cost"),
        (lambda: LinearSlot([1.0], [[1.0]], 1.0), InputError, "offset"),
        (lambda: LinearSlot([1.0, 2.0], [[1.0]], [1.0]), InputError, "matrix"),
        (lambda: Box([0.0], [1.0, 2.0]), InputError, "upper"),
        (lambda: Box([0.0, 2.0], [1.0, 1.0]), InputError, r"upper\[1\]"),
        (lambda: fit_bound(1.0, 0.0), InputError, "dual"),
        (lambda: fit_bound(-1.0, 1.0), InputError, "multipliers"),
        (
            lambda: regret_bound(StepSizes(1.0, 1.0), 0, gradient=1, constraints=1, diameter=1),
            InputError,
            "slots",
        ),
        (
            lambda: regret_bound(StepSizes(1.0, 1.0), 3, gradient=1, constraints=-1, diameter=1),
            InputError,
            "constraints",
        ),
        (
            lambda: multiplier_bound(
                StepSizes(1.0, 1.0), gradient=1, constraints=1, diameter=1, slack=0.5, drift=0.5
            ),
            InputError,
            "slack",
        ),
        (
            lambda: multiplier_bound(
                StepSizes(1.0, 1.0), gradient=-1, constraints=1, diameter=1, slack=0.5
            ),
            InputError,
            "gradient",
        ),
    ],
)
def test_bad_input_is_named(make: Callable[[], object], error: type[Exception], named: str):
    with pytest.raises(error, match=named):
        make()


def test_slots_that_do_not_fit_are_named():
    state, box = METHOD.start([1.0], 1), Box([0.0], [1.0])
    with pytest.raises(InputError, match="constraints"):
        METHOD.ascend(state, LinearSlot([1.0], [[1.0], [1.0]], [1.0, 1.0]))
    with pytest.raises(InputError, match="gradient"):
        METHOD.descend(state, LinearSlot([1.0, 1.0], [[1.0, 1.0]], [1.0]), box)
    with pytest.raises(InputError, match=r"gradient\[0\]"):
        METHOD.update(state, LinearSlot([np.inf], [[1.0]], [1.0]), box)
    with pytest.raises(InputError, match=r"constraints\[0\]"):
        METHOD.update(state, LinearSlot([1.0], [[1.0]], [np.nan]), box)
