"""Where what can be computed again is kept: compiled kernels, and what is known of sources."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from edgeopt.errors import CacheWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE: Final = "NUMBA_CACHE_DIR"
"""Name of the variable with which users choose the folder."""

PACKAGE: Final = Path(__file__).parent


@cache
def cache_folder() -> Path:
    """Return the folder of this copy of the package, the first of these that can be written.

    It is in the folder that the environment variable ``NUMBA_CACHE_DIR`` names, beside the sources,
    or in the user's own cache; else a temporary one that goes with the process.
    """
    tried = []
    for folder in _candidates():
        if _is_writable(folder):
            return folder
        tried.append(os.fspath(folder))
    folder = Path(tempfile.mkdtemp(prefix="edgeopt-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    # The processes that this one starts share the folder, and need not warn again.
    os.environ[VARIABLE] = os.fspath(folder)
    warnings.warn(
        f"compiled code can be kept in none of {', '.join(tried)}: it goes to a temporary folder "
        f"and is compiled again next time; set {VARIABLE} to a folder that you can write",
        CacheWarning,
        stacklevel=2,
    )
    return folder


def _candidates() -> Iterator[Path]:
    named = f"edgeopt-{hashlib.sha256(os.fsencode(PACKAGE)).hexdigest()[:16]}"
    if chosen := os.environ.get(VARIABLE):
        yield Path(chosen).absolute() / named
    yield PACKAGE / "__pycache__" / "kernels"
    if own := os.environ.get("XDG_CACHE_HOME"):
        yield Path(own).absolute() / named
    # Who has no home has no cache there.
    with contextlib.suppress(RuntimeError):
        yield Path.home() / ".cache" / named


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
