"""Drafts: files under a name of their own that take their place once they are whole."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import secrets
import stat
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from edgeopt.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PREFIX", "drafted", "refused", "remove_drafts"]

PREFIX: Final = ".edgeopt-draft-"
"""How the name of a draft begins; machine, process and its start follow."""

_DAY: Final = 86_400.0


@contextlib.contextmanager
def drafted(target: Path, path: str | os.PathLike[str], suffix: str = "") -> Iterator[Path]:
    """Give an empty draft that takes the place of a file when the block ends well."""
    name = f"{PREFIX}{_machine()}-{os.getpid()}-{_started(os.getpid())}-{secrets.token_hex(4)}"
    draft = target.with_name(name + suffix)
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        try:
            yield draft
            _flush(draft, os.O_RDWR)
            with contextlib.suppress(FileNotFoundError):
                draft.chmod(stat.S_IMODE(target.lstat().st_mode))
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # not every system opens folders
            _flush(target.parent, os.O_RDONLY)
    except OutputError:
        raise
    except OSError as error:
        raise refused(path, error) from error


def _flush(path: Path, way: int) -> None:
    """Make sure that it outlives a loss of power."""
    handle = os.open(path, way)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def refused(path: object, why: object) -> OutputError:
    """Return the error that says what cannot be written, and why."""
    text = getattr(why, "strerror", None) or str(why)
    named = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else repr(path)
    return OutputError(f"{named} cannot be written: {text}")


def remove_drafts(folder: Path) -> None:
    """Remove the drafts in a folder whose processes no longer run."""
    with os.scandir(folder) as entries:
        drafts = [entry for entry in entries if entry.name.startswith(PREFIX)]
    for draft in drafts:
        # Somebody else may be removing it too, or own it.
        with contextlib.suppress(OSError):
            if _left(draft):
                os.unlink(draft)


def _left(draft: os.DirEntry[str]) -> bool:
    machine, *process = draft.name.removeprefix(PREFIX).split(".")[0].split("-")[:3]
    known = os.name == "posix" and machine == _machine()
    if known and len(process) == 2 and all(map(str.isdecimal, process)):
        return not _running(*map(int, process))
    # Written by another machine on a shared disk: there is nobody to ask.
    return time.time() - draft.stat(follow_symlinks=False).st_mtime > _DAY


def _running(process: int, started: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # Numbers of processes are used again.
    return _started(process) == started


def _started(process: int) -> int:
    """When a process was started, on a clock of its machine; 0 if it has ended or none tells."""
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    state, *others = status.rpartition(")")[2].split()
    return 0 if state in "ZX" else int(others[18])


@cache
def _machine() -> str:
    """Tell machines apart, their restarts, and the containers on them."""
    parts = [platform.node()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
    with contextlib.suppress(OSError):
        parts.append(str(os.stat("/proc/self/ns/pid").st_ino))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]
