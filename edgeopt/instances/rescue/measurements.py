"""Measurements behind RESCUE: reduced from raw files, kept in small tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.tables import write_table
from edgeopt.instances.traces import (
    Accuracy,
    IterationTimes,
    read_accuracy,
    read_columns,
    read_iteration_times,
    read_points,
    read_rows,
)
from edgeopt.instances.validate import path_of

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from numpy.typing import NDArray

    from edgeopt.instances.traces import Rule

__all__ = ["Measured", "measure", "read_tables", "run_lengths", "write_tables"]

LONGEST_WORK: Final = 24
"""Longest nominal run for which run lengths are counted, slots of average speed."""

RECORDS_PER_SLOT: Final = 5
"""Measured steps that fill a slot at average speed. The trace records every tenth iteration, so a
slot holds 50 iterations; as its unit of time is arbitrary, this number is assumed."""

TIME_LIMIT: Final = 3
"""A run is stopped after this many times its nominal length (assumed)."""


_JOBS: Final = 4  # production jobs on record


class Measured(NamedTuple):
    """The measurements that instances are built from.

    Attributes
    ----------
    windows
        How many stretches of each job's trace that hold w slots of work took d slots, shape
        [w, d, job]; entry 0 of the first two axes stands for 1.
    sites
        Latitude and longitude of base stations, degrees, shape [S, 2].
    users
        Latitude and longitude of users, degrees, shape [U, 2].
    drift
        Accuracy of classifiers under kinds and severities of drift.
    """

    windows: NDArray[np.int64]
    sites: NDArray[np.float64]
    users: NDArray[np.float64]
    drift: Accuracy


def run_lengths(job: IterationTimes, source: str = "job") -> NDArray[np.int64]:
    """Count how long contiguous stretches of a measured training job take.

    A retraining run of nominal length w makes ``50 w`` iterations, of which every tenth is on
    record. Its time is the sum of the recorded steps of one worker over one contiguous stretch, so
    that slow phases stay together; a slot is what `RECORDS_PER_SLOT` steps take on average over
    the job. Runs that would exceed `TIME_LIMIT` times w are stopped there.
    """
    needed = LONGEST_WORK * RECORDS_PER_SLOT
    longest = int(np.unique(job.worker, return_counts=True)[1].max())
    if longest < needed:
        raise InstanceError(
            source, f"some worker must have {needed} recorded steps", value=f"at most {longest}"
        )
    slot = job.time.mean() * RECORDS_PER_SLOT
    counts = np.zeros((LONGEST_WORK, TIME_LIMIT * LONGEST_WORK), dtype=np.int64)
    for worker in np.unique(job.worker):
        mine = job.worker == worker
        steps = job.time[mine][np.argsort(job.iteration[mine], kind="stable")]
        elapsed = np.concatenate(([0.0], np.cumsum(steps)))
        for work in range(1, LONGEST_WORK + 1):
            records = work * RECORDS_PER_SLOT
            if records > steps.size:
                break
            # A sum that misses a whole slot by rounding only must not spill into the next one.
            slots = np.ceil((elapsed[records:] - elapsed[:-records]) / slot - 1e-9)
            kept = np.clip(slots, 1, TIME_LIMIT * work).astype(np.int64)
            counts[work - 1] += np.bincount(kept - 1, minlength=counts.shape[1])
    return counts


def measure(directory: str | os.PathLike[str]) -> Measured:
    """Reduce the raw files to what instances need."""
    root = path_of(directory, "directory")
    traces = [
        root / "alibaba_gpu_v2020" / f"minibatch_job_{n}_norm.csv" for n in range(1, _JOBS + 1)
    ]
    runs = [run_lengths(read_iteration_times(path), str(path)) for path in traces]
    drift = read_accuracy(root / "cifar10c_robustness" / "unaggregated_results.csv")
    users = read_points(root / "eua" / "users-melbcbd-generated.csv", "Latitude", "Longitude")
    return Measured(
        windows=np.stack(runs, axis=-1),
        sites=np.round(read_points(root / "eua" / "site-optus-melbCBD.csv"), 5),
        users=np.round(users, 5),
        drift=drift._replace(accuracy=np.round(drift.accuracy, 4)),
    )


def write_tables(measured: Measured, directory: str | os.PathLike[str]) -> None:
    """Write the measurements as CSV tables that `read_tables` reads back exactly."""
    root = path_of(directory, "directory")
    jobs = measured.windows.shape[2]
    taken = np.argwhere(measured.windows.sum(axis=2) > 0)
    runs = [(w + 1, d + 1, *measured.windows[w, d].tolist()) for w, d in taken.tolist()]
    write_table(root / "run_lengths.csv", ["work", "slots", *_job_names(jobs)], runs)
    for name, points in (("sites", measured.sites), ("users", measured.users)):
        write_table(root / f"{name}.csv", ["latitude", "longitude"], points.tolist())
    drift = measured.drift
    settings = zip(
        drift.corruption, drift.severity.tolist(), drift.accuracy.T.tolist(), strict=True
    )
    write_table(
        root / "drift.csv",
        ["corruption", "severity", *drift.models],
        [(kind, grade, *row) for kind, grade, row in settings],
    )


def _job_names(jobs: int) -> list[str]:
    return [f"job_{n}" for n in range(1, jobs + 1)]


def read_tables(directory: str | os.PathLike[str]) -> Measured:
    """Read the tables that `write_tables` has written."""
    root = path_of(directory, "directory")
    path = root / "run_lengths.csv"
    names = _job_names(_JOBS)
    natural: Rule = (lambda x: x >= 1 and x == int(x), "must be a whole number, from 1")
    count: Rule = (lambda x: x >= 0 and x == int(x), "must be a count")
    runs = read_columns(path, {"work": natural, "slots": natural, **dict.fromkeys(names, count)})
    work, slots = (runs[name].astype(np.int64) for name in ("work", "slots"))
    if work.max() > LONGEST_WORK or slots.max() > TIME_LIMIT * LONGEST_WORK:
        raise InstanceError(str(path), f"must stop at {LONGEST_WORK} slots of work")
    windows = np.zeros((LONGEST_WORK, TIME_LIMIT * LONGEST_WORK, len(names)), dtype=np.int64)
    windows[work - 1, slots - 1] = np.column_stack([runs[name] for name in names])
    sites, users = (
        read_points(root / f"{name}.csv", "latitude", "longitude") for name in ("sites", "users")
    )
    return Measured(windows, sites, users, _read_drift(root / "drift.csv"))


def _read_drift(path: Path) -> Accuracy:
    rows = read_rows(path)
    header = rows[0][1] if rows else []
    models = tuple(header[2:])
    if rows and not models:
        raise InstanceError(str(path), "must have a column per model", value=", ".join(header))
    grade: Rule = (lambda x: x in (1, 2, 3, 4, 5), "must be a severity, 1 to 5")
    fraction: Rule = (lambda x: 0 <= x <= 1, "must be a fraction in 0..1")
    columns = read_columns(path, {"severity": grade, **dict.fromkeys(models, fraction)})
    return Accuracy(
        models,
        tuple(row[0] for _, row in rows[1:]),
        columns["severity"].astype(np.int64),
        np.stack([columns[model] for model in models]),
    )
