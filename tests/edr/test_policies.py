"""Policies: their costs recomputed, what they keep, their requested rounds against plain loops."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.online import simulate
from edgeopt.online.edr import (
    EdrEnvironment,
    EvenRate,
    Flows,
    Frame,
    Greedy,
    Lyapunov,
    SaddlePoint,
    deadline_guard,
    repair_cap,
    repair_work,
)
from edgeopt.online.edr.policies.policy import latest_deadline_first
from tests.draws import draws
from tests.edr.cases import CAPPED, POLICIES, cases, step_through
from tests.edr.scenarios import two_sites
from tests.oracles.edr import log, routing
from tests.oracles.edr import policies as oracle

ANY = st.sampled_from(POLICIES)
LINEAR = [policy for policy in CAPPED if not isinstance(policy, Greedy)]
SMALL = {"frames": 4, "slots": 2, "sites": 3, "tasks": 3, "types": 2}


@settings(max_examples=draws(100))
@given(cases(**SMALL), ANY)
def test_every_frame_is_logged(case, policy):
    """Rounds and flows, charged from the data alone, are what the trajectory says."""
    environment = EdrEnvironment(case.instance)
    run = simulate(environment, policy, rng=case.seed, runs=1, keep_trace=True)
    ran = step_through(case.instance, policy, seed=case.seed)
    check_log(case, run, ran.rounds, ran.flows)


@settings(max_examples=draws(60))
@given(cases(**SMALL))
def test_logs_of_any_feasible_decisions_equal_the_raw_data(case):
    instance, plain, rng = case.instance, case.plain, case.rng
    environment = EdrEnvironment(instance)
    episode = environment.episode(0, keep_trace=True)
    _, D, J, N = instance.requests.shape
    rounds, flows = [], []
    while (seen := episode.observe()) is not None:
        if isinstance(seen, Frame):
            left, counts = D * instance.capacity, np.zeros(instance.tasks, dtype=np.int64)
            for i in rng.permutation(instance.tasks):
                count = rng.integers(0, seen.remaining[i] + 1)
                while count and (count * seen.round_work[i] > left).any():
                    count -= 1
                counts[i] = count
                left = left - count * seen.round_work[i]
            episode.act(counts)
            rounds.append(counts.tolist())
            flows.append({})
            continue
        t, d = seen.frame, seen.slot
        room = np.minimum(left, instance.capacity)
        waiting, chosen = instance.requests[t, d].copy(), {}
        for j, k, n in rng.permutation(list(np.ndindex(J, J, N))).tolist():
            if instance.capable[k, n] and plain.delay(t, d, j, k, n) <= plain.slo[t][d][n]:
                most = min(waiting[j, n], room[k] / instance.request_work[n])
                chosen[j, k, n] = amount = most * rng.choice([0.0, 0.5, 1.0])
                waiting[j, n] -= amount
                used = amount * instance.request_work[n]
                room[k], left[k] = max(room[k] - used, 0.0), max(left[k] - used, 0.0)
        columns = np.array(list(chosen), dtype=np.int64).reshape(-1, 3).T
        feedback = episode.act(Flows(*columns, np.array(list(chosen.values()), dtype=np.float64)))
        flows[-1] |= {(d, *key, 0): amount for key, amount in chosen.items()}
    run = environment.trajectory("mine", [episode], seconds=0.0, keep_trace=True)
    check_log(case, run, rounds, flows)
    assert feedback.energy == pytest.approx(run.energy[0, -1])
    assert feedback.training_energy == pytest.approx(run.training_energy[0, -1])


def check_log(case, run, rounds, flows):
    """Compare a trajectory with what rounds and flows cost."""
    plain = case.plain
    assert run.rounds[0].tolist() == rounds
    late, unserved = log.late_price(plain), log.unserved_price(plain)
    missing = log.missing(plain, rounds)
    assert run.missing[0].tolist() == missing
    assert min([0, *missing]) == 0
    traffic = np.zeros((plain.J, plain.J))
    for t in range(plain.T):
        frame = log.frame(plain, t, rounds[t], flows[t], tolerance=1e-9)
        assert frame.broken == []
        lost = charged_for_unserved(plain, t, flows[t], unserved)
        overdue = sum(late[i] * missing[i] for i in range(plain.I) if plain.deadline[i] == t)
        expected = {
            "energy": frame.energy,
            "training_energy": frame.training_energy,
            "energy_cost": frame.energy_cost,
            "delay_cost": frame.delay_cost,
            "training_delay_cost": frame.training_delay_cost,
            "cost": frame.cost,
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
        for (_, j, k, *_), amount in flows[t].items():
            traffic[j, k] += amount
    assert run.flows == pytest.approx(traffic, abs=1e-9)
    assert run.quality.sum() + run.unserved.sum() == pytest.approx(case.instance.requests.sum())
    check_shares(case, run, sum(missing))
    check_delays(case, run.quality[0], flows)


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
    ran = step_through(case.instance, policy, seed=case.seed)
    left = list(plain.rounds)
    for t, rounds in enumerate(ran.rounds):
        energy = sum(plain.e(t, i) * rounds[i] for i in range(plain.I))
        assert energy <= plain.cap[t] * (1 + 1e-9)
        for z, C in zip(plain.training(rounds), plain.capacity, strict=True):
            assert z <= policy.training_room * plain.D * C * (1 + 1e-9)
        left = [r - x for r, x in zip(left, rounds, strict=True)]
        assert all(x == 0 or plain.active(t, i) for i, x in enumerate(rounds))
    assert min([0, *left]) == 0


@settings(max_examples=draws(100))
@given(cases(**SMALL), st.sampled_from(CAPPED))
def test_a_cap_comes_first_where_requests_may_be_shed(case, policy):
    environment = EdrEnvironment(case.instance)
    run = simulate(environment, replace(policy, elastic="shed"), rng=case.seed, runs=1)
    assert not run.violations.any()
    assert not run.excess.any()


@settings(max_examples=draws(150))
@given(cases(**SMALL), st.sampled_from(LINEAR))
def test_requests_or_the_budget_of_a_slot_come_first(case, policy):
    """Of the requests no more stay unserved, and no more energy is used, than the order asks."""
    ran = step_through(case.instance, policy, seed=case.seed)
    for t, slots in enumerate(ran.plans):
        for seen, plan in slots:
            expected = routing.lexicographic(
                case.plain, t, [seen.slot], 0.0, budget=float(plan.problem.budget),
                training=seen.training.tolist(), elastic=policy.elastic,
            )  # fmt: skip
            assert plan.unserved.sum() == pytest.approx(expected.unserved, abs=1e-6)
            assert plan.excess == pytest.approx(expected.excess, abs=1e-6)


def test_seeds_make_a_difference_where_coins_are_tossed():
    environment = EdrEnvironment(two_sites(rounds=[3, 3]))
    many = simulate(environment, SaddlePoint(guard=None), rng=0, runs=30).rounds
    assert len(np.unique(many.reshape(30, -1), axis=0)) > 1
    assert all(one.deterministic != isinstance(one, SaddlePoint) for one in POLICIES)


# Sites never limit training, so that what is tested is all there is between request and decision.
ROOMY = {**SMALL, "ample": True}
LONG = {"frames": 9, "slots": 1, "sites": 2, "tasks": 3, "types": 1, "rounds": 12, "ample": True}


def remaining(plain, rounds, t):
    return [
        (plain.rounds[i] - sum(row[i] for row in rounds[:t])) * plain.active(t, i)
        for i in range(plain.I)
    ]


def repaired(plain, t, requested_rounds, left, room, *, guard=None):
    if guard is not None:
        requested_rounds = oracle.guard(plain, t, requested_rounds, left, Fraction(guard))
    return oracle.fit_cap(plain, t, requested_rounds, room)


@settings(max_examples=draws(100))
@given(cases(**LONG), st.sampled_from([None, 0.25, 1.0, 3.0]))
def test_the_even_rate_is_guarded_and_cut_to_the_cap(case, guard):
    plain = case.exact
    ran = step_through(
        case.instance, EvenRate(guard=guard, reserve=None, training_room=1.0), seed=0
    )
    for t, rounds in enumerate(ran.rounds):
        left = remaining(plain, ran.rounds, t)
        requested_rounds = oracle.even_rate(plain, t, left)
        assert rounds == repaired(plain, t, requested_rounds, left, plain.cap[t], guard=guard)


@given(cases(**SMALL), st.sampled_from([0.5, 1.0]))
def test_greedy_trains_and_routes_one_after_the_other(case, share):
    plain = case.exact
    policy = Greedy(guard=None, reserve=None, training_room=share)
    ran = step_through(case.instance, policy, seed=0)
    for t, rounds in enumerate(ran.rounds):
        left = remaining(plain, ran.rounds, t)
        assert rounds == oracle.greedy(plain, t, left, Fraction(share))
        training = plain.training(rounds)
        for tau in range(plain.D):
            expected = oracle.greedy_routing(plain, t, tau, training)
            found = {key[:4]: v for key, v in ran.flows[t].items() if key[0] == tau}
            for key in expected.keys() | found.keys():
                amount = pytest.approx(float(expected.get(key, 0)), rel=0, abs=1e-9)
                assert found.get(key, 0.0) == amount


@given(cases(**ROOMY), st.sampled_from([0.0, 0.1, 1.0]))
def test_queues_outweigh_costs(case, V):
    """LYNO without guard and reserve: the knapsack of the queues, rounded, and cut to the cap."""
    plain = case.plain
    policy = Lyapunov(weight=V, guard=None, reserve=None, training_room=1.0)
    ran = step_through(case.instance, policy, seed=0)
    queue = [0.0] * plain.I
    for t, rounds in enumerate(ran.rounds):
        left = remaining(plain, ran.rounds, t)
        price = plain.price[t - 1] if t else plain.price_prior
        requested_rounds, fractions = oracle.lyapunov(plain, t, price, queue, left, V)
        if not ambiguous(plain, t, price, queue, V, fractions):
            assert rounds == repaired(plain, t, requested_rounds, left, plain.cap[t])
        for i in range(plain.I):
            can_train = plain.active(t, i) and left[i] > 0
            queue[i] = max(0.0, queue[i] + float(plain.a(i)) - rounds[i]) if can_train else 0.0


def ambiguous(plain, t, price, queue, V, fractions):
    """Tell whether rounding or a tie of worth decides: then several answers are right."""
    whole = any(abs(x - round(x)) < 1e-6 and x != round(x) for x in fractions)
    worth = [queue[i] - V * plain.c(t, i, price) for i in range(plain.I) if plain.active(t, i)]
    rates = sorted(
        (queue[i] - V * plain.c(t, i, price)) / plain.e(t, i)
        for i in range(plain.I)
        if plain.active(t, i) and plain.e(t, i) > 0
    )
    close = any(b - a < 1e-9 for a, b in pairwise(rates))
    return whole or close or any(abs(w) < 1e-9 for w in worth)


@given(
    cases(**SMALL),
    st.sampled_from([None, "last"]),
    st.sampled_from(["rate", "zero"]),
)
def test_rounds_keep_the_current_cap_before_any_repair(case, reserve, init):
    """Fractions do with the current index; whole rounds do so where they are rounded down."""
    policy = SaddlePoint(
        init=init, residual="floor", reserve=reserve, guard=None, training_room=1.0
    )
    assert policy.index == "current"
    ran = step_through(case.instance, policy, seed=case.seed)
    for frame, before in zip(ran.frames, ran.before, strict=True):
        cap = case.plain.cap[frame.frame]
        if reserve == "last" and before.energy is not None:
            cap = max(cap - before.energy, 0.0)
        memory = policy.relax(before.memory, frame, cap)
        fractions = memory.saddle.point
        whole = policy.round(memory, frame, case.rng)
        limit = cap * (1 + 1e-9) + 1e-12
        assert float(frame.round_energy @ fractions) <= limit
        assert float(frame.round_energy @ whole) <= limit
        assert (fractions >= 0).all()
        assert (fractions <= frame.remaining + 1e-9).all()


@given(
    cases(**{**LONG, "slots": 2, "ample": False}),
    st.sampled_from(["current", "stale"]),
    st.sampled_from(["current", "stale"]),
    st.sampled_from(["rate", "zero"]),
    st.sampled_from(
        [(None, None, None), (0.5, 2.0, None), (3.0, 0.0, None), (None, None, "printed")]
    ),
)
def test_fractions_are_those_of_the_equations(case, index, gradient, init, factors):
    """Algorithm 0 from its equations, fed with the rounds that were left in each frame."""
    plain = case.plain
    alpha0, mu0, rule = factors
    options = {"index": index, "gradient": gradient, "init": init, "alpha0": alpha0, "mu0": mu0}
    policy = SaddlePoint(reserve=None, step=rule, **options)
    ran = step_through(case.instance, policy, seed=case.seed)
    left = [remaining(plain, ran.rounds, t) for t in range(plain.T)]
    expected = oracle.saddle_point(plain, left, step_rule=rule, **options)
    for t, (frame, before) in enumerate(zip(ran.frames, ran.before, strict=True)):
        found = policy.relax(before.memory, frame, plain.cap[t]).saddle.point
        assert found == pytest.approx(expected[t], abs=1e-8)


@given(cases(**SMALL), st.integers(0, 2**32 - 1))
def test_repairs_drop_as_little_as_their_order_allows(case, seed):
    plain, instance = case.exact, case.instance
    rng = np.random.default_rng(seed)
    t = int(rng.integers(plain.T))
    requested_rounds = rng.integers(0, 6, plain.I)
    cap = float(rng.choice([np.inf, 0.0, 1.0, 3.0, 7.5]))
    order = latest_deadline_first(instance.deadline)
    found = repair_cap(requested_rounds, instance.round_energy[t], order, cap)
    room = cap if cap == np.inf else Fraction(cap)
    assert found.tolist() == oracle.fit_cap(plain, t, requested_rounds.tolist(), room)
    share = float(rng.choice([0.0, 0.5, 1.0]))
    limit = share * plain.D * instance.capacity
    kept = repair_work(requested_rounds, instance.round_work, order, limit)
    assert (kept @ instance.round_work <= limit * (1 + 1e-9)).all()
    assert (kept <= requested_rounds).all()
    if plain.J == 1:
        assert kept.tolist() == oracle.fit_compute(
            plain, requested_rounds.tolist(), Fraction(share)
        )
    if (requested_rounds @ instance.round_work <= limit).all():
        assert (kept == requested_rounds).all()


@given(st.integers(0, 40), st.integers(1, 40), st.integers(1, 12), st.integers(1, 4), st.data())
def test_the_guard_requires_what_cannot_be_made_up_for(left, rounds, window, multiple, data):
    later = data.draw(st.integers(0, 12))
    pace = -(-multiple * rounds // window)  # the ceiling, in whole numbers
    found = deadline_guard(
        np.array([left]), np.array([rounds / window]), np.array([later]), float(multiple)
    )
    assert found.tolist() == [max(0, left - later * pace)]
