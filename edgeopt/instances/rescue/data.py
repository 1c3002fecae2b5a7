"""Measured servers, cells and arrivals as tables, and RESCUE instances built from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.rescue.generate import (
    check_deadlines,
    draw_arrival,
    draw_capacity,
    draw_reserved,
    link_rate,
    retraining_budget,
)
from edgeopt.instances.rescue.instance import RescueInstance
from edgeopt.instances.rescue.profit_models import LogProfit
from edgeopt.instances.tables import FOLDER, write_table
from edgeopt.instances.traces import read_columns, read_points, read_rows
from edgeopt.instances.traces.columns import (
    COUNT,
    FRACTION,
    JOBS,
    SEVERITY,
    Accuracy,
    IterationTimes,
    elapsed_times,
    great_circle_kilometres,
    read_accuracy,
    read_jobs,
    source_paths,
)
from edgeopt.instances.validate import check_sizes, path_of
from edgeopt.options import check_room, check_text, check_whole
from edgeopt.options import generator as source

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.traces import Rule

LONGEST_WORK: Final = 24
"""Longest nominal run for which run lengths are counted, slots of average speed."""

RECORDS_PER_SLOT: Final = 5
"""Measured steps that fill a slot at average speed. The trace records every tenth iteration, so a
slot holds 50 iterations; as its unit of time is arbitrary, this number is assumed."""

TIME_LIMIT: Final = 3  # a run is stopped after this many times its nominal length (assumed)


class Measured(NamedTuple):
    """The measurements that instances are built from."""

    # how many stretches of each job's trace that hold w slots of work took d slots, shape [w, d,
    # job]; entry 0 of the first two axes stands for 1
    windows: Ints
    sites: Floats  # latitude and longitude of base stations, degrees, shape [S, 2]
    users: Floats  # latitude and longitude of users, degrees, shape [U, 2]
    drift: Accuracy  # accuracy of classifiers under kinds and severities of drift


def run_lengths(job: IterationTimes, source: str = "job") -> Ints:
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
    for elapsed in elapsed_times(job):
        for work in range(1, LONGEST_WORK + 1):
            records = work * RECORDS_PER_SLOT
            if records >= elapsed.size:
                break
            # A sum that misses a whole slot by rounding only must not spill into the next one.
            slots = np.ceil((elapsed[records:] - elapsed[:-records]) / slot - 1e-9)
            kept = np.clip(slots, 1, TIME_LIMIT * work).astype(np.int64)
            counts[work - 1] += np.bincount(kept - 1, minlength=counts.shape[1])
    return counts


def measure(directory: str | os.PathLike[str]) -> Measured:
    """Reduce the raw files to what instances need."""
    root, drifts, nearby, sites, *_ = source_paths(
        directory, "rescue", "cifar10c_robustness/unaggregated_results.csv",
        "eua/users-melbcbd-generated.csv", "eua/site-optus-melbCBD.csv", "alibaba_gpu_v2020",
    )  # fmt: skip
    runs = [run_lengths(job, source) for source, job in read_jobs(root).items()]
    drift = read_accuracy(drifts)
    users = read_points(nearby, "Latitude", "Longitude")
    return Measured(
        windows=np.stack(runs, axis=-1),
        sites=np.round(read_points(sites), 5),
        users=np.round(users, 5),
        drift=drift._replace(accuracy=np.round(drift.accuracy, 4)),
    )


def write_tables(measured: Measured, directory: str | os.PathLike[str]) -> None:
    """Write the measurements as CSV tables that `read_tables` reads back exactly."""
    root = path_of(directory, "directory")
    taken = np.argwhere(measured.windows.sum(axis=2) > 0)
    runs = [(w + 1, d + 1, *measured.windows[w, d].tolist()) for w, d in taken.tolist()]
    write_table(root / "run_lengths.csv", ["work", "slots", *JOBS], runs)
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


def read_tables(directory: str | os.PathLike[str]) -> Measured:
    """Read the tables that `write_tables` has written."""
    root = path_of(directory, "directory")
    path = root / "run_lengths.csv"
    natural: Rule = (lambda x: x >= 1 and x == int(x), "must be a whole number, from 1")
    runs = read_columns(path, {"work": natural, "slots": natural, **dict.fromkeys(JOBS, COUNT)})
    work, slots = (runs[name].astype(np.int64) for name in ("work", "slots"))
    if work.max() > LONGEST_WORK or slots.max() > TIME_LIMIT * LONGEST_WORK:
        raise InstanceError(str(path), f"must stop at {LONGEST_WORK} slots of work")
    windows = np.zeros((LONGEST_WORK, TIME_LIMIT * LONGEST_WORK, len(JOBS)), dtype=np.int64)
    windows[work - 1, slots - 1] = np.column_stack([runs[name] for name in JOBS])
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
    columns = read_columns(path, {"severity": SEVERITY, **dict.fromkeys(models, FRACTION)})
    return Accuracy(
        models,
        tuple(row[0] for _, row in rows[1:]),
        columns["severity"].astype(np.int64),
        np.stack([columns[model] for model in models]),
    )


NEAREST_KM: Final = 0.035
"""Shortest distance to an antenna that the path-loss model is meant for, km."""


def from_bundled(**options: Any) -> RescueInstance:
    """Build an instance from the small tables that come with the package.

    Takes the settings of `build`; without any, the default instance is the same every time. It
    equals what `from_raw` builds from the raw files with the same settings.

    Parameters
    ----------
    **options
        Those of `from_raw`.

    Returns
    -------
    An instance from the traces that come with the package.

    Examples
    --------
    >>> from edgeopt.instances.rescue import from_bundled
    >>> from_bundled(rng=0)
    RescueInstance(servers=4, devices=14, profiles=5, horizon=100, max_duration=60,
    reserved=16, arrivals='exclusive', beyond='hold')
    """
    return build(read_tables(FOLDER), **options)


def from_raw(directory: str | os.PathLike[str], **options: Any) -> RescueInstance:
    """Build an instance from the raw measurement files.

    Parameters
    ----------
    directory
        Folder with the sources as `measure` expects them.
    **options
        Sizes and settings of `build`.

    Returns
    -------
    An instance from the files, whose notes say what was made of them.

    Raises
    ------
    InstanceError
        If a file is missing or has a bad entry, named by file, column and line.
    OptionError
        As in `build`.

    Examples
    --------
    >>> from edgeopt.instances.rescue import from_raw
    >>> from_raw("no/such/folder")
    Traceback (most recent call last):
    ...
    edgeopt.errors.InstanceError: no/such/folder: holds none of the public files that this
        is made of (cifar10c_robustness/unaggregated_results.csv, ...
    """
    return build(measure(directory), **options)


def build(
    measured: Measured,
    *,
    servers: int = 4,
    devices: int = 14,
    profiles: int = 5,
    horizon: int = 100,
    arrival: float = 0.5,
    reserved: int = 16,
    density: float = 0.4,
    demand: float = 0.15,
    sla: float = 23,
    rng: int | np.random.Generator = 0,
    shortest: int = 4,
    longest: int = 20,
    slot_seconds: float = 10,
    model: str = "Standard",
    beyond: Literal["hold", "drop"] = "hold",
) -> RescueInstance:
    """Build an instance on measured durations, distances and accuracies.

    Measured: how the length of a training run varies (four production jobs of the Alibaba PAI
    trace, equally weighted); where base stations stand (Optus sites in central Melbourne); what
    accuracy a classifier keeps under 15 kinds of drift in 5 severities, and the best that any
    listed classifier reaches (CIFAR-10-C). Synthetic at their source: the positions of users.
    Assumed, as in `generate`: arrivals, capacities, reserved tasks, link budget, amounts of data,
    deadlines, weights, decay of accuracy, the curves from work to accuracy (no public measurement
    is known), and how many steps fill a slot.
    """
    _check(measured, servers, devices, model)
    check_sizes(horizon=horizon)
    check_room("horizon * devices", horizon, devices)
    check_deadlines(sla, slot_seconds)
    duration = _durations(measured.windows, profiles, shortest, longest)
    generator = source(rng)
    capacity = draw_capacity(generator, servers, horizon)
    tasks = draw_reserved(generator, capacity, reserved, density, demand)
    probability = draw_arrival(generator, horizon, devices, arrival)

    sites = measured.sites[generator.choice(len(measured.sites), servers, replace=False)]
    users = measured.users[generator.choice(len(measured.users), devices, replace=False)]
    distance = np.maximum(great_circle_kilometres(users, sites), NEAREST_KM)
    megabytes = generator.uniform(8, 32, devices) + generator.uniform(1, 4, devices)
    deadline = np.round(sla + generator.uniform(-2, 2, devices))

    accuracy = measured.drift.accuracy
    drifted = accuracy[measured.drift.models.index(model)]
    setting = generator.choice(drifted.size, devices, replace=devices > drifted.size)
    # Python evaluates arguments from left to right: their order is the order of the draws.
    profit = LogProfit(
        weight=generator.uniform(0.5, 10, devices),
        accuracy=drifted[setting],
        best_accuracy=float(accuracy.max()),
        decay=generator.uniform(0.002, 0.01, devices),
        trained=np.full(devices, -1),
        gain=generator.uniform(0.05, 0.25, devices),
        curvature=generator.uniform(0.02, 0.2, devices),
        capacity=capacity,
        budget=retraining_budget(deadline, megabytes, link_rate(distance), slot_seconds),
        max_duration=duration.shape[1],
    )
    return RescueInstance(probability, duration, capacity, tasks, profit, beyond=beyond)


def _check(measured: Measured, servers: int, devices: int, model: str) -> None:
    for name, value, available in (
        ("servers", servers, len(measured.sites)),
        ("devices", devices, len(measured.users)),
    ):
        check_whole(name, value)
        if not 1 <= value <= available:
            raise OptionError(f"{name} must lie in 1..{available}, got {value}")
    check_text("model", model)
    if model not in measured.drift.models:
        raise OptionError(f"no model {model!r}; known: {', '.join(measured.drift.models)}")


def _durations(windows: Ints, profiles: int, shortest: int, longest: int) -> Floats:
    """Mix the jobs in equal parts, shape [L, D]."""
    for name, value in (("profiles", profiles), ("shortest", shortest), ("longest", longest)):
        check_whole(name, value)
    if not 1 <= shortest <= longest <= LONGEST_WORK:
        raise OptionError(
            f"needs 1 <= shortest <= longest <= {LONGEST_WORK}, got {shortest} and {longest}"
        )
    work = np.round(np.linspace(shortest, longest, min(profiles, LONGEST_WORK))).astype(np.int64)
    if not 1 <= profiles <= work.size or np.unique(work).size < profiles:
        raise OptionError(
            f"{profiles} profiles do not fit between {shortest} and {longest} whole slots"
        )
    counts = windows[work - 1].astype(np.float64)
    share = (counts / counts.sum(axis=1, keepdims=True)).mean(axis=2)
    reach = int(np.flatnonzero(share.any(axis=0))[-1]) + 1
    duration: Floats = share[:, :reach]
    return duration
