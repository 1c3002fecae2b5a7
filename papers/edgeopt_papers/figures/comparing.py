"""Paired comparisons: what a policy has in terms of another on the same draws, resolved or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeopt.bounds.pairs import OPEN
from edgeopt.studies.comparison import relative_columns
from edgeopt.studies.wording import listed
from edgeopt_papers.figures.aggregates import where
from edgeopt_papers.figures.paper_figure import UNRESOLVED, Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import pandas as pd

LESS, MORE = "less", "more"


def compared(
    table: pd.DataFrame,
    metric: str,
    own: str,
    others: Sequence[str],
    by: Sequence[str],
    *,
    family: str = "",
    pair: str = "draw",
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Compare a policy with others on the same draws, by the means of a metric.

    Returns a row per other policy and value of the columns in `by`, with ``METRIC_relative``, its
    ends, and as its finding whether the policy has less or more, or this is not resolved. The rows
    with one value of the column `family` are tested together, or else all.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for _, one in table.groupby(family, sort=False) if family else [("", table)]:
        keys, pairs = [], []
        for key, group in one.groupby(list(by), sort=False):
            values = group.pivot(index=pair, columns="policy", values=metric)
            for other in [one for one in others if {own, one} <= {*values}]:
                keys.append({**dict(zip(by, key, strict=True)), "policy": other})
                both = values[[own, other]].astype(float).dropna()
                pairs.append((both[own].to_numpy(), both[other].to_numpy()))
        found = relative_columns(f"{metric}_relative", pairs, confidence, (LESS, MORE))
        rows += [key | more for key, more in zip(keys, found, strict=True)]
    return pd.DataFrame(rows)


def with_comparison(rows: pd.DataFrame, comparison: pd.DataFrame) -> pd.DataFrame:
    """Add comparisons to the rows that they belong to."""
    if comparison.empty:
        return rows
    on = [name for name in comparison if name in rows]
    joined = rows.merge(comparison, how="left", on=on)
    words = [name for name in joined if str(name).endswith(("_spread", "_finding"))]
    return joined.fillna(dict.fromkeys(words, ""))


def saving(metric: str, other: str, **at: Any) -> Callable[[pd.DataFrame], Estimate]:
    """Return a reader of how far a policy is below another, as a share, and if that is resolved."""

    def read(rows: pd.DataFrame) -> Estimate:
        [row] = where(rows, **at, policy=other).to_dict("records")
        name = f"{metric}_relative"
        value, low, high = (1.0 - row[f"{name}{end}"] for end in ("", "_high", "_low"))
        resolved = UNRESOLVED if row[f"{name}_finding"] == OPEN else "resolved"
        return Estimate(value, low, high, row[f"{name}_spread"], resolved)

    return read


def resolved(
    metric: str, names: Collection[str], way: str = LESS, **at: Any
) -> Callable[[pd.DataFrame], bool | None]:
    """Return a predicate: a policy has less, or more, than all others; None if not resolved."""

    def holds(rows: pd.DataFrame) -> bool | None:
        chosen = where(rows, **at)
        found = set(chosen.loc[chosen["policy"].isin(names), f"{metric}_relative_finding"])
        return False if found - {way, OPEN} else None if OPEN in found else True

    return holds


def against(
    metric: str, titles: Mapping[str, str], ways: tuple[str, str] = ("below", "above"), **at: Any
) -> Callable[[pd.DataFrame], str]:
    """Return a reader that names the others of which a policy has less, more, or neither for sure.

    Where there are several rows of another, such as one per kind, it counts them.
    """

    def read(rows: pd.DataFrame) -> str:
        chosen = where(rows, **at)
        found = {
            name: chosen.loc[chosen["policy"] == name, f"{metric}_relative_finding"]
            for name in titles
        }
        words = []
        said = {LESS: ways[0], MORE: ways[1], OPEN: f"{UNRESOLVED} against"}
        for finding, way in said.items():
            counts = {name: int((of == finding).sum()) for name, of in found.items()}
            those = [
                titles[name] + (f" ({count} of {len(found[name])})" if len(found[name]) > 1 else "")
                for name, count in counts.items()
                if count
            ]
            words += [f"{way} {listed(those)}"] if those else []
        return "; ".join(words)

    return read
