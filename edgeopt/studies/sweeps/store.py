"""Finished cells on disk, written whole or not at all, and checked when read."""

from __future__ import annotations

import json
import os
import warnings
from typing import TYPE_CHECKING, Any, Final

from edgeopt.errors import EdgeOptWarning, OptionError
from edgeopt.studies.sweeps.cells import code_of, digest
from edgeopt.writing import Folder

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.studies.sweeps.cells import Cell

FORMAT: Final = 2
"""Version of the format of cells."""


_LARGEST: Final = 2**26
"""Most bytes of a cell."""


class StoreWarning(EdgeOptWarning):
    """A kept cell is torn, foreign, unreadable or of other code, and is computed again."""


class Store:
    """A folder of finished cells.

    A process that is killed leaves whole cells alone. Several processes may use a folder at a time.

    Parameters
    ----------
    folder
        The folder; made if it is not there.
    force
        Whether to use a folder that is not empty and that no sweep has made.

    Raises
    ------
    OutputError
        If it cannot be made, or is another's.
    """

    def __init__(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        self._own = Folder(folder, "cells", force=force)
        self._own.begin()

    @property
    def folder(self) -> Path:
        """Absolute path of the folder."""
        return self._own.path

    @property
    def present(self) -> bool:
        """Whether the folder is on the disk of this machine."""
        return self._own.marked

    def path(self, cell: Cell) -> Path:
        """Return the file of a cell, whether it exists or not."""
        return self.folder / f"{cell.key}.json"

    def get(self, cell: Cell) -> dict[str, Any] | None:
        """Return the result of a cell, or None if it is not finished.

        Warns
        -----
        StoreWarning
            If its file is torn, of another cell, unreadable, or of other code than would run now;
            it counts as not finished then.
        """
        path = self.path(cell)
        try:
            if path.stat().st_size > _LARGEST:
                _distrust(path, f"is foreign: it is larger than {_LARGEST} bytes")
                return None
            kept = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except OSError as error:
            _distrust(path, f"cannot be read ({error})")
            return None
        except (ValueError, RecursionError):  # no UTF-8, no JSON, digits or brackets without end
            _distrust(path, "is torn: it is no whole JSON document")
            return None
        if not isinstance(kept, dict) or kept.get("format") != FORMAT:
            _distrust(path, f"is foreign: it is not of format {FORMAT}")
            return None
        if not {"key", "code", "checksum"} <= kept.keys() or not isinstance(kept.get("row"), dict):
            _distrust(path, "is foreign: it lacks what a cell has")
            return None
        if kept["checksum"] != _checksum(kept):
            _distrust(path, "has changed since it was written")
            return None
        if kept["key"] != cell.key:
            _distrust(path, "is foreign: it is of another cell")
            return None
        if kept["code"] != code_of(cell):
            _distrust(path, "is of other code: modules that it ran have changed")
            return None
        row: dict[str, Any] = kept["row"]
        return row

    def put(self, cell: Cell, row: dict[str, Any], code: str = "") -> None:
        """Keep the result of a cell and the digest of its code, by default in this process.

        Raises
        ------
        OptionError
            If the row holds anything but numbers and texts.
        OutputError
            If it cannot be written.
        """
        try:
            content: dict[str, Any] = {
                "format": FORMAT,
                "key": cell.key,
                "identity": dict(cell.identity),
                "code": code or code_of(cell),
                "row": row,
            }
            text = json.dumps({**content, "checksum": _checksum(content)}, indent=1)
        except (TypeError, ValueError) as error:
            raise OptionError(f"row of a cell: {error}") from None
        self._own.write(self.path(cell).name, text)


def _checksum(kept: dict[str, Any]) -> str:
    """Hash what is kept, to detect damage; it does not detect forgery."""
    try:
        return digest([kept[name] for name in ("key", "code", "row")])
    except RecursionError:  # brackets just shallow enough to be read
        return ""


def _distrust(path: Path, why: str) -> None:
    warnings.warn(
        f"{os.fspath(path)} {why}; the cell is computed again", StoreWarning, stacklevel=4
    )
