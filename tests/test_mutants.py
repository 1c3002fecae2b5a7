"""The driver of mutation testing, on a package of two functions."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from coverage import CoverageData

from tests.mutants import equivalents
from tests.mutations import Coverage, mutants_of

HERE = Path(__file__).parent

SOURCE = '''"""A module that is no part of anything."""

def larger(a: float, b: float) -> float:
    """Return the larger one."""
    return a if a > b else b


def halves(n: int) -> int:
    """Count how often n can be halved."""
    count = 0
    while n > 1:
        n //= 2
        count += 1
    return count
'''

TEST = """
from edgeopt.rounding import halves, larger

def test_larger():
    assert larger(1, 2) == 2
    assert larger(2, 1) == 2

def test_halves():
    assert halves(8) >= 2
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A tree with a package, its test, another test and the driver, known to git."""
    files = {
        "edgeopt/__init__.py": "",
        "edgeopt/rounding/__init__.py": "def __getattr__(name):\n"
        "    import importlib\n"
        "    return getattr(importlib.import_module('edgeopt.rounding.sizes'), name)\n",
        "edgeopt/rounding/sizes.py": SOURCE,
        "tests/__init__.py": "",
        "tests/rounding/test_sizes.py": TEST,
        "tests/test_nothing.py": "def test_nothing():\n    pass\n",
        "tests/mutants_equivalent.txt": "# key || proof\nedgeopt/rounding/sizes.py::larger: "
        "return a if a [> -> >=] b else b || equal numbers are the same\n",
        "pytest.ini": "[pytest]\naddopts = --import-mode=importlib\npythonpath = .\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in ("mutants.py", "mutations.py"):
        shutil.copy(HERE / name, tmp_path / "tests")
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    return tmp_path


def driver(toy: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "tests/mutants.py", "--layer", "rounding", "--jobs", "1", *options]
    return subprocess.run(command, cwd=toy, capture_output=True, text=True, check=False)


def test_every_change_parses_and_is_named_once(toy: Path) -> None:
    path = toy / "edgeopt/rounding/sizes.py"
    found = mutants_of(toy, path)
    assert len({mutant.key for mutant in found}) == len(found)
    for mutant in found:
        changed = mutant.apply(path.read_bytes())
        assert changed != path.read_bytes()
        compile(changed, "changed", "exec")
    named = {mutant.key.split(": ", 1)[1] for mutant in found}
    assert {
        "return a if a [> -> >=] b else b", "return a if [a > b -> (not (a > b))] else b",
        "while n > [1 -> 2]:", "while n [> -> >=] 1:", "n //= [2 -> 3]", "[n //= 2 -> pass]",
        "count [+= -> -=] 1", "[return count -> return None]", "count = [0 -> 1]",
    } <= named  # fmt: skip


def test_tests_are_those_that_run_a_line_or_the_users_of_its_name(tmp_path: Path) -> None:
    """A test that a constant, or a kernel, meets is one of a line where its name stands."""
    files = {
        "sizes.py": "LIMIT = 3\n\ndef kernel(n):\n    return n < LIMIT\n",
        "users.py": "from edgeopt.sizes import kernel\n\ndef small(n):\n    return kernel(n)\n",
    }
    (tmp_path / "edgeopt").mkdir()
    for name, text in files.items():
        (tmp_path / "edgeopt" / name).write_text(text)
    data = CoverageData(str(tmp_path / "measured"))
    data.set_context("tests/test_users.py::test_small|run")
    data.add_lines({str(tmp_path / "edgeopt/users.py"): [4]})
    data.set_context("")
    data.add_lines({str(tmp_path / "edgeopt" / name): [1, 3] for name in files})
    data.write()
    coverage = Coverage(tmp_path, tmp_path / "measured")
    for path, line in (("users.py", 4), ("sizes.py", 4), ("sizes.py", 1)):
        assert coverage.tests(f"edgeopt/{path}", line) == {"tests/test_users.py::test_small"}


@pytest.mark.long
def test_what_is_killed_survives_or_does_not_end(toy: Path) -> None:
    lines = [f"--only=edgeopt/rounding/sizes.py:{line}" for line in (5, 12)]
    done = driver(toy, "--limit", "8", *lines)
    table = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line}
    assert table["rounding"] == table["all"] == ["5", "2", "1", "1", "1", "75.0%"], done.stdout
    assert done.returncode == 1  # below nine of ten
    survivors = [line for line in done.stdout.splitlines() if line.startswith("survived")]
    assert [line.split("halves: ")[1] for line in survivors] == ["n //= [2 -> 3]"]
    endless = [line for line in done.stdout.splitlines() if line.startswith("timed out")]
    assert [line.split("halves: ")[1] for line in endless] == ["[n //= 2 -> pass]"]
    # What was changed is as before.
    assert (toy / ".mutants/tree-0/edgeopt/rounding/sizes.py").read_text() == SOURCE


def test_nothing_is_tried_where_tests_fail_without_a_mutant(toy: Path) -> None:
    (toy / "tests/rounding/test_sizes.py").write_text(TEST.replace(">= 2", ">= 4"))
    done = driver(toy, "--sample", "9")
    assert done.returncode == 1
    assert "Tests fail without a mutant:" in done.stdout
    assert "killed" not in done.stdout


def test_each_change_called_equivalent_is_one() -> None:
    root = HERE.parent
    known = equivalents(root)
    files = {root / key.split("::")[0] for key in known}
    assert set(known) <= {mutant.key for path in files for mutant in mutants_of(root, path)}
    assert all(known.values())
