"""What is wrong with a labelled table is named, with what to do about it."""

from __future__ import annotations

from itertools import pairwise

import networkx
import numpy as np
import pandas as pd
import pytest
import xarray
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import InstanceError, OptionError, OutputError
from edgeopt.instances import edr, idn, oinc, rescue, tapfinger
from edgeopt.instances.rescue import RescueInstance, ReservedTasks
from edgeopt.instances.tapfinger import from_durations
from tests.draws import draws

SERVERS, DEVICES, SLOTS = ["s0", "s1"], ["cam", "car"], range(3)


def frame(values, rows, columns, names=("server", "slot")):
    return pd.DataFrame(
        values, index=pd.Index(rows, name=names[0]), columns=pd.Index(columns, name=names[1])
    )


CAPACITY = frame([[1.0, 2, 3], [4, 5, 6]], SERVERS, SLOTS)
ARRIVAL = frame(np.full((3, 2), 0.25), SLOTS, DEVICES, ("slot", "device"))
DURATION = xarray.DataArray(
    [[1.0, 0.0], [0.5, 0.5]],
    dims=("profile", "duration"),
    coords={"profile": ["fast", "slow"], "duration": [1, 2]},
)
PROFIT = xarray.DataArray([1.0, 2.0], dims="device", coords={"device": DEVICES})


def small(**changes):
    fields = {"arrival": ARRIVAL, "duration": DURATION, "capacity": CAPACITY, "profit": PROFIT}
    fields |= {"reserved": ReservedTasks.none()}
    return RescueInstance.from_labelled(fields | changes)


def durations(table=None, **changes):
    data = {"minimum": [[1, 0]], "capacity": [[4, 0]], "arrival": [0], "kind": ["vgg"]}
    return from_durations(TABLE if table is None else table, **(data | changes))


TABLE = xarray.DataArray(
    [[[8.0], [4.0], [3.0], [2.0]]],
    dims=("kind", "cpu", "gpu"),
    coords={"kind": ["vgg"], "cpu": [1, 2, 3, 4], "gpu": [0]},
)


# --- three wrong answers that the first edition gave -----------------------------------------


def test_durations_at_one_two_and_three_cores_are_those_of_one_two_and_three_cores():
    assert durations().duration[0, 0, :, 0].tolist() == [0, 8, 4, 3, 2]


def test_a_table_in_another_order_of_axes_is_the_same():
    for order in (("gpu", "cpu", "kind"), ("cpu", "kind", "gpu")):
        assert durations(TABLE.transpose(*order)) == durations()


def test_a_frame_upside_down_is_the_same():
    straight, reversed_rows = small(), small(capacity=CAPACITY.iloc[::-1])
    assert reversed_rows.labels["server"] == ("s1", "s0")
    assert reversed_rows.reordered({"server": SERVERS}) == straight
    # Where another field says the order, nothing remains to be undone.
    assert small(arrival=ARRIVAL.iloc[::-1], profit=PROFIT[::-1]) == straight
    assert small(capacity=CAPACITY.iloc[:, ::-1].T) == straight


# --- what else labels do ---------------------------------------------------------------------


def test_units_are_converted_and_the_conversion_is_noted():
    table = CAPACITY * 1000
    table.attrs["units"] = "GMAC/slot"
    found = small(capacity=table)
    np.testing.assert_allclose(found.capacity, small().capacity)
    assert found.notes == ("capacity: converted from GMAC/slot to TMAC/slot (times 0.001)",)


def test_timestamps_are_slots_in_their_order():
    times = pd.date_range("2026-01-01", periods=3, freq="5min")[[2, 0, 1]]
    stamped = {
        "capacity": frame(CAPACITY.to_numpy()[:, [2, 0, 1]], SERVERS, times),
        "arrival": frame(ARRIVAL.to_numpy(), times, DEVICES, ("slot", "device")),
    }
    assert small(**stamped) == small()


def test_slots_may_count_from_one():
    fields = {
        "arrival": ARRIVAL.rename(index=lambda slot: slot + 1),
        "capacity": CAPACITY.rename(columns=lambda slot: slot + 1),
        "duration": DURATION, "profit": PROFIT, "reserved": ReservedTasks.none(),
    }  # fmt: skip
    assert RescueInstance.from_labelled(fields, origin=1) == small()


def test_long_tables_of_pandas_are_read_like_wide_ones():
    assert small(capacity=CAPACITY.stack()) == small()
    wide = CAPACITY.stack().sample(frac=1, random_state=3)
    assert small(capacity=wide).reordered({"server": SERVERS}) == small()


def test_tables_without_labels_go_by_position():
    plain = pd.DataFrame(CAPACITY.to_numpy())
    found = small(capacity=plain, arrival=ARRIVAL.to_numpy(), profit=np.ones((1, 2, 1, 1, 1)))
    assert "server" not in found.labels
    np.testing.assert_array_equal(found.capacity, CAPACITY.to_numpy())


def test_errors_name_labels_beside_numbers():
    bad = CAPACITY.copy()
    bad.loc["s1", 2] = -1.0
    with pytest.raises(InstanceError, match=r"capacity\[1, 2\] = -1.0.*\(server 's1', slot 2\)"):
        small(capacity=bad)


def test_reserved_tasks_name_their_servers():
    tasks = {"server": "s1", "start": 0, "end": 1, "demand": 2.0}
    table = pd.DataFrame([tasks], index=pd.Index(["backup"], name="task"))
    given = {f"reserved_{name}": table[name] for name in tasks}
    fields = {"arrival": ARRIVAL, "duration": DURATION, "capacity": CAPACITY, "profit": PROFIT}
    found = RescueInstance.from_labelled(fields | given)
    assert found.reserved.server.tolist() == [1]
    assert found.labels["task"] == ("backup",)


