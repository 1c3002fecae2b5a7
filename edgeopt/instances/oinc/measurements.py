"""Measurements behind OINC: requests by the second, iterations of training jobs, drift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.arrivals import count_per_slot, read_timestamps
from edgeopt.instances.tables import write_table
from edgeopt.instances.traces import read_accuracy, read_columns, read_iteration_times
from edgeopt.instances.validate import path_of

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from edgeopt.instances.traces import IterationTimes, Rule

__all__ = [
    "CLASSIFIER",
    "SECONDS",
    "SERVICES",
    "Measured",
    "measure",
    "read_tables",
    "stretches",
    "write_tables",
]

SERVICES: Final = ("code", "conv")
"""The two services on record: completion of program code, and conversation."""

CLASSIFIER: Final = "Standard"
"""Classifier whose accuracy under drift is taken: the one trained without a thought of it."""

SECONDS: Final = 600
"""Seconds that the table of requests holds, from the first complete one on record."""

STEPS: Final = 13
"""Records in a stretch: 1024 pictures in batches of 8 are 128 iterations, every tenth on record."""

GROUPS: Final = 20
"""Groups, from the fastest stretches of a job to the slowest, that the table tells the mean of."""

_JOBS: Final = 4  # production jobs on record
_COUNT: Final[Rule] = (lambda x: x >= 0 and x == int(x), "must be a count")
_FRACTION: Final[Rule] = (lambda x: 0 <= x <= 1, "must be a fraction in 0..1")


class Measured(NamedTuple):
    """The measurements that instances are built from.

    Attributes
    ----------
    arrivals
        Requests of each of `SERVICES` by the second, shape [S, 2].
    stretches
        How long stretches of each of four training jobs take in terms of the job's average, as
        means of equal groups from the fastest to the slowest, shape [20, 4].
    levels
        Accuracies of `CLASSIFIER` under 15 kinds of drift in 5 severities, shape [75].
    """

    arrivals: NDArray[np.int64]
    stretches: NDArray[np.float64]
    levels: NDArray[np.float64]


def stretches(job: IterationTimes, source: str = "job") -> NDArray[np.float64]:
    """Sum up how long a retraining of 128 iterations takes on a measured training job.

    A stretch is `STEPS` records of one worker in a row, so that slow phases stay together; its
    length counts in terms of the average record of the job, since the unit of time is arbitrary.
    """
    found = []
    for worker in np.unique(job.worker):
        mine = job.worker == worker
        steps = job.time[mine][np.argsort(job.iteration[mine], kind="stable")]
        elapsed = np.concatenate(([0.0], np.cumsum(steps)))
        found.append(elapsed[STEPS:] - elapsed[:-STEPS])
    lengths = np.sort(np.concatenate(found)) / (STEPS * job.time.mean())
    if lengths.size < GROUPS:
        rule = f"must have {GROUPS} stretches of {STEPS} steps of one worker"
        raise InstanceError(source, rule, value=f"{lengths.size} stretches")
    groups = np.array_split(lengths, GROUPS)
    return np.array([group.mean() for group in groups], dtype=np.float64)


def measure(directory: str | os.PathLike[str]) -> Measured:
    """Reduce the raw files to what instances need."""
    root = path_of(directory, "directory")
    traces = [root / "azure_llm_2023" / f"AzureLLMInferenceTrace_{name}.csv" for name in SERVICES]
    jobs = [root / "alibaba_gpu_v2020" / f"minibatch_job_{n}_norm.csv" for n in range(1, _JOBS + 1)]
    path = root / "cifar10c_robustness" / "unaggregated_results.csv"
    drift = read_accuracy(path)
    if CLASSIFIER not in drift.models:
        raise InstanceError(f"{path}:model", f"must name {CLASSIFIER!r}", value="no such line")
    counts = count_per_slot([read_timestamps(trace) for trace in traces], seconds=1)
    lengths = [stretches(read_iteration_times(job), str(job)) for job in jobs]
    return Measured(
        arrivals=counts,
        stretches=np.asarray(np.round(np.column_stack(lengths), 4), dtype=np.float64),
        levels=np.round(drift.accuracy[drift.models.index(CLASSIFIER)], 4),
    )


def write_tables(measured: Measured, directory: str | os.PathLike[str]) -> None:
    """Write the measurements as CSV tables that `read_tables` reads back."""
    root = path_of(directory, "directory")
    write_table(root / "seconds.csv", SERVICES, measured.arrivals[:SECONDS].tolist())
    write_table(root / "stretches.csv", _job_names(), measured.stretches.tolist())


def _job_names() -> list[str]:
    return [f"job_{n}" for n in range(1, _JOBS + 1)]


def read_tables(directory: str | os.PathLike[str]) -> Measured:
    """Read seconds.csv, stretches.csv and drift.csv."""
    root = path_of(directory, "directory")
    positive: Rule = (lambda x: x > 0, "must be positive")
    arrivals = read_columns(root / "seconds.csv", dict.fromkeys(SERVICES, _COUNT))
    lengths = read_columns(root / "stretches.csv", dict.fromkeys(_job_names(), positive))
    levels = read_columns(root / "drift.csv", {CLASSIFIER: _FRACTION})
    return Measured(
        arrivals=np.column_stack([arrivals[name] for name in SERVICES]).astype(np.int64),
        stretches=np.column_stack([lengths[name] for name in _job_names()]),
        levels=levels[CLASSIFIER],
    )
