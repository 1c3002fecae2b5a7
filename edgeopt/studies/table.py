"""The tidy table of a study: one row per instance and policy, the same columns for every system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds import competitive_ratio, spread
from edgeopt.bounds.intervals import EQUAL, student
from edgeopt.bounds.ratio import ratio_parts
from edgeopt.studies.over_instances import listed_values, relative_columns

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from edgeopt.studies.result import Case


def tidy(case: Case) -> pd.DataFrame:
    r"""Tabulate the policies of one case.

    Columns, all over the simulated runs on this instance:

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
    ``ratio, ratio_se, ratio_low, ratio_high``
        `value` over the reference bound.
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
        Probability of such a ratio, or difference, if there were none, corrected for all rows by
        Holm's method; ``"better"``, ``"worse"`` or ``"not resolved"``.
    """
    import pandas as pd

    others = [case.references[name] for name in case.trajectories]
    pairs = [
        None if other == name else (case.values(name), case.values(other))
        for name, other in zip(case.trajectories, others, strict=True)
    ]
    words = ("worse", "better") if case.objective.sense == "max" else ("better", "worse")
    compared = relative_columns("relative", pairs, case.settings.confidence, words)
    return pd.DataFrame(
        [
            {**_row(case, name), "reference": "" if pair is None else other, **relative}
            for name, other, pair, relative in zip(
                case.trajectories, others, pairs, compared, strict=True
            )
        ]
    )


def _row(case: Case, name: str) -> dict[str, Any]:
    entry, trajectory = case.entries[name], case.trajectories[name]
    values = case.values(name)
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
        **_ratio(case, name, "ratio", case.system.offline.reference),
        "bound": entry.bound,
        "bound_scope": case.benchmarks[entry.bound].scope if entry.bound else "",
        "bound_value": case.benchmarks[entry.bound].bound if entry.bound else np.nan,
        **_ratio(case, name, "bound_ratio", entry.bound),
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
    if not (bound > 0 and np.isfinite(case.values(name)).all()):
        return dict.fromkeys(columns, np.nan)
    values, each = case.values(name), case.benchmarks[benchmark].each
    if each:
        values, bound = ratio_parts(values, each), 1.0
    found = competitive_ratio(values, bound, confidence=case.settings.confidence)
    equal = spread(values, "signed").kind == "equal"
    error, *ends = (0.0, np.nan, np.nan) if equal else (found.standard_error, found.low, found.high)
    return dict(zip(columns, (found.value, error, *ends), strict=True))


def _violations(case: Case, name: str) -> dict[str, float]:
    violated = np.asarray(case.trajectories[name].violations, dtype=float).sum(axis=1)
    count = case.constraints
    return {
        **_mean("violated", violated),
        "violated_share": float(violated.mean()) / count if count else np.nan,
    }
