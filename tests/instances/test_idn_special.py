from __future__ import annotations

import itertools

import numpy as np
import pytest

from edgeopt.errors import OptionError
from edgeopt.instances.idn import adversarial, crowded_out, shared_model, small


@pytest.mark.parametrize("own_cost", [False, True])
def test_small_instances_are_small_and_various(own_cost):
    seen = set()
    useful = 0
    for seed in range(200):
        instance = small(seed, own_cost=own_cost)
        sizes = (instance.nodes, instance.tasks, instance.models, instance.types, instance.horizon)
        assert all(n <= most for n, most in zip(sizes, (5, 3, 6, 4, 4), strict=True))
        assert instance.path[:, 0].min() >= 1  # requests enter outside the repository
        assert (instance.cost is not None) == own_cost
        seen.add(sizes)
        ranking = instance.ranking
        gains = ranking.cost < ranking.repository_cost[ranking.type]
        useful += bool((gains & instance.active[ranking.node]).any())
    assert len(seen) > 100
    assert useful > 120
    assert small(3) == small(np.random.default_rng(3))


def test_demand_changes_in_turn_or_at_random():
    instance = adversarial(horizon=7, tasks=3, period=2)
    assert instance.requests.argmax(axis=1).tolist() == [0, 0, 1, 1, 2, 2, 0]
    assert (instance.requests.sum(axis=1) == 1).all()
    assert instance.active.tolist() == [True, False]
    assert instance.ranking.cost.tolist() == [0.0, 1.0] * 3
    drawn = adversarial(horizon=3000, tasks=3, period=3, rng=4)
    assert drawn == adversarial(horizon=3000, tasks=3, period=3, rng=4)
    wanted = drawn.requests.argmax(axis=1).reshape(1000, 3)
    assert (wanted == wanted[:, :1]).all()
    count = np.bincount(wanted[:, 0])
    assert ((count - 1000 / 3) ** 2 / (1000 / 3)).sum() < 27.7  # 2 degrees of freedom: 1e-6


@pytest.mark.parametrize("options", [{"horizon": 0}, {"tasks": 1}, {"period": 0}])
def test_bad_adversaries_are_refused(options):
    with pytest.raises(OptionError, match=r"(horizon|tasks|period) = "):
        adversarial(**options)


def gain_in_turn(instance, hosts):
    """Gain of a slot if types are served one after another, by the definition."""
    left = {v: float(instance.capacity[v, 0]) for v in hosts}
    gain = 0.0
    for rho in range(instance.types):
        here = instance.ranking.options(rho)
        for _ in range(int(instance.requests[0, rho])):
            for v, cost, permanent in zip(
                instance.ranking.node[here].tolist(),
                instance.ranking.cost[here].tolist(),
                instance.ranking.permanent[here].tolist(),
                strict=True,
            ):
                if permanent or left.get(v, 0) >= 1:
                    if not permanent:
                        left[v] -= 1
                    gain += instance.ranking.repository_cost[rho] - cost
                    break
    return gain


def test_gains_at_run_time_are_not_submodular():
    instance = shared_model()
    found = {
        hosts: gain_in_turn(instance, hosts)
        for n in range(3)
        for hosts in itertools.combinations((0, 1), n)
    }
    assert found == {(): 0.0, (1,): 1.0, (0,): 9.0, (0, 1): 17.0}


def test_the_small_model_has_the_better_gain_per_size():
    instance = crowded_out(0.125)
    ranking = instance.ranking
    gain = ranking.repository_cost[ranking.type] - ranking.cost
    here = ranking.node == 0
    assert gain[here].tolist() == [0.25, 1.0]
    size = instance.size[0, ranking.model[here]]
    assert (gain[here] / size).tolist() == [2.0, 1.0]
    assert size.sum() > instance.budget[0] == size.max()
    for eps in (0.0, 0.5, -1.0, np.nan):
        with pytest.raises(OptionError, match="eps"):
            crowded_out(eps)
