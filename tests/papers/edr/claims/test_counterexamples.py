"""Numbers of the counterexamples, by pen and paper."""

from fractions import Fraction

import numpy as np
import pytest
from edgeopt_papers.edr.claims import counterexamples as named_instances
from edgeopt_papers.edr.claims import instances as named
from edgeopt_papers.edr.claims.evaluation import Evaluation
from edgeopt_papers.edr.claims.separation import (
    _clients,
    corrected_constant,
    published_constant,
    route_spread,
)

from edgeopt.bounds import check, growth_exponent
from edgeopt.instances.edr import generate
from edgeopt.instances.edr.named import tiled

STEP = 10 ** (-1 / 3)
"""Both step sizes over ten frames, where rates and costs are 1."""

A_T = STEP * 11 / 2 + STEP * 10 / 2 + 2**2 / (2 * STEP)
"""Bound of Lemma 4 with U = F = 1 and D = 2 over ten frames: 9.183."""

REFUTED = [
    # claim, instance, measured, guaranteed
    ("lemma1.published", named.half(), 0, 1 / 2),
    ("lemma1.drawn", named.half(), 1, 1 / 2),
    ("lemma1.drawn", named.two(), 3, 13 / 10),
    ("lemma2.published", named.half(), 0, 1 / 2),
    ("lemma2.published", named.two(), 1 / 2, 13 / 10),
    ("equation27.published", named.few_frames(), 5**2, 2**2),
    ("equation46.published", named.few_frames(), 5, 1),
    ("theorem2.reset", named.departed(), 1, 0),
    ("equation21.published", named.overtrained(), 0, 2 ** (-1 / 3)),
    ("cap.published", named.sudden_cap(), 1, 1 / 2),
    ("equation38.current", named.sudden_cap(), 0, 1 / (4 * 2 ** (-1 / 3))),
    ("theorem1.published", named.jensen_half(), 5 / 2 - 5, 0 - 5),
    ("fit.published", named.always_dropped(100), 99, 0),
    ("fit.published", named.always_dropped(10), 9, 0),
    ("lemma5.published", named_instances.lemma5(), 0, -68.989),
    ("theorem3.published", named_instances.theorem3(), -2.73303, A_T - 60.981),
    ("sublinear.published", named.alternating_price(16), 1.00213, 2 / 3),
    ("equation49.published", named.dear_requests(), 5, 1),
    ("equation49.published", named.cheap_requests(), 1 / 2, 1),
    ("corollary1.published", named.uncapped(), 1.52532, 2 / 3),
    ("equation17.published", named_instances.theorem3(), 1, 2 / 3),
    ("even_split.published", named.spread_training(), 1 / 2, 0),
    ("price.one_side", named_instances.mixed_price(), 10, 5),
    ("h2.published", named.dear_requests(), -1, 0),
    ("equation8.published", named.rounded_up(), 2, 3 / 2),
    ("capacity.published", named.local_peaks(), 1, 0),
]


def published_by_hand(capacity):
    """Equation (48) with I = J = N = D = 1, T = 10, E = r = S = d = 1, Q = 10, w = 1/10."""
    T, Q, R, w, b = 10, 10, 2, Fraction(1, 10), Fraction(1, 1000)
    return T * R + T * capacity + T * b * capacity - T * Q - T * b * w - T * w


@pytest.mark.parametrize(
    ("instance", "capacity", "wanted"),
    [
        (named_instances.lemma5(), Fraction(6, 5), -68.989),
        (named_instances.theorem3(), Fraction(2), -60.981),
    ],
)
def test_published_constant_by_hand(instance, capacity, wanted):
    assert float(published_by_hand(capacity)) == pytest.approx(wanted, abs=1e-12)
    assert published_constant(instance) == pytest.approx(wanted, abs=1e-9)
    # The rounds of the task counted once, not ten times; every price is 1.
    assert corrected_constant(instance) == pytest.approx(wanted + 90, abs=1e-9)
    assert route_spread(instance) == 0


@pytest.mark.parametrize(
    ("claim", "instance", "measured", "guaranteed"),
    [
        # One request of 1 Wh, and room for two: the printed inequalities are about energy.
        ("equation55", named.dear_requests(), 1, 2),
        ("equation55.priced", named.dear_requests(), 5, 10),
        ("equation57", named.cheap_requests(), 1, 1),
        ("equation57.priced", named.cheap_requests(), 1 / 2, 1 / 2),
    ],
)
def test_energy_of_requests_by_hand(claim, instance, measured, guaranteed):
    [found] = check(f"edr.{claim}", instance)
    assert found.verdict == "holds"
    assert (found.measured, found.guaranteed) == pytest.approx((measured, guaranteed))


def test_corrected_constant_of_lemma5_is_21():
    assert corrected_constant(named_instances.lemma5()) == pytest.approx(21.011, abs=1e-9)


