"""The counterexamples show what they are made for."""

from __future__ import annotations

import numpy as np
import pytest
from edgeopt_papers.edr.claims.counterexamples import (
    jensen,
    lemma5,
    mixed_price,
    never_trained,
    theorem3,
    uneven_demand,
)

from edgeopt.errors import OptionError
from tests.certified import linprog


def serve(instance, *, slot=0, room=None, budget=np.inf, energy_price=0.0):
    """Serve frame 0 at least cost: cost and energy; the cost is infinite where it cannot be done.

    Amounts run over origin, serving site and type.
    """
    J, N = instance.sites, instance.types
    seconds = instance.request_seconds(0, slot)
    energy = np.broadcast_to(instance.request_energy, (J, J, N)).ravel()
    cost = instance.energy_weight * instance.price[0] * energy
    cost = cost + instance.delay_weight * seconds.ravel()
    route = (seconds <= instance.slo[0, slot]) & instance.capable
    asked = np.zeros((J * N, J * J * N))
    load = np.zeros((J, J * J * N))
    for column, (j, k, n) in enumerate(np.ndindex(J, J, N)):
        asked[j * N + n, column] = 1
        load[k, column] = instance.request_work[n]
    limits, right = [load], [instance.capacity if room is None else room]
    if np.isfinite(budget):
        limits.append(energy[None])
        right.append([budget])
    done = linprog(
        cost + energy_price * energy,
        A_ub=np.vstack(limits),
        b_ub=np.concatenate(right),
        A_eq=asked,
        b_eq=instance.requests[0, slot].ravel(),
        bounds=[(0, None if able else 0) for able in route.ravel()],
    )
    return (float(cost @ done.x), float(energy @ done.x)) if done.status == 0 else (np.inf, np.inf)


def test_whole_rounds_cost_more_than_their_mean():
    instance = jensen()
    assert instance.even_rate.tolist() == [1.0]
    assert instance.round_cost.tolist() == [[0.0]]

    def cost(rounds):
        return serve(instance, room=instance.capacity - rounds * instance.round_work[0])[0]

    assert [cost(0), cost(0.5), cost(1)] == pytest.approx([0, 0, 5])


@pytest.mark.parametrize(("build", "capacity"), [(lemma5, 1.2), (theorem3, 2.0)])
def test_counterexamples_to_the_published_bounds(build, capacity):
    instance = build()
    assert (instance.frames, instance.slots, instance.sites) == (10, 1, 1)
    assert instance.round_energy.tolist() == instance.round_cost.tolist() == [[1.0]] * 10
    assert instance.round_work.tolist() == [[1.0]]
    assert instance.even_rate.tolist() == [1.0]
    assert instance.rounds.tolist() == [10]
    assert instance.cap.tolist() == [2.0] * 10
    assert instance.capacity.tolist() == [capacity]
    assert instance.request_energy.tolist() == [[1.0]]
    # Training at the even rate and serving leave a tenth of room in each limit.
    assert capacity - (1 + 0.1) > 0.09
    assert serve(instance)[0] == pytest.approx(0.1 * (1 + 1e-3))


def test_rounding_down_never_trains():
    assert never_trained(100).even_rate.tolist() == [0.99]
    for frames in (2, 5, 30):
        instance = never_trained(frames)
        rate = instance.even_rate[0]
        assert np.floor(rate) == 0
        assert rate * frames == pytest.approx(instance.rounds[0])
        assert (instance.cap >= instance.rounds[0]).all()
        assert instance.capacity[0] >= 1
    with pytest.raises(OptionError, match="frames = 1: must be at least 2"):
        never_trained(1)


def test_training_must_not_be_spread_evenly():
    instance = uneven_demand()
    work = instance.round_work[0]
    even = [serve(instance, slot=d, room=instance.capacity - work / 2)[0] for d in (0, 1)]
    late = [serve(instance, slot=d, room=instance.capacity - work * d)[0] for d in (0, 1)]
    assert np.isinf(even[0])
    assert np.isfinite(late).all()


def test_no_single_price_of_energy_is_enough():
    instance = mixed_price()
    assert serve(instance, energy_price=9.9) == pytest.approx((0, 2))
    assert serve(instance, energy_price=10.1) == pytest.approx((10, 1))
    assert serve(instance, budget=instance.cap[0]) == pytest.approx((5, 1.5))
