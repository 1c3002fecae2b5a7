"""Random instances: in the setting of the paper's evaluation, and small ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.oinc.activity import draw_activity
from edgeopt.instances.oinc.channel import INTERPRETATIONS, check_channel, link_rates
from edgeopt.instances.oinc.instance import OincInstance
from edgeopt.instances.oinc.jobs import (
    ArrivalDistribution,
    JobSettings,
    draw_drift,
    draw_jobs,
    drift_jobs,
)
from edgeopt.instances.radio import megabytes_to_megabit
from edgeopt.instances.validate import check_sizes, check_span
from edgeopt.options import check_flag, check_real, check_room, check_whole, generator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.arrays import Floats
    from edgeopt.instances.oinc.channel import Channel

SPEED: Final = (5.0, 9.0)  # CPU of a site, Gcycle/s
BANDWIDTH: Final = (2.0, 3.0)  # band of a site, MHz
KILOMETRES: Final = (0.15, 0.45)  # distance from a device to a site, km
POWER: Final = (80.0, 100.0)  # transmission power of a device, mW
MEGABYTES: Final = (0.8, 1.6)  # data of a request, units of 10^6 bytes
GIGACYCLES: Final = (0.1, 0.2)  # computation of a request, Gcycle
SLO: Final = (0.3, 0.9)  # objective of a device, s

CALIBRATED: Final[Mapping[str, Any]] = {
    "duty": 0.40,
    "job_scale": 0.06,
    "arriving": 0.95,
    "arrival_distribution": "stratified",
}
"""Parameters of `generate` that were fitted to the times of the paper's Table I."""


def generate(
    *,
    rng: int | np.random.Generator = 0,
    sites: int = 12,
    devices: int = 40,
    slots: int = 200,
    jobs: int = 24,
    channel: Channel = "literal",
    duty: float = 0.6,
    stationary: bool = True,
    moving: bool = False,
    bandwidth: tuple[float, float] = BANDWIDTH,
    megabytes: tuple[float, float] = MEGABYTES,
    band_scale: float = 1.0,
    slo: tuple[float, float] = SLO,
    drift: bool = False,
    arriving: float = 0.6,
    arrival_distribution: ArrivalDistribution = "uniform",
    job_scale: float = 1.0,
    patience: tuple[float, float] = (1.5, 3.0),
) -> OincInstance:
    """Draw a random instance in the paper's setting, with a process in place of its trace.

    Sites, distances, powers, activity, requests, objectives and jobs come from streams of their
    own: a setting of one of them leaves the others as they are. More sites, devices or jobs leave
    those that were there as they are, but for the deadlines of jobs, which follow from the mean
    speed of the sites.

    Parameters
    ----------
    rng
        Seed or generator; equal seeds give equal instances on one kind of processor only; see
        `Instance.rounded`.
    sites, devices, slots
        Numbers J, I and T. The paper has 10 to 15 sites, 20 to 50 devices and 200 slots.
    jobs
        Number of jobs K, may be 0; not given in the paper. With `drift`, the number of changes
        that are expected among all devices; some of them go undetected.
    channel
        How the radio is read, see `link_rates`. The paper's latencies come out under ``"literal"``
        alone, which is not physical.
    duty, stationary
        Share of the slots in which a device has a request, and whether it stays; see
        `draw_activity`. From 0.4 to 0.45 give the mean latencies of the paper.
    moving
        Whether distances are drawn anew in every slot.
    bandwidth, megabytes
        Ranges of the band of a site, MHz, and of the data of a request. Latencies of the physical
        channel fit into a slot with (20.0, 30.0) and (0.1, 0.2).
    band_scale
        Factor on all bands, as in the paper's figure 10.
    slo
        Range of the objectives, s, one per device; not given in the paper.
    drift
        Whether jobs arrive when a test detects a fall in accuracy, see `draw_drift`, and not
        over the first slots.
    arriving, arrival_distribution
        Share of the slots in which jobs arrive otherwise, from the first; and whether they do so
        independently, ``"uniform"``, or one in each of K equal parts, ``"stratified"``, so that the
        mean arrival varies by a factor of K less. Not given in the paper.
    job_scale
        Size of the retraining sets, in terms of 1024 pictures.
    patience
        Range of the time that a job has, in terms of what it takes alone on half of an average
        site; not given in the paper.

    Returns
    -------
    A validated instance whose ``origin`` says that it is drawn, and under which channel.

    Raises
    ------
    OptionError
        If an option is out of range.

    Notes
    -----
    Zeng et al., section V-A.

    Examples
    --------
    >>> from edgeopt.instances.oinc import generate
    >>> generate(sites=3, devices=5, slots=10, rng=7)
    OincInstance(slots=10, devices=5, sites=3, jobs=24)
    """
    check_flag("drift", drift)
    check_whole("jobs", jobs)
    streams = generator(rng).spawn(8)
    activity, retraining, drifting = streams[5:]
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
    settings = JobSettings(scenario["speed"], job_scale, patience)
    if drift:
        alarm = draw_drift(drifting, slots, devices, jobs).alarm
        fields = drift_jobs(retraining, alarm, settings)
    else:
        fields = draw_jobs(retraining, jobs, slots, settings, arriving, arrival_distribution)
    return OincInstance(
        active=draw_activity(activity, slots, devices, duty, stationary=stationary),
        **scenario,
        **fields,
        origin=_origin(channel, duty, stationary, drift),
    )


