"""Settings of the paper: who takes part, what was recorded, and what becomes of drawn tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.bounds.ratio import mean_with_interval
from edgeopt.instances.tapfinger import generate
from edgeopt.studies.figures import InstanceSpec, Published, found
from edgeopt.studies.figures.reading import below
from edgeopt.studies.registry import find_system
from edgeopt.studies.sweeps import Cell
from edgeopt.studies.tapfinger.figures.recorded import LEARNED, RECORDED, Recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

_STAND_IN: Final = "reservation"
"""The scheduler without learning that stands beside TapFinger; it knows durations."""

STATISTICS: Final = {
    "mean": "mean completion time (slots)",
    "median": "median completion time (slots)",
    "p95": "95th percentile of completion times (slots)",
    "waiting": "mean number of tasks in the system",
    "cpu": "mean CPU cores in use per cluster",
    "gpu": "mean GPUs in use per cluster",
}
FOUR: Final = ("mean", "median", "p95", "waiting")

_SUMMARY: Final = (
    "mean", "p5", "p25", "median", "p75", "p95", "waiting", "cpu", "gpu", "makespan",
    "decision_ms",
)  # fmt: skip
"""One number each: slots to completion, tasks in the system, units in use per cluster, slots of the
run, milliseconds of decisions per slot."""

SERIES: Final = ("tasks_over_time", "cpu_over_time", "gpu_over_time")
"""One number per slot each: tasks in the system, CPU cores and GPUs in use per cluster."""

_SHARES: Final = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A setting of the paper, by its name among the recorded runs.

    `make` draws an instance with the keywords `options`, for a first look with fewer `tasks`.
    `baselines` are those of our schedulers that stand for recorded ones, whose names theirs begin
    with; `learned` are the recorded policies that have to be learned.
    """

    recorded: str
    policies: Mapping[str, str]
    baselines: tuple[str, ...] = ()
    learned: tuple[str, ...] = ("tapfinger",)
    make: Callable[..., Any] = generate
    options: Mapping[str, Any] = field(default_factory=dict)
    tasks: int = 24
    draws: int = 20
    runs: int = 5

    def cells(self, quick: bool, series: Sequence[str] = (), **at: Any) -> list[Cell]:
        """List the cells, one per drawn instance."""
        options = {**self.options, **({"tasks": self.tasks} if quick else {})}
        return [
            compared(InstanceSpec.of(self.make, rng=draw, **options), list(self.policies),
                     runs=1 if quick else self.runs, at={**at, "draw": draw}, series=series)
            for draw in range(3 if quick else self.draws)
        ]  # fmt: skip

    def recorded_of(self, policy: str) -> Recorded | None:
        """Return what was recorded of a learned policy, or of the one that ours stands for."""
        known = policy in self.learned or policy in self.baselines
        return RECORDED[self.recorded][policy.partition("+")[0]] if known else None

    def lines(self, parts: Sequence[str] = FOUR, place: str = "", **at: Any) -> list[Published]:
        """Set recorded figures beside ours; `at` singles out a place of the rows, named `place`."""
        why = (
            "The recorded figure counts what is held after tasks that end have released theirs, "
            "ours before."
        )
        return [
            Published(
                f"{LEARNED.get(name) or self.policies[name]}, {STATISTICS[part]}{place}",
                getattr(self.recorded_of(name), part),
                None if name in LEARNED else found("value", policy=name, part=part, **at),
                why="" if part in FOUR else why,
            )
            for name in (*self.learned, *self.baselines)
            for part in parts
        ]

    def claimed(
        self, baseline: str, value: float, part: str = "mean", *,
        computed: Callable[[pd.DataFrame], float] | None = None, why: str = "",
    ) -> list[Published]:  # fmt: skip
        """Set beside a printed share below a baseline what needs no learning in its place."""
        what = f"below {self.policies[baseline]}, {part} completion time"
        instead = (
            "The printed figure is TapFinger's. Reservation learns nothing, but is told how long "
            "tasks take."
        )
        computed = computed or below("value", _STAND_IN, baseline, part=part)
        return [
            Published(f"TapFinger {what}", value, None, True, why),
            Published(f"Reservation in its place {what}", value, computed, True, instead),
        ]


def compared(
    spec: InstanceSpec,
    policies: Sequence[str],
    *,
    runs: int,
    at: Mapping[str, Any],
    series: Sequence[str] = (),
) -> Cell:
    """Return the cell of schedulers on the same drawn tasks."""
    identity = {
        **at,
        "instance": spec.fingerprint(),
        "policy": list(policies),
        "reading": f"{__name__}.{compared.__name__}",
        "series": list(series),
        "runs": runs,
    }
    return Cell(identity, _simulate, (spec, tuple(policies), runs, tuple(series)))


def _simulate(
    spec: InstanceSpec, policies: Sequence[str], runs: int, series: Sequence[str]
) -> Mapping[str, Any]:
    from edgeopt.online import simulate

    system = find_system("tapfinger")
    known = {entry.name: entry for entry in system.policies.entries}
    instance = spec.instance()
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
    tasks = np.asarray(run.accumulation, dtype=float)
    # An interpolation between slots would not do beside tasks that are never complete.
    method: Any = "linear" if np.isfinite(flow).all() else "inverted_cdf"
    every = dict(zip(SERIES, (tasks, used[..., 0], used[..., 1]), strict=True))
    inside = [float((one.sum(axis=1) / slots).mean()) for one in every.values()]
    return {
        "mean": float(flow.mean()),
        **{name: float(np.quantile(flow, q, method=method)) for name, q in _SHARES.items()},
        **dict(zip(("waiting", "cpu", "gpu"), inside, strict=True)),
        "makespan": float(slots.mean()),
        "decision_ms": 1e3 * run.seconds / float(slots.sum()),
        **{name: every[name].mean(axis=0).tolist() for name in series},
    }


def unfolded(
    table: pd.DataFrame, by: Sequence[str] = (), series: Sequence[str] = (), points: int = 60
) -> pd.DataFrame:
    """Average over the draws and return one row per place, scheduler, part and stretch of time."""
    import pandas as pd

    tall = table.explode(["policy", *_SUMMARY, *series], ignore_index=True)
    longest = max((len(one) for name in series for one in tall[name]), default=1)
    step = -(-longest // points)
    rows = []
    for key, group in tall.groupby([*by, "policy"], sort=False):
        about = dict(zip((*by, "policy"), key, strict=True))
        for part in _SUMMARY:
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
