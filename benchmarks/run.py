"""Run one benchmark: the subject, then the peers against the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.measure import Measurement, measure, measure_apart
from benchmarks.report import Report

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.record import Benchmark

SHORTEST_RACE = 5.0
"""Seconds that every peer gets, however fast the fastest is."""


def run(benchmark: Benchmark, *, smoke: bool = False) -> Report:
    """Measure all candidates of `benchmark`.

    A smoke run uses the smallest size, one call per candidate, and this process.
    """
    size = "smoke" if smoke else "full"
    meter: Callable[..., Measurement] = measure if smoke else measure_apart
    repeats = 1 if smoke else benchmark.repeats
    peer_repeats = 1 if smoke else benchmark.peer_repeats
    measured = [
        meter(
            benchmark,
            size,
            benchmark.subject,
            repeats=repeats,
            time_limit=benchmark.time_limit,
        )
    ]
    fastest: float | None = None
    for peer in benchmark.peers:
        limit = None
        if benchmark.race is not None and fastest is not None:
            limit = max(SHORTEST_RACE, benchmark.race * fastest)
        result = meter(benchmark, size, peer, repeats=peer_repeats, time_limit=limit)
        measured.append(result)
        if result.finished:
            fastest = result.median if fastest is None else min(fastest, result.median)
    return Report(benchmark, size, tuple(measured))
