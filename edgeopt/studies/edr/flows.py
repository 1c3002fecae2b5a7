"""Where requests go: flows between sites on a map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures.canvas import INK, MUTED, PAPER, blank, lead, legend, line, mark
from edgeopt.studies.wording import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.studies.results import Case

_ARROWS_PER_SITE = 3
_WIDEST = 4.5
"""Line width of the largest flow, points."""

_LARGEST = 520.0
"""Area of the largest mark, square points."""

_NAMED = 12
"""Most sites that are labelled."""

_FLOW, _SERVED = "#0072b2", "#009e73"


def largest_flows(flows: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return the largest flows between two sites, the smallest first, three per site."""
    between = flows * (1 - np.eye(len(flows)))
    order = np.argsort(between, axis=None, kind="stable")[-_ARROWS_PER_SITE * len(flows) :]
    pairs = (np.unravel_index(place, flows.shape) for place in order)
    return [(int(j), int(k)) for j, k in pairs if between[j, k] > 0]


def _flows(case: Case) -> NDArray[np.float64]:
    return np.asarray(case.replay(lead(case)).flows, dtype=float)


def _title(case: Case) -> str:
    flows = _flows(case)
    total = float(flows.sum())
    if not total > 0:
        return "No request is served"
    instance: EdrInstance = case.instance
    served = flows.sum(axis=0)
    busiest = int(served.argmax())
    most = int(np.argsort(-served, kind="stable")[: max(1, instance.sites // 5)].size)
    share = float(np.sort(served)[::-1][:most].sum()) / total
    where = instance.name_of("site", busiest)
    return (
        f"{case.entries[lead(case)].title} serves {percent(float(np.trace(flows)) / total, 0)} of "
        f"the requests where they arise; {where} serves most, "
        f"{percent(float(served[busiest]) / total, 0)}, and the busiest fifth of all sites "
        f"{percent(share, 0)}"
    )


def _places(instance: EdrInstance) -> NDArray[np.float64]:
    """Return kilometres on the map, or a circle where no positions are known, shape [J, 2]."""
    if instance.position is not None:
        return instance.position
    angle = 2 * np.pi * np.arange(instance.sites) / instance.sites
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _draw(case: Case) -> Figure:
    instance: EdrInstance = case.instance
    flows = _flows(case)
    figure = blank(height=4.4)
    axes = figure.subplots()
    place = _places(instance)
    pairs = largest_flows(flows)
    _arrows(axes, flows, pairs, place)
    _sites(axes, instance, flows, place)
    axes.margins(0.07)
    axes.set_aspect("equal", adjustable="datalim")
    shown = sum(float(flows[pair]) for pair in pairs)
    away = float(flows.sum() - np.trace(flows))
    if instance.position is None:
        axes.set_axis_off()
    else:
        axes.set_ylabel("north (km)")
        axes.set_xlabel("east (km)")
    part = f",\n{percent(shown / away, 0)} of what moves" if away > 0 else ""
    handles = [
        mark("requests that\narise at a site", "o", markersize=9, markerfacecolor="none"),
        mark("requests that\na site serves", "o", _SERVED, markersize=9, alpha=0.6,
             markeredgecolor="none"),
    ]  # fmt: skip
    if pairs:
        handles.append(line(f"largest flows{part}", _FLOW, linewidth=2.5, alpha=0.7))
    legend(figure, handles, labelspacing=1.2)
    return figure


def _arrows(
    axes: Axes,
    flows: NDArray[np.float64],
    pairs: list[tuple[int, int]],
    place: NDArray[np.float64],
) -> None:
    from matplotlib.patches import FancyArrowPatch

    largest = max((float(flows[pair]) for pair in pairs), default=1.0)
    for origin, site in pairs:
        share = float(flows[origin, site]) / largest
        # Bent, so that flows in opposite directions do not overlap.
        axes.add_patch(
            FancyArrowPatch(
                tuple(place[origin]), tuple(place[site]), connectionstyle="arc3,rad=0.14",
                arrowstyle="-|>", mutation_scale=5 + 5 * share, shrinkA=2, shrinkB=3,
                linewidth=0.35 + _WIDEST * share, color=_FLOW, alpha=0.25 + 0.5 * share, zorder=2,
            )
        )  # fmt: skip


def _sites(
    axes: Axes, instance: EdrInstance, flows: NDArray[np.float64], place: NDArray[np.float64]
) -> None:
    arising, served = flows.sum(axis=1), flows.sum(axis=0)
    scale = _LARGEST / max(float(arising.max()), float(served.max()), 1e-12)
    axes.scatter(
        place[:, 0], place[:, 1], s=scale * served, color=_SERVED, alpha=0.6, linewidth=0, zorder=3,
    )  # fmt: skip
    axes.scatter(
        place[:, 0], place[:, 1], s=scale * arising, facecolor="none", edgecolor=INK,
        linewidth=0.9, zorder=4,
    )  # fmt: skip
    axes.scatter(place[:, 0], place[:, 1], s=6, color=MUTED, zorder=5)
    taken = np.empty((0, 2))
    near = 0.04 * float(np.ptp(place, axis=0).max())
    for site in np.argsort(-served, kind="stable")[:_NAMED].tolist():
        if served[site] > 0 and not (np.abs(taken - place[site]).max(axis=1) < near).any():
            taken = np.vstack((taken, place[site]))
            axes.annotate(
                str(site), xy=tuple(place[site]), xytext=(5, 4), textcoords="offset points",
                fontsize=8, color=INK, zorder=6,
                bbox={"boxstyle": "round,pad=0.1", "facecolor": PAPER, "alpha": 0.7, "lw": 0},
            )  # fmt: skip


FLOWS = Picture(
    "flows",
    _title,
    _draw,
    "All slots of the first run together. Rings: requests that arise at a site and are served "
    "somewhere. Green: requests that a site serves. Arrows: flows from origin to serving site, "
    "three times as many as sites, the largest ones. Numbers label the busiest sites.",
)
