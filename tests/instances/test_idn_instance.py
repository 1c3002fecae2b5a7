from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from edgeopt_papers.idn.claims.instances import shared_model
from hypothesis import given

from edgeopt.instances.idn import generate, small
from edgeopt.instances.idn.instance import edge_between, network_latency, pad_paths
from edgeopt.testing.strategies import idn_instances

everything = idn_instances(cost=None)


@given(everything)
def test_costs_along_a_path_are_those_of_the_graph(instance):
    graph = instance.graph
    assert nx.is_frozen(graph)
    assert sorted(graph) == list(range(instance.nodes))
    assert graph.number_of_edges() == len(instance.edges)
    along = network_latency(instance.path, instance.edges, instance.latency, instance.nodes)
    for nodes, total in zip(instance.path, along, strict=True):
        walk = nodes[nodes >= 0].tolist()
        for j in range(len(walk)):
            assert total[j] == nx.path_weight(graph, walk[: j + 1], "latency")
        assert (total[len(walk) :] == total[len(walk) - 1]).all()


def test_graph_carries_what_is_known_of_the_nodes():
    graph = generate(horizon=1, topology=2).graph
    assert graph.nodes[0] == {"budget": np.inf, "tier": 0, "name": "cloud"}
    assert graph.nodes[3]["budget"] == 4096
    assert graph.edges[1, 0] == {"latency": 40.0}
    assert small(0).graph.nodes[0] == {"budget": np.inf}
    with pytest.raises(nx.NetworkXError, match="Frozen"):
        graph.add_node(99)


def test_sizes_and_repr():
    instance = generate(horizon=7, tasks=3, replicas=2, topology=2)
    sizes = (instance.nodes, instance.models, instance.tasks, instance.types, instance.horizon)
    assert sizes == (5, 60, 3, 6, 7)
    assert instance.longest == 4
    text = "IdnInstance(nodes=5, models=60, tasks=3, types=6, horizon=7, alpha=1)"
    assert repr(instance) == text


def test_paths_may_be_ragged_or_padded():
    instance = shared_model()
    assert instance.path.tolist() == [[0, 1, 2], [1, 3, -1]]
    for path in (
        [[0, 1, 2], [1, 3]],
        [np.array([0, 1, 2]), (1, 3)],
        [[0, 1, 2, -1], [1, 3, -1]],
        np.array([[0, 1, 2, -1, -1], [1, 3, -1, -1, -1]]),
    ):
        again = instance.replace(path=path)
        assert again == instance
        assert again.longest == 3


def test_edges_are_found_in_both_directions():
    edges = np.array([[2, 0], [0, 1]])
    start, end = np.array([[0, 2], [1, 1]]), np.array([[2, 0], [0, 2]])
    assert edge_between(edges, 3, start, end).tolist() == [[0, 0], [1, -1]]
    assert edge_between(np.zeros((0, 2), dtype=int), 3, start, end).tolist() == [[-1] * 2] * 2
    assert pad_paths([[4]]).tolist() == [[4]]


def test_own_costs_are_cleared_where_there_is_no_option():
    instance = shared_model()
    table = np.array([[[7.0], [8.0], [9.0]], [[1.0], [8.0], [np.nan]]])
    own = instance.replace(cost=table)
    assert own.cost[1, 2, 0] == 0
    assert own.ranking.cost.tolist() == [7.0, 8.0, 9.0, 1.0, 8.0]
    assert own.ranking.latency.tolist() == instance.ranking.latency.tolist()
    wider = np.pad(table, ((0, 0), (0, 2), (0, 0)), constant_values=np.inf)
    assert instance.replace(cost=wider) == own
    assert np.isnan(table[1, 2, 0])  # what the caller handed over is untouched


def test_what_follows_from_the_data_is_read_only():
    instance = small(3, own_cost=True)
    for name in ("pinned", "active", "saturated", "total_requests", "empty"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(instance, name)[...] = 0
