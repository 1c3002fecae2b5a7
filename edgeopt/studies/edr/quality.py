"""How much of their latency objective served requests use up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.edr.ledger import plays
from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures.canvas import INK, blank, colours
from edgeopt.studies.wording import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.studies.result import Case

__all__ = ["QUALITY", "shares"]


def shares(case: Case) -> dict[str, NDArray[np.float64]]:
    """Return the share of served requests in each bin of delay over objective, by policy."""
    found = {}
    for name, trajectory in plays(case).items():
        count = trajectory.quality.sum(axis=0)
        found[name] = count / count.sum() if count.sum() > 0 else count
    return found


def _median(share: NDArray[np.float64]) -> float:
    """Return where half of the requests lie below, within a bin as if they were spread evenly."""
    above = np.concatenate(([0.0], np.cumsum(share)))
    return float(np.interp(0.5, above, np.linspace(0, 1, share.size + 1)))


def _title(case: Case) -> str:
    found = {name: _median(share) for name, share in shares(case).items() if share.any()}
    if not found:
        return "No request is served"
    fast, slow = min(found, key=lambda n: found[n]), max(found, key=lambda n: found[n])
    first = (
        f"Every served request keeps its objective; half of them use at most "
        f"{percent(found[fast], 0)} of it with {case.entries[fast].title}"
    )
    if slow == fast:
        return first
    return f"{first}, {percent(found[slow], 0)} with {case.entries[slow].title}"


def _draw(case: Case) -> Figure:
    found = shares(case)
    colour = colours(entry.family for entry in case.entries.values())
    figure = blank(height=0.85 + 0.33 * len(found))
    rows = figure.subplots(len(found), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    highest = max(float(share.max(initial=0)) for share in found.values()) or 1.0
    for axes, (name, share) in zip(rows, found.items(), strict=True):
        edges = np.linspace(0, 100, share.size + 1)
        shade = colour[case.entries[name].family]
        axes.stairs(100 * share, edges, fill=True, color=shade, alpha=0.8, linewidth=0)
        if share.any():
            middle = 100 * _median(share)
            axes.plot([middle, middle], [0, 100 * highest], color=INK, linewidth=1.2)
        axes.set_ylabel(case.entries[name].title, rotation=0, ha="right", va="center", labelpad=8)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
    rows[-1].set_xlim(0, 100)
    rows[-1].set_ylim(0, 110 * highest)
    rows[-1].set_xlabel(
        f"delay of a request as share of its objective (%); tallest bar {percent(highest, 0)}"
    )
    return figure


QUALITY = Picture(
    "quality",
    _title,
    _draw,
    "Served requests of all runs, by the share of their latency objective that their delay takes "
    "up: one row per policy, the same scale for all; the vertical mark is the median. No bar is "
    "beyond 100 % because routes that are too slow are never used; what cannot be served in time "
    "is unserved, and counted in the table.",
)
