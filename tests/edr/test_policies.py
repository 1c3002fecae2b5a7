"""Lives of policies: what they cost, recomputed; what they keep; and that none sees the future."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.online import simulate
from edgeopt.online.edr import EdrEnvironment, Greedy
from tests.draws import draws
from tests.edr.cases import cases
from tests.edr.run_policy import CAPPED, POLICIES, live
from tests.oracles.edr import log, routing

ANY = st.sampled_from(POLICIES)
LINEAR = [policy for policy in CAPPED if not isinstance(policy, Greedy)]
SMALL = {"frames": 4, "slots": 2, "sites": 3, "tasks": 3, "types": 2}


@settings(max_examples=draws(100))
@given(cases(**SMALL), ANY, st.booleans())
def test_every_frame_is_accounted_for(case, policy, foresight):
    """Rounds and flows, charged from the data alone, are what the trajectory says."""
    plain = case.plain
    environment = EdrEnvironment(case.instance, foresight=foresight)
    run = simulate(environment, policy, rng=case.seed, runs=1, record=True)
    life = live(case.instance, policy, seed=case.seed, foresight=foresight)
    assert run.rounds[0].tolist() == life.rounds
    late, unserved = log.late_price(plain), log.unserved_price(plain)
    missing = log.missing(plain, life.rounds)
    assert run.missing[0].tolist() == missing
    assert min([0, *missing]) == 0
    traffic = np.zeros((plain.J, plain.J))
    for t in range(plain.T):
        frame = log.frame(plain, t, life.rounds[t], life.flows[t], tolerance=1e-9)
        assert frame.broken == []
        lost = charged_for_unserved(plain, t, life.flows[t], unserved)
        overdue = sum(late[i] * missing[i] for i in range(plain.I) if plain.deadline[i] == t)
        expected = {
            "energy": frame.energy,
            "training_energy": frame.training_energy,
            "energy_cost": frame.energy_cost,
            "delay_cost": frame.delay_cost,
            "training_delay_cost": frame.training_delay_cost,
            "excess": frame.excess,
            "asked": frame.asked,
            "unserved": frame.unserved,
            "late_cost": overdue,
            "unserved_cost": lost,
            "reward": frame.cost + overdue + lost,
        }
        for name, value in expected.items():
            assert getattr(run, name)[0, t] == pytest.approx(value, rel=1e-9, abs=1e-8), name
        assert run.violations[0, t] == (run.excess[0, t] > 0)
        assert run.decisions[0, t] == 1 + plain.D
        for (_, j, k, *_), amount in life.flows[t].items():
            traffic[j, k] += amount
    assert run.flows == pytest.approx(traffic, abs=1e-9)
    check_shares(case, run, sum(missing))
    check_delays(case, run.quality[0], life.flows)


def check_delays(case, quality, flows):
    """Compare the histogram; a delay on the edge of two bins may be in either."""
    plain = case.plain
    bins = len(quality)
    low, high = np.zeros(bins), np.zeros(bins)
    for t, frame in enumerate(flows):
        for (tau, j, k, n, _), amount in frame.items():
            place = bins * plain.delay(t, tau, j, k, n) / plain.slo[t][tau][n]
            first, last = (min(int(place + shift), bins - 1) for shift in (-1e-9, 1e-9))
            low[last] += amount
            high[first] += amount
    total = np.cumsum(quality)
    assert (total >= np.cumsum(low) - 1e-9).all()
    assert (total <= np.cumsum(high) + 1e-9).all()


def check_shares(case, run, missing):
    plain = case.plain
    needed, asked = sum(plain.rounds), case.instance.requests.sum()
    capped = sum(cap for cap in plain.cap if cap < np.inf)
    done = 1.0 - missing / needed if needed else 1.0
    assert run.completion()[0] == pytest.approx(done)
    if capped > 0:
        assert run.excess_share()[0] == pytest.approx(run.excess.sum() / capped)
    served = 1.0 - run.unserved.sum() / asked if asked else 1.0
    assert run.served_share()[0] == pytest.approx(served)
    assert run.late()[0].tolist() == (run.missing[0] > 0).tolist()


def charged_for_unserved(plain, t, flows, price):
    left = {n: 0.0 for n in range(plain.N)}
    for slot in plain.requests[t]:
        for row in slot:
            for n, asked in enumerate(row):
                left[n] += asked
    for (_, _, _, n, _), amount in flows.items():
        left[n] -= amount
    return sum(price[n] * amount for n, amount in left.items())


@settings(max_examples=draws(80))
@given(cases(**SMALL), ANY)
def test_training_keeps_caps_sites_and_windows(case, policy):
    plain = case.plain
    life = live(case.instance, policy, seed=case.seed)
    left = list(plain.rounds)
    for t, rounds in enumerate(life.rounds):
        energy = sum(plain.e(t, i) * rounds[i] for i in range(plain.I))
        assert energy <= plain.cap[t] * (1 + 1e-9)
        for z, C in zip(plain.training(rounds), plain.capacity, strict=True):
            assert z <= policy.training_room * plain.D * C * (1 + 1e-9)
        left = [r - x for r, x in zip(left, rounds, strict=True)]
        assert all(x == 0 or plain.active(t, i) for i, x in enumerate(rounds))
    assert min([0, *left]) == 0


@settings(max_examples=draws(100))
@given(cases(**SMALL), st.sampled_from(CAPPED), st.booleans())
def test_a_cap_comes_first_where_requests_may_be_shed(case, policy, foresight):
    environment = EdrEnvironment(case.instance, foresight=foresight)
    run = simulate(environment, replace(policy, elastic="shed"), rng=case.seed, runs=1)
    assert not run.violations.any()
    assert not run.excess.any()


@settings(max_examples=draws(100))
@given(cases(**SMALL), st.sampled_from(LINEAR))
def test_requests_come_first_where_caps_may_break(case, policy):
    """Who is unserved under the soft order would be so without any cap."""
    life = live(case.instance, policy, seed=case.seed)
    for t, slots in enumerate(life.plans):
        for seen, plan in slots:
            if np.isfinite(seen.cap) and plan.unserved.sum() > 1e-9:
                training = seen.training.tolist()
                free = routing.least_energy(case.plain, t, [seen.slot], training=training)
                assert plan.unserved.sum() == pytest.approx(free.unserved, abs=1e-6)


@settings(max_examples=draws(100))
@given(cases(**SMALL), ANY, st.integers(0, 2**32 - 1))
def test_changing_the_future_never_changes_a_past_decision(case, policy, seed):
    """Change what comes after a slot, and the price of its frame: decisions up to it stay."""
    instance, rng = case.instance, np.random.default_rng(seed)
    T, D = instance.frames, instance.slots
    t, tau = int(rng.integers(T)), int(rng.integers(-1, D))
    requests, price, cap = (getattr(instance, f).copy() for f in ("requests", "price", "cap"))
    rate, travel = instance.rate.copy(), instance.propagation.copy()
    requests[t, tau + 1 :] *= rng.choice([0.0, 0.5, 2.0])
    requests[t + 1 :] *= rng.choice([0.0, 0.5, 2.0])
    price[t:] = rng.uniform(-1, 4, T - t)
    cap[t + 1 :] = rng.choice([0.0, 1.0, 5.0, np.inf], T - t - 1)
    rate[t + 1 :] *= 2.0
    travel[t + 1 :] *= 0.5
    later = instance.arrival > t
    changed = instance.replace(
        requests=requests, price=price, cap=cap, rate=rate, propagation=travel,
        price_prior=instance.price_prior,
        rounds=np.where(later, instance.rounds + 2, instance.rounds),
        model_size=np.where(later, instance.model_size + 1.0, instance.model_size),
    )  # fmt: skip
    one, two = (live(i, policy, seed=case.seed) for i in (instance, changed))
    assert one.rounds[: t + 1] == two.rounds[: t + 1]
    assert one.flows[:t] == two.flows[:t]
    past = [{key: v for key, v in life.flows[t].items() if key[0] <= tau} for life in (one, two)]
    assert past[0] == past[1]


@settings(max_examples=draws(80))
@given(cases(**SMALL), ANY)
def test_policies_are_shown_nothing_of_the_future(case, policy):
    """What they hold before the first frame is the same for every future."""
    instance = case.instance
    other = instance.replace(
        requests=instance.requests * 0.5, price=instance.price + 1.0,
        price_prior=instance.price_prior, cap=np.full(instance.frames, np.inf),
        rounds=instance.rounds + 1, rate=instance.rate * 2.0,
    )  # fmt: skip
    shown = [EdrEnvironment(i).instance for i in (instance, other)]
    assert shown[0].fingerprint() == shown[1].fingerprint()
    life = live(instance, policy, seed=case.seed)
    for frame in life.frames:
        coming = instance.arrival > frame.frame
        for name in ("arrival", "deadline"):
            assert (getattr(frame, name)[coming] == -1).all()
        for name in ("rounds", "remaining", "even_rate", "round_energy", "round_seconds"):
            assert not getattr(frame, name)[coming].any()
        assert not frame.round_work[coming].any()
        assert frame.prices.tolist() == instance.price[: frame.frame].tolist()
        assert frame.forecast is None


@settings(max_examples=draws(80))
@given(cases(**SMALL), ANY)
def test_the_same_seed_is_the_same_trajectory(case, policy):
    environment = EdrEnvironment(case.instance)
    one, two = (simulate(environment, policy, rng=case.seed, runs=2) for _ in range(2))
    for name in ("reward", "violations", "energy", "unserved", "rounds", "missing", "quality"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    if policy.deterministic:
        assert np.array_equal(one.reward[0], one.reward[1])
