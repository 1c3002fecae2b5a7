"""Compiled kernels: never older than what they call, and kept where files can be written."""

from __future__ import annotations

import ast
import gc
import importlib
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core.errors import TypingError

from edgeopt.kernels import _contents, _Kernel, compiled, kernel_digest

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


@cache
def kernels() -> dict[str, Any]:
    """All kernels by module and name."""
    return {
        f"{module_of(source)}.{node.name}": getattr(module, node.name)
        for source in SOURCES
        if (module := importlib.import_module(module_of(source)))
        for node in decorated(source)
        if isinstance(getattr(module, node.name, None), _Kernel)
    }


def named_in(kernel: Any) -> dict[str, Any]:
    """What a kernel finds in its module by the names in its code."""
    known = kernel.py_func.__globals__
    return {name: known[name] for name in kernel.py_func.__code__.co_names if name in known}


def test_the_digest_of_a_kernel_is_that_of_every_process() -> None:
    assert len(kernels()) > 300
    for name, kernel in kernels().items():
        assert not [one for one in _contents(kernel, set()) if " at 0x" in one], name


@compiled
def other(value: float) -> float:
    return value


def test_the_digest_of_a_kernel_covers_all_that_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    constants = called = 0
    for name, kernel in kernels().items():
        before, space = kernel_digest(kernel), kernel.py_func.__globals__
        for named, value in named_in(kernel).items():
            if isinstance(value, _Kernel):
                changed, called = other, called + 1
            elif isinstance(value, int | float | tuple):
                changed = (*value, 1) if isinstance(value, tuple) else value + 1.0
                constants += 1
            else:
                continue
            if value is kernel or value == changed:  # it calls itself; the infinite
                continue
            with monkeypatch.context() as patch:
                patch.setitem(space, named, changed)
                assert kernel_digest(kernel) != before, (name, named)
        assert kernel_digest(kernel) == before
    assert called > 300
    assert constants > 150


def test_a_changed_kernel_moves_all_that_call_it_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = {
        name: {id(one) for one in named_in(kernel).values() if isinstance(one, _Kernel)}
        for name, kernel in kernels().items()
    }
    before = {name: kernel_digest(kernel) for name, kernel in kernels().items()}
    across = [
        (name, kernel)
        for name, kernel in kernels().items()
        if any(
            id(kernel) in calls[caller] and not caller.startswith(kernel.py_func.__module__)
            for caller in calls
        )
    ]
    assert len(across) > 30
    for name, kernel in across[::5]:
        moved = {id(kernel)}
        while more := {id(kernels()[one]) for one, used in calls.items() if used & moved} - moved:
            moved |= more
        with monkeypatch.context() as patch:
            patch.setattr(kernel, "py_func", other.py_func)
            found = {one for one in before if kernel_digest(kernels()[one]) != before[one]}
        assert found == {one for one, given in kernels().items() if id(given) in moved}, name


class Scales(NamedTuple):
    low: float
    high: tuple[float, ...]


def test_options_arrays_and_fields_count_and_docstrings_do_not() -> None:
    def made(constant: Any, said: str = "", **options: Any) -> str:
        def scaled(value):
            return value * constant

        scaled.__doc__ = said
        return kernel_digest(compiled(**options)(scaled))

    array = np.arange(5000.0)
    several = array.copy()
    several[2500] = 0.5  # where its text has dots
    different = (
        1, 1.0, True, array, several, array.astype("f4"), Scales(1.0, (2.0, 3.0)),
        Scales(1.0, (2.0, 4.0)), (1.0, (2.0, 3.0)), np.sin, np.cos, frozenset("ab"), Scales,
    )  # fmt: skip
    assert len({made(one) for one in different}) == len(different)
    options: list[dict[str, Any]] = [
        {"writes": "value"},
        {"fastmath": {"nsz"}},
        {"inline": "always"},
    ]
    assert len({made(1.0), *(made(1.0, **given) for given in options)}) == 1 + len(options)


BELOW = """
from edgeopt.kernels import compiled
from edgeopt.shift import SHIFT

@compiled
def below(value, limit):
    return value + SHIFT < limit
"""

