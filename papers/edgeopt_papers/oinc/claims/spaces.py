"""The parameter spaces in which a search tries to find tight and false claims of OINC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.search.space import Parameter, of_seeds, row, values
from edgeopt.instances.oinc import OincInstance, small
from edgeopt.models.oinc.retraining import RetrainingProblem
from edgeopt.models.oinc.slot import SlotProblem
from edgeopt_papers.claims.paper import space
from edgeopt_papers.oinc.claims.evaluation import Schedule
from edgeopt_papers.oinc.claims.instances import Counts, Cut, Due, Periods, Split, sequence

if TYPE_CHECKING:
    from collections.abc import Mapping


@space(
    "periods",
    Periods,
    *row("work", 2, 0.1, 10.0, simple=1.0),
    *row("share", 2, 0.05, 0.95, simple=0.5),
)
def _periods(point: Mapping[str, Any]) -> Periods:
    """Return two jobs that never meet, and a share for each."""
    return Periods(tuple(values(point, "work")), tuple(values(point, "share")))


@space(
    "splits",
    Split,
    *row("speed", 2, 0.5, 10.0, simple=5.0),
    Parameter("kept", 0.0, 0.9),
    Parameter("needed", 0.0, 20.0),
    Parameter("part", 0.1, 0.9, simple=0.5),
)
def _splits(point: Mapping[str, Any]) -> Split:
    """Return two sites, one of them perhaps with a share that is kept."""
    speed = tuple(values(point, "speed"))
    return Split(speed, (point["kept"], 0.0), point["needed"], point["part"])


@space(
    "counts",
    Counts,
    Parameter("least", 2, 8, whole=True),
    Parameter("factor", 2, 3, whole=True),
)
def _counts(point: Mapping[str, Any]) -> Counts:
    """Return three numbers of jobs, each a multiple of the one before."""
    return Counts(tuple(point["least"] * point["factor"] ** power for power in range(3)))


_MOST = 4
"""Jobs at most."""


def _sorted_jobs(point: Mapping[str, Any]) -> dict[str, Any]:
    """Return arrivals, durations and weights of the first jobs, in order of their arrival."""
    count = point["jobs"]
    arrival = np.array(values(point, "arrival")[:count])
    order = np.argsort(arrival, kind="stable")
    duration = np.array(values(point, "duration")).reshape(_MOST, 2)[:count]
    weight = np.array(values(point, "weight")[:count])
    return {"arrival": arrival[order], "duration": duration[order], "weight": weight[order]}


_GIVEN = (
    Parameter("jobs", 1, _MOST, whole=True, count=True),
    Parameter("sites", 1, 2, whole=True, count=True),
    *row("arrival", _MOST, 0, 2, whole=True),
    *row("duration", 2 * _MOST, 0.01, 20.0, simple=1.0, log=True),
    *row("weight", _MOST, 0.1, 20.0, simple=1.0, log=True),
)


@space("jobs", RetrainingProblem, *_GIVEN)
def jobs(point: Mapping[str, Any]) -> RetrainingProblem:
    """Return at most four jobs and two sites; durations are 0.01 to 20 s."""
    given = _sorted_jobs(point)
    duration = given["duration"][:, : point["sites"]]
    return RetrainingProblem(given["arrival"], duration, given["weight"])


@space("sequences", OincInstance, *tuple(one for one in _GIVEN if one.name != "sites"))
def _sequence(point: Mapping[str, Any]) -> OincInstance:
    """Return the same jobs at one site, as an instance."""
    given = _sorted_jobs(point)
    return sequence(given["arrival"], given["duration"][:, 0], weight=given["weight"])


@space(
    "schedules",
    Schedule,
    *(one for one in _GIVEN if one.name not in ("jobs", "sites")),
    Parameter("part", 0.0, 1.0, simple=1.0),
    *(Parameter(name, 0, 1, whole=True) for name in ("begin", "other", "finish")),
    Parameter("whole_slots", 0, 1, whole=True),
)
def _schedule(point: Mapping[str, Any]) -> Schedule:
    """Return two jobs of which one is served in two parts, with the other one between."""
    problem = jobs.build({**point, "jobs": 2, "sites": 2})
    free, ready = [0.0, 0.0], problem.arrival.astype(float).tolist()
    runs = []
    first, last = point["part"], 1.0 - point["part"]
    for job, place, part in ((1, "begin", first), (0, "other", 1.0), (1, "finish", last)):
        if part <= 0.0:
            continue
        site = point[place]
        begin = max(free[site], ready[job])
        free[site] = ready[job] = begin + part * float(problem.duration[job, site])
        runs.append((job, site, begin, ready[job]))
    who, where, since, until = (np.array(column) for column in zip(*runs, strict=True))
    return Schedule(problem, who, where, since, until, whole_slots=point["whole_slots"] == 1)


@space("due", Due, *_GIVEN, *row("left", _MOST, 0.5, 500.0, simple=100.0, log=True))
def _due(point: Mapping[str, Any]) -> Due:
    """Return the same jobs with deadlines."""
    given = _sorted_jobs(point)
    order = np.argsort(values(point, "arrival")[: point["jobs"]], kind="stable")
    left = np.array(values(point, "left")[: point["jobs"]])[order]
    duration = given["duration"][:, : point["sites"]]
    problem = RetrainingProblem(given["arrival"], duration, given["weight"])
    return Due(problem, given["arrival"] + left)


@space(
    "requests",
    SlotProblem,
    Parameter("sites", 1, 2, whole=True, count=True),
    *row("sending", 4, 0.0, 0.5, simple=0.1),
    *row("computing", 4, 0.0, 0.5, simple=0.1),
    *row("slo", 2, 0.1, 1.0, simple=1.0),
    *row("room", 2, 0.1, 1.0, simple=1.0),
)
def _requests(point: Mapping[str, Any]) -> SlotProblem:
    """Return two requests of a slot and at most two sites."""
    sites = point["sites"]
    sending, computing = (
        np.array(values(point, name)).reshape(2, 2)[:, :sites] for name in ("sending", "computing")
    )
    return SlotProblem(
        sending, computing, np.array(values(point, "slo")), np.array(values(point, "room")[:sites])
    )


@space(
    "wandering",
    OincInstance,
    *row("rate", 4, 1.0, 10.0, simple=10.0),
    *row("size", 2, 1, 2, whole=True),
)
def _wandering(point: Mapping[str, Any]) -> OincInstance:
    """Return one device and two sites, whose link is another one in the second slot."""
    return OincInstance(
        speed=np.ones(2),
        rate=np.array(values(point, "rate")).reshape(2, 1, 2),
        active=np.ones((2, 1), dtype=bool),
        request_size=np.array(values(point, "size"))[:, None],
        request_work=np.full((2, 1), 0.1),
        slo=np.ones((2, 1)),
        arrival=np.zeros(0, dtype=int),
        work=np.zeros(0),
        deadline=np.zeros(0),
    )


@space("cuts", Cut, *_GIVEN, Parameter("slots", 1, 10, whole=True, count=True))
def _cut(point: Mapping[str, Any]) -> Cut:
    """Return the same jobs, of which the run ends after some slots."""
    return Cut(jobs.build(point), point["slots"])


PARAMETER_SPACES = (
    jobs,
    _sequence,
    _schedule,
    _due,
    _requests,
    _wandering,
    _cut,
    of_seeds("drawn", small, OincInstance),
    _periods,
    _splits,
    _counts,
)
"""In the order in which they are searched."""
