"""Gain and supergradient: what is refused, and what the nodes compute at full size."""

from __future__ import annotations

import numpy as np
import pytest

from edgeopt.errors import InputError, OptionError
from edgeopt.instances.idn import generate
from edgeopt.models.idn import gain, serving_cost, supergradient, supergradient_by_messages
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


@pytest.mark.parametrize("seed", range(10))
def test_nodes_find_the_same_numbers_to_the_last_bit(seed):
    y = spread(seed)
    central = supergradient(NETWORK, REQUESTS, POTENTIAL, y)
    by_nodes = supergradient_by_messages(NETWORK, REQUESTS, POTENTIAL, y)
    assert central.max() > 0.0
    assert np.array_equal(by_nodes.gradient, central)
    hops = (NETWORK.path >= 0).sum(axis=1) - 1
    assert (by_nodes.messages % 2 == 0).all()
    assert (by_nodes.messages <= 2 * hops).all()


def test_types_without_requests_send_no_message():
    requests = REQUESTS.copy()
    requests[3] = 0
    potential = NETWORK.ranking.potential(requests)
    messages = supergradient_by_messages(NETWORK, requests, potential, spread(0)).messages
    assert messages[3] == 0
    assert messages.sum() > 0


def test_the_kernel_takes_truth_values_and_whole_numbers():
    ranking = NETWORK.ranking
    hosted = spread(0) > 0.0
    out = np.full(hosted.size, np.nan)
    supergradient_kernel(
        ranking.first, ranking.cell, ranking.cost, REQUESTS, POTENTIAL, hosted.ravel(), out
    )
    expected = supergradient(NETWORK, REQUESTS, POTENTIAL, hosted)
    assert np.array_equal(out.reshape(hosted.shape), expected)


def test_hosting_more_costs_less():
    y = spread(1)
    more = np.where(NETWORK.pinned[:, None], y, np.minimum(1.0, 1.5 * y))
    alone = serving_cost(NETWORK, REQUESTS, POTENTIAL, NETWORK.empty)
    costs = [serving_cost(NETWORK, REQUESTS, POTENTIAL, each) for each in (NETWORK.empty, y, more)]
    assert costs[0] > costs[1] > costs[2]
    for each, cost in zip((y, more), costs[1:], strict=True):
        assert gain(NETWORK, REQUESTS, POTENTIAL, each) == pytest.approx(alone - cost, rel=1e-12)


@pytest.mark.parametrize("function", [gain, serving_cost, supergradient, supergradient_by_messages])
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


def test_unknown_forms_are_refused():
    with pytest.raises(OptionError, match="difference, ranked"):
        gain(NETWORK, REQUESTS, POTENTIAL, spread(0), form="published")
