"""The comparators of a frame against linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import InputError
from edgeopt.instances.edr import small
from edgeopt.models.edr.comparators import frame_comparator
from edgeopt.models.edr.matrix import colocation_columns, colocation_matrix
from edgeopt.solvers import solve
from tests.draws import draws
from tests.strategies import edr_instances


@given(edr_instances(frames=2), st.data())
@settings(max_examples=draws(60))
def test_the_frame_comparator_is_the_optimum_of_its_frame(instance, data):
    frame = data.draw(st.integers(0, instance.frames - 1))
    least = data.draw(st.sampled_from([1.0, 0.5, 0.0])) * instance.even_rate
    found = frame_comparator(instance, frame, minimum=least)
    value = by_program(instance, frame, least)
    assert found.feasible == (value is not None)
    if value is None:
        assert found.cost == np.inf
        return
    assert found.cost == pytest.approx(value, rel=1e-7, abs=1e-7)
    assert found.bound <= value + 1e-7 * max(1.0, abs(value))
    assert found.cost - found.bound <= 2e-9 * max(1.0, abs(value))
    active = instance.active[frame]
    assert (found.rounds[active] >= least[active] - 1e-12).all()
    assert instance.round_energy[frame] @ found.rounds <= instance.cap[frame] * (1 + 1e-9)
    room = instance.slots * instance.capacity
    assert (found.rounds @ instance.round_work <= room * (1 + 1e-9)).all()


def by_program(instance, frame, least):
    """Solve problem P with nothing but one frame in it."""
    caps = np.where(np.arange(instance.frames) == frame, instance.cap, np.inf)
    program = colocation_matrix(instance, cap=caps, relax=True)
    if program.shape[1] == 0:
        return 0.0
    columns = colocation_columns(instance)
    count = len(columns.rounds)
    t, task = columns.rounds.T
    cost, lower, upper = program.cost.copy(), program.lower.copy(), program.upper.copy()
    lower[:count] = np.where(t == frame, least[task], 0.0)
    upper[:count] = np.where(t == frame, instance.rounds[task], 0.0)
    cost[:count] *= t == frame
    start = count + instance.tasks
    cost[count:start] = 0.0
    cost[start : start + len(columns.route)] *= columns.route[:, 0] == frame
    cost[start + len(columns.route) :] *= columns.asked[:, 0] == frame
    solution = solve(program.replace(cost=cost, lower=lower, upper=upper), raises=False)
    return None if solution.values is None else solution.objective


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"minimum": [1.0] * 99}, "minimum"),
        ({"minimum": -1.0}, r"minimum\[0\] = -1.0"),
        ({"upper": 0.0, "minimum": 1.0}, r"upper\[0\] = 0.0"),
        ({"upper": np.inf}, r"upper\[0\] = inf"),
        ({"cap": -1.0}, "cap"),
    ],
)
def test_wrong_limits_are_named(change, named):
    instance = small(0)
    size = {"cap": instance.frames}
    arrays = {
        name: value if isinstance(value, list) else [value] * size.get(name, instance.tasks)
        for name, value in change.items()
    }
    assert instance.tasks > 0
    with pytest.raises(InputError, match=named):
        frame_comparator(instance, 0, **arrays | ({"cap": -1.0} if "cap" in change else {}))


def test_a_frame_that_is_none_is_named():
    instance = small(0)
    with pytest.raises(InputError, match="frame"):
        frame_comparator(instance, instance.frames)
