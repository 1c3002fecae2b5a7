"""``edgeopt search`` prints what it finds, saves it, and says what is wrong in one line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from edgeopt.bounds import claims
from edgeopt.bounds.search import rebuild
from edgeopt.cli.main import run
from edgeopt.instances.rescue import RescueInstance

if TYPE_CHECKING:
    from pathlib import Path


def test_a_find_is_printed_and_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "found.nc"
    assert run(["search", "rescue.routing.published", "--out", str(path)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    for word in ("rescue.routing.published", "violated", "few_slots_2", "arrival_0", str(path)):
        assert word in printed.out
    assert (
        "is known to be false; this search violates it, too. Corrected by rescue.routing."
        in printed.out
    )
    verdict = claims("rescue.routing.published")["rescue.routing.published"].check(
        RescueInstance.load(path)
    )
    assert verdict.verdict == "violated"


def test_a_find_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "found.json"
    options = ["--space", "rivals", "--budget", "50", "--seed", "4", "--out", str(path)]
    assert run(["search", "tapfinger.conflict.published", *options, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "violated"
    assert document["measured"] < document["guaranteed"]
    assert document["space"] == "rivals"
    assert document["evaluations"] <= 75
    assert document["file"] == str(path)
    assert document["spaces"] == ["rivals"]
    assert document["known_false"]
    [claim] = claims("tapfinger.conflict.published").values()
    assert document["corrected_by"] == list(claim.corrected_by)
    rivals = rebuild(path)
    numbers = (*rivals.score, *rivals.room, *rivals.gives)
    assert numbers == tuple(document["instance"].values())


def test_the_budget_is_told_in_sum(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "rescue.theorem1", "--budget", "4", "--json"]) == 0
    spaces = json.loads(capsys.readouterr().out)["spaces"]
    assert len(spaces) > 1
    assert run(["search", "rescue.theorem1", "--budget", "4"]) == 0
    printed = capsys.readouterr().out
    said = f"Searched {len(spaces)} parameter spaces ({', '.join(spaces)}): at most 4 instances in"
    assert f"{said} each, {4 * len(spaces)} in all" in printed
    assert "known to be false" not in printed


def test_a_broken_claim_that_should_hold_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    import dataclasses

    from edgeopt.bounds import registry

    known = claims("rescue.routing.published")["rescue.routing.published"]
    should_hold = dataclasses.replace(known, corrected_by=())
    monkeypatch.setattr(registry, "claims", lambda name: {name: should_hold})
    assert run(["search", known.id]) == 1


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["rescue.theorem9"], "did you mean rescue.theorem"),
        (["rescue"], "name one"),
        (["rescue.theorem1", "--space", "jobs"], "parameter space 'jobs' does not fit"),
        (["rescue.radio.published"], "unknown"),
        (["rescue.theorem1", "--out", "nowhere/found.nc"], "the directory does not exist"),
        (["rescue.theorem1", "--budget", "0"], "--budget"),
        (["rescue.theorem2.published", "--budget", "3"], "says nothing of few_slots_2"),
        ([], "Missing argument"),
    ],
)
def test_wrong_input_is_one_line(
    options: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["search", *options]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert complaint in printed.err
    assert printed.err.count("\n") == 1
