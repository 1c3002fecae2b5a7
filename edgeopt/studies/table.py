"""The tidy table of a study: one row per instance and policy, the same columns for every system."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.bounds import competitive_ratio, spread
from edgeopt.bounds.intervals import EQUAL, expectation, student
from edgeopt.bounds.ratio import ratio_parts
from edgeopt.errors import QualityWarning
from edgeopt.solvers.tolerance import DEFAULT
from edgeopt.studies.comparison import compared, listed_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.studies.results import Case

_ERRORS: Final = 4.0
"""Standard errors by which a mean may be beyond a bound by chance."""


def tidy(case: Case) -> list[dict[str, Any]]:
    r"""Return the rows of the table of one case, one per policy.

    Columns, all over the simulated runs on this instance (`Case.ranked` has an exact value in place
    of the mean):

    ``instance, policy, group, variant, kind, told, runs``
        What the row is about; `kind` is ``"hindsight"`` for a policy that knows the future, and
        `told` is what a policy says that it is told beforehand, by an attribute of that name.
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
        "told": case.told[name],
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
