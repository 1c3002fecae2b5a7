from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.edr import rounds_needed


@pytest.mark.parametrize(("sites", "published"), [(20, 317), (50, 323), (1000, 327)])
def test_rounds_in_the_paper_setting(sites, published):
    clients = min(30, sites)
    assert rounds_needed(sites=sites, clients=clients) == published
    assert rounds_needed(sites=sites, clients=clients, rounds_bound="corrected") == 1


@pytest.mark.parametrize(
    ("sites", "clients", "rounds"), [(20, 20, 156), (20, 10, 157), (30, 30, 158), (50, 30, 159)]
)
def test_rounds_at_the_accuracy_of_the_default_instances(sites, clients, rounds):
    assert rounds_needed(sites=sites, clients=clients, accuracy=0.02) == rounds


def test_the_corrected_bound_is_below_one_round():
    # 2 (1 / 20 + 128e-4 + 8e-4) / 0.01 - 8 = 4.72 local steps, 5 of which make a round.
    assert math.ceil(4.72 / 5) == 1
    steps = {
        "sites": 20,
        "clients": 20,
        "local_steps": 1,
        "rounds_bound": "corrected",
        "gradient": 0.0,
    }
    assert rounds_needed(**steps) == 2  # 10 - 8
    assert rounds_needed(**steps, accuracy=0.001) == 92  # 100 - 8
    assert rounds_needed(**{**steps, "accuracy": 0.001, "local_steps": 5}) == 19  # 92 / 5


@given(
    st.integers(1, 30),
    st.integers(1, 30),
    st.sampled_from([1, 2, 5, 9]),
    st.tuples(*(st.sampled_from([Fraction(1, 4), Fraction(1), Fraction(3)]) for _ in range(3))),
    st.sampled_from([Fraction(0), Fraction(1, 64), Fraction(1, 2)]),
    st.booleans(),
    st.booleans(),
)
def test_rounds_follow_the_formula(sites, clients, steps, constants, gradient, corrected, own):
    clients = min(clients, sites)
    smooth, convex, accuracy = constants
    deviation = [Fraction(1 + (j if own else 0), 4) for j in range(sites)]
    variance = Fraction(0)
    for j in range(1, sites + 1):
        variance += (deviation[j - 1] / (sites if corrected else j)) ** 2
    variance += 8 * (steps - 1) ** 2 * gradient**2 + 8 * smooth * gradient**2
    if sites > 1:
        share = Fraction(4 * (sites - clients), clients * (sites - 1))
        variance += share * steps**2 * gradient**2
    bound = 2 * smooth * variance / (convex**2 * accuracy)
    if corrected:
        bound = (bound - max(8 * smooth / convex, steps)) / steps
    else:
        bound -= max(smooth / convex, steps)
    if abs(bound - round(bound)) < Fraction(1, 10**9):
        return  # rounding up is not stable there
    found = rounds_needed(
        sites=sites,
        clients=clients,
        accuracy=float(accuracy),
        local_steps=steps,
        smoothness=float(smooth),
        convexity=float(convex),
        deviation=np.array([float(d) for d in deviation]),
        gradient=float(gradient),
        rounds_bound="corrected" if corrected else "published",
    )
    assert found == max(1, math.ceil(bound))


@pytest.mark.parametrize(
    "options",
    [
        {"clients": 0},
        {"clients": 21},
        {"accuracy": 0.0},
        {"accuracy": np.nan},
        {"local_steps": 0},
        {"smoothness": -1.0},
        {"convexity": 0.0},
        {"gradient": -0.1},
        {"rounds_bound": "exact"},
    ],
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(OptionError):
        rounds_needed(**{"sites": 20, "clients": 20, **options})
