"""Rules that the data of an IDN instance must obey, beyond shapes and finiteness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.idn.paths import PADDING, edge_between
from edgeopt.instances.validate import frozen_array, real_numbers, require, require_positive

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "check_catalogue",
    "check_edges",
    "check_paths",
    "check_pinned",
    "check_repositories",
    "check_requests",
    "own_cost",
]

_EXACT: Final = 2**53  # whole numbers up to here are exact as float64


def check_edges(edges: NDArray[np.int64], latency: NDArray[np.float64], nodes: int) -> None:
    """Check edges, shape [E, 2], and their latencies, shape [E]."""
    if edges.shape[1] != 2:
        raise InstanceError(
            "edges", "must have two ends per edge", value=f"array of shape {edges.shape}"
        )
    known = (edges >= 0) & (edges < nodes)
    require("edges", known, edges, f"must be one of the {nodes} nodes, counted from 0")
    for e in np.flatnonzero(edges[:, 0] == edges[:, 1]).tolist():
        raise InstanceError(
            "edges", "must join two different nodes", index=(e,), value=tuple(edges[e].tolist())
        )
    key = edges.min(axis=1) * nodes + edges.max(axis=1)
    _, original = np.unique(key, return_index=True)
    for e in sorted(set(range(key.size)) - set(original.tolist())):
        raise InstanceError(
            "edges",
            f"joins the same nodes as edge {int(np.argmax(key == key[e]))} (edges are undirected)",
            index=(e,),
            value=tuple(edges[e].tolist()),
        )
    require("latency", latency >= 0, latency, "must not be negative")


def check_catalogue(
    size: NDArray[np.float64],
    delay: NDArray[np.float64],
    capacity: NDArray[np.float64],
    accuracy: NDArray[np.float64],
    task: NDArray[np.int64],
    request_task: NDArray[np.int64],
) -> None:
    """Check what is known of the models."""
    require_positive("size", size)
    require("delay", delay >= 0, delay, "must not be negative")
    require("capacity", capacity >= 0, capacity, "must not be negative")
    sound = (accuracy >= 0) & (accuracy <= 100)
    require("accuracy", sound, accuracy, "must be a percentage in 0..100")
    require("task", task >= 0, task, "must be a task, counted from 0")
    require("request_task", request_task >= 0, request_task, "must be a task, counted from 0")
    with_model = np.isin(request_task, task)
    require("request_task", with_model, request_task, "must be a task that has a model")
    for i in sorted(set(range(int(task.max()))) - set(np.unique(task).tolist())):
        raise InstanceError("task", f"task {i} has no model (number tasks without gaps)")


def check_paths(path: NDArray[np.int64], edges: NDArray[np.int64], nodes: int) -> None:
    """Check that paths, shape [R, J], are simple walks along known edges."""
    on_path = path != PADDING
    known = ~on_path | ((path >= 0) & (path < nodes))
    require("path", known, path, f"must be one of the {nodes} nodes, counted from 0")
    rows = np.where(on_path, path, nodes + np.arange(path.shape[1]))
    order = np.argsort(rows, axis=1, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=1)
    again = np.zeros(path.shape, dtype=np.bool_)
    np.put_along_axis(again[:, :], order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    require("path", ~again, path, "must not visit a node twice")
    start, end = path[:, :-1], path[:, 1:]
    step = on_path[:, 1:]
    edge = edge_between(edges, nodes, np.where(step, start, 0), np.where(step, end, 0))
    for rho, j in np.argwhere(step & (edge < 0))[:1].tolist():
        raise InstanceError(
            "path",
            f"there is no edge between nodes {path[rho, j]} and {path[rho, j + 1]}",
            index=(rho, j + 1),
            value=int(path[rho, j + 1]),
        )


def check_pinned(
    repository: NDArray[np.bool_], size: NDArray[np.float64], budget: NDArray[np.float64]
) -> None:
    """Check budgets, shape [V]."""
    require("budget", budget >= 0, budget, "must not be negative")
    for v in np.flatnonzero(repository.any(axis=1)).tolist():
        used = float(size[v, repository[v]].sum())
        if budget[v] < used:
            raise InstanceError(
                "budget",
                f"is below the {used:g} MB that the permanent models of the node need",
                index=(v,),
                value=float(budget[v]),
            )


def check_repositories(
    path: NDArray[np.int64],
    request_task: NDArray[np.int64],
    task: NDArray[np.int64],
    repository: NDArray[np.bool_],
    capacity: NDArray[np.float64],
    requests: NDArray[np.int64],
) -> None:
    """Check that paths end in repositories, and that these can serve everything.

    A permanent model is offered to every type of its task whose path visits its node; it must be
    able to serve all their requests in every slot, alone.
    """
    last = (path != PADDING).sum(axis=1) - 1
    tasks = int(task.max()) + 1
    serves = np.zeros((repository.shape[0], tasks), dtype=np.bool_)
    v, m = np.nonzero(repository)
    serves[v, task[m]] = True
    end = path[np.arange(path.shape[0]), last]
    for rho in np.flatnonzero(~serves[end, request_task])[:1].tolist():
        raise InstanceError(
            "path",
            f"must end in a repository of task {request_task[rho]}: the node has no permanent "
            "model of it",
            index=(rho, int(last[rho])),
            value=int(end[rho]),
        )
    demand = np.zeros((*serves.shape, requests.shape[0]), dtype=np.int64)
    for rho, nodes in enumerate(path):
        demand[nodes[nodes != PADDING], request_task[rho]] += requests[:, rho]
    peak = demand.max(axis=2)[v, task[m]]
    for k in np.flatnonzero(capacity[v, m] < peak)[:1].tolist():
        raise InstanceError(
            "capacity",
            f"a permanent model must be able to serve all requests of its task on the paths "
            f"through its node: {peak[k]} in slot {int(demand[v[k], task[m[k]]].argmax())}",
            index=(int(v[k]), int(m[k])),
            value=float(capacity[v[k], m[k]]),
        )


def check_requests(requests: NDArray[np.int64]) -> None:
    """Check requests, shape [T, R]."""
    require("requests", requests >= 0, requests, "must not be negative")
    require("requests", requests < _EXACT, requests, "must be below 2**53")
    total = requests.sum(axis=1, dtype=np.float64)
    require("requests", total < _EXACT, total, "requests of the slot must sum to less than 2**53")


def own_cost(
    cost: ArrayLike,
    path: NDArray[np.int64],
    request_task: NDArray[np.int64],
    task: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Check an own table of costs, and set entries that stand for no option to zero."""
    used = (path != PADDING)[:, :, None] & (task == request_task[:, None])[:, None, :]
    axes = ("request_type", "position", "model")
    sizes = dict(zip(axes, used.shape, strict=True))
    array = real_numbers("cost", cost)
    if array.ndim == 3:  # columns that no path reaches go the way of the padding
        array = array[:, : path.shape[1]]
    if array.shape == used.shape:  # the unused may well be NaN
        array = np.where(used, array, 0.0)
    table = frozen_array("cost", array, axes, sizes)
    require("cost", table >= 0, table, "must not be negative")
    return table
