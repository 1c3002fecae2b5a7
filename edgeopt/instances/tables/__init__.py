"""Small tables of public measurements, derived from larger files; sources are in README.md."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from edgeopt.writing import write_file
from edgeopt.writing.results import csv_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FOLDER: Final = Path(__file__).parent  # the folder that holds the tables


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV table with a header, the same bytes on every machine."""
    write_file(path, csv_text([header, *rows]))
