"""Pictures of the service: latencies, shares in time, and use of CPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.oinc.log import request_count, simulated
from edgeopt.studies.pictures import canvas
from edgeopt.studies.pictures.canvas import INK, MUTED, blank, lead
from edgeopt.studies.wording import percent, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc import OincTrajectory
    from edgeopt.studies.results import Case

    Floats = NDArray[np.float64]

EDGES: Final = 2.0 ** np.arange(-4.0, 4.01, 0.125)
"""Ends of the bins, latency over objective: eight bins for every doubling, the objective an end."""

_MET, _LATENCY_MISSED = "#0072b2", "#d55e00"


def quotients(trajectory: OincTrajectory) -> Floats:
    """Return latency over objective of every answered request of the first run."""
    answered = ~trajectory.refused[0]
    shares = trajectory.latency[0, answered] / trajectory.slo[answered]
    return np.asarray(np.where(trajectory.met[0, answered], np.minimum(shares, 1.0), shares))


def _latency_title(case: Case) -> str:
    if not request_count(case.instance):
        return "There are no requests"
    name = lead(case)
    trajectory = simulated(case)[name]
    title = case.entries[name].title
    met = percent(float(trajectory.request_success()[0]))
    found = quotients(trajectory)
    if not found.size:
        return f"{title} refuses every request"
    said = f"{title} answers {met} of all requests in time, half of them within "
    said += f"{percent(float(np.median(found)), 0)} of their objective"
    others = {
        n: float(runs.request_success()[0]) for n, runs in simulated(case).items() if n != name
    }
    if not others:
        return said
    worst = min(others, key=lambda n: others[n])
    return f"{said}; {case.entries[worst].title} answers {percent(others[worst])} in time"


def _latency_draw(case: Case) -> Figure:
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    found = simulated(case)
    figure = blank(height=1.15 + 0.29 * len(found))
    engine = figure.get_layout_engine()
    assert isinstance(engine, ConstrainedLayoutEngine)
    engine.set(h_pad=0.025, hspace=0.0)
    rows = figure.subplots(len(found), 1, sharex=True, squeeze=False)[:, 0]
    every = max(1, request_count(case.instance))
    for axes, (name, trajectory) in zip(rows, found.items(), strict=True):
        top = 1.08 * _row(axes, trajectory, every) or 1.0
        axes.set_ylim(0, top)
        axes.set_ylabel(case.entries[name].title, rotation=0, ha="right", va="center", labelpad=6)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.grid(axis="y", visible=False)
        axes.axvline(1, color=INK, linewidth=0.9, linestyle=(0, (3, 2)))
        answered = quotients(trajectory)
        if answered.size:
            middle = float(np.clip(np.median(answered), EDGES[0], EDGES[-1]))
            axes.plot([middle, middle], [0, top], color=INK, linewidth=1.4)
        axes.annotate(
            percent(float(trajectory.request_success()[0])), xy=(1, 0.5),
            xycoords="axes fraction", xytext=(5, 0), textcoords="offset points", va="center",
            fontsize=8, color=INK,
        )  # fmt: skip
    _frame(rows[-1], np.concatenate([quotients(one) for one in found.values()]))
    handles = [
        canvas.patch("in time", color=_MET, alpha=0.85),
        canvas.patch("late", color=_LATENCY_MISSED, alpha=0.85),
        canvas.line("median", linewidth=1.4),
        canvas.line("objective", linewidth=0.9, linestyle=(0, (3, 2))),
    ]
    canvas.legend(figure, handles, columns=4)
    return figure


def _row(axes: Axes, trajectory: OincTrajectory, every: int) -> float:
    """Draw the histogram of a policy; return the height of its tallest bar."""
    # The last bins take what lies beyond them; a latency equal to the objective is in time.
    inside = np.clip(quotients(trajectory), EDGES[0], EDGES[-1])
    inside[inside == 1.0] = np.nextafter(1.0, 0.0)
    share = np.histogram(inside, EDGES)[0] / every
    late = EDGES[:-1] >= 1.0
    for chosen, colour in ((~late, _MET), (late, _LATENCY_MISSED)):
        axes.stairs(
            np.where(chosen, share, 0.0), EDGES, fill=True, color=colour, alpha=0.85, linewidth=0
        )
    return float(share.max(initial=0.0))


def _frame(axes: Axes, every: Floats) -> None:
    """Show the doublings that occur, at least one on each side of 1."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    first, last = np.log2(EDGES[[0, -1]])
    powers = np.log2(np.clip(every, EDGES[0], EDGES[-1]))
    low = max(first, np.floor(powers.min(initial=-1.0)))
    high = min(last, max(1.0, np.ceil(powers.max(initial=1.0))))
    axes.set_xscale("log", base=2)
    axes.set_xlim(2.0**low, 2.0**high)
    axes.xaxis.set_major_locator(FixedLocator((2.0 ** np.arange(low, high + 1)).tolist()))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}"))
    axes.set_xlabel("latency / objective (%)")


