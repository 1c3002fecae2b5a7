"""Files, written as drafts and renamed when complete; and texts that are safe to print."""

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
    """Return the regular file that a path leads to, whether it exists or not; links are followed.

    Parameters
    ----------
    path
        Where to write.
    force
        Whether an existing file may be replaced.

    Returns
    -------
    The path that is to be written.

    Raises
    ------
    OutputError
        If something else than a regular file is there, if it may not be replaced, or if its folder
        does not exist.

    Examples
    --------
    >>> import tempfile
    >>> from edgeopt.errors import OutputError
    >>> from edgeopt.writing import target_of
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(target_of(f"{folder}/new.csv").name)
    ...     try:
    ...         target_of(f"{folder}/missing/new.csv")
    ...     except OutputError as error:
    ...         print(str(error).rpartition(": ")[2])
    ...
    new.csv
    the directory does not exist
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
        A text, written as UTF-8, bytes, or a function that writes to a path.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    OutputError
        If it cannot be written, or something else than a regular file is there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from edgeopt.writing import write_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_file(Path(folder) / "note.txt", "kept whole")
    ...     print(path.read_text())
    ...
    kept whole
    """
    target = target_of(path)
    remove_drafts(target.parent)
    place(target, content, path)
    return Path(path)


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], *, force: bool = True) -> Iterator[Path]:
    """Give a draft to write to, which replaces the file when the block ends without error.

    Parameters
    ----------
    path
        Path of the file.
    force
        Whether an existing file may be replaced.

    Yields
    ------
    Path
        The draft, an empty file whose name ends like that of the file.

    Raises
    ------
    OutputError
        As :func:`write_file` does.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from edgeopt.writing import atomic_write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "note.txt") as draft:
    ...         size = draft.write_text("kept whole")
    ...     print((Path(folder) / "note.txt").read_text())
    ...
    kept whole
    """
    target = target_of(path, force=force)
    remove_drafts(target.parent)
    with _drafted(target, path, target.suffix[:16]) as draft:
        yield draft
        target_of(path, force=force)


def place(
    target: Path, content: str | bytes | Callable[[Path], object], path: str | os.PathLike[str]
) -> None:
    """Write a file; errors name the path that the user gave."""
    with _drafted(target, path) as draft:
        if callable(content):
            content(draft)
        else:
            # Half of a surrogate pair, which a name may contain, is escaped as in JSON and Python.
            if isinstance(content, str):
                content = content.encode("utf-8", "backslashreplace")
            draft.write_bytes(content)


PREFIX: Final = ".edgeopt-draft-"
"""Prefix of the name of a draft; machine, process and start time follow."""

_DAY: Final = 86_400.0


@contextlib.contextmanager
def _drafted(target: Path, path: str | os.PathLike[str], suffix: str = "") -> Iterator[Path]:
    """Give an empty draft that replaces a file when the block ends without error."""
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
        with contextlib.suppress(OSError):  # some systems cannot open folders
            _flush(target.parent, os.O_RDONLY)
    except OutputError:
        raise
    except OSError as error:
        raise refused(path, error) from error


def _flush(path: Path, way: int) -> None:
    """Flush to disk, so that it survives a power failure."""
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
        # Another process may be removing it too, or another user own it.
        with contextlib.suppress(OSError):
            if _left(draft):
                os.unlink(draft)


def _left(draft: os.DirEntry[str]) -> bool:
    machine, *process = draft.name.removeprefix(PREFIX).split(".")[0].split("-")[:3]
    known = os.name == "posix" and machine == _machine()
    if known and len(process) == 2 and all(map(str.isdecimal, process)):
        return not _running(*map(int, process))
    # Written by another machine on a shared disk, whose processes are unknown here.
    return time.time() - draft.stat(follow_symlinks=False).st_mtime > _DAY


def _running(process: int, started: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # Process ids are reused.
    return _started(process) == started


def _started(process: int) -> int:
    """Return when a process was started, by its machine's clock; 0 if it has ended or unknown."""
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    state, *others = status.rpartition(")")[2].split()
    return 0 if state in "ZX" else int(others[18])


@cache
def _machine() -> str:
    """Return an id of this machine, its last restart, and the container."""
    parts = [platform.node()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
    with contextlib.suppress(OSError):
        parts.append(str(os.stat("/proc/self/ns/pid").st_ino))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


_CONTROLS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""Characters that move the cursor, change colours or text direction, or are not allowed in XML."""


def printable(text: str) -> str:
    r"""Escape control characters in a text as Python does, except tabs and line feeds.

    Parameters
    ----------
    text
        The text.

    Returns
    -------
    The text without control characters.

    Examples
    --------
    >>> print(printable("\x1b[31mred"))
    \x1b[31mred
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
