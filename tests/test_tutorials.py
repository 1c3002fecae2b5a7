"""Every tutorial runs as it is, says what its results say, and leaves nothing behind."""

from __future__ import annotations

import importlib
import io
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from edgeopt.cli.main import run
from edgeopt.explore import server
from edgeopt.tutorials import NAMES, find_tutorial, tutorials

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

pytest.importorskip("marimo", reason="the extra notebook")


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Mapping[str, Any]]:
    """Return a function that runs a tutorial in an empty folder and returns what it defines."""

    def run(name: str) -> Mapping[str, Any]:
        here, scratch = tmp_path / "here", tmp_path / "scratch"
        for folder in (here, scratch):
            folder.mkdir()
        monkeypatch.chdir(here)
        monkeypatch.setattr(tempfile, "tempdir", str(scratch))
        outputs, found = importlib.import_module(f"edgeopt.tutorials.{name}").app.run()
        shown = [output for output in outputs if output is not None]
        # A heading, prose with its figures, and results.
        texts = [one for one in (getattr(output, "_markdown_text", "") for output in shown) if one]
        [tutorial] = [one for one in tutorials() if one.path.stem == name]
        assert texts[0].startswith(f"# {tutorial.title}\n")
        assert len(shown) > len(texts) > 3
        assert not any("nan" in text.split() or "None" in text.split() for text in texts)
        assert list(here.iterdir()) == []
        return found

    return run


def test_comparison_reads_a_gap_an_interval_and_a_violation(ran: Any) -> None:
    found = ran("comparison")
    table, plan = found["study"].table.set_index("policy"), found["plan"]
    assert plan.objective <= plan.bound * (1 + 1e-9)
    guarded = table.drop("rescue")
    assert (guarded["violated"] == 0).all()
    assert table.loc["rescue", "violated"] > 0
    # In expectation nobody surpasses the bound, which is no larger than the one of the program.
    assert (guarded["value"] <= guarded["bound_value"] + 4 * guarded["value_se"]).all()
    assert (guarded["bound_value"] <= plan.bound).all()
    by_hand = (guarded["bound_value"] - guarded["value"]) / guarded["bound_value"]
    assert guarded["gap"].to_numpy() == pytest.approx(by_hand.to_numpy())
    assert (guarded["gap_low"] < guarded["gap"]).all()
    assert (guarded["gap"] < guarded["gap_high"]).all()
    assert found["best"] == guarded["gap"].idxmin() == "offers"


def test_tables_lead_to_a_plan_that_fits_and_to_refusals(ran: Any) -> None:
    found = ran("tables")
    tasks, minutes, plan = found["tasks"], found["minutes"], found["planned"]
    took = [
        math.ceil(minutes.loc[row.cores, (tasks.kind[task], row.GPUs)] / found["slot"])
        for task, row in plan.iterrows()
    ]
    assert (plan["completion"] - plan["start"]).tolist() == took
    assert (plan["start"] >= tasks["arrival"]).all()
    room = {"lab": (4, 1), "attic": (2, 0)}
    for slot in range(int(plan["completion"].max())):
        running = plan[(plan["start"] <= slot) & (slot < plan["completion"])]
        for cluster, (cores, gpus) in room.items():
            here = running[running["cluster"] == cluster]
            assert here["cores"].sum() <= cores
            assert here["GPUs"].sum() <= gpus
    flow = (tasks["weight"] * (plan["completion"] - tasks["arrival"])).sum()
    assert found["best"].bound == found["best"].objective == flow
    # Policies that do not know what comes, and never change a bundle, cannot do better.
    assert (found["study"].table["value"] >= flow).all()
    assert (found["study"].table["bound_value"] <= flow).all()
    for text, words in zip(
        found["refused"],
        (["langauge"], ["weight", "mail"], ["2.5"], ["machine"], ["GB"]),
        strict=True,
    ):
        assert all(word in text for word in words), text


def test_policy_that_knows_the_future_is_found_and_repaired(ran: Any) -> None:
    found = ran("policy")
    assert found["report"].failed == ("causal",)
    assert found["repaired"].failed == ()
    assert found["repaired"]["causal"].outcome == "passed"
    # What it knew made it look better.
    after = found["second"].table.set_index("policy")["gap"]["so far"]
    assert found["gap"]["average"] < 0.1 < after
    results = found["found"].results
    assert (results["failed"] == "").all()
    assert (results["violated"] == 0).all()
    assert (results["value"] <= results["bound"] * (1 + 1e-9)).all()
    assert len(results) == 3 * len(found["found"].results["instance"].unique()) == 12


def test_certificates_are_proven_alone_and_damaged_ones_refused(ran: Any) -> None:
    found = ran("certificate")
    assert found["report"].failed == ()
    assert found["report"]["promises"].outcome == "passed"
    mine = found["found"].results.query("competitor == '__main__:BestSafe'")
    assert (mine["violated"] == 0).all()
    assert (mine["value"] <= mine["bound"] + 4 * mine["se"]).all()
    code, said = found["sound"]
    assert code == found["sound_idn"][0] == 0
    assert "proven" in said
    assert float(found["content"]["claim"]["bound"]) == pytest.approx(found["plan"].bound)
    codes = {file: code for file, (code, _) in found["refused"].items()}
    assert codes == {"better.json": 1, "halved.json": 1, "cut.json": 2}


