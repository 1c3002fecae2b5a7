"""How much CPU is kept for jobs: equation (2) by hand, forecasts by plain loops, best shares."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.models.oinc.slot import SlotProblem
from edgeopt.models.oinc.slot.solve import assign, evaluate
from edgeopt.online.oinc.environment import OincEnvironment
from edgeopt.online.oinc.events import Jobs, Slot
from edgeopt.online.oinc.reservation import Forecast, Reservation, StaticShares, needed_speed
from tests.draws import draws
from tests.oinc.scenarios import two_sites
from tests.oinc.strategies import slot_problems

if TYPE_CHECKING:
    from edgeopt.instances.oinc import OincInstance


def waiting(*work: float, site: list[int] | None = None, slot: int = 0) -> Jobs:
    """Return jobs that have just arrived, or wait at sites."""
    m = len(work)
    amount = np.array(work, dtype=float)
    where = np.full(m, -1) if site is None else np.array(site)
    return Jobs(
        np.arange(m), where, np.zeros(m, bool), amount, amount, np.full(m, slot),
        np.full(m, 9.0), np.ones(m),
    )  # fmt: skip


def sized(instance: OincInstance) -> OincInstance:
    return OincEnvironment(instance).instance


def one_request(sites: int = 2, work: float = 0.5, speed: float = 5.0) -> SlotProblem:
    """Return a request that sends for 1/4 s and may take 3/4 s: 1/2 s is left to compute."""
    sending, computing = np.full((1, sites), 0.25), np.full((1, sites), work / speed)
    return SlotProblem(sending, computing, np.array([0.75]), np.ones(sites))


def reserved(
    reservation: Reservation | StaticShares,
    *slots: Slot,
    speed: tuple[float, ...] = (5.0, 5.0),
    share: tuple[float, ...] = (0.0, 0.0),
) -> list[float]:
    """Return the shares of the last slot."""
    sites = len(speed)
    instance = sized(two_sites(speed=speed, rate=np.full((2, sites), 8.0)))
    memory: Any = reservation.start(instance)
    for slot in slots:
        kept, memory = reservation.reserve(memory, slot, np.array(share))
    return [float(p) for p in kept]


def test_a_request_needs_its_work_over_what_sending_leaves() -> None:
    speed = np.array([5.0, 2.0])
    E = np.array([[0.1, 0.25]])  # 1/2 Gcycle
    alone = SlotProblem(np.array([[0.25, 0.5]]), E, np.array([0.75]), np.ones(2))
    assert needed_speed(alone, speed) == pytest.approx(1.0)
    late = SlotProblem(np.array([[0.74, 0.9]]), E, np.array([0.75]), np.ones(2))
    assert needed_speed(late, speed) == pytest.approx(0.5 / (0.05 * 0.75))
    # Three requests on two sites: sending takes half as long again.
    three = SlotProblem(
        np.full((3, 2), 0.25), np.repeat(E, 3, axis=0), np.array([0.75, 0.75, 0.5]), np.ones(2)
    )
    assert needed_speed(three, speed) == pytest.approx(2 * 0.5 / 0.375 + 0.5 / 0.125)
    none = SlotProblem(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0), np.ones(2))
    assert needed_speed(none, speed) == 0.0


def test_equation_2_by_hand() -> None:
    slot = Slot(0, one_request(), waiting(3.0))
    # 10 Gcycle/s less 1 for the request; a fifth of 9 for jobs on one site of 5.
    assert reserved(Reservation(ratios=(4.0,)), slot) == pytest.approx([0.36, 0.0])
    assert reserved(Reservation(ratios=(2.0,)), slot) == pytest.approx([0.6, 0.0])
    # Printed, half of the ratio gives more than a whole site.
    assert reserved(Reservation(ratios=(0.5,)), slot) == [0.95, 0.0]
    assert reserved(Reservation(ratios=(0.5,), largest=0.8), slot) == [0.8, 0.0]
    assert reserved(Reservation(ratios=(80.0,), smallest=0.1), slot) == [0.1, 0.0]
    two = Slot(0, one_request(), waiting(3.0, 1.0))
    assert reserved(Reservation(ratios=(4.0,)), two) == pytest.approx([0.18, 0.18])
    # Requests that need all there is leave the least share.
    needy = Slot(0, one_request(work=50.0), waiting(3.0))
    assert reserved(Reservation(), needy) == [0.05, 0.0]


def test_the_need_is_that_of_now_or_the_usual_one_whichever_is_more() -> None:
    only = Reservation(ratios=(4.0,))
    busy = Slot(0, one_request(work=2.0), waiting())  # 4 Gcycle/s
    calm = Slot(1, one_request(work=0.0), waiting())
    now = Slot(2, one_request(), waiting(3.0, slot=2))
    # 4 and 0 were needed so far: 2 on average, more than 1 now.
    assert reserved(only, busy, calm, now) == pytest.approx([8.0 / 5.0 / 5.0, 0.0])
    assert reserved(only, calm, calm, now) == pytest.approx([9.0 / 5.0 / 5.0, 0.0])


def test_the_fastest_idle_sites_are_chosen_and_busy_ones_stay() -> None:
    slot = Slot(0, one_request(4), waiting(3.0, 1.0, 2.0, site=[-1, 2, -1]))
    only = Reservation(ratios=(9.0,))
    kept = reserved(only, slot, speed=(4.0, 6.0, 8.0, 6.0), share=(0.0, 0.0, 0.5, 0.0))
    # 1/10 of 20 Gcycle/s, less the need, over two sites of 6.
    assert kept == pytest.approx([0.0, 1.92 / 12.0, 0.5, 1.92 / 12.0], rel=0.1)
    one = Slot(0, one_request(4), waiting(3.0))
    kept = reserved(only, one, speed=(4.0, 6.0, 8.0, 6.0), share=(0.0, 0.0, 0.5, 0.0))
    assert [p > 0 for p in kept] == [False, True, True, False]
    kept = reserved(only, slot, speed=(4.0, 6.0, 8.0, 6.0), share=(0.2, 0.0, 0.5, 0.3))
    assert kept[0] == 0.2
    assert kept[1] > 0
    assert kept[2:] == [0.5, 0.3]


@pytest.mark.parametrize("optimise", [False, True])
def test_without_a_new_job_or_an_idle_site_all_stays(optimise: bool) -> None:
    reservation = Reservation(optimise=optimise)
    here = Slot(0, one_request(), waiting(3.0, site=[0]))
    assert reserved(reservation, here, share=(0.4, 0.0)) == [0.4, 0.0]
    full = Slot(0, one_request(), waiting(3.0))
    assert reserved(reservation, full, share=(0.4, 0.3)) == [0.4, 0.3]
    assert reserved(reservation, Slot(0, one_request(), waiting())) == [0.0, 0.0]


def test_the_best_ratio_is_taken_and_the_first_of_equal_ones() -> None:
    # On one site of 5 Gcycle/s, which has 4 left, ratio r keeps 4/5 over 1 + r. A share p is
    # forecast 0.1/(1 - p) s over 1/4 s and 3/5/p s over 4 s, least at p = 0.38.
    slot = Slot(0, one_request(1), waiting(3.0))
    alone: dict[str, Any] = {"speed": (5.0,), "share": (0.0,)}
    kept = reserved(Reservation(ratios=(40.0, 4.0, 1.0, 0.1)), slot, **alone)
    assert kept == pytest.approx([0.4])
    assert reserved(Reservation(ratios=(4.0, 40.0)), slot, **alone) == pytest.approx([0.16])
    assert reserved(Reservation(optimise=True), slot, **alone) == pytest.approx(
        [0.15**0.5 / (0.4**0.5 + 0.15**0.5)]
    )
    # All of these are clipped to the same share.
    assert reserved(Reservation(ratios=(0.25, 0.1), largest=0.3), slot, **alone) == [0.3]


def plain_score(
    problem: SlotProblem,
    share: np.ndarray,
    speed: np.ndarray,
    work: list[float],
    chosen: list[int],
    weights: tuple[float, float],
    lasting: bool,
) -> float:
    """Compute a forecast by loops; latencies by the plans of slots."""

    def latencies(kept: np.ndarray) -> float:
        beside = problem.with_reserved(kept)
        plan = evaluate(beside, assign(beside, kicks=0), objectives=False)
        return float(plan.latency.sum())

    busy, completion = dict.fromkeys(chosen, 0.0), 0.0
    for amount in sorted(work):
        ends = {j: busy[j] + amount / (share[j] * speed[j]) for j in chosen}
        first = min(chosen, key=lambda j: ends[j])
        busy[first] = ends[first]
        completion += ends[first]
    if not lasting:
        return weights[0] * latencies(share) + weights[1] * completion
    idle = share.copy()
    idle[chosen] = 0.0
    ends_of = sorted({0.0, *busy.values()})
    longer = 0.0
    for begin, end in pairwise(ends_of):
        kept = share.copy()
        for j in chosen:
            if busy[j] <= begin:
                kept[j] = 0.0
        longer += (end - begin) * (latencies(kept) - latencies(idle))
    return weights[0] * longer + weights[1] * completion


def drawn(seed: int) -> tuple[SlotProblem, np.ndarray, list[float], list[int]]:
    """Draw requests, speeds, work of new jobs and idle sites; whatever the numbers, no ties."""
    rng = np.random.default_rng(seed)
    n, J, m = (int(rng.choice(sizes)) for sizes in ((0, 4, 5, 6), (1, 2, 3, 3), (1, 3, 4)))
    A, E = rng.random((2, n, J))
    idle = rng.permutation(J)[: rng.choice([1, J, J])]
    work = rng.choice([0.5, 3.0, 20.0], m) * rng.random(m)
    return (
        SlotProblem(A, E, np.ones(n), np.ones(J)), 1.0 + 8.0 * rng.random(J), work.tolist(),
        idle.tolist(),
    )  # fmt: skip


@settings(max_examples=draws(100))
@given(st.integers(0, 10**6), st.booleans())
def test_a_forecast_is_what_plain_loops_find(seed: int, lasting: bool) -> None:
    problem, speed, work, chosen = drawn(seed)
    share = np.random.default_rng(seed).choice([0.25, 0.05, 0.5, 0.95], speed.size)
    forecast = Forecast(problem, np.array(work), speed, np.array(chosen), 0.5, 0.25, lasting)
    prospect = forecast.of(share)
    expected = plain_score(problem, share, speed, work, chosen, (0.5, 0.25), lasting)
    assert prospect.score == pytest.approx(expected, rel=1e-6, abs=1e-9)


@settings(max_examples=draws(60))
@given(slot_problems(requests=4, sites=1), st.booleans(), st.sampled_from([0.5, 3.0, 40.0]))
def test_optimised_shares_are_best_on_a_single_site(
    problem: SlotProblem, busy: bool, work: float
) -> None:
    instance = sized(two_sites(speed=[2.0], rate=np.ones((2, 1))))
    reservation = Reservation(optimise=True, span="busy" if busy else "slot")
    slot = Slot(0, problem, waiting(work))
    kept, _ = reservation.reserve(reservation.start(instance), slot, np.zeros(1))
    n = problem.requests

    def forecast(p: float) -> float:
        site = np.zeros(n, dtype=int)
        beside, whole = (
            float(evaluate(problem.with_reserved([q]), site, objectives=False).latency.sum())
            for q in (p, 0.0)
        )
        finish = work / (p * 2.0)
        latency = (beside - whole) * finish if busy else beside
        return latency / n / instance.latency_scale + finish / instance.completion_scale

    grid = np.linspace(0.05, 0.95, 46)
    assert forecast(kept[0]) <= min(forecast(p) for p in grid) * (1 + 1e-6)
    assert 0.05 <= kept[0] <= 0.95


@settings(max_examples=draws(100))
@given(st.integers(0, 10**6), st.sampled_from(["slot", "busy"]))
def test_optimised_shares_are_forecast_no_worse_than_the_best_ratio(seed: int, span: Any) -> None:
    problem, speed, work, idle = drawn(seed)
    instance = sized(two_sites(speed=speed, rate=np.ones((2, speed.size))))
    share = np.full(speed.size, 0.3)
    share[idle] = 0.0
    chosen = sorted(idle, key=lambda j: -speed[j])[: len(work)]
    count = max(problem.requests, 1)
    weights = (1.0 / (count * 0.25), 1.0 / (len(work) * 4.0))
    scores = []
    for optimise in (False, True):
        reservation = Reservation(optimise=optimise, span=span, smallest=0.1, largest=0.9)
        slot = Slot(0, problem, waiting(*work))
        kept, _ = reservation.reserve(reservation.start(instance), slot, share)
        assert ((kept[chosen] >= 0.1) & (kept[chosen] <= 0.9)).all()
        others = np.setdiff1d(np.arange(speed.size), chosen)
        assert (kept[others] == share[others]).all()
        score = plain_score(problem, kept, speed, work, chosen, weights, span == "busy")
        scores.append(score)
    assert scores[1] <= scores[0] + 1e-9 * abs(scores[0])


def test_forecasts_until_completion_expect_as_many_requests_and_jobs_as_so_far() -> None:
    """Two requests a slot and a job every other slot so far weigh like these means."""
    instance = sized(two_sites(speed=[2.0], rate=np.ones((2, 1))))
    reservation = Reservation(optimise=True, span="busy")
    memory = reservation.start(instance)
    pair = SlotProblem(np.full((2, 1), 0.1), np.full((2, 1), 0.125), np.ones(2), np.ones(1))
    _, memory = reservation.reserve(memory, Slot(0, pair, waiting()), np.zeros(1))
    kept, memory = reservation.reserve(memory, Slot(1, pair, waiting(6.0, slot=1)), np.zeros(1))
    # a = 4/8 s * 3 s at a whole site, over 2 requests a slot of 1/4 s each; b = 3 s over half a job
    # a slot of 4 s.
    a, b = 0.5 * 3.0 / 2.0 / 0.25, 3.0 / 0.5 / 4.0
    assert kept == pytest.approx([b**0.5 / (a**0.5 + b**0.5)])
    assert (memory.slots, memory.requests, memory.jobs) == (2, 4, 1)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"smallest": 0.0}, "smallest = 0.0"),
        ({"largest": 1.0}, "largest = 1.0"),
        ({"smallest": 0.5, "largest": 0.4}, "smallest <= largest"),
        ({"smallest": float("nan")}, "smallest = nan"),
        ({"ratios": ()}, "at least one"),
        ({"ratios": (1.0, -0.5)}, r"ratios\[1\] = -0.5: must be finite and not neg"),
        ({"ratios": (float("inf"),)}, r"ratios\[0\] = inf: must be finite"),
        ({"span": "day"}, "span = 'day'"),
    ],
)
def test_options_out_of_range_are_refused(changes: Any, why: str) -> None:
    with pytest.raises(OptionError, match=why):
        Reservation(**changes)


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_a_static_share_lies_in_0_1(share: float) -> None:
    with pytest.raises(OptionError, match="share"):
        StaticShares(share)


def test_static_shares_stay_on_all_sites() -> None:
    idle = Slot(0, one_request(), waiting())
    assert reserved(StaticShares(0.3), idle, share=(0.9, 0.0)) == [0.3, 0.3]
    assert reserved(StaticShares(0.0), idle) == [0.0, 0.0]


def test_static_shares_follow_the_weights_of_requests_and_of_the_first_jobs() -> None:
    # Slots weigh 1 and 3: 2 on average.
    idle = Slot(0, one_request(), waiting())
    assert reserved(StaticShares(), idle) == pytest.approx([1.0 / 3.0] * 2)
    jobs = waiting(3.0, 1.0)._replace(weight=np.array([4.0, 8.0]))
    first = Slot(1, one_request(), jobs)
    assert reserved(StaticShares(), idle, first) == pytest.approx([6.0 / 8.0] * 2)
    later = Slot(2, one_request(), waiting(1.0, slot=2))
    assert reserved(StaticShares(), idle, first, later) == pytest.approx([6.0 / 8.0] * 2)
    free = {"request_weight": np.zeros(2)}
    memory: Any = StaticShares().start(sized(two_sites(**free)))
    kept, _ = StaticShares().reserve(memory, first, np.zeros(2))
    assert kept.tolist() == [0.95, 0.95]
    nothing = Slot(0, one_request(), jobs._replace(weight=np.zeros(2)))
    kept, _ = StaticShares().reserve(memory, nothing, np.zeros(2))
    assert kept.tolist() == [0.5, 0.5]


def test_names_say_what_is_not_as_usual() -> None:
    assert Reservation().name == "Reservation"
    assert Reservation(largest=0.8).name == "Reservation, largest=0.8"
    assert Reservation(optimise=True, span="busy").name == ("Reservation, optimise=True, span=busy")
    assert StaticShares().name == "StaticShares"
    assert StaticShares(0.25).name == "StaticShares, share=0.25"


@pytest.mark.parametrize(("span", "requests", "jobs"), [("slot", 3.0, 2.0), ("busy", 5.0, 2.5)])
def test_means_are_of_this_slot_or_of_all_so_far(span: str, requests: float, jobs: float) -> None:
    instance = SimpleNamespace(speed=np.ones(2), latency_scale=4.0, completion_scale=8.0)
    memory = SimpleNamespace(instance=instance, slots=4, requests=20, jobs=10)
    slot = SimpleNamespace(requests=SimpleNamespace(requests=3))
    found = Reservation(span=span)._forecast(memory, slot, np.ones(2), np.array([0]))
    assert found.latency_weight == 1.0 / (requests * 4.0)
    assert found.completion_weight == 1.0 / (jobs * 8.0)
    assert found.lasting == (span == "busy")
