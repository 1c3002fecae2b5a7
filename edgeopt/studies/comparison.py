"""Policies compared over the instances of a study: means, paired tests, their certainty."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import isnan
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from edgeopt.bounds.intervals import EQUAL, LISTED, Nature, holm, paired_ratio, spread
from edgeopt.studies.entries import Comparison
from edgeopt.studies.wording import NO_BOUND, capitalised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from edgeopt.bounds import Spread
    from edgeopt.studies.results import Study
    from edgeopt.studies.system import Objective


GAP: Final = "Gap (0 is best)"
"""Heading of a column of gaps."""


def mean_columns(
    name: str,
    series: NDArray[np.float64],
    confidence: float = 0.95,
    *,
    share: bool = False,
    signed: bool = False,
    timing: bool = False,
) -> dict[str, Any]:
    """Return centre, ends and kind of independent figures, such as those of several instances.

    A figure is positive unless it is a share, may be negative, or is a timing; see
    :func:`edgeopt.bounds.spread`.
    """
    nature: Nature = "positive"
    for given, kind in ((share, "share"), (signed, "signed"), (timing, "timing")):
        nature = kind if given else nature  # type: ignore[assignment]
    return _columns(name, spread(series, nature, confidence=confidence), series)


def _columns(name: str, found: Spread, series: NDArray[np.float64]) -> dict[str, Any]:
    columns: dict[str, Any] = {
        name: found.centre,
        f"{name}_low": found.low,
        f"{name}_high": found.high,
        f"{name}_spread": found.kind,
    }
    return columns | listed_values(name, series)


def listed_values(name: str, series: NDArray[np.float64]) -> dict[str, list[float]]:
    """Return every value, where there are few."""
    few = 1 < series.size < LISTED and not np.isnan(series).all()
    return {f"{name}_each": series.tolist()} if few else {}


def relative_columns(
    name: str,
    pairs: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]] | None],
    confidence: float,
    words: tuple[str, str] = ("less", "more"),
    corrected: Sequence[float] | None = None,
) -> list[dict[str, Any]]:
    """Compare policies with their references, a row each, None for a reference itself.

    Whether two differ is tested together over all rows by Holm's method, or `corrected` has the
    probabilities of tests of more pairs, one for each pair here. `words` say that the first is
    below, and above.
    """
    tested = [
        None if pair is None else paired_ratio(*pair, confidence=confidence) for pair in pairs
    ]
    alone = [found[1] for found in tested if found is not None]
    raised = iter(holm(alone) if corrected is None else corrected)
    rows = []
    for pair, found in zip(pairs, tested, strict=True):
        if pair is None or found is None:
            nothing = dict.fromkeys((name, f"{name}_low", f"{name}_high"), np.nan)
            rows.append(
                nothing | {f"{name}_spread": "none", f"{name}_p": np.nan, f"{name}_finding": ""}
            )
            continue
        (a, b), probability = pair, float(next(raised))
        finding = UNRESOLVED
        if probability <= 1 - confidence:
            ratio, above = found[0].centre, bool(a.mean() > b.mean())
            # Ratio and mean must both say so.
            if not np.isfinite(ratio) or above == (ratio > 1):
                finding = words[int(above)]
        with np.errstate(divide="ignore", invalid="ignore"):
            columns = _columns(name, found[0], a / b)
        rows.append(columns | {f"{name}_p": probability, f"{name}_finding": finding})
    return rows


def over_instances(
    study: Study,
    columns: Sequence[str],
    *,
    paired: Sequence[str] = (),
    shares: Sequence[str] = (),
    signed: Sequence[str] = (),
    timings: Sequence[str] = (),
    table: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Summarise columns of the table of a study, or of one with further columns, over instances.

    The instances are taken as independent draws. A figure of one instance is itself a mean over
    the runs on it; the interval is over the draw of the instances. Columns in `paired` are also
    compared with those of the reference, as NAME_relative. With a column `gap`, the rows are sorted
    by it; a difference to a bound of 0 is no share, and has no mean with others.
    """
    import pandas as pd

    table = study.table if table is None else table
    table = table.assign(gap=table["gap"].where(table["gap_unit"] == ""))
    table = table.set_index(["policy", "instance"])
    cases = [case.name for case in study.cases]
    entries, references = study.cases[0].entries, study.cases[0].references
    confidence = study.settings.confidence
    rows: list[dict[str, Any]] = []
    for policy, entry in entries.items():
        row: dict[str, Any] = {
            "policy": policy,
            "title": entry.title,
            "told": study.cases[0].told[policy],
            "instances": len(cases),
        }
        for name in columns:
            series = series_of(table, policy, cases, name)
            row |= mean_columns(
                name,
                series,
                confidence,
                share=name in shares,
                signed=name in signed or name == "gap",
                timing=name in timings,
            )
        rows.append(row)
    for name in paired:
        each = {policy: series_of(table, policy, cases, name) for policy in entries}
        found = compared("less", "more", f"{name}_relative", each, references, confidence)
        rows = [row | more for row, more in zip(rows, found, strict=True)]
    summary = pd.DataFrame(rows)
    if "gap" not in columns:
        return summary
    summary["kind"] = [entry.kind for entry in entries.values()]
    return by_gap(summary, study.system.objective.sense)


