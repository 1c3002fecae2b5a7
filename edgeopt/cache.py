"""The folder for compiled kernels, which can be computed again."""

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
"""Environment variable that chooses the folder."""

PACKAGE: Final = Path(__file__).parent


@cache
def cache_folder() -> Path:
    """Return the cache folder of this copy of the package.

    It is the first writable one of: in the folder named by the environment variable
    ``NUMBA_CACHE_DIR``, with the sources, in the user's cache, or a temporary one of this process.
    """
    tried = []
    for folder in _candidates():
        if _is_writable(folder):
            return folder
        tried.append(os.fspath(folder))
    folder = Path(tempfile.mkdtemp(prefix="edgeopt-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    # Processes started by this one share the folder, and do not warn again.
    os.environ[VARIABLE] = os.fspath(folder)
    warnings.warn(
        f"compiled code cannot be kept in any of {', '.join(tried)}: a temporary folder is used, "
        f"and the next process compiles again; set {VARIABLE} to a writable folder",
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
    # A user without a home folder has no cache there.
    with contextlib.suppress(RuntimeError):
        yield Path.home() / ".cache" / named


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
