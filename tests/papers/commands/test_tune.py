"""``edgeopt tune`` prints what it finds, saves it, and says what is wrong in one line."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from edgeopt_papers import cases
from edgeopt_papers.tuning import run as tuning
from edgeopt_papers.tuning import stored

from edgeopt.cli.main import run
from edgeopt.instances.edr import generate

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    few = replace(
        cases.tuning("edr"),
        make=lambda mode, seed: generate(rng=seed, sites=4, tasks=4, frames=12, slots=2),
        seeds=(420,),
        test_seeds=(440, 441),
    )
    monkeypatch.setattr(tuning.cases, "tuning", lambda name: few)
    tuning._bounded.cache_clear()


def test_what_is_found_is_printed_and_saved(tmp_path: Path, capsys) -> None:
    path = tmp_path / "tuned.json"
    options = ["--policies", "lyapunov,greedy", "--modes", "none", "--budget", "3", "--test"]
    assert run(["tune", "edr", *options, "--out", str(path)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    found = stored._read(path).rows
    assert list(found) == [("lyapunov", "none"), ("greedy", "none")]
    one = found["lyapunov", "none"]
    assert len(one.evaluations) == 3
    assert f"{sum(one.tested) / 2:.4g}" in printed.out
    assert f"{one.best.value:.4g}" in printed.out
    for word in ("lyapunov", "greedy", "as by default", "test, best", str(path), "was tried"):
        assert word in printed.out
    assert run(["tune", "edr", *options, "--out", str(path)]) == 2
    assert "--force" in capsys.readouterr().err
    assert run(["tune", "edr", *options, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown.pop("schema") == 1
    assert shown == json.loads(path.read_text(encoding="utf-8"))


def test_what_is_wrong_is_said(capsys) -> None:
    assert run(["tune", "edr", "--policies", "best"]) == 2
    assert "policy = 'best'" in capsys.readouterr().err
