"""How cost grows with size: ours and the peers' on every size, with the fitted power law."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.climb import climb
from benchmarks.fit import CONFIDENCE, Fit, fit
from benchmarks.wording import duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from benchmarks.measure import Measurement
    from benchmarks.record import Benchmark, Ladder

__all__ = ["Growth", "grow"]


@dataclass(frozen=True)
class Growth:
    """What was measured on the ladder of one benchmark.

    Parameters
    ----------
    benchmark
        Which one.
    climbs
        Measurements by candidate, one per size that was tried, the subject first.
    """

    benchmark: Benchmark
    climbs: Mapping[str, tuple[Measurement, ...]]

    @property
    def ladder(self) -> Ladder:
        assert self.benchmark.ladder is not None
        return self.benchmark.ladder

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(n for n, _ in self.ladder.rungs)

    def finished(self, candidate: str) -> list[tuple[int, Measurement]]:
        """Return n and measurement where `candidate` was in time."""
        pairs = zip(self.sizes, self.climbs[candidate], strict=False)
        return [(n, measured) for n, measured in pairs if measured.finished]

    def stopped(self, candidate: str) -> tuple[int, Measurement] | None:
        """Return n and measurement where `candidate` was stopped."""
        pairs = zip(self.sizes, self.climbs[candidate], strict=False)
        return next(((n, measured) for n, measured in pairs if not measured.finished), None)

    def fit(self, candidate: str) -> Fit | None:
        """Return the power law of `candidate`; None with fewer than 3 sizes in time."""
        pairs = self.finished(candidate)
        if len(pairs) < 3:
            return None
        return fit([n for n, _ in pairs], [measured.median for _, measured in pairs])

    def ratios(self) -> list[tuple[int, float, str]]:
        """Return n, the fastest peer's median by ours, and its name, at each size that has both."""
        ours = {n: measured.median for n, measured in self.finished(self.benchmark.subject)}
        best: dict[int, tuple[float, str]] = {}
        for peer in self.benchmark.reference_bounds:
            for n, measured in self.finished(peer):
                best[n] = min(best.get(n, (float("inf"), "")), (measured.median, peer))
        return [(n, best[n][0] / ours[n], best[n][1]) for n in ours if n in best]

    @property
    def disagreement(self) -> float:
        """Largest relative difference between an objective and the subject's at the same size."""
        worst = 0.0
        own = dict(self.finished(self.benchmark.subject))
        for peer in self.benchmark.peers:
            for n, measured in self.finished(peer):
                if n in own and own[n].objective is not None and measured.objective is not None:
                    difference = abs(measured.objective - own[n].objective)
                    worst = max(worst, difference / max(1.0, abs(own[n].objective)))
        return worst

    @property
    def agrees(self) -> bool:
        return self.disagreement <= self.benchmark.tolerance

    def lines(self) -> Iterator[str]:
        """Yield the printed report."""
        yield f"{self.benchmark.name}: growth with n = {self.ladder.axis}"
        width = max(len(candidate) for candidate in self.climbs)
        head = "  ".join(f"{f'n={n:,}':>10}" for n in self.sizes)
        yield f"  {'':<{width}}  {head}"
        for candidate, climbed in self.climbs.items():
            cells = [_cell(measured) for measured in climbed]
            cells += ["not tried"] * (len(self.sizes) - len(cells))
            row = "  ".join(f"{cell:>10}" for cell in cells)
            yield f"  {candidate:<{width}}  {row}  {self.growth(candidate)}"
        law = self.fit(self.benchmark.subject)
        if law is not None:
            yield f"  ours from size to size: {', '.join(f'n^{one:.2f}' for one in law.steps)}"
        for n, ratio, peer in self.ratios()[-1:]:
            yield f"  at n={n:,}: {peer}, the fastest peer, takes {ratio:.1f}x our time"
        if not self.agrees:
            yield f"  objectives DISAGREE: largest relative difference {self.disagreement:.1e}"

    def growth(self, candidate: str) -> str:
        """Return the fitted growth in words."""
        law = self.fit(candidate)
        if law is None:
            count = len(self.finished(candidate))
            return f"no fit ({count} size{'s' * (count != 1)} in time)"
        return f"grows like {law}"

    def record(self) -> dict[str, Any]:
        """Return everything as data for JSON."""
        return {
            "name": self.benchmark.name,
            "axis": self.ladder.axis,
            "limit": self.ladder.limit,
            "confidence": CONFIDENCE,
            "rungs": [{"n": n, "size": dict(size)} for n, size in self.ladder.rungs],
            "candidates": {
                candidate: {
                    "measurements": [
                        {"n": n} | asdict(measured) | {"median": measured.median}
                        for n, measured in zip(self.sizes, climbed, strict=False)
                    ],
                    "fit": None if (law := self.fit(candidate)) is None else asdict(law),
                }
                for candidate, climbed in self.climbs.items()
            },
            "disagreement": self.disagreement,
        }


def grow(benchmark: Benchmark) -> Growth:
    """Let every candidate climb the ladder of `benchmark`."""
    climbs = {candidate: climb(benchmark, candidate) for candidate in benchmark.candidates}
    return Growth(benchmark, climbs)


def _cell(measured: Measurement) -> str:
    sign = "" if measured.finished else "> "
    return sign + duration(measured.median)