def test_labels_are_no_part_of_the_fingerprint():
    named = rescue.small(1)
    other = named.with_labels({"device": [f"camera {n}" for n in range(named.devices)]})
    assert other == named
    assert other.labels != named.labels
    with pytest.raises(InstanceError, match="must have 2 labels"):
        named.with_labels({"device": ["one"]})
    with pytest.raises(InstanceError, match="no axis with names; these are: device"):
        named.with_labels({"slot": ["one"]})


# --- what is refused -------------------------------------------------------------------------


def task_of(server, demand=1.0):
    index = pd.Index([0], name="task")
    return ReservedTasks(pd.Series([server], index=index), [0], [1], [demand])


def units(table, unit):
    table = table.copy()
    table.attrs["units"] = unit
    return table


def stamps(*minutes, zone=None):
    return pd.DatetimeIndex(
        [pd.Timestamp("2026-01-01", tz=zone) + pd.Timedelta(minutes=m) for m in minutes]
    )


def timed(index):
    return {
        "capacity": frame(CAPACITY.to_numpy(), SERVERS, index[0]),
        "arrival": frame(ARRIVAL.to_numpy(), index[-1], DEVICES, ("slot", "device")),
    }


GRAPH = networkx.Graph()
GRAPH.add_edge("paris", "lyon", latency=8.0)
GRAPH.add_edge("lyon", "nice", latency=5.0)
MODELS = pd.DataFrame(
    {"task": "detect", "accuracy": [60.0, 40.0], "size": [1500, 200], "delay": [20, 3],
     "capacity": [40, 300]},
    index=["large", "tiny"],
)  # fmt: skip


ASKED = {"task": "detect", "node": "nice", "requests": 9}


def sizes(unit):
    """The table of models with sizes in another unit."""
    columns = {name: MODELS[name] for name in MODELS}
    columns["size"] = columns["size"] / 1000
    columns["size"].attrs["units"] = unit
    return columns


def in_words(table, unit):
    """A table whose numbers somebody has written as texts."""
    words = table.astype(object).where(table < 0, "1,000")
    words.attrs["units"] = unit
    return words


def delivery(graph=GRAPH, **changes):
    given = {"models": MODELS, "requests": {("detect", "nice"): [10, 20]}, "budget": 500}
    given |= {"repositories": "paris"}
    return idn.IdnInstance.from_graph(graph, **(given | changes))


def changed(*edges, remove=(), kind=networkx.Graph):
    graph = kind(GRAPH)
    graph.add_edges_from((u, v, data) for u, v, data in edges)
    graph.remove_edges_from(remove)
    return graph


def day(name, **changes):
    """Return a table of a small instance of EDR with other labels."""
    instance = edr.generate(sites=2, tasks=2, frames=3, slots=2, rng=1)
    one = next(one for one in instance._fields if one.name == name)
    names = {"site": ["a", "b"], "origin": ["a", "b"], "target": ["a", "b"], "task": ["x", "y"]}
    array = np.asarray(getattr(instance, name))
    axes = one.axes[len(one.axes) - array.ndim :]
    table = xarray.DataArray(
        array,
        dims=axes,
        coords={axis: names.get(axis, range(n)) for axis, n in zip(axes, array.shape, strict=True)},
    )
    return instance.with_labels({"site": ["a", "b"], "task": ["x", "y"]}), changes.pop("then")(
        table
    )


def replaced(name, then):
    instance, table = day(name, then=then)
    return instance.replace(**{name: table})


def seconds(name, then):
    """Return an instance of OINC with one field as a table."""
    instance = oinc.generate(sites=2, devices=2, slots=3, jobs=1, rng=1)
    instance = instance.with_labels({"site": ["a", "b"], "device": ["m", "n"]})
    axes = {"speed": ("site",), "slo": ("slot", "device")}[name]
    names = {"site": ["a", "b"], "device": ["m", "n"], "slot": range(3)}
    table = xarray.DataArray(
        getattr(instance, name), dims=axes, coords={axis: names[axis] for axis in axes}
    )
    return instance.replace(**{name: then(table)})


