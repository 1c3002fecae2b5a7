"""Jobs on sites in rationals, and schedules of them: drawn ones, best ones, and what they cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from edgeopt.models.oinc.retraining import RetrainingProblem


@dataclass(frozen=True)
class Jobs:
    """Arrival, time on each site (None where a site cannot serve the job), and weight."""

    a: tuple[int, ...]
    h: tuple[tuple[Fraction | None, ...], ...]
    weight: tuple[Fraction, ...]

    @property
    def K(self) -> int:  # noqa: N802
        return len(self.a)

    @property
    def J(self) -> int:  # noqa: N802
        return len(self.h[0])

    def able(self, k: int) -> list[int]:
        return [j for j in range(self.J) if self.h[k][j] is not None]

    def time(self, k: int, j: int) -> Fraction:
        found = self.h[k][j]
        assert found is not None
        return found

    def flow(self, completion: Sequence[Fraction]) -> Fraction:
        rows = zip(self.weight, completion, self.a, strict=True)
        return sum((w * (b - a) for w, b, a in rows), Fraction(0))

    def horizon(self, *, whole: bool = False) -> int:
        """Return how many slots hold an optimal schedule: all jobs one after another, slowly."""
        slowest = [max(self.time(k, j) for j in self.able(k)) for k in range(self.K)]
        if whole:
            return max(self.a) + sum(math.ceil(h) for h in slowest)
        return max(self.a) + math.ceil(sum(slowest))


def exact(problem: RetrainingProblem) -> Jobs:
    return Jobs(
        a=tuple(problem.arrival.tolist()),
        h=tuple(
            tuple(Fraction(v) if math.isfinite(v) else None for v in row)
            for row in problem.duration.tolist()
        ),
        weight=tuple(Fraction(v) for v in problem.weight.tolist()),
    )


class Piece(NamedTuple):
    """A job served at a rate between two times, on the site where it is."""

    job: int
    begin: Fraction
    end: Fraction
    rate: Fraction


def follow(
    jobs: Jobs,
    site: Sequence[int],
    choose: Callable[[Fraction, dict[int, Fraction]], dict[int, Fraction]],
    *,
    until: Callable[[Fraction], Fraction] | None = None,
) -> tuple[list[Fraction], list[Piece]]:
    """Serve every site as `choose` says at each event: who is served at which rate until the next.

    It is shown the time and what is left of the jobs there. Events are arrivals, completions and,
    with `until`, further times. Return completion times and what ran.
    """
    completion = [Fraction(0)] * jobs.K
    pieces = []
    for j in sorted(set(site)):
        left = {k: jobs.time(k, j) for k in range(jobs.K) if site[k] == j}
        now = Fraction(0)
        while left:
            here = {k: rest for k, rest in left.items() if jobs.a[k] <= now}
            coming = [Fraction(jobs.a[k]) for k in left if jobs.a[k] > now]
            if not here:
                now = min(coming)
                continue
            rates = {k: r for k, r in choose(now, here).items() if r > 0}
            assert sum(rates.values()) <= 1
            ends = [now + left[k] / r for k, r in rates.items()] + coming
            ends += [until(now)] if until is not None else []
            after = min(ends)
            for k, r in rates.items():
                pieces.append(Piece(k, now, after, r))
                left[k] -= r * (after - now)
                if left[k] == 0:
                    completion[k] = after
                    del left[k]
            now = after
    return completion, pieces


def drawn(
    jobs: Jobs, rng: np.random.Generator, rule: str
) -> tuple[list[int], list[Fraction], list[Piece]]:
    """Draw sites, and serve by a rule: a fixed order, a whim at each event, shares, or pauses."""
    site = [int(rng.choice(jobs.able(k))) for k in range(jobs.K)]
    order = rng.permutation(jobs.K).tolist()

    def first(_: Fraction, here: dict[int, Fraction]) -> dict[int, Fraction]:
        return {min(here, key=order.__getitem__): Fraction(1)}

    def shortest(_: Fraction, here: dict[int, Fraction]) -> dict[int, Fraction]:
        return {min(here, key=lambda k: (here[k], k)): Fraction(1)}

    def densest(_: Fraction, here: dict[int, Fraction]) -> dict[int, Fraction]:
        return {max(here, key=lambda k: (jobs.weight[k] / here[k], -k)): Fraction(1)}

    def whim(_: Fraction, here: dict[int, Fraction]) -> dict[int, Fraction]:
        return {int(rng.choice(sorted(here))): Fraction(1)}

    def shared(_: Fraction, here: dict[int, Fraction]) -> dict[int, Fraction]:
        parts = rng.integers(1, 5, len(here)).tolist()
        total = sum(parts) + int(rng.integers(0, 2))
        return {k: Fraction(p, total) for k, p in zip(sorted(here), parts, strict=True)}

    def lazy(now: Fraction, here: dict[int, Fraction]) -> dict[int, Fraction]:
        return {} if now < 9 and rng.random() < 0.3 else whim(now, here)

    def soon(now: Fraction) -> Fraction:
        return now + Fraction(int(rng.integers(1, 9)), 8)

    rules = {
        "order": first, "shortest": shortest, "densest": densest,
        "whim": whim, "shared": shared, "lazy": lazy,
    }  # fmt: skip
    restless = rule in ("whim", "shared", "lazy")
    return site, *follow(jobs, site, rules[rule], until=soon if restless else None)


RULES = ("order", "shortest", "densest", "whim", "shared", "lazy")


def least_flow(jobs: Jobs, *, wasteful: bool = False) -> tuple[Fraction, tuple[int, ...]]:
    """Try all sites and all orders; with `wasteful` slots are not shared, and jobs end with them.

    A site need not interrupt a job but when another arrives, and need not be idle beside one.
    """
    time = {(k, j): jobs.time(k, j) for k in range(jobs.K) for j in jobs.able(k)}
    if wasteful:
        time = {key: Fraction(math.ceil(h)) for key, h in time.items()}

    @cache
    def alone(j: int, now: Fraction, left: tuple[tuple[int, Fraction], ...]) -> Fraction:
        if not left:
            return Fraction(0)
        here = [(k, rest) for k, rest in left if jobs.a[k] <= now]
        coming = [Fraction(jobs.a[k]) for k, _ in left if jobs.a[k] > now]
        if not here:
            return alone(j, min(coming), left)
        found = []
        for k, rest in here:
            after = min([now + rest, *coming])
            others = dict(left)
            others[k] -= after - now
            cost = Fraction(0)
            if others[k] == 0:
                del others[k]
                cost = jobs.weight[k] * (after - jobs.a[k])
            found.append(cost + alone(j, after, tuple(sorted(others.items()))))
        return min(found)

    best, chosen = None, ()
    for site in product(*(jobs.able(k) for k in range(jobs.K))):
        cost = Fraction(0)
        for j in set(site):
            mine = tuple((k, time[k, j]) for k in range(jobs.K) if site[k] == j)
            cost += alone(j, Fraction(0), mine)
        if best is None or cost < best:
            best, chosen = cost, site
    assert best is not None
    return best, chosen
