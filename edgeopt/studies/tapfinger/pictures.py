"""Pictures of TapFinger, and what its live page shows."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.studies.drawing import (
    Curve,
    Curves,
    Lanes,
    Span,
    shown_of,
)
from edgeopt.studies.entries import Picture
from edgeopt.studies.live import Live, Slider, uncertified
from edgeopt.studies.pictures.canvas import INK, colours, curve_styles, foremost, lead
from edgeopt.studies.tapfinger.tables import shortest_flow_times, simulated
from edgeopt.studies.wording import distinct, number, percent, plural

if TYPE_CHECKING:
    from edgeopt.arrays import Floats
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger import Held
    from edgeopt.studies.results import Case


def distribution(flow: Floats) -> tuple[Floats, Floats]:
    """Return the flow times that occur, ascending, and the share of tasks up to each."""
    values, count = np.unique(flow[np.isfinite(flow)], return_counts=True)
    return values.astype(float), np.asarray(np.cumsum(count) / max(1, flow.size))


def _flow_times_title(case: Case) -> str:
    if not case.instance.tasks:
        return "There are no tasks"
    name = lead(case)
    flow = simulated(case)[name].flow_time
    half = float(np.quantile(flow, 0.5, method="inverted_cdf"))
    late = float(np.quantile(flow, 0.95, method="inverted_cdf"))
    least = float(np.quantile(shortest_flow_times(case), 0.5, method="inverted_cdf"))
    if not np.isfinite(late):
        done = percent(float(np.isfinite(flow).mean()))
        return f"{case.entries[name].title} completes {done} of the tasks"
    return (
        f"{case.entries[name].title} completes half of the tasks within {half:g} slots and 95 % "
        f"within {late:g}; alone, half would take {least:g}"
    )


def _flow_times(case: Case) -> Curves:
    styles, drawn = curve_styles(case, foremost(case)), []
    least, runs = shortest_flow_times(case), simulated(case)
    every = np.concatenate([least, *(run.flow_time.ravel() for run in runs.values())])
    longest = float(every[np.isfinite(every)].max(initial=2.0))
    # Each task alone and at its best speed: what is above is impossible.
    at, share = _whole(least, longest)
    drawn.append(Curve("impossible for all", at, share, INK, (0, (1, 1)), share, 101.0, step=True))
    for name in foremost(case) if case.instance.tasks else ():
        mean = float(runs[name].flow_time.mean())
        title = f"{case.entries[name].title}, {number(mean, 3)}"
        x, y = _whole(runs[name].flow_time, longest)
        drawn.append(Curve(title, x, y, styles[name].colour, styles[name].dashes, step=True))
    return Curves(
        "flow time (slots)",
        "tasks complete within it (%)",
        drawn,
        across=(0.75, 1.15 * longest),
        up=(0.0, 101.0),
        log={"x": 2},
    )


def _whole(flow: Floats, longest: float) -> tuple[list[float], list[float]]:
    """Return a distribution in per cent, from before all flow times to behind them."""
    at, share = distribution(flow)
    return [0.5, *at, 2 * longest], [0, *100 * share, 100 * share[-1] if share.size else 0]


FLOW_TIMES = Picture(
    "flow_times",
    _flow_times_title,
    _flow_times,
    "Share of the tasks of all runs that are complete within a flow time, of the first five "
    "policies with their means. The shaded area is impossible: it is above the distribution in "
    "which each task has its cluster to itself and runs as fast as its speeds and the noise "
    "allow.",
)


class Piece(NamedTuple):
    """Neighbouring units of a resource that a task holds for a while, ends excluded.

    `held` is the place of its stretch in what was recorded; a stretch may have several pieces.
    """

    task: int
    begin: int
    end: int
    low: int
    high: int
    held: int


def pieces(held: Held, cluster: int, resource: int, capacity: int) -> list[Piece]:
    """Give every stretch of a cluster units of its own, neighbours as far as there are any."""
    here = np.flatnonzero((held.cluster == cluster) & (held.bundle[:, resource] > 0))
    order = here[np.lexsort((held.task[here], held.begin[here]))]
    until = np.zeros(capacity, dtype=np.int64)  # when each unit is free again
    found: list[Piece] = []
    for row in order.tolist():
        begin, end = int(held.begin[row]), int(held.end[row])
        free = np.flatnonzero(until <= begin).tolist()
        taken = _neighbours(free, int(held.bundle[row, resource]))
        until[taken] = end
        task = int(held.task[row])
        for low, high in _runs(taken):
            found.append(Piece(task, begin, end, low, high, row))
    return found


def _runs(units: list[int]) -> list[tuple[int, int]]:
    """Split ascending units into runs of neighbours, each with the unit after its last."""
    split = groupby(enumerate(units), key=lambda pair: pair[1] - pair[0])
    joined = [[unit for _, unit in group] for _, group in split]
    return [(run[0], run[-1] + 1) for run in joined]


def _neighbours(free: list[int], wanted: int) -> list[int]:
    """Choose units: from the smallest run that has enough, else from as few runs as can be."""
    runs = _runs(free)
    enough = [run for run in runs if run[1] - run[0] >= wanted]
    if enough:
        low, _ = min(enough, key=lambda run: (run[1] - run[0], run[0]))
        return list(range(low, low + wanted))
    taken: list[int] = []
    for low, high in sorted(runs, key=lambda run: (run[0] - run[1], run[0])):
        taken += range(low, min(high, low + wanted - len(taken)))
    return sorted(taken)


_CLUSTERS: Final = 6
"""Most clusters in a picture."""


_NOUNS: Final = ("CPU cores", "GPUs")


def _resource(instance: TapFingerInstance) -> int:
    """Return the resource to draw: GPUs where there are any."""
    return int(instance.capacity[:, 1].any())


def lanes(case: Case, policy: str) -> Lanes:
    """Draw the tasks that hold the GPUs of every cluster in one run, as tall as their number."""
    instance: TapFingerInstance = case.instance
    run = case.replay(policy)
    shown = min(instance.clusters, _CLUSTERS)
    resource = _resource(instance)
    kinds = distinct(instance.name_of("kind", k) for k in range(instance.task_kinds))
    names = distinct(instance.name_of("cluster", n) for n in range(shown))
    found: dict[str, list[Span]] = {}
    for cluster in range(shown):
        units = int(instance.capacity[cluster, resource])
        found[names[cluster]] = [
            Span(
                one.begin, one.end, kinds[int(instance.kind[one.task])], one.low / units,
                one.high / units, instance.name_of("task", one.task),
            )
            for one in pieces(run.held, cluster, resource, units)
        ]  # fmt: skip
    return Lanes(
        f"{_NOUNS[resource]} in one run of {case.entries[policy].title}",
        "slot",
        float(max(1, int(run.end[0]))),
        found,
        colours(kinds),
        shown_of(shown, instance.clusters, "cluster"),
    )


def _gantt_title(case: Case) -> str:
    name = lead(case)
    held, resource = case.replay(name).held, _resource(case.instance)
    title, sizes = case.entries[name].title, held.bundle[:, resource]
    if not case.instance.tasks:
        return "There are no tasks"
    if not sizes.size:
        return f"{title} leaves all clusters idle"
    count = plural(int(np.unique(held.task).size), "task")
    return f"{title} gives {count} from {sizes.min()} to {sizes.max()} {_NOUNS[resource]} each"


GANTT = Picture(
    "gantt",
    _gantt_title,
    lambda case: lanes(case, lead(case)),
    "The first run, a lane per cluster: the tasks that hold its GPUs (without any, its CPU cores), "
    "as tall as their share. Which of them a task holds is the picture's choice.",
)


def _capacity(instance: TapFingerInstance, scale: float) -> TapFingerInstance:
    fewer = np.rint(scale * np.asarray(instance.capacity)).astype(np.int64)
    return instance.replace(capacity=np.maximum(fewer, np.minimum(1, instance.capacity)))


def _noise(instance: TapFingerInstance, noise: float) -> TapFingerInstance:
    return instance.replace(noise=noise)


def _columns(instance: TapFingerInstance) -> float:
    """Count tasks by cluster, whose plans take more than proportional time."""
    return float(instance.clusters * instance.tasks**2)


LIVE: Final = Live(
    sliders=(
        Slider("clusters", "clusters", 1, 6, 1, 3),
        Slider("tasks", "tasks", 5, 80, 5, 15),
        Slider("rate", "load: arriving tasks per slot", 0.5, 6.0, 0.5, 3.0),
        Slider("capacity", "CPU cores and GPUs, times those of the instance", 0.25, 1.0, 0.05, 1.0,
               _capacity),
        Slider("noise", "noise of progress", 0.0, 0.5, 0.05, 0.0, _noise),
    ),
    policies=("reservation", "learnt", "optimus", "random"),
    source="several",
    columns=_columns,
    most=25_000,
    claim="tapfinger.equation1.published",
    lanes=lanes,
    runs=5,
    certificate=uncertified(
        "where bundles may change, it rests on shortest paths over the progress of tasks, which "
        "the checker does not know; flow_bound(instance, method='pooled').certificate() has that "
        "of policies that never change one"
    ),
)  # fmt: skip