CASES = {
    # axes
    "an unnamed axis": (
        lambda: small(capacity=CAPACITY.rename_axis(index=None)),
        "capacity: a table with unnamed axes; name them, e.g. frame.rename_axis(index='server'",
    ),
    "both axes unnamed": (
        lambda: small(capacity=pd.DataFrame(CAPACITY.to_numpy(), index=SERVERS)),
        "frame.rename_axis(index='server', columns='slot')",
    ),
    "an unnamed series": (
        lambda: seconds("speed", lambda t: pd.Series(t.to_numpy(), index=["a", "b"])),
        "speed: a table with unnamed axes; name them, e.g. frame.rename_axis(index='site')",
    ),
    "a wrong axis": (
        lambda: small(capacity=CAPACITY.rename_axis(index="machine")),
        "capacity: axes are (machine, slot); expected a permutation of (server, slot)",
    ),
    "an axis of xarray without a name": (
        lambda: small(capacity=xarray.DataArray(CAPACITY.to_numpy())),
        "axes are (dim_0, dim_1); expected a permutation of (server, slot)",
    ),
    "an axis too few": (
        lambda: small(capacity=CAPACITY.iloc[:, 0]),
        "axes are (server); expected a permutation of (server, slot)",
    ),
    "an axis too many": (
        lambda: small(duration=DURATION.expand_dims(device=DEVICES)),
        "axes are (device, profile, duration); expected a permutation of (profile, duration)",
    ),
    "the same axis twice": (
        lambda: small(capacity=frame(np.ones((2, 2)), SERVERS, SERVERS, ("server", "server"))),
        "axes are (server, server)",
    ),
    "durations by cores": (
        lambda: durations(TABLE.rename(cpu="cores")),
        "duration: axes are (kind, cores, gpu); expected a permutation of (kind, cpu, gpu)",
    ),
    # names
    "a label less": (
        lambda: small(profit=xarray.DataArray([1.0], dims="device", coords={"device": ["cam"]})),
        "profit: label 'car' along 'device' is missing (arrival has cam, car): add it, or take it "
        "out of arrival",
    ),
    "another label": (
        lambda: small(profit=PROFIT.assign_coords(device=["cam", "can"])),
        "profit: label 'can' along 'device' is unknown (arrival has cam, car): did you mean 'car'?",
    ),
    "a label more": (
        lambda: small(
            profit=xarray.DataArray(
                [1.0, 2, 3], dims="device", coords={"device": ["cam", "car", "cart"]}
            )
        ),
        "label 'cart' along 'device' is unknown (arrival has cam, car): add it to arrival, or "
        "take it out here",
    ),
    "a label twice": (
        lambda: small(capacity=CAPACITY.set_axis(pd.Index(["s0", "s0"], name="server"))),
        "capacity: label 's0' along 'server' occurs twice; keep one",
    ),
    "labels that are the same as text": (
        lambda: small(capacity=CAPACITY.set_axis(pd.Index([1, "1"], name="server"))),
        "capacity: label '1' along 'server' occurs twice",
    ),
    "an empty label": (
        lambda: small(capacity=CAPACITY.set_axis(pd.Index(["s0", ""], name="server"))),
        "label '' along 'server' must be a text of one line, not empty",
    ),
    "a label of two lines": (
        lambda: small(capacity=CAPACITY.set_axis(pd.Index(["s0", "s\n1"], name="server"))),
        "along 'server' must be a text of one line, not empty",
    ),
    "numbers of another order beside names": (
        lambda: small(profit=PROFIT.assign_coords(device=[1, 0])),
        "profit: label '1' along 'device' is unknown (arrival has cam, car)",
    ),
    "one field without labels": (
        lambda: small(arrival=ARRIVAL.to_numpy()),
        "profit: is labelled along 'device' (cam, car) but arrival is not labelled along it; "
        "label both, or hand over .to_numpy() of both",
    ),
    "a coordinate less": (
        lambda: small(profit=PROFIT.drop_vars("device")),
        "arrival: is labelled along 'device' (cam, car) but profit is not labelled along it",
    ),
    "a part without labels": (
        lambda: RescueInstance.from_labelled(
            {"arrival": ARRIVAL, "duration": DURATION, "capacity": CAPACITY,
             "reserved": ReservedTasks.none(),
             "profit": rescue.generate(servers=2, devices=2, horizon=30, rng=1).profit}
        ),
        "but profit is not labelled along it",
    ),
    "a table upside down beside plain arrays": (
        lambda: rescue.RescueInstance(
            np.full((3, 2), 0.25), [[1.0]], CAPACITY[::-1], ReservedTasks.none(),
            np.ones((1, 1, 2, 1, 1)),
        ),
        "capacity: is labelled along 'server' (s1, s0) but profit is not labelled along it",
    ),
    "a server of reserved tasks that does not exist": (
        lambda: RescueInstance.from_labelled(
            {"arrival": ARRIVAL, "duration": DURATION, "capacity": CAPACITY, "profit": PROFIT,
             "reserved": task_of("s9")}
        ),
        "reserved: 's9' is none of the servers (s0, s1)",
    ),
    "servers by name where none has one": (
        lambda: rescue.small(1).replace(
            reserved=task_of("s0")
        ),
        "reserved: names servers (s0), but no field is labelled along 'server'",
    ),
    # numbers
    "slots from one": (
        lambda: small(capacity=CAPACITY.rename(columns=lambda slot: slot + 1)),
        "capacity: slot 0 has no entry; slots count from 0 (found 1..3): if they count from "
        "1, pass origin=1, or add the line 'first_slot,1' to settings.csv",
    ),
    "a slot left out": (
        lambda: small(capacity=CAPACITY.drop(columns=1)),
        "capacity: slot 1 has no entry; slots count from 0 (found 0..2): give every one of them",
    ),
    "a slot too few": (
        lambda: small(capacity=CAPACITY.drop(columns=2)),
        "must have 3 entries along its axis 'slot', has 2",
    ),
    "a slot twice": (
        lambda: small(capacity=CAPACITY.set_axis(pd.Index([0, 1, 1], name="slot"), axis=1)),
        "capacity: slot 1 has two entries; keep one",
    ),
    "half a slot": (
        lambda: small(capacity=CAPACITY.set_axis(pd.Index([0, 0.5, 1], name="slot"), axis=1)),
        "label 0.5 along 'slot' must be a whole number",
    ),
    "a slot in words": (
        lambda: small(capacity=CAPACITY.set_axis(pd.Index(["a", "b", "c"], name="slot"), axis=1)),
        "label 'a' along 'slot' must be a whole number",
    ),
    "a slot that is true": (
        lambda: small(capacity=CAPACITY.set_axis(pd.Index([False, True, 2], name="slot"), axis=1)),
        "label False along 'slot' must be a whole number",
    ),
    "a negative slot": (
        lambda: small(capacity=CAPACITY.rename(columns=lambda slot: slot - 1)),
        "capacity: slot -1 does not exist; slots count from 0 (found -1..1)",
    ),
    "a slot far away": (
        lambda: small(capacity=CAPACITY.rename(columns={2: 10**9})),
        "capacity: slot 1000000000 is far beyond the 3 entries along 'slot'; check its labels",
    ),
    "a duration of no slots": (
        lambda: small(duration=DURATION.assign_coords(duration=[0, 1])),
        "duration: duration 0 does not exist; durations count from 1",
    ),
    "a bundle left out": (
        lambda: durations(TABLE.sel(cpu=[1, 2, 4])),
        "duration[0, 3, 0] = nan: is a hole in the table, at or above the smallest bundle; give "
        'it, give the cluster less capacity, or pass holes="smaller" '
        "(kind 'vgg', cpu 3, gpu 0)",
    ),
    "a negative number of cores": (
        lambda: durations(TABLE.assign_coords(cpu=[-1, 2, 3, 4])),
        "duration: cpu -1 does not exist; cpus count from 0",
    ),
    "a negative duration": (
        lambda: durations(TABLE.where(TABLE.cpu != 2, -4.0)),
        "duration[0, 2, 0] = -4.0: must be positive (kind 'vgg', cpu 2, gpu 0)",
    ),
    "slots of requests from one": (
        lambda: delivery(requests=pd.DataFrame([{**ASKED, "slot": n} for n in (1, 2)])),
        "requests: slot 0 has no line; slots count from 0 (found 1..2): give it one, or pass "
        "origin=1 if they count from 1",
    ),
    "no repository": (
        lambda: delivery(repositories=[]),
        "repositories: needs at least one node",
    ),
    "a task without a repository": (
        lambda: delivery(repositories={"large": []}),
        "repositories: task 'detect' has none; name a node for one of its models",
    ),
    "an unknown resource": (
        lambda: durations(
            capacity=frame([[4, 0]], ["rack"], ["cpu", "tpu"], ("cluster", "resource"))
        ),
        "capacity: label 'tpu' along 'resource' is unknown (the instance has cpu, gpu): did you "
        "mean 'gpu'?",
    ),
    "an unknown kind": (
        lambda: durations(kind=["resnet"]),
        "kind: 'resnet' is none of the kinds (vgg)",
    ),
    "a kind by number": (
        lambda: durations(kind=[0]),
        "kind: '0' is none of the kinds (vgg)",
    ),
    # times
    "uneven times": (
        lambda: small(**timed([stamps(0, 5, 11)])),
        "slots are 300 s long, but 2026-01-01 00:11:00 follows 2026-01-01 00:05:00 after 360 s",
    ),
    "a time twice": (
        lambda: small(**timed([stamps(0, 5, 5)])),
        "two entries along 'slot' are of one time; keep one",
    ),
    "times that begin later": (
        lambda: small(**timed([stamps(0, 5, 10), stamps(5, 10, 15)])),
        "capacity: begins along 'slot' at 2026-01-01 00:00:00, arrival at 2026-01-01 00:05:00",
    ),
    "times of another zone": (
        lambda: small(**timed([stamps(0, 5, 10, zone="UTC"), stamps(0, 5, 10, zone="Asia/Tokyo")])),
        "times along 'slot' are in zone UTC, those of arrival in Asia/Tokyo; use one zone",
    ),
    "slots of another length": (
        lambda: seconds("slo", lambda t: t.assign_coords(slot=stamps(0, 1, 2))),
        "slo: slots are 1 s long, but 2026-01-01 00:01:00 follows 2026-01-01 00:00:00 after 60 s",
    ),
    "frames of another length": (
        lambda: replaced("price", lambda t: t.assign_coords(frame=stamps(0, 50, 100))),
        "price: frames are 3600 s long",
    ),
    # units
    "a unit of something else": (
        lambda: small(capacity=units(CAPACITY, "W")),
        "capacity: unit 'W' is no 'TMAC/slot': it measures something else",
    ),
    "an unknown unit": (
        lambda: small(capacity=units(CAPACITY, "bananas/slot")),
        "capacity: unit 'bananas/slot' is unknown, expected 'TMAC/slot'; convert the numbers",
    ),
    "work per second": (
        lambda: small(capacity=units(CAPACITY, "TMAC/s")),
        "capacity: unit 'TMAC/s' is no 'TMAC/slot'",
    ),
    "sizes that are slots": (
        lambda: durations(TABLE.assign_attrs(units="MB")),
        "duration: unit 'MB' is no 'slot'",
    ),
    # EDR, OINC
    "an origin that is no site": (
        lambda: replaced("rate", lambda t: t.assign_coords(origin=["a", "c"])),
        "rate: label 'c' along 'origin' is unknown (the instance has a, b)",
    ),
    "a site that is none": (
        lambda: replaced("speed", lambda t: t.assign_coords(site=["a", "z"])),
        "speed: label 'z' along 'site' is unknown (the instance has a, b)",
    ),
    "a server that is no site": (
        lambda: replaced("server", lambda t: xarray.DataArray(["a", "q"], t.coords, t.dims)),
        "server: 'q' is none of the sites (a, b)",
    ),
    "east and north": (
        lambda: edr.small(1).replace(
            position=frame([[1.0, 2.0]], ["a"], ["east", "south"], ("site", "coordinate"))
        ),
        "position: label 'south' along 'coordinate' is unknown (the instance has east, north): "
        "did you mean 'north'?",
    ),
    # mappings
    "no mapping": (
        lambda: RescueInstance.from_labelled([1, 2]), "data = a list: must be an xarray.Dataset",
    ),
    "a field that does not exist": (
        lambda: small(capacities=CAPACITY),
        "capacities: is no field that this RescueInstance knows: did you mean capacity?",
    ),
    "a field left out": (
        lambda: RescueInstance.from_labelled({"arrival": ARRIVAL, "profit": PROFIT}),
        "duration: is missing from the data",
    ),
    "a label where numbers are": (
        lambda: small(capacity=CAPACITY.astype(object).replace(6.0, "much")),
        "capacity: 'much' of server 's1', slot 2 is no number",
    ),
    "a list of labelled rows": (
        lambda: small(capacity=[CAPACITY.loc["s0"], CAPACITY.loc["s1"][::-1]]),
        "capacity: is labelled along 'slot' where entries go by position; hand over .to_numpy()",
    ),
    "slots of two lengths": (
        lambda: small(**timed([stamps(0, 10, 20), stamps(0, 5, 10)])),
        "capacity: slots are 300 s long, but 2026-01-01 00:10:00 follows 2026-01-01 00:00:00",
    ),
    "reserved work that does not fit": (
        lambda: small(reserved=task_of("s0", demand=99.0)),
        "reserved.demand: task 0 of s0 cannot be finished: it needs 99 TMAC within slots",
    ),
    "a size in grams": (
        lambda: delivery(models=sizes("kg")),
        "models.size: unit 'kg' is unknown, expected 'MB'; convert the numbers",
    ),
    "requests twice": (
        lambda: delivery(requests=pd.DataFrame([ASKED, ASKED])),
        "requests: slot 0, type ('detect', 'nice') has two entries; keep one",
    ),
    "requests of a slot in words": (
        lambda: delivery(requests=pd.DataFrame([{**ASKED, "slot": "1,000"}])),
        "requests: '1,000' is no slot: slots must be whole numbers from 0",
    ),
    "requests in words": (
        lambda: delivery(requests=pd.DataFrame([{**ASKED, "requests": "n/a"}])),
        "requests = 'n/a': must be a number",
    ),
    "an accuracy in words": (
        lambda: delivery(models=MODELS.assign(accuracy="#REF!")),
        "models.accuracy = '#REF!': must be a number",
    ),
    "sizes in words, with a unit": (
        lambda: delivery(models=sizes("GB") | {"size": in_words(MODELS["size"], "GB")}),
        "models.size = '1,000': must be a number",
    ),
    "durations in words, with a unit": (
        lambda: durations(in_words(TABLE, "min")), "must be an array of real numbers: '1,000' is",
    ),
    "a label along an axis by position": (
        lambda: oinc.generate(jobs=1, slots=2).job_seconds(
            pd.Series([0.5] * 6, index=list("abcdef"))
        ),
        "share: is labelled where entries go by position; hand over .to_numpy()",
    ),
    # graphs
    "a directed graph": (
        lambda: delivery(networkx.DiGraph(GRAPH)),
        "graph: is directed; edges serve both ways with one latency: use graph.to_undirected()",
    ),
    "parallel edges": (
        lambda: delivery(changed(("paris", "lyon", {"latency": 9.0}), kind=networkx.MultiGraph)),
        "graph: edge 'paris' - 'lyon' occurs twice; keep one, such as the faster",
    ),
    "a loop with a latency": (
        lambda: delivery(changed(("nice", "nice", {"latency": 1.0}))),
        "graph: edge 'nice' - 'nice' joins a node with itself and has a latency; remove it",
    ),
    "an edge without a latency": (
        lambda: delivery(changed(("paris", "nice", {"km": 600}))),
        "latency: 'latency' of edge 'paris' - 'nice' is missing from its attributes (it has km)",
    ),
    "a latency in words": (
        lambda: delivery(changed(("paris", "nice", {"latency": "slow"}))),
        "latency = slow: of edge 'paris' - 'nice' must be a number, not negative",
    ),
    "a negative latency": (
        lambda: delivery(latency={("paris", "lyon"): -1.0, ("lyon", "nice"): 1.0}),
        "of edge 'paris' - 'lyon' must be a number, not negative",
    ),
    "a network in two parts": (
        lambda: delivery(changed(remove=[("lyon", "nice")])),
        "repositories: node 'nice' cannot reach a repository of task 'detect'",
    ),
    "a network in two parts, of tiers": (
        lambda: idn.from_graph(changed(remove=[("lyon", "nice")])),
        "graph: falls into 2 parts: there is no path from",
    ),
    "an unknown repository": (
        lambda: delivery(repositories="rome"),
        "repositories: 'rome' is no node of the graph (it has paris, lyon, nice)",
    ),
    "an unknown entry": (
        lambda: delivery(requests={("detect", "rome"): 5}),
        "requests: 'rome' is no node of the graph (it has paris, lyon, nice)",
    ),
    "a task without a model": (
        lambda: delivery(requests={("speak", "nice"): 5}),
        "requests: task 'speak' has no model (there are models of detect)",
    ),
    "an unknown model": (
        lambda: delivery(repositories={"huge": "paris"}),
        "repositories: 'huge' is no model (there are large, tiny)",
    ),
    "a budget left out": (
        lambda: delivery(budget={"lyon": 500}),
        "budget: of node 'nice' is missing",
    ),
    "a column left out": (
        lambda: delivery(models=MODELS.drop(columns="size")),
        "models: has no column 'size' (it has task, accuracy, delay, capacity)",
    ),
    "a path left out": (
        lambda: delivery(paths={("detect", "lyon"): ["lyon", "paris"]}),
        "paths: of task 'detect' from 'nice' is missing",
    ),
    "no graph": (lambda: delivery([("paris", "lyon")]), "graph = a list: must be a networkx.Graph"),
}  # fmt: skip


