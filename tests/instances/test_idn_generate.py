from __future__ import annotations

from collections import Counter
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.idn import catalogue, generate, topology_1, topology_2
from edgeopt.instances.idn.generate import largest_remainder, sliding_shares, spread, zipf_shares
from edgeopt.instances.idn.topology import paths_to_root, tree


def trip(network):
    """Latency from every node to the cloud."""
    graph = nx.Graph()
    graph.add_weighted_edges_from(
        (u, v, w) for (u, v), w in zip(network.edges.tolist(), network.latency, strict=True)
    )
    assert nx.is_tree(graph)
    length = nx.single_source_dijkstra_path_length(graph, 0)
    return [length[v] for v in range(network.nodes)]


# --- networks ------------------------------------------------------------------------------


def test_topology_1_has_36_nodes_in_five_tiers():
    network = topology_1()
    assert np.bincount(network.tier).tolist() == [1, 1, 2, 8, 24]
    assert (np.diff(network.tier) >= 0).all()
    latency = {0: 0, 1: 40, 2: 55, 3: 61, 4: 67}
    assert trip(network) == [latency[k] for k in network.tier.tolist()]
    children = Counter(parent for _, parent in network.edges.tolist())
    assert [children[v] for v in range(12)] == [1, 2, 4, 4, *[3] * 8]
    memory = {0: np.inf, 1: 16384, 2: 12288, 3: 8192, 4: 4096}
    assert network.budget.tolist() == [memory[k] for k in network.tier.tolist()]
    assert [name == "Titan RTX" for name in network.gpu] == (network.tier <= 1).tolist()
    assert len(set(network.names)) == 36


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_topology_2_keeps_the_latency_of_the_missing_tier(missing):
    network = topology_2(missing)
    assert network.tier.tolist() == [*sorted({0, 1, 2, 3} - {missing}), 4, 4]
    assert trip(network)[3:] == [67, 67]
    assert network.edges.tolist() == [[1, 0], [2, 1], [3, 2], [4, 2]]


def test_topology_2_has_no_tier_2_by_default():
    network = topology_2()
    assert network.tier.tolist() == [0, 1, 3, 4, 4]
    assert network.latency.tolist() == [40, 21, 6, 6]


def test_a_tier_that_cannot_be_missing_is_refused():
    with pytest.raises(OptionError, match="missing = "):
        topology_2(4)


@given(st.data())
def test_paths_to_the_root_are_shortest_and_form_a_tree(data):
    nodes = data.draw(st.integers(1, 6))
    pairs = [(u, v) for u in range(nodes) for v in range(u)]
    weight = {pair: data.draw(st.integers(0, 3)) for pair in pairs if data.draw(st.booleans())}
    weight.update(((v, v - 1), 2) for v in range(1, nodes))
    edges = np.array(list(weight), dtype=int).reshape(-1, 2)
    latency = np.array(list(weight.values()), dtype=float)
    graph = nx.Graph()
    graph.add_node(0)
    graph.add_weighted_edges_from((*pair, w) for pair, w in weight.items())
    root = data.draw(st.integers(0, nodes - 1))
    length = nx.single_source_dijkstra_path_length(graph, root)
    paths = paths_to_root(edges, latency, nodes, root)
    for v, path in enumerate(paths):
        assert (path[0], path[-1]) == (v, root)
        assert nx.path_weight(graph, path, "weight") == length[v]
        assert path[1:] == (paths[path[1]] if v != root else ())


def test_nodes_without_a_path_are_named():
    with pytest.raises(OptionError, match="no path from node 2 to node 0"):
        paths_to_root(np.array([[0, 1]]), np.ones(1), 3)


# --- catalogue -----------------------------------------------------------------------------


def test_catalogue_is_the_published_one():
    models = catalogue()
    assert len(models.names) == 10
    row = models.names.index("416p")
    assert models.accuracy[row] == 62.8
    assert models.size[row] == 1009
    assert models.frames[row].tolist() == [73.8, 25.1]
    # Column sums of the printed table, as a check on typing.
    assert models.accuracy.sum() == pytest.approx(530.2)
    assert models.size.sum() == 5781
    assert models.frames.sum(axis=0) == pytest.approx([3828.0, 1302.3])


