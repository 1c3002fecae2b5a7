"""Mistakes typed at the command line: each ends in a line or two that say what to do."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

import pytest

from edgeopt.cli.main import run

if TYPE_CHECKING:
    from pathlib import Path

MISTAKES = {
    "stuyd rescue": "study",
    "study": "edgeopt study --help",
    "study rescu": "did you mean rescue",
    "study rescue idn": "edgeopt study --help",
    "study rescue --jsn": "--json",
    "study rescue --runs": "edgeopt study --help",
    "study rescue --runs x": "auto",
    "study rescue --runs 1": "from 2 on",
    "study rescue --until 50": "--runs auto",
    "study rescue --draws 0": "edgeopt study --help",
    "study rescue --instance idn-odd-v5-r8": "write idn in place of rescue",
    "study rescue --instance tabels": "choose from tables",
    "study rescue --instance rescue-paper-k2-t30 --set servers=3": "takes no parameters",
    "study rescue --set foo=3": "known: servers",
    "study rescue --set servers": "name=value",
    "study rescue --policies nosuch": "choose from",
    "study rescue --reference nosuch": "policies compared: offers",
    "study rescue --data nowhere": "no such folder",
    "study rescue --out file": "file",
    "study rescue --out nowhere.nc/report": "nowhere.nc",
    "solve rescue --bound best": "rescue has safe",
    "solve rescue --method fast": "rescue has",
    "solve rescue --out plan.txt": "must end in",
    "solve rescue --out missing/plan.csv": "missing/plan.csv",
    "generate rescue --out": "edgeopt generate --help",
    "check nothing": "did you mean",
    "search nothing": "did you mean",
    "verify nofile.json": "no such file",
    "collection shwo": "list, show, verify",
    "collection show nothing": "nothing",
    "bench --online rescue*": "--dry-run",
    "bench --out results --gap small": "1e-2,1e-4",
    "train rescue nothing": "rescue has no learner",
    "reproduce idn --figure 77": "choose from",
    "reproduce idn --figure": "edgeopt reproduce --help",
    "study rescue --workers two": "'--workers': must be a whole number; edgeopt study --help",
    "study rescue --bound-time soon": "'--bound-time': must be a number",
    "study rescue --seed -1": "'--seed': must be at least 0",
    "study rescue --set servers=0": "1..125",
    "study rescue --set servers=2,3": "must be a number, such as",
    "study rescue --instance file": "it looks like text",
    "study rescue --draws 3 --instance rescue-paper-k2-t30": "leave --draws out",
    "solve rescue --certificate missing/proof.json": "missing/proof.json",
    "template rescue --out mine --from nothing": "--from nothing: neither a file",
    "search rescue.theorem1 --out found.txt": "must end in .nc or .json",
    "verify file": "'edgeopt solve SYSTEM --certificate FILE' writes one",
    "verify .": "is no regular file",
    "explore rescue --port 99999": "must be at most 65535",
    "explore rescue --instance nothing": "instance 'nothing': neither",
    "bench --online nothing --dry-run": "lists those of a system",
    "bench chek file": "edgeopt bench check FILE",
    "train idn": "have one",
    "tune rescue": "edr has",
    "tutorial one": "must be a whole number",
}


@pytest.mark.parametrize("typed", MISTAKES)
def test_a_mistake_ends_in_a_line_that_helps(
    typed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "nowhere.nc").write_text("not a folder")
    assert run(shlex.split(typed)) == 2
    printed = capsys.readouterr()
    said = (printed.err or printed.out).strip()
    assert 1 <= len(said.splitlines()) <= 2
    assert MISTAKES[typed] in said
    assert "Traceback" not in said
    # Nothing was written before it was said.
    assert sorted(os.listdir(tmp_path)) == ["file", "nowhere.nc"]


def test_the_case_of_a_system_does_not_matter(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["study", "RESCUE", "--runs", "2", "--no-claims", "--policies", "rescue"]) == 0
    assert "RESCUE (unguarded)" in capsys.readouterr().out
