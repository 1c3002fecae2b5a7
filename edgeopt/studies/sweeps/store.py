"""Finished cells on disk: each appears whole or not at all, and is trusted only if it is sound."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from edgeopt.errors import EdgeOptWarning, OptionError
from edgeopt.studies.sweeps.cells import digest

if TYPE_CHECKING:
    from edgeopt.studies.sweeps.cells import Cell

__all__ = ["Store", "StoreWarning"]

FORMAT: Final = 1
"""Number of the form in which cells are kept."""


class StoreWarning(EdgeOptWarning):
    """A kept cell is torn, foreign or unreadable, and is computed again."""


class Store:
    """A folder of finished cells.

    A cell is written under another name, flushed to the disk and then renamed, so that a process
    that is killed leaves whole cells alone. Several processes may use a folder at a time.

    Parameters
    ----------
    folder
        The folder; made if it is not there.

    Raises
    ------
    OptionError
        If it cannot be made.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).absolute()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionError(f"folder {os.fspath(folder)!r} of a sweep: {error}") from None

    def path(self, cell: Cell) -> Path:
        """Return the file of a cell, there or not."""
        return self.folder / f"{cell.key}.json"

    def get(self, cell: Cell) -> dict[str, Any] | None:
        """Return what a cell came to, or None if it has not been finished.

        Warns
        -----
        StoreWarning
            If its file is torn, of another cell or unreadable; it counts as not finished then.
        """
        path = self.path(cell)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            _distrust(path, f"cannot be read ({error})")
            return None
        try:
            kept = json.loads(text)
        except json.JSONDecodeError:
            _distrust(path, "is torn: it is no whole JSON document")
            return None
        if not isinstance(kept, dict) or kept.get("format") != FORMAT:
            _distrust(path, f"is foreign: it is not of format {FORMAT}")
            return None
        if kept.get("checksum") != digest([kept.get("key"), kept.get("row")]):
            _distrust(path, "has changed since it was written")
            return None
        if kept["key"] != cell.key:
            _distrust(path, "is foreign: it is of another cell")
            return None
        row: dict[str, Any] = kept["row"]
        return row

    def put(self, cell: Cell, row: dict[str, Any]) -> None:
        """Keep what a cell came to.

        Raises
        ------
        OptionError
            If the row holds anything but numbers and texts, or cannot be written.
        """
        try:
            content = {
                "format": FORMAT,
                "key": cell.key,
                "identity": dict(cell.identity),
                "row": row,
                "checksum": digest([cell.key, row]),
            }
            text = json.dumps(content, indent=1)
        except (TypeError, ValueError) as error:
            raise OptionError(f"row of a cell: {error}") from None
        path = self.path(cell)
        try:
            handle, draft = tempfile.mkstemp(dir=self.folder, prefix=".draft-")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(draft).replace(path)
            _flush(self.folder)
        except OSError as error:
            raise OptionError(f"{os.fspath(path)} cannot be written: {error}") from None


def _distrust(path: Path, why: str) -> None:
    warnings.warn(
        f"{os.fspath(path)} {why}; the cell is computed again", StoreWarning, stacklevel=4
    )


def _flush(folder: Path) -> None:
    """Make sure that a name outlives a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
