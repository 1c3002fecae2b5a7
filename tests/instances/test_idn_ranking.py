from __future__ import annotations

import numpy as np
import pytest
from edgeopt_papers.idn.claims.instances import shared_model
from edgeopt_papers.idn.claims.static import shared_potential

from edgeopt.errors import InputError
from edgeopt.instances.idn import generate, small

COLUMNS = (
    "cost", "position", "model", "node", "latency", "pair", "type", "inaccuracy", "permanent",
    "capacity",
)  # fmt: skip


def test_own_credit_promises_a_shared_model_twice():
    instance = shared_model()
    here = instance.ranking.pair == 1
    assert instance.ranking.potential([1, 1])[here].tolist() == [1, 1]
    shared = shared_potential(instance.ranking, np.array([[1, 1], [1, 0]]))
    assert shared[:, here].tolist() == [[0.5, 0.5], [1, 0]]


def test_potentials_of_many_slots_come_at_once():
    instance = generate(horizon=3, tasks=4, popularity="sliding", shift_every=500_000)
    together = instance.ranking.potential(instance.requests)
    apart = [instance.ranking.potential(row) for row in instance.requests]
    np.testing.assert_array_equal(together, apart)
    assert instance.ranking.potential(instance.requests[None]).ndim == 3


def test_bad_arguments_are_named():
    ranking = shared_model().ranking
    with pytest.raises(InputError, match="must have 2 types") as caught:
        ranking.potential([1, 2, 3])
    assert caught.value.field == "requests"
    with pytest.raises(InputError, match="2 types"):
        ranking.potential(1.0)


def test_arrays_are_read_only_and_kept():
    instance = small(1)
    ranking = instance.ranking
    assert instance.ranking is ranking
    for name in ("first", "repository_cost", *COLUMNS):
        with pytest.raises(ValueError, match="read-only"):
            getattr(ranking, name)[...] = 0


def test_the_papers_network_has_6000_options():
    instance = generate(horizon=1)
    ranking = instance.ranking
    assert len(ranking) == 6000
    assert np.diff(ranking.first).tolist() == [150] * 40
    for rho in (0, 17, 39):
        here = ranking.options(rho)
        assert (np.diff(ranking.cost[here]) >= 0).all()
        assert np.unique(ranking.pair[here]).size == 150
