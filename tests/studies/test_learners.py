"""Training from several seeds: its page, its curve, and options that are refused."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from edgeopt.cli.main import run
from edgeopt.cli.train import course
from edgeopt.errors import OptionError
from edgeopt.learning import Checkpoint
from edgeopt.studies import LearnerEntry, find_system
from edgeopt.studies.training import trained
from tests.studies.stopping import SYSTEM, LevelLearner
from tests.studies.svg_marks import HAIR, agrees, away, read


def test_a_training_writes_weights_curve_and_page(tmp_path):
    rows = []
    found = trained(
        SYSTEM, seeds=(3, 4), updates=40, out=tmp_path / "out",
        report=lambda seed, row: rows.append((seed, row["updates"])),
    )  # fmt: skip
    assert rows == [(seed, done) for seed in (3, 4) for done in (0, 10, 20, 30, 40)]
    curve = pd.read_csv(tmp_path / "out" / "curve.csv")
    assert list(curve["updates"]) == [0, 10, 20, 30, 40]
    last = [found.by_seed[seed].rows[-1]["reward"] for seed in (3, 4)]
    assert curve["figure_low"].iloc[-1] == pytest.approx(min(last))
    assert curve["figure_high"].iloc[-1] == pytest.approx(max(last))
    assert curve["figure"].iloc[-1] > curve["figure"].iloc[0] + 0.1
    assert "2 seeds" in found.sentence()
    best = [max(one.rows, key=lambda row: row["reward"]) for one in found.by_seed.values()]
    assert [one.checkpoint.kept for one in found.by_seed.values()] == [
        row["updates"] for row in best
    ]
    assert f"mean reward {np.mean([row['reward'] for row in best]):.4g}" in found.sentence()
    marks = read((tmp_path / "out" / "curve.svg").read_text())
    [panel] = marks.panels
    assert len(marks.legend) == 1 + len(found.references)
    for label, style in marks.legend:
        [line] = [one.at for one in panel.lines if one.style == style]
        title, _, said = label.rpartition(", ")
        figure = np.full(5, found.references[title]) if title else curve["figure"]
        assert not title or agrees(said, found.references[title])
        at = np.stack([panel.x.of(curve["updates"]), panel.y.of(figure)], axis=1)
        assert max(away(one, line) for one in at) < HAIR, label
    page = (tmp_path / "out" / "index.html").read_text()
    assert found.sentence() in page
    assert "Level one half 0.75" in found.sentence()
    for seed in (3, 4):
        kept = Checkpoint.load(tmp_path / "out" / f"seed-{seed}" / "policy.safetensors")
        assert kept.seeds["training"] == [seed]
    document = json.loads((tmp_path / "out" / "training.json").read_text())
    assert document["seeds"]["3"]["updates"] == 40
    assert document["seeds"]["3"]["kept"] == best[0]["updates"]


def test_the_sentence_is_about_the_weights_that_are_kept(tmp_path):
    class Falling(LevelLearner):
        """One whose figure gets worse."""

        def evaluate(self):
            return {"reward": 0.5 - 0.01 * len(self.seen)}

        def update(self):
            self.seen.append(0)

        seen: ClassVar[list[int]] = []

    entry = LearnerEntry("falling", "Falling level", Falling, 20, 10, "Mean reward")
    record = replace(SYSTEM, learners=(entry,))
    found = trained(record, seeds=(1,), out=tmp_path / "out")
    assert [row["reward"] for row in found.by_seed[1].rows] == [0.5, 0.4, 0.3]
    assert "those after 0, on the validation seeds, which chose them: mean reward 0.5" in (
        found.sentence()
    )
    page = (tmp_path / "out" / "index.html").read_text()
    assert "<td>20</td><td>20</td><td>0</td>" in page


def test_a_training_that_stopped_says_so(tmp_path):
    found = trained(SYSTEM, seeds=(5,), minutes=1e-9, out=tmp_path / "out")
    assert "Seeds 5 stopped early." in found.sentence()
    assert "After 1 update and" in found.sentence()
    again = trained(SYSTEM, seeds=(5,), out=tmp_path / "out")
    whole = trained(SYSTEM, seeds=(5,), out=tmp_path / "whole")
    assert again.by_seed[5].path.read_bytes() == whole.by_seed[5].path.read_bytes()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"learner": "deep"}, "has no learner 'deep'; choose from threshold"),
        ({"options": {"preset": "small"}}, "takes no preset; it takes: start"),
        ({"options": {"start": "middle"}}, "must be one of 'low', 'high'"),
        ({"seeds": (1, 1)}, "name at least one, each once"),
        ({"seeds": ()}, "name at least one, each once"),
        ({"updates": 0}, "--updates = 0: must be at least 1"),
        ({"minutes": -1.0}, "--minutes = -1.0: must be positive"),
    ],
)
def test_options_are_checked_before_any_work(tmp_path, options, words):
    with pytest.raises(OptionError, match=words):
        trained(SYSTEM, out=tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
    with pytest.raises(OptionError, match="start has no choice"):
        LearnerEntry("a", "A", LevelLearner, 1, 1, "a", {"start": ()})


@pytest.mark.parametrize("name", ["rescue", "idn"])
def test_systems_without_learner_say_so(capsys, name):
    assert find_system(name).learners == ()
    assert run(["train", name]) == 2
    assert f"{name} has no learner" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["oinc", "edr", "tapfinger"])
def test_without_pytorch_one_line_says_what_to_install(tmp_path, capsys, monkeypatch, name):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "edgeopt.learning.networks", raising=False)
    out = tmp_path / "out"
    for entry in find_system(name).learners:
        assert run(["train", name, entry.name, "--out", str(out)]) == 2
        assert "install edgeopt[rl]" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.usefixtures("offering")
def test_the_command_trains(tmp_path, capsys):
    out = str(tmp_path / "out")
    command = ["train", "stopping", "--seeds", "1,2", "--updates", "20", "--out", out]
    assert run(command) == 0
    printed = capsys.readouterr()
    assert "Learned level has with the weights that are kept, those after" in printed.out
    assert f"Report: {out}/index.html" in printed.out
    assert printed.err == ""
    assert run([*command, "--preset", "small"]) == 2
    assert "stopping threshold takes no preset; it takes: start" in capsys.readouterr().err
    assert run([*command, "--set", "start=middle"]) == 2
    assert "start = 'middle': must be one of 'low', 'high'" in capsys.readouterr().err
    assert run([*command, "--set", "start"]) == 2
    assert "--set start: write it as name=value" in capsys.readouterr().err
    command[-1] += "-high"
    assert run([*command, "--set", "start=high"]) == 0
    high = Checkpoint.load(f"{command[-1]}/seed-1/policy.safetensors")
    assert high.settings["start"] == "high"
    capsys.readouterr()
    assert run(["train", "stopping", "--seeds", "one", "--out", out]) == 2
    assert "must be whole numbers, such as 0,1,2" in capsys.readouterr().err


def test_the_course_is_drawn_from_least_to_largest():
    assert course([0.0, np.nan, 7.0, 3.0]) == "▁ █▄"
    assert course([2.0, 2.0]) == "▁▁"
    assert course([np.nan]) == ""
