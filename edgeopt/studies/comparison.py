"""Tables of a study: policies on an instance and over instances, with means and paired tests."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import isnan
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from edgeopt.bounds import competitive_ratio
from edgeopt.bounds.intervals import (
    EQUAL,
    LISTED,
    Nature,
    expectation,
    holm,
    paired_ratio,
    spread,
    student,
)
from edgeopt.bounds.ratio import ratio_parts
from edgeopt.errors import QualityWarning
from edgeopt.solvers.tolerance import DEFAULT
from edgeopt.studies.entries import Comparison
from edgeopt.studies.wording import NO_BOUND, capitalised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from edgeopt.bounds import Spread
    from edgeopt.studies.results import Case, Study
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
            "information": study.cases[0].information[policy],
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


_ERRORS: Final = 4.0
"""Standard errors by which a mean may be beyond a bound by chance."""


def tidy(case: Case) -> list[dict[str, Any]]:
    r"""Return the rows of the table of one case, one per policy.

    Columns, all over the simulated runs on this instance (`Case.ranked` has an exact value in place
    of the mean):

    ``instance, policy, group, variant, kind, information, runs``
        What the row is about; `kind` is ``"hindsight"`` for a policy that knows the future, and
        `information` is what a policy says that it knows beforehand, by an attribute of that name.
    ``spread``
        What `low` and `high` are: ``"interval"``, ``"range"`` (least and largest run) with fewer
        than five runs, ``"equal"`` if all runs have the same value and ``"none"`` if one has none;
        in the last two cases the ends are NaN.
    ``value, value_se, value_exact``
        Mean value of a run, its standard error, and the expectation without sampling where
        the policy has one (NaN elsewhere); with fewer than twelve runs also ``value_each``.
    ``gap, gap_se, gap_low, gap_high, gap_spread, gap_unit``
        How far the value is from the tightest bound that is valid for this policy, named in
        `bound`: ``(bound - value) / |bound|`` for profits, ``(value - bound) / |bound|`` for costs;
        0 is best, and smaller is better. It is that of the exact value where there is one; then
        `gap_spread` is ``"exact"``. To a bound of 0 it is the difference, in the unit that
        `gap_unit` names, else empty. A mean may be beyond the bound by chance, and its gap below 0;
        more than four standard errors below, it gives a `QualityWarning`. NaN where no bound is
        proven, or a run has no value.
    ``ratio, ratio_se, ratio_low, ratio_high``
        `value` over the reference bound, whether that is valid for this policy or not; a profit is
        at most the bound, a cost at least.
    ``bound, bound_scope, bound_value, bound_ratio, bound_ratio_se, bound_ratio_low,
    bound_ratio_high``
        Name and value of the tightest benchmark that bounds this policy, and `value` over it; the
        scope is ``"scenario"`` where both are sums over the runs, each run with a bound of its own.
    ``violated, violated_se, violated_share``
        Violated service constraints per run, and as a share of those of the instance (NaN if it
        has none).
    ``METRIC, METRIC_se``
        One pair for every metric of the system, such as ``utilisation``.
    ``decision_us``
        Microseconds per decision (NaN if none was taken); where a compiled kernel ran, its whole
        time, environment included.
    ``reference, relative, relative_low, relative_high, relative_spread``
        The value over that of the reference policy on the same scenarios, by
        :func:`edgeopt.bounds.paired_ratio`; NaN for the reference itself, and where a value is not
        positive.
    ``relative_p, relative_finding``
        Probability of such a ratio, or difference, if there were none, corrected by Holm's method
        for all pairs of policies of the instance; ``"better"``, ``"worse"`` or ``"not resolved"``.
    """
    words = ("worse", "better") if case.objective.sense == "max" else ("better", "worse")
    found = compared(
        *words, "relative", case.pairs.values, case.references, case.settings.confidence
    )
    return [
        {
            **_row(case, name),
            "reference": "" if case.references[name] == name else case.references[name],
            **relative,
        }
        for name, relative in zip(case.trajectories, found, strict=True)
    ]


def with_exact(row: dict[str, Any], reference: float) -> dict[str, Any]:
    """Return a row as it is shown: an exact value takes the place of the mean over the runs.

    Its ratios to the reference bound and to the bound of the row follow; `spread` is ``"exact"``.
    """
    exact = row["value_exact"]
    if np.isnan(exact):
        return row
    shown = {"value": exact, "value_se": 0.0, "spread": "exact", "value_each": None}
    for name, bound in (("ratio", reference), ("bound_ratio", row["bound_value"])):
        ratio = exact / bound if 0.0 < bound < np.inf else np.nan
        shown |= {name: ratio, f"{name}_se": 0.0, f"{name}_low": np.nan, f"{name}_high": np.nan}
    return row | {name: one for name, one in shown.items() if name in row}


def _row(case: Case, name: str) -> dict[str, Any]:
    entry, trajectory = case.entries[name], case.trajectories[name]
    values, own = case.values(name), case.bound_of(name)
    row: dict[str, Any] = {
        "instance": case.name,
        "policy": name,
        "group": entry.group,
        "variant": entry.variant,
        "kind": entry.kind,
        "information": case.information[name],
        "runs": len(values),
        "spread": spread(values, "signed").kind,
        **_mean("value", values),
        **listed_values("value", values),
        "value_exact": case.exact.get(name, np.nan),
        **_gap(case, name),
        **_ratio(case, name, "ratio", case.system.offline.reference),
        "bound": own,
        "bound_scope": case.benchmarks[own].scope if own else "",
        "bound_value": case.benchmarks[own].bound if own else np.nan,
        **_ratio(case, name, "bound_ratio", own),
        **_violations(case, name),
    }
    for metric in case.system.reporting.metrics:
        row |= _mean(metric.name, metric.compute(case.instance, trajectory))
    row["decision_us"] = 1e6 * trajectory.seconds_per_decision
    return row


def _mean(name: str, runs: NDArray[np.float64]) -> dict[str, float]:
    mean = float(runs.mean())
    if not np.isfinite(mean):
        return {name: mean, f"{name}_se": np.nan}
    error = float(student(runs)[1]) if len(runs) > 1 else np.nan
    # Equal runs differ in the last digits when they were summed in different orders.
    return {name: mean, f"{name}_se": 0.0 if error <= EQUAL * abs(mean) else error}


def _ratio(case: Case, name: str, column: str, benchmark: str) -> dict[str, float]:
    """Ratio with interval; NaN where no bound is above 0, or a run has no value."""
    columns = (column, f"{column}_se", f"{column}_low", f"{column}_high")
    bound = case.benchmarks[benchmark].bound if benchmark else np.nan
    if not (0 < bound < np.inf and np.isfinite(case.values(name)).all()):
        return dict.fromkeys(columns, np.nan)
    values, each = case.values(name), np.asarray(case.benchmarks[benchmark].each)
    if each.size:
        values, bound = ratio_parts(values, each), 1.0
    found = competitive_ratio(values, bound, confidence=case.settings.confidence)
    kind = spread(values, "signed").kind
    error, ends = found.standard_error, (found.low, found.high)
    if kind == "equal":
        error, ends = 0.0, (np.nan, np.nan)
    elif each.size:
        ends = _possible(case, name, benchmark, kind, ends)
    return dict(zip(columns, (found.value, error, *ends), strict=True))


def _possible(
    case: Case, name: str, benchmark: str, kind: str, ends: tuple[float, float]
) -> tuple[float, float]:
    """Return the ends of a ratio of sums over scenarios, each of which has a bound of its own.

    A range is that of the ratios of scenarios, and no interval goes beyond a bound that is valid.
    """
    each, (low, high) = np.asarray(case.benchmarks[benchmark].each), ends
    if kind == "range" and (each > 0).all():
        ratios = case.values(name) / each
        return float(ratios.min()), float(ratios.max())
    if benchmark != case.bound_of(name):
        return ends
    return (max(low, 1.0), high) if case.objective.sense == "min" else (low, min(high, 1.0))


def _gap(case: Case, name: str) -> dict[str, Any]:
    """Return the gap to the policy's own bound; NaN without one."""
    own, values, exact = case.bound_of(name), case.values(name), case.exact.get(name)
    bound = float(case.benchmarks[own].bound) if own else np.nan
    if not (np.isfinite(bound) and np.isfinite(values).all()):
        return _gap_columns(np.nan, np.nan, "none")
    size = abs(bound) or 1.0
    toward = (1.0 if case.objective.sense == "min" else -1.0) / size
    error, ends, kind = 0.0, (np.nan, np.nan), "exact"
    if exact is not None:
        value = exact
    else:
        each = np.asarray(case.benchmarks[own].each)
        # The mean of these is the bound times the ratio of the sums.
        runs = bound * ratio_parts(values, each) if each.size and bound else values
        kind = spread(runs, "signed").kind
        value, error, *found = (
            float(part) for part in expectation("gap", runs, case.settings.confidence)
        )
        if kind == "equal":
            error = 0.0
        else:
            if each.size and bound:
                first, last = (end / bound for end in found)
                found = [bound * end for end in _possible(case, name, own, kind, (first, last))]
            low, high = sorted(toward * (end - bound) for end in found)
            ends = low, high
    gap, error = toward * (value - bound), abs(toward) * error
    # What a solver calls equal may differ by its tolerance.
    if gap < -_ERRORS * error - DEFAULT * abs(toward) * max(abs(bound), abs(value)):
        label = case.system.offline.bounds[own].label
        warnings.warn(
            f"{case.system.name}, instance {case.name}: the {case.objective.name} of "
            f"{case.entries[name].title} is beyond {label}, which is to bound it: its gap is "
            f"{gap:.3g} with a standard error of {error:.2g}; the bound or the policy is wrong, or "
            "the bound is not one for this policy",
            QualityWarning,
            stacklevel=2,
        )
    unit = "" if bound else case.objective.unit
    return _gap_columns(gap, error, kind, *ends, unit=unit)


def _gap_columns(
    gap: float, error: float, kind: str, *ends: float, unit: str = ""
) -> dict[str, Any]:
    low, high = ends or (np.nan, np.nan)
    return {
        "gap": gap,
        "gap_se": error,
        "gap_low": low,
        "gap_high": high,
        "gap_spread": kind,
        "gap_unit": unit,
    }


def _violations(case: Case, name: str) -> dict[str, float]:
    violated = np.asarray(case.trajectories[name].violations, dtype=float).sum(axis=1)
    count = case.constraints
    return {
        **_mean("violated", violated),
        "violated_share": float(violated.mean()) / count if count else np.nan,
    }
