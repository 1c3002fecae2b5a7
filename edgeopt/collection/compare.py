"""Compare solvers and policies of anybody on named instances; each finished job is kept."""

from __future__ import annotations

import difflib
import fnmatch
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from edgeopt.collection.comparison import OFFLINE, Bench
from edgeopt.collection.entries import OPTIMAL, gap_of, names, row_of
from edgeopt.collection.measures import timed
from edgeopt.errors import OptionError
from edgeopt.options import check_real, check_whole, listed

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from edgeopt.studies.sweeps import Job

ONLINE: Final = "online"
PUBLISHED: Final = "published"
"""Stands for all published policies of a system that do not know the future."""

GAPS: Final = (1e-2, 1e-4, 1e-6)
"""Relative gaps to which offline problems are solved, unless others are named."""


class Plan(NamedTuple):
    """The jobs of a comparison, each with its part, and the options that they share."""

    jobs: tuple[tuple[str, Job], ...]
    time_limit: float
    gaps: tuple[float, ...]
    runs: int


def bench(
    instances: str | Iterable[str] = "s",
    *,
    offline: Iterable[str] = (),
    online: Iterable[str] = (),
    time_limit: float = 60.0,
    gap: float | Iterable[float] = GAPS,
    runs: int = 200,
    workers: int = 1,
    cluster: str | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Bench:
    """Compare solvers and policies on named instances.

    Every solver uses one thread. Times are processor seconds of the machine at hand: compare them
    within one run only.

    Parameters
    ----------
    instances
        ``"s"``, ``"m"``, ``"l"``, ``"all"``, or names; several are taken together.
    offline
        Solvers of `edgeopt.solve` by name, and ``"auto"`` for the project's own way; those that
        cannot take the program of a system are left out there.
    online
        Policies by name or glob pattern, ``"published"`` for all published ones, or classes as
        ``"module:Class"``, which are made without arguments; those of other systems are left out.
    time_limit
        Seconds of an offline problem.
    gap
        Relative gap to which it is to be solved, or several; what stays above has failed.
    runs
        Scenarios on which policies are compared, at least 2; their seed follows from the data.
    workers
        Processes; -1 takes all cores, which makes times less sure.
    cluster
        Address of the scheduler of a Dask cluster, which computes instead.
    store
        Folder that keeps finished jobs: what it holds is not computed again.
    progress
        Whether to show a progress bar; by default only when standard error is a terminal.

    Returns
    -------
    Bench
        Results, profiles and rankings.

    Raises
    ------
    OptionError
        If there is no such instance, solver or policy, nothing to compare, or no scheduler answers.
    WorkerError
        If a process that computes, or the scheduler, is lost; what is finished is kept.
    MissingDependencyError
        If a cluster is given and the extra ``cluster`` is not installed.

    Examples
    --------
    >>> import edgeopt
    >>> found = edgeopt.bench("tapfinger-odd-c1-n7", online=["min", "random"], runs=5)
    >>> sorted(found.ranking("tapfinger").index)
    ['min', 'random']
    """
    plan = planned(instances, offline, online, time_limit, gap, runs)
    return carried_out(plan, workers=workers, cluster=cluster, store=store, progress=progress)


def planned(
    instances: str | Iterable[str],
    offline: Iterable[str],
    online: Iterable[str],
    time_limit: float,
    gap: float | Iterable[float],
    runs: int,
) -> Plan:
    """Return what a comparison computes."""
    from edgeopt.collection import jobs
    from edgeopt.collection.optima import PROBLEMS

    check_real("time_limit", time_limit, "(0, inf)")
    gaps = checked_gaps(gap)
    check_whole("runs", runs, 2)
    plan: list[tuple[str, Job]] = []
    solvers, wanted = checked_solvers(offline), _listed(online)
    unused = set(wanted)
    several = [row_of(name) for name in chosen(instances)]
    _refuse_homeless(wanted, {row["system"] for row in several})
    for row in several:
        plan += [
            (OFFLINE, jobs.offline_job(row, solver, gaps, time_limit))
            for solver in solvers
            if PROBLEMS[row["system"]].taken_by(solver)
        ]
        for policy, pattern in _policies(row["system"], wanted):
            unused.discard(pattern)
            plan.append((ONLINE, jobs.online_job(row, policy, runs)))
    if unused:
        from edgeopt.studies import find_system

        wrong = min(unused)
        known = {
            entry.name
            for system in {row["system"] for row in several}
            for entry in find_system(system).policies.entries
        }
        near = difflib.get_close_matches(wrong, sorted(known), n=2)
        hint = "; edgeopt study SYSTEM --policies x lists those of a system"
        hint = f"; did you mean {' or '.join(near)}?" if near else hint
        raise OptionError(f"policy {wrong!r} is unknown to the systems compared{hint}")
    if not plan:
        raise OptionError("nothing to compare: name solvers (offline) or policies (online)")
    return Plan(tuple(plan), float(time_limit), tuple(sorted(map(float, gaps))), runs)


def chosen(instances: str | Iterable[str]) -> list[str]:
    """Return the names of instances by size or name, each once."""
    found: dict[str, None] = {}
    for one in _listed(instances):
        several = names() if one == "all" else names(size=one) if one in ("s", "m", "l") else [one]
        found |= dict.fromkeys(several)
    for name in found:
        row_of(name)
    if not found:
        raise OptionError("instances: must not be empty")
    return list(found)


def _listed(given: str | Iterable[str]) -> list[str]:
    several = [given] if isinstance(given, str) else list(given)
    return list(dict.fromkeys(several))


def checked_gaps(gap: float | Iterable[float]) -> list[float]:
    """Return relative gaps, one or several given."""
    gaps: list[float] = [gap] if isinstance(gap, int | float) else listed("gap", gap)
    for one in gaps:
        check_real("gap", one, "(0, 1)")
    return gaps


def checked_solvers(offline: Iterable[str], *, own: bool = True) -> list[str]:
    """Return names of solvers that are installed, and of the project's own way where it counts."""
    from edgeopt.collection.optima import AUTO
    from edgeopt.solvers.registry import backends

    several = _listed(offline)
    known = [AUTO] * own + [backend.name for backend in backends() if backend.installed]
    for name in several:
        if name not in known:
            raise OptionError(f"solver {name!r} is not installed; there are {', '.join(known)}")
    return several


def _policies(system: str, wanted: Sequence[str]) -> list[tuple[str, str]]:
    """Return the policies of a system that are wanted, each with the text that names it."""
    from edgeopt.collection import jobs
    from edgeopt.studies import find_system

    record = find_system(system)
    found: dict[str, str] = {}
    for pattern in wanted:
        if pattern == PUBLISHED:
            names_here = [entry.name for entry in jobs.published(record)]
        elif ":" in pattern:
            home = getattr(jobs.class_of(pattern), "system", system)
            names_here = [pattern] if home == system else []
        else:
            every = [entry.name for entry in record.policies.entries]
            names_here = fnmatch.filter(every, pattern)
        for name in names_here:
            found.setdefault(name, pattern)
    return list(found.items())


def _refuse_homeless(wanted: Sequence[str], systems: set[str]) -> None:
    """Refuse a class of the user of which it is not known to what system it belongs."""
    from edgeopt.collection import jobs

    for policy in wanted:
        if ":" in policy and len(systems) > 1 and not hasattr(jobs.class_of(policy), "system"):
            raise OptionError(
                f"policy {policy!r}: name instances of one system, or give the class an attribute "
                "system"
            )


def carried_out(
    plan: Plan,
    *,
    workers: int = 1,
    cluster: str | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Bench:
    """Compute what a comparison still lacks, and return it."""
    from edgeopt.studies.sweeps import compute_jobs

    how: dict[str, Any] = {"store": store, "workers": workers, "progress": progress}
    how["cluster"] = cluster
    found = compute_jobs([one for _, one in plan.jobs], **how)
    bounds = _bounds_of(plan, found)
    kept = compute_jobs(list(bounds.values()), **how)
    proven = {key: kept[job.key] for key, job in bounds.items()}
    rows: list[dict[str, Any]] = []
    certificates: dict[tuple[str, str], str] = {}
    for part, job in plan.jobs:
        name, row = job.identity["instance"], found[job.key]
        if part == ONLINE:
            rows.append(_online_row(job, row, proven.get((name, row["bound"]), {})))
        else:
            rows += _offline_rows(job, row)
            if row["certificate"]:
                certificates[name, job.identity["competitor"]] = row["certificate"]

    import pandas as pd

    return Bench(pd.DataFrame(rows), plan.time_limit, plan.gaps, plan.runs, certificates)


def _bounds_of(plan: Plan, found: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str], Job]:
    """Return the jobs of the bounds that are valid for what policies did."""
    from edgeopt.collection import jobs

    used = {
        (job.identity["instance"], found[job.key]["bound"])
        for part, job in plan.jobs
        if part == ONLINE and found[job.key]["bound"]
    }
    return {
        (name, bound): jobs.bound_job(row_of(name), bound, plan.runs)
        for name, bound in sorted(used)
    }


def _row(part: str, job: Job, competitor: str, failed: str) -> dict[str, Any]:
    name = job.identity["instance"]
    entry = row_of(name)
    return {
        "part": part, "instance": name, "system": entry["system"], "size": entry["size"],
        "competitor": job.identity[competitor], "target": None, "value": None, "bound": None,
        "bounds": "", "gap": None, "seconds": None, "se": None, "violated": None, "failed": failed,
    }  # fmt: skip


def _online_row(job: Job, found: Mapping[str, Any], proven: Mapping[str, Any]) -> dict[str, Any]:
    row = _row(ONLINE, job, "policy", found["failed"])
    if row["failed"]:
        return row
    row |= {name: found[name] for name in ("seconds", "se", "violated", "how")}
    row["value"] = found["mean"]
    if proven:
        row |= {"bound": proven["bound"], "bounds": proven["label"]}
        row["gap_raw"] = gap_of(row_of(row["instance"]), row["value"], row["bound"])
        row["gap"] = max(0.0, row["gap_raw"])
    return row


def _offline_rows(job: Job, found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row per gap that was to be reached."""
    for one in json.loads(found["reached"]):
        row = _row(OFFLINE, job, "competitor", "") | one
        if not row["failed"]:
            row["failed"] = wrong(row, row_of(row["instance"]))
        if not row["failed"] and row["gap"] > row["target"]:
            row["failed"] = f"gap {row['gap']:.1e} is above {row['target']:g}"
        yield row


def wrong(row: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    """Say how a result contradicts what is proven of the instance, "" where it does not."""
    known, sign = entry["offline"], 1.0 if entry["goal"] == "max" else -1.0
    size = max(abs(known["best"]), abs(known["bound"]))
    if sign * (row["value"] - known["bound"]) > 10 * OPTIMAL * size:
        return f"wrong: its value {row['value']:.9g} surpasses the bound {known['bound']:.9g}"
    if sign * (known["best"] - row["bound"]) > 10 * OPTIMAL * size:
        return f"wrong: its bound {row['bound']:.9g} excludes the value {known['best']:.9g}"
    return ""


def forecast(plan: Plan) -> list[dict[str, Any]]:
    """Measure a job of each part, system and size; say how long all of them would take."""
    made = []
    groups: dict[tuple[str, str, str], list[Job]] = {}
    for part, job in plan.jobs:
        row = row_of(job.identity["instance"])
        groups.setdefault((part, row["system"], row["size"]), []).append(job)
    for (part, system, size), several in groups.items():
        one = several[len(several) // 2]
        spent = timed(one.compute, warm=True).median  # the first one compiles
        many = 1000 / plan.runs if part == ONLINE else 1.0
        made.append({
            "part": part, "system": system, "size": size, "jobs": len(several), "seconds": spent,
            "sum": spent * len(several), "of_1000": spent * len(several) * many,
        })  # fmt: skip
    return made
