"""A run of slots charged from the data alone, and every rule that it breaks, in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeopt.instances.oinc import OincInstance

INFINITY = float("inf")


class Slot(NamedTuple):
    """What was decided in a slot, as plain lists; runs are (job, share, begin, end)."""

    site: list[int]
    band: list[float]
    cpu: list[float]
    job_site: dict[int, int]
    reserved: list[float]
    runs: list[tuple[int, float, float, float]]


@dataclass
class Log:
    """What a run came to; `wasted` is service beyond the work of a job, in its last run alone."""

    broken: list[str] = field(default_factory=list)
    latency: list[list[float | None]] = field(default_factory=list)
    left: list[float] = field(default_factory=list)
    wasted: list[float] = field(default_factory=list)
    completion: list[float] = field(default_factory=list)
    where: list[int] = field(default_factory=list)
    known: list[list[int]] = field(default_factory=list)
    remaining: list[list[float]] = field(default_factory=list)
    band_load: list[list[float]] = field(default_factory=list)
    cpu_load: list[list[float]] = field(default_factory=list)
    job_load: list[list[float]] = field(default_factory=list)


def requests(instance: OincInstance, t: int) -> list[int]:
    """Return the devices that ask for something in a slot; after the horizon nobody does."""
    return [i for i in range(instance.devices) if t < instance.slots and instance.active[t, i]]


def times(instance: OincInstance, t: int, i: int, j: int) -> tuple[float, float]:
    """Return how long a request takes to send with all the band, and to compute with all CPU."""
    rate = instance.rate[t, i, j] if instance.rate.ndim == 3 else instance.rate[i, j]
    sent = float(instance.request_size[t, i]) / float(rate)
    return sent, float(instance.request_work[t, i]) / float(instance.speed[j])


def charge(instance: OincInstance, slots: Sequence[Slot], *, tolerance: float) -> Log:
    """Go through the slots in order: shares, then jobs; nothing is taken from the package."""
    K, J = instance.jobs, instance.sites
    log = Log()
    log.left = [float(w) for w in instance.work]
    log.wasted = [0.0] * K
    log.completion = [INFINITY] * K
    log.where = [-1] * K
    started = [False] * K
    for t, slot in enumerate(slots):
        known = [k for k in range(K) if instance.arrival[k] <= t and log.left[k] > 0]
        log.known.append(known)
        log.remaining.append([log.left[k] for k in known])
        _requests(instance, log, t, slot, tolerance)
        if sorted(slot.job_site) != known:
            log.broken.append(f"slot {t}: jobs {sorted(slot.job_site)}, not {known}")
        for k, j in slot.job_site.items():
            if started[k] and log.where[k] != j:
                log.broken.append(f"slot {t}: job {k} moved")
            log.where[k] = j
        load = [0.0] * J
        for k, share, begin, end in sorted(slot.runs, key=lambda run: run[3]):
            j = log.where[k]
            if k not in known or j < 0 or log.completion[k] < INFINITY:
                log.broken.append(f"slot {t}: job {k} ran when it was not there")
                continue
            if not 0 <= begin < end <= 1:
                log.broken.append(f"slot {t}: job {k} ran from {begin} to {end}")
            started[k] = True
            load[j] += share * (end - begin)
            log.left[k] -= share * float(instance.speed[j]) * (end - begin)
            if log.left[k] <= tolerance * float(instance.work[k]):
                log.wasted[k] = max(0.0, -log.left[k] / float(instance.work[k]) - tolerance)
                log.left[k], log.completion[k] = 0.0, t + end
        log.job_load.append(load)
        _overlaps(log, t, slot, tolerance)
    return log


def _requests(instance: OincInstance, log: Log, t: int, slot: Slot, tolerance: float) -> None:
    J = instance.sites
    band, cpu = [0.0] * J, [0.0] * J
    latency: list[float | None] = []
    asked = requests(instance, t)
    if len(slot.site) != len(asked):
        log.broken.append(f"slot {t}: {len(slot.site)} answers to {len(asked)} requests")
    for i, j, v, z in zip(asked, slot.site, slot.band, slot.cpu, strict=True):
        if j < 0:
            latency.append(None)
            continue
        if min(v, z) < 0:
            log.broken.append(f"slot {t}: negative share for device {i}")
        band[j] += v
        cpu[j] += z
        A, E = times(instance, t, i, j)
        latency.append((A / v if A > 0 else 0.0) + (E / z if E > 0 else 0.0))
    for j in range(J):
        if band[j] > 1 + tolerance:
            log.broken.append(f"slot {t}: band {band[j]} at site {j}")
        if not 0 <= slot.reserved[j] < 1:
            log.broken.append(f"slot {t}: {slot.reserved[j]} reserved at site {j}")
        if cpu[j] > 1 - slot.reserved[j] + tolerance:
            log.broken.append(f"slot {t}: CPU {cpu[j]} at site {j}")
    log.latency.append(latency)
    log.band_load.append(band)
    log.cpu_load.append(cpu)


def _overlaps(log: Log, t: int, slot: Slot, tolerance: float) -> None:
    """Look at every instant at which something begins: who runs then, and with what shares."""
    for _, _, instant, _ in slot.runs:
        at = [run for run in slot.runs if run[2] <= instant < run[3] - tolerance]
        if len({run[0] for run in at}) < len(at):
            log.broken.append(f"slot {t}: a job ran twice at once")
        for j, reserved in enumerate(slot.reserved):
            used = sum(run[1] for run in at if log.where[run[0]] == j)
            if used > reserved + tolerance:
                log.broken.append(f"slot {t}: jobs use {used} of {reserved} at site {j}")


class Totals(NamedTuple):
    """The weighted sum and the missed objectives and deadlines, by the slot of arrival."""

    reward: list[float]
    violations: list[int]


def totals(instance: OincInstance, log: Log, end: float) -> Totals:
    reward, violations = [0.0] * instance.slots, [0] * instance.slots
    for t in range(instance.slots):
        scale = float(instance.request_weight[t]) / instance.latency_scale
        for i, latency in zip(requests(instance, t), log.latency[t], strict=True):
            counted = instance.refusal_latency if latency is None else latency
            reward[t] += scale * counted
            slo = float(instance.slo[t, i])
            violations[t] += latency is None or latency > slo * (1 + 1e-9)
    for k in range(instance.jobs):
        t = int(instance.arrival[k])
        b = log.completion[k]
        counted = b if b < INFINITY else end
        reward[t] += float(instance.weight[k]) * counted / instance.completion_scale
        violations[t] += b > float(instance.deadline[k]) * (1 + 1e-9)
    return Totals(reward, violations)
