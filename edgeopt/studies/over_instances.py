"""Means over the instances of a study, with intervals: what holds beyond one drawn instance."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.studies.estimates import mean_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from edgeopt.studies.result import Study

__all__ = ["over_instances"]


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
    the runs on it; the interval speaks about the draw of the instances.
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
