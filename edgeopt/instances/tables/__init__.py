"""Small tables of public measurements, derived from larger files; sources are in README.md."""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["FOLDER"]

FOLDER: Final = Path(__file__).parent
"""The folder that holds the tables."""
