"""What policies wish to train, how wishes are repaired, and greedy routing, against plain loops."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.online.edr import (
    EvenRate,
    Greedy,
    Lyapunov,
    QuantileThreshold,
    SaddlePoint,
    deadline_guard,
    latest_deadline_first,
    repair_cap,
    repair_work,
)
from tests.draws import draws
from tests.edr.cases import cases
from tests.edr.run_policy import live
from tests.oracles.edr import policies as oracle

SMALL = {"frames": 4, "slots": 2, "sites": 3, "tasks": 3, "types": 2}
# Sites never limit training, so that what is tested is all there is between wish and decision.
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
    life = live(case.instance, EvenRate(guard=guard, reserve=None, training_room=1.0), seed=0)
    for t, rounds in enumerate(life.rounds):
        left = remaining(plain, life.rounds, t)
        requested_rounds = oracle.even_rate(plain, t, left)
        assert rounds == repaired(plain, t, requested_rounds, left, plain.cap[t], guard=guard)


@given(cases(**SMALL), st.sampled_from([0.5, 1.0]))
def test_greedy_trains_and_routes_one_after_the_other(case, share):
    plain = case.exact
    policy = Greedy(guard=None, reserve=None, training_room=share)
    life = live(case.instance, policy, seed=0)
    for t, rounds in enumerate(life.rounds):
        left = remaining(plain, life.rounds, t)
        assert rounds == oracle.greedy(plain, t, left, Fraction(share))
        training = plain.training(rounds)
        for tau in range(plain.D):
            expected = oracle.greedy_routing(plain, t, tau, training)
            found = {key[:4]: v for key, v in life.flows[t].items() if key[0] == tau}
            for key in expected.keys() | found.keys():
                amount = pytest.approx(float(expected.get(key, 0)), rel=0, abs=1e-9)
                assert found.get(key, 0.0) == amount


@given(cases(**ROOMY), st.sampled_from([0.0, 0.1, 1.0]))
def test_queues_outweigh_costs(case, V):
    """LYNO without guard and reserve: the knapsack of the queues, rounded, and cut to the cap."""
    plain = case.plain
    policy = Lyapunov(weight=V, guard=None, reserve=None, training_room=1.0)
    life = live(case.instance, policy, seed=0)
    queue = [0.0] * plain.I
    for t, rounds in enumerate(life.rounds):
        left = remaining(plain, life.rounds, t)
        price = plain.price[t - 1] if t else plain.price_prior
        requested_rounds, fractions = oracle.lyapunov(plain, t, price, queue, left, V)
        if not ambiguous(plain, t, price, queue, V, fractions):
            assert rounds == repaired(plain, t, requested_rounds, left, plain.cap[t])
        for i in range(plain.I):
            alive = plain.active(t, i) and left[i] > 0
            queue[i] = max(0.0, queue[i] + float(plain.a(i)) - rounds[i]) if alive else 0.0


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


@given(cases(**LONG), st.sampled_from([(8.0, 1.6), (2.0, 1.0), (1.0, 0.5)]))
def test_cheap_rounds_are_trained(case, options):
    """A round counts among the costs that its own threshold is taken from."""
    multiple, bias = options
    plain = case.plain
    policy = QuantileThreshold(
        multiple=multiple, bias=bias, guard=None, reserve=None, training_room=1.0
    )
    free = case.instance.replace(cap=np.full(plain.T, np.inf))
    life = live(free, policy, seed=0)
    history = [[] for _ in range(plain.I)]
    for t, rounds in enumerate(life.rounds):
        left = remaining(plain, life.rounds, t)
        price = plain.price[t - 1] if t else plain.price_prior
        cost = [plain.c(t, i, price) for i in range(plain.I)]
        for i in range(plain.I):
            if plain.active(t, i):
                history[i].append(cost[i])
        requested_rounds = oracle.quantile(plain, t, history, cost, left, multiple, bias)
        assert rounds == requested_rounds


@given(
    cases(**SMALL),
    st.sampled_from(
        [{"residual": "floor"}, {"margin": True}, {"residual": "floor", "carry": True}]
    ),
    st.sampled_from([None, "last"]),
    st.sampled_from(["rate", "zero"]),
)
def test_rounds_keep_the_current_cap_before_any_repair(case, residual, reserve, init):
    """Fractions do with the current index; whole rounds do so with floor or a margin."""
    policy = SaddlePoint(init=init, reserve=reserve, guard=None, training_room=1.0, **residual)
    assert policy.index == "current"
    life = live(case.instance, policy, seed=case.seed)
    for frame, before in zip(life.frames, life.before, strict=True):
        cap = case.plain.cap[frame.frame]
        if reserve == "last" and before.energy is not None:
            cap = max(cap - before.energy, 0.0)
        memory = policy.relax(before.memory, frame, cap)
        fractions = memory.saddle.point
        whole, _ = policy.round(memory, frame, case.rng)
        limit = cap * (1 + 1e-9) + 1e-12
        # what earlier rounding has lost is added before the fractions are rounded
        assert float(frame.round_energy @ (fractions + memory.carried)) <= limit
        assert float(frame.round_energy @ whole) <= limit
        assert (fractions >= 0).all()
        assert (fractions <= frame.remaining + 1e-9).all()


@given(
    cases(**{**LONG, "slots": 2, "ample": False}),
    st.sampled_from(["current", "stale"]),
    st.sampled_from(["current", "stale"]),
    st.sampled_from(["rate", "zero"]),
    st.sampled_from([(None, None), (0.5, 2.0), (3.0, 0.0)]),
)
def test_fractions_are_those_of_the_equations(case, index, gradient, init, factors):
    """Algorithm 0 from its equations, fed with the rounds that were left in each frame."""
    plain = case.plain
    alpha0, mu0 = factors
    options = {"index": index, "gradient": gradient, "init": init, "alpha0": alpha0, "mu0": mu0}
    policy = SaddlePoint(reserve=None, **options)
    life = live(case.instance, policy, seed=case.seed)
    left = [remaining(plain, life.rounds, t) for t in range(plain.T)]
    expected = oracle.saddle_point(plain, left, **options)
    for t, (frame, before) in enumerate(zip(life.frames, life.before, strict=True)):
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


@given(st.integers(0, 30), st.integers(1, 30), st.integers(1, 12), st.integers(1, 4), st.data())
def test_the_guard_asks_for_what_cannot_be_made_up_for(left, rounds, window, multiple, data):
    later = data.draw(st.integers(0, window - 1))
    pace = -(-multiple * rounds // window)  # the ceiling, in whole numbers
    found = deadline_guard(
        np.array([left]), np.array([rounds / window]), np.array([later]), float(multiple)
    )
    assert found.tolist() == [max(0, left - later * pace)]
