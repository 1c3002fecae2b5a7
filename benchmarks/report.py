"""Each figure beside its peer: the printed lines and the verdicts on goals and agreement."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
        peers = [peer for peer in self.measurements[1:] if peer.finished]
        return min(peers, key=lambda peer: peer.median, default=None)

    @property
    def ratio(self) -> float | None:
        peer = self.fastest_peer
        return None if peer is None else peer.median / self.subject.median

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
            value = values[goal.quantity]
            if value is not None:
                yield goal, value, goal.met(value)

    def lines(self) -> Iterator[str]:
        """Yield the printed report."""
        size = ", ".join(f"{k}={v}" for k, v in self.benchmark.sizes[self.size].items())
        yield f"{self.benchmark.name}: {self.benchmark.question}"
        yield f"  size {size}"
        width = max(len(m.candidate) for m in self.measurements)
        for measurement in self.measurements:
            yield f"  {measurement.candidate:<{width}}  {self._figures(measurement)}"
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
            ratio = measurement.median / own.median
            text = f"{sign}{ratio:.1f}x ours"
            if measurement.finished and len(measurement.seconds) + len(own.seconds) > 2:
                low = min(measurement.seconds) / max(own.seconds)
                high = max(measurement.seconds) / min(own.seconds)
                text += f" [{low:.1f}, {high:.1f}]"
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


def _seconds(measurement: Measurement) -> str:
    if not measurement.finished:
        return f"> {_duration(measurement.median)} (stopped)"
    text = _duration(measurement.median)
    if len(measurement.seconds) > 1:
        low, high = _duration(min(measurement.seconds)), _duration(max(measurement.seconds))
        text += f" [{low}, {high}]"
    return text


def _duration(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1.0:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def summary(reports: Sequence[Report]) -> Iterator[str]:
    """Yield one line per goal and one per disagreement, for the end of a run."""
    verdicts = [met for report in reports for _, _, met in report.goals()]
    yield f"{sum(verdicts)} of {len(verdicts)} goals met"
    for report in reports:
        for goal, value, met in report.goals():
            if not met:
                yield f"  missed: {report.benchmark.name}: {goal} (measured {value:.4g})"
        if not report.agrees:
            name, difference = report.benchmark.name, report.disagreement
            yield f"  wrong: {name}: objectives differ by {difference:.1e}"
