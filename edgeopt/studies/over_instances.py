"""Means over the instances of a study, with intervals over their draw."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.ratio import mean_with_interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from edgeopt.studies.result import Study


def mean_columns(
    name: str, series: NDArray[np.float64], confidence: float = 0.95, *, share: bool = False
) -> dict[str, float]:
    """Average independent figures, such as those of several instances."""
    mean = float(series.mean())
    low = high = np.nan
    if series.size > 1 and np.isfinite(mean):
        reach = mean_with_interval(series, confidence)[2]
        low, high = mean - reach, mean + reach
    if share:
        low, high = np.clip([low, high], 0.0, 1.0).tolist()
    return {name: mean, f"{name}_low": low, f"{name}_high": high}


def over_instances(
    study: Study,
    columns: Sequence[str],
    *,
    paired: Sequence[str] = (),
    shares: Sequence[str] = (),
    sums: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> pd.DataFrame:
    """Average columns of the table of a study over its instances.

    The instances are taken as independent draws. A figure of one instance is itself a mean over
    the runs on it; the interval is over the draw of the instances.
    """
    import pandas as pd

    table = study.table.set_index(["policy", "instance"])
    for name, terms in sums.items():
        table[name] = table[list(terms)].sum(axis=1)
    cases = [case.name for case in study.cases]
    entries, references = study.cases[0].entries, study.cases[0].references
    rows = []
    for policy, entry in entries.items():
        row: dict[str, Any] = {"policy": policy, "title": entry.title, "instances": len(cases)}
        other = references[policy]
        found = {name: _series(table, policy, cases, name) for name in {*columns, *sums, *paired}}
        for name in [*columns, *sums]:
            row |= mean_columns(name, found[name], study.settings.confidence, share=name in shares)
        for name in paired:
            lead = found[name] - _series(table, other, cases, name)
            if other == policy:
                lead = np.full(len(cases), np.nan)
            row |= mean_columns(f"{name}_difference", lead, study.settings.confidence)
        rows.append(row)
    return pd.DataFrame(rows)


def _series(
    table: pd.DataFrame, policy: str, cases: Sequence[str], name: str
) -> NDArray[np.float64]:
    return np.array([table.loc[(policy, case), name] for case in cases], dtype=float)
