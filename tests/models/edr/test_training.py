"""The macro step: closed form, bisection, general solvers, exact rational arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from edgeopt.errors import InputError
from edgeopt.models.edr.programs import step_nlp, step_program
from edgeopt.models.edr.training import step_in_place, take_step
from edgeopt.solvers import solve
from tests.oracles.edr.step import bisect


@pytest.mark.parametrize("tasks", [40, 500])
def test_many_tasks_at_many_scales(tasks):
    rng = np.random.default_rng(tasks)
    for _ in range(60):
        scale = 10.0 ** rng.uniform(-3, 3, size=2)
        data = (
            rng.uniform(0, 5, tasks),
            scale[0] * rng.normal(size=tasks),
            scale[1] * rng.exponential(size=tasks) * (rng.random(tasks) < 0.9),
            scale[1] * tasks * rng.uniform(0, 2),
            rng.choice([0.0, 1.0, 4.0, np.inf], tasks),
            10.0 ** rng.uniform(-2, 2),
        )
        wanted = max(1.0, float(np.abs(data[0] - data[5] * data[1]).max()))
        taken = take_step(*data)
        np.testing.assert_allclose(taken.rounds, bisect(*data).rounds, rtol=0, atol=1e-12 * wanted)
        assert data[2] @ taken.rounds <= data[3] * (1 + 1e-13)


def test_prices_are_duals():
    data = ([1, 1, 1], [-1, 0, 1], [1, 1, 2], 2.0, [3, 3, 3], 1.0)
    assert take_step(*data).energy_price == pytest.approx(0.5, abs=1e-15)
    duals = solve(step_program(*data), "clarabel", tolerance=1e-10).duals
    assert duals["cap"] == pytest.approx(-0.5, abs=1e-7)
    duals = solve(step_nlp(*data), "casadi:ipopt").duals
    assert duals["cap"] == pytest.approx(-0.5, abs=1e-7)


def test_extremes():
    step = take_step
    point, gradient, energy = [2.0, 1.0, 4.0], [0.0, -1.0, 2.0], [3.0, 0.0, 1.0]
    upper = [np.inf, 5.0, 1.0]
    free = step(point, gradient, energy, np.inf, upper, 1.0)
    assert free.rounds.tolist() == [2.0, 2.0, 1.0]
    assert free.energy_price == 0.0
    # Without energy only what needs none goes on, at the price at which the last task rests.
    none = step(point, gradient, energy, 0.0, upper, 1.0)
    assert none.rounds.tolist() == [0.0, 2.0, 0.0]
    assert none.energy_price == pytest.approx(2.0)
    assert step(point, gradient, energy, 1.0, [0.0, 0.0, 0.0], 1.0).rounds.tolist() == [0, 0, 0]
    assert step(point, gradient, [0.0] * 3, 0.0, upper, 1.0).rounds.tolist() == [2.0, 2.0, 1.0]
    assert step([], [], [], 1.0, [], 1.0).rounds.size == 0
    # Too far apart to be summed in doubles: the cap holds all the same.
    far = step([3.0, 1.0], [0.0, 0.0], [1e16, 1.0], 1e-16, [3.0, 1e-8], 1.0)
    assert [1e16, 1.0] @ far.rounds <= 1e-16 * (1 + 1e-15)
    lost = step([1.0, 1.0], [0.0, 0.0], [1e100, 1e-300], 1.0, [np.inf, np.inf], 1.0)
    assert lost.rounds == pytest.approx([1e-100, 1.0])


@pytest.mark.parametrize("step", [take_step, step_program, step_nlp])
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"cap": -1.0}, "cap"),
        ({"cap": np.nan}, "cap"),
        ({"step": 0.0}, "step"),
        ({"step": np.inf}, "step"),
        ({"energy": [1.0, -1.0]}, r"energy\[1\] = -1.0"),
        ({"energy": [1.0, np.inf]}, r"energy\[1\]"),
        ({"upper": [-1.0, 1.0]}, r"upper\[0\]"),
        ({"gradient": [np.nan, 1.0]}, r"gradient\[0\]"),
        ({"point": [np.inf, 1.0]}, r"point\[0\]"),
        ({"gradient": [1e300, 1.0], "step": 1e20}, "step"),
        ({"upper": [1.0]}, "upper"),
        ({"point": [[1.0, 1.0]]}, "point"),
    ],
)
def test_wrong_numbers_are_named(step, change, named):
    sound = {
        "point": [1.0, 1.0], "gradient": [0.0, 0.0], "energy": [1.0, 1.0],
        "cap": 1.0, "upper": [2.0, 2.0], "step": 1.0,
    }  # fmt: skip
    with pytest.raises(InputError, match=named):
        step(**sound | change)


def test_arrays_are_read_in_place():
    point, gradient, energy, upper = np.array([[1.0, 1.0], [0.5, 0.0], [1.0, 2.0], [3.0, 3.0]])
    kept = [array.copy() for array in (point, gradient, energy, upper)]
    rounds = np.empty(2)
    price = step_in_place(point, gradient, energy, 1.0, upper, 1.0, rounds, np.empty((4, 2)))
    taken = take_step(point, gradient, energy, 1.0, upper, 1.0)
    assert taken.rounds.tolist() == rounds.tolist()
    assert taken.energy_price == price
    for before, after in zip(kept, (point, gradient, energy, upper), strict=True):
        np.testing.assert_array_equal(before, after)