def draw_scenario(
    streams: list[np.random.Generator],
    *,
    sites: int,
    devices: int,
    slots: int,
    channel: Channel = "literal",
    moving: bool = False,
    bandwidth: tuple[float, float] = BANDWIDTH,
    megabytes: tuple[float, float] = MEGABYTES,
    band_scale: float = 1.0,
    slo: tuple[float, float] = SLO,
) -> dict[str, Any]:
    """Draw sites, links, and the request that each device would make in each slot."""
    check_sizes(sites=sites, devices=devices, slots=slots)
    check_room("slots * devices * sites", slots, devices, sites)
    check_channel(channel)
    check_flag("moving", moving)
    check_span("bandwidth", bandwidth)
    check_span("megabytes", megabytes)
    check_span("slo", slo, "(0, 1]")
    check_real("band_scale", band_scale, "(0, inf)")
    building, placing, sending, asking, promising = streams
    machine = building.random((sites, 2))
    band = band_scale * _within(bandwidth, machine[:, 1])
    kilometres = _distances(placing, sites, devices, slots if moving else 1)
    power = _within(POWER, sending.random(devices))
    rate = link_rates(channel, kilometres, power[:, None], band)
    demand = asking.random((devices, slots, 2))
    objective = _within(slo, promising.random(devices))
    return {
        "speed": _within(SPEED, machine[:, 0]),
        "rate": rate if moving else rate[0],
        "request_size": megabytes_to_megabit(_within(megabytes, demand[:, :, 0].T)),
        "request_work": _within(GIGACYCLES, demand[:, :, 1].T),
        "slo": np.broadcast_to(objective, (slots, devices)),
    }


def _distances(generator: np.random.Generator, sites: int, devices: int, slots: int) -> Floats:
    """Draw distances, km, shape [slots, I, J], each site by a stream of its own."""
    own = [site.random((devices, slots)).T for site in generator.spawn(sites)]
    return _within(KILOMETRES, np.stack(own, axis=2))


def _within(limits: tuple[float, float], uniform: Floats) -> Floats:
    low, high = limits
    return low + (high - low) * uniform


def _origin(channel: Channel, duty: float, stationary: bool, drift: bool) -> str:
    swings = "" if stationary else ", swinging by half of it over the run"
    come = "arrive as a test notices made-up drift" if drift else "arrive uniformly"
    return (
        "Drawn at random in the setting of Zeng et al.; no number is measured. "
        f"Channel: {channel}, a reading of the paper's radio ({INTERPRETATIONS[channel]}). "
        "Requests: each device switches on and off at random, in place of the paper's trace, and "
        f"is active in {100 * duty:g} % of the slots{swings}. Jobs {come}. Objectives, jobs, their "
        "work and their deadlines are made up: the paper does not give them."
    )


def small(rng: int | np.random.Generator) -> OincInstance:
    """Draw an instance small enough for its plans to be enumerated.

    At most 3 slots, 3 devices, 3 sites and 3 jobs (perhaps none), in numbers of order one, without
    ties. Most requests can meet their objective alone, but not always together.

    Parameters
    ----------
    rng
        Seed or generator.

    Returns
    -------
    A few slots, devices, sites and jobs.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> small(0)
    OincInstance(slots=3, devices=2, sites=2, jobs=1)
    """
    draw = generator(rng)
    slots, devices, sites = (int(draw.integers(1, 4)) for _ in range(3))
    jobs = int(draw.integers(0, 4))
    requests = (slots, devices)
    arrival = np.sort(draw.integers(0, slots, jobs))
    return OincInstance(
        speed=draw.uniform(1, 4, sites),
        rate=draw.uniform(5, 15, (*requests, sites)),
        active=draw.random(requests) < 0.7,
        request_size=draw.uniform(0.2, 2, requests),
        request_work=draw.uniform(0.05, 0.4, requests),
        slo=draw.uniform(0.2, 1, requests),
        arrival=arrival,
        work=draw.uniform(0.3, 4, jobs),
        deadline=arrival + draw.uniform(1, 6, jobs),
        weight=draw.uniform(0.5, 2, jobs),
        request_weight=draw.uniform(0.5, 2, slots),
        origin="Drawn at random, without a model of anything.",
    )
