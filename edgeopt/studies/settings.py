"""Settings of a study."""

from __future__ import annotations

from dataclasses import dataclass

from edgeopt.representation import brief


@brief
@dataclass(frozen=True)
class Settings:
    """Settings from which a study can be repeated, with its instances.

    Parameters
    ----------
    runs
        Simulated runs per policy.
    seed
        Seed of the scenarios, the same for every policy and instance.
    workers
        Processes; they affect the time only.
    confidence
        Probability that an interval covers the true value.
    seconds
        Wall-clock time of the whole study.
    version
        Version of edgeopt.
    platform
        Interpreter and machine.
    provenance
        Origin of the data of the instances, one line per data set.
    detailed
        Number of instances, from the first, that are shown in detail; None for all.
    """

    runs: int
    seed: int
    workers: int
    confidence: float
    seconds: float
    version: str
    platform: str
    provenance: tuple[str, ...] = ()
    detailed: int | None = None
