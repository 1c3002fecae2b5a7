"""What the commands on named instances print, and how they fail."""

from __future__ import annotations

import json

import pytest

from edgeopt.cli.main import run
from edgeopt.collection import entries as loading
from edgeopt.collection import entry, load, names


def test_list(capsys) -> None:
    assert run(["collection", "list", "--system", "edr", "--size", "s", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in found] == list(names("edr", size="s"))
    assert found[0]["offline"]["best"] == entry(found[0]["name"]).offline.best
    assert run(["collection", "--wide"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in names())
    assert run(["collection"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{len(names())} named instances: ")
    assert sum(name in shown for name in names()) == 8
    assert run(["collection", "lists"]) == 2
    assert "must be one of list, show, verify" in capsys.readouterr().err
    assert run(["collection", "list", "idn-odd-v5-r8"]) == 2
    assert "edgeopt collection show idn-odd-v5-r8" in capsys.readouterr().err
    assert run(["collection", "show"]) == 2
    assert "show takes one name" in capsys.readouterr().err
    assert run(["collection", "list", "--size", "xl"]) == 2
    assert "size must be one of s, m, l" in capsys.readouterr().err


def test_show(capsys) -> None:
    name = "idn-odd-v5-r8"
    assert run(["collection", "show", name]) == 0
    shown = capsys.readouterr().out
    assert entry(name).fingerprint in shown
    assert "edgeopt.instances.idn.generate(topology=2" in shown
    assert run(["collection", "show", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rng"] == entry(name).rng
    assert run(["collection", "show", "idn-odd-v5-r9"]) == 2
    assert "did you mean idn-odd-v5-r8" in capsys.readouterr().err


def test_verify(capsys, monkeypatch) -> None:
    assert run(["collection", "verify", *names(size="s")]) == 0
    assert "20 named instances are as written down" in capsys.readouterr().out
    wrong = load("tapfinger-odd-c1-n7")
    monkeypatch.setattr(loading, "drawn", lambda _: wrong)
    assert run(["collection", "verify", "tapfinger-real-c2-n6"]) == 0
    assert "the copy is read" in capsys.readouterr().out
    assert run(["collection", "verify", "edr-real-i40-f96"]) == 2
    printed = capsys.readouterr()
    assert "other data are drawn here; no copy" in printed.out
    assert "1 of 1 named instances" in printed.err


@pytest.mark.parametrize("name", ["tapfinger-odd-c1-n7"])
def test_named_instances_are_instances_of_commands(name, capsys) -> None:
    assert run(["solve", "tapfinger", "--instance", name, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["instance"]
    assert (found["name"], found["fingerprint"]) == (name, entry(name).fingerprint)
    assert run(["solve", "idn", "--instance", name]) == 2
    assert f"{name}: is an instance of tapfinger" in capsys.readouterr().err
    assert run(["solve", "tapfinger", "--instance", name + "0"]) == 2
    assert "a named instance" in capsys.readouterr().err


def test_a_wrong_policy_is_told_before_a_folder_is_made(tmp_path, capsys) -> None:
    out = tmp_path / "out"
    given = ["bench", "--online", "rescueplos", "--instances", "rescue-paper-k2-t30"]
    given += ["--out", str(out)]
    assert run(given) == 2
    assert "did you mean rescueplus" in capsys.readouterr().err
    assert not out.exists()
