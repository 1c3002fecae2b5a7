"""A policy of one's own from its first line to a bound that others check without edgeopt."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from edgeopt.cli.main import run
from edgeopt.collection import load, names
from edgeopt.models.rescue import solve_p1_lp
from edgeopt.testing import check_policy
from tests.draws import LEAN

ROOT = Path(__file__).parents[2]

SOURCE = '''
import numpy as np
from edgeopt.online.rescue import Placement


class Steady:
    """Takes the placement of most profit per slot, where it pays at least a share of the best."""

    system = "rescue"
    name = "steady"

    def start(self, instance):
        return instance

    def decide(self, instance, arrival, rng):
        rate = instance.expected_profit[arrival.slot, arrival.device] / instance.mean_duration
        free = np.where(arrival.idle[:, None], rate, 0.0)
        server, profile = np.unravel_index(free.argmax(), free.shape)
        if free[server, profile] <= 0.0:
            return None, instance
        return Placement(int(server), int(profile)), instance

    def learn(self, instance, arrival, decision, finished):
        return instance
'''


@pytest.fixture
def policy(tmp_path, monkeypatch) -> str:
    (tmp_path / "steady_policy.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    return "steady_policy:Steady"


def test_from_a_policy_to_a_bound_that_others_check(policy, tmp_path, capsys) -> None:
    module, _, kind = policy.partition(":")
    assert not check_policy(getattr(importlib.import_module(module), kind)(), "rescue").failed

    out = tmp_path / "board"
    those = ",".join(names(system="rescue", size="s")) if LEAN else "s"
    runs = "5" if LEAN else "20"
    given = ["bench", "--instances", those, "--online", f"{policy},random", "--runs", runs]
    program = [sys.executable, "-c", "from edgeopt.cli import main; main()"]
    done = subprocess.run(
        [*program, *given, "--out", str(out)],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "rescue, 4 instances: " in done.stdout
    rows = pd.read_csv(out / "results.csv").query("system == 'rescue'").set_index("instance")
    mine = rows[rows["competitor"] == policy]
    assert sorted(mine.index) == sorted(names(system="rescue", size="s"))
    submitted = out / "submissions/steady_policy_Steady.json"
    assert run(["bench", "check", str(submitted), "--again"]) == 0
    assert "valid: 4 results" in capsys.readouterr().out

    name = mine.index[0]
    proof = solve_p1_lp(load(name)).certificate(name=name)
    empty = tmp_path / "empty"
    empty.mkdir()
    proof.save(empty / "bound.json", checker=True)
    assert run(["verify", str(empty / "bound.json"), "--instance", name]) == 0
    assert "the program is that of the instance" in capsys.readouterr().out

    def checked() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-I", "-S", "checker.py", "bound.json"],
            cwd=empty, env={}, capture_output=True, text=True, check=False,
        )  # fmt: skip

    assert checked().returncode == 0
    assert f"{proof.bound!r}" in checked().stdout
    content = json.loads((empty / "bound.json").read_text())
    content["claim"]["bound"] = repr(proof.bound * 0.99)
    (empty / "bound.json").write_text(json.dumps(content))
    assert checked().returncode == 1
    assert "refused" in checked().stdout
