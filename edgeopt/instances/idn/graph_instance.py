"""Instances from a graph in memory and tables of models and requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.idn.graphs import CheckedGraph, checked_graph, node_of
from edgeopt.instances.idn.topology import tree_of_paths
from edgeopt.instances.labels import (
    Given,
    as_labels,
    carried,
    in_units,
    listed,
    long_form,
    order_of,
    straight,
)
from edgeopt.instances.numerals import real_of, whole_of
from edgeopt.instances.validate import described
from edgeopt.options import check_whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from edgeopt.instances.idn.instance import IdnInstance

_PER_MODEL: Final = ("accuracy", "task")
_PER_PAIR: Final = {"size": "MB", "delay": "ms", "capacity": "1/slot"}
_UNITS: Final = {**_PER_PAIR, "accuracy": "percent"}


def instance_from_graph(
    cls: type[IdnInstance],
    graph: Any,
    *,
    models: Any,
    requests: Any,
    budget: Any,
    repositories: Any,
    latency: str | Mapping[Any, float],
    paths: str | Mapping[Any, Any],
    origin: int,
    fields: Mapping[str, Any],
) -> IdnInstance:
    """Build an instance from a graph and tables; see `IdnInstance.from_graph`."""
    check_whole("origin", origin, 0, 1)
    checked = checked_graph(graph, latency)
    notes: list[str] = []
    table = _models(models, notes)
    names = as_labels("models", "model", table["task"][0])
    tasks = as_labels("models", "task", list(dict.fromkeys(table["task"][1])))
    number = {task: n for n, task in enumerate(tasks)}
    task = np.array([number[one] for one in as_many(table["task"][1])], dtype=np.int64)
    permanent = _permanent(checked, names, repositories)
    pairs = {name: _per_pair(name, table, checked, names, notes) for name in _PER_PAIR}
    pairs["capacity"] = np.where(permanent, np.inf, pairs["capacity"])
    slots, asked = _requests(checked, number, requests, origin)
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


def as_many(labels: Iterable[Any]) -> list[str]:
    """Return labels as texts; they may repeat."""
    return [as_labels("models", "task", [label])[0] for label in labels]


Column = tuple[tuple[Any, ...], list[Any]]


def _models(models: Any, notes: list[str]) -> dict[str, Any]:
    """Return the columns of a table of models: labels and entries, or a table by node."""
    wanted = (*_PER_MODEL, *_PER_PAIR)
    columns = {str(name): models[name] for name in models} if _is_table(models) else None
    if columns is None:
        rule = f"must be a table with one line per model and the columns {', '.join(wanted)}"
        raise InstanceError("models", rule, value=described(models))
    for name in wanted:
        if name not in columns:
            rule = f"has no column {name!r} (it has {listed(list(columns))})"
            raise InstanceError("models", rule)
    found: dict[str, Any] = {}
    for name in wanted:
        column = columns[name]
        if isinstance(column, Mapping):
            found[name] = tuple(column), list(column.values())
            continue
        given = carried(f"models.{name}", column)
        if given is not None and len(given.shape) == 2:
            found[name] = given
            continue
        if given is not None and given.unit is not None:
            values = _converted(f"models.{name}", given, _UNITS.get(name, "1"), notes)
            given = replace(given, values=values)
        if given is not None and given.labels[0] is not None:
            found[name] = given.labels[0], given.values.tolist()
        elif given is not None:  # numbered from 0
            found[name] = tuple(range(given.shape[0])), given.values.tolist()
        else:
            rule = "must be a table by label: a Series, a mapping, or a frame by node and model"
            raise InstanceError(f"models.{name}", rule, value=described(column))
    return found


def _converted(field: str, given: Given, unit: str, notes: list[str]) -> NDArray[Any]:
    """Return the numbers of a table in the unit that an instance has; tell what was done."""
    values, note = in_units(field, replace(given, values=_reals(field, given.values)), unit)
    notes += [note] * bool(note)
    return values


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) or hasattr(value, "columns")


def _per_model(name: str, table: Mapping[str, Any], names: tuple[str, ...]) -> NDArray[Any]:
    labels, values = table[name]
    found = as_labels(f"models.{name}", "model", labels)
    place = order_of(f"models.{name}", "model", found, names, "task")
    array = np.empty(len(names))
    array[place] = _reals(f"models.{name}", values)
    return array


def _reals(field: str, values: Any) -> NDArray[np.float64]:
    """Return numbers, some of which may be written as texts."""
    entries = np.asarray(values, dtype=object)
    numbers = [real_of(entry) for entry in entries.ravel().tolist()]
    if None in numbers:
        word = entries.ravel()[numbers.index(None)]
        raise InstanceError(field, "must be a number", value=repr(described(word)))
    return np.array(numbers, dtype=np.float64).reshape(entries.shape)


def _per_pair(
    name: str,
    table: Mapping[str, Any],
    graph: CheckedGraph,
    names: tuple[str, ...],
    notes: list[str],
) -> NDArray[np.float64]:
    given = table[name]
    if isinstance(given, tuple):
        return np.tile(_per_model(name, table, names), (len(graph.labels), 1))
    field = f"models.{name}"
    given = straight(field, given, ("node", "model"), ())
    values = _converted(field, given, _PER_PAIR[name], notes)
    for place, (axis, wanted, whose) in enumerate(
        (("node", graph.labels, "the graph"), ("model", names, "task"))
    ):
        found = as_labels(field, axis, given.labels[place] or ())
        values = np.take(values, np.argsort(order_of(field, axis, found, wanted, whose)), place)
    return values


def _permanent(graph: CheckedGraph, names: tuple[str, ...], repositories: Any) -> NDArray[np.bool_]:
    """Return which models are permanent where, shape [V, M]."""
    permanent = np.zeros((len(graph.labels), len(names)), dtype=np.bool_)
    if not isinstance(repositories, Mapping):
        several = isinstance(repositories, list | tuple | set)
        if several and not repositories:
            raise InstanceError("repositories", "needs at least one node")
        for node in repositories if several else [repositories]:
            permanent[node_of(graph, node, "repositories")] = True
        return permanent
    for model, nodes in repositories.items():
        [label] = as_labels("repositories", "model", [model])
        if label not in names:
            rule = f"{model!r} is no model (there are {listed(names)})"
            raise InstanceError("repositories", rule)
        for node in nodes if isinstance(nodes, list | tuple | set) else [nodes]:
            permanent[node_of(graph, node, "repositories"), names.index(label)] = True
    return permanent


def _budget(
    graph: CheckedGraph,
    network: Any,
    budget: Any,
    permanent: NDArray[np.bool_],
    notes: list[str],
) -> NDArray[np.float64]:
    """Return the memory of every node, without limit at repositories for which none is given."""
    found = np.where(permanent.any(axis=1), np.inf, np.nan)
    if isinstance(budget, str):
        given = {node: data[budget] for node, data in network.nodes(data=True) if budget in data}
    elif isinstance(budget, int | float | np.number):
        found[np.isnan(found)] = float(budget)
        return found
    else:
        table = carried("budget", budget)
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
    graph: CheckedGraph, tasks: Mapping[str, int], requests: Any, origin: int
) -> tuple[NDArray[np.float64], list[tuple[str, int]]]:
    """Return requests by slot and type, and the task and entry of each type."""
    if isinstance(requests, Mapping) and not hasattr(requests, "columns"):
        rows = [
            (*_pair(key), slot, amount)
            for key, amounts in requests.items()
            for slot, amount in enumerate(np.atleast_1d(amounts).tolist(), origin)
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
    kinds: list[tuple[str, str]] = []
    for task, node, slot, _ in rows:
        [label] = as_labels("requests", "task", [task])
        if label not in tasks:
            rule = f"task {task!r} has no model (there are models of {listed(list(tasks))}); "
            rule += "add one, or leave these requests out"
            raise InstanceError("requests", rule)
        number = whole_of(slot)
        if number is None or number < origin:
            rule = f"slots must be whole numbers from {origin}"
            raise InstanceError("requests", rule, value=described(slot))
        kinds.append((label, graph.labels[node_of(graph, node, "requests")]))
    given = long_form(
        "requests",
        ("slot", "type"),
        [[(whole_of(slot) or 0) - origin for _, _, slot, _ in rows], kinds],
        _reals("requests", [amount for *_, amount in rows]).tolist(),
        default=0.0,
    )
    slots, types = given.labels
    assert slots is not None
    assert types is not None
    if min(slots) == 1 and not origin:
        rule = f"slot 0 has no line; slots count from 0 (found 1..{max(slots)}): give it one, or "
        raise InstanceError("requests", f"{rule}pass origin=1 if they count from 1")
    table = np.zeros((max(slots) + 1, len(types)))
    table[list(slots)] = given.values
    return table, [(kind, graph.labels.index(node)) for kind, node in types]


def _pair(key: Any) -> tuple[Any, Any]:
    if not isinstance(key, tuple) or len(key) != 2:
        raise InstanceError("requests", "must be by pairs (task, node)", value=repr(key))
    return key


def _routes(
    graph: CheckedGraph,
    entries: list[tuple[int, int]],
    permanent: NDArray[np.bool_],
    task: NDArray[np.int64],
    tasks: tuple[str, ...],
    paths: str | Mapping[Any, Any],
) -> list[tuple[int, ...]]:
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
    trees = {kind: _to_nearest(graph, np.flatnonzero(there)) for kind, there in homes.items()}
    for kind, v in entries:
        if v not in trees[kind]:
            rule = f"node {graph.labels[v]!r} cannot reach a repository of task {tasks[kind]!r}; "
            rule += "add an edge, or name one that it can reach"
            raise InstanceError("repositories", rule)
    return [trees[kind][v] for kind, v in entries]


def _to_nearest(graph: CheckedGraph, goals: NDArray[np.int64]) -> dict[int, tuple[int, ...]]:
    """Return the path of least latency from each node to the nearest of the goals."""
    count = len(graph.labels)
    # A node of its own behind all goals, at no distance.
    edges = np.vstack((graph.edges, [(int(goal), count) for goal in goals]))
    latency = np.concatenate((graph.latency, np.zeros(goals.size)))
    found = tree_of_paths(edges.astype(np.int64), latency, count + 1, count)
    return {v: route[:-1] for v, route in found.items() if v < count}
