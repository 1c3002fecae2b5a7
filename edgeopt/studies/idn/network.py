"""The network drawn with what each node hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.idn.layers import layer_name, layers
from edgeopt.studies.pictures.canvas import INK, MUTED, PAPER, blank
from edgeopt.studies.pictures.shown import lead
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.studies.result import Case

__all__ = ["NETWORK", "layered"]

_WIDEST = 45
"""Nodes side by side that a picture has room for."""

_GIGABYTE = 1024.0


def layered(instance: IdnInstance) -> NDArray[np.float64]:
    """Place nodes by layer, the cloud on top, each below the nodes it hangs on, shape [V, 2]."""
    of_node = layers(instance)
    place = np.zeros((instance.nodes, 2))
    above: dict[int, float] = {}
    rows = sorted(set(of_node.tolist()))
    for depth, layer in enumerate(rows):
        nodes = np.flatnonzero(of_node == layer).tolist()
        linked = {v: [above[u] for u in instance.graph[v] if u in above] for v in nodes}
        nodes.sort(key=lambda v: (float(np.mean(linked[v])) if linked[v] else 0.5, v))
        for nth, node in enumerate(nodes):
            place[node] = (nth + 0.5) / len(nodes), len(rows) - 1 - depth
            above[node] = place[node, 0]
    return place


def _spread(instance: IdnInstance) -> NDArray[np.float64]:
    """Place nodes so that distances resemble hops, shape [V, 2] within the unit square."""
    import networkx

    found: Mapping[int, NDArray[np.float64]] = networkx.kamada_kawai_layout(
        instance.graph, weight=None
    )
    place = np.array([found[node] for node in range(instance.nodes)])
    low, high = place.min(axis=0), place.max(axis=0)
    return _apart((place - low) / np.where(high > low, high - low, 1.0))


def _apart(place: NDArray[np.float64]) -> NDArray[np.float64]:
    """Push nodes from each other that are too close to be told apart, shape [V, 2]."""
    least = 0.7 / np.sqrt(max(16, len(place)))
    for _ in range(100):
        away = place[:, None] - place
        distance = np.hypot(*away.transpose(2, 0, 1))
        np.fill_diagonal(distance, np.inf)
        push = np.maximum(least - distance, 0.0) / np.maximum(distance, 1e-9)
        if not push.any():
            break
        place = place + 0.25 * (push[:, :, None] * away).sum(axis=1)
    return place


def _last(case: Case) -> NDArray[np.bool_]:
    """Return what the policy shown hosts at the end of the first run, shape [V, M]."""
    return np.asarray(case.replay(lead(case)).hosted[-1])


def _title(case: Case) -> str:
    instance: IdnInstance = case.instance
    hosted = _last(case)
    chosen = instance.active & np.isfinite(instance.budget)
    name = case.entries[lead(case)].title
    if not chosen.any():
        return f"No node of the network has a choice; {name} hosts what is permanent"
    used = (hosted * instance.size).sum(axis=1)[chosen].sum() / instance.budget[chosen].sum()
    counts = hosted[chosen].sum(axis=1)
    return (
        f"In the last slot {name} fills {percent(float(used))} of all memory, with "
        f"{number(float(counts.mean()), 2)} models per node"
    )


def _draw(case: Case) -> Figure:
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    instance: IdnInstance = case.instance
    hosted = _last(case)
    rows, counts = np.unique(layers(instance), return_counts=True)
    # A tree hangs in layers; the links of other networks would cross them.
    in_layers = len(instance.edges) < instance.nodes and counts.max() <= _WIDEST
    place = layered(instance) if in_layers else _spread(instance)
    height = 1.3 + 0.85 * len(rows) if in_layers else 4.6
    figure = blank(height=height)
    axes = figure.subplots()
    axes.set_axis_off()
    axes.grid(visible=False)
    for u, v in instance.edges.tolist():
        axes.plot(*place[[u, v]].T, color=MUTED, linewidth=0.7, zorder=1)
    accuracy = instance.accuracy
    scale = ScalarMappable(Normalize(accuracy.min(), accuracy.max()), colormaps["viridis"])
    if in_layers:
        width, tall = 0.62 / max(10, int(counts.max())), 0.62
    else:
        side = 1.0 / np.sqrt(max(16, instance.nodes))
        width, tall = 0.15 * side, 0.4 * side
    for node in range(instance.nodes):
        _bar(axes, instance, node, place[node], hosted[node], width, tall, scale)
    axes.margins(0.02, 0.04)
    if in_layers:
        axes.set_xlim(0, 1)
        _name_layers(axes, instance, rows.tolist(), place)
    elif instance.names is not None:
        _name_nodes(axes, instance.names, place - [0, tall / 2])
    figure.colorbar(
        scale, ax=axes, orientation="horizontal", label="accuracy of the hosted model (%)",
        shrink=0.5, aspect=40, pad=0.02,
    )  # fmt: skip
    return figure


def _bar(
    axes: Axes,
    instance: IdnInstance,
    node: int,
    place: NDArray[np.float64],
    hosted: NDArray[np.bool_],
    width: float,
    tall: float,
    scale: ScalarMappable,
) -> None:
    """Draw the memory of a node as a bar that its models fill from below."""
    from matplotlib.patches import Rectangle

    left, bottom = place[0] - width / 2, place[1] - tall / 2
    frame = (left, bottom), width, tall
    axes.add_patch(Rectangle(*frame, facecolor=PAPER, edgecolor="none", zorder=2))
    if instance.pinned[node]:
        axes.add_patch(Rectangle(*frame, facecolor=MUTED, alpha=0.35, edgecolor="none", zorder=3))
    elif instance.budget[node] > 0:
        room = min(float(instance.budget[node]), float(instance.size[node].sum()))
        level = bottom
        for accuracy, size in _levels(instance.accuracy[hosted], instance.size[node, hosted]):
            part = tall * size / room
            shade = scale.to_rgba(np.array(accuracy))
            axes.add_patch(Rectangle((left, level), width, part, facecolor=shade, zorder=3))
            level += part
    axes.add_patch(Rectangle(*frame, facecolor="none", edgecolor=INK, linewidth=0.8, zorder=4))


def _levels(accuracy: NDArray[np.float64], size: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Add up the sizes of equally accurate models, the least accurate first."""
    kinds, of_model = np.unique(accuracy, return_inverse=True)
    return list(zip(kinds.tolist(), np.bincount(of_model, size).tolist(), strict=True))