def test_models_are_spread_over_tasks_and_replicas():
    instance = generate(horizon=1)
    models = catalogue()
    assert (instance.nodes, instance.models, instance.tasks) == (36, 600, 20)
    for m in (0, 4, 31, 29, 599):
        task, model = m // 30, m % 30 // 3
        assert instance.task[m] == task
        assert instance.accuracy[m] == models.accuracy[model]
        assert (instance.size[:, m] == models.size[model]).all()
        for v in range(36):
            frames = Fraction(str(models.frames[model, 0 if v <= 1 else 1]))
            assert instance.delay[v, m] == pytest.approx(float(1000 / frames), rel=1e-15)
            limit = np.inf if v == 0 else int(60 * frames)
            assert instance.capacity[v, m] == limit


def test_whole_products_are_not_rounded_down():
    # 100 * 0.29 is 28.999999999999996 in floating point.
    assert np.floor(100 * 0.29) == 28
    models = catalogue()._replace(frames=np.tile([0.29, 0.57], (10, 1)))
    data = spread(models, models.gpus, tasks=1, replicas=1, slot_seconds=100)
    assert data.capacity[:, 0].tolist() == [29, 57]


@pytest.mark.parametrize(
    ("alpha", "name", "cost"),
    [
        # The full network on 416 pixels is the cheapest of the unpruned ones at alpha = 1, but the
        # first pruned one is cheaper still: 44.9 + 1000 / 209 against 37.2 + 1000 / 73.8.
        (1, "3.99", 44.9 + 1000 / 209),
        (3, "512p", 3 * 35.1 + 1000 / 55.5),
        (4, "512p", 4 * 35.1 + 1000 / 55.5),
        (5, "512p", 5 * 35.1 + 1000 / 55.5),
    ],
)
def test_the_cloud_serves_by_its_cheapest_model(alpha, name, cost):
    instance = generate(horizon=1, alpha=alpha)
    assert instance.repository[0].all()
    assert not instance.repository[1:].any()
    ranking = instance.ranking
    for rho in range(40):
        here = ranking.options(rho)
        first = here.start + int(np.argmax(ranking.permanent[here]))
        assert catalogue().names[ranking.model[first] % 30 // 3] == name
        assert ranking.repository_cost[rho] == pytest.approx(67 + cost, rel=1e-14)


def test_unpruned_networks_compare_as_published_at_alpha_1():
    models = catalogue()
    cost = 1000 / models.frames[:4, 0] + (100 - models.accuracy[:4])
    assert models.names[int(np.argmin(cost))] == "416p"


# --- requests ------------------------------------------------------------------------------


def test_popularity_follows_zipf():
    shares = zipf_shares(20)
    assert shares[0] == pytest.approx(0.349800, abs=5e-7)
    assert shares.sum() == pytest.approx(1)
    assert shares / shares[0] == pytest.approx([(i + 1) ** -1.2 for i in range(20)])
    assert zipf_shares(4, 0.0).tolist() == [0.25] * 4


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8).filter(any), st.integers(0, 1000))
def test_largest_remainder_is_fair(weights, total):
    count = largest_remainder(weights, total)
    assert count.sum() == total
    quota = [Fraction(w * total, sum(weights)) for w in weights]
    remainder = [q - int(q) for q in quota]
    extra = [int(c) - int(q) for c, q in zip(count, quota, strict=True)]
    assert set(extra) <= {0, 1}
    ranked = sorted(range(len(weights)), key=lambda i: (-remainder[i], i))
    assert [i for i in ranked if extra[i]] == ranked[: sum(extra)]


@given(st.lists(st.floats(1e-12, 1e12), min_size=1, max_size=6), st.integers(0, 2**40))
def test_largest_remainder_keeps_the_total_whatever_the_shares(shares, total):
    count = largest_remainder(shares, total)
    assert count.sum() == total
    assert (count >= 0).all()
    quota = total * np.array(shares) / sum(shares)
    assert np.abs(count - quota).max() <= 1 + 1e-3


