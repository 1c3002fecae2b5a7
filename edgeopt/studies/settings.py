"""What a study can be repeated from."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """What a study can be repeated from, beside its instances.

    Parameters
    ----------
    runs
        Simulated runs per policy.
    seed
        Every policy on every instance sees the worlds that this seed makes.
    workers
        Processes; they change nothing but the time.
    confidence
        Probability that an interval covers the true value.
    seconds
        Wall-clock time of the whole study.
    version
        Version of edgeopt.
    platform
        Interpreter and machine.
    provenance
        Where the data of the instances come from, one line per data set.
    """

    runs: int
    seed: int
    workers: int
    confidence: float
    seconds: float
    version: str
    platform: str
    provenance: tuple[str, ...] = ()
