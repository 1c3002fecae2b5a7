"""What the tables and pictures of a TapFinger study share: runs, names, styles, mean bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from edgeopt.studies.pictures.canvas import colours

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger import TapFingerTrajectory
    from edgeopt.studies.result import Case

    Floats = NDArray[np.float64]

__all__ = [
    "Line",
    "average",
    "cluster_name",
    "doublings",
    "kind_name",
    "lines",
    "own_bound",
    "plays",
]

_STYLES: tuple[Any, ...] = ("-", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (5, 1.6, 1.2, 1.6)))


class Line(NamedTuple):
    """How the line of a policy is drawn: its colour, and its dashes as matplotlib takes them."""

    colour: str
    style: Any


def plays(case: Case) -> dict[str, TapFingerTrajectory]:
    """Return the trajectories of a study of TapFinger by the name of the policy."""
    return {name: cast("TapFingerTrajectory", runs) for name, runs in case.trajectories.items()}


def cluster_name(instance: TapFingerInstance, cluster: int) -> str:
    """Return what a cluster is called."""
    return f"cluster {cluster}" if instance.names is None else instance.names[cluster]


def kind_name(instance: TapFingerInstance, kind: int) -> str:
    """Return what a kind of task is called."""
    return f"kind {kind}" if instance.kinds is None else instance.kinds[kind]


def average(instance: TapFingerInstance, total: float) -> float:
    """Turn a weighted sum of flow times into their weighted mean, slots; 0 without tasks."""
    assert instance.weight is not None
    weight = float(instance.weight.sum())
    return total / weight if weight > 0 else 0.0


def own_bound(case: Case, policy: str) -> float:
    """Return the bound that is valid for a policy in all its runs; NaN where there is none.

    Nothing bounds runs in which a task with some weight was never complete.
    """
    name = case.entries[policy].bound
    if not name or not np.isfinite(case.values(policy)).all():
        return float("nan")
    bound = float(case.benchmarks[name].bound)
    return bound if bound > 0 else float("nan")


def lines(case: Case) -> dict[str, Line]:
    """Give every policy a line: a colour for its method, dashes for its form."""
    method = {name: entry.title.partition(",")[0] for name, entry in case.entries.items()}
    colour = colours(method.values())
    forms: dict[str, int] = {}
    found = {}
    for name, of in method.items():
        place = forms.setdefault(of, 0)
        forms[of] += 1
        found[name] = Line(colour[of], _STYLES[place % len(_STYLES)])
    return found


def doublings(axis: Axis, low: float, high: float) -> None:
    """Make an axis logarithmic, with powers of two as plain numbers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    powers = 2.0 ** np.arange(np.ceil(np.log2(low)), np.floor(np.log2(high)) + 1)
    axes = axis.axes
    if axis is axes.xaxis:
        axes.set_xscale("log", base=2)
        axes.set_xlim(low, high)
    else:
        axes.set_yscale("log", base=2)
        axes.set_ylim(low, high)
    axis.set_major_locator(FixedLocator(powers.tolist()))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
