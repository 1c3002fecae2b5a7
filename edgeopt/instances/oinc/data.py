"""Measured activity and drift as tables, and OINC instances built from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.arrivals import SERVICES, count_service_requests
from edgeopt.instances.oinc.activity import replay_activity
from edgeopt.instances.oinc.channel import INTERPRETATIONS
from edgeopt.instances.oinc.generate import BANDWIDTH, MEGABYTES, SLO, draw_scenario
from edgeopt.instances.oinc.instance import OincInstance
from edgeopt.instances.oinc.jobs import JobSettings, draw_drift, draw_jobs, drift_jobs
from edgeopt.instances.tables import FOLDER, write_table
from edgeopt.instances.traces import read_columns
from edgeopt.instances.traces.columns import (
    COUNT,
    FRACTION,
    JOBS,
    POSITIVE,
    elapsed_times,
    read_accuracy,
    read_jobs,
    read_matrix,
    source_paths,
)
from edgeopt.instances.validate import check_sizes, path_of
from edgeopt.options import check_flag, check_whole, generator

if TYPE_CHECKING:
    import os

    from edgeopt.arrays import Flags, Floats, Ints
    from edgeopt.instances.oinc.channel import Channel
    from edgeopt.instances.traces.columns import IterationTimes

CLASSIFIER: Final = "Standard"
"""Classifier whose accuracy under drift is taken: the one trained without a thought of it."""

SECONDS: Final = 600
"""Seconds that the table of requests holds, from the first complete one on record."""

STEPS: Final = 13
"""Records in a stretch: 1024 pictures in batches of 8 are 128 iterations, every tenth on record."""

GROUPS: Final = 20
"""Groups of a job's stretches, from the fastest to the slowest, whose means the table holds."""


class Measured(NamedTuple):
    """The measurements that instances are built from."""

    arrivals: Ints  # requests of each of `SERVICES` by the second, shape [S, 2]
    # how long stretches of each of four training jobs take in terms of the job's average, as means
    # of equal groups from the fastest to the slowest, shape [20, 4]
    stretches: Floats
    # accuracies of `CLASSIFIER` under 15 kinds of drift in 5 severities, shape [75]
    levels: Floats


def stretches(job: IterationTimes, source: str = "job") -> Floats:
    """Sum up how long a retraining of 128 iterations takes on a measured training job.

    A stretch is `STEPS` records of one worker in a row, so that slow phases stay together; its
    length counts in terms of the average record of the job, since the unit of time is arbitrary.
    """
    found = [elapsed[STEPS:] - elapsed[:-STEPS] for elapsed in elapsed_times(job)]
    lengths = np.sort(np.concatenate(found)) / (STEPS * job.time.mean())
    if lengths.size < GROUPS:
        rule = f"must have {GROUPS} stretches of {STEPS} steps of one worker"
        raise InstanceError(source, rule, value=f"{lengths.size} stretches")
    groups = np.array_split(lengths, GROUPS)
    return np.array([group.mean() for group in groups], dtype=np.float64)


def measure(directory: str | os.PathLike[str]) -> Measured:
    """Reduce the raw files to what instances need."""
    root, path, *_ = source_paths(
        directory, "oinc", "cifar10c_robustness/unaggregated_results.csv", "alibaba_gpu_v2020",
        "azure_llm_2023",
    )  # fmt: skip
    drift = read_accuracy(path)
    if CLASSIFIER not in drift.models:
        raise InstanceError(f"{path}:model", f"must name {CLASSIFIER!r}", value="no such line")
    lengths = [stretches(job, source) for source, job in read_jobs(root).items()]
    return Measured(
        arrivals=count_service_requests(root, seconds=1),
        stretches=np.asarray(np.round(np.column_stack(lengths), 4), dtype=np.float64),
        levels=np.round(drift.accuracy[drift.models.index(CLASSIFIER)], 4),
    )


def write_tables(measured: Measured, directory: str | os.PathLike[str]) -> None:
    """Write the measurements as CSV tables that `read_tables` reads back."""
    root = path_of(directory, "directory")
    write_table(root / "seconds.csv", SERVICES, measured.arrivals[:SECONDS].tolist())
    write_table(root / "stretches.csv", JOBS, measured.stretches.tolist())


def read_tables(directory: str | os.PathLike[str]) -> Measured:
    """Read seconds.csv, stretches.csv and drift.csv."""
    root = path_of(directory, "directory")
    return Measured(
        arrivals=read_matrix(root / "seconds.csv", SERVICES, COUNT).astype(np.int64),
        stretches=read_matrix(root / "stretches.csv", JOBS, POSITIVE),
        levels=read_columns(root / "drift.csv", {CLASSIFIER: FRACTION})[CLASSIFIER],
    )


