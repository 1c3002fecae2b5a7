"""Durations under noise, held to closed forms and to plain simulation."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, exp, factorial, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.instances.tapfinger import (
    TapFingerInstance,
    expected_durations,
    from_bundled,
    generate,
    shortest_durations,
)
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import draws


def alone(speeds, *, slowing=False, noise=0.1):
    """One cluster whose bundles of 1, 2, ... CPU cores have these speeds."""
    return TapFingerInstance(
        capacity=[[len(speeds), 0]],
        minimum=[[1, 0]],
        speed=np.concatenate([[0.0], speeds])[None, :, None],
        arrival=[],
        kind=[],
        eligible=np.zeros((0, 1)),
        slowing=[slowing],
        noise=noise,
    )


def mean(speed, *, slowing=False, noise=0.1):
    return expected_durations(alone([speed], slowing=slowing, noise=noise))[0, 0, 1, 0]


def below(total, terms):
    """Chance that a sum of uniform numbers in [0, 1] is below a number (Irwin and Hall)."""
    if total <= 0:
        return Fraction(0)
    if total >= terms:
        return Fraction(1)
    signs = ((-1) ** k * comb(terms, k) * (total - k) ** terms for k in range(int(total) + 1))
    return Fraction(sum(signs)) / factorial(terms)


def by_sums(speed, noise):
    """Mean slots if progress is always positive: a task runs on while its sum is below 1."""
    slots = Fraction(1)
    for n in range(1, int(1 / (speed - noise)) + 1):
        slots += below((1 - n * speed + n * noise) / (2 * noise), n)
    return slots


@given(st.integers(4, 30), st.integers(1, 16))
@settings(max_examples=draws(40))
def test_means_of_even_progress_are_exact(speed, part):
    gain, noise = Fraction(speed, 30), Fraction(speed, 30) * Fraction(part, 18)
    exact = by_sums(gain, noise)
    assert mean(float(gain), noise=float(noise)) == pytest.approx(float(exact), abs=2e-5)


@pytest.mark.parametrize("speed", [0.9, 0.5, 0.1, 0.02])
@pytest.mark.parametrize("slowing", [False, True])
def test_means_under_the_largest_noise_have_a_closed_form(speed, slowing):
    # From any progress, the slot stands still or leads to any greater progress with density 1/2.
    top, low = sqrt(1.2), sqrt(0.2)
    if slowing:
        integral = 2 * ((top - low) / speed - log((1 + speed * top) / (1 + speed * low)) / speed**2)
        exact = 2 * exp(integral) / (1 + speed * top)
    else:
        exact = 2 * exp(1 / (1 + speed)) / (1 + speed)
    assert mean(speed, slowing=slowing, noise=1.0) == pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize(("speed", "noise"), [(0.06, 0.1), (0.3, 0.1), (0.05, 0.3), (0.02, 0.01)])
def test_means_of_slowing_progress_are_those_of_runs(speed, noise):
    rng = np.random.default_rng(0)
    runs = 100_000
    progress, slots = np.zeros(runs), np.zeros(runs)
    while (open_ := progress < 1 - 1e-9).any():
        slots += open_
        law = speed * np.sqrt(np.maximum(0, 1.2 - progress))
        step = np.maximum(0, law + rng.uniform(-noise, noise, runs))
        progress = np.where(open_, progress + step, progress)
    # 6 standard errors: false alarm 2e-9.
    error = 6 * slots.std() / sqrt(runs) + 1e-4
    assert abs(mean(speed, slowing=True, noise=noise) - slots.mean()) < error


def test_the_noise_of_the_paper_speeds_slow_tasks_up():
    slots = expected_durations(generate(single_start=True))[0, 1, 2]
    assert slots[1] == pytest.approx(18.405, abs=0.001)  # 21 without noise
    assert slots[2] == pytest.approx(10.58, abs=0.01)  # 10 without
    even = expected_durations(generate(single_start=True, law="constant"))[0, 1, 2]
    assert even[1] == pytest.approx(15.984, abs=0.001)  # 17 without


def test_without_noise_nothing_changes():
    for instance in (generate(), from_bundled()):
        np.testing.assert_array_equal(expected_durations(instance), instance.duration)
        np.testing.assert_array_equal(shortest_durations(instance), instance.duration)
        assert not expected_durations(instance).flags.writeable


@given(tapfinger_instances(noise=True))
@settings(max_examples=draws(30))
def test_means_lie_above_the_least(instance):
    slots, least = expected_durations(instance), shortest_durations(instance)
    assert slots.dtype == np.float64
    assert least.dtype == np.int64
    assert ((slots > 0) == (instance.duration > 0)).all()
    assert ((least > 0) == (instance.duration > 0)).all()
    assert (least <= instance.duration).all()
    assert (slots >= least).all()
    same = instance.speed[0] == instance.speed[-1]
    held = (slots[0] > 0) & (slots[-1] > 0) & same
    assert (slots[0][held] == slots[-1][held]).all()


@given(
    st.sampled_from([0.9, 0.85, 0.6, 0.34, 0.3, 0.25, 0.2, 0.15, 0.05]),
    st.booleans(),
    st.sampled_from([0.05, 0.1, 0.15, 0.25, 0.3, 1.0]),
)
@settings(max_examples=draws(60))
def test_no_noise_is_faster_than_the_least(speed, slowing, noise):
    least = shortest_durations(alone([speed], slowing=slowing, noise=noise))[0, 0, 1, 0]

    def slots(noises):
        progress = 0.0
        for n, part in enumerate(noises, start=1):
            law = speed * sqrt(max(0.0, 1.2 - progress)) if slowing else speed
            progress += max(0.0, law + part * noise)
            if progress >= 1 - 1e-9:
                return n
        return len(noises) + 1

    # The largest noise in every slot takes just so long; no sequence of five levels less.
    assert slots([1.0] * least) == least
    levels = [1, 0.5, 0, -0.5, -1] if least <= 5 else [1, -1]
    assert least > 12 or all(slots(parts) == least for parts in product(levels, repeat=least - 1))
