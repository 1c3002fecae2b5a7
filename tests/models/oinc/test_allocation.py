"""The exact shares of one site: proven by their own prices, checked against slower ways."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from edgeopt.errors import InstanceError
from edgeopt.models.oinc.slot import allocate, fits
from tests.draws import draws
from tests.oinc.strategies import slot_problems


def site_of(problem):
    return problem.transmission[:, 0], problem.computation[:, 0], problem.slo, problem.room[0]


def latency(A, E, band, cpu):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(A > 0, A / band, 0.0) + np.where(E > 0, E / cpu, 0.0)


@given(slot_problems(requests=6, sites=1, objectives=True))
@settings(max_examples=draws(100))
def test_every_verdict_is_proven(problem):
    A, E, S, room = site_of(problem)
    found = fits(A, E, S, room)
    assert found.band.sum() <= 1 + 1e-12
    assert found.cpu.sum() <= room * (1 + 1e-12)
    if (A > 0).any() or (E > 0).any():
        took = latency(A, E, found.band, found.cpu)
        assert (took <= found.stretch * S * (1 + 1e-9)).all()
    p, q = found.proof
    assert p >= 0
    assert q >= 0
    demand = ((p * np.sqrt(A) + q * np.sqrt(E)) ** 2 / S).sum()
    assert demand == pytest.approx(found.stretch * (p**2 + q**2 * room), rel=1e-9)


def test_prices_are_how_fast_the_objective_falls():
    A, E, S = np.array([0.1, 0.2, 0.05]), np.array([0.05, 0.02, 0.1]), np.array([0.6, 0.8, 0.7])
    found, step = allocate(A, E, S, room=0.8), 1e-6
    more = allocate(A, E, S, room=0.8 + step)
    assert (found.objective - more.objective) / step == pytest.approx(found.cpu_price, rel=1e-4)
    # A wider band is the same as less to send.
    more = allocate(A / (1 + step), E, S, room=0.8)
    assert (found.objective - more.objective) / step == pytest.approx(found.band_price, rel=1e-4)


@pytest.mark.parametrize("factor", [1 - 1e-9, 1.0, 1 + 1e-9])
@pytest.mark.parametrize(("A", "E"), list(product([0.1, 0.0], [0.1, 0.0])))
def test_objectives_that_just_fit(A, E, factor):
    """Two equal requests: the best common latency is 2 A + 2 E."""
    latency_best = 2 * A + 2 * E
    if latency_best == 0.0:
        assert allocate([A, A], [E, E], [1e-3, 1e-3]).objective == 0.0
        return
    slo = np.full(2, latency_best * factor)
    found = allocate([A, A], [E, E], slo)
    assert found.feasible == (factor >= 1.0)
    if found.feasible:
        assert found.objective == pytest.approx(2 * latency_best)


def test_requests_that_only_send_may_fill_the_band():
    """They need half of the band each; what only computes has the CPU to itself."""
    found = allocate([0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.1, 0.4], [1.0, 1.0, np.inf, np.inf])
    assert found.feasible
    assert found.band == pytest.approx([0.5, 0.5, 0, 0])
    assert found.cpu == pytest.approx([0, 0, 1 / 3, 2 / 3])


def test_nothing_to_share_out():
    found = allocate([], [], [])
    assert found.feasible
    assert found.objective == 0.0


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (([-0.1], [0.1], [1.0]), "transmission"),
        (([0.1], [np.nan], [1.0]), "computation"),
        (([0.1], [0.1], [0.0]), "slo"),
        (([0.1, 0.1], [0.1], [1.0, 1.0]), "computation"),
        (([0.1], [0.1], [[1.0]]), "slo"),
        (([0.1], [np.inf], None), "computation"),
    ],
)
def test_bad_numbers_are_named(arguments, field):
    with pytest.raises(InstanceError, match=field):
        allocate(*arguments)


@pytest.mark.parametrize("room", [0.0, 1.5, -1.0, np.nan])
def test_bad_room_is_named(room):
    with pytest.raises(InstanceError, match="room"):
        allocate([0.1], [0.1], room=room)


def test_bad_weight_is_named():
    with pytest.raises(InstanceError, match="weight"):
        allocate([0.1], [0.1], weight=[0.0])


def test_a_verdict_is_true_where_it_says_yes():
    assert fits([0.1], [0.1], [0.3])
    assert not fits([0.1], [0.1], [0.1])
    assert allocate([0.1], [0.1], [0.3])
    assert not allocate([0.1], [0.1], [0.1])