def test_there_are_sixty():
    assert len(CASES) >= 60


@pytest.mark.parametrize("name", CASES)
def test_a_malformed_table_is_refused_by_name(name):
    build, said = CASES[name]
    with pytest.raises(InstanceError) as caught:
        build()
    assert said in str(caught.value)


# --- tables in files -------------------------------------------------------------------------

DAMAGES = {
    "no header": ("capacity.csv", "server,slot,value", "1,2,3", "first line must be the names"),
    "a cell less": ("capacity.csv", "server-1,3,", "server-1,", "must have 3 cells"),
    "an entry twice": ("capacity.csv", "server-1,3,", "server-1,2,", "slot '2' has two entries"),
    "a word": ("duration.csv", "profile-1,1,", "profile-1,1,x", "duration.csv: line 2: 'x0."),
    "a decimal comma": (
        "duration.csv", "profile-1,1,0.0044324548182281655", 'profile-1,1,"0,5"',
        "duration.csv: line 2: '0,5' is no number; write decimals with a point",
    ),
    "semicolons": (
        "capacity.csv", "server,slot,value [TMAC/slot]", "server;slot;value [TMAC/slot]",
        "then 'value [unit]', separated by commas, not by ';'",
    ),
    "a duration that is no number": (
        "duration.csv", "profile-1,1,", "profile-1,one,",
        "duration.csv: line 2: label 'one' along 'duration' must be a whole number",
    ),
    "a capacity below 0": (
        "capacity.csv", "server-1,3,", "server-1,3,-",
        "must not be negative (server 'server-1', slot 3)",
    ),
    "a quote": ("capacity.csv", "server-1,3,", '"server-1,3,', "unexpected end of data"),
    "a setting twice": ("settings.csv", "beyond,hold", "arrivals,hold", "stands twice; keep one"),
    "a setting alone": ("settings.csv", "beyond,hold,", "beyond", "must be a name, a value"),
    "an unknown choice": ("settings.csv", "beyond,hold", "beyond,keep", "must be one of 'hold'"),
    "another unit": ("capacity.csv", "TMAC/slot", "kg", "unit 'kg' is unknown"),
    "a server elsewhere": ("reserved_server.csv", "server-", "machine-", "none of the servers"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_table_is_refused_by_name(name, tmp_path):
    file, old, new, said = DAMAGES[name]
    instance = rescue.generate(servers=2, devices=2, profiles=2, horizon=12, reserved=2, rng=1)
    labels = {axis: [f"{axis}-{n + 1}" for n in range(2)] for axis in ("server", "profile")}
    instance.with_labels(labels).to_folder(tmp_path / "tables")
    path = tmp_path / "tables" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, -1 if name == "a server elsewhere" else 1))
    with pytest.raises(InstanceError) as caught:
        RescueInstance.from_folder(tmp_path / "tables")
    assert said in str(caught.value)
    assert "profit." not in str(caught.value)  # its capacity is that of the instance


