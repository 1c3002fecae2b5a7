"""OINC on real data: when requests arrive, how training steps vary, how far accuracy falls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeopt.errors import OptionError
from edgeopt.instances.oinc.activity import replay_activity
from edgeopt.instances.oinc.channel import READINGS
from edgeopt.instances.oinc.drift import draw_drift
from edgeopt.instances.oinc.generate import BANDWIDTH, MEGABYTES, SLO, draw_world
from edgeopt.instances.oinc.instance import OincInstance
from edgeopt.instances.oinc.jobs import JobSettings, draw_jobs, drift_jobs
from edgeopt.instances.oinc.measurements import measure, read_tables
from edgeopt.instances.options import check_sizes
from edgeopt.instances.tables import FOLDER
from edgeopt.options import check_flag, check_whole, generator

if TYPE_CHECKING:
    import os

    import numpy as np
    from numpy.typing import NDArray

    from edgeopt.instances.oinc.channel import Channel
    from edgeopt.instances.oinc.measurements import Measured

__all__ = ["build", "from_data", "from_tables"]


def from_tables(**options: Any) -> OincInstance:
    """Build an instance from the small tables that come with the package.

    Parameters
    ----------
    **options
        Settings of `build`; the tables hold 600 seconds of requests. Without any, the same default
        instance every time.

    Returns
    -------
    An instance equal to what `from_data` builds from the raw files with the same options.

    Raises
    ------
    OptionError, InstanceError
        As in `build`.
    """
    return build(read_tables(FOLDER), **options)


def from_data(directory: str | os.PathLike[str], **options: Any) -> OincInstance:
    """Build an instance from the raw measurement files.

    Parameters
    ----------
    directory
        Folder with the sources as `measure` expects them.
    **options
        Settings of `build`; almost an hour of requests is on record.

    Raises
    ------
    InstanceError
        If a file is missing or has a bad entry, named by file, column and line.
    OptionError
        As in `build`.
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
    world = draw_world(
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
    settings = JobSettings(world["speed"], job_scale, patience, measured.stretches.ravel())
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
        **world,
        **fields,
        origin=_origin(counts, active, first, pace, drift, channel),
    )


def _origin(
    counts: NDArray[np.int64],
    active: NDArray[np.bool_],
    first: int,
    pace: int,
    drift: bool,
    channel: Channel,
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
        f"requests are drawn in the setting of Zeng et al. Channel: {channel}, a reading of the "
        f"paper's radio ({READINGS[channel]})."
    )
