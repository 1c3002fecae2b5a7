"""Files that the plan of a benchmark is written to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeopt.errors import OptionError

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
    """Write a plan as a table of what is used, or whole.

    Parameters
    ----------
    benchmark
        A solved benchmark; its figures go into the attributes of a ``.nc`` file.
    path
        ``.csv`` holds `rows`, ``.nc`` holds `arrays`.
    rows
        Columns of the table by name.
    arrays
        Variables of the labelled file, in the form that xarray takes.

    Raises
    ------
    OptionError
        If the suffix is another one.
    """
    if path.suffix not in SUFFIXES:
        raise OptionError(f"{path}: write a plan to a file that ends in {' or '.join(SUFFIXES)}")
    if path.suffix == ".csv":
        import pandas as pd

        pd.DataFrame(dict(rows())).to_csv(path, index=False)
        return
    import xarray as xr

    xr.Dataset(dict(arrays()), attrs=benchmark.record()).to_netcdf(path, engine="h5netcdf")
