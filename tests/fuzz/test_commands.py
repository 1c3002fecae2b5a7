"""Hostile words on the command line: exit code 2 and one line, or success where that is right."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from edgeopt.instances.rescue import generate
from tests.draws import LEAN
from tests.fuzz import driver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy as np

WORDS = (
    "", " ", ",,", "-", "--", "-1", "0", "1", "2.5", "1e3", "1e308", "nan", "inf", "1" * 31,
    "9" * 5000, "None", "True", "[]", "{}", "a\nb", "\udc80", "\ud800", "a\0b", "../..", "/",
    "/dev/null", "*", "[", "re*", "=", "name=", "=1", "servers=", "servers=2.5", "servers=-1",
    "servers=1000000000000", "servers=nan", "servers=" + "(" * 2000, "servers=" + "-" * 5000 + "1",
    "servers={[]}", "servers=[1]", "density=1e308", "density='a'", "shortest=None", "rng=3",
    "distribution=3", "slots=2", "\u202e", "%s", "a" * 5000, "--help=3", "--nothing", "rescue",
    "RESCUE", "x.nc", "no/such/place/x.nc", "1,2", "\u00e9",
)  # fmt: skip
FILES = ("folder", "empty", "text", "latin", "torn", "unreadable", "link")
OPTIONS = {
    "study": ("instance", "data", "runs", "seed", "draws", "workers", "policies", "reference"),
    "reproduce": ("figure", "table", "workers", "cluster"),
    "generate": ("set", "seed", "out"),
    "solve": ("instance", "data", "seed", "method", "out"),
    "check": ("instances", "seed", "workers"),
    "search": ("test_instances", "budget", "seed", "out"),
    "solvers": (),
}
BASES = {
    "study": ["rescue", "--instance", "INSTANCE", "--runs", "2", "--policies", "random"],
    "reproduce": ["rescue", "--figure", "0"],
    "generate": ["rescue", "--out", "out.nc", "--force", "--set", "horizon=5"],
    "solve": ["rescue", "--instance", "INSTANCE"],
    "check": ["rescue.routing.published"],
    "search": ["rescue.routing.published", "--budget", "2"],
    "solvers": [],
}
"""Commands that are quick and right."""


def places(folder: Path) -> dict[str, str]:
    """Make files that no command should choke on, and an instance; return where they are."""
    sound = folder / "sound.nc"
    generate(servers=2, devices=2, profiles=2, horizon=6, reserved=1).save(sound)
    made = {name: folder / f"{name}.nc" for name in FILES}
    made["folder"].mkdir()
    made["empty"].touch()
    made["text"].write_text("not an instance")
    made["latin"].write_bytes(b"\xe4\xf6\xfc")
    made["torn"].write_bytes(sound.read_bytes()[:500])
    made["unreadable"].write_bytes(sound.read_bytes())
    made["unreadable"].chmod(0)
    made["link"].symlink_to(folder / "nowhere")
    return {name: str(path) for name, path in made.items()} | {"INSTANCE": str(sound)}


def lines(folder: Path, draw: np.random.Generator, count: int) -> Iterator[list[str]]:
    """Draw command lines: quick and right ones with one or two hostile words in them."""
    known = places(folder)
    commands = [*OPTIONS]
    words = [*WORDS, *(known[name] for name in FILES)]

    def word() -> str:
        return words[int(draw.integers(len(words)))]

    for _ in range(count):
        command = commands[int(draw.integers(len(commands)))]
        line = [command, *(known.get(one, one) for one in BASES[command])]
        way = draw.random()
        if way < 0.1:
            line[int(draw.integers(len(line)))] = word()
        elif way < 0.2:
            line.insert(int(draw.integers(len(line) + 1)), word())
        elif OPTIONS[command]:
            for _ in range(int(draw.integers(1, 3))):
                option = OPTIONS[command][int(draw.integers(len(OPTIONS[command])))]
                line += [f"--{option}={word()}"] if draw.random() < 0.5 else [f"--{option}", word()]
        else:
            line.append(word())
        yield line


def test_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = driver.source("commands")
    drawn = lines(tmp_path, draw, driver.count("commands"))
    driver.check(driver.command(line, refused=False) for line in drawn)


def test_a_few_as_programs(tmp_path, monkeypatch):
    """What the shell can hand over, in processes of their own: no traceback, one line."""
    monkeypatch.chdir(tmp_path)
    tried, wanted = 0, 2 if LEAN else 4
    for line in lines(tmp_path, driver.source("commands", "programs"), 40):
        encodable = all(can_be_passed(word) for word in line)
        if tried == wanted or not encodable or line[0] not in ("generate", "solvers", "check"):
            continue
        tried += 1
        done = subprocess.run(
            [sys.executable, "-c", "from edgeopt.cli import main; main()", *line],
            capture_output=True, check=False, timeout=driver.SECONDS,
        )  # fmt: skip
        assert done.returncode in (0, 2), line
        assert len(done.stderr.splitlines()) == (done.returncode == 2), (line, done.stderr)
    assert tried == wanted


def can_be_passed(word: str) -> bool:
    """Tell whether a word can be handed to a program."""
    try:
        return b"\0" not in os.fsencode(word)
    except UnicodeEncodeError:
        return False
