"""Compiled kernels: never older than what they call, and kept where files can be written."""

from __future__ import annotations

import ast
import gc
import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import TypingError

from edgeopt.digests import closure
from edgeopt.kernels import compiled

ROOT = Path(__file__).parents[1]


def decorated(source: Path) -> list[ast.FunctionDef]:
    """The kernels that a file defines."""
    text = source.read_text()
    tree = ast.parse(text if "compiled" in text else "")
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any("'compiled'" in ast.dump(one) for one in node.decorator_list)
    ]


def module_of(source: Path) -> str:
    return ".".join(source.relative_to(ROOT).with_suffix("").parts)


SOURCES = [path for path in sorted((ROOT / "edgeopt").rglob("*.py")) if decorated(path)]


def test_every_kernel_is_compiled_by_the_one_decorator() -> None:
    assert sum(len(decorated(path)) for path in SOURCES) > 200
    others = [path for path in (ROOT / "edgeopt").rglob("*.py") if "numba" in path.read_text()]
    direct = [module_of(path) for path in others if "njit(" in path.read_text()]
    assert direct == []


@pytest.mark.parametrize("source", SOURCES, ids=module_of)
def test_the_digest_of_a_kernel_covers_all_that_it_calls(source: Path) -> None:
    module = importlib.import_module(module_of(source))
    covered = closure(frozenset({module.__name__}))
    for node in decorated(source):
        kernel = getattr(module, node.name)
        assert kernel._cache is not None
        for name in kernel.py_func.__code__.co_names:
            used = getattr(module, name, None)
            home = getattr(used, "__module__", None)
            if home is not None and str(home).startswith("edgeopt"):
                assert home in covered, (node.name, name)


def between_files() -> list[tuple[str, str]]:
    """Every pair of a module with kernels and another one whose kernels it calls."""
    with_kernels = {module_of(source) for source in SOURCES}
    return [
        (caller, called)
        for caller in sorted(with_kernels)
        for called in closure(frozenset({caller}))
        if called in with_kernels and called != caller
    ]


BELOW = """
from edgeopt.kernels import compiled

@compiled
def below(value, limit):
    return value < limit
"""

COUNT = """
from edgeopt.below import below
from edgeopt.kernels import compiled

@compiled
def count(values, limit):
    found = 0
    for value in values:
        found += below(value, limit)
    return found
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package in a folder of its own, where it may be edited, with two kernels of a moment."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(
        ROOT / "edgeopt", folder / "edgeopt", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name, text in (("below", BELOW), ("count", COUNT)):
        (folder / "edgeopt" / f"{name}.py").write_text(text)
    return folder


def run(
    copy: Path, code: str, stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": "", **environment},
    )


EDITS = """
import json, sys
from pathlib import Path
from edgeopt import kernels
from edgeopt.digests import modules

def folders():
    for known in (modules.facts_of, modules.closure, modules.digest, kernels.kernel_folder):
        known.cache_clear()
    return {one: kernels.kernel_folder(one).name for one in every}

kernels.changed = lambda names: []
every, edited = json.loads(sys.stdin.read())
before, moved = folders(), {}
for module in edited:
    file = Path(module.replace(".", "/") + ".py")
    text = file.read_text()
    file.write_text(text + "\\n_EDITED = 1\\n")
    after = folders()
    moved[module] = [one for one in every if after[one] != before[one]]
    file.write_text(text)
