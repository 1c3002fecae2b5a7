from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.rescue import generate, tight
from edgeopt.instances.rescue.generate import duration_table

DISTRIBUTIONS = ["normal", "bimodal", "uniform", "heavy"]


def plain_scenario(seed, K, J, T, n_res, density, demand, arrival, sla):
    """The generator again, draw by draw, in plain steps and another style."""
    rng = np.random.default_rng(seed)
    base = rng.uniform(5, 10, K)
    c = np.clip(base[:, None] * rng.uniform(0.9, 1.1, (K, T)), 5, 10)
    reserved = []
    for k in range(K):
        n = n_res // K + (1 if k < n_res % K else 0)
        if n == 0:
            continue
        total = max(n, round(density * T))
        lengths = 1 + rng.multinomial(total - n, rng.dirichlet([5.0] * n))
        gaps = rng.multinomial(T - total, rng.dirichlet([1.0] * (n + 1)))
        windows, at = [], 0
        for gap, length in zip(gaps, lengths, strict=False):
            at += gap
            windows.append((at, at + length - 1))
            at += length
        inside = sum(c[k, a : b + 1].sum() for a, b in windows)
        share = min(1.0, demand * c[k].sum() / inside)
        reserved += [(k, a, b, share * c[k, a : b + 1].sum()) for a, b in windows]
    wave = [
        min(1, max(0, arrival * (1 + 0.4 * math.sin(2 * math.pi * t / T)))) for t in range(1, T + 1)
    ]
    p = np.outer(wave, rng.dirichlet([5.0] * J))
    km = rng.uniform(0.15, 0.45, (J, K))
    snr = 10 ** ((20 - (128.1 + 37.6 * np.log10(km)) + 109.2) / 10)
    rate = 3e6 * np.log2(1 + snr)
    megabytes = rng.uniform(8, 32, J) + rng.uniform(1, 4, J)
    deadline = np.round(sla + rng.uniform(-2, 2, J))
    budget = np.maximum(0, np.floor(deadline[:, None] - megabytes[:, None] * 8e6 / rate / 10))
    draws = [
        rng.uniform(*r, J)
        for r in [(0.5, 10), (0.75, 0.9), (0.002, 0.01), (0.05, 0.25), (0.02, 0.2)]
    ]
    return c, reserved, p, budget, draws


@pytest.mark.parametrize(
    ("seed", "K", "J", "T", "n_res", "density", "demand"),
    [(0, 4, 14, 100, 16, 0.4, 0.15), (7, 3, 5, 40, 7, 0.1, 0.3), (2, 5, 2, 20, 3, 0.6, 0.05)],
)
def test_draws_follow_their_fixed_order(seed, K, J, T, n_res, density, demand):
    instance = generate(
        servers=K, devices=J, horizon=T, reserved=n_res, density=density, demand=demand, rng=seed,
        arrival=0.6, sla=20,
    )  # fmt: skip
    c, reserved, p, budget, draws = plain_scenario(seed, K, J, T, n_res, density, demand, 0.6, 20)
    np.testing.assert_allclose(instance.capacity, c, rtol=1e-14)
    np.testing.assert_allclose(instance.arrival, p, rtol=1e-13)
    np.testing.assert_array_equal(instance.profit.budget, budget)
    columns = [np.array(column) for column in zip(*reserved, strict=True)]
    np.testing.assert_array_equal(instance.reserved.server, columns[0])
    np.testing.assert_array_equal(instance.reserved.start, columns[1])
    np.testing.assert_array_equal(instance.reserved.end, columns[2])
    np.testing.assert_allclose(instance.reserved.demand, columns[3], rtol=1e-13)
    model = instance.profit
    for name, values in zip(
        ["weight", "accuracy", "decay", "gain", "curvature"], draws, strict=True
    ):
        np.testing.assert_array_equal(getattr(model, name), values)
    assert model.best_accuracy == 0.95
    assert set(model.trained.tolist()) == {-1}


def test_standard_instance_has_the_size_of_the_published_program():
    # Rows, columns and nonzeros of the relaxation follow from the instance alone.
    instance = generate()
    T, J, K, L, _ = instance.shape
    window = int((instance.reserved.end - instance.reserved.start + 1).sum())
    reach = np.minimum(instance.longest, T - np.arange(T)[:, None])
    nonzeros = T * J * K * L + J * K * int(reach.sum()) + 2 * window
    assert (T * J + K * T + 16, T * J * K * L + window, nonzeros) == (1816, 28160, 605_120)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("profiles", [3, 5, 8])