def compared(
    below: str,
    above: str,
    name: str,
    series: Mapping[str, NDArray[np.float64]],
    references: Mapping[str, str],
    confidence: float,
) -> list[dict[str, Any]]:
    """Compare every policy with its reference; all pairs of policies are tested together."""
    pairs = Pairs(series, "max", confidence)
    others = {policy: references[policy] for policy in series if references[policy] != policy}
    return relative_columns(
        name,
        [
            (series[policy], series[others[policy]]) if policy in others else None
            for policy in series
        ],
        confidence,
        (below, above),
        [pairs.probability(policy, other) for policy, other in others.items()],
    )


def by_gap(table: pd.DataFrame, sense: str) -> pd.DataFrame:
    """Sort rows of policies: the least gap first, then the best value; those with hindsight last.

    A row without a bound comes after those with one.
    """
    value = table["value" if "value" in table else "mean"]
    rows = zip(table["kind"], table["gap"], value, strict=True)
    places = [place_of(kind, gap, amount, sense) for kind, gap, amount in rows]
    order = sorted(range(len(places)), key=places.__getitem__)
    return table.iloc[order].reset_index(drop=True)


def place_of(kind: str, gap: float, value: float, sense: str) -> tuple[bool | float, ...]:
    """Return by what a row of a policy is sorted; what is missing comes last."""
    signed = -value if sense == "max" else value
    known = (part for one in (gap, signed) for part in (isnan(one), 0.0 if isnan(one) else one))
    return (kind == "hindsight", *known)


def series_of(
    table: pd.DataFrame, policy: str, cases: Sequence[str], name: str
) -> NDArray[np.float64]:
    """Return a column of a policy over instances, from a table by policy and instance."""
    return np.array([table.loc[(policy, case), name] for case in cases], dtype=float)


def _rows(study: Study) -> pd.DataFrame:
    return over_instances(study, ["gap", "value", "ratio"], paired=["value"])


def general(objective: Objective) -> Comparison:
    """Return the table of every policy over instances, for systems that have none of their own."""
    return Comparison(
        "over_instances",
        "Over all instances",
        _rows,
        {
            "gap": GAP,
            "value": "Value of a run",
            "ratio": capitalised(objective.over("the reference bound")),
            "value_relative": "Times the reference",
        },
        percent=("gap",),
        absent={"gap": NO_BOUND},
        caption="The value on an instance is a mean over the runs on it; the gap is to the "
        "tightest bound that is valid for the policy. Beside the ratio of the value to that of the "
        "reference policy on the same instances stands whether the difference is resolved, for all "
        "policies together.",
    )


UNRESOLVED: Final = "not resolved"
"""Said of two policies of which none is better for sure."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Policies with figures from the same repetitions, each pair tested, all pairs together.

    Parameters
    ----------
    values
        Figure of every repetition by policy, shape [n] each.
    sense
        Whether a larger or a smaller figure is better.
    confidence
        Of the tests together.
    """

    values: Mapping[str, NDArray[np.float64]]
    sense: Literal["max", "min"]
    confidence: float

    @cached_property
    def _raised(self) -> dict[tuple[str, str], float]:
        pairs = list(combinations(self.values, 2))
        found = [
            paired_ratio(self.values[a], self.values[b], confidence=self.confidence)[1]
            for a, b in pairs
        ]
        return dict(zip(pairs, holm(found).tolist(), strict=True))

    def probability(self, a: str, b: str) -> float:
        """Return the probability of such a difference if there were none, corrected for all."""
        return self._raised[(a, b) if (a, b) in self._raised else (b, a)]

    def ratio(self, a: str, b: str) -> Spread:
        """Return the ratio of the first to the second, with its own interval."""
        return paired_ratio(self.values[a], self.values[b], confidence=self.confidence)[0]

    def same(self, a: str, b: str) -> bool:
        """Tell whether both have the same figure in every repetition."""
        first, second = self.values[a], self.values[b]
        if not (np.isfinite(first).all() and np.isfinite(second).all()):
            return False
        size = max(float(np.abs(first).max()), float(np.abs(second).max()))
        return bool(np.abs(first - second).max() <= EQUAL * size)

    def better(self, a: str, b: str) -> bool:
        """Tell whether the first is better than the second for sure.

        Ratio and mean must both say so, as one of them can be due to a single repetition.
        """
        if self.probability(a, b) > 1 - self.confidence:
            return False
        sign = 1.0 if self.sense == "max" else -1.0
        ratio = self.ratio(a, b).centre
        ahead = sign * (self.values[a].mean() - self.values[b].mean()) > 0
        return bool(ahead and not sign * (ratio - 1.0) <= 0)

    def finding(self, a: str, b: str) -> str:
        """Say of the first: ``"better"``, ``"worse"`` or ``"not resolved"``."""
        if self.better(a, b):
            return "better"
        return "worse" if self.better(b, a) else UNRESOLVED
