"""The training step: closed form, bisection, CVXPY and Ipopt against the step in rationals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt import solve
from edgeopt.errors import InputError
from edgeopt.models.edr.programs import step_nlp, step_program
from edgeopt.models.edr.training import take_step
from tests.oracles.edr import step as oracle

INFINITY = float("inf")


@dataclass(frozen=True)
class Given:
    """The data of a step as floats, in the order in which all of its methods take them."""

    point: list[float]
    gradient: list[float]
    energy: list[float]
    cap: float
    upper: list[float]
    step: float

    @property
    def data(self) -> tuple[Any, ...]:
        return self.point, self.gradient, self.energy, self.cap, self.upper, self.step

    @property
    def scale(self) -> float:
        """Return the largest number that a sum over the rounds meets."""
        moved = [
            abs(x) + self.step * abs(c) for x, c in zip(self.point, self.gradient, strict=True)
        ]
        return max(1.0, *moved) if moved else 1.0


def steps(*, wild: bool = True, most: int = 8) -> st.SearchStrategy[Given]:
    return st.integers(0, 2**32 - 1).map(lambda seed: draw(seed, wild=wild, most=most))


def draw(seed: int, *, wild: bool, most: int) -> Given:
    """Draw data with ties, with any numbers, or over several orders of magnitude.

    Caps are absent, zero, exactly met, or anything; energies, limits and rounds may be zero.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, most + 1))
    kind = rng.choice(["tied", "any", "wide"] if wild else ["tied", "any"])
    if kind == "tied":
        point, upper = rng.integers(0, 9, n) / 2, rng.integers(0, 9, n) / 2
        gradient, energy = rng.integers(-6, 4, n) / 2, rng.integers(0, 4, n) / 2
    else:
        point, upper = rng.uniform(0, 4, n), rng.uniform(0, 4, n)
        gradient, energy = rng.uniform(-4, 2, n), rng.uniform(0, 2, n)
        energy[rng.random(n) < 0.15] = 0.0
        if kind == "wide":
            energy *= 10.0 ** rng.uniform(-4, 4, n)
            upper *= 10.0 ** rng.uniform(-2, 4, n)
    alpha = float(rng.choice([0.25, 1.0, 2.0]))
    free = np.clip(point - alpha * gradient, 0, upper)
    used = float(energy @ free)
    cap = float(
        rng.choice([INFINITY, 0.0, used, used / 2, used / 8, rng.uniform(0, 1) * used, 1.0])
    )
    if wild and rng.random() < 0.1:
        upper[rng.integers(0, n)] = INFINITY
    return Given(*(v.tolist() for v in (point, gradient, energy)), cap, upper.tolist(), alpha)


def exact(given: Given) -> oracle.Step:
    """Take the step in rationals; no limit is as good as one that the point never reaches."""
    far = 1000 * given.scale
    data = list(given.data)
    data[4] = [min(u, far) for u in given.upper]
    return oracle.exact(*data)


@given(steps())
def test_the_oracle_is_optimal(given_step):
    far = 1000 * given_step.scale
    data = [
        [Fraction(v) for v in row]
        for row in (given_step.point, given_step.gradient, given_step.energy)
    ]
    cap = given_step.cap if given_step.cap == INFINITY else Fraction(given_step.cap)
    upper = [Fraction(min(u, far)) for u in given_step.upper]
    found = exact(given_step)
    alpha = Fraction(given_step.step)
    assert oracle.residual(found.rounds, found.price, *data, cap, upper, alpha) == 0


@given(steps())
def test_closed_form_is_exact(given_step):
    expected = exact(given_step)
    limit = 1e-12 * given_step.scale
    found = take_step(*given_step.data)
    assert found.rounds == pytest.approx([float(v) for v in expected.rounds], rel=0, abs=limit)
    assert (found.rounds >= 0).all()
    assert (found.rounds <= given_step.upper).all()
    # the sum itself is rounded, in whatever order it is taken
    slack = 1e-15 * len(given_step.point) * max(1.0, given_step.cap)
    assert np.array(given_step.energy) @ found.rounds <= given_step.cap + slack
    assert oracle.bisect(*given_step.data).rounds == pytest.approx(
        [float(v) for v in expected.rounds], rel=0, abs=limit
    )


@given(steps())
def test_the_price_of_energy_is_that_of_the_cap(given_step):
    """Optimal prices form an interval: that of the method lies in it, that of rationals too."""
    found = take_step(*given_step.data)
    assert found.energy_price >= 0
    if given_step.cap == INFINITY or exact(given_step).price == 0:
        if given_step.cap > 0 and sum(given_step.energy) > 0 and exact(given_step).price == 0:
            # not needed to meet the cap: any positive price would move a round below its own wish
            assert found.energy_price <= 1e-12 * given_step.scale
        return
    far = 1000 * given_step.scale
    data = (given_step.point, given_step.gradient, given_step.energy, given_step.cap)
    residual = oracle.residual(
        [float(v) for v in exact(given_step).rounds],
        found.energy_price,
        *data,
        [min(u, far) for u in given_step.upper],
        given_step.step,
    )
    largest = max(1.0, found.energy_price * max(given_step.energy))
    assert residual <= 1e-11 * largest * given_step.scale / given_step.step


# To stay where one is costs nothing: optima of 0 are told by an absolute gap.
# Where a multiplier and its slack are both 0, which ties bring about, interior points come only as
# near as the square root of their tolerance.
@given(steps(wild=False, most=5))
def test_the_convex_program_agrees(given_step):
    found = solve(
        step_program(*given_step.data), "clarabel",
        tolerance=3e-14, absolute_gap=3e-14, raises=False,
    )  # fmt: skip
    expected = [float(v) for v in exact(given_step).rounds]
    assert found.values["rounds"] == pytest.approx(expected, rel=0, abs=1e-6)


@given(steps(wild=False, most=5))
def test_the_smooth_program_agrees(given_step):
    found = solve(
        step_nlp(*given_step.data), "ipopt", tolerance=1e-13, bound_relax_factor=0.0,
        absolute_gap=1e-9, raises=False,
    )  # fmt: skip
    expected = [float(v) for v in exact(given_step).rounds]
    rounds = [found.values[f"rounds[task={i}]"] for i in range(len(expected))]
    assert rounds == pytest.approx(expected, rel=0, abs=1e-6)


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (([1.0], [0.0], [1.0], -1.0, [2.0], 1.0), "cap"),
        (([1.0], [0.0], [-1.0], 1.0, [2.0], 1.0), "energy"),
        (([1.0], [0.0], [1.0], 1.0, [-2.0], 1.0), "upper"),
        (([1.0], [0.0], [1.0], 1.0, [2.0], 0.0), "step"),
        (([1.0], [np.nan], [1.0], 1.0, [2.0], 1.0), "gradient"),
        (([1.0], [0.0], [1.0], np.nan, [2.0], 1.0), "cap"),
        (([1.0], [0.0, 1.0], [1.0], 1.0, [2.0], 1.0), "gradient"),
    ],
)
def test_wrong_data_are_named(data, field):
    with pytest.raises(InputError) as caught:
        take_step(*data)
    assert caught.value.field.startswith(field)