assert folders() == before
print(json.dumps(moved))
"""


def test_an_edited_kernel_moves_all_that_call_it_and_nothing_else(copy: Path) -> None:
    pairs = between_files()
    assert len(pairs) > 30
    edited = sorted({called for _, called in pairs})
    every = [module_of(source) for source in SOURCES]
    moved = json.loads(run(copy, EDITS, stdin=json.dumps([every, edited])).stdout)
    for called in edited:
        callers = (caller for caller, other in pairs if other == called)
        assert set(moved[called]) == {called, *callers}


CALLS = """
import warnings; warnings.simplefilter("error")
import numpy as np
from edgeopt.count import count
print(count(np.arange(3.0), 0.5))
print(sum(count.stats.cache_misses.values()))
"""


@pytest.mark.long
def test_an_edited_kernel_is_not_hidden_by_what_was_compiled(copy: Path) -> None:
    file = copy / "edgeopt/below.py"
    kept = copy / "edgeopt/__pycache__/kernels"
    assert run(copy, CALLS).stdout.split() == ["1", "1"]
    file.write_text(f'"""Kernels anew."""\n{BELOW}\n# The end.\n')
    assert run(copy, CALLS).stdout.split() == ["1", "0"]
    first = sorted(kept.glob("edgeopt.count-*"))
    assert len(first) == 1
    file.write_text(BELOW.replace("<", ">="))
    assert run(copy, CALLS).stdout.split() == ["2", "1"]
    assert sorted(kept.glob("edgeopt.count-*")) != first
    assert len(list(kept.glob("edgeopt.count-*"))) == 1
    file.write_text(BELOW)


def test_one_variant_serves_frozen_arrays_and_others() -> None:
    @compiled(writes="out")
    def add(values, more, out):
        for i in range(values.size):
            out[i] = values[i] + more[i]
        return out

    free = np.arange(3.0)
    frozen = np.arange(3.0)
    frozen.setflags(write=False)
    for values in (free, frozen):
        for more in (free, frozen):
            assert add(values, more, np.zeros(3)).tolist() == [0.0, 2.0, 4.0]
    assert len(add.overloads) == 1


@pytest.mark.parametrize("both", [False, True])
def test_a_kernel_that_others_ask_for_is_still_found_by_calls(
    monkeypatch: pytest.MonkeyPatch, both: bool
) -> None:
    @compiled(both=both)
    def total(values):
        return values.sum()

    @compiled(writes="values")
    def grown(values):
        values += 1.0
        return total(values)

    # Called before another kernel asks for it, with an array that can be written to.
    assert total(np.ones(3)) == 3.0
    assert grown(np.ones(3)) == 6.0
    assert total(np.ones(3)) == 3.0
    asked: list[object] = []
    monkeypatch.setattr(total, "compile", asked.append)
    assert total(np.ones(3)) == 3.0
    assert asked == []


def test_what_is_not_declared_cannot_be_written_to() -> None:
    @compiled
    def spoil(values):
        values[0] = 1.0

    with pytest.raises(Exception, match="Cannot modify readonly array"):
        spoil(np.zeros(2))
    with pytest.raises(TypeError, match="no parameters"):
        compiled(writes="other")(lambda values: values)


NOWHERE = """
import subprocess, sys
import numpy as np
from edgeopt.count import count
print(count(np.arange(3.0), 0.5))
from edgeopt.cache import cache_folder
print(cache_folder())
again = "import numpy as np; from edgeopt.count import count; count(np.arange(3.0), 0.5)"
done = subprocess.run([sys.executable, "-c", again], capture_output=True, text=True, check=True)
print(len(done.stderr))
"""


@pytest.mark.long
def test_without_a_folder_to_write_a_temporary_one_serves(copy: Path, tmp_path: Path) -> None:
    # A file in the way stops the superuser too.
    kernels_folder = copy / "edgeopt/__pycache__"
    shutil.rmtree(kernels_folder, ignore_errors=True)
    kernels_folder.write_text("")
    try:
        done = run(copy, NOWHERE, HOME="/dev/null/x", XDG_CACHE_HOME="/dev/null/y")
    finally:
        kernels_folder.unlink()
    total, folder, said = done.stdout.split()
    assert total == "1"
    assert Path(folder).name.startswith("edgeopt-")
    assert not Path(folder).exists()
    assert done.stderr.count("CacheWarning") == 1
    assert said == "0"


@pytest.mark.long
def test_kernels_that_numba_kept_by_itself_are_removed(copy: Path) -> None:
    old = copy / "edgeopt/rounding/__pycache__/kernels.finish-31.py311.nbi"
    old.parent.mkdir(exist_ok=True)
    old.write_bytes(b"")
    foreign = copy / "edgeopt/rounding/__pycache__/kernels.txt"
    foreign.write_bytes(b"")
    shutil.rmtree(copy / "edgeopt/__pycache__/kernels", ignore_errors=True)
    run(copy, CALLS)
    assert not old.exists()
    assert foreign.exists()


INNER = """
import numpy as np
from edgeopt.below import below
from edgeopt.count import count

def answers():
    return [bool(below(0.25, 0.5)), bool(below.py_func(0.75, 0.5))]

before = None if FIRST else answers()
count(np.arange(3.0), 0.5)
assert before is None or before == answers()
for again in range(2):
    assert answers() == [True, False]
print(sum(below.stats.cache_misses.values()), sum(below.stats.cache_hits.values()))
"""


@pytest.mark.long
def test_a_kernel_of_kernels_is_compiled_for_python_when_python_calls_it(copy: Path) -> None:
    folder = copy / "edgeopt/__pycache__/kernels"
    for first, counted, other in ((False, [1, 0], "True"), (True, [2, 0], "False")):
        shutil.rmtree(folder, ignore_errors=True)
        code = INNER.replace("FIRST", str(first))
        assert [int(one) for one in run(copy, code).stdout.split()] == counted
        # What is kept serves both.
        misses, hits = run(copy, INNER.replace("FIRST", other)).stdout.split()
        assert misses == "0"
        assert int(hits) >= 1
    # What other kernels left on disk is not handed to Python.
    shutil.rmtree(folder)
    run(copy, CALLS)
    assert run(copy, INNER.replace("FIRST", "False")).stdout.split() == ["1", "0"]


TOUCHED = """
import numpy as np
from pathlib import Path
from edgeopt import kernels
from edgeopt.count import count
Path("edgeopt/below.py").touch()
assert kernels.kernel_folder("edgeopt.below") is None
print(count(np.arange(3.0), 0.5))
"""


def test_what_is_touched_while_it_runs_is_compiled_and_not_kept(copy: Path) -> None:
    folder = copy / "edgeopt/__pycache__/kernels"
    shutil.rmtree(folder, ignore_errors=True)
    assert run(copy, TOUCHED).stdout == "1\n"
    kept = {path.name.rpartition("-")[0] for path in folder.glob("edgeopt.*")}
    assert not kept & {"edgeopt.below", "edgeopt.count"}


def test_compiling_leaves_the_collection_of_garbage_as_it_was() -> None:
    @compiled
    def doubled(value: float) -> float:
        return 2.0 * value

    @compiled
    def wrong(value: float) -> float:
        return value.nothing  # type: ignore[attr-defined,no-any-return]

    for collects in (True, False):
        (gc.enable if collects else gc.disable)()
        try:
            assert doubled(1.0 if collects else 1) == 2.0
            with pytest.raises(TypingError):
                wrong(1.0)
            assert gc.isenabled() == collects
        finally:
            gc.enable()
