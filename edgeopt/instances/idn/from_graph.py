"""Networks and instances from a graph in memory, with the names of its nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.idn.topology import (
    CLOUD_MS,
    MS_PER_KM,
    Network,
    behind_centre,
    paths_to_nearest,
    with_tiers,
)
from edgeopt.instances.labels import (
    Given,
    as_labels,
    extract_labels,
    in_units,
    is_time,
    listed,
    long_form,
    order_of,
    stamped,
    to_axis_order,
)
from edgeopt.instances.numerals import real_of, whole_of
from edgeopt.instances.units import factor
from edgeopt.instances.validate import described
from edgeopt.options import ENTRIES, check_real, check_whole

if TYPE_CHECKING:
    from collections.abc import Hashable

    import networkx
    from numpy.typing import NDArray

    from edgeopt.arrays import Flags, Floats, Ints
    from edgeopt.instances.idn.instance import IdnInstance


_UNEVEN: Final = 1e-6  # by which part of a slot times may be off
_PER_MODEL: Final = ("accuracy", "task")
_PER_PAIR: Final = {"size": "MB", "delay": "ms", "capacity": "1/slot"}


class CheckedGraph(NamedTuple):
    """A graph that has been checked."""

    labels: tuple[str, ...]  # of the nodes
    place: dict[Any, int]  # of each node, by what the graph calls it and by its label
    edges: Ints  # shape [E, 2]
    latency: Floats  # in the unit of the graph, shape [E]


def checked_graph(graph: Any, latency: str | Mapping[Any, float]) -> CheckedGraph:
    """Return the nodes and edges of a graph that can be a network."""
    if not hasattr(graph, "nodes") or not callable(getattr(graph, "is_directed", None)):
        raise InstanceError("graph", "must be a networkx.Graph", value=described(graph))
    if graph.is_directed():
        rule = "is directed; edges serve both ways with one latency: use graph.to_undirected()"
        raise InstanceError("graph", rule)
    nodes = list(graph.nodes)
    if not nodes:
        raise InstanceError("graph", "needs at least one node")
    labels = as_labels("graph", "node", nodes)
    place = dict(zip(labels, range(len(nodes)), strict=True))
    place |= dict(zip(nodes, range(len(nodes)), strict=True))
    found: dict[tuple[int, int], float] = {}
    for u, v, data in graph.edges(data=True):
        ends = f"edge {u!r} - {v!r}"
        trip = _latency_of(u, v, data, latency, ends)
        if u == v:
            if trip > 0:
                rule = f"{ends} joins a node with itself and has a latency; remove it"
                raise InstanceError("graph", rule)
            continue
        key = (place[u], place[v])
        if key in found or key[::-1] in found:
            rule = f"{ends} occurs twice; keep one, such as the faster"
            raise InstanceError("graph", rule)
        found[key] = trip
    edges = np.array(list(found), dtype=np.int64).reshape(-1, 2)
    return CheckedGraph(labels, place, edges, np.array(list(found.values()), dtype=np.float64))


def _latency_of(
    u: Any, v: Any, data: Mapping[Any, Any], latency: str | Mapping[Any, float], ends: str
) -> float:
    if isinstance(latency, Mapping):
        trip = latency.get((u, v), latency.get((v, u)))
        where = "the mapping of latencies"
    else:
        has = listed(sorted(map(str, data))) or "none"
        trip, where = data.get(latency), f"its attributes (it has {has})"
    if trip is None:
        name = "" if isinstance(latency, Mapping) else f"{latency!r} "
        raise InstanceError("latency", f"{name}of {ends} is missing from {where}")
    number = isinstance(trip, int | float | np.number) and not isinstance(trip, bool)
    if not number or not 0 <= trip < math.inf:
        rule = f"of {ends} must be a number, not negative"
        raise InstanceError("latency", rule, value=described(trip))
    return float(trip)


def from_graph(
    graph: networkx.Graph[Any],
    *,
    latency: str | Mapping[Any, float] = "latency",
    unit: str = "ms",
    cloud: Hashable | None = None,
    cloud_ms: float = CLOUD_MS,
) -> Network:
    """Build a network from a graph in memory, as `from_topology` does from a map.

    Parameters
    ----------
    graph
        An undirected, connected graph. Its nodes keep their names.
    latency
        Attribute of edges that holds the round-trip latency, or a mapping from pairs of nodes.
    unit
        Its unit, such as ``"ms"`` or ``"us"``; with ``"km"`` it is the length of a cable of fibre.
    cloud
        Node that is the cloud, where all models are. By default, a cloud is added behind the most
        central node.
    cloud_ms
        Round-trip latency to a cloud that is added, ms.

    Returns
    -------
    A network that `generate` takes; its first node is the cloud. Nodes that no path to the cloud
    passes are base stations (tier 4), the others belong to tiers 1 to 3 by their distance from it;
    tiers have the memories and processing units of the paper.

    Raises
    ------
    InstanceError
        If the graph is directed or not connected, has parallel edges or a self-loop with a latency,
        or the latency of an edge is missing or no number.

    Examples
    --------
    >>> import networkx
    >>> cables = networkx.path_graph(["paris", "lyon", "nice"])
    >>> networkx.set_edge_attributes(cables, 8.0, "latency")
    >>> from_graph(cables, cloud="paris").names
    ('paris', 'lyon', 'nice')
    """
    checked = checked_graph(graph, latency)
    check_real("cloud_ms", cloud_ms, "[0, inf)")
    by = MS_PER_KM if unit == "km" else factor("latency", unit, "ms")
    _require_connected(graph)
    trips = checked.latency * by
    if cloud is None:
        return behind_centre(checked.labels, checked.edges, trips, cloud_ms=cloud_ms)
    first = node_of(checked, cloud, "cloud")
    order = [first, *(v for v in range(len(checked.labels)) if v != first)]
    place = np.argsort(order)
    labels = tuple(checked.labels[v] for v in order)
    return with_tiers(labels, place[checked.edges], trips)


def _require_connected(graph: networkx.Graph) -> None:
    import networkx

    parts = list(networkx.connected_components(graph))
    if len(parts) > 1:
        one, other = (next(iter(part)) for part in parts[:2])
        rule = f"falls into {len(parts)} parts: there is no path from {one!r} to {other!r}; "
        rule += "add an edge, or leave the other parts out"
        raise InstanceError("graph", rule)


def node_of(graph: CheckedGraph, node: Any, field: str) -> int:
    """Return the place of a node."""
    try:
        return graph.place[node]
    except (KeyError, TypeError):
        rule = f"{node!r} is no node of the graph (it has {listed(graph.labels)})"
        raise InstanceError(field, rule) from None


_UNITS: Final = {**_PER_PAIR, "accuracy": "percent"}


def instance_from_graph(
    cls: type[IdnInstance], graph: Any, *, models: Any, requests: Any, budget: Any,
    repositories: Any, latency: str | Mapping[Any, float], paths: str | Mapping[Any, Any],
    origin: int, fields: Mapping[str, Any],
) -> IdnInstance:  # fmt: skip
    """Build an instance from a graph and tables; see `IdnInstance.from_graph`."""
    check_whole("origin", origin, 0, 1)
    checked = checked_graph(graph, latency)
    notes: list[str] = []
    table = _models(models, notes)
    names = as_labels("models", "model", table["task"][0])
    tasks = as_labels("models", "task", list(dict.fromkeys(table["task"][1])))
    number = {task: n for n, task in enumerate(tasks)}
    task = np.array([number[_text(one)] for one in table["task"][1]], dtype=np.int64)
    permanent = _permanent(checked, names, repositories)
    pairs = {name: _per_pair(name, table, checked, names, notes) for name in _PER_PAIR}
    pairs["capacity"] = np.where(permanent, np.inf, pairs["capacity"])
    slots, asked = _requests(checked, number, requests, origin, notes)
    entries = [(number[kind], v) for kind, v in asked]
    routes = _routes(checked, entries, permanent, task, tasks, paths)
    labels = {
        "node": checked.labels,
        "model": names,
        "type": tuple(f"{kind} at {checked.labels[v]}" for kind, v in asked),
    }
    data = {
        "edges": checked.edges,
        "latency": checked.latency,
        **pairs,
        "accuracy": _per_model("accuracy", table, names),
        "task": task,
        "budget": _budget(checked, graph, budget, permanent, notes),
        "repository": permanent,
        "request_task": np.array([kind for kind, _ in entries], dtype=np.int64),
        "path": routes,
        "requests": slots,
        **fields,
    }
    return cls._with(data, labels, tuple(notes))


def _text(label: Any) -> str:
    return as_labels("models", "task", [label])[0]


def _models(models: Any, notes: list[str]) -> dict[str, Any]:
    """Return the columns of a table of models: labels and entries, or a table by node."""
    wanted = (*_PER_MODEL, *_PER_PAIR)
    if not isinstance(models, Mapping) and not hasattr(models, "columns"):
        rule = f"must be a table with one line per model and the columns {', '.join(wanted)}"
        raise InstanceError("models", rule, value=described(models))
    columns = {str(name): models[name] for name in models}
    for name in wanted:
        if name not in columns:
            rule = f"has no column {name!r} (it has {listed(list(columns))})"
            raise InstanceError("models", rule)
    return {name: _column(name, columns[name], notes) for name in wanted}


def _column(name: str, column: Any, notes: list[str]) -> Any:
    """Return labels and entries of a column, or the table by node that stands in it."""
    field = f"models.{name}"
    if isinstance(column, Mapping):
        return tuple(column), list(column.values())
    given = extract_labels(field, column)
    if given is None:
        rule = "must be a table by label: a Series, a mapping, or a frame by node and model"
        raise InstanceError(field, rule, value=described(column))
    if len(given.shape) == 2:
        return given
    if given.unit is not None:
        given = replace(given, values=_converted(field, given, _UNITS.get(name, "1"), notes))
    labels = range(given.shape[0]) if given.labels[0] is None else given.labels[0]
    return tuple(labels), given.values.tolist()


def _converted(field: str, given: Given, unit: str, notes: list[str]) -> NDArray[Any]:
    """Return the numbers of a table in the unit that an instance has; tell what was done."""
    values, note = in_units(field, replace(given, values=_reals(field, given.values)), unit)
    notes += [note] * bool(note)
    return values


def _per_model(name: str, table: Mapping[str, Any], names: tuple[str, ...]) -> NDArray[Any]:
    labels, values = table[name]
    found = as_labels(f"models.{name}", "model", labels)
    place = order_of(f"models.{name}", "model", found, names, "task")
    array = np.empty(len(names))
    array[place] = _reals(f"models.{name}", values)
    return array


def _reals(field: str, values: Any) -> Floats:
    """Return numbers, some of which may be written as texts."""
    entries = np.asarray(values, dtype=object)
    numbers = [real_of(entry) for entry in entries.ravel().tolist()]
    if None in numbers:
        word = entries.ravel()[numbers.index(None)]
        raise InstanceError(field, "must be a number", value=repr(described(word)))
    return np.array(numbers, dtype=np.float64).reshape(entries.shape)


def _per_pair(
    name: str, table: Mapping[str, Any], graph: CheckedGraph, names: tuple[str, ...],
    notes: list[str],
) -> Floats:  # fmt: skip
    given = table[name]
    if isinstance(given, tuple):
        return np.tile(_per_model(name, table, names), (len(graph.labels), 1))
    field = f"models.{name}"
    given = to_axis_order(field, given, ("node", "model"), ())
    values = _converted(field, given, _PER_PAIR[name], notes)
    for place, (axis, wanted, whose) in enumerate(
        (("node", graph.labels, "the graph"), ("model", names, "task"))
    ):
        found = as_labels(field, axis, given.labels[place] or ())
        values = np.take(values, np.argsort(order_of(field, axis, found, wanted, whose)), place)
    return values


def _permanent(graph: CheckedGraph, names: tuple[str, ...], repositories: Any) -> Flags:
    """Return which models are permanent where, shape [V, M]."""
    permanent = np.zeros((len(graph.labels), len(names)), dtype=np.bool_)
    if not isinstance(repositories, Mapping):
        nodes = _several(repositories)
        if not nodes:
            raise InstanceError("repositories", "needs at least one node")
        permanent[[node_of(graph, node, "repositories") for node in nodes]] = True
        return permanent
    for model, nodes in repositories.items():
        [label] = as_labels("repositories", "model", [model])
        if label not in names:
            rule = f"{model!r} is no model (there are {listed(names)})"
            raise InstanceError("repositories", rule)
        for node in _several(nodes):
            permanent[node_of(graph, node, "repositories"), names.index(label)] = True
    return permanent


def _several(nodes: Any) -> list[Any]:
    return list(nodes) if isinstance(nodes, list | tuple | set) else [nodes]


def _budget(
    graph: CheckedGraph, network: Any, budget: Any, permanent: Flags, notes: list[str]
) -> Floats:
    """Return the memory of every node, without limit at repositories for which none is given."""
    found = np.where(permanent.any(axis=1), np.inf, np.nan)
    if isinstance(budget, str):
        given = {node: data[budget] for node, data in network.nodes(data=True) if budget in data}
    elif isinstance(budget, int | float | np.number):
        found[np.isnan(found)] = float(budget)
        return found
    else:
        table = extract_labels("budget", budget)
        if table is not None:
            labels = table.labels[0] if len(table.shape) == 1 else None
            if labels is None:
                raise InstanceError("budget", "must be a Series by node, or a mapping")
            values = _converted("budget", table, "MB", notes)
            given = dict(zip(labels, values.tolist(), strict=True))
        elif isinstance(budget, Mapping):
            given = dict(budget)
        else:
            rule = "must be a number, a mapping from nodes, or the name of an attribute of nodes"
            raise InstanceError("budget", rule, value=described(budget))
    for node, memory in given.items():
        if isinstance(memory, bool) or not isinstance(memory, int | float | np.number):
            rule = f"of node {node!r} must be a number"
            raise InstanceError("budget", rule, value=described(memory))
        found[node_of(graph, node, "budget")] = float(memory)
    for v in np.flatnonzero(np.isnan(found)).tolist():
        rule = f"of node {graph.labels[v]!r} is missing; give it, or one number for all nodes"
        raise InstanceError("budget", rule)
    return found


def _requests(
    graph: CheckedGraph, tasks: Mapping[str, int], requests: Any, origin: int, notes: list[str]
) -> tuple[Floats, list[tuple[str, int]]]:
    """Return requests by slot and type, and the task and entry of each type."""
    if isinstance(requests, Mapping) and not hasattr(requests, "columns"):
        rows = [
            (*_pair(key), slot, amount)
            for key, amounts in requests.items()
            for slot, amount in _per_slot(amounts, origin)
        ]
    elif hasattr(requests, "columns") and {"task", "node", "requests"} <= set(requests.columns):
        own = "slot" in requests.columns
        slots = requests["slot"] if own else [origin] * len(requests)
        columns = (requests["task"], requests["node"], slots, requests["requests"])
        rows = list(zip(*map(list, columns), strict=True))
    else:
        rule = "must be a frame with the columns task, node, requests and maybe slot, or a mapping "
        rule += "from pairs (task, node) to numbers, one per slot"
        raise InstanceError("requests", rule, value=described(requests))
    if not rows:
        raise InstanceError("requests", "needs at least one request type")
    numbers = _slots([slot for _, _, slot, _ in rows], origin, notes)
    kinds: list[tuple[str, str]] = []
    for task, node, *_ in rows:
        [label] = as_labels("requests", "task", [task])
        if label not in tasks:
            rule = f"task {task!r} has no model (there are models of {listed(list(tasks))}); "
            rule += "add one, or leave these requests out"
            raise InstanceError("requests", rule)
        kinds.append((label, graph.labels[node_of(graph, node, "requests")]))
    given = long_form(
        "requests",
        ("slot", "type"),
        [numbers, kinds],
        _reals("requests", [amount for *_, amount in rows]).tolist(),
        default=0.0,
    )
    slots, types = given.labels
    assert slots is not None
    assert types is not None
    if min(slots) == 1 and not origin:
        rule = f"slot 0 has no line; slots count from 0 (found 1..{max(slots)}): give it one, or "
        raise InstanceError("requests", f"{rule}pass origin=1 if they count from 1")
    if (max(slots) + 1) * len(types) > ENTRIES:
        rule = f"slot {max(slots)} is far beyond the {len(rows)} entries; check the slots"
        raise InstanceError("requests", rule)
    table = np.zeros((max(slots) + 1, len(types)))
    table[list(slots)] = given.values
    return table, [(kind, graph.labels.index(node)) for kind, node in types]


def _per_slot(amounts: Any, origin: int) -> list[tuple[Any, Any]]:
    """Return the slot and the number of each entry of requests of one type."""
    given = extract_labels("requests", amounts)
    labels = None if given is None or len(given.shape) != 1 else given.labels[0]
    if given is None or labels is None:
        entries = amounts if given is None else given.values
        return list(enumerate(np.atleast_1d(entries).tolist(), origin))
    given = to_axis_order("requests", given, ("slot",), ())
    return list(zip(labels, _reals("requests", given.values).tolist(), strict=True))


def _slots(given: list[Any], origin: int, notes: list[str]) -> list[int]:
    """Return the number of each slot from 0, which has a number or begins at a time."""
    if is_time(given):
        stamps = stamped("requests", given)
        seconds = (stamps - stamps.min()).total_seconds().to_numpy()
        # Slots without requests have no line, so that the least step is a slot.
        steps = np.diff(np.unique(seconds))
        length = float(steps.min()) if steps.size else 1.0
        off = np.flatnonzero(np.abs(seconds / length - np.rint(seconds / length)) > _UNEVEN)
        for n in off[:1]:
            rule = f"slots of {length:g} s from {stamps.min()} do not begin at {given[n]}; resample"
            raise InstanceError("requests", f"{rule} the table")
        said = f"slots of {length:g} s, from {stamps.min()}" if steps.size else str(stamps.min())
        notes.append(f"requests: converted from times to {said}")
        return [int(n) for n in np.rint(seconds / length)]
    numbers = [whole_of(slot) for slot in given]
    for slot, number in zip(given, numbers, strict=True):
        if number is None or number < origin:
            said = repr(slot) if isinstance(slot, str) else str(described(slot))
            rule = f"{said} is no slot: slots must be whole numbers from {origin}, or all be times"
            raise InstanceError("requests", rule)
    return [(number or 0) - origin for number in numbers]


def _pair(key: Any) -> tuple[Any, Any]:
    if not isinstance(key, tuple) or len(key) != 2:
        raise InstanceError("requests", "must be by pairs (task, node)", value=repr(key))
    return key


def _routes(
    graph: CheckedGraph, entries: list[tuple[int, int]], permanent: Flags,
    task: Ints, tasks: tuple[str, ...], paths: str | Mapping[Any, Any],
) -> list[tuple[int, ...]]:  # fmt: skip
    """Return the path of each type, to the nearest repository of its task or as given."""
    if isinstance(paths, Mapping):
        given = {
            (as_labels("paths", "task", [kind])[0], node_of(graph, node, "paths")): [
                node_of(graph, v, "paths") for v in route
            ]
            for (kind, node), route in paths.items()
        }
        for kind, v in entries:
            if (tasks[kind], v) not in given:
                rule = f"of task {tasks[kind]!r} from {graph.labels[v]!r} is missing; give it, or "
                rule += "leave paths out for the shortest"
                raise InstanceError("paths", rule)
        return [tuple(given[tasks[kind], v]) for kind, v in entries]
    if paths != "shortest":
        raise OptionError(f"paths: must be 'shortest' or a mapping, not {paths!r}")
    homes = {kind: permanent[:, task == kind].any(axis=1) for kind, _ in entries}
    for kind, there in homes.items():
        if not there.any():
            rule = f"task {tasks[kind]!r} has none; name a node for one of its models"
            raise InstanceError("repositories", rule)
    network = graph.edges, graph.latency, len(graph.labels)
    trees = {kind: paths_to_nearest(*network, np.flatnonzero(v)) for kind, v in homes.items()}
    for kind, v in entries:
        if v not in trees[kind]:
            rule = f"node {graph.labels[v]!r} cannot reach a repository of task {tasks[kind]!r}; "
            rule += "add an edge, or name one that it can reach"
            raise InstanceError("repositories", rule)
    return [trees[kind][v] for kind, v in entries]
