"""Files that the plan of a benchmark is written to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeopt.errors import OptionError
from edgeopt.studies.spreadsheet import csv_text
from edgeopt.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from edgeopt.studies.entries import Benchmark

__all__ = ["SUFFIXES", "write_plan"]

SUFFIXES = (".csv", ".nc")
"""Kinds of file."""


def write_plan(
    benchmark: Benchmark,
    path: Path,
    *,
    rows: Callable[[], Mapping[str, Any]],
    arrays: Callable[[], Mapping[str, Any]],
) -> None:
    """Write a plan as a table of what is used, or whole."""
    if path.suffix not in SUFFIXES:
        raise OptionError(f"{path}: write a plan to a file that ends in {' or '.join(SUFFIXES)}")
    if path.suffix == ".csv":
        import pandas as pd

        write_file(path, csv_text(pd.DataFrame(dict(rows()))))
        return
    import xarray as xr

    plan = xr.Dataset(dict(arrays()), attrs=benchmark.record())
    write_file(path, lambda draft: plan.to_netcdf(draft, engine="h5netcdf"))
