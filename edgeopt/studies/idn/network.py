"""Pictures of the network: where models are, and where requests are served."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures.canvas import INK, MUTED, PAPER, blank, lead
from edgeopt.studies.wording import listed, number, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.studies.results import Case


def layers(instance: IdnInstance) -> NDArray[np.int64]:
    """Return the tier of each node; without tiers its hops to the nearest repository, shape [V]."""
    if instance.tier is not None:
        return instance.tier
    import networkx

    graph = instance.graph
    hops = networkx.multi_source_dijkstra_path_length(
        graph, set(np.flatnonzero(instance.pinned).tolist()), weight=lambda *_: 1
    )
    farthest = max(hops.values(), default=0)
    return np.array([hops.get(node, farthest + 1) for node in range(instance.nodes)], dtype=int)


def layer_name(instance: IdnInstance, layer: int) -> str:
    """Name a layer: ``tier 2``, or ``2 hops`` from a repository."""
    if instance.tier is not None:
        return f"tier {layer}"
    return "repository" if layer == 0 else f"{layer} hop{'s' if layer > 1 else ''}"


_ALPHAS = (3.0, 4.0, 5.0)
"""Weights of accuracy at which the paper draws this picture."""

_LAST = 3
"""The last of so many parts of the run is averaged."""

_COLOUR = (0.0, 0.447, 0.698)


def popular_task(instance: IdnInstance) -> int:
    """Return the task with the most requests."""
    of_type = instance.requests.sum(axis=0)
    return int(np.bincount(instance.request_task, of_type, instance.tasks).argmax())


def hosted_share(
    instance: IdnInstance, hosted: NDArray[np.bool_], task: int
) -> tuple[list[int], NDArray[np.int64], NDArray[np.float64]]:
    """Say which share of a layer's nodes hosts each model of a task."""
    models = np.flatnonzero(instance.task == task)
    models = models[np.argsort(-instance.accuracy[models], kind="stable")]
    nodes = np.unique(instance.path[instance.request_task == task])
    nodes = nodes[nodes >= 0]
    late = hosted[-max(1, len(hosted) // _LAST) :]
    of_node = layers(instance)
    rows = sorted(set(of_node[nodes].tolist()))
    share = [
        late[:, nodes[of_node[nodes] == layer]][:, :, models].mean(axis=(0, 1)) for layer in rows
    ]
    return rows, models, np.array(share)


def _panels(case: Case) -> list[tuple[float, list[int], NDArray[np.int64], NDArray[np.float64]]]:
    """Replay the case, and where the policy needs no plan, with the paper's weights too."""
    from edgeopt.online.idn import Infida

    instance, name = case.instance, lead(case)
    task = popular_task(instance)
    alphas = [instance.alpha]
    if instance.cost is None and isinstance(case.policies[name], Infida):
        alphas += [alpha for alpha in _ALPHAS if alpha != instance.alpha]
    found = []
    for alpha in alphas:
        given = instance if alpha == instance.alpha else instance.replace(alpha=alpha)
        found.append((alpha, *hosted_share(given, case.replay(name, given).hosted, task)))
    return found


def _accuracy(instance: IdnInstance, models: NDArray[np.int64], row: NDArray[np.float64]) -> float:
    """Mean accuracy of what a row hosts, percent; NaN if it hosts nothing."""
    return float(row @ instance.accuracy[models] / row.sum()) if row.sum() > 0 else float("nan")


def _heat_map_title(case: Case) -> str:
    instance = case.instance
    panels = _panels(case)
    said = [
        f"{number(_accuracy(instance, models, share[-1]), 3)} % (alpha {alpha:g})"
        for alpha, _, models, share in panels
    ]
    where = layer_name(instance, panels[0][1][-1])
    name = case.entries[lead(case)].title
    return f"Models that {name} hosts at {where} for the most popular task: accuracy {listed(said)}"


def _heat_map_draw(case: Case) -> Figure:
    from matplotlib.colors import LinearSegmentedColormap

    panels = _panels(case)
    columns = min(2, len(panels))
    lines = -(-len(panels) // columns)
    figure = blank(height=0.9 + lines * (0.55 + 0.21 * len(panels[0][1])))
    shades = LinearSegmentedColormap.from_list("share", [(*_COLOUR, 0.03), (*_COLOUR, 1.0)])
    grid = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
    for place, axes in enumerate(grid.ravel()):
        if place >= len(panels):
            axes.set_visible(False)
            continue
        alpha, rows, models, share = panels[place]
        mesh = axes.pcolormesh(share, cmap=shades, vmin=0, vmax=1)
        axes.set_title(f"alpha = {alpha:g} ms per percent", fontsize=9)
        axes.set_yticks(
            np.arange(len(rows)) + 0.5, [layer_name(case.instance, row) for row in rows]
        )
        axes.set_ylim(len(rows), 0)
        axes.grid(visible=False)
        _replicas(axes, case.instance, models)
    figure.supxlabel("accuracy of the model (%), its replicas side by side", fontsize=9.5)
    figure.colorbar(mesh, ax=grid, label="share of nodes hosting it", shrink=0.8, pad=0.02)
    return figure


def _replicas(axes: Axes, instance: IdnInstance, models: NDArray[np.int64]) -> None:
    """Label every group of equally accurate models once, and part it from the next."""
    accuracy = instance.accuracy[models]
    begins = np.concatenate(([0], np.flatnonzero(np.diff(accuracy)) + 1, [len(models)]))
    for begin in begins[1:-1]:
        axes.axvline(begin, color="#8a9099", linewidth=0.4)
    middle = (begins[1:] + begins[:-1]) / 2
    step = -(-len(middle) // 12)
    axes.set_xticks(middle[::step], [f"{accuracy[i]:.3g}" for i in begins[:-1][::step]], fontsize=8)
    axes.tick_params(length=0)


ALLOCATION = Picture(
    "allocation",
    _heat_map_title,
    _heat_map_draw,
    "Rows: layers of the network, cloud first. Columns: the models of the task with the most "
    "requests, most accurate first. Colour: share of the layer's nodes on a path of that task that "
    "host the model, averaged over the last third of the first run. The first panel is the "
    "instance of the study; the others differ from it only in alpha, the weight of accuracy.",
)


_WIDEST = 45
"""Most nodes in a row of a picture."""

_GIGABYTE = 1024.0


def layered(instance: IdnInstance) -> NDArray[np.float64]:
    """Place nodes by layer, cloud on top, each below the nodes it is linked to, shape [V, 2]."""
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
    """Push nodes apart that are too close to be distinguished, shape [V, 2]."""
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


def _network_title(case: Case) -> str:
    instance: IdnInstance = case.instance
    hosted = _last(case)
    chosen = instance.active & np.isfinite(instance.budget)
    name = case.entries[lead(case)].title
    if not chosen.any():
        return f"No node has memory to allocate; {name} hosts the permanent models only"
    used = (hosted * instance.size).sum(axis=1)[chosen].sum() / instance.budget[chosen].sum()
    counts = hosted[chosen].sum(axis=1)
    return (
        f"In the last slot {name} fills {percent(float(used))} of all memory, with "
        f"{number(float(counts.mean()), 2)} models per node"
    )


def _network_draw(case: Case) -> Figure:
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    instance: IdnInstance = case.instance
    hosted = _last(case)
    rows, counts = np.unique(layers(instance), return_counts=True)
    # A tree is drawn in layers; in other networks, links would cross them.
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
    elif (names := instance.called("node")) is not None:
        _name_nodes(axes, names, place - [0, tall / 2])
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
        memory = min(float(instance.budget[node]), float(instance.size[node].sum()))
        level = bottom
        for accuracy, size in _levels(instance.accuracy[hosted], instance.size[node, hosted]):
            part = tall * size / memory
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
            text, xy=(0, place[nodes[0], 1]), xycoords=("axes fraction", "data"), xytext=(-6, 0),
            textcoords="offset points", ha="right", va="center", fontsize=8.5, color=INK,
        )  # fmt: skip


def _name_nodes(axes: Axes, names: tuple[str, ...], place: NDArray[np.float64]) -> None:
    """Write the name of each node below it."""
    for name, (x, y) in zip(names, place.tolist(), strict=True):
        axes.annotate(
            name, xy=(x, y), xytext=(0, -2), textcoords="offset points", ha="center", va="top",
            fontsize=8, color=INK,
        )  # fmt: skip


NETWORK = Picture(
    "network",
    _network_title,
    _network_draw,
    "Every frame is the memory of a node, filled by the models that it hosts in the last slot of "
    "the first run, least accurate at the bottom, equally accurate ones together; what extends "
    "beyond the frame exceeds the budget. Grey nodes are repositories. Lines are links.",
)
