"""Scenario control: replayed costs, forecasts, and what it trains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from edgeopt.errors import OptionError
from edgeopt.instances.edr import EdrHistory, EdrInstance, generate
from edgeopt.online import simulate
from edgeopt.online.edr import (
    EdrEnvironment,
    GivenPrices,
    Scenario,
)
from edgeopt.online.edr.events import ClosedFrame, Frame
from edgeopt.online.edr.training import Replay, expected_prices
from edgeopt.studies.registry import choose, find_system
from tests.draws import draws, every
from tests.edr.cases import Case, cases
from tests.edr.nets import one_task
from tests.edr.scenarios import NOTHING, drawn_small, future, show, step_through, two_sites

if TYPE_CHECKING:
    from collections.abc import Iterator


# --- replay --------------------------------------------------------------------------------------


def replayed(instance: EdrInstance, *, history: bool = False) -> Iterator[tuple[int, Replay]]:
    """Replay an instance frame by frame, with all of its slots."""
    replay = Replay.of(EdrEnvironment(instance).instance, history=history)
    episode = EdrEnvironment(instance).episode(0)
    while (seen := episode.observe()) is not None:
        if isinstance(seen, Frame):
            replay = replay.with_frame(seen)
            yield seen.frame, replay
            episode.act(np.zeros(instance.tasks, dtype=np.int64))
        else:
            replay = replay.with_slot(seen)
            if isinstance(episode.act(NOTHING), ClosedFrame):
                replay = replay.closed()


@settings(max_examples=draws(60))
@given(cases(frames=5, slots=3, sites=4, tasks=4, types=1))
def test_replayed_costs_are_those_of_the_instance(case: Case) -> None:
    instance = case.instance
    for t, replay in replayed(instance):
        live = np.flatnonzero(instance.active[t])
        assert replay.energy.shape == (t + 1, instance.tasks)
        for mine, true in (
            (replay.energy, instance.round_energy),
            (replay.seconds, instance.round_seconds),
        ):
            assert mine[:, live] == pytest.approx(true[: t + 1, live], rel=1e-12, abs=1e-15)


def test_the_day_before_is_replayed_at_its_rates_and_the_usual_propagation() -> None:
    instance = generate(rng=1, sites=4, tasks=5, frames=4, slots=2, history="channel")
    assert instance.history is not None
    assert instance.history.rate is not None
    steady = instance.replace(
        propagation=np.broadcast_to(instance.propagation[:1, :1], instance.propagation.shape)
    )
    past = steady.replace(rate=instance.history.rate[:4])
    [*_, (_, replay)] = replayed(steady, history=True)
    assert replay.energy.shape == (24 + 4, 5)
    known = np.flatnonzero(steady.arrival <= 3)
    assert replay.energy[:4, known] == pytest.approx(past.round_energy[:, known], rel=1e-12)
    later = np.flatnonzero((steady.arrival <= 3) & (steady.arrival > 0))
    assert later.size
    assert replay.seconds[:4, later] == pytest.approx(past.round_seconds[:, later], rel=1e-12)
    [*_, (_, fresh)] = replayed(steady)
    assert (replay.energy[24:] == fresh.energy).all()


# --- forecasts -----------------------------------------------------------------------------------


def test_prices_of_coming_frames() -> None:
    instance = two_sites(
        cap=np.full(30, np.inf), price=np.arange(30.0), price_prior=7.0, deadline=[29, 29],
        **{name: np.broadcast_to(getattr(two_sites(), name)[:1], (30, *shape)) for name, shape in
           (("requests", (2, 2, 2)), ("propagation", (2, 2, 2)), ("slo", (2, 2)),
            ("rate", (2, 2)))},
    )  # fmt: skip
    before = 100.0 + np.arange(24.0)

    def expected(forecast: Any, t: int, frames: list[int], past: Any = None) -> list[float]:
        frame = show(instance, t, instance.rounds)
        return expected_prices(forecast, frame, np.array(frames), past).tolist()

    assert expected("last", 0, [0, 3]) == [7.0, 7.0]
    assert expected("last", 0, [0, 3], before) == [123.0, 123.0]
    assert expected("last", 5, [5, 9]) == [4.0, 4.0]
    assert expected(GivenPrices(np.arange(40.0)), 3, [3, 8]) == [3.0, 8.0]
    # Hours 22 to 2 of the day before count once, hour 0 twice: 100 100 101 102 122 123.
    assert expected("hour", 0, [0, 24], before) == [101.5, 101.5]
    # Of hours 0 to 4, hours 3 and 4 are near hour 5, and none is near hour 12.
    assert expected("hour", 5, [5, 12]) == [3.5, 2.0]
    assert expected("hour", 0, [0, 3]) == [7.0, 7.0]
    # All hours known: 0 0 1 2 22 23 are near hour 0.
    assert expected("hour", 24, [24, 36]) == [1.5, 12.0]
    # A spike of one hour does not move it.
    spiked = np.where(np.arange(24) == 9, 900.0, 1.0)
    assert expected("hour", 0, [9], spiked) == [1.0]


@pytest.mark.parametrize("hours", [6, 7, 23])
def test_a_part_of_a_day_is_continued_by_a_wave(hours: int) -> None:
    instance = generate(rng=hours, sites=2, tasks=1, frames=30, slots=1)
    price = 1e5 * instance.price
    instance = instance.replace(price=price)
    level = []
    for hour in range(hours):
        near = [price[h] for h in range(hours) if abs(h - hour) <= 2 or abs(h - hour) >= 22]
        level.append(float(np.median([*near, price[hour]])))

    def wave(of: Any, hour: Any) -> Any:
        return of[0] + of[1] * np.cos(hour * np.pi / 12) + of[2] * np.sin(hour * np.pi / 12)

    def error(of: Any) -> float:
        return float(((wave(of, np.arange(hours)) - level) ** 2).sum() + (of[1:] ** 2).sum() / 10)

    best = optimize.minimize(error, np.zeros(3), tol=1e-12).x
    coming = np.arange(hours, 30)
    frame = show(instance, hours, instance.rounds)
    assert expected_prices("hour", frame, coming) == pytest.approx(wave(best, coming), abs=1e-5)


def test_hours_capped_on_the_last_day_known_are_expected_to_be_capped() -> None:
    instance = generate(rng=0, sites=2, tasks=3, frames=60, slots=1)
    past = EdrHistory(cap_share=np.where(np.arange(24) == 5, 0.9, np.inf))
    policy = Scenario()
    for history, expected in ((past, [5, 26, 29]), (None, [26])):
        with_past = EdrEnvironment(instance.replace(history=history)).instance
        memory = policy.begin(with_past)
        caps = (np.inf, np.inf, 3.0, np.inf)
        memory = type(memory)(memory.replay, caps)
        capped = policy._capped(memory, 3, np.arange(4, 30))
        # Frame 2 was capped, hence 26; frame 5 only the day before, and so is 29, not yet seen.
        assert (4 + np.flatnonzero(capped)).tolist() == expected


# --- what it trains ------------------------------------------------------------------------------


def steady(**changes: Any) -> EdrInstance:
    """Return sites whose channels, delays and caps stay, so that only prices move."""
    drawn = generate(rng=3, sites=3, tasks=6, frames=8, slots=2, capped=None)
    rate = np.broadcast_to(drawn.rate[:1], drawn.rate.shape)
    travel = np.broadcast_to(drawn.propagation[:1, :1], drawn.propagation.shape)
    price = np.full(drawn.frames, drawn.price[0])
    same = drawn.replace(rate=rate, propagation=travel, price=price, price_prior=price[0],
                         capacity=5 * drawn.capacity)  # fmt: skip
    return same.replace(**changes)


def test_constant_costs_without_caps_lead_to_the_cheapest_plan() -> None:
    instance = steady()
    ran = simulate(EdrEnvironment(instance), Scenario(), runs=1)
    assert not ran.missing.any()
    training = (ran.rounds[0] * instance.round_cost).sum()
    assert training == pytest.approx(float(instance.rounds @ instance.round_cost[0]), rel=1e-12)


def test_with_prices_known_it_trains_where_they_are_lowest() -> None:
    # One task, room for all its rounds in any frame, prices known: the fifth frame is cheapest.
    price = 1e-4 * np.array([5.0, 4.0, 6.0, 3.0, 1.0, 2.0, 3.0, 4.0])
    full = steady()
    one = {
        name: getattr(full, name)[:1]
        for name in (
            "client",
            "server",
            "local_steps",
            "step_work",
            "aggregation_work",
            "model_size",
        )
    }
    instance = full.replace(
        price=price, arrival=[0], deadline=[7], rounds=[20], task_kind=None,
        capacity=np.full(3, 1e9), **one,
    )  # fmt: skip
    known = Scenario(price_forecast=GivenPrices(price))
    ran = simulate(EdrEnvironment(instance), known, runs=1)
    assert ran.rounds[0, :, 0].tolist() == [0, 0, 0, 0, 20, 0, 0, 0]


def test_the_first_frame_known_trains_only_what_finds_no_room_later() -> None:
    # Nothing tells it from those that come.
    instance = steady()
    rounds = simulate(EdrEnvironment(instance), Scenario(), runs=1).rounds[0]
    assert (instance.active[0] & (instance.deadline > 0)).any()
    assert not rounds[0, instance.deadline > 0].any()
    assert rounds[1].any()
    # A frame has room for 8 rounds of task 0.
    scarce = two_sites(
        cap=[np.inf] * 3, price=[1.0] * 3, price_prior=1.0, arrival=[0, 0], deadline=[1, 2],
        rounds=[15, 3],
    )  # fmt: skip
    [step, *_] = step_through(EdrEnvironment(scarce), Scenario(training_room=1.0))
    assert isinstance(step.decision, np.ndarray)
    assert step.decision[0] > 0


@pytest.mark.parametrize("samples", [1, 12])
def test_the_last_frame_trains_all_it_can(samples: int) -> None:
    # Site 0 has room for 8 rounds of task 0, site 1 for the rest; no frame comes for either.
    instance = two_sites(
        cap=[np.inf] * 3, price=[1.0] * 3, price_prior=1.0, arrival=[1, 1], deadline=[1, 1],
        rounds=[9, 3],
    )  # fmt: skip
    policy = Scenario(samples=samples, training_room=1.0)
    alone = instance.replace(requests=np.zeros_like(instance.requests))
    steps = step_through(EdrEnvironment(alone), policy)
    frames = [step.decision for step in steps if isinstance(step.seen, Frame)]
    assert isinstance(frames[1], np.ndarray)
    assert frames[1].tolist() == [8, 3]


def test_half_of_the_sites_is_left_to_requests_that_nobody_has_seen() -> None:
    instance = two_sites(
        cap=[np.inf] * 3, price=[1.0] * 3, price_prior=1.0, arrival=[0, 0], deadline=[0, 2],
        rounds=[9, 3],
    )  # fmt: skip
    [step, *_] = step_through(EdrEnvironment(instance), Scenario(training_room=1.0))
    assert isinstance(step.decision, np.ndarray)
    assert step.decision[0] == 4
    assert simulate(EdrEnvironment(instance), Scenario(), runs=1).missing[0, 1] == 0


CAUSAL = ("saddle_point", "saddle_point+published", "lyapunov", "oasdr", "even_rate", "greedy")

UNLUCKY = (49, 319, 250, 246, 297, 326, 1, 12, 30, 185, 312, 323)
"""Instances that cost, or did, over a tenth more than the best of these, in hindsight."""


@pytest.mark.parametrize("seed", every(3, (*UNLUCKY, *range(100, 128))))
def test_no_other_policy_is_expected_to_cost_a_tenth_less(seed: int) -> None:
    """Over futures of a small instance: sites so small that training leaves requests unserved."""
    one, system = drawn_small(seed), find_system("edr")
    paid = [
        [
            float(simulate(EdrEnvironment(drawn), entry.make(drawn, {}), rng=0, runs=1).total[0])
            for entry in choose(system, ("scenario", *CAUSAL))
        ]
        for drawn in (future(one, k) for k in range(draws(200)))
    ]
    ours, *others = np.transpose(paid)
    over = ours - 1.1 * min(others, key=np.mean)
    assert over.mean() <= 2.0 * over.std(ddof=1) / np.sqrt(over.size)


def test_a_task_in_its_last_frame_goes_before_one_that_may_wait() -> None:
    # Three rounds of task 0 find no room in the frame that comes, and their price is that of all.
    instance = drawn_small(319)
    ran = simulate(EdrEnvironment(instance), Scenario(history=False), runs=1)
    assert (instance.deadline == [2, 1]).all()
    assert ran.rounds[0, 1, 1] > 40


def test_rounding_keeps_the_cap() -> None:
    # A round of task 0 takes 3 Wh: 5 Wh are enough for 1.67 of them, which is nearest to 2.
    instance = two_sites(cap=[5.0, np.inf, np.inf], arrival=[0, 1], deadline=[0, 2])
    policy = Scenario()
    memory = policy.begin(EdrEnvironment(instance).instance)
    frame = show(instance, 0, instance.rounds)
    rounds, _ = policy.requested_rounds(memory, frame, 5.0, np.random.default_rng(0))
    assert rounds.tolist() == [1, 0]


@settings(max_examples=draws(80))
@given(
    cases(frames=4, slots=2, sites=3, tasks=4, types=1),
    st.booleans(),
)
def test_caps_and_sites_are_kept_before_any_repair_by_others(case: Case, history: bool) -> None:
    """Random caps down to 0, no live task, one site, no energy per round, negative prices."""
    instance = case.instance
    policy = Scenario(history=history, reserve=None, samples=2)
    memory = policy.begin(EdrEnvironment(instance).instance)
    left = instance.rounds.copy()
    room = policy.training_room * instance.slots * instance.capacity
    for t in range(instance.frames):
        frame = show(instance, t, left)
        rounds, memory = policy.requested_rounds(memory, frame, frame.cap, np.random.default_rng(0))
        assert rounds.dtype == np.int64
        assert (rounds >= 0).all()
        assert (rounds <= frame.remaining).all()
        assert rounds @ frame.round_energy <= frame.cap * (1 + 1e-9)
        assert (rounds @ frame.round_work <= room * (1 + 1e-9)).all()
        left = left - rounds


@settings(max_examples=draws(30))
@given(cases(frames=3, slots=2, sites=3, tasks=3, types=1))
def test_nothing_known_of_the_day_before_is_no_day_before(case: Case) -> None:
    runs = [
        simulate(EdrEnvironment(case.instance.replace(history=past)), policy, runs=1)
        for past, policy in (
            (None, Scenario()),
            (EdrHistory(), Scenario()),
            (case.instance.history, Scenario(history=False)),
        )
    ]
    for other in runs[1:]:
        assert (runs[0].rounds == other.rounds).all()
        assert (runs[0].reward == other.reward).all()


def test_the_day_before_changes_what_is_trained() -> None:
    instance = generate(rng=3, sites=4, tasks=8, frames=12, slots=2, history=True)
    with_past, without = (
        simulate(EdrEnvironment(instance), Scenario(history=used), runs=1) for used in (True, False)
    )
    assert (with_past.rounds != without.rounds).any()


def test_options_are_checked() -> None:
    for options in (
        {"samples": 0}, {"beta": -1.0}, {"late": 0.0}, {"cap_room": 1.5},
        {"history": 1}, {"seed": -1}, {"price_forecast": "never"},
    ):  # fmt: skip
        with pytest.raises(OptionError, match=next(iter(options))):
            Scenario(**options)  # type: ignore[arg-type]


def test_samples_beyond_those_asked_for_are_chosen_by_seed() -> None:
    instance = generate(rng=4, sites=10, tasks=16, frames=20, slots=2)
    runs = [
        simulate(EdrEnvironment(instance), Scenario(samples=2, seed=seed), runs=1).rounds
        for seed in (0, 0, 1)
    ]
    assert (runs[0] == runs[1]).all()
    assert (runs[0] != runs[2]).any()


def test_no_policy_is_near_the_best_of_several_in_hindsight_everywhere() -> None:
    """Two futures of one first frame: a cap of nothing, or rounds at a quarter of the cost.

    Who trains a share s in it pays 2 - s times what Greedy pays in the first, as a missing round
    costs twice its mean, and 1 + 3 s times what Lyapunov pays in the second: 1.75 in one of them.
    """
    quiet = {"requests": np.zeros((2, 1, 2, 1))}
    capped = one_task([1.0, 1.0], 0, 100).replace(cap=np.array([np.inf, 0.0]), **quiet)
    cheap = one_task([1.0, 0.25], 0, 100).replace(**quiet)
    names = ("greedy", "lyapunov", "scenario", "even_rate", "saddle_point", "oasdr")
    paid: dict[str, list[float]] = {}
    for entry in choose(find_system("edr"), names):
        runs = [
            simulate(EdrEnvironment(one), entry.make(one, {}), rng=0, runs=1)
            for one in (capped, cheap)
        ]
        first = {int(run.rounds[0, 0, 0]) for run in runs}
        assert len(first) == 1, entry.name
        share = first.pop() / 100
        paid[entry.name] = [float(run.total[0]) for run in runs]
        assert paid[entry.name] == pytest.approx([200 - 100 * share, 25 + 75 * share])
    assert (paid["greedy"][0], paid["lyapunov"][1]) == pytest.approx((100, 25))
    worst = [max(a / 100, b / 25) for a, b in paid.values()]
    assert min(worst) >= 1.75 - 1e-9
