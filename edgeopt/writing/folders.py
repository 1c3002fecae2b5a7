"""Output folders, which belong to the command named by their marker."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

from edgeopt.errors import OutputError
from edgeopt.writing.files import PREFIX, place, refused, remove_drafts, target_of

if TYPE_CHECKING:
    from collections.abc import Callable

MARKER: Final = ".edgeopt"
"""File that names the command to which a folder belongs."""

_FORMAT: Final = 1


class Folder:
    """An output folder of a command, made and marked before its first file is written.

    Parameters
    ----------
    path
        The folder, whether it exists or not.
    command
        Name of the command that writes to it.
    force
        Whether to write to a folder that is not empty and does not have the command's marker. Files
        of the same names are replaced, others kept.

    Raises
    ------
    OutputError
        If it is not a folder, cannot be made, or lacks the marker and `force` is not given.

    Examples
    --------
    >>> import tempfile
    >>> from edgeopt.writing import Folder
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder = Folder(f"{place}/report", "study")
    ...     written = folder.write("note.txt", "kept whole")
    ...     print(folder.marked, written.read_text())
    ...
    True kept whole
    """

    def __init__(self, path: str | os.PathLike[str], command: str, *, force: bool = False) -> None:
        try:
            self.path = Path(path).absolute()
            names = set(os.listdir(self.path))
        except FileNotFoundError:
            names = set()
            above = next(folder for folder in self.path.parents if os.path.lexists(folder))
            if os.path.lexists(self.path) or not os.access(above, os.W_OK | os.X_OK):
                raise refused(path, "no folder can be made there") from None
        except (OSError, ValueError, TypeError) as error:
            raise refused(path, error) from None
        self.command = command
        self._tidied: set[Path] = set()
        others = {name for name in names if not name.startswith(PREFIX)}
        if others and not force and self._owner() != command:
            raise OutputError(
                f"{os.fspath(path)} exists; --force replaces it (force=True in Python): "
                f"edgeopt has not made this folder for {command!r}"
            )

    @property
    def marked(self) -> bool:
        """Whether it has the command's marker."""
        return self._owner() == self.command

    def _owner(self) -> str | None:
        marker = self.path / MARKER
        try:
            if not stat.S_ISREG(marker.lstat().st_mode):
                return None
            said = json.loads(marker.read_text(encoding="utf-8"))
            return str(said["command"]) if said["format"] == _FORMAT else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def begin(self) -> None:
        """Make the folder and its marker, and remove drafts of killed processes."""
        self._make(self.path)
        if not self.marked:
            said = {"format": _FORMAT, "command": self.command}
            self._replace(self.path / MARKER, json.dumps(said) + "\n")

    def write(self, name: str, content: str | bytes | Callable[[Path], object]) -> Path:
        """Write a file of the folder, as :func:`write_file` does.

        Parameters
        ----------
        name
            Its path within the folder. Links are not followed here.
        content
            As in :func:`write_file`.

        Raises
        ------
        OutputError
            If the name leads out of the folder, or the file cannot be written.
        """
        *folders, last = PurePath(name).parts or ("",)
        if not self._tidied:
            self.begin()
        where = self.path
        for part in folders:
            where = where / checked_name(part)
            self._make(where)
        return self._replace(where / checked_name(last), content)

    def _make(self, folder: Path) -> None:
        if folder in self._tidied:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if folder != self.path and folder.is_symlink():
                raise refused(folder, "it is a link")
            remove_drafts(folder)
        except OSError as error:
            raise refused(folder, error) from None
        self._tidied.add(folder)

    def _replace(self, path: Path, content: str | bytes | Callable[[Path], object]) -> Path:
        if path.is_symlink():
            raise refused(path, "it is a link")
        place(target_of(path), content, path)
        return path


def checked_name(name: str) -> str:
    """Return a name if it can be that of a file.

    Parameters
    ----------
    name
        The name.

    Returns
    -------
    The same name.

    Raises
    ------
    OutputError
        If it would lead to another folder, or cannot be a file name.

    Examples
    --------
    >>> from edgeopt.writing import checked_name
    >>> checked_name("report")
    'report'
    """
    plain = name.isprintable() and not set(name) & set('/\\:*?"<>|')
    if not plain or name.startswith(".") or not 0 < len(os.fsencode(name)) <= 200:
        raise OutputError(
            f"{name[:60]!r} cannot be a file name: use up to 200 letters, digits, blanks, '-', '_' "
            "and '.', and do not begin with '.'"
        )
    return name
