"""The learners of EDR: they find what backward induction finds, and repeat themselves."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from functools import cache
from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytestmark = pytest.mark.trains


from edgeopt.learning import train  # noqa: E402
from edgeopt.learning.edr import RlTraining  # noqa: E402
from edgeopt.learning.edr.macro import RoundsLearner, played  # noqa: E402
from edgeopt.learning.edr.micro import RoutingLearner, _padded, _value  # noqa: E402
from edgeopt.learning.edr.rounds import LEVELS, TaskEpisode, features_of  # noqa: E402
from edgeopt.learning.training import POLICY, RESUME  # noqa: E402
from edgeopt.online import simulate  # noqa: E402
from edgeopt.online.edr import EdrEnvironment, Scenario  # noqa: E402
from edgeopt.studies.edr.learners import LEARNERS  # noqa: E402
from tests.edr import killed  # noqa: E402
from tests.edr.killed import lottery  # noqa: E402
from tests.edr.nets import one_task  # noqa: E402

QUICK = {"rate": 3e-3, "batch": 32, "copied": 25, "warm_up": 32, "per_update": 1}


def test_values_of_two_frames_are_those_of_backward_induction():
    # Two rounds at cost 1 now or 3 in the last frame; twice the mean, 4, for one that is missing.
    instance, scale = one_task([1.0, 3.0], 0, 2), 4.0
    found = RoundsLearner(
        seed=0, updates=700, draw=lambda seed: instance, validation=(0,), least=0.5, **QUICK
    )
    for _ in range(700):
        found.update()
    episode = TaskEpisode(instance)
    first = found.values(features_of(episode.observe()))[0]
    episode.act(np.array([1]), np.array([0]))
    last = found.values(features_of(episode.observe()))[0]
    # At an even rate of 1, levels mean 0, 1, 1, 2, 2, 2 rounds.
    np.testing.assert_allclose(first * scale, [-6, -4, -4, -2, -2, -2], atol=1e-2 * scale)
    np.testing.assert_allclose(last * scale, [-4, -3, -3, -3, -3, -3], atol=1e-2 * scale)


CHEAP = 0.3
"""Probability that a round costs 1 in a frame, and not 3."""


def stopping(window):
    """One round, to be done in one of six frames, after eight of which three were cheap."""
    return one_task([1.0, 3.0, 3.0, 1.0, 3.0, 1.0, 3.0, 3.0, *window], 8, 1)


@pytest.mark.long
def test_stopping_at_two_costs_is_near_the_exact_recursion():
    windows = list(product((1.0, 3.0), repeat=6))
    cheap = np.array(windows) == 1.0
    chance = np.where(cheap, CHEAP, 1.0 - CHEAP).prod(axis=1)
    instances = [stopping(window) for window in windows]
    drawn = np.random.default_rng(0).choice(len(windows), size=300, p=chance)
    found = RoundsLearner(
        seed=0, updates=300, draw=lambda seed: instances[drawn[seed % 300]], validation=(0,),
        **QUICK | {"rate": 5e-3, "batch": 128},
    )  # fmt: skip
    for _ in range(300):
        found.update()
    # In the last frame the round is done at any cost, before that where it is below waiting.
    value = CHEAP * 1.0 + (1.0 - CHEAP) * 3.0
    for _ in range(5):
        value = CHEAP * min(1.0, value) + (1.0 - CHEAP) * min(3.0, value)
    mine = [played(TaskEpisode(instance), found.values) for instance in instances]
    scale = [instance.round_cost[8:, 0].mean() for instance in instances]
    assert value <= chance @ (np.array(mine) * scale) <= 1.03 * value


def test_same_seed_same_weights(tmp_path):
    def made(name, **options):
        small = {"draw": lottery, "validation": (0,), "warm_up": 20, "batch": 8}
        one = RoundsLearner(updates=20, **small | options)
        return train(one, tmp_path / name, updates=20, every=10)

    runs = [made("a", seed=2), made("b", seed=2)]
    other = made("c", seed=3)
    weights = [run.checkpoint.weights["0.weight"] for run in (*runs, other)]
    np.testing.assert_array_equal(weights[0], weights[1])
    assert not np.array_equal(weights[0], weights[2])
    assert runs[0].path.read_bytes() == runs[1].path.read_bytes()
    assert min(runs[0].checkpoint.seeds["training"]) >= 1000
    seen = runs[0].checkpoint.seeds["training"]
    assert [lottery(seed).fingerprint() for seed in seen] == list(runs[0].checkpoint.instances)
    assert RlTraining(runs[0].checkpoint).checkpoint is runs[0].checkpoint


def test_the_small_state():
    small = RoundsLearner(state="printed-minimal", updates=5)
    assert small.weights()["0.weight"].shape == (64, 5)
    assert small.values(np.zeros((3, 10))).shape == (3, len(LEVELS))


def test_an_untrained_network_does_not_beat_the_even_rate():
    untrained = [RoundsLearner(seed=seed, updates=1, validation=(900, 901)) for seed in range(2)]
    costs = [one.evaluate()["cost"] for one in untrained]
    even = []
    for episode in untrained[0]._judged:
        episode.restart()
        while (tasks := episode.observe()) is not None:
            left = tasks.deadline - tasks.frame + 1
            asked = np.ceil(tasks.remaining / left - 1e-9).astype(np.int64)
            episode.act(asked, np.arange(asked.size))
        even.append(episode.share())
    assert np.mean(costs) > np.mean(even)


def test_macro_goes_on_where_it_was_stopped(tmp_path):
    def run(folder, **how):
        made = RoundsLearner(seed=1, updates=8, draw=lottery, validation=(0,), warm_up=20, batch=8)
        return train(made, tmp_path / folder, updates=8, every=4, **how)

    whole = run("whole")
    assert run("part", minutes=1e-9).checkpoint.updates == 1
    assert run("part").path.read_bytes() == whole.path.read_bytes()


@pytest.mark.long
def test_macro_ends_with_the_same_bytes_after_a_kill(tmp_path):
    whole, folder = killed.trained(tmp_path / "whole").read_bytes(), tmp_path / "killed"
    training = subprocess.Popen([sys.executable, "-m", killed.__name__, str(folder)])
    until = time.monotonic() + 60.0
    while not (folder / RESUME).exists() and training.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    training.send_signal(signal.SIGKILL)
    assert training.wait() == -signal.SIGKILL
    assert not (folder / POLICY).exists()
    rows = []
    assert killed.trained(folder, report=rows.append).read_bytes() == whole
    assert rows[0]["updates"] > 0


@cache
def sites(seed):
    from edgeopt.instances.edr import generate

    return generate(rng=seed, sites=4, tasks=3, frames=6, slots=3)


def test_macro_stands_beside_scenario_control_and_the_bound():
    from edgeopt.instances.edr import generate

    instance = generate(rng=0, sites=3, tasks=4, frames=6, slots=2)
    made = RoundsLearner(updates=1, draw=lambda seed: instance, validation=(0,))
    found = LEARNERS[0].references(made)
    assert list(found) == ["Scenario control", "Even rate", "Bound"]
    assert found["Bound"] <= found["Scenario control"] * (1 + 1e-9)
    run = simulate(EdrEnvironment(instance), Scenario(), rng=0, runs=1)
    energy = instance.energy_weight * instance.price @ run.training_energy[0]
    paid = energy + run.training_delay_cost[0].sum() + run.late_cost[0].sum()
    window = instance.active
    usual = np.where(window, instance.round_cost, 0.0).sum(axis=0) / window.sum(axis=0)
    assert found["Scenario control"] == pytest.approx(paid / (usual @ instance.rounds), rel=1e-9)


def test_routing_goes_on_where_it_was_interrupted():
    options = {"draw": sites, "validation": (0,), "warm_up": 9, "batch": 8, "frames": 2, "alone": 2}
    whole, first, second = (RoutingLearner(seed=0, updates=6, **options) for _ in range(3))
    for _ in range(6):
        whole.update()
    for _ in range(3):
        first.update()
    second.restore(first.state())
    for _ in range(3):
        second.update()
    for name, array in whole.weights().items():
        np.testing.assert_array_equal(second.weights()[name], array)
    assert whole.evaluate()["gap"] >= -1e-9


def test_rows_that_count_for_nothing_and_their_order_change_no_value():
    made = RoutingLearner(seed=0, updates=1, draw=sites, validation=(0,))
    shown = next(one.rows for one, _ in made._slots() if len(one.rows.demand) > 3)
    count = len(shown.demand)
    order = np.random.default_rng(0).permutation(count)
    mixed = shown._replace(
        features=shown.features[order], route=shown.route[order], demand=shown.demand[order]
    )
    found = []
    for rows, size in ((shown, count), (shown, count + 9), (mixed, count)):
        held = {name: torch.from_numpy(part)[None] for name, part in _padded(rows, size).items()}
        even = held["valid"].float()
        found.append(float(_value(made.nets["critic"], held, even).detach()))
    np.testing.assert_allclose(found, found[0], rtol=1e-5)