def test_durations_have_their_nominal_means(distribution, profiles):
    instance = generate(distribution=distribution, profiles=profiles, horizon=30)
    nominal = np.linspace(4, 20, profiles)
    slack = {"normal": 0.01, "bimodal": 0.01, "uniform": 0.51, "heavy": 3.5}[distribution]
    assert np.abs(instance.mean_duration - nominal).max() < slack
    assert instance.max_duration == (60 if distribution == "heavy" else 40)
    reach = 3 if distribution == "heavy" else 1.5 if distribution == "uniform" else 2
    assert (instance.longest <= reach * nominal + 1e-9).all()


def test_distributions_have_their_shapes():
    uniform = duration_table("uniform", 1, 10, 10)[0]
    assert np.flatnonzero(uniform).tolist() == list(range(4, 15))
    np.testing.assert_allclose(uniform[4:15], 1 / 11)
    bimodal = duration_table("bimodal", 1, 20, 20)[0]
    assert bimodal[11] == pytest.approx(bimodal[27])  # 12 and 28 slots
    assert bimodal[19] < 1e-3 * bimodal[11]
    normal = duration_table("normal", 1, 20, 20)[0]
    assert normal[24] / normal[19] == pytest.approx(math.exp(-0.5))  # one deviation off
    heavy = duration_table("heavy", 1, 20, 20)[0]
    smallest = 20 * 1.1 / 2.1
    far = [heavy[d - 1] / ((d - 0.5) ** -2.1 - (d + 0.5) ** -2.1) for d in (15, 30, 60)]
    assert max(far) == pytest.approx(min(far))
    assert not heavy[: int(smallest - 0.5)].any()
    assert heavy[12:].argmax() == 0  # decreasing behind the cell of the smallest duration


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_negligible_mass_is_dropped(distribution):
    table = duration_table(distribution, 4, 3, 17)
    positive = np.where(table > 0, table, np.inf)
    assert (positive.min(axis=1) >= 1e-9 * table.max(axis=1)).all()
    np.testing.assert_allclose(table.sum(axis=1), 1, rtol=1e-14)


def test_links_let_runs_meet_their_deadlines():
    thermal, literal = generate(), generate(radio="literal")
    assert 15 <= thermal.profit.budget.min() <= thermal.profit.budget.max() <= 25
    assert (literal.profit.budget >= thermal.profit.budget).all()
    assert (literal.profit.budget > thermal.profit.budget).any()


def test_demand_beyond_the_windows_is_clipped():
    instance = generate(density=0.1, demand=0.9, horizon=50)
    for i, task in enumerate(instance.reserved.demand):
        k, a, b = (getattr(instance.reserved, name)[i] for name in ("server", "start", "end"))
        assert task == pytest.approx(instance.capacity[k, a : b + 1].sum(), rel=1e-12)


def test_nothing_of_the_size_of_the_program_is_stored():
    generate()  # compiled and imported before the count
    tracemalloc.start()
    instance = generate(servers=100, devices=250, profiles=8, horizon=500)
    instance.fingerprint()
    block = instance.expected_profit_block(slice(250, 252))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert block.shape == (2, 250, 100, 8)
    assert peak < 40e6  # T J K L alone would take 800 MB
    assert block.max() > 0


@pytest.mark.parametrize(
    "options",
    [
        {"servers": 0},
        {"devices": 0},
        {"profiles": 0},
        {"horizon": 0},
        {"arrival": 1.5},
        {"reserved": -1},
        {"reserved": 50, "servers": 1, "horizon": 40},
        {"density": 1.2},
        {"demand": 0.0},
        {"distribution": "cauchy"},
        {"radio": "analogue"},
        {"shortest": 0.5},
        {"shortest": 9, "longest": 5},
    ],
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(OptionError):
        generate(**options)


def test_profiles_that_coincide_once_discretised_are_refused():
    with pytest.raises(InstanceError, match="exceed that of the profile before"):
        generate(distribution="uniform", profiles=30, shortest=4, longest=5)


@pytest.mark.parametrize("eps", [0.5, 0.1, 0.01])
def test_tight_instance_is_that_of_the_theorem(eps):
    instance = tight(eps)
    assert instance.shape == (2, 3, 1, 1, 2)
    assert instance.longest.tolist() == [2]
    p, R = instance.arrival, instance.expected_profit[:, :, 0, 0]
    np.testing.assert_allclose(p.sum(axis=1), 1)
    # Accepting the first task or waiting for the second: one and the same for any online policy.
    online = max(R[0, 0], (p[1] * R[1]).sum())
    hindsight = sum(p[1, j] * max(R[0, 0], R[1, j]) for j in range(3))
    assert online == pytest.approx(1)
    assert hindsight == pytest.approx(2 - eps)


@pytest.mark.parametrize("eps", [0.0, 1.0, -0.1, float("nan")])
def test_tight_needs_a_probability_inside(eps):
    with pytest.raises(OptionError):
        tight(eps)
