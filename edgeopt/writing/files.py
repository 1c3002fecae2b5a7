"""Files, written as drafts that take their place once they are whole, where a file may stand.

Texts of strangers, such as names of policies and instances, are made harmless to show.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import secrets
import stat
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from edgeopt.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SORTS: Final = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISLNK, "a link that leads to itself"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def target_of(path: str | os.PathLike[str], *, force: bool = True) -> Path:
    """Return the regular file that a path leads to, there or not yet.

    A link is followed: the file behind it is the one that is written.

    Parameters
    ----------
    path
        Where something is to be written.
    force
        Whether a file that is there may be replaced.

    Raises
    ------
    OutputError
        If something else than a regular file is there, if it may not be replaced, or if there is no
        folder to write it to.
    """
    try:
        target = Path(os.path.realpath(path))
        try:
            mode = target.lstat().st_mode
        except FileNotFoundError:
            mode = None
    except (OSError, ValueError, TypeError) as error:
        raise refused(path, error) from None
    if mode is None:
        if not target.parent.is_dir():
            raise refused(path, "the directory does not exist")
    elif not stat.S_ISREG(mode):
        sort = next((name for is_sort, name in _SORTS if is_sort(mode)), "something else")
        raise refused(path, f"it is {sort}, not a regular file")
    elif not force:
        raise OutputError(f"{os.fspath(path)} exists; --force replaces it")
    elif not os.access(target, os.W_OK):
        raise refused(path, "it is read-only")
    return target


def write_file(
    path: str | os.PathLike[str], content: str | bytes | Callable[[Path], object]
) -> Path:
    """Write a file that appears under its name only once it is complete.

    Parameters
    ----------
    path
        Where; a regular file there is replaced.
    content
        What; texts are written as UTF-8. Or a function that writes to the path it is given.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    OutputError
        If it cannot be written, or something else than a regular file is there.
    """
    target = target_of(path)
    remove_drafts(target.parent)
    place(target, content, path)
    return Path(path)


@contextlib.contextmanager
def placed(path: str | os.PathLike[str], *, force: bool = True) -> Iterator[Path]:
    """Give a draft to write to, which takes its place when the block ends well.

    Parameters
    ----------
    path
        Where the file is to stand.
    force
        Whether one that is there may be replaced.

    Yields
    ------
    Path
        The draft, an empty file whose name ends like that of the file.

    Raises
    ------
    OutputError
        As :func:`write_file` does.
    """
    target = target_of(path, force=force)
    remove_drafts(target.parent)
    with _drafted(target, path, target.suffix[:16]) as draft:
        yield draft
        target_of(path, force=force)


def place(
    target: Path, content: str | bytes | Callable[[Path], object], path: str | os.PathLike[str]
) -> None:
    """Write a file where it may stand; errors call it by the path that the user gave."""
    with _drafted(target, path) as draft:
        if callable(content):
            content(draft)
        else:
            # Half of a surrogate pair, which a name may hold, is spelt as JSON and Python do.
            if isinstance(content, str):
                content = content.encode("utf-8", "backslashreplace")
            draft.write_bytes(content)


PREFIX: Final = ".edgeopt-draft-"
"""How the name of a draft begins; machine, process and its start follow."""

_DAY: Final = 86_400.0


@contextlib.contextmanager
def _drafted(target: Path, path: str | os.PathLike[str], suffix: str = "") -> Iterator[Path]:
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


_CONTROLS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""What moves a cursor, changes colours or the direction of reading, or is no part of XML."""


def printable(text: str) -> str:
    r"""Return a text in which control characters stand as Python spells them.

    Blanks, tabs and line feeds are left alone.

    Parameters
    ----------
    text
        The text.

    Examples
    --------
    >>> print(printable("\x1b[31mred"))
    \x1b[31mred
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