PAIRED = """
from edgeopt.kernels import compiled

@compiled
def low(pair):
    return pair.low
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
    """The package in a folder of its own, where it may be edited, with kernels of a moment."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(
        ROOT / "edgeopt", folder / "edgeopt", ignore=shutil.ignore_patterns("__pycache__")
    )
    made = (("below", BELOW), ("count", COUNT), ("shift", "SHIFT = 0.0\n"), ("paired", PAIRED))
    for name, text in made:
        (folder / "edgeopt" / f"{name}.py").write_text(text)
    return folder


def run(
    copy: Path, code: str, stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run code on a copy. Bytecode is not kept: it would be taken for that of an edit of equal
    length in the same second."""
    return subprocess.run(
        [sys.executable, "-c", code],
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
        cwd=copy,
        env={
            **os.environ,
            "PYTHONPATH": str(copy),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NUMBA_CACHE_DIR": "",
            **environment,
        },
    )


CALLS = """
import warnings; warnings.simplefilter("error")
import numpy as np
from edgeopt.count import count
print(count(np.arange(3.0), 0.5))
print(sum(count.stats.cache_misses.values()))
"""


@pytest.mark.long
def test_an_edit_is_not_hidden_by_what_was_compiled(copy: Path) -> None:
    below, shift = (copy / f"edgeopt/{name}.py" for name in ("below", "shift"))
    kept = copy / "edgeopt/__pycache__/kernels"
    for gone in ("edgeopt.gone", "edgeopt.count-0123456789abcdef"):
        (kept / gone).mkdir(parents=True)
    assert run(copy, CALLS).stdout.split() == ["1", "1"]
    assert not list(kept.glob("edgeopt.gone")) + list(kept.glob("edgeopt.count-*"))
    # A comment, a docstring, lines above, and another constant compile nothing.
    edited = BELOW.replace("limit):", 'limit):\n    """Whether it is."""')
    below.write_text(f'"""Kernels anew."""\nOTHER = 1\n{edited}\n# The end.\n')
    shift.write_text("SHIFT = 0.0\nOTHER = 2.0\n")
    assert run(copy, CALLS).stdout.split() == ["1", "0"]
    first = {path.name for path in kept.glob("edgeopt.count/*.nbi")}
    assert len(first) == 1
    # A kernel that it calls, and a constant of a third module.
    below.write_text(BELOW.replace("<", ">="))
    assert run(copy, CALLS).stdout.split() == ["2", "1"]
    shift.write_text("SHIFT = -2.0\n")
    assert run(copy, CALLS).stdout.split() == ["0", "1"]
    second = {path.name for path in kept.glob("edgeopt.count/*.nbi")}
    assert len(second) == 1
    assert second != first
    below.write_text(BELOW)
    shift.write_text("SHIFT = 0.0\n")


@pytest.mark.long
def test_what_was_kept_with_a_module_that_is_gone_is_compiled_again(copy: Path) -> None:
    below, under, count = (copy / f"edgeopt/{name}.py" for name in ("below", "under", "count"))
    run(copy, CALLS)
    below.rename(under)
    count.write_text(COUNT.replace("edgeopt.below", "edgeopt.under"))
    assert run(copy, CALLS).stdout.split() == ["1", "1"]
    under.rename(below)
    count.write_text(COUNT)


PAIRS = """
from edgeopt.paired import low
from edgeopt.pairs import Pair
print(low(Pair(low=1.0, high=2.0)), sum(low.stats.cache_misses.values()))
"""


def test_fields_of_arguments_in_another_order_are_other_arguments(copy: Path) -> None:
    pairs = "from typing import NamedTuple\nclass Pair(NamedTuple):\n"
    for fields in ("    low: float\n    high: float\n", "    high: float\n    low: float\n"):
        (copy / "edgeopt/pairs.py").write_text(pairs + fields)
        assert run(copy, PAIRS).stdout.split() == ["1.0", "1"]
    assert run(copy, PAIRS).stdout.split() == ["1.0", "0"]


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


EDITED = """
import numpy as np
from pathlib import Path
from edgeopt.count import count
file = Path("edgeopt/below.py")
file.write_text(file.read_text().replace("<", ">="))
print(count(np.arange(3.0), 0.5))
"""


def test_what_is_edited_while_it_runs_is_kept_as_what_ran(copy: Path) -> None:
    shutil.rmtree(copy / "edgeopt/__pycache__/kernels", ignore_errors=True)
    try:
        assert run(copy, EDITED).stdout == "1\n"
        assert run(copy, CALLS).stdout.split() == ["2", "1"]
    finally:
        (copy / "edgeopt/below.py").write_text(BELOW)


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