def from_bundled(**options: Any) -> OincInstance:
    """Build an instance from the small tables that come with the package: 600 s of requests.

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
    >>> from edgeopt.instances.oinc import from_bundled
    >>> from_bundled()
    OincInstance(slots=200, devices=40, sites=12, jobs=19)
    """
    return build(read_tables(FOLDER), **options)


def from_raw(directory: str | os.PathLike[str], **options: Any) -> OincInstance:
    """Build an instance from the raw measurement files.

    Parameters
    ----------
    directory
        Folder with the sources as `measure` expects them.
    **options
        Settings of `build`; almost an hour of requests is on record.

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
    >>> from edgeopt.instances.oinc import from_raw
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
    rng: int | np.random.Generator = 0,
    sites: int = 12,
    devices: int = 40,
    slots: int = 200,
    jobs: int = 24,
    first: int = 0,
    pace: int = 3,
    drift: bool = True,
    channel: Channel = "literal",
    moving: bool = False,
    bandwidth: tuple[float, float] = BANDWIDTH,
    megabytes: tuple[float, float] = MEGABYTES,
    band_scale: float = 1.0,
    slo: tuple[float, float] = SLO,
    job_scale: float = 1.0,
    patience: tuple[float, float] = (1.5, 3.0),
) -> OincInstance:
    """Build an instance in which three things are measured and the rest is drawn.

    Measured: when requests of two language services arrive (Azure, 2023), a slot for every `pace`
    seconds on record, see `replay_activity` for which device asks; how much longer or shorter than
    on average a stretch of training takes (four production jobs of Alibaba, 2020), the factor on
    the work of a job, of one of the four at random; with `drift`, how far the accuracy of a
    classifier falls under 15 kinds of drift in 5 severities (RobustBench, CIFAR-10-C), a fresh
    model having the highest of them. Derived: with `drift`, when jobs arrive, see `draw_drift`.
    Drawn, as in `generate`: all else, also data and work of requests, which do not follow the
    tokens of the services.
    """
    check_sizes(slots=slots, pace=pace)
    check_whole("first", first)
    check_whole("jobs", jobs)
    check_flag("drift", drift)
    recorded = len(measured.arrivals)
    if not 0 <= first <= recorded - pace * slots:
        raise OptionError(
            f"{slots} slots of {pace} s from second {first} do not lie in the {recorded} s on "
            "record; take fewer slots, a slower pace or another first second"
        )
    streams = generator(rng).spawn(8)
    asking, retraining, drifting = streams[5:]
    scenario = draw_scenario(
        streams[:5],
        sites=sites,
        devices=devices,
        slots=slots,
        channel=channel,
        moving=moving,
        bandwidth=bandwidth,
        megabytes=megabytes,
        band_scale=band_scale,
        slo=slo,
    )
    counts = measured.arrivals[first : first + pace * slots].reshape(slots, pace, -1).sum(axis=1)
    active = replay_activity(asking, counts, devices)
    settings = JobSettings(scenario["speed"], job_scale, patience, measured.stretches.ravel())
    if drift:
        levels = measured.levels
        alarm = draw_drift(
            drifting, slots, devices, jobs, fresh=float(levels.max()), levels=levels
        ).alarm
        fields = drift_jobs(retraining, alarm, settings)
    else:
        fields = draw_jobs(retraining, jobs, slots, settings)
    return OincInstance(
        active=active,
        **scenario,
        **fields,
        origin=_origin(counts, active, first, pace, drift, channel),
    )


def _origin(
    counts: Ints, active: Flags, first: int, pace: int, drift: bool, channel: Channel
) -> str:
    asked = counts.sum()
    lost = 100 * (1 - active.sum() / asked) if asked else 0.0
    come = (
        "Jobs arrive as a test notices that accuracy has fallen: the levels are measured "
        "(CIFAR-10-C, RobustBench), the moments drawn, the arrivals derived."
        if drift
        else "Jobs arrive at moments that are drawn."
    )
    return (
        f"Requests: measured, two Azure language services in November 2023, {pace} s on record "
        f"from second {first} for each slot; as many devices are active as there are requests, "
        f"drawn among the devices of the service, and {lost:.1f} % of the requests exceed the "
        f"devices and are left out. {come} Their work: that of five image classifiers, reckoned "
        "from their operations, times a measured factor (stretches of 128 iterations of four "
        "production jobs, Alibaba 2020). Sites, links, objectives, deadlines, data and work of "
        "requests are drawn in the setting of Zeng et al. Channel: "
        f"{channel}, a reading of the paper's radio ({INTERPRETATIONS[channel]})."
    )
