"""The formulas that the claims compare, against plain ones."""

import numpy as np
import pytest
from edgeopt_papers.idn.claims.evaluation import Evaluation
from edgeopt_papers.idn.claims.identities import most_violated
from edgeopt_papers.idn.claims.messages import supergradient_by_messages
from hypothesis import given, settings

from edgeopt.instances.idn import generate
from edgeopt.models.idn import supergradient
from tests.draws import draws
from tests.oracles.idn import gains, plain
from tests.papers.idn.claims.test_true_claims import adversaries


def by_type(instance, potential):
    ranking = instance.ranking
    return [potential[ranking.options(rho)].tolist() for rho in range(instance.types)]


@settings(max_examples=draws(100))
@given(adversaries(cost=None, whole=False))
def test_forms_of_the_gain_by_plain_sums(given):
    """In floats, on multiples of 1/64, where sums are exact."""
    view, exact = Evaluation(given), plain(given.instance, float)
    x = np.round(64 * view.allocations) / 64
    for slot in view.slots[:2]:
        requests = slot.requests.astype(int).tolist()
        potential = by_type(given.instance, slot.potential)
        for n in range(0, len(x), 5):
            table = x[n].reshape(given.instance.size.shape).tolist()
            for computed, theirs in (
                (slot.serving_cost, gains.serving_cost),
                (slot.difference, gains.gain_as_difference),
                (slot.ranked, gains.gain_by_ranks),
                (slot.uncovered, gains.gain_below_repositories),
            ):
                expected = theirs(exact, requests, potential, table)
                assert computed(x[n : n + 1])[0] == pytest.approx(expected, abs=1e-9)
            slope = gains.supergradient(exact, requests, potential, table)
            assert slot.supergradient(x[n]) == pytest.approx(np.ravel(slope), abs=1e-9)


@settings(max_examples=draws(100))
@given(adversaries(cost=None))
def test_capped_forms_are_the_plain_ones_when_repositories_are_whole(given):
    """Nothing is capped below a whole repository, and nothing counts behind it."""
    view = Evaluation(given)
    for slot in view.slots:
        x = view.allocations
        assert slot.capped(x) == pytest.approx(slot.ranked(x), abs=1e-9)
        assert slot.capped_bounding(x) == pytest.approx(slot.bounding(x), abs=1e-9)
        whole = np.isin(x, [0, 1]).all(axis=1)
        assert np.all(slot.bounding(x[whole]) <= slot.ranked(x[whole]) + 1e-9)


@settings(max_examples=draws(100))
@given(adversaries(cost=None))
def test_bounding_function_is_the_expectation_of_independent_whole_service(given):
    """If each option serves all or nothing, with probability z / r, by its own coin."""
    view = Evaluation(given)
    slot, y = view.slots[0], view.fractional[-1].reshape(1, -1)
    total = 0.0
    for kind in slot.types:
        if kind.requests == 0:
            continue
        none = 1.0
        for k in range(len(kind.cost) - 1):
            none *= 1 - y[0, kind.pair[k]] * kind.potential[k] / kind.requests
            if not kind.permanent[: k + 1].any():
                total += (kind.cost[k + 1] - kind.cost[k]) * kind.requests * (1 - none)
    assert slot.bounding(y)[0] == pytest.approx(total, abs=1e-9)


def test_equal_slots_are_one_object_and_shares_add_up():
    from edgeopt_papers.idn.claims.instances import long

    view = Evaluation(long(0, 100))
    assert len(view.distinct) <= 5
    assert sum(share for _, share in view.distinct) == pytest.approx(1)
    period = len(view.distinct)
    assert view.slot(0) is view.slot(period) or view.instance.horizon % period


def test_most_violated_pair_by_plain_loops():
    rng = np.random.default_rng(2)
    for _ in range(50):
        values = rng.integers(0, 20, 16).astype(float)
        expected = max(
            values[s | 1 << i | 1 << j] - values[s | 1 << j] - values[s | 1 << i] + values[s]
            for s in range(16)
            for i in range(4)
            for j in range(4)
            if i != j and not s >> i & 1 and not s >> j & 1
        )
        excess, where = most_violated(values, 4)
        s, i, j = where["set"], where["first"], where["second"]
        assert excess == expected
        assert values[s | i | j] - values[s | j] - values[s | i] + values[s] == expected


NETWORK = generate(horizon=1)
REQUESTS = NETWORK.requests[0].astype(float)
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
