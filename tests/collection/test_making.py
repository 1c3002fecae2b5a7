"""Values are optimal only if proven, and those of others stay if they are better."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings

from edgeopt.collection.make import offline_of, online_of, scores_of
from edgeopt.collection.optima import (
    ASSIGNMENTS,
    ENUMERATED,
    MOST,
    PROBLEMS,
    least_completion,
    least_latency,
)
from edgeopt.errors import CollectionError
from edgeopt.instances import oinc
from edgeopt.models.oinc.retraining import RetrainingProblem
from edgeopt.models.oinc.slot import SlotProblem, assignment_cost
from tests.draws import draws
from tests.oinc.strategies import retraining_problems, slot_problems

ROW = {"name": "x", "system": "rescue", "size": "s", "goal": "max", "offline": None, "online": None}
FOUND = {"value": 9.0, "bound": 9.0, "solver": "own", "certificate_none": "no reason"}


def completion(arrival, duration, order) -> float:
    """Sum completion times where the first of a list that is there is served, by small events."""
    left, now, total = dict(enumerate(duration)), 0.0, 0.0
    while left:
        here = [k for k in order if k in left and arrival[k] <= now]
        later = [a for a in arrival if a > now]
        if not here:
            now = min(later)
            continue
        step = min([left[here[0]], *(a - now for a in later)])
        now += step
        left[here[0]] -= step
        if left[here[0]] <= 1e-12:
            del left[here[0]]
            total += now
    return total


def brute(problem: RetrainingProblem) -> float:
    """Try all divisions among sites, and all lists at each of them."""
    best = np.inf
    for places in product(range(problem.sites), repeat=problem.jobs):
        total = 0.0
        for site in set(places):
            mine = [k for k, place in enumerate(places) if place == site]
            hours = problem.duration[mine, site].tolist()
            if not np.isfinite(hours).all():
                total = np.inf
                break
            arrival = problem.arrival[mine].tolist()
            total += min(
                completion(arrival, hours, order) for order in permutations(range(len(mine)))
            )
        best = min(best, total)
    return best


@settings(max_examples=draws(60), deadline=None)
@given(retraining_problems(jobs=4, sites=2))
def test_enumeration_finds_the_optimum(problem) -> None:
    even = RetrainingProblem(problem.arrival, problem.duration)
    assert least_completion(even) == pytest.approx(brute(even))


@settings(max_examples=draws(60), deadline=None)
@given(slot_problems(requests=4, sites=3, objectives=None, weighted=None))
def test_enumeration_finds_the_shortest_latencies(problem) -> None:
    every = product(range(problem.sites), repeat=problem.requests)
    best = min(assignment_cost(problem, np.array(one, dtype=np.int64)) for one in every)
    assert least_latency(problem) == pytest.approx(best)
    many = int(np.ceil(np.log(ASSIGNMENTS) / np.log(2))) + 1
    assert (
        least_latency(
            SlotProblem(np.ones((many, 2)), np.ones((many, 2)), np.ones(many), np.ones(2))
        )
        is None
    )


def test_what_is_not_enumerated() -> None:
    one = RetrainingProblem([0, 0], [[1.0], [2.0]], [1.0, 2.0])
    assert least_completion(one) is None
    many = RetrainingProblem([0] * (MOST + 1), [[1.0]] * (MOST + 1))
    assert least_completion(many) is None


def test_enumerated_optimum_lies_between_bound_and_heuristic() -> None:
    from edgeopt.studies.oinc.policies import solve

    instance = oinc.generate(sites=2, devices=2, slots=12, jobs=4, rng=3).replace(weight=[2.0] * 4)
    loose, exact = solve(instance, gap=1e-6), PROBLEMS["oinc"].solve(instance, 1e-6, 60.0)
    assert exact.solver.endswith(ENUMERATED)
    assert loose.bound <= exact.bound * (1 + 1e-9)
    assert exact.value <= loose.value * (1 + 1e-9)
    assert exact.gap <= 1e-5 < loose.gap


@pytest.mark.parametrize(
    ("more", "status", "method"),
    [
        ({}, "closed", "own"),
        ({"second": 9.0, "second_solver": "other"}, "optimal-solver", "own; other"),
        ({"second": 8.9, "second_solver": "other"}, "closed", "own"),
        ({"solver": f"own, {ENUMERATED}"}, "optimal-solver", f"own, {ENUMERATED}"),
        ({"solver": "own, jobs enumerated"}, "closed", "own, jobs enumerated"),
        ({"bound": 9.001}, "closed", "own"),
        ({"bound": 9.1, "second": 9.0, "second_solver": "other"}, "open", "own"),
        ({"certificate_kind": "k", "certificate_sha256": "h"}, "optimal", "own"),
        ({"bound": 9.1, "certificate_kind": "k", "certificate_sha256": "h"}, "open", "own"),
    ],
)
def test_status(more, status, method) -> None:
    found = {**FOUND, **more}
    if "certificate_kind" in more:
        del found["certificate_none"]
    made = offline_of(ROW, found, "2026-01-02")
    assert (made["status"], made["method"]) == (status, method)


def test_better_values_of_others_stay() -> None:
    old = offline_of(ROW, FOUND, "2026-01-02") | {"by": "somebody", "best": 9.5, "bound": 9.6}
    loose = FOUND | {"bound": 9.7}
    assert offline_of(ROW | {"offline": old}, loose, "2026-03-04") == old
    tight = offline_of(ROW | {"offline": old}, FOUND | {"bound": 9.501}, "2026-03-04")
    assert tight == old | {"bound": 9.501, "status": "closed"}
    with pytest.raises(CollectionError, match=r"bound 9 excludes the value 9\.5"):
        offline_of(ROW | {"offline": old}, FOUND, "2026-03-04")
    worse = old | {"best": 8.0}
    made = offline_of(ROW | {"offline": worse}, FOUND, "2026-03-04")
    assert (made["best"], made["by"], made["date"]) == (9.0, "edgeopt", "2026-03-04")
    same = offline_of(ROW, FOUND, "2026-01-02")
    assert offline_of(ROW | {"offline": same}, FOUND, "2026-03-04") == same
    looser = FOUND | {"bound": 9.2}
    tighter = same | {"bound": 9.1, "status": "open"}
    assert offline_of(ROW | {"offline": tighter}, looser, "2026-03-04") == tighter
    least = ROW | {"goal": "min", "offline": old}
    assert offline_of(least, FOUND, "2026-03-04")["best"] == 9.0


def test_policies_that_break_promises_come_after_those_that_keep_them() -> None:
    def run(mean, violated=0.0, failed="", bound="free"):
        one = {"mean": mean, "se": 0.1, "violated": violated, "bound": bound}
        return one | {"failed": failed}

    ran = {"loose": run(9.0, 2.0), "strict": run(5.0), "slow": run(4.0, bound="")}
    ran |= {"broken": {"failed": "no", "bound": ""}, "endless": run(float("inf"))}
    bounds = {"free": {"bound": 10.0, "label": "BOUND"}}
    made = online_of(ROW, ran, bounds, "2026-01-02")
    assert (made["policy"], made["best"], made["bound"], made["bounds"]) == (
        "strict", 5.0, 10.0, "BOUND",
    )  # fmt: skip
    assert online_of(ROW, {"loose": ran["loose"]}, bounds, "")["policy"] == "loose"
    scores = {one["policy"]: one for one in scores_of(ROW, ran, bounds)}
    assert scores["strict"]["gap"] == 0.5
    assert scores["slow"]["gap"] is None
    assert scores["broken"]["failed"] == "no"
    assert "never" in scores["endless"]["failed"]
