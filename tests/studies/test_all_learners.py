"""The learners of the package train from the command line, and write a page."""

from __future__ import annotations

import pytest

from edgeopt.cli.main import run
from edgeopt.learning import Checkpoint
from edgeopt.studies import find_system

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytestmark = pytest.mark.trains

from edgeopt.learning.edr.macro import RoundsLearner  # noqa: E402
from edgeopt.learning.oinc import insertion_learner  # noqa: E402
from edgeopt.learning.oinc.sac import SacLearner  # noqa: E402

SHORT = [
    # What was just trained runs: another test trains this one from the command line, too.
    pytest.param("oinc", "insertion", marks=pytest.mark.long),
    ("oinc", "sac-d"),
    ("edr", "macro"),
]
"""Others take longer to begin; tests of their own train them."""


def test_learners_have_names_of_their_own():
    for name in ("oinc", "edr", "tapfinger"):
        names = [entry.name for entry in find_system(name).learners]
        assert len(set(names)) == len(names) >= 2
    firsts = [find_system(name).learners[0].name for name in ("tapfinger", "oinc", "edr")]
    assert firsts == ["imitation", "insertion", "macro"]


@pytest.fixture
def few_slots(monkeypatch):
    monkeypatch.setattr(insertion_learner, "TRAINING", range(1000, 1002))
    monkeypatch.setattr(insertion_learner, "VALIDATION", range(3000, 3001))
    monkeypatch.setitem(SacLearner.__init__.__kwdefaults__, "held_out", 20)
    monkeypatch.setitem(RoundsLearner.__init__.__kwdefaults__, "validation", (900,))


@pytest.mark.usefixtures("few_slots")
@pytest.mark.parametrize(("system", "learner"), SHORT)
def test_a_learner_trains_from_the_command_line(tmp_path, capsys, system, learner):
    out = tmp_path / "out"
    command = ["train", system, learner, "--seeds", "0", "--updates", "1", "--out", str(out)]
    assert run(command) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "After 1 update and" in printed.out
    assert "<svg" in (out / "index.html").read_text()
    read = Checkpoint.load(out / "seed-0" / "policy.safetensors", system=system, learner=learner)
    assert read.updates == read.planned == 1
