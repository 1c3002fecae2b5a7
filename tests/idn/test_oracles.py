"""The oracles themselves: against each other, and against values worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.idn.cases import draw_adversary, draw_allocation, draw_network
from tests.oracles.idn import (
    Plain,
    gains,
    policies,
    programs,
    serving,
)

F = Fraction
SEEDS = st.integers(0, 2**32 - 1)


def one_node(options, r, *, deployed, repositories):
    """Return a type that sees `options` = (cost, capacity) at one node; all repositories at it."""
    models = len(options)
    return Plain(
        wire={},
        size=((F(1),) * models,),
        delay=(tuple(F(c) for c, _ in options),),
        capacity=(tuple(F(L) for _, L in options),),
        accuracy=(F(100),) * models,
        task=(0,) * models,
        budget=(F(models),),
        repository=(tuple(m in repositories for m in range(models)),),
        types=((0, (0,)),),
        requests=((r,),),
        alpha=F(1),
        cost=None,
        number=F,
    ), [[F(int(m in deployed or m in repositories)) for m in range(models)]]


def test_repositories_that_cannot_serve_all_part_the_forms_of_the_gain():
    plain, x = one_node([(1, 5), (F(3, 2), 10), (2, 10)], 10, deployed={1}, repositories={0, 2})
    potential = [[F(5), F(10), F(10)]]
    assert gains.gain_as_difference(plain, [10], potential, x) == F(5, 2)
    assert gains.gain_by_ranks(plain, [10], potential, x) == F(5, 2)
    assert gains.gain_below_repositories(plain, [10], potential, x) == 0


@given(SEEDS)
def test_the_slot_costs_what_its_own_capacities_say(seed):
    plain = draw_network(seed)
    x = draw_allocation(plain, np.random.default_rng(seed))
    for requests in plain.requests:
        loads = serving.every_order(plain, requests, x)
        if sum(requests) <= 6:
            distribution = serving.random_law(plain, requests, x)
            assert sum(distribution.values()) == 1
            loads += [list(map(list, load)) for load in distribution]
        for load in loads:
            assert [sum(row) for row in load] == list(requests)
            l = serving.potential(plain, requests, x, load)  # noqa: E741 - as in the mathematics
            assert serving.cost_of(plain, load) == gains.serving_cost(plain, requests, l, x)


def test_fluid_fills_models_in_the_order_of_their_pressure():
    plain, x = one_node([(1, 3), (2, 4), (3, 9)], 6, deployed={0, 1}, repositories={2})
    assert serving.fluid(plain, [6], x) == [[3, 3, 0]]
    two = replace(plain, types=(*plain.types, (0, (0,))))
    # rates 2 and 6: the first model fills at 3/8, the second at 7/8
    assert serving.fluid(two, [2, 6], x) == [
        [F(3, 4), F(1), F(1, 4)],
        [F(9, 4), F(3), F(3, 4)],
    ]


@given(SEEDS)
def test_brute_force_programs_and_greedy_in_their_order(seed):
    plain = draw_network(seed, nodes=3)
    rng = np.random.default_rng(seed)
    slots = [programs.Slot(r, draw_adversary(plain, r, rng), F(1, plain.T)) for r in plain.requests]
    best, _ = programs.best_static(plain, slots)
    every = max(
        programs.average_gain(plain, slots, x) for x in programs.allocations(plain, maximal=False)
    )
    assert best == every
    whole = programs.static_program(plain, slots, relax=False)
    relaxed = programs.static_program(plain, slots)
    assert whole.gain == pytest.approx(float(best), abs=1e-6)
    assert relaxed.gain >= float(best) - 1e-9
    # the shares of the relaxation are worth its value: the concave program is the same program
    y = [[F(min(1.0, max(0.0, float(v)))) for v in row] for row in relaxed.shares]
    assert float(programs.average_gain(plain, slots, y)) == pytest.approx(relaxed.gain, abs=1e-7)


@given(SEEDS)
def test_nothing_static_beats_the_cooperative_bound(seed):
    plain = draw_network(seed, nodes=3)
    slots = programs.slots_of(plain)
    whole = programs.cooperative_program(plain, slots, relax=False)
    relaxed = programs.cooperative_program(plain, slots)
    assert relaxed.gain >= whole.gain - 1e-7
    for x in programs.allocations(plain):
        orders = [serving.every_order(plain, r, x) for r in plain.requests]
        best = F(0)
        for slot, loads in zip(slots, orders, strict=True):
            alone = gains.serving_cost(plain, slot.requests, slot.potential, plain.repository)
            best += slot.weight * (alone - min(serving.cost_of(plain, load) for load in loads))
        assert float(best) <= whole.gain + 1e-6


def test_the_gain_at_run_time_is_not_submodular():
    """Two types, a model A that both use, a model B for the first alone."""
    plain = Plain(
        wire={(0, 1): F(0), (1, 0): F(0)},
        size=((F(1), F(1), F(1)),) * 2,
        delay=((F(1), F(0), F(9)),) * 2,
        capacity=((F(1), F(1), F(9)),) * 2,
        accuracy=(F(100),) * 3,
        task=(0, 0, 0),
        budget=(F(2), F(1)),
        repository=((False, False, False), (False, False, True)),
        types=((0, (0, 1)), (0, (0, 1))),
        requests=((1, 1),),
        alpha=F(0),
        # A saves 1 for the first type and 8 for the second, B saves 9 for the first
        cost=(
            ((F(9), F(1), F(99)), (F(99), F(99), F(10))),
            ((F(2), F(99), F(99)), (F(99), F(99), F(10))),
        ),
        number=F,
    )
    alone = F(20)

    def value(models):
        x = [[m in models for m in range(3)], [False, False, True]]
        return alone - serving.cost_of(plain, serving.sequential(plain, [1, 1], x, [0, 1]))

    assert [value(s) for s in ({0}, {1}, {0, 1})] == [1, 9, 17]


def test_replicas_share_a_counter_or_are_all_bought():
    plain, _ = one_node([(1, 4), (1, 4), (9, 9)], 4, deployed=(), repositories={2})
    home = replace(
        plain,
        wire={(0, 1): F(0), (1, 0): F(0)},
        size=plain.size * 2,
        delay=plain.delay * 2,
        capacity=plain.capacity * 2,
        budget=(F(2), F(1)),
        repository=((False,) * 3, (False, False, True)),
        types=((0, (0, 1)),),
    )
    counters = [[F(4)] for _ in range(3)]
    assert policies.fill_by_importance(home, 0, counters) == [True, False, False]
    counters = [[F(4)] for _ in range(3)]
    literal = policies.fill_by_importance(home, 0, counters, shared_ties=False)
    assert literal == [True, True, False]
