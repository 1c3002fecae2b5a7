"""Which models of the most popular task the layers of the network settle on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.idn.layers import layer_name, layers
from edgeopt.studies.pictures.canvas import blank
from edgeopt.studies.pictures.shown import lead
from edgeopt.studies.wording import listed, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.studies.result import Case

__all__ = ["ALLOCATION", "hosted_share", "popular_task"]

_ALPHAS = (3.0, 4.0, 5.0)
"""Weights of accuracy at which the paper draws this picture."""

_SETTLED = 3
"""The last slots, one in so many, are averaged."""

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
    settled = hosted[-max(1, len(hosted) // _SETTLED) :]
    of_node = layers(instance)
    rows = sorted(set(of_node[nodes].tolist()))
    share = [
        settled[:, nodes[of_node[nodes] == layer]][:, :, models].mean(axis=(0, 1)) for layer in rows
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


def _title(case: Case) -> str:
    instance = case.instance
    panels = _panels(case)
    said = [
        f"{number(_accuracy(instance, models, share[-1]), 3)} % (alpha {alpha:g})"
        for alpha, _, models, share in panels
    ]
    where = layer_name(instance, panels[0][1][-1])
    name = case.entries[lead(case)].title
    return f"Models that {name} hosts at {where} for the most popular task: accuracy {listed(said)}"


def _draw(case: Case) -> Figure:
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
    _title,
    _draw,
    "Rows: layers of the network, cloud first. Columns: the models of the task with the most "
    "requests, the most accurate first. The bluer, the more of the layer's nodes on a path of that "
    "task host the model, averaged over the last third of the slots of the first run. The first "
    "panel is the study's own instance; the others differ from it in the weight of accuracy alone.",
)