def _name_layers(
    axes: Axes, instance: IdnInstance, rows: list[int], place: NDArray[np.float64]
) -> None:
    """Write the name of each layer and the memory of its nodes into the left margin."""
    of_node = layers(instance)
    for layer in rows:
        nodes = np.flatnonzero(of_node == layer)
        text = layer_name(instance, layer)
        if instance.pinned[nodes].all():
            text += "\nrepository"
        elif np.ptp(instance.budget[nodes]) == 0 and np.isfinite(instance.budget[nodes[0]]):
            text += f"\n{float(instance.budget[nodes[0]]) / _GIGABYTE:.3g} GB each"
        axes.annotate(
            text,
            xy=(0, place[nodes[0], 1]),
            xycoords=("axes fraction", "data"),
            xytext=(-6, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=8.5,
            color=INK,
        )


def _name_nodes(axes: Axes, names: tuple[str, ...], place: NDArray[np.float64]) -> None:
    """Write the name of each node below it."""
    for name, (x, y) in zip(names, place.tolist(), strict=True):
        axes.annotate(
            name,
            xy=(x, y),
            xytext=(0, -2),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=7,
            color=INK,
        )


NETWORK = Picture(
    "network",
    _title,
    _draw,
    "Every frame is the memory of a node, filled by what it hosts in the last slot of the first "
    "run, the least accurate models at the bottom, models of one accuracy together; what sticks "
    "out of the frame exceeds the budget. Grey nodes are repositories. Lines are links.",
)