def test_theorem3_by_a_plain_run():
    """One task, a cap of 2 Wh: the step is a clipped line, and no more is needed to run it."""
    x, multiplier, total = 1.0, 0.0, 0.0
    for _ in range(10):
        total += x
        multiplier = max(0.0, multiplier + STEP * (1 - x))
        x = min(max(x - STEP * (1 - multiplier), 0.0), 2.0)
    assert total - 10 == pytest.approx(-2.733, abs=5e-4)
    [found] = check("edr.theorem3", named_instances.theorem3())
    assert found.verdict == "holds"
    assert found.measured == pytest.approx(total - 10, abs=1e-9)
    assert found.guaranteed == pytest.approx(A_T, abs=1e-9)
    assert pytest.approx(9.183, abs=5e-4) == A_T
    [false] = check("edr.theorem3.published", named_instances.theorem3())
    assert false.guaranteed == pytest.approx(-51.80, abs=5e-3)


def test_capacity_of_lemma5_does_not_serve_the_run():
    """The run reaches 1.89 rounds, and 1.99 GFLOP do not fit into 1.2."""
    view = Evaluation(named_instances.lemma5())
    assert view.points.max() == pytest.approx(1.8896, abs=1e-4)
    assert view.serving.slot_by_slot(9, view.points[9]).unserved > 0
    other = Evaluation(named_instances.theorem3())
    assert other.serving.slot_by_slot(9, other.points[9]).unserved == 0


@pytest.mark.parametrize(("rounds", "cost"), [(0.0, 0.0), (0.5, 0.0), (1.0, 5.0)])
def test_cost_of_serving_beside_jensen_by_hand(rounds, cost):
    serving = Evaluation(named_instances.jensen()).serving
    assert serving.slot_by_slot(0, [rounds]).cost(0.0) == pytest.approx(cost)


def test_expected_cost_of_jensen_is_5_halves():
    [found] = check("edr.theorem1", named.jensen_half())
    assert found.verdict == "holds"
    assert (found.measured, found.guaranteed) == (pytest.approx(2.5), pytest.approx(0.0))


def test_regret_of_alternating_prices_grows_by_one_in_every_frame_but_the_first():
    [found] = check("edr.sublinear.published", named.alternating_price(16))
    growth = found.certificate["growth"]
    assert growth.values == pytest.approx(growth.horizons - 1)
    assert growth.exponent == pytest.approx(
        growth_exponent([16, 32, 64, 128], [15, 31, 63, 127]).exponent
    )


def test_repeated_frames_repeat_the_energy_of_rounds():
    base = generate(rng=1, sites=3, tasks=2, frames=3, slots=1, power="frame")
    long = tiled(base, 2)
    assert (long.round_energy == np.vstack([base.round_energy] * 2)).all()
    assert len(np.unique(base.round_energy[:, 0])) == 3


def test_energy_of_clients_adds_up_to_that_of_a_round():
    instance = generate(rng=1, sites=4, tasks=3, frames=3, slots=1, power="frame", clients=3)
    of_client = np.where(instance.client, _clients(instance)[0], 0.0)
    np.testing.assert_allclose(of_client.sum(axis=2), instance.round_energy, rtol=1e-12)


def test_published_constant_is_linear_in_the_horizon():
    base = published_constant(named_instances.lemma5())
    for times in (4, 8, 16, 32):
        assert published_constant(tiled(named_instances.lemma5(), times)) == pytest.approx(
            times * base
        )


@pytest.mark.parametrize(
    ("frame", "residual", "distribution"),
    [
        (named.two(), "floor", {(0, 0): "1/2", (1, 0): "1/2"}),
        (named.two(), "bernoulli",
         {(0, 0): "7/40", (0, 1): "13/40", (1, 0): "17/40", (1, 1): "3/40"}),
        (named.three(), "floor", {(0, 0, 1): "7/18", (0, 1, 0): "14/45", (1, 0, 0): "3/10"}),
        (named.three(), "bernoulli",
         {(0, 0, 1): "7/50", (0, 1, 0): "21/100", (0, 1, 1): "7/20", (1, 0, 0): "1/20",
          (1, 0, 1): "21/100", (1, 1, 0): "1/25"}),
    ],
)  # fmt: skip
def test_laws_by_hand(frame, residual, distribution):
    assert frame.distribution(residual) == {
        outcome: Fraction(p) for outcome, p in distribution.items()
    }


def test_departed_task_keeps_its_multiplier():
    """Fit 1, multiplier mu: the bound of the fit is met with equality."""
    [found] = check("edr.theorem2.multipliers", named.departed())
    assert (found.measured, found.guaranteed) == (pytest.approx(1), pytest.approx(1))
    run = Evaluation(named.departed()).simulated["current"]
    assert run.multipliers.ravel() == pytest.approx(np.array([0, 1, 1]) * run.sizes.dual)
