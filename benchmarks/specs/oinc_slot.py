"""How close to a proven bound does a plan of one slot come, and how fast?

All 40 devices are active. The gap is the mean of those of the slots; the bounds themselves are
found before the clock starts. The peer is the same search in NumPy, each change weighed for all
requests and sites at once. Without objectives, a plan is what `solve_slot` returns, made by its two
steps. With objectives, requests are as large as sites can just answer in time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading
from benchmarks.stopwatch import Stopwatch

if TYPE_CHECKING:
    from collections.abc import Mapping

RESERVED = 0.2
"""Share of the CPU that is kept for jobs."""

TIGHTNESS = 0.8
"""Size of requests, relative to the default: objectives bind at many sites and can be met."""


def slots(objectives: bool, devices: int, sites: int, count: int) -> list[Any]:
    from edgeopt.instances.oinc import generate
    from edgeopt.models.oinc.slot import slot_problem

    instance = generate(devices=devices, sites=sites, slots=count, jobs=0, duty=1.0)
    scale = TIGHTNESS if objectives else 1.0
    drawn = [slot_problem(instance, slot, RESERVED) for slot in range(count)]
    return [
        replace(one, transmission=scale * one.transmission, computation=scale * one.computation)
        for one in drawn
    ]


def descent(problem: Any) -> float:
    """Insert greedily and make the best move or swap until none helps, in NumPy."""
    sending = np.sqrt(problem.transmission)
    computing = np.sqrt(problem.computation / problem.room)
    n, J = sending.shape
    nearest = problem.transmission.min(axis=1) + problem.computation.min(axis=1)
    site = np.zeros(n, dtype=int)
    a, e = np.zeros((2, J))
    for i in np.argsort(-nearest, kind="stable"):
        more = (2 * a + sending[i]) * sending[i] + (2 * e + computing[i]) * computing[i]
        site[i] = more.argmin()
        a[site[i]] += sending[i, site[i]]
        e[site[i]] += computing[i, site[i]]
    each = np.arange(n)
    while True:
        a, e = (
            np.bincount(site, sending[each, site], J),
            np.bincount(site, computing[each, site], J),
        )
        own = sending[each, site], computing[each, site]
        gone = (a[site] - own[0]) ** 2 - a[site] ** 2 + (e[site] - own[1]) ** 2 - e[site] ** 2
        come = (2 * a + sending) * sending + (2 * e + computing) * computing
        move = gone[:, None] + come
        move[each, site] = np.inf
        # Row i, column k: what the site of i costs more with k in place of i.
        into = sending[:, site].T, computing[:, site].T
        half = (a[site, None] - own[0][:, None] + into[0]) ** 2 - a[site, None] ** 2
        half += (e[site, None] - own[1][:, None] + into[1]) ** 2 - e[site, None] ** 2
        swap = half + half.T
        swap[site[:, None] == site] = np.inf
        cost = (a**2 + e**2).sum()
        if min(move.min(), swap.min()) >= -1e-12 * cost:
            return float(cost)
        if move.min() <= swap.min():
            i, j = np.unravel_index(move.argmin(), move.shape)
            site[i] = j
        else:
            i, k = np.unravel_index(swap.argmin(), swap.shape)
            site[i], site[k] = site[k], site[i]


def builder(objectives: bool) -> Any:
    def build(size: Mapping[str, Any], candidate: str) -> Candidate:
        from edgeopt.models.oinc.slot import assign, evaluate, solve_slot
        from edgeopt.models.oinc.slot.columns import slot_bound

        problems = slots(objectives, **size)
        bounds = np.array([slot_bound(one, objectives=objectives).value for one in problems])

        def run(_: float | None) -> Reading:
            watch = Stopwatch()
            if candidate == "NumPy":
                found = np.array([descent(one) for one in problems])
                met = True
            elif not objectives:
                with watch("sites"):
                    sites = [assign(one) for one in problems]
                with watch("shares"):
                    pairs = zip(problems, sites, strict=True)
                    plans = [evaluate(*pair, objectives=False) for pair in pairs]
                found = np.array([plan.objective for plan in plans])
                met = True
            else:
                plans = [solve_slot(one) for one in problems]
                found = np.array([plan.objective for plan in plans])
                met = all(plan.met.all() for plan in plans)
            gap = float((1.0 - bounds / found).mean())
            return Reading(
                objective=float(found.sum()),
                gap=gap,
                work=float(len(problems)),
                finished=met,
                phases=watch.phases,
            )

        return run

    return build


SIZES = {
    "full": {"devices": 40, "sites": 12, "count": 20},
    "smoke": {"devices": 4, "sites": 2, "count": 2},
}
GOALS = (Goal("gap", at_most=0.005), Goal("rate", at_least=100.0))

BENCHMARK = Benchmark(
    name="oinc-slot",
    question="A slot of 40 requests on 12 sites: gap to its proven bound, at most 10 ms a slot",
    build=builder(objectives=False),
    sizes=SIZES,
    subject="solve_slot",
    peers=("NumPy",),
    goals=GOALS,
    unit="slots",
    phases=("sites", "shares"),
    # The peer stops at its first local optimum.
    tolerance=0.005,
    ladder=Ladder.over("devices", (6, 12, 24, 40), axis="requests", sites=12, count=4),
)

OBJECTIVES = Benchmark(
    name="oinc-slot-objectives",
    question="The same with objectives that bind and are all met, by a bound with objectives",
    build=builder(objectives=True),
    sizes=SIZES,
    subject="solve_slot",
    goals=GOALS,
    unit="slots",
)


def scaled(scale: float, devices: int, sites: int, count: int) -> list[Any]:
    from edgeopt.instances.oinc import generate
    from edgeopt.models.oinc.slot import slot_problem

    instance = generate(devices=devices, sites=sites, slots=count, jobs=0, duty=1.0, rng=700)
    drawn = [slot_problem(instance, slot, RESERVED) for slot in range(count)]
    return [
        replace(one, transmission=scale * one.transmission, computation=scale * one.computation)
        for one in drawn
    ]


def searches(scale: float) -> Any:
    def build(size: Mapping[str, Any], candidate: str) -> Candidate:
        from edgeopt.models.oinc.slot import assign, solve_slot

        problems = scaled(scale, **size)

        def run(_: float | None) -> Reading:
            for one in problems:
                if candidate == "assign":
                    assign(one, kicks=0)
                else:
                    solve_slot(one, tolerance=float(candidate))
            return Reading(work=float(len(problems)))

        return run

    return build


def certified(size: Mapping[str, Any], _: str) -> Candidate:
    from edgeopt.models.oinc.slot import solve_slot
    from edgeopt.models.oinc.slot.columns import slot_bound

    asked = []
    for scale in SCALES.values():
        for one in scaled(scale, **size):
            plan = solve_slot(one)
            slo = np.where(plan.met, one.slo * (1.0 + 2e-9), np.inf)
            asked.append((replace(one, slo=slo), plan.site))

    def run(_: float | None) -> Reading:
        found = [slot_bound(one, objectives=True, gap=1e-3, site=site) for one, site in asked]
        converged = sum(one.certified for one in found)
        gap = max(one.gap for one in found)
        return Reading(gap=gap, work=float(converged), finished=converged == len(found))

    return run


SCALES = {"bind": 0.8, "loose": 0.7, "overload": 1.0}
"""Sizes of requests: objectives bind, few of them do, not all can be met."""

SEARCHES = tuple(
    Benchmark(
        name=f"oinc-slot-{name}",
        question=f"Plans of slots with requests x {scale:g} in terms of one assignment, no kicks",
        build=searches(scale),
        sizes=SIZES,
        subject="1e-4",
        peers=("assign", "1e-9"),
        variants=("1e-9",),
        unit="slots",
        processor=True,
    )
    for name, scale in SCALES.items()
)

CONVERGED = Benchmark(
    name="oinc-slot-certified",
    question="Bounds of slots, given the objectives met: convergence and time",
    build=certified,
    sizes=SIZES,
    subject="slot_bound",
    goals=(Goal("gap", at_most=1e-3), Goal("rate", at_least=1.0)),
    repeats=3,
    unit="converged slots",
    processor=True,
)