def test_durations_with_a_unit_of_time_are_seconds():
    minutes = durations(TABLE.assign_attrs(units="min"))
    assert minutes == durations(TABLE * 60, seconds=True)
    assert minutes.duration[0, 0, 1, 0] == 48  # 8 minutes in slots of 10 s
    assert durations(TABLE.assign_attrs(units="minutes")) == minutes


@settings(max_examples=draws(30), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_holes_take_the_fastest_smaller_bundle(seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 30, (2, 4, 3)).astype(float)
    hole = rng.random(table.shape) < 0.5
    minimum = np.array([[1, 0], [0, 1]])
    for kind, (cpu, gpu) in enumerate(minimum):
        hole[kind, cpu, gpu] = False
    tasks = {"minimum": minimum, "capacity": [[3, 2]], "arrival": [0], "kind": [0]}
    filled = from_durations(np.where(hole, np.nan, table), holes="smaller", **tasks).duration[0]
    for kind, cpu, gpu in np.ndindex(table.shape):
        smaller = [
            table[kind, a, b]
            for a in range(minimum[kind, 0], cpu + 1)
            for b in range(minimum[kind, 1], gpu + 1)
            if not hole[kind, a, b]
        ]
        given_here = not hole[kind, cpu, gpu]
        known = cpu >= minimum[kind, 0] and gpu >= minimum[kind, 1]
        wanted = (table[kind, cpu, gpu] if given_here else min(smaller)) if known else 0
        assert filled[kind, cpu, gpu] == wanted
    with pytest.raises(OptionError, match="holes = 'guess': must be one of"):
        from_durations(table, holes="guess", **tasks)


def test_labelled_tasks_are_put_in_the_order_of_their_arrival():
    tasks = pd.Index(["late", "early", "also late"], name="task")
    weight = pd.Series([1.0, 2.0, 3.0], tasks[::-1])
    data = {"arrival": pd.Series([5, 0, 5], tasks), "kind": pd.Series(["vgg"] * 3, tasks)}
    made = durations(**data, weight=weight)
    assert made.labels["task"] == ("early", "late", "also late")
    assert made.arrival.tolist() == [0, 5, 5]
    assert made.weight.tolist() == [2.0, 3.0, 1.0]
    assert "tasks put in the order of arrival" in made.notes
    with pytest.raises(InstanceError, match=r"arrival\[1\] = 0: must ascend"):
        durations(arrival=[5, 0], kind=["vgg", "vgg"])


def test_sizes_and_budgets_of_a_graph_are_converted():
    budget = pd.Series({"lyon": 0.5, "nice": 0.5})
    budget.attrs["units"] = "GB"
    made = delivery(models=sizes("GB"), budget=budget)
    assert made == delivery()
    assert made.notes == (
        "models.size: converted from GB to MB (times 1000)",
        "budget: converted from GB to MB (times 1000)",
    )


def test_a_folder_may_count_slots_from_one(tmp_path):
    made = rescue.small(1)
    made.to_folder(tmp_path)
    for path in tmp_path.glob("*.csv"):
        table = pd.read_csv(path)
        entries = path.stem in ("reserved_start", "reserved_end", "profit_trained")
        if "slot" in table.columns or entries:
            assert not table.isna().any().any()
            table["slot" if "slot" in table.columns else table.columns[-1]] += 1
            table.to_csv(path, index=False)
    with pytest.raises(InstanceError, match="pass origin=1, or add the line 'first_slot,1'"):
        RescueInstance.from_folder(tmp_path)
    assert RescueInstance.from_folder(tmp_path, origin=1) == made
    with (tmp_path / "settings.csv").open("a") as settings:
        settings.write("first_slot,1\n")
    assert RescueInstance.from_folder(tmp_path) == made
    settings = tmp_path / "settings.csv"
    for wrong in ("2", "one"):
        settings.write_text(settings.read_text()[:-2] + f"{wrong}\n")
        with pytest.raises(InstanceError, match=r"settings.csv = .*first_slot: must be 0 or 1"):
            RescueInstance.from_folder(tmp_path)
        settings.write_text(settings.read_text().replace(f",{wrong}", ",1"))


@pytest.mark.parametrize(
    ("made", "entries", "axes"),
    [
        (rescue.small(2), {"reserved_start", "reserved_end"}, {"slot"}),
        (tapfinger.small(2), {"arrival"}, set()),
        (edr.small(2), {"arrival", "deadline"}, {"frame", "slot"}),
        (oinc.small(2), {"arrival"}, {"slot"}),
    ],
    ids=["rescue", "tapfinger", "edr", "oinc"],
)
def test_slots_from_one_are_shifted_in_labels_and_in_entries(tmp_path, made, entries, axes):
    """Labels by table, entries by table, array and list: all ways say the same instance."""
    made.to_folder(tmp_path)
    found = {}
    for path in tmp_path.glob("*.csv"):
        table = pd.read_csv(path)
        rows = table[~table.iloc[:, 0].astype(str).str.startswith("default=")].copy()
        for axis in axes & set(rows.columns):
            shifted = rows[axis].astype(int) + 1
            table[axis] = table[axis].astype(object)
            table.loc[rows.index, axis] = shifted
        if path.stem in entries:
            table[table.columns[-1]] += 1
            found[path.stem] = table.set_index(table.columns[0])[table.columns[-1]]
        table.to_csv(path, index=False)
    assert set(found) == entries
    assert type(made).from_folder(tmp_path, origin=1) == made
    fields = {one.name: getattr(made, one.name) for one in type(made)._fields}
    for name, series in found.items():
        field, _, part = name.partition("_")
        value = fields.pop(field, None)
        if part:
            inner = (
                {one.name: getattr(value, one.name) for one in type(value)._fields} if value else {}
            )
            fields |= {f"{field}_{key}": own for key, own in inner.items()}
        fields[name] = series.to_list() if name == "arrival" else series.to_numpy()
    assert type(made).from_labelled(fields, origin=1) == made


PRICED = rescue.generate(servers=2, devices=3, horizon=4, reserved=0, rng=7)
"""Its profits are by formula."""


def test_a_setting_that_is_missing_is_named(tmp_path):
    PRICED.to_folder(tmp_path)
    (tmp_path / "settings.csv").unlink()
    with pytest.raises(InstanceError, match="profit_best_accuracy: is missing from the folder"):
        RescueInstance.from_folder(tmp_path)


def test_a_label_that_two_files_disagree_on_names_the_files(tmp_path):
    PRICED.with_labels({"server": ["s0", "s1"]}).to_folder(tmp_path)
    path = tmp_path / "profit_budget.csv"
    path.write_text(path.read_text().replace("s1", "other"))
    with pytest.raises(InstanceError, match=r"profit.budget: .*\(capacity has s0") as caught:
        RescueInstance.from_folder(tmp_path)
    assert "profit.capacity" not in str(caught.value)


def test_tables_of_another_system_are_told_before_their_cells(tmp_path):
    edr.small(1).to_folder(tmp_path)
    (tmp_path / "arrival.csv").write_text("task,value\na,wrong\n")
    with pytest.raises(InstanceError, match="holds an instance of edr, not of rescue"):
        RescueInstance.from_folder(tmp_path)


def test_a_file_of_another_name_is_named(tmp_path):
    rescue.small(1).to_folder(tmp_path)
    (tmp_path / "capacity.csv").rename(tmp_path / "capcity.csv")
    with pytest.raises(InstanceError, match=r"capacity: is missing .*, which has capcity: is that"):
        RescueInstance.from_folder(tmp_path)


def test_tables_are_not_written_over(tmp_path):
    rescue.small(1).to_folder(tmp_path)
    (tmp_path / "capacity.csv").write_text("years of work")
    with pytest.raises(OutputError, match="its tables may have been changed"):
        rescue.small(1).to_folder(tmp_path)
    assert (tmp_path / "capacity.csv").read_text() == "years of work"


def test_bytes_that_are_no_text_are_named(tmp_path):
    rescue.small(1).to_folder(tmp_path)
    (tmp_path / "capacity.csv").write_bytes(b"server,slot,value\n\xff,0,1\n")
    with pytest.raises(InstanceError, match=r"capacity.csv: must be in UTF-8: byte 18 is not"):
        RescueInstance.from_folder(tmp_path)
    (tmp_path / "x.zip").write_bytes(b"PK no")
    with pytest.raises(InstanceError, match="no readable zip file"):
        RescueInstance.load(tmp_path / "x.zip")


def test_lines_and_columns_of_a_table_may_stand_in_any_order(tmp_path):
    instance = tapfinger.small(1)
    instance.to_folder(tmp_path)
    path = tmp_path / "speed.csv"
    table = pd.read_csv(path, comment=None)
    table = table.sample(frac=1, random_state=1)[[*table.columns[:-1][::-1], table.columns[-1]]]
    table.to_csv(path, index=False)
    assert tapfinger.TapFingerInstance.from_folder(tmp_path) == instance


# --- graphs ----------------------------------------------------------------------------------


def test_a_graph_becomes_an_instance_and_comes_back():
    found = delivery()
    assert found.labels["node"] == ("paris", "lyon", "nice")
    assert found.path.tolist() == [[2, 1, 0]]
    names = dict(found.graph.nodes(data="name"))
    again = networkx.relabel_nodes(found.graph, names)
    assert set(map(frozenset, again.edges)) == set(map(frozenset, GRAPH.edges))
    for u, v in GRAPH.edges:
        assert again.edges[u, v]["latency"] == GRAPH.edges[u, v]["latency"]


def test_requests_may_count_slots_from_one():
    rows = [{**ASKED, "slot": n, "requests": 10 * n + 5} for n in range(3)]
    straight = delivery(requests=pd.DataFrame(rows))
    shifted = pd.DataFrame(rows).assign(slot=[1, 2, 3])
    assert delivery(requests=shifted, origin=1) == straight
    listed = {(ASKED["task"], ASKED["node"]): [5, 15, 25]}
    assert delivery(requests=listed, origin=1) == delivery(requests=listed) == straight


def test_a_conflict_of_reserved_tasks_names_them_by_label():
    both = pd.Index(["night", "noon"], name="task")
    given = {
        "reserved_server": pd.Series(["s0", "s0"], both),
        "reserved_start": pd.Series([0, 0], both),
        "reserved_end": pd.Series([0, 0], both),
        "reserved_demand": pd.Series([0.75, 0.75], both) * float(CAPACITY.loc["s0", 0]),
    }
    fields = {"arrival": ARRIVAL, "duration": DURATION, "capacity": CAPACITY, "profit": PROFIT}
    with pytest.raises(InstanceError, match="tasks night, noon of s0 cannot all be finished"):
        RescueInstance.from_labelled(fields | given)


def test_requests_take_the_path_of_least_latency_to_the_nearest_repository():
    rng = np.random.default_rng(5)
    for _ in range(30):
        graph = networkx.gnp_random_graph(7, 0.4, seed=int(rng.integers(10**6)))
        graph = networkx.relabel_nodes(graph, {v: f"n{v}" for v in graph})
        for u, v in graph.edges:
            graph.edges[u, v]["latency"] = float(rng.integers(1, 9))
        part = sorted(networkx.node_connected_component(graph, "n0"))
        goals = sorted({"n0", part[-1]})
        wanted = {("detect", v): 1 for v in part}
        found = delivery(graph, requests=wanted, repositories=goals)
        length = networkx.multi_source_dijkstra_path_length(graph, goals, weight="latency")
        for row, (_, entry) in zip(found.path.tolist(), wanted, strict=True):
            names = [found.labels["node"][v] for v in row if v >= 0]
            assert names[0] == entry
            total = sum(graph.edges[u, v]["latency"] for u, v in pairwise(names))
            assert total == length[entry]
            assert names[-1] in goals


def test_tables_of_requests_and_models_by_label_agree_in_any_form():
    frame_of = pd.DataFrame(
        {"task": "detect", "node": ["nice", "nice"], "slot": [1, 0], "requests": [20, 10]}
    )
    assert delivery(requests=frame_of) == delivery()
    assert delivery(models={name: MODELS[name][::-1] for name in MODELS}) != delivery()
    by_node = pd.DataFrame(
        [[1500, 200]] * 3,
        index=pd.Index(["nice", "paris", "lyon"], name="node"),
        columns=pd.Index(["large", "tiny"], name="model"),
    )
    assert delivery(models={**MODELS, "size": by_node}) == delivery()
    assert delivery(budget={"lyon": 500, "nice": 500}) == delivery()


def test_a_network_keeps_the_names_of_a_graph():
    network = idn.from_graph(GRAPH, cloud="paris")
    assert network.names[0] == "paris"
    assert set(network.names) == set(GRAPH)
    instance = idn.generate(topology=network, tasks=2, horizon=2, rng=1)
    assert instance.labels["node"] == network.names
    outside = idn.from_graph(GRAPH, unit="us")
    assert outside.names[0] == "cloud"
    np.testing.assert_allclose(sorted(outside.latency), [0.005, 0.008, 40.0])
