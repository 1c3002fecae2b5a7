"""Pictures of OINC, and what its live page shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.studies.drawing import (
    Bar,
    Bars,
    Curve,
    Curves,
    Lanes,
    Line,
    Said,
    Span,
    shown_of,
)
from edgeopt.studies.entries import Picture
from edgeopt.studies.live import Live, Slider, uncertified
from edgeopt.studies.oinc.policies import apart
from edgeopt.studies.oinc.tables import Parts, request_count, simulated
from edgeopt.studies.pictures.canvas import INK, colours, curve_styles, foremost, lead
from edgeopt.studies.wording import distinct, number, percent, plural

if TYPE_CHECKING:
    from edgeopt.arrays import Floats
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc import OincTrajectory, Served
    from edgeopt.studies.results import Case


def _weighted_title(case: Case) -> str:
    name = lead(case)
    latency, completion = (float(np.mean(part)) for part in simulated(case)[name].scaled_parts())
    title, total = case.entries[name].title, latency + completion
    if not total > 0:
        return f"{title} has neither latency nor completion times"
    share = percent(latency / total, 0)
    return f"Of the {case.objective.name} of {title}, {share} is latency of requests"


_ROWS: Final = 8
"""Most policies in a picture."""

_LOOKS: Final = colours(("mean latency", "mean completion time"))


def _weighted(case: Case) -> Bars:
    instance: OincInstance = case.instance
    least = apart(case)
    runs = simulated(case)
    found = {name: Parts(*runs[name].scaled_parts()) for name in case.order[:_ROWS]}
    rows = [_row("bound, each apart", least, bound=True)]
    rows += [_row(case.entries[name].title, parts) for name, parts in found.items()]
    return Bars(
        rows,
        _LOOKS,
        [
            Line("bound on both", float(least.total)),
            Line("bound on latency", float(least.inference)),
        ],
        f"{case.objective.name}: mean latency / {instance.latency_scale:g} s + "
        f"mean completion time / {instance.completion_scale:g} s",
    )


def _row(title: str, parts: Parts, *, bound: bool = False) -> Bar:
    """Describe a sum as its two parts, averaged over the runs."""
    means = {name: float(np.mean(part)) for name, part in zip(_LOOKS, parts, strict=True)}
    said = [Said("", number(sum(means.values()), 4))]
    return Bar(title, means, kind="apart" if bound else "plain", beside=said)


WEIGHTED = Picture(
    "weighted",
    _weighted_title,
    _weighted,
    "The two parts of the value: weighted means over the requests and over the jobs, each over its "
    "scale. The top row is a proven bound: each kind has all CPUs to itself, which no policy can "
    "give to both.",
)


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
    return said


def _latency(case: Case) -> Curves:
    every = max(1, request_count(case.instance))
    styles, drawn, occurring = curve_styles(case, foremost(case)), [], [0.5, 2.0]
    for name in foremost(case):
        trajectory = simulated(case)[name]
        at = np.sort(quotients(trajectory))
        share = 100 * np.arange(1, at.size + 1) / every
        within = percent(float(trajectory.request_success()[0]))
        title = f"{case.entries[name].title}, {within}"
        # From below all latencies to above them.
        ends = min([_LEAST, *at]), max([2 * _MOST, *at])
        x, y = [ends[0], *at, ends[1]], [0, *share, share[-1] if at.size else 0]
        drawn.append(Curve(title, x, y, styles[name].colour, styles[name].dashes, step=True))
        occurring += at.tolist()
    low, high = np.clip([min(occurring), max(occurring)], _LEAST, _MOST)
    drawn.append(Curve("objective", [1, 1], [0, 101], INK, (0, (3, 2))))
    return Curves(
        "latency over objective",
        "requests answered within it (%)",
        drawn,
        across=(0.9 * low, 1.1 * high),
        up=(0.0, 101.0),
        log={"x": 2},
    )


_LEAST: Final = 2.0**-4
_MOST: Final = 2.0**4
"""Multiples of the objective beyond which latencies are not told apart."""

LATENCY = Picture(
    "latency",
    _latency_title,
    _latency,
    "The first run, of the first five policies: share of all requests that are answered within a "
    "multiple of their objective. Behind a name, the share that is answered in time; refused "
    "requests are not.",
)


_TOUCHING: Final = 1e-9


class Stretch(NamedTuple):
    """An uninterrupted service of a job on one share of a site's CPU."""

    job: int
    share: float
    begin: float
    end: float


