"""The live page without a browser: its notebook at many settings, its address, its program."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import zipfile
from fractions import Fraction
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from edgeopt.cli.main import run
from edgeopt.explore import controls as page
from edgeopt.explore import server
from edgeopt.studies import find_system
from edgeopt.studies.live import live_of
from edgeopt.studies.pages.instance import View
from edgeopt.studies.view import view
from tests.draws import some

if TYPE_CHECKING:
    from pathlib import Path

SYSTEMS = ("rescue", "idn", "oinc", "edr", "tapfinger")
SETTINGS = 10

needs_marimo = pytest.mark.skipif(find_spec("marimo") is None, reason="marimo is not installed")


def drawn(name: str, rng: np.random.Generator) -> page.Moved:
    """Draw small numbers within the range of every slider, and two policies."""
    record = find_system(name)
    source = live_of(record).source
    numbers = {}
    for one in page.sliders(record, source):
        # Sizes up to those at first, so that the test stays quick.
        most = one.high if one.change else one.start
        steps = int((most - one.low) / one.step + 1e-9)
        numbers[one.name] = round(one.low + one.step * int(rng.integers(steps + 1)), 9)
    chosen = [str(one) for one in rng.permutation(live_of(record).policies)[:2]]
    fewest = next(one.low for one in page.sliders(record, source) if one.name == "runs")
    return page.of_numbers(record, source, {**numbers, "runs": fewest, "seed": 5}, chosen)


@needs_marimo
@pytest.mark.parametrize("name", some(SYSTEMS, "oinc"))
def test_the_notebook_shows_the_view_at_ten_settings(name: str) -> None:
    from edgeopt.explore.page import app

    record, rng = find_system(name), np.random.default_rng(3)
    seen = set()
    for _ in range(SETTINGS):
        moved = drawn(name, rng)
        defs = {"given": {}, "record": record, "source": moved.source, "moved": moved}
        _, found = app.run(defs=defs)
        shown: View = found["view"]
        if not shown.table.empty:
            assert set(shown.table["policy"]) == set(moved.policies)
            assert re.search(rf"; ({moved.runs} runs|1 run); gap", shown.written)
        else:  # a rule of the instance, told in words
            assert "must" in shown.text
        seen.add(shown.text)
    assert len(seen) > SETTINGS // 2
    assert shown.text == page.shown(page.drawn(record, moved), moved).text


@needs_marimo
@pytest.mark.parametrize("name", some(SYSTEMS, "rescue", "idn"))
def test_a_certificate_of_the_bound_is_saved_or_a_sentence_says_why_not(
    name: str, tmp_path: Path
) -> None:
    from edgeopt.explore.page import app

    record = find_system(name)
    defs = {"given": {"runs": "5"}, "record": record, "source": live_of(record).source}
    _, found = app.run(defs=defs)
    pack, why = found["pack"], found["why"]
    if name not in ("rescue", "edr"):
        assert pack is None
        assert re.match(r"The [\w-]+ bound has no certificate: .{20,}[^.]\.$", why)
        return
    assert why == ""
    with zipfile.ZipFile(io.BytesIO(pack())) as archive:
        archive.extractall(tmp_path)
    bare = [sys.executable, "-I", "-S", "checker.py", "certificate.json"]
    done = subprocess.run(bare, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    claimed = json.loads((tmp_path / "certificate.json").read_text())["claim"]["bound"]
    assert float(Fraction(claimed)) == pytest.approx(found["view"].numbers["bound"], rel=1e-6)


def test_without_a_view_there_is_no_certificate_to_save() -> None:
    assert page.certificate(View("refused")) == (None, "")


@needs_marimo
def test_the_notebook_begins_at_the_first_settings() -> None:
    from edgeopt.explore.page import app

    record = find_system("tapfinger")
    source = live_of(record).source
    _, found = app.run(defs={"given": {"tasks": "10"}, "record": record, "source": source})
    assert found["moved"].numbers["tasks"] == 10
    assert set(found["moved"].policies) == set(live_of(record).policies)
    assert found["large"] is False


def test_an_address_keeps_the_state() -> None:
    rng = np.random.default_rng(1)
    for name in SYSTEMS:
        record = find_system(name)
        moved = drawn(name, rng)
        again = page.moved_to(record, moved.source, moved.address())
        assert set(again.policies) == set(moved.policies)
        assert (again.numbers, again.runs, again.seed) == (moved.numbers, moved.runs, moved.seed)


def test_what_is_wrong_in_an_address_is_as_at_first() -> None:
    record = find_system("rescue")
    wrong = {"servers": "many", "load": "1e9", "policies": "<b>,rescue", "seed": "nan", "x": "1"}
    moved = page.moved_to(record, "paper", wrong)
    assert moved.numbers["servers"] == 4
    assert moved.numbers["load"] == 1.0
    assert moved.policies == ("rescue",)
    assert moved.seed == 0
    several: Any = {"servers": ["3", "5"], "policies": ""}  # as a repeated parameter is read
    moved = page.moved_to(record, "paper", several)
    assert moved.numbers["servers"] == 4
    assert set(moved.policies) == set(live_of(record).policies)
    numbers = {**moved.numbers, "runs": moved.runs, "seed": moved.seed}
    assert page.of_numbers(record, "paper", numbers, []).policies == live_of(record).policies
    record, source = page.chosen({"system": "idn", "instance": "tables"}, {"system": "nothing"})
    assert (record.name, source) == ("idn", "tables")
    record, source = page.chosen({"system": "idn", "instance": "tables"}, {"system": "oinc"})
    assert (record.name, source) == ("oinc", live_of(record).source)


def test_an_impossible_instance_is_told_in_words() -> None:
    record = find_system("rescue")
    moved = page.moved_to(record, "paper", {"capacity": "0.8", "reserved": "1"})
    impossible = page.Moved("paper", {"load": 9.0}, 5, 0, ("rescue",))
    assert not isinstance(page.drawn(record, moved), str) or "reserved" in page.drawn(record, moved)
    text = page.drawn(record, impossible)
    assert "arrival" in text
    assert page.shown(text, impossible).text == text
    assert page.stamp(text, impossible) == "no instance (load 9), 5 scenarios, seed 0, 1 policy"
    assert page.size(record, text) == 0


def test_large_instances_are_told_from_small_ones() -> None:
    for name in SYSTEMS:
        record = find_system(name)
        live = live_of(record)
        small = page.drawn(record, page.moved_to(record, live.source, {}))
        assert page.size(record, small) < 1
        assert page.size(record, small) * live.most == live.columns(small)
    record = find_system("oinc")
    most = {one.name: f"{one.high:g}" for one in live_of(record).sliders}
    large = page.drawn(record, page.moved_to(record, "drawn", most))
    assert page.size(record, large) > 1
    assert page.slow(record, large)


def test_the_three_lines_of_a_page_run() -> None:
    record = find_system("tapfinger")
    moved = page.moved_to(record, "several", {"tasks": "10", "policies": "min", "runs": "2"})
    space: dict[str, Any] = {}
    exec(page.python(record, moved), space)
    expected = view(page.drawn(record, moved), moved.settings)
    pd.testing.assert_frame_equal(space["shown"].table, expected.table)


def test_without_marimo_the_command_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server, "find_spec", lambda name: None)
    assert run(["explore", "rescue"]) == 2
    said = capsys.readouterr().err
    assert 'pip install "edgeopt[notebook]"' in said
    assert said.count("\n") == 1


def test_the_command_refuses_what_it_cannot_show(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(server, "find_spec", lambda name: sys)
    for arguments, said in (
        (["explore", "recsue"], "unknown"),
        (
            ["explore", "rescue", "--instance", str(tmp_path / "none.nc")],
            "neither a file, a folder nor",
        ),
        (["explore", "rescue", "--port", "0"], "port"),
    ):
        assert run(arguments) == 2
        assert said in capsys.readouterr().err


def test_the_program_is_for_this_machine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    started: dict[str, Any] = {}

    class Started:
        def __init__(self, arguments: list[str], **more: Any) -> None:
            started.update(arguments=arguments, **more)
            self.stdin = io.BytesIO()

        def wait(self, seconds: float | None = None) -> int:
            return 0

        def terminate(self) -> None:
            started["ended"] = True

    monkeypatch.setattr(server, "find_spec", lambda name: sys)
    monkeypatch.setattr(server.subprocess, "Popen", Started)
    assert run(["explore", "idn", "--instance", "tables", "--no-browser"]) == 0
    arguments = started["arguments"]
    assert arguments[arguments.index("--host") + 1] == "127.0.0.1"
    assert "--token" in arguments
    assert "--headless" in arguments
    assert arguments[-4:] == ["--system", "idn", "--instance", "tables"]
    assert started["ended"]
    # The token is in no list of processes.
    served = server.serve("idn")
    token = served.address.partition("access_token=")[2].partition("&")[0]
    assert len(token) >= 20
    assert not any(token in one for one in started["arguments"])
    assert server.serve("idn").address != served.address


def test_a_port_in_use_is_refused() -> None:
    import socket

    with socket.socket() as taken:
        taken.bind((server.HOST, 0))
        taken.listen()
        with pytest.raises(ValueError, match="choose another"):
            server._free(taken.getsockname()[1])
    assert server._free(None) > 0


def test_a_system_without_sliders_says_so(offering: None) -> None:
    record = find_system("stopping")
    with pytest.raises(ValueError, match="has no sliders"):
        live_of(record)
    shown, _ = page.chosen({"system": "idn"}, {"system": "stopping"})
    assert shown.name == "idn"
