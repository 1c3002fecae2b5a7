"""Code digests: what moves them, what does not, and how far they reach."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from edgeopt.digests import closure, systems
from edgeopt.digests.source import read_facts

ROOT = Path(__file__).parents[1]

SOURCE = b'''"""What it is for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from edgeopt import cache
from edgeopt.rounding import depround as rounded
from . import kernels

if TYPE_CHECKING:
    from edgeopt.solvers import Solution

ROOM = "edgeopt.solvers.backend"
"""Where they are."""


def work(x: float) -> float:
    """Work."""
    from edgeopt.errors import InputError

    # Half of it.
    return cache.half(x) * math.pi
'''


def code(source: bytes) -> str:
    return read_facts(source, "edgeopt.rounding.made", False).code


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"What it is for.", b"Something else."),
        (b'"""What it is for."""\n', b""),
        (b'    """Work."""\n', b'    """Do it,\n\n    and say so."""\n'),
        (b'"""Where they are."""', b""),
        (b"# Half of it.", b"# A third of it,\n    # or so."),
        (b"x) * math.pi", b"x)*(\n        math.pi)"),
    ],
)
def test_comments_docstrings_and_layout_do_not_count(old: bytes, new: bytes) -> None:
    assert old in SOURCE
    assert code(SOURCE.replace(old, new)) == code(SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"half(x) * math", b"half(x) + math"),
        (b"(x: float)", b"(y: float)"),
        (b"backend", b"backends"),
        (b"x: float", b"x: int"),
        (b"depround as", b"pairwise as"),
        (b"math.pi", b"math.e"),
        (b"x) *", b"x, *"),
    ],
)
def test_everything_else_counts(old: bytes, new: bytes) -> None:
    assert old in SOURCE
    try:
        other = code(SOURCE.replace(old, new))
    except SyntaxError:
        other = ""
    assert other != code(SOURCE)


def test_imports_are_found_wherever_they_stand() -> None:
    facts = read_facts(SOURCE, "edgeopt.rounding.made", False)
    assert set(facts.uses) == {
        ("edgeopt", "cache"),
        ("edgeopt.cache", "half"),
        ("edgeopt.errors", "InputError"),
        ("edgeopt.rounding", "depround"),
        ("edgeopt.rounding", "kernels"),
    }
    assert facts.texts == ("edgeopt.solvers.backend",)
    lazy = b"TABLE = {'one': 'edgeopt.one', 'two': __name__}\ndef __getattr__(name): ..."
    assert read_facts(lazy, "edgeopt", True).offers == {"one": ("edgeopt.one", "one")}
    written = b"ROOM = 'edgeopt.a'\nX = f'{ROOM}.{name}'\nY = f'{__name__}.b:solve'"
    found = read_facts(written, "edgeopt.c", False).texts
    assert found == ("edgeopt.a", "edgeopt.a.", "edgeopt.c.b")


def test_what_only_reads_and_writes_numbers_is_left_out() -> None:
    found = closure(frozenset({"edgeopt.instances.rescue.generate"}))
    assert {"edgeopt.instances.rescue.instance", "edgeopt.instances.records"} <= set(found)
    assert not {
        "edgeopt.instances.labels",
        "edgeopt.instances.csv_tables",
        "edgeopt.representation",
    } & {*found}
    assert "edgeopt.instances.units" in closure(frozenset({"edgeopt.instances.units"}))


def test_a_closure_follows_names_to_where_they_stand() -> None:
    found = closure(frozenset({"edgeopt.rounding.rows"}))
    assert "edgeopt.rounding.kernels" in found
    assert "edgeopt.rounding" not in found
    assert "edgeopt.solvers.backend.highs" in closure(frozenset({"edgeopt.solvers.dispatch"}))
    assert "edgeopt.solvers.infeasibility" not in closure(frozenset({"edgeopt.solvers.program"}))


@pytest.mark.parametrize("system", ["rescue", "idn", "oinc", "edr", "tapfinger"])
def test_a_closure_of_one_system_leaves_the_others_out(system: str) -> None:
    assert systems() == {"rescue", "idn", "oinc", "edr", "tapfinger"}
    found = closure(frozenset({"edgeopt_papers.figures.cells"}), frozenset({system}))
    assert {f"edgeopt.studies.{system}.record", "edgeopt.studies.run"} <= set(found)
    layers = ("bounds", "instances", "models", "online")
    assert all(
        any(one.startswith(f"edgeopt.{layer}.{system}") for one in found) for layer in layers
    )
    assert [one for one in found if set(one.split(".")) & (systems() - {system})] == []


PRINT = """
import json, sys
from edgeopt.digests import changed, closure, digest
from edgeopt.digests import modules
root = frozenset(sys.argv[1:])
found = digest(root)
print(json.dumps([found, [str(one) for one in changed(closure(root))], len(modules._table())]))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package in a folder of its own, where it may be edited."""
    folder = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "edgeopt", folder / "edgeopt", ignore=ignored)
    return folder


def published(copy: Path, *modules: str, cache: Path | None = None) -> list:
    environment = {**os.environ, "PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(cache or "")}
    done = subprocess.run(
        [sys.executable, "-c", PRINT, *modules],
        capture_output=True, text=True, check=True, cwd=copy, env=environment,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_an_edit_far_below_moves_the_digest_and_a_comment_does_not(copy: Path) -> None:
    modules = ("edgeopt.rounding.dependent", "edgeopt.models.rescue.matrix")
    first, other = (published(copy, module)[0] for module in modules)
    kernels = copy / "edgeopt/rounding/kernels.py"
    text = kernels.read_text()
    kernels.write_text(text.replace('"""', '"""In other words: ', 1) + "\n# The end.\n")
    assert published(copy, modules[0])[0] == first
    kernels.write_text(text.replace("return", "return 0.5 *", 1))
    assert published(copy, modules[0])[0] != first
    assert published(copy, modules[1])[0] == other
    kernels.write_text(text)
    assert published(copy, modules[0])[0] == first


def test_a_table_that_is_torn_or_foreign_is_found_again(copy: Path, tmp_path: Path) -> None:
    module = "edgeopt.rounding.rows"
    found, _, known = published(copy, module, cache=tmp_path)
    assert known >= len(closure(frozenset({module})))
    [table] = tmp_path.glob("*/digests.json")
    whole = table.read_text()
    for spoilt in ("", whole[:40], "[]", '{"format": 0}', whole.replace('"edgeopt', '"other')):
        table.write_text(spoilt)
        assert published(copy, module, cache=tmp_path)[0] == found


def test_a_file_touched_while_a_process_runs_is_named(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import edgeopt
    from edgeopt.digests import changed

    module = "edgeopt.rounding.kernels"
    assert published(copy, module)[1] == []
    touched = (ROOT / "edgeopt/rounding/kernels.py").stat()
    assert changed([module]) == []
    monkeypatch.setattr(edgeopt, "_BEGAN", max(touched.st_mtime, touched.st_ctime))
    assert changed([module]) == [ROOT / "edgeopt/rounding/kernels.py"]


@pytest.mark.long
def test_what_a_wheel_carries_is_found_by_itself(copy: Path, tmp_path: Path) -> None:
    from edgeopt.digests.modules import facts_of_package

    module = "edgeopt.studies.run"
    found = published(copy, module, cache=tmp_path / "found")
    assert list(tmp_path.glob("found/*/digests.json"))
    shipped = copy / "edgeopt/_digests.json"
    shipped.write_text(facts_of_package())
    try:
        assert published(copy, module, cache=tmp_path / "shipped")[0] == found[0]
    finally:
        shipped.unlink()
    assert not list(tmp_path.glob("shipped/*/digests.json"))
