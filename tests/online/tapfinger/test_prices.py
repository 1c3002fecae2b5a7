"""What schedulers compare: costs per weight, whatever the unit of the weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from edgeopt.online.tapfinger import PricedSpt, ReservationSpt
from tests.online.tapfinger.served import gpus, ran


@pytest.mark.parametrize("scale", [1e-100, 1e-12, 1e11])
@pytest.mark.parametrize("policy", [PricedSpt(), ReservationSpt()], ids=lambda policy: policy.name)
def test_the_unit_of_the_weights_does_not_matter(policy: Any, scale: float) -> None:
    weight = np.array([1.0, 1.0, 1.0, 5.0, 5.0, 5.0])
    plain, scaled = (
        ran(gpus([0] * 6, clusters=2, weight=weight * factor), policy) for factor in (1.0, scale)
    )
    assert np.array_equal(plain.completion, scaled.completion)
    assert plain.flow_time[0, 3:].sum() < plain.flow_time[0, :3].sum()
