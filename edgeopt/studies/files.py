"""Files of studies: JSON, CSV, and the plans of benchmarks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from edgeopt.errors import OptionError
from edgeopt.writing import printable, write_file

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from edgeopt.studies.entries import Benchmark


SCHEMA: Final = 1
"""Version of JSON documents: it grows where a key goes or changes its meaning."""


def plain(value: Any) -> Any:
    """Turn nested mappings, sequences and NumPy scalars into JSON types; NaN becomes None."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, str | bool | None):
        return value
    if hasattr(value, "item"):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, int) else str(value)


_FORMULA: Final = ("=", "+", "-", "@", "\t")
"""First characters of a text that a spreadsheet would evaluate."""


def csv_text(table: pd.DataFrame) -> str:
    """Write a table as CSV; a text that a spreadsheet would evaluate gets a leading apostrophe.

    Numbers are written as they are, also negative ones. What edgeopt reads back is JSON or NetCDF.
    """
    safe = table.rename(columns=_shown)
    for place, kind in enumerate(safe.dtypes):
        if kind.kind not in "biufcmM":
            safe.isetitem(place, safe.iloc[:, place].astype(object).map(_shown).array)
    return str(safe.to_csv(index=False, lineterminator="\n"))


def _shown(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


SUFFIXES = (".csv", ".nc")
"""Endings of file names for plans."""


def write_plan(benchmark: Benchmark, path: Path) -> None:
    """Write a plan: CSV has the entries that are not 0, by their labels; NetCDF everything."""
    if path.suffix not in SUFFIXES:
        raise OptionError(f"{path}: write a plan to a file that ends in {' or '.join(SUFFIXES)}")
    if path.suffix == ".csv":
        write_file(path, csv_text(benchmark.to_frame()))
        return
    plan = benchmark.to_xarray()
    packed = {name: {"zlib": True} for name, one in plan.items() if one.ndim > 2}
    write_file(path, lambda draft: plan.to_netcdf(draft, engine="h5netcdf", encoding=packed))
