"""Kernels that come with the package: used where they fit the code and the processor alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from edgeopt.archive import ARCHIVE, LEVELS, targets

ROOT = Path(__file__).parents[1]

TRIPLE = "x86_64-unknown-linux-gnu"

LEVEL = "x86-64-v2"
"""That of every processor for which NumPy is built."""

TOTAL = """
from edgeopt.kernels import compiled

@compiled
def square(value):
    return value * value

@compiled
def total(values):
    found = 0.0
    for value in values:
        found += square(value)
    return found
"""

CALLS = """
import numpy as np
from edgeopt.total import total
print(total(np.arange(4.0)), sum(total.stats.cache_misses.values()))
"""

PACKS = """
from pathlib import Path
from edgeopt.archive import ARCHIVE, pack
print(pack(Path("kept"), ARCHIVE))
"""


def features(level: str, *without: str) -> str:
    """What numba says of a processor that has just the features of a level."""
    every = LEVELS["x86-64-v3"]
    has = LEVELS[level] - set(without)
    return ",".join(f"{'+' if one in has else '-'}{one}" for one in sorted(every))


def test_a_level_is_for_processors_that_have_all_its_features() -> None:
    def found(given: str) -> list[str]:
        host = (TRIPLE, "this", given)
        first, *others = targets(host)
        assert first == host
        assert all((triple, more) == (TRIPLE, "") for triple, _, more in others)
        return [level for _, level, _ in others]

    assert list(LEVELS) == ["x86-64-v3", "x86-64-v2"]
    assert found(features("x86-64-v3")) == ["x86-64-v3", "x86-64-v2"]
    assert found(features("x86-64-v2")) == ["x86-64-v2"]
    assert found("") == found("+neon,+fp-armv8") == []
    for one in LEVELS["x86-64-v3"]:
        left = ["x86-64-v2"] * (one not in LEVELS["x86-64-v2"])
        assert found(features("x86-64-v3", one)) == left, one


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with a kernel more, which is in the archive for a level, but not for the best."""
    folder = tmp_path_factory.mktemp("copy")
    left_out = shutil.ignore_patterns("__pycache__", ARCHIVE.name)
    shutil.copytree(ROOT / "edgeopt", folder / "edgeopt", ignore=left_out)
    (folder / "edgeopt/total.py").write_text(TOTAL)
    # What only kernels call is part of the others.
    level = {"NUMBA_CPU_NAME": LEVEL, "NUMBA_CPU_FEATURES": ""}
    assert run(folder, CALLS + PACKS, **level) == ["14.0", "1", "1"]
    return folder


def run(copy: Path, code: str, **environ: str) -> list[str]:
    """Run code on a copy, where no kernels are kept."""
    shutil.rmtree(copy / "kept", ignore_errors=True)
    outer = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_C")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=copy,
        env=outer | {"PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(copy / "kept"), **environ},
    )
    return done.stdout.split()


def test_a_kernel_is_loaded_where_it_fits(copy: Path) -> None:
    assert run(copy, CALLS, NUMBA_CPU_FEATURES=features(LEVEL)) == ["14.0", "0"]
    assert run(copy, CALLS, NUMBA_CPU_FEATURES=features(LEVEL, "sse4.2")) == ["14.0", "1"]


CHANGES = """
import importlib, shutil
from pathlib import Path
from zipfile import ZipFile
import numpy as np
from edgeopt import archive, kernels, total

def compiled():
    shutil.rmtree("kept", ignore_errors=True)
    kernels.cache_folder.cache_clear()
    archive._opened.cache_clear()
    importlib.reload(total)
    return total.total(np.arange(4.0)), sum(total.total.stats.cache_misses.values())

source, path = Path(total.__file__), archive.ARCHIVE
text, whole = source.read_text(), path.read_bytes()
with ZipFile(path) as opened:
    [one] = opened.infolist()
damaged = bytearray(whole)
damaged[one.header_offset + one.compress_size // 2] ^= 255
print(*compiled())
source.write_text(text.replace("value * value", "value + value + 0"))
print(*compiled())
source.write_text(text)
for found in (damaged, whole[: len(whole) // 2], b""):
    path.write_bytes(found)
    print(*compiled())
path.unlink()
print(*compiled())
"""


def test_an_archive_of_other_code_or_a_damaged_one_is_left_alone(copy: Path) -> None:
    found = run(copy, CHANGES, NUMBA_CPU_FEATURES=features(LEVEL))
    assert found == ["14.0", "0", "12.0", "1", *["14.0", "1"] * 4]
