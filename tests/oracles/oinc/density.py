"""Dispatch and service by residual density in rationals, event by event, and its certificate."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from tests.oracles.oinc.jobs import Piece

if TYPE_CHECKING:
    from tests.oracles.oinc.jobs import Jobs

ONE = Fraction(1)


class Run(NamedTuple):
    """Sites, completion times, and costs as jobs are dispatched; what ran, and how close it was."""

    site: list[int]
    completion: list[Fraction]
    cost: list[Fraction]
    pieces: list[Piece]
    tied: bool


def run(
    jobs: Jobs,
    epsilon: Fraction,
    *,
    service: str = "fluid",
    serve: str = "argmax",
    formula: str = "corrected",
) -> Run:
    """Simulate it slot by slot: new jobs first, by number, then service until the next slot."""
    speed = 1 + epsilon
    site, cost = [-1] * jobs.K, [Fraction(0)] * jobs.K
    completion = [Fraction(0)] * jobs.K
    left: dict[int, Fraction] = {}
    pieces: list[Piece] = []
    tied = False
    t = 0
    while t <= max(jobs.a) or left:
        for k in [k for k in range(jobs.K) if jobs.a[k] == t]:
            costs = {j: _cost(jobs, k, j, left, site, speed, formula) for j in jobs.able(k)}
            cost[k], site[k] = min((value, j) for j, value in costs.items())
            tied = tied or sum(value == cost[k] for value in costs.values()) > 1
            left[k] = jobs.time(k, site[k])
            mine = [jobs.weight[q] / left[q] for q in left if site[q] == site[k]]
            tied = tied or len(set(mine)) < len(mine)
        for j in range(jobs.J):
            _serve(jobs, j, t, left, site, completion, pieces, speed, service, serve)
        t += 1
    return Run(site, completion, cost, pieces, tied)


def _cost(
    jobs: Jobs, k: int, j: int, left: dict, site: list[int], speed: Fraction, formula: str
) -> Fraction:
    l_k, h = jobs.weight[k], jobs.time(k, j)
    here = [q for q in left if site[q] == j]
    ahead = [q for q in here if jobs.weight[q] / left[q] >= l_k / h]
    behind = [q for q in here if q not in ahead]
    waiting = l_k * sum((left[q] for q in ahead), Fraction(0))
    if formula == "corrected":
        delayed = h * sum((jobs.weight[q] for q in behind), Fraction(0))
    else:
        delayed = sum((jobs.weight[q] * left[q] for q in behind), Fraction(0))
    return (waiting + l_k * h + delayed) / speed


def _serve(
    jobs: Jobs,
    j: int,
    t: int,
    left: dict,
    site: list[int],
    completion: list[Fraction],
    pieces: list[Piece],
    speed: Fraction,
    service: str,
    serve: str,
) -> None:
    now, end = Fraction(t), Fraction(t + 1)
    sign = 1 if serve == "argmax" else -1
    while now < end:
        here = [q for q in left if site[q] == j]
        if not here:
            return
        q = max(here, key=lambda q: (sign * jobs.weight[q] / left[q], -q))
        until = min(end, now + left[q] / speed)
        pieces.append(Piece(q, now, until, speed))
        left[q] -= speed * (until - now)
        if service == "slot":
            until = end
        if left[q] == 0:
            completion[q] = until
            del left[q]
        now = until


class Point(NamedTuple):
    """A dual point, and what it is worth."""

    theta: list[Fraction]
    eta: list[list[Fraction]]
    value: Fraction


def certificate(jobs: Jobs, found: Run, epsilon: Fraction, scale: Fraction | None = None) -> Point:
    """Price jobs by their costs and slots by the weight there, both times c = min(1, s / 2)."""
    s = 1 + epsilon
    c = min(ONE, s / 2) if scale is None else scale
    H = max([math.ceil(b) for b in found.completion], default=0)
    theta = [c * value for value in found.cost]
    eta = [[Fraction(0)] * H for _ in range(jobs.J)]
    for k in range(jobs.K):
        for t in range(jobs.a[k], math.ceil(found.completion[k])):
            inside = min(found.completion[k], Fraction(t + 1)) - t
            eta[found.site[k]][t] += c / s * jobs.weight[k] * inside
    value = sum(theta, Fraction(0)) - sum((v for row in eta for v in row), Fraction(0))
    return Point(theta, eta, value)


def published(jobs: Jobs, point: Point) -> list[Fraction]:
    """Return the prices of jobs that suit the printed program, beside the same prices of slots."""
    return [max(Fraction(0), v - w / 2) for v, w in zip(point.theta, jobs.weight, strict=True)]
