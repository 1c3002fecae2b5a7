"""From the table of the cells to the rows of an exhibit, and from these to single figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.studies.exhibits.exhibit import Estimate
from edgeopt.studies.over_instances import mean_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

__all__ = ["found", "lead", "means"]


def means(
    table: pd.DataFrame,
    measures: Sequence[str],
    by: Sequence[str],
    *,
    shares: Sequence[str] = (),
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Average measures over the cells that agree in some columns, such as those of all seeds.

    Parameters
    ----------
    table
        Table of the cells.
    measures
        Columns to average.
    by
        Columns that stay, such as the swept ones and ``policy``.
    shares
        Measures that lie in [0, 1]; so do the ends of their intervals.
    confidence
        Of the intervals, which speak about the draw of the instances.

    Returns
    -------
    pandas.DataFrame
        One row per combination in order of appearance: `by`, ``instances``, and for each measure
        NAME, NAME_low and NAME_high; these ends are NaN where there is one cell only, or where a
        value is not finite.
    """
    import pandas as pd

    rows = []
    for key, group in table.groupby(list(by), sort=False, dropna=False):
        row: dict[str, Any] = dict(zip(by, key, strict=True))
        row["instances"] = len(group)
        for name in measures:
            row |= mean_columns(
                name, group[name].to_numpy(dtype=float), confidence, share=name in shares
            )
        rows.append(row)
    return pd.DataFrame(rows)


def found(measure: str, **at: Any) -> Callable[[pd.DataFrame], Estimate]:
    """Return what reads one figure, with its interval, from the rows of an exhibit.

    Parameters
    ----------
    measure
        Column.
    **at
        Values of other columns that single out the row, such as ``policy="oinc"``.
    """

    def read(rows: pd.DataFrame) -> Estimate:
        row = _row(rows, at)
        low, high = row.get(f"{measure}_low", np.nan), row.get(f"{measure}_high", np.nan)
        return Estimate(float(row[measure]), float(low), float(high))

    return read


def lead(measure: str, policy: str, other: str, **at: Any) -> Callable[[pd.DataFrame], float]:
    """Return what reads by how much a policy's figure lies above another's, as a share of that.

    Parameters
    ----------
    measure
        Column.
    policy, other
        Values of the column ``policy``.
    **at
        Values of other columns that single out both rows.
    """

    def read(rows: pd.DataFrame) -> float:
        mine, theirs = (_row(rows, {**at, "policy": one})[measure] for one in (policy, other))
        return float(mine / theirs - 1.0)

    return read


def _row(rows: pd.DataFrame, at: dict[str, Any]) -> pd.Series:
    chosen = rows
    for name, value in at.items():
        chosen = chosen[chosen[name] == value]
    if len(chosen) != 1:
        raise OptionError(f"{len(chosen)} rows of the exhibit have {at}; one is asked for")
    return chosen.iloc[0]