LATENCY = Picture(
    "latency",
    _latency_title,
    _latency_draw,
    "The first run, one row per policy, scaled to its tallest bar. The outermost bars include "
    "everything beyond them. Right margin: share of all requests that are answered in time; "
    "refused requests have no bar and are not in time.",
)


_SUCCESS_REQUESTS, _SUCCESS_JOBS = "#0072b2", "#e69f00"


def _shares(case: Case) -> dict[str, tuple[float, float, float]]:
    """Shares of requests, jobs and both in time in the first run, by policy."""
    return {
        name: (
            float(found.request_success()[0]),
            float(found.job_success()[0]),
            float(found.success()[0]),
        )
        for name, found in simulated(case).items()
    }


def _success_title(case: Case) -> str:
    found = _shares(case)
    name = lead(case)
    requests, jobs, both = found[name]
    count = request_count(case.instance)
    said = (
        f"{case.entries[name].title} is in time with {percent(requests)} of "
        f"{plural(count, 'request')} and {percent(jobs)} of {plural(case.instance.jobs, 'job')}"
    )
    if not count or not case.instance.jobs:
        return said
    best = max(case.causal, key=lambda n: found[n][1], default=name)
    if found[best][1] > jobs:
        return f"{said}; {case.entries[best].title} completes most jobs in time, " + percent(
            found[best][1]
        )
    share = percent(case.instance.jobs / (count + case.instance.jobs))
    return f"{said}; of both together, {percent(both)} are in time, but only {share} are jobs"


def _success_draw(case: Case) -> Figure:
    found = _shares(case)
    figure = blank(height=1.25 + 0.24 * len(found))
    left, right = figure.subplots(1, 2, sharey=True)
    places = np.arange(len(found))
    for axes, column, colour in ((left, 0, _SUCCESS_REQUESTS), (right, 1, _SUCCESS_JOBS)):
        values = 100 * np.array([shares[column] for shares in found.values()])
        axes.plot(values, places, "o", color=colour, markersize=5.5, clip_on=False)
        for place, value in zip(places, values, strict=True):
            canvas.in_margin(axes, float(place), f"{value:.1f}", away=7)
        canvas.in_rows(axes, [case.entries[name].title for name in found])
    both = 100 * np.array([shares[2] for shares in found.values()])
    around: dict[str, Any] = {"markerfacecolor": "none", "markersize": 8.0}
    left.plot(both, places, "D", color=INK, **around, clip_on=False)
    left.set_xlabel(f"of {plural(request_count(case.instance), 'request')} (%)")
    right.set_xlabel(f"of {plural(case.instance.jobs, 'job')} (%)")
    for axes, columns in ((left, (0, 2)), (right, (1,))):
        canvas.fit_x(
            axes, canvas.reach(100 * shares[n] for n in columns for shares in found.values())
        )
    handles = [
        canvas.mark("requests within their objective", "o", _SUCCESS_REQUESTS),
        canvas.mark("jobs complete by their deadline", "o", _SUCCESS_JOBS),
        canvas.mark("both together", "D", **around),
    ]
    for axes in (left, right):
        axes.spines["left"].set_color(MUTED)
    canvas.legend(figure, handles, columns=3)
    return figure


SUCCESS = Picture(
    "success",
    _success_title,
    _success_draw,
    "The first run. The paper reports the share of both together, which is nearly that of requests "
    "since jobs are few. Refused requests and jobs that are never complete are not in time.",
)


_EQUAL: Final = 1e-9
_VISIBLE: Final = 0.01
"""Least share of a CPU, kept and not used, that is drawn."""

SHOWN: Final = 16
"""Most sites in a picture."""

_LOAD_REQUESTS, _LOAD_JOBS, _LOAD_MISSED = "#56b4e9", "#e69f00", "#9e1b32"


