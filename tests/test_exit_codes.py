"""How the program ends: one line and a code that says whose mistake it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from edgeopt.cli.main import run
from edgeopt.errors import OptionError
from edgeopt.studies import registry
from tests.draws import some

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = [
    ["study", "rescue", "--runs", "2"],
    ["reproduce", "rescue", "--quick", "--workers", "1"],
    ["generate", "rescue", "--out", "x.nc"],
    ["solve", "rescue"],
    ["check", "rescue.routing.published"],
    ["search", "rescue.routing.published"],
    ["solvers"],
]


@pytest.fixture
def offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that installs a package whose module is offered to all groups."""

    def install(module: str) -> str:
        (tmp_path / "odd_end.py").write_text(module)
        metadata = tmp_path / "oddend-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: oddend\nVersion: 1.0\n")
        groups = ("systems", "policies", "solvers", "claims", "parameter_spaces")
        lines = [f"[edgeopt.{group}]\nodd = odd_end:ODD\n" for group in groups]
        (metadata / "entry_points.txt").write_text("\n".join(lines))
        monkeypatch.syspath_prepend(tmp_path)
        return str(tmp_path)

    return install


def raising(error):
    def command(*_, **__):
        raise error

    return command


def ended(monkeypatch, capsys, error, *, debug=None):
    """Run a command whose first step raises an error; return code and standard error."""
    monkeypatch.setattr(registry, "find_system", raising(error))
    monkeypatch.setattr("edgeopt.studies.find_system", raising(error))
    monkeypatch.delenv("EDGEOPT_DEBUG", raising=False)
    if debug is not None:
        monkeypatch.setenv("EDGEOPT_DEBUG", debug)
    code = run(["solve", "rescue"])
    return code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (OptionError("gap = 0"), 2, "edgeopt: error: gap = 0"),
        (OSError(28, "No space left"), 2, "edgeopt: error: [Errno 28] No space left"),
        (
            MemoryError("9 GiB"),
            2,
            "edgeopt: error: not enough memory (9 GiB); take a smaller "
            "instance, fewer runs, or fewer workers",
        ),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_mistakes_of_users_end_with_2_and_interrupts_with_130(
    monkeypatch, capsys, error, code, line
):
    assert ended(monkeypatch, capsys, error) == (code, line + "\n")


@pytest.mark.parametrize(
    "error",
    [KeyError("p"), RecursionError("deep"), TypeError("two\nlines"), SystemExit(0), SystemExit(),
     UnicodeEncodeError("utf-8", "\udc80", 0, 1, "surrogates"), AssertionError(), TypeError("--x")],
)  # fmt: skip
def test_bugs_end_with_70_and_ask_for_a_report(monkeypatch, capsys, error):
    code, said = ended(monkeypatch, capsys, error)
    assert code == 70
    assert said.startswith(f"edgeopt: error: {type(error).__name__}: ")
    assert said.endswith("this is a bug, please report it with what EDGEOPT_DEBUG=1 shows\n")
    assert said.count("\n") == 1


def test_notes_of_a_bug_are_printed(monkeypatch, capsys):
    error = ZeroDivisionError("division by zero")
    error.add_note("in Mine.decide, slot 3")
    assert "division by zero (in Mine.decide, slot 3); this" in ended(monkeypatch, capsys, error)[1]


@pytest.mark.parametrize(("error", "code"), [(OptionError("gap = 0"), 2), (KeyError("p"), 70)])
def test_debugging_shows_tracebacks(monkeypatch, capsys, error, code):
    found, said = ended(monkeypatch, capsys, error, debug="1")
    assert found == code
    assert said.startswith("Traceback (most recent call last)")
    assert said.splitlines()[-1].startswith("edgeopt: error: ")
    assert "Traceback" not in ended(monkeypatch, capsys, error, debug="0")[1]


@pytest.mark.parametrize("argument", ["a\0b", "\ud800"])
def test_arguments_that_no_shell_can_hand_over_are_refused(capsys, argument):
    assert run(["study", "rescue", "--instance", argument]) == 2
    assert "contains characters that an argument cannot have" in capsys.readouterr().err


@pytest.mark.parametrize("policies", ["", ",", ",,", " , "])
def test_no_policy_is_not_all_policies(capsys, policies):
    assert run(["study", "rescue", "--runs", "2", "--policies", policies]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "module",
    [
        "import sys; sys.exit(0)", "raise SystemExit", "raise KeyboardInterrupt", "exit(1)",
        "raise GeneratorExit", "class Odd(BaseException): ...\nraise Odd",
    ],
)  # fmt: skip
def test_a_plugin_cannot_end_the_program(offered, monkeypatch, capsys, module, tmp_path):
    offered(module)
    monkeypatch.chdir(tmp_path)
    with pytest.warns(UserWarning, match="left out: entry point 'odd' = 'odd_end:ODD'"):
        assert run(["solvers"]) == 0
    assert run(["study", "odd"]) == 2
    said = capsys.readouterr().err
    assert "edgeopt: error: entry point 'odd' = 'odd_end:ODD' in edgeopt.systems" in said
    assert "cannot be loaded" in said


@pytest.mark.parametrize("command", some([one[0] for one in COMMANDS], "solvers"))
def test_no_command_ends_early_for_a_plugin_that_wants_to(offered, tmp_path, command):
    path = offered("import sys; sys.exit(0)")
    [arguments] = [one for one in COMMANDS if one[0] == command]
    if arguments[0] in ("reproduce", "search"):
        arguments = [arguments[0], "odd"]  # their own work takes too long here
    done = subprocess.run(
        [sys.executable, "-c", "from edgeopt.cli import main; main()", *arguments],
        env=os.environ | {"PYTHONPATH": f"{path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "odd" in arguments:
        assert done.returncode == 2
    else:
        assert done.returncode == 0
        assert done.stdout.strip()
    assert done.stderr.count("Traceback") == 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_while_a_plugin_is_imported_still_interrupts(offered, tmp_path):
    marker = tmp_path / "importing"
    path = offered(f"import pathlib, time\npathlib.Path({str(marker)!r}).touch()\ntime.sleep(60)")
    process = subprocess.Popen(
        [sys.executable, "-c", "from edgeopt.cli import main; main()", "solvers"],
        env=os.environ | {"PYTHONPATH": f"{path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not marker.exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=50)
    assert (process.returncode, said) == (130, "interrupted\n")