def stretches(served: Served) -> list[Stretch]:
    """Join the runs of each job that follow each other without a break on the same share."""
    found: list[Stretch] = []
    for r in np.lexsort((served.begin, served.job)).tolist():
        run = Stretch(
            int(served.job[r]), float(served.share[r]), float(served.begin[r]), float(served.end[r])
        )
        last = found[-1] if found else None
        if (
            last is not None
            and last.job == run.job
            and run.begin - last.end <= _TOUCHING
            and abs(run.share - last.share) <= _TOUCHING
        ):
            found[-1] = last._replace(end=run.end)
        else:
            found.append(run)
    return found


def _gantt_title(case: Case) -> str:
    name = lead(case)
    trajectory = case.replay(name)
    title = case.entries[name].title
    jobs = case.instance.jobs
    if not jobs:
        return "There are no jobs"
    late = int((~trajectory.on_time[0]).sum())
    open_ones = int((~trajectory.complete[0]).sum())
    count = plural(jobs, "job")
    if open_ones:
        return f"{title} leaves {plural(open_ones, 'job')} of {jobs} incomplete"
    last = number(float(trajectory.completion[0].max()), 4)
    said = f"{title} completes {count} within {last} s"
    if not late:
        return f"{said}, all of them by their deadlines"
    worst = int(np.argmax(trajectory.completion[0] - case.instance.deadline))
    by = number(float(trajectory.completion[0, worst] - case.instance.deadline[worst]), 3)
    return (
        f"{said}, {late} of them after {'its' if late == 1 else 'their'} deadline; job {worst} "
        f"is latest, by {by} s"
    )


_SITES: Final = 10
"""Most sites in a picture."""

_ON_TIME, _LATE = "job, in time", "job, after its deadline"


def lanes(case: Case, policy: str) -> Lanes:
    """Draw when every site serves jobs in one run, as tall as their share of its CPU."""
    instance: OincInstance = case.instance
    run = case.replay(policy)
    shown = min(instance.sites, _SITES)
    names = distinct(instance.name_of("site", site) for site in range(shown))
    found: dict[str, list[Span]] = {name: [] for name in names}
    for one in stretches(run.served):
        site = int(run.job_site[0, one.job])
        if 0 <= site < shown:
            style = _ON_TIME if run.on_time[0, one.job] else _LATE
            label = instance.name_of("job", one.job)
            found[names[site]].append(Span(one.begin, one.end, style, 0.0, one.share, label))
    shade = list(colours(("0", "1")).values())
    return Lanes(
        f"Jobs in one run of {case.entries[policy].title}",
        "time (s); the rest of a CPU serves requests",
        max(float(instance.slots), float(run.end[0])),
        found,
        {_ON_TIME: shade[0], _LATE: shade[1]},
        shown_of(shown, instance.sites, "site"),
    )


GANTT = Picture(
    "gantt",
    _gantt_title,
    lambda case: lanes(case, lead(case)),
    "The first run, a lane per site: its jobs, as tall as their share of the site's CPU.",
)


def _capacity(instance: OincInstance, scale: float) -> OincInstance:
    return instance.replace(speed=scale * instance.speed)


def _jobs(instance: OincInstance, scale: float) -> OincInstance:
    return instance.replace(work=scale * instance.work)


def _columns(instance: OincInstance) -> float:
    """Count decisions: requests by site and slot."""
    return float(instance.sites * instance.devices * instance.slots)


LIVE: Final = Live(
    sliders=(
        Slider("sites", "sites", 2, 12, 1, 3),
        Slider("devices", "devices", 4, 40, 2, 8),
        Slider("jobs", "retraining jobs", 0, 24, 1, 5),
        Slider("duty", "load: share of seconds with a request", 0.1, 0.9, 0.1, 0.6),
        Slider("work", "work of jobs, times that of the instance", 0.5, 2.0, 0.1, 1.0, _jobs),
        Slider("capacity", "CPU speed, times that of the instance", 0.6, 2.0, 0.1, 1.0, _capacity),
    ),
    policies=("oinc", "ekya", "kalmia"),
    source="drawn",
    fixed={"slots": 12, "job_scale": 0.2},
    columns=_columns,
    most=2_000,
    claim="oinc.equation8a.published",
    lanes=lanes,
    runs=2,
    certificate=uncertified("bounds of slots are of cones, and exact numbers have no square roots"),
)
