"""The printed comparison with peers, and the verdicts on goals and agreement."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.wording import duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.growth import Growth
    from benchmarks.measure import Measurement
    from benchmarks.record import Benchmark, Goal


@dataclass(frozen=True)
class Report:
    """Everything measured for one benchmark, the subject first."""

    benchmark: Benchmark
    size: str
    measurements: tuple[Measurement, ...]

    @property
    def subject(self) -> Measurement:
        return self.measurements[0]

    @property
    def fastest_peer(self) -> Measurement | None:
        allowed = self.benchmark.reference_bounds
        peers = [m for m in self.measurements[1:] if m.finished and m.candidate in allowed]
        return min(peers, key=self.relative, default=None)

    def relative(self, measurement: Measurement) -> float:
        """Return the median by ours, per unit of work where a candidate does less or more of it."""
        return measurement.median / self.subject.median / self._share(measurement)

    def _share(self, measurement: Measurement) -> float:
        """Return the work done by ours; 1 where it is not counted."""
        own, other = self.subject.work, measurement.work
        return 1.0 if not own or not other else other / own

    @property
    def ratio(self) -> float | None:
        peer = self.fastest_peer
        return None if peer is None else self.relative(peer)

    def ratio_to(self, name: str) -> float | None:
        """Return what one peer takes relative to ours; None where it was stopped."""
        for peer in self.measurements[1:]:
            if peer.candidate == name and peer.finished:
                return self.relative(peer)
        return None

    @property
    def disagreement(self) -> float:
        """Largest relative difference between an objective and the subject's."""
        own = self.subject.objective
        others = [m.objective for m in self.measurements[1:] if m.objective is not None]
        if own is None or not others:
            return 0.0
        return max(abs(other - own) / max(1.0, abs(own)) for other in others)

    @property
    def agrees(self) -> bool:
        return self.disagreement <= self.benchmark.tolerance

    def goals(self) -> Iterator[tuple[Goal, float, bool]]:
        """Yield each goal whose quantity was measured, with its value and whether it is met."""
        values = {
            "ratio": self.ratio,
            "rate": self.subject.rate,
            "seconds": self.subject.median,
            "gap": self.subject.gap,
            "memory": self.subject.memory or None,
        }
        for goal in self.benchmark.goals:
            value = values[goal.quantity] if goal.peer is None else self.ratio_to(goal.peer)
            if value is not None:
                yield goal, value, goal.met(value)

    def lines(self) -> Iterator[str]:
        """Yield the printed report."""
        size = ", ".join(f"{k}={v}" for k, v in self.benchmark.sizes[self.size].items())
        yield f"{self.benchmark.name}: {self.benchmark.question}"
        yield f"  size {size}" + ("; processor time" if self.benchmark.processor else "")
        width = max(len(m.candidate) for m in self.measurements)
        for measurement in self.measurements:
            yield f"  {measurement.candidate:<{width}}  {self._figures(measurement)}"
            if measurement.phases:
                yield f"  {'':<{width}}    of which {_phases(measurement)}"
        if self.disagreement or any(m.objective is not None for m in self.measurements[1:]):
            word = "agree" if self.agrees else "DISAGREE"
            yield f"  objectives {word}: largest relative difference {self.disagreement:.1e}"
        if self.size == "smoke":
            return
        for goal, value, met in self.goals():
            yield f"  goal {goal}: {'met' if met else 'MISSED'} ({value:.4g})"

    def _figures(self, measurement: Measurement) -> str:
        parts = [_seconds(measurement)]
        if measurement.rate is not None:
            parts.append(f"{measurement.rate:,.0f} {self.benchmark.unit}/s")
        if measurement.objective is not None:
            parts.append(f"objective {measurement.objective:.9g}")
        if measurement.gap is not None:
            parts.append(f"proven gap {measurement.gap:.1e}")
        if measurement.memory:
            parts.append(f"peak {measurement.memory:.2f} GiB")
        if measurement is not self.subject:
            sign = "" if measurement.finished else "> "
            own = self.subject
            share = self._share(measurement)
            text = f"{sign}{self.relative(measurement):.1f}x ours"
            if measurement.finished and len(measurement.seconds) + len(own.seconds) > 2:
                low = min(measurement.seconds) / max(own.seconds) / share
                high = max(measurement.seconds) / min(own.seconds) / share
                text += f" [{low:.1f}, {high:.1f}]"
            if share != 1.0:
                text += f" per {self.benchmark.unit.removesuffix('s') or 'unit'}"
            parts.append(text)
        return ", ".join(parts)

    def record(self) -> dict[str, Any]:
        """Return the report as data for JSON."""
        return {
            "name": self.benchmark.name,
            "question": self.benchmark.question,
            "size": dict(self.benchmark.sizes[self.size]),
            "measurements": [asdict(m) | {"median": m.median} for m in self.measurements],
            "ratio": self.ratio,
            "disagreement": self.disagreement,
            "goals": [
                {"goal": str(goal), "value": value, "met": met} for goal, value, met in self.goals()
            ],
        }


def _phases(measurement: Measurement) -> str:
    medians = {name: statistics.median(parts) for name, parts in measurement.phases.items()}
    return ", ".join(f"{name} {duration(median)}" for name, median in medians.items())


def _seconds(measurement: Measurement) -> str:
    if not measurement.finished:
        return f"> {duration(measurement.median)} (stopped)"
    text = duration(measurement.median)
    if len(measurement.seconds) > 1:
        low, high = duration(min(measurement.seconds)), duration(max(measurement.seconds))
        text += f" [{low}, {high}]"
    return text


def summary(reports: Sequence[Report], growths: Sequence[Growth] = ()) -> Iterator[str]:
    """Yield a line per growth, per missed goal and per disagreement, for the end of a run."""
    if growths:
        yield "growth of ours, and of the peer that is fastest at the largest size:"
    for growth in growths:
        name, subject = growth.benchmark.name, growth.benchmark.subject
        yield f"  {name} (n = {growth.ladder.axis}): {subject} {growth.growth(subject)}"
        for _, _, peer in growth.ratios()[-1:]:
            yield f"  {'':<{len(name)}} {peer} {growth.growth(peer)}"
    verdicts = [met for report in reports for _, _, met in report.goals()]
    if reports:
        yield f"{sum(verdicts)} of {len(verdicts)} goals met"
    for report in reports:
        for goal, value, met in report.goals():
            if not met:
                yield f"  missed: {report.benchmark.name}: {goal} (measured {value:.4g})"
        if not report.agrees:
            name, difference = report.benchmark.name, report.disagreement
            yield f"  wrong: {name}: objectives differ by {difference:.1e}"
    for growth in growths:
        if not growth.agrees:
            name, difference = growth.benchmark.name, growth.disagreement
            yield f"  wrong: growth of {name}: objectives differ by {difference:.1e}"