def _load_title(case: Case) -> str:
    name = lead(case)
    trajectory = simulated(case)[name]
    title = case.entries[name].title
    kept = trajectory.reserved[0]
    if not kept.any():
        return f"{title} never keeps any CPU for jobs"
    slots = case.instance.slots
    speed = case.instance.speed
    share = float(kept[:slots].mean(axis=0) @ speed / speed.sum())
    used = float((trajectory.job_load[0] @ speed).sum() / (kept @ speed).sum())
    said = (
        f"{title} keeps {percent(share, 0)} of all CPU for jobs over the {plural(slots, 'slot')}; "
        f"jobs use {percent(used, 0)} of what is kept"
    )
    missed = int((~trajectory.met[0]).sum())
    if not missed:
        return f"{said}, and no request is late"
    during = (kept[trajectory.slot] > 0).any(axis=1)[~trajectory.met[0]]
    where = percent(float(during.mean()), 0)
    return f"{said}; {plural(missed, 'request')} are late, {where} of them while CPU is kept"


def _load_draw(case: Case) -> Figure:
    instance: OincInstance = case.instance
    trajectory = simulated(case)[lead(case)]
    shown = min(SHOWN, instance.sites)
    figure = blank(height=1.2 + 0.34 * shown)
    axes = figure.subplots()
    for site in range(shown):
        _strip(axes, trajectory, site)
    slots = trajectory.reserved.shape[1]
    axes.set_xlim(0, slots)
    canvas.in_strips(axes, [instance.name_of("site", j) for j in range(shown)])
    if slots > instance.slots:
        axes.axvline(instance.slots, color=INK, linewidth=1, linestyle=(0, (3, 2)))
    axes.set_xlabel(f"time (s){canvas.of_all(shown, instance.sites, 'site')}")
    handles = [
        canvas.patch("jobs", color=_LOAD_JOBS),
        canvas.patch(
            "kept, unused", facecolor="none", edgecolor=_LOAD_JOBS, hatch="//////", linewidth=0
        ),
        canvas.patch("requests", color=_LOAD_REQUESTS),
        canvas.mark("missed objective", "|", _LOAD_MISSED, markersize=7, markeredgewidth=1.4),
    ]
    canvas.legend(figure, handles, columns=4)
    return figure


def changes(*levels: Floats) -> NDArray[np.int64]:
    """Return the slots in which one of several levels changes, the first one included."""
    stacked = np.stack(levels)
    changed = (np.abs(np.diff(stacked, axis=1)) > _EQUAL).any(axis=0)
    return np.flatnonzero(np.concatenate(([True], changed)))


def _strip(axes: Axes, trajectory: OincTrajectory, site: int) -> None:
    """Draw a site as a strip that fills from below: jobs, what is kept, requests."""
    floor, tall = site + 0.95, 0.9
    slots = trajectory.reserved.shape[1]
    axes.broken_barh([(0, slots)], (floor - tall, tall), facecolor=MUTED, alpha=0.16, linewidth=0)
    jobs, kept = trajectory.job_load[0, :, site], trajectory.reserved[0, :, site]
    answered = np.zeros(slots)
    answered[: trajectory.cpu_load.shape[1]] = trajectory.cpu_load[0, :, site]
    unused = np.where(kept > jobs + _VISIBLE, kept, jobs)
    layers: tuple[tuple[Floats, Floats, dict[str, Any]], ...] = (
        (np.zeros(slots), jobs, {"color": _LOAD_JOBS}),
        (jobs, unused, {"facecolor": "none", "edgecolor": _LOAD_JOBS, "hatch": "//////"}),
        (kept, kept + answered, {"color": _LOAD_REQUESTS}),
    )
    for low, high, look in layers:
        keep = changes(low, high)
        edges = np.append(keep, slots)
        if (high > low).any():
            axes.stairs(
                floor - tall * high[keep], edges, baseline=floor - tall * low[keep], fill=True,
                linewidth=0, **look,
            )  # fmt: skip
    late = ~trajectory.met[0] & (trajectory.site[0] == site)
    when = np.unique(trajectory.slot[late])
    axes.plot(
        when + 0.5, np.full(when.size, floor - tall + 0.14), "|", color=_LOAD_MISSED, markersize=6,
        markeredgewidth=1.3, zorder=4,
    )  # fmt: skip


LOAD = Picture(
    "load",
    _load_title,
    _load_draw,
    "The first run. Every strip is the CPU of a site, from below: used by jobs, kept for jobs but "
    "not used, given to requests; grey is idle. Requests get all CPU that is not kept. Red marks: "
    "slots in which a request of the site misses its objective. After the dashed line no requests "
    "arrive; jobs are served until all are complete.",
)
