"""Which policies nobody else replaces: value against information and cost on held-out instances.

A policy is off the front where another one that needs to know no more violates no more, and is at
least as good in value and in processor time, better than noise in one of the two.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.bounds.estimate import Control, estimates
from edgeopt.collection import jobs
from edgeopt.collection.entries import FILE
from edgeopt.collection.measures import timed
from edgeopt.errors import EdgeOptError
from edgeopt.online import simulate
from edgeopt.studies import find_system
from edgeopt.studies.sweeps import Job, compute_jobs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.online.protocols import Trajectory

    Row = dict[str, Any]

FRONTS: Final = FILE.with_name("fronts.json")
SEEDS: Final = range(91_000, 91_004)
"""Seeds of the instances of each setting; no tuning and no training draws them."""

_SMALL_OINC: Final = {"sites": 6, "devices": 20, "slots": 80, "jobs": 10}
_SMALL_EDR: Final = {"sites": 6, "tasks": 12, "frames": 24, "slots": 4, "history": True}

SETTINGS: Final[Mapping[str, tuple[int, tuple[Row, ...]]]] = {
    "rescue": (100, ({"horizon": 60}, {"horizon": 60, "density": 0.6, "demand": 0.3})),
    "idn": (2, ({"attachment": "common"}, {"attachment": "common", "popularity": "sliding"})),
    "oinc": (1, (_SMALL_OINC, _SMALL_OINC | {"stationary": False})),
    "edr": (2, (_SMALL_EDR, _SMALL_EDR | {"demand": 1.3})),
    "tapfinger": (2, ({"tasks": 48}, {"tasks": 48, "single_start": True}, {"source": "tables"})),
}
"""Runs of each policy, and options of what is drawn or of a named source, by system."""

_TOLD: Final = ("rollout", "reservation", "priced", "imitation", "optimus", "optimus+swapped",
                "optimus+containers", "optimus+text")  # fmt: skip

BEYOND: Final[Mapping[str, Mapping[str, str]]] = {
    "edr": {"scenario+history": "history"},
    "tapfinger": dict.fromkeys(_TOLD, "durations"),
}
"""What policies must know beyond the present, where their entries do not say so."""

FACTOR: Final = 1.5
"""Ratio of processor times up to which two count as equal."""

SURE: Final = 2.0
"""Standard errors of a paired difference that count as noise."""


def information(system: str, name: str) -> frozenset[str]:
    """Return what a policy must know beyond the present and the past of its run."""
    entry = jobs.chosen(find_system(system), name)
    parts = {
        BEYOND.get(system, {}).get(name, ""),
        "" if entry.causal else "future",
        "training" if entry.learned else "",
        "distribution" if entry.follows else "",
    }
    return frozenset(parts - {""})


def _measured(system: str, setting: str, seed: int) -> Row:
    """Return gap to the reference bound, violations and time per decision of every policy."""
    record, (runs, _) = find_system(system), SETTINGS[system]
    options = json.loads(setting)
    source = options.pop("source", "")
    draw = record.instances.sources[source].make if source else record.instances.generate
    instance = draw(rng=seed, **options)  # type: ignore[misc]
    environment = record.policies.environment(instance)
    wanted = {record.offline.reference} | {one.follows for one in record.policies.entries} - {""}
    found = {
        name: record.offline.bounds[name].solve(instance, lambda _: environment, 0, runs)
        for name in wanted
    }
    bound = found[record.offline.reference].bound
    sign = 1.0 if record.objective.sense == "max" else -1.0
    rows: dict[str, list[float]] = {}
    trajectories: dict[str, Trajectory] = {}
    seconds: dict[str, float] = {}
    exact: dict[str, float] = {}
    for entry in record.policies.entries:
        try:
            policy = entry.make(instance, found)
            simulate(environment, policy, rng=seed, runs=1)
            timing = timed(partial(simulate, environment, policy, rng=seed, runs=runs))
        except EdgeOptError:
            continue
        trajectories[entry.name] = timing.last
        seconds[entry.name] = timing.median / np.size(timing.last.reward)
        value = None if entry.exact is None else entry.exact(instance, policy)
        if value is not None:
            exact[entry.name] = value
    values = {name: record.objective.values(one) for name, one in trajectories.items()}
    known = [Control(name, values[name], value) for name, value in exact.items()]
    for name, one in estimates(values, exact, known).items():
        gap = sign * (bound - one.mean) / max(abs(bound), abs(one.mean))
        violated = float(np.sum(trajectories[name].violations)) / runs
        rows[name] = [gap, violated, seconds[name]]
    return {"rows": json.dumps(rows)}


def wanted_jobs(system: str) -> list[Job]:
    """Return what is measured of a system: all its policies on every held-out instance."""
    return [
        Job({"fronts": system, "setting": text, "seed": seed}, _measured, (system, text, seed))
        for text in map(json.dumps, SETTINGS[system][1])
        for seed in SEEDS
    ]


def front_of(system: str, measured: Sequence[Mapping[str, Sequence[float]]]) -> list[Row]:
    """Return a row for each policy, with those that replace it; instances by setting."""
    names = list(dict.fromkeys(name for one in measured for name in one))
    absent, shape = (np.nan,) * 3, (len(SETTINGS[system][1]), -1, 3)
    runs = {
        name: np.array([one.get(name, absent) for one in measured]).reshape(shape) for name in names
    }
    known = {name: information(system, name) for name in names}
    rows = []
    for name in names:
        better = [
            other
            for other in names
            if other != name and known[other] <= known[name] and _replaces(runs[other], runs[name])
        ]
        gap, violated, _ = np.nanmean(runs[name], axis=(0, 1))
        seconds = float(np.exp(np.nanmean(np.log(runs[name][..., 2]))))
        rows.append({
            "system": system, "policy": name, "information": sorted(known[name]),
            "gap": float(f"{gap:.4g}"), "violated": float(f"{violated:.3g}"),
            "microseconds": float(f"{1e6 * seconds:.2g}"), "replaced_by": better,
        })  # fmt: skip
    return rows


def _replaces(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Tell whether a policy is as good as another wherever that runs, and better in something.

    Noise is that of instances within their settings.
    """
    ran = np.isfinite(other[..., 0]).all(axis=1)
    if not np.isfinite(one[ran]).all():
        return False
    difference, times = one[ran] - other[ran], other[ran, :, 2] / one[ran, :, 2]
    mean, faster = difference.mean(axis=(0, 1)), float(np.log(times).mean())
    variance = difference.var(axis=1, ddof=1).sum(axis=0) / difference.shape[1]
    gap, violated, _ = mean
    noise = SURE * np.sqrt(variance) / len(difference)
    as_good = gap <= noise[0] and violated <= noise[1] and faster >= -np.log(FACTOR)
    return bool(as_good and (gap < -noise[0] or faster > np.log(FACTOR)))


def make_fronts(how: Mapping[str, Any]) -> list[Row]:
    """Measure all policies of all systems, and return the rows of the table."""
    rows = []
    for system in SETTINGS:
        wanted = wanted_jobs(system)
        found = compute_jobs(wanted, **how)
        rows += front_of(system, [json.loads(found[job.key]["rows"]) for job in wanted])
    return rows
