from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from edgeopt_papers.idn.claims.instances import shared_model
from edgeopt_papers.idn.claims.static import shared_potential
from hypothesis import given

from edgeopt.errors import InputError
from edgeopt.instances.idn import generate, small
from edgeopt.testing.strategies import idn_instances

everything = idn_instances(cost=None)


def options_of(instance, rho):
    """(cost, position, model, node, latency) of every option of a type, by its definition."""
    nodes = [v for v in instance.path[rho].tolist() if v >= 0]
    weight = {}
    for (u, v), w in zip(instance.edges.tolist(), instance.latency.tolist(), strict=True):
        weight[u, v] = weight[v, u] = Fraction(w)
    found = []
    travelled = Fraction(0)
    for j, v in enumerate(nodes):
        if j:
            travelled += weight[nodes[j - 1], v]
        for m in np.flatnonzero(instance.task == instance.request_task[rho]).tolist():
            latency = travelled + Fraction(instance.delay[v, m])
            cost = latency + Fraction(instance.alpha) * (100 - Fraction(instance.accuracy[m]))
            if instance.cost is not None:
                cost = Fraction(instance.cost[rho, j, m])
            found.append((cost, j, m, v, latency))
    return sorted(found)


@given(everything)
def test_options_are_ranked_by_cost_then_position_then_model(instance):
    ranking = instance.ranking
    assert ranking.first[0] == 0
    assert ranking.first[-1] == len(ranking) == ranking.pair.size
    for rho in range(instance.types):
        expected = options_of(instance, rho)
        here = ranking.options(rho)
        assert here.stop - here.start == len(expected)
        rows = zip(*(getattr(ranking, name)[here].tolist() for name in COLUMNS), strict=True)
        for (cost, j, m, v, latency), row in zip(expected, rows, strict=True):
            # All numbers of the strategy are short binary fractions: sums are exact.
            assert row == (
                float(cost),
                j,
                m,
                v,
                float(latency),
                v * instance.models + m,
                rho,
                100 - instance.accuracy[m],
                bool(instance.repository[v, m]),
                instance.capacity[v, m],
            )
        permanent = [cost for cost, _, m, v, _ in expected if instance.repository[v, m]]
        assert ranking.repository_cost[rho] == float(min(permanent))


COLUMNS = (
    "cost", "position", "model", "node", "latency", "pair", "type", "inaccuracy", "permanent",
    "capacity",
)  # fmt: skip


@given(everything)
def test_potential_is_what_an_option_could_serve(instance):
    ranking = instance.ranking
    # Demand may also be others than the instance's own, as in planning.
    for requests in (*instance.requests, 10 * instance.requests[0] + 7):
        own = ranking.potential(requests)
        [shared] = shared_potential(ranking, requests[None])
        for p in range(len(ranking)):
            r, L = Fraction(int(requests[ranking.type[p]])), ranking.capacity[p]
            if ranking.permanent[p]:
                assert own[p] == shared[p] == r
                continue
            assert own[p] == min(L, r)
            rivals = {int(ranking.type[q]) for q in np.flatnonzero(ranking.pair == ranking.pair[p])}
            total = sum(int(requests[rho]) for rho in rivals)
            fair = min(r, Fraction(L) * r / total) if total > L else r
            assert shared[p] == pytest.approx(float(fair), abs=1e-12)
        # Shared credits never promise more than a model can do; own ones do.
        limit = np.where(instance.repository, np.inf, instance.capacity).ravel()
        promised = np.bincount(ranking.pair, shared, limit.size)
        assert (promised <= limit * (1 + 1e-12)).all()


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
