"""Marginal gains and the greedy allocation, lazy and plain."""

from __future__ import annotations

import numpy as np
import pytest
from edgeopt_papers.idn.claims.static import shared_potential
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import InputError
from edgeopt.instances.idn import generate
from edgeopt.models.idn import Demand, greedy, marginal_gains
from edgeopt.models.idn.solve import picks
from edgeopt.testing.strategies import idn_instances
from tests.models.idn.cases import demands, plain_picks, within_budgets


@given(idn_instances(cost=None), st.data())
def test_lazy_and_plain_add_the_same(instance, data):
    demand = data.draw(demands(instance))
    lazy = greedy(instance, demand)
    assert picks(instance, demand).tolist() == plain_picks(instance, demand)
    assert within_budgets(instance, lazy)
    # Nothing that still fits would gain.
    left = np.where(instance.pinned, 0.0, instance.budget - (instance.size * lazy).sum(axis=1))
    fits = instance.size <= left[:, None]
    rest = marginal_gains(instance, demand, lazy)[fits]
    assert rest == pytest.approx(np.zeros(rest.size), abs=1e-9)


@pytest.mark.parametrize(
    ("settings", "credit"),
    [
        ({"arrivals": "multinomial"}, "own"),
        ({"arrivals": "multinomial", "rate": 10_000.0, "alpha": 3.0}, "shared"),
        ({"popularity": "sliding", "shift_every": 450_000, "topology": 2}, "own"),
    ],
)
def test_lazy_and_plain_agree_at_full_size(settings, credit):
    instance = generate(horizon=12, **settings)
    shared = shared_potential(instance.ranking, instance.requests)
    given = shared if credit == "shared" else None
    demand = Demand.of(instance, potential=given, normalised=True)
    assert len(demand) > 1
    lazy = greedy(instance, demand)
    assert picks(instance, demand).tolist() == plain_picks(instance, demand)
    assert lazy[~instance.pinned].sum() > 20
    assert within_budgets(instance, lazy)


def test_ties_go_to_the_smallest_node_then_model():
    """Replicas are alike: of n that are hosted at a node it hosts the first n."""
    instance = generate(horizon=1, tasks=3, replicas=4)
    chosen = greedy(instance, Demand.of(instance))
    alike = chosen[~instance.pinned].reshape(-1, 4)
    assert alike.any(axis=1).sum() > 2
    assert (np.sort(alike, axis=1)[:, ::-1] == alike).all()


def test_only_whole_allocations_have_marginal_gains():
    instance = generate(horizon=1, tasks=2)
    half = instance.empty.astype(float)
    half[np.flatnonzero(~instance.pinned)[0], 0] = 0.5
    with pytest.raises(InputError, match="must be 0 or 1"):
        marginal_gains(instance, Demand.of(instance), half)
