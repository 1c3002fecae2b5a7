"""The comparators of a frame against linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import InputError
from edgeopt.instances.edr import small
from edgeopt.models.edr.bounds import frame_comparator
from edgeopt.models.edr.penalties import unserved_price
from edgeopt.testing.strategies import edr_instances
from tests.draws import draws
from tests.oracles.edr import plain
from tests.oracles.edr.offline import frame_optimum
from tests.oracles.edr.programs import InfeasibleError


@given(edr_instances(frames=2), st.data())
@settings(max_examples=draws(60))
def test_the_frame_comparator_is_the_optimum_of_its_frame(instance, data):
    frame = data.draw(st.integers(0, instance.frames - 1))
    least = data.draw(st.sampled_from([1.0, 0.5, 0.0])) * instance.even_rate
    found = frame_comparator(instance, frame, minimum=least)
    lost = unserved_price(instance).tolist()
    try:
        value, _ = frame_optimum(plain(instance, float), frame, least.tolist(), lost)
    except InfeasibleError:
        assert (found.feasible, found.cost) == (False, np.inf)
        return
    assert found.feasible
    assert found.cost == pytest.approx(value, rel=1e-7, abs=1e-7)
    assert found.bound <= value + 1e-7 * max(1.0, abs(value))
    assert found.cost - found.bound <= 2e-9 * max(1.0, abs(value))
    active = instance.active[frame]
    assert (found.rounds[active] >= least[active] - 1e-12).all()
    assert instance.round_energy[frame] @ found.rounds <= instance.cap[frame] * (1 + 1e-9)
    room = instance.slots * instance.capacity
    assert (found.rounds @ instance.round_work <= room * (1 + 1e-9)).all()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"minimum": [1.0] * 99}, "minimum"),
        ({"minimum": -1.0}, r"minimum\[0\] = -1.0"),
        ({"minimum": 99.0}, r"minimum\[0\] = 99.0"),
        ({"minimum": np.nan}, r"minimum\[0\] = nan"),
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