@pytest.mark.parametrize("shares", [[], [0.0], [1.0, -1.0], [np.nan], [np.inf], [[1.0]]])
def test_bad_shares_are_refused(shares):
    with pytest.raises((OptionError, InstanceError), match="shares"):
        largest_remainder(shares, 3)
    with pytest.raises(OptionError):
        largest_remainder([1.0], -1)


@given(
    st.integers(1, 4), st.integers(1, 5), st.integers(0, 12), st.integers(1, 9), st.integers(0, 5)
)
def test_sliding_popularity_moves_with_the_requests(tasks, horizon, per_slot, every, by):
    base = zipf_shares(tasks)
    shares = sliding_shares(base, horizon, per_slot, every, by)
    for slot in range(horizon if per_slot else 0):
        mean = np.zeros(tasks)
        for number in range(slot * per_slot, (slot + 1) * per_slot):
            mean += [base[(i + by * (number // every)) % tasks] / per_slot for i in range(tasks)]
        np.testing.assert_allclose(shares[slot], mean, atol=1e-12)
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_slots_are_exact_at_default():
    instance = generate(horizon=5)
    assert instance.total_requests.tolist() == [450_000] * 5
    assert instance.requests[0, :2].tolist() == [78705, 78705]  # 450000 * 0.3498 / 2
    assert (instance.requests == instance.requests[0]).all()
    halves = instance.requests[0].reshape(20, 2)
    assert (np.abs(halves[:, 0] - halves[:, 1]) <= 1).all()
    np.testing.assert_allclose(halves.sum(axis=1), 450_000 * zipf_shares(20), atol=2)
    assert generate(horizon=1, rate=7083).total_requests.tolist() == [424_980]


def test_popularity_slides_by_the_hour():
    instance = generate(horizon=181, popularity="sliding")
    first = generate(horizon=1).requests[0].reshape(20, 2)
    for slot, period in ((0, 0), (59, 0), (60, 1), (119, 1), (120, 2), (180, 3)):
        turned = np.roll(first, -5 * period, axis=0)
        np.testing.assert_array_equal(instance.requests[slot].reshape(20, 2), turned)
    other = generate(horizon=2, popularity="sliding", shift_every=450_000, shift_by=1)
    np.testing.assert_array_equal(other.requests[1].reshape(20, 2), np.roll(first, -1, axis=0))


def test_drawn_requests_follow_the_shares():
    instance = generate(horizon=60, arrivals="multinomial", rng=5)
    assert np.unique(instance.requests, axis=0).shape[0] == 60
    assert (instance.total_requests == 450_000).all()
    expected = 60 * 450_000 * np.repeat(zipf_shares(20) / 2, 2)
    chi = ((instance.requests.sum(axis=0) - expected) ** 2 / expected).sum()
    assert chi < 100  # 39 degrees of freedom: exceeded with probability 3e-7
    slid = generate(horizon=61, arrivals="multinomial", popularity="sliding").requests
    assert slid[0].reshape(20, 2).sum(axis=1).argmax() == 0
    assert slid[60].reshape(20, 2).sum(axis=1).argmax() == 15


def test_tasks_are_attached_to_two_base_stations():
    instance = generate(horizon=1)
    entry = instance.path[:, 0].reshape(20, 2)
    assert (entry[:, 0] < entry[:, 1]).all()
    assert (instance.tier[entry] == 4).all()
    assert np.unique(entry).size > 12
    assert instance.request_task.tolist() == [rho // 2 for rho in range(40)]
    assert (instance.tier[instance.path] == [4, 3, 2, 1, 0]).all()
    small = generate(horizon=1, topology=2)
    assert small.path.tolist() == [[3, 2, 1, 0], [4, 2, 1, 0]] * 20
    lone = generate(horizon=1, topology=tree({0: 1, 4: 1}), tasks=3)
    assert lone.path.tolist() == [[1, 0]] * 3


def test_common_stations_serve_all_tasks():
    stations = set()
    for seed in range(40):
        instance = generate(rng=seed, horizon=1, tasks=3, attachment="common")
        entry = instance.path[:, 0].reshape(3, 2)
        assert (entry == entry[0]).all()
        assert entry[0, 0] < entry[0, 1]
        stations |= set(entry[0].tolist())
    assert len(stations) > 15


@pytest.mark.parametrize(("attachment", "count"), [("all", 24), (1, 1), (5, 5), (np.int64(24), 24)])
def test_tasks_may_enter_at_any_number_of_stations(attachment, count):
    instance = generate(horizon=2, tasks=3, attachment=attachment)
    entry = instance.path[:, 0].reshape(3, count)
    assert all(len(set(row)) == count for row in entry.tolist())
    assert (instance.tier[entry] == 4).all()
    # Requests are split equally, up to whole numbers.
    split = instance.requests.reshape(2, 3, count)
    assert (np.ptp(split, axis=2) <= 1).all()


def test_the_attachment_of_the_default_is_that_of_tasks():
    plain, named, two = (
        generate(horizon=1, tasks=4, **options)
        for options in ({}, {"attachment": "task"}, {"attachment": 2})
    )
    assert plain.fingerprint() == named.fingerprint() == two.fingerprint()


@pytest.mark.parametrize("attachment", ["every", 0, 25, 1.5, True, None])
def test_unknown_attachments_are_refused(attachment):
    with pytest.raises(OptionError, match="attachment"):
        generate(horizon=1, tasks=2, attachment=attachment)


def test_every_station_is_drawn_equally_often():
    count = np.zeros(24)
    for seed in range(50):
        entry = generate(horizon=1, rng=seed, replicas=1).path[:, 0]
        count += np.bincount(entry - 12, minlength=24)
    # 2000 draws, 83 each in the mean; without repetition a little less spread than the distribution
    # says.
    assert ((count - 2000 / 24) ** 2 / (2000 / 24)).sum() < 75  # 23 degrees of freedom: 2e-7


def test_other_options_do_not_move_the_tasks():
    drawn = generate(horizon=3, rng=7, arrivals="multinomial")
    assert drawn != generate(horizon=3, rng=7)
    for options in (
        {"alpha": 3.0},
        {"popularity": "sliding"},
        {"arrivals": "multinomial"},
        {"horizon": 5},
    ):
        other = generate(**{"horizon": 3, "rng": 7, **options})
        np.testing.assert_array_equal(other.path, drawn.path)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"topology": 3}, "topology = "),
        ({"topology": "1"}, "topology = "),
        ({"popularity": "uniform"}, "popularity = "),
        ({"arrivals": "poisson"}, "arrivals = "),
        ({"horizon": 0}, "horizon = .*: must be at least 1"),
        ({"rate": -1.0}, "rate = "),
        ({"rate": np.nan}, "rate = "),
        ({"rate": np.inf}, "rate = "),
        ({"rate": 0.0, "slot_seconds": 0.0}, "slot_seconds = "),
        ({"tasks": 0}, "tasks = "),
        ({"replicas": 0}, "replicas = .*: must be at least 1"),
        ({"zipf": -1.0}, "zipf = "),
        ({"popularity": "sliding", "shift_every": 0}, "shift_every = .*: must be at least 1"),
    ],
)
def test_options_out_of_range_are_refused(options, rule):
    with pytest.raises(OptionError, match=rule):
        generate(**{"horizon": 2, **options})


def test_quiet_networks_are_allowed():
    assert generate(horizon=2, rate=0.0).requests.sum() == 0
    assert generate(horizon=2, rate=0.0, popularity="sliding").requests.sum() == 0


def test_unknown_units_are_named():
    network = topology_2()._replace(gpu=("Titan RTX",) * 4 + ("abacus",))
    with pytest.raises(OptionError, match="not abacus"):
        generate(horizon=1, topology=network)
