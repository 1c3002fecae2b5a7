"""The environment: what it shows, what it accepts, what it books."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from edgeopt.errors import InputError, OptionError
from edgeopt.instances.idn import IdnInstance
from edgeopt.online.idn import IdnEnvironment, serve

if TYPE_CHECKING:
    from edgeopt.online.idn.environment import Order

TWO_TYPES_ONE_EDGE = IdnInstance(
    # Types 0 and 1 enter at node 0; model 0 is shared, model 1 is dearer, the cloud dearest.
    edges=[[0, 1]],
    latency=[100.0],
    size=[[1.0, 1.0], [1.0, 1.0]],
    delay=[[1.0, 5.0], [20.0, 20.0]],
    capacity=[[6.0, 3.0], [np.inf, np.inf]],
    accuracy=[100.0, 100.0],
    task=[0, 0],
    budget=[2.0, np.inf],
    repository=[[False, False], [True, True]],
    request_task=[0, 0],
    path=[[0, 1], [0, 1]],
    requests=[[4, 8]],
    alpha=0.0,
)
BOTH = np.ones((2, 2), dtype=bool)


def loads(order: Order, draw: object) -> np.ndarray:
    """Requests served per [type, model of node 0, then the cloud]."""
    served = serve(TWO_TYPES_ONE_EDGE, np.array([4, 8]), BOTH, order=order, draw=draw)
    ranking = TWO_TYPES_ONE_EDGE.ranking
    table = np.zeros((2, 3))
    for type_, node, model, load in zip(
        ranking.type, ranking.node, ranking.model, served.load, strict=True
    ):
        table[type_, model if node == 0 else 2] += load
    return table


def test_first_type_in_turn_takes_the_cheap_model_first() -> None:
    assert loads("sequential", np.array([0, 1])).tolist() == [[4, 0, 0], [2, 3, 3]]
    assert loads("sequential", np.array([1, 0])).tolist() == [[0, 1, 3], [6, 2, 0]]


def test_flowing_types_share_in_proportion() -> None:
    # Both flow into model 0 until it has served 6 (half of the slot), then into model 1 for 3 more.
    assert loads("fluid", None) == pytest.approx(np.array([[2, 1, 1], [4, 2, 2]]))


def test_a_pair_that_stays_open_is_filled_once() -> None:
    # Type 0 has a model of its own with room for all; that of type 1 is full at a quarter.
    apart = TWO_TYPES_ONE_EDGE.replace(
        edges=[[0, 2], [1, 2]],
        latency=[100.0, 100.0],
        size=[[1.0]] * 3,
        delay=[[1.0]] * 3,
        capacity=[[10.0], [2.0], [np.inf]],
        accuracy=[100.0],
        task=[0],
        budget=[1.0, 1.0, np.inf],
        repository=[[False], [False], [True]],
        path=[[0, 2], [1, 2]],
        requests=[[8, 8]],
    )
    served = serve(apart, np.array([8, 8]), np.ones((3, 1), dtype=bool), order="fluid")
    assert served.load == pytest.approx([8, 0, 2, 6])


def test_random_order_serves_whole_requests_and_is_fluid_on_average() -> None:
    tables = np.stack([loads("random", seed) for seed in range(2000)])
    assert (tables == np.rint(tables)).all()
    assert (tables.sum(axis=(1, 2)) == 12).all()
    # Hypergeometric: variance of type 0 at model 0 is 6 * 1/3 * 2/3 * 6/11; six standard errors.
    spread = np.sqrt(6 * (1 / 3) * (2 / 3) * (6 / 11) / 2000)
    assert tables[:, 0, 0].mean() == pytest.approx(2.0, abs=6 * spread)


def test_potential_is_what_is_left_besides_the_own_load() -> None:
    served = serve(TWO_TYPES_ONE_EDGE, np.array([4, 8]), BOTH, draw=np.array([0, 1]))
    ranking = TWO_TYPES_ONE_EDGE.ranking
    seen = {
        (int(t), int(v), int(m)): float(left)
        for t, v, m, left in zip(
            ranking.type, ranking.node, ranking.model, served.potential, strict=True
        )
    }
    assert seen[0, 0, 0] == 4.0  # 6 - 2 of the other type, of which 4 are wanted
    assert seen[1, 0, 0] == 2.0
    assert seen[0, 0, 1] == 0.0
    assert seen[1, 0, 1] == 3.0
    assert seen[0, 1, 0] == 4.0  # a repository serves everything


@pytest.mark.parametrize(
    ("requests", "field"),
    [([1, -2], "requests"), ([1.0, 2.0], "requests"), ([1, 2, 3], "requests")],
)
def test_bad_requests_are_named(requests: list[float], field: str) -> None:
    with pytest.raises(InputError, match=field):
        serve(TWO_TYPES_ONE_EDGE, np.array(requests), BOTH)


def test_bad_orders_are_named() -> None:
    requests = np.array([1, 2])
    with pytest.raises(OptionError, match="permutation"):
        serve(TWO_TYPES_ONE_EDGE, requests, BOTH, draw=np.array([0, 0]))
    with pytest.raises(OptionError, match="seed"):
        serve(TWO_TYPES_ONE_EDGE, requests, BOTH, order="random")
    with pytest.raises(OptionError, match="order"):
        serve(TWO_TYPES_ONE_EDGE, requests, BOTH, order="alphabetic")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="order"):
        IdnEnvironment(TWO_TYPES_ONE_EDGE, order="alphabetic")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="allocation"):
        serve(TWO_TYPES_ONE_EDGE, requests, BOTH.astype(float))  # type: ignore[arg-type]


@pytest.mark.parametrize("order", ["random", "sequential"])
def test_scenarios_beyond_memory_are_refused(order: Order) -> None:
    environment = IdnEnvironment(TWO_TYPES_ONE_EDGE, order)
    with pytest.raises(OptionError, match=r"runs \* slots"):
        environment.scenarios(np.random.default_rng(0), 10**15)


def test_decisions_are_checked() -> None:
    environment = IdnEnvironment(TWO_TYPES_ONE_EDGE)
    [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    episode = environment.episode(scenario)
    for wrong, text in (
        (np.ones((2, 2)), "bool"),
        (np.ones((2, 3), dtype=bool), "shape"),
        (np.zeros((2, 2), dtype=bool), "repository"),
    ):
        with pytest.raises(OptionError, match=text):
            episode.act(wrong)
    episode.act(BOTH)
    assert episode.observe() is None
    with pytest.raises(OptionError, match="over"):
        episode.act(BOTH)
