"""Single files, written where a regular file stands or nothing."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from edgeopt.errors import OutputError
from edgeopt.writing.drafts import drafted, refused, remove_drafts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["place", "placed", "target_of", "write_file"]

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
    with drafted(target, path, target.suffix[:16]) as draft:
        yield draft
        target_of(path, force=force)


def place(
    target: Path, content: str | bytes | Callable[[Path], object], path: str | os.PathLike[str]
) -> None:
    """Write a file where it may stand; errors call it by the path that the user gave."""
    with drafted(target, path) as draft:
        if callable(content):
            content(draft)
        else:
            # Half of a surrogate pair, which a name may hold, is spelt as JSON and Python do.
            if isinstance(content, str):
                content = content.encode("utf-8", "backslashreplace")
            draft.write_bytes(content)
