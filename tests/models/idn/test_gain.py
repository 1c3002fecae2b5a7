"""Gain and supergradient: what is refused, and what grows."""

from __future__ import annotations

import numpy as np
import pytest

from edgeopt.errors import InputError
from edgeopt.instances.idn import generate
from edgeopt.models.idn import gain, supergradient
from edgeopt.models.idn.gain import supergradient_kernel

NETWORK = generate(horizon=1)
REQUESTS = NETWORK.requests[0]
POTENTIAL = NETWORK.ranking.potential(REQUESTS)


def spread(seed):
    """A fractional allocation that uses every budget in a random way."""
    rng = np.random.default_rng(seed)
    share = np.minimum(1.0, (NETWORK.budget / NETWORK.size.sum(axis=1))[:, None])
    y = share * rng.choice([0.0, 0.3, 1.0], size=NETWORK.size.shape)
    return np.where(NETWORK.pinned[:, None], NETWORK.repository, y)


def test_the_kernel_takes_truth_values_and_whole_numbers():
    ranking = NETWORK.ranking
    hosted = spread(0) > 0.0
    out = np.full(hosted.size, np.nan)
    supergradient_kernel(ranking.columns, REQUESTS, POTENTIAL, hosted.ravel(), out)
    expected = supergradient(NETWORK, REQUESTS, POTENTIAL, hosted)
    assert np.array_equal(out.reshape(hosted.shape), expected)


def test_hosting_more_gains_more():
    y = spread(1)
    more = np.where(NETWORK.pinned[:, None], y, np.minimum(1.0, 1.5 * y))
    gains = [gain(NETWORK, REQUESTS, POTENTIAL, each) for each in (NETWORK.empty, y, more)]
    assert 0.0 == gains[0] < gains[1] < gains[2]


@pytest.mark.parametrize("function", [gain, supergradient])
@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("requests", lambda r, p, y: (r[:-1], p, y)),
        ("requests", lambda r, p, y: (-r, p, y)),
        ("potential", lambda r, p, y: (r, p[1:], y)),
        ("potential", lambda r, p, y: (r, p * np.nan, y)),
        ("allocation", lambda r, p, y: (r, p, y[1:])),
        ("allocation", lambda r, p, y: (r, p, y + 0.5)),
        ("allocation", lambda r, p, y: (r, p, np.zeros_like(y))),
    ],
)
def test_bad_arrays_are_named(function, field, change):
    with pytest.raises(InputError) as caught:
        function(NETWORK, *change(REQUESTS, POTENTIAL, spread(0)))
    assert caught.value.field == field
