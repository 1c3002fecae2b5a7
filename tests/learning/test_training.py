"""The loop of training: it solves a toy, stops early, and goes on after a kill bit for bit."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from edgeopt.errors import InputError, OptionError
from edgeopt.learning import Checkpoint, ReplayBuffer, train

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytestmark = pytest.mark.trains

from tests.learning.bandit import Bandit  # noqa: E402


def test_a_bandit_of_two_states_is_solved(tmp_path):
    found = train(Bandit(1), tmp_path, updates=200, every=20)
    assert found.checkpoint.curve[-1]["reward"] == pytest.approx(0.85)
    assert [row["updates"] for row in found.rows] == list(range(0, 201, 20))
    assert found.seconds > 0.0
    read = Checkpoint.load(found.path, system="toy", learner="bandit")
    assert "seconds" not in read.curve[0]
    assert read.updates == read.planned == 200
    rewards = [row["reward"] for row in read.curve]
    assert read.kept == read.curve[rewards.index(max(rewards))]["updates"]
    assert read.versions["torch"] == torch.__version__


def test_same_seed_same_bytes_and_others_differ(tmp_path):
    files = [
        train(Bandit(seed), tmp_path / name, updates=40, every=20).path.read_bytes()
        for seed, name in ((2, "a"), (2, "b"), (3, "c"))
    ]
    assert files[0] == files[1] != files[2]


def test_updates_of_several_gradient_steps_count_them(tmp_path):
    class Twice(Bandit):
        """One whose updates take two gradient steps."""

        steps = 0

        def update(self):
            super().update()
            self.steps += 2

    for made, each in ((Bandit(0), 1), (Twice(0), 2)):
        found = train(made, tmp_path / str(each), updates=40, every=20)
        assert [row["steps"] for row in found.rows] == [0, 20 * each, 40 * each]
        assert [row["steps"] for row in found.checkpoint.curve] == [0, 20 * each, 40 * each]


def test_the_best_weights_are_kept(tmp_path):
    class Falling(Bandit):
        """One whose figure gets worse."""

        def evaluate(self):
            return {"reward": -float(len(self.buffer))}

    before = Falling(0).weights()
    found = train(Falling(0), tmp_path, updates=20, every=10)
    assert found.checkpoint.kept == 0
    assert found.best == found.rows[0]
    for name, array in before.items():
        np.testing.assert_array_equal(found.checkpoint.weights[name], array)


def test_a_killed_training_ends_as_one_that_was_not(tmp_path):
    whole = train(Bandit(3), tmp_path / "whole", updates=200, every=10)
    command = [sys.executable, "-m", "tests.learning.bandit", str(tmp_path / "killed")]
    killed = subprocess.Popen(command)
    resume = tmp_path / "killed" / "resume.safetensors"
    until = time.monotonic() + 60.0
    while not resume.exists() and killed.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    assert not (tmp_path / "killed" / "policy.safetensors").exists()
    rows = []
    train(Bandit(3), tmp_path / "killed", updates=200, every=10, report=rows.append)
    assert rows[0]["updates"] > 0
    again = (tmp_path / "killed" / "policy.safetensors").read_bytes()
    assert again == whole.path.read_bytes()


def test_minutes_stop_early_and_the_rest_can_follow(tmp_path):
    whole = train(Bandit(4), tmp_path / "whole", updates=60, every=20)
    stopped = train(Bandit(4), tmp_path / "part", updates=60, every=20, minutes=1e-9)
    assert (stopped.checkpoint.updates, stopped.checkpoint.planned) == (1, 60)
    assert stopped.checkpoint.stopped
    rest = train(Bandit(4), tmp_path / "part", updates=60, every=20)
    assert rest.path.read_bytes() == whole.path.read_bytes()


def test_another_training_is_not_taken_up(tmp_path):
    train(Bandit(5), tmp_path, updates=20, every=10)
    with pytest.raises(OptionError, match="state of another training; seeds, settings differ"):
        train(Bandit(6), tmp_path, updates=20, every=10)
    path = tmp_path / "resume.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match="damaged"):
        train(Bandit(5), tmp_path, updates=20, every=10)


def test_a_buffer_keeps_the_latest_rows_as_a_list_does():
    draw = np.random.default_rng(0)
    buffer, listed = ReplayBuffer(7), []
    for _ in range(20):
        rows = draw.normal(size=int(draw.integers(0, 10)))
        buffer.add({"x": rows, "y": np.stack([rows, -rows], axis=1)})
        listed = (listed + list(rows))[-7:]
        held = buffer.rows()
        assert sorted(held["x"]) == sorted(listed)
        np.testing.assert_array_equal(held["y"], np.stack([held["x"], -held["x"]], axis=1))
    restored = ReplayBuffer(7)
    restored.restore(buffer.state())
    for one in (buffer, restored):
        one.add({"x": np.ones(3), "y": np.ones((3, 2))})
    first, second = (one.sample(50, np.random.default_rng(1)) for one in (buffer, restored))
    np.testing.assert_array_equal(first["y"], second["y"])
    with pytest.raises(InputError, match="must have the arrays"):
        buffer.add({"x": np.ones(1)})
    with pytest.raises(InputError, match="must have the shape"):
        buffer.add({"x": np.ones(2), "y": np.ones((1, 2))})
    with pytest.raises(InputError, match="holds no row"):
        ReplayBuffer(3).sample(1, draw)
