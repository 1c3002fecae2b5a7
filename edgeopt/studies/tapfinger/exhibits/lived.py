"""Cells in which schedulers live through drawn tasks, and the rows that come of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.bounds.ratio import mean_with_interval
from edgeopt.studies.registry import find_system
from edgeopt.studies.sweeps import Cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from edgeopt.studies.exhibits import Recipe

__all__ = ["SERIES", "SUMMARY", "lived", "unfolded", "windows"]

SUMMARY: Final = (
    "mean", "p5", "p25", "median", "p75", "p95", "waiting", "cpu", "gpu", "makespan",
    "decision_ms",
)  # fmt: skip
"""One number each: slots to completion, tasks in the system, units in use per cluster, slots of the
run, milliseconds of decisions per slot."""

SERIES: Final = ("tasks_over_time", "cpu_over_time", "gpu_over_time")
"""One number per slot each: tasks in the system, CPU cores and GPUs in use per cluster."""

_SHARES: Final = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}


def lived(
    recipe: Recipe,
    policies: Sequence[str],
    *,
    runs: int,
    at: Mapping[str, Any],
    series: Sequence[str] = (),
) -> Cell:
    """Return the cell in which schedulers live through the same worlds of an instance."""
    identity = {
        **at,
        "instance": recipe.fingerprint(),
        "policy": list(policies),
        "reading": f"{__name__}.{lived.__name__}",
        "series": list(series),
        "runs": runs,
    }
    return Cell(identity, _live, (recipe, tuple(policies), runs, tuple(series)))


def _live(
    recipe: Recipe, policies: Sequence[str], runs: int, series: Sequence[str]
) -> Mapping[str, Any]:
    from edgeopt.online import simulate

    system = find_system("tapfinger")
    known = {entry.name: entry for entry in system.policies.entries}
    instance = recipe.instance()
    assert system.policies.warm_up is not None
    short, whole = (
        system.policies.environment(system.policies.warm_up(instance)),
        system.policies.environment(instance),
    )
    read = []
    for name in policies:
        policy = known[name].make(instance, {})
        simulate(short, policy, rng=0, runs=1)
        read.append(_read(simulate(whole, policy, rng=0, runs=runs), series))
    return {key: [one[key] for one in read] for key in read[0]}


def _read(run: Any, series: Sequence[str]) -> Mapping[str, Any]:
    flow = np.asarray(run.flow_time).ravel()
    slots = np.maximum(1, np.asarray(run.end))
    used = np.asarray(run.used, dtype=float).mean(axis=2)
    found: dict[str, Any] = {"mean": float(flow.mean())}
    # An interpolation between slots would not do beside tasks that are never complete.
    method: Any = "linear" if np.isfinite(flow).all() else "inverted_cdf"
    found |= {name: float(np.quantile(flow, q, method=method)) for name, q in _SHARES.items()}
    tasks = np.asarray(run.accumulation, dtype=float)
    found["waiting"] = float((tasks.sum(axis=1) / slots).mean())
    for place, name in enumerate(("cpu", "gpu")):
        found[name] = float((used[..., place].sum(axis=1) / slots).mean())
    found["makespan"] = float(slots.mean())
    found["decision_ms"] = 1e3 * run.seconds / float(slots.sum())
    every = dict(zip(SERIES, (tasks, used[..., 0], used[..., 1]), strict=True))
    return found | {name: every[name].mean(axis=0).tolist() for name in series}


def unfolded(
    table: pd.DataFrame, by: Sequence[str] = (), series: Sequence[str] = (), points: int = 60
) -> pd.DataFrame:
    """Average over the draws and return one row per place, scheduler, part and stretch of time."""
    import pandas as pd

    tall = table.explode(["policy", *SUMMARY, *series], ignore_index=True)
    longest = max((len(one) for name in series for one in tall[name]), default=1)
    step = -(-longest // points)
    rows = []
    for key, group in tall.groupby([*by, "policy"], sort=False):
        about = dict(zip((*by, "policy"), key, strict=True))
        for part in SUMMARY:
            values = group[part].to_numpy(dtype=float)
            rows.append({**about, "part": part, "slot": np.nan, **_interval(values)})
        for part in series:
            kept = windows([np.asarray(one, dtype=float) for one in group[part]], longest, step)
            for place, values in enumerate(kept.T):
                rows.append({**about, "part": part, "slot": place * step, **_interval(values)})
    return pd.DataFrame(rows)


def windows(series: Sequence[Any], longest: int, step: int) -> Any:
    """Average series over stretches of slots, with zeros after their end, [series, stretch]."""
    edges = np.arange(0, longest, step)
    padded = np.stack([np.pad(one, (0, longest - len(one))) for one in series])
    return np.add.reduceat(padded, edges, axis=1) / np.diff([*edges, longest])


def _interval(values: Any) -> dict[str, float]:
    """Return a mean with its interval, none of whose parts can be below zero."""
    mean, low, high = float(values.mean()), np.nan, np.nan
    if values.size > 1 and np.isfinite(mean):
        reach = mean_with_interval(values)[2]
        low, high = max(0.0, mean - reach), mean + reach
    return {"value": mean, "value_low": low, "value_high": high}
