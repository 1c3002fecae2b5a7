"""The tidy table of a study: one row per instance and policy, the same columns for every system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.ratio import competitive_ratio, mean_with_interval, paired_difference

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from edgeopt.studies.result import Case

_ROUNDING = 1e-14
"""Relative spread of the runs that counts as rounding."""


def tidy(case: Case) -> pd.DataFrame:
    r"""Tabulate the policies of one case.

    Columns, all over the simulated runs:

    ``instance, policy, group, variant, runs``
        What the row is about.
    ``value, value_se, value_exact``
        Mean value of a run, its standard error, and the expectation without sampling where
        the policy has one (NaN elsewhere).
    ``ratio, ratio_se, ratio_low, ratio_high``
        `value` over the reference bound, with confidence interval.
    ``bound, bound_value, bound_ratio, bound_ratio_se, bound_ratio_low, bound_ratio_high``
        Name and value of the tightest benchmark that bounds this policy, and `value` over it.
    ``violated, violated_se, violated_share``
        Violated service constraints per run, and as a share of those of the instance (NaN if it
        has none).
    ``METRIC, METRIC_se``
        One pair for every metric of the system, such as ``utilisation``.
    ``decision_us``
        Microseconds per decision (NaN if none was taken); where a compiled kernel ran, its whole
        time, environment included.
    ``reference, difference, difference_se, difference_low, difference_high``
        Mean of `value` minus that of the reference policy on the same scenarios, with confidence
        interval; NaN for the reference itself.
    """
    import pandas as pd

    return pd.DataFrame([_row(case, name) for name in case.trajectories])


def _row(case: Case, name: str) -> dict[str, Any]:
    entry, trajectory = case.entries[name], case.trajectories[name]
    values = case.values(name)
    row: dict[str, Any] = {
        "instance": case.name,
        "policy": name,
        "group": entry.group,
        "variant": entry.variant,
        "runs": len(values),
        **_mean("value", values),
        "value_exact": case.exact.get(name, np.nan),
        **_ratio(case, name, "ratio", case.system.offline.reference),
        "bound": entry.bound,
        "bound_value": case.benchmarks[entry.bound].bound if entry.bound else np.nan,
        **_ratio(case, name, "bound_ratio", entry.bound),
        **_violations(case, name),
    }
    for metric in case.system.reporting.metrics:
        row |= _mean(metric.name, metric.compute(case.instance, trajectory))
    row["decision_us"] = 1e6 * trajectory.seconds_per_decision
    return row | _difference(case, name)


def _mean(name: str, runs: NDArray[np.float64]) -> dict[str, float]:
    mean = float(runs.mean())
    if not np.isfinite(mean):
        return {name: mean, f"{name}_se": np.nan}
    error = mean_with_interval(runs)[1] if len(runs) > 1 else np.nan
    # Equal runs differ in the last digits when they were summed in different orders.
    return {name: mean, f"{name}_se": 0.0 if error <= _ROUNDING * abs(mean) else error}


def _ratio(case: Case, name: str, column: str, benchmark: str) -> dict[str, float]:
    """Ratio with interval; NaN where no bound is above 0, or a run has no value."""
    columns = (column, f"{column}_se", f"{column}_low", f"{column}_high")
    bound = case.benchmarks[benchmark].bound if benchmark else np.nan
    if not (bound > 0 and np.isfinite(case.values(name)).all()):
        return dict.fromkeys(columns, np.nan)
    found = competitive_ratio(case.values(name), bound, confidence=case.settings.confidence)
    return dict(
        zip(columns, (found.value, found.standard_error, found.low, found.high), strict=True)
    )


def _violations(case: Case, name: str) -> dict[str, float]:
    violated = np.asarray(case.trajectories[name].violations, dtype=float).sum(axis=1)
    count = case.constraints
    return {
        **_mean("violated", violated),
        "violated_share": float(violated.mean()) / count if count else np.nan,
    }


def _difference(case: Case, name: str) -> dict[str, Any]:
    columns = ("difference", "difference_se", "difference_low", "difference_high")
    other = case.references[name]
    if other == name:
        return {"reference": "", **dict.fromkeys(columns, np.nan)}
    if not (np.isfinite(case.values(name)).all() and np.isfinite(case.values(other)).all()):
        return {"reference": other, **dict.fromkeys(columns, np.nan)}
    found = paired_difference(
        case.values(name), case.values(other), confidence=case.settings.confidence
    )
    figures = (found.mean, found.standard_error, found.low, found.high)
    return {"reference": other, **dict(zip(columns, figures, strict=True))}