def test_printed_claim_fails_where_the_corrected_one_holds(ran: Any) -> None:
    found = ran("claim")
    assert found["found"].verdict.verdict == "violated"
    for on in ("found", "smallest"):
        printed, corrected = (
            found["verdicts"][on, claim] for claim in ("edr.cap.published", "edr.cap")
        )
        assert (printed.verdict, corrected.verdict) == ("violated", "holds")
        assert printed.measured > printed.guaranteed
        assert corrected.measured <= corrected.guaranteed
    # The cap falls: nothing else is needed.
    cap = found["small"].instance.cap
    assert cap[-1] < cap[-2]
    assert found["points"]["smallest"].nunique() < found["points"]["this evening"].nunique()
    # By hand: who takes the first task of two slots misses the second one.
    point, verdict = found["refuted"].parameters, found["refuted"].verdict
    assert point["slots"] == 2
    assert verdict.measured == pytest.approx(1.0)
    assert verdict.guaranteed == pytest.approx(point["chance"] * point["profit"] / 3)
    assert verdict.verdict == "violated"
    assert found["on_drawn"].verdict in ("holds", "loose")


def test_figures_of_the_text_come_from_results() -> None:
    """No decimals are typed into the prose of a tutorial."""
    import ast
    import re

    for tutorial in tutorials():
        tree = ast.parse(tutorial.path.read_text(encoding="utf-8"))
        for call in ast.walk(tree):
            if not (isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "md"):
                continue
            [given] = call.args
            parts = given.values if isinstance(given, ast.JoinedStr) else [given]
            prose = " ".join(str(one.value) for one in parts if isinstance(one, ast.Constant))
            prose = re.sub(r"`[^`]*`|\$[^$]*\$", "", prose)
            assert re.findall(r"\d+\.\d+|\d+ ?%", prose) == []


def test_tutorials_are_listed_by_number() -> None:
    known = tutorials()
    assert [one.number for one in known] == [1, 2, 3, 4, 5]
    assert [one.path.stem for one in known] == list(NAMES)
    assert all(one.title and one.text.endswith(".") and len(one.text) <= 100 for one in known)
    with pytest.raises(ValueError, match="there are tutorials 1 to 5"):
        find_tutorial(6)


def test_the_command_lists_copies_and_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["tutorial"]) == 0
    said = capsys.readouterr().out
    for one in tutorials():
        assert f"{one.number}  {one.title}: {one.text}\n" in said
    folder = tmp_path / "new" / "mine"
    assert run(["tutorial", "5", "--copy", str(folder)]) == 0
    assert [path.name for path in folder.iterdir()] == ["claim.py"]
    (folder / "claim.py").write_text("mine")
    capsys.readouterr()
    assert run(["tutorial", "--copy", str(folder)]) == 2  # all or none
    assert "claim.py exists; --force replaces it" in capsys.readouterr().err
    assert [path.read_text() for path in folder.iterdir()] == ["mine"]
    assert run(["tutorial", "--copy", str(folder), "--force"]) == 0
    for one in tutorials():
        assert (folder / one.path.name).read_bytes() == one.path.read_bytes()
    for wrong, text in ((["6"], "there are tutorials 1 to 5"), (["one"], "whole number")):
        assert run(["tutorial", *wrong]) == 2
        [line] = capsys.readouterr().err.splitlines()[-1:]
        assert text in line


@pytest.mark.long
def test_a_copy_is_a_script(tmp_path: Path) -> None:
    assert run(["tutorial", "5", "--copy", str(tmp_path)]) == 0
    here = tmp_path / "here"
    here.mkdir()
    done = subprocess.run(
        [sys.executable, "../claim.py"], cwd=here, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("edr.cap.published: violated\nedr.cap: holds\n")
    assert list(here.iterdir()) == []


def test_what_is_opened_is_a_copy_for_this_machine_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: dict[str, Any] = {}

    class Started:
        def __init__(self, arguments: list[str], **_: Any) -> None:
            self.stdin = io.BytesIO()
            started["arguments"] = arguments
            [started["file"]] = [Path(one) for one in arguments if one.endswith(".py")]
            assert started["file"].read_bytes() == find_tutorial(3).path.read_bytes()

        def wait(self, seconds: float | None = None) -> int:
            return 0

        def terminate(self) -> None:
            started["ended"] = True

    monkeypatch.setattr(server.subprocess, "Popen", Started)
    assert run(["tutorial", "3", "--no-browser"]) == 0
    arguments = started["arguments"]
    assert "edit" in arguments
    assert arguments[arguments.index("--host") + 1] == "127.0.0.1"
    assert {"--token", "--headless"} <= set(arguments)
    assert "access_token=" in capsys.readouterr().out
    assert started["ended"]
    assert not started["file"].exists()
    monkeypatch.setattr(server, "find_spec", lambda name: None)
    assert run(["tutorial", "3"]) == 2
    assert 'edgeopt tutorial needs marimo: pip install "edgeopt[notebook]"' in (
        capsys.readouterr().err
    )
