from __future__ import annotations

import os
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from edgeopt.errors import InstanceError, MissingDependencyError, OptionError
from edgeopt.instances.idn import from_topology, generate
from edgeopt.instances.idn.topology import Links, from_links, read_links
from tests.draws import LEAN

CHAIN = [("c", "a", 100.0), ("b", "a", 300.0), ("b", "d", 50.0), ("b", "e", 70.0), ("d", "f", 1.0)]


def gml(nodes, edges):
    lines = ["graph ["]
    lines += [f'  node [ id {v} label "{name}" ]' for v, name in nodes]
    lines += [f"  edge [ source {u} target {v} {rest} ]" for u, v, rest in edges]
    return "\n".join([*lines, "]", ""])


def test_maps_are_put_in_order():
    links = Links.of(
        [*CHAIN, ("a", "c", 90.0), ("d", "b", 51.0), ("a", "a", 5.0), ("y", "z", 1.0)], "cables"
    )
    assert links.names == ("a", "b", "c", "d", "e", "f")
    assert links.edges.tolist() == [[0, 1], [0, 2], [1, 3], [1, 4], [3, 5]]
    assert links.kilometres.tolist() == [300, 90, 50, 70, 1]
    shuffled = Links.of([(v, u, km) for u, v, km in CHAIN[::-1]], "cables")
    for one, other in zip(shuffled, Links.of(CHAIN, "cables"), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("cables", "rule"),
    [
        ([], "a cable between two nodes"),
        ([("a", "a", 1.0)], "a cable between two nodes"),
        ([("a", "b", -1.0)], "must be a length"),
        ([("a", "b", np.nan)], "must be a length"),
        ([("a", "b", np.inf)], "must be a length"),
    ],
)
def test_bad_cables_are_refused(cables, rule):
    with pytest.raises(InstanceError, match=rule) as caught:
        Links.of(cables, "cables")
    assert caught.value.field == "cables"


def test_nodes_get_their_parts():
    network = from_links(Links.of(CHAIN, "cables"))
    # a 300 b is the long way; from b the others are nearest. c hangs behind a, f behind d.
    assert network.names == ("cloud", "a", "b", "c", "d", "e", "f")
    assert network.tier.tolist() == [0, 2, 1, 4, 2, 4, 4]
    assert network.edges.tolist() == [[2, 0], [1, 2], [1, 3], [2, 4], [2, 5], [4, 6]]
    np.testing.assert_allclose(network.latency, [40, 3, 1, 0.5, 0.7, 0.01])
    assert network.budget.tolist() == [np.inf, 12288, 16384, 4096, 12288, 4096, 4096]
    deep = from_links(Links.of([*CHAIN, ("f", "g", 1.0)], "cables"), cloud_ms=5.0, ms_per_km=1.0)
    assert deep.tier.tolist() == [0, 2, 1, 4, 2, 4, 3, 4]
    assert deep.latency[0] == 5.0
    assert deep.latency[1] == 300.0


def test_two_nodes_are_enough():
    network = from_links(Links.of([("x", "y", 10.0)], "cables"))
    assert network.tier.tolist() == [0, 1, 4]
    instance = generate(topology=network, horizon=1, tasks=2)
    assert instance.path.tolist() == [[2, 1, 0], [2, 1, 0]]


@pytest.mark.parametrize("options", [{"cloud_ms": -1.0}, {"ms_per_km": np.nan}])
def test_bad_latencies_are_refused(options):
    with pytest.raises(OptionError, match=r"(cloud_ms|ms_per_km) = "):
        from_links(Links.of(CHAIN, "cables"), **options)


def test_maps_are_read_from_gml(tmp_path):
    path = tmp_path / "mine.gml"
    nodes = [(0, "Rom"), (1, "Wien"), (2, "Rom")]
    path.write_text(gml(nodes, [(0, 1, "dist 765.5"), (1, 2, "dist 3")]))
    links = read_links(path)
    assert links.names == ("Rom #0", "Rom #2", "Wien")
    assert links.edges.tolist() == [[0, 2], [1, 2]]
    assert links.kilometres.tolist() == [765.5, 3.0]
    assert from_topology(path).names == ("cloud", *links.names)
    folder = tmp_path / "topologies" / "topohub_group"
    folder.mkdir(parents=True)
    path.rename(folder / "mine.gml")
    assert from_topology("group/mine", directory=tmp_path).nodes == 4


def test_bad_maps_are_named(tmp_path):
    path = tmp_path / "bad.gml"
    with pytest.raises(InstanceError, match="no such file"):
        read_links(path)
    path.write_text("graph [ node [")
    with pytest.raises(InstanceError, match="not a readable GML"):
        read_links(path)
    path.write_bytes(b"\xff\xfe\x00graph")
    with pytest.raises(InstanceError, match="not a readable GML"):
        read_links(path)
    path.write_text(gml([(0, "a"), (1, "b")], [(0, 1, "")]))
    with pytest.raises(InstanceError, match="must be a length") as caught:
        read_links(path)
    assert caught.value.field == f"{path}:dist"
    assert caught.value.index == (0,)
    with pytest.raises(InstanceError, match="no such file"):
        from_topology("group/none", directory=tmp_path)


def test_maps_come_from_the_package_by_name(monkeypatch):
    pytest.importorskip("topohub")
    network = from_topology("topozoo/Abilene")
    assert network.nodes == 12
    with pytest.raises(InstanceError, match="no such map"):
        from_topology("topozoo/Atlantis")
    monkeypatch.setitem(__import__("sys").modules, "topohub", None)
    with pytest.raises(MissingDependencyError, match=r"edgeopt\[topologies\]"):
        from_topology("topozoo/Abilene")


@pytest.fixture
def public():
    folder = os.environ.get("EDGEOPT_DATA")
    if not folder or not (Path(folder) / "topologies").is_dir():
        pytest.skip("EDGEOPT_DATA does not name a folder with the public raw files")
    return Path(folder)


def test_every_public_map_makes_a_network(public):
    files = sorted((public / "topologies").glob("*/*.gml"))
    assert len(files) > 200
    for path in files[:: 12 if LEAN else 1]:
        raw = nx.read_gml(path, label="id")
        largest = max(nx.connected_components(raw), key=len)
        network = from_topology(path)
        assert network.nodes == 1 + len(largest), path
        assert (network.tier == 4).any(), path
        assert np.bincount(network.tier)[:2].tolist() == [1, 1], path
        # No path to the cloud passes a base station.
        if len(largest) < 40:
            instance = generate(topology=network, horizon=1, tasks=2, replicas=1)
            inner = np.where(instance.path[:, 1:] < 0, 0, instance.path[:, 1:])
            assert (network.tier[inner] < 4).all(), path


def test_package_and_files_agree(public):
    pytest.importorskip("topohub")
    for name in ("sndlib/geant", "topozoo/Abilene", "sndlib/germany50"):
        one, other = from_topology(name), from_topology(name, directory=public)
        assert one.names == other.names
        np.testing.assert_array_equal(one.latency, other.latency)
