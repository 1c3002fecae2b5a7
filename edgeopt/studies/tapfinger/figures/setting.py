"""Settings of the paper: who takes part, what was recorded, and how drawn tasks are simulated."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.instances.tapfinger import from_bundled, generate
from edgeopt.studies.figures import CLOSE, NOT_COMPARABLE, InstanceSpec, Published, found
from edgeopt.studies.figures.reading import below
from edgeopt.studies.over_instances import mean_columns
from edgeopt.studies.registry import choose, find_system
from edgeopt.studies.sweeps import Cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pandas as pd

LEARNED: Final = {
    "tapfinger": "TapFinger",
    "no_han": "TapFinger without HAN",
    "no_pointer": "TapFinger without pointer",
    "vanilla": "Vanilla MARL",
}
"""Titles of the recorded policies that are learned."""

TITLES: Final = {
    "optimus+swapped": "Optimus",
    "tiresias": "Tiresias",
    "tiresias+elastic": "Tiresias",
    "random": "Random",
    "min": "Min",
    "optimus": "Optimus, fit as described",
    "reservation": "Reservation, ours",
    "learnt": "Learnt, fresh book, ours",
    "learnt+kept": "Learnt, kept book, ours",
    "optimus+containers": "Optimus",
    "tiresias+containers": "Tiresias",
    "imitation": "Imitation, told, ours",
    "imitation+untold": "Imitation, untold, ours",
}
"""Titles of the others in the order of their colours, the same in all figures."""

STATISTICS: Final = {
    "mean": "mean completion time (slots)",
    "median": "median completion time (slots)",
    "p95": "95th percentile of completion times (slots)",
    "waiting": "mean number of tasks in the system",
    "cpu": "mean CPU cores in use per cluster",
    "gpu": "mean GPUs in use per cluster",
}
FOUR: Final = ("mean", "median", "p95", "waiting")

SERIES: Final = ("tasks_over_time", "cpu_over_time", "gpu_over_time")
"""One number per slot each: tasks in the system, CPU cores and GPUs in use per cluster."""

_SHARES: Final = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}
_SUMMARY: Final = ("mean", *_SHARES, "waiting", "cpu", "gpu", "makespan", "decision_ms")
"""One number each: slots to completion, tasks in the system, units in use per cluster, slots of the
run, milliseconds of decisions per slot."""


class Recorded(NamedTuple):
    """One run of the authors, which the paper's figures show.

    Slots to completion, the mean number of tasks in the system, and the mean CPU cores and GPUs in
    use on a cluster, after tasks that ended have released theirs.
    """

    mean: float
    median: float
    p95: float
    waiting: float
    cpu: float
    gpu: float


RECORDED: Final = {
    ("three", "tapfinger"): Recorded(6.417, 5.0, 14.0, 12.04, 8.63, 7.1),
    ("three", "vanilla"): Recorded(16.234, 13.5, 33.4, 24.13, 10.39, 8.65),
    ("three", "optimus"): Recorded(8.562, 7.0, 16.0, 15.33, 13.08, 12.88),
    ("three", "tiresias"): Recorded(14.661, 15.0, 30.4, 20.82, 13.95, 5.3),
    ("three", "random"): Recorded(12.839, 10.0, 33.4, 18.79, 10.3, 8.24),
    ("three", "min"): Recorded(12.745, 13.0, 25.0, 19.09, 10.05, 5.02),
    ("six", "tapfinger"): Recorded(7.312, 6.0, 17.8, 25.51, 8.89, 7.49),
    ("six", "optimus"): Recorded(9.203, 7.0, 16.8, 32.11, 12.36, 12.38),
    ("six", "tiresias"): Recorded(15.047, 15.0, 31.7, 45.12, 13.68, 5.73),
    ("six", "random"): Recorded(13.99, 11.0, 31.0, 43.31, 10.67, 8.55),
    ("six", "min"): Recorded(15.201, 15.0, 31.0, 45.94, 10.87, 5.43),
    ("six, rate 3", "tapfinger"): Recorded(4.984, 5.0, 10.0, 13.66, 7.5, 5.62),
    ("six, rate 3", "optimus"): Recorded(7.607, 6.0, 14.8, 20.7, 10.51, 10.19),
    ("six, rate 3", "tiresias"): Recorded(13.755, 14.0, 27.0, 33.21, 14.0, 4.97),
    ("six, rate 3", "random"): Recorded(7.354, 6.0, 19.0, 17.86, 8.76, 6.76),
    ("six, rate 3", "min"): Recorded(13.328, 14.0, 25.0, 31.78, 9.04, 4.52),
    ("six, rate 2", "tapfinger"): Recorded(4.25, 4.0, 6.8, 8.11, 5.53, 4.46),
    ("six, rate 2", "optimus"): Recorded(6.984, 6.0, 13.0, 14.33, 8.13, 7.94),
    ("six, rate 2", "tiresias"): Recorded(13.674, 15.0, 27.8, 22.82, 12.99, 3.47),
    ("six, rate 2", "random"): Recorded(6.932, 5.0, 18.0, 13.23, 7.59, 5.79),
    ("six, rate 2", "min"): Recorded(12.891, 14.0, 26.0, 24.99, 7.33, 3.67),
    ("test-bed three, 1000", "tapfinger"): Recorded(4.658, 4.0, 8.0, 6.63, 8.39, 4.31),
    ("test-bed three, 1000", "optimus"): Recorded(5.395, 5.0, 9.0, 7.77, 4.0, 8.96),
    ("test-bed three, 1000", "tiresias"): Recorded(5.574, 5.0, 9.0, 8.34, 20.44, 2.13),
    ("test-bed three, 1000", "random"): Recorded(5.033, 4.0, 9.0, 7.62, 12.38, 6.28),
    ("test-bed three, 1000", "min"): Recorded(4.917, 4.0, 8.0, 7.5, 3.43, 1.72),
    ("test-bed six, 2000", "tapfinger"): Recorded(4.732, 4.0, 8.0, 13.97, 11.4, 5.36),
    ("test-bed six, 2000", "optimus"): Recorded(5.28, 5.0, 9.0, 15.23, 3.95, 8.48),
    ("test-bed six, 2000", "tiresias"): Recorded(5.576, 5.0, 9.0, 16.89, 20.26, 2.21),
    ("test-bed six, 2000", "random"): Recorded(4.965, 4.0, 9.0, 14.32, 11.77, 6.05),
    ("test-bed six, 2000", "min"): Recorded(4.83, 4.0, 8.0, 14.12, 3.26, 1.63),
    ("test-bed six, 4000", "tapfinger"): Recorded(4.742, 4.0, 8.0, 14.11, 11.4, 5.34),
    ("test-bed six, 4000", "optimus"): Recorded(5.267, 5.0, 9.0, 15.49, 3.98, 8.51),
    ("test-bed six, 4000", "tiresias"): Recorded(5.558, 5.0, 9.0, 16.76, 19.89, 2.19),
    ("test-bed six, 4000", "random"): Recorded(5.011, 4.0, 9.0, 14.97, 12.21, 6.26),
    ("test-bed six, 4000", "min"): Recorded(4.861, 4.0, 8.0, 14.57, 3.34, 1.67),
    ("test-bed six, 8000", "tapfinger"): Recorded(4.781, 4.0, 8.0, 14.31, 11.39, 5.36),
    ("test-bed six, 8000", "optimus"): Recorded(5.294, 5.0, 9.0, 15.68, 4.03, 8.62),
    ("test-bed six, 8000", "tiresias"): Recorded(5.542, 5.0, 9.0, 16.69, 19.87, 2.18),
    ("test-bed six, 8000", "random"): Recorded(5.017, 4.0, 9.0, 14.9, 12.32, 6.24),
    ("test-bed six, 8000", "min"): Recorded(4.874, 4.0, 8.0, 14.62, 3.34, 1.67),
    ("several", "tapfinger"): Recorded(4.292, 4.0, 9.4, 10.93, 8.05, 6.94),
    ("several", "no_han"): Recorded(5.875, 4.0, 17.9, 12.63, 7.04, 7.82),
    ("several", "optimus"): Recorded(7.734, 6.0, 15.0, 21.16, 13.28, 13.12),
    ("several", "tiresias"): Recorded(7.552, 7.0, 13.0, 19.03, 11.98, 11.96),
    ("several", "random"): Recorded(15.12, 11.0, 36.4, 27.88, 11.29, 8.57),
    ("several", "min"): Recorded(28.818, 25.0, 57.0, 45.32, 12.62, 6.31),
    ("mixed", "tapfinger"): Recorded(4.87, 4.0, 10.0, 22.17, 7.82, 7.09),
    ("mixed", "optimus"): Recorded(8.125, 5.0, 15.0, 29.64, 8.92, 8.8),
    ("mixed", "tiresias"): Recorded(10.792, 7.0, 33.8, 33.09, 7.02, 7.02),
    ("mixed", "random"): Recorded(23.573, 14.5, 57.0, 62.37, 9.02, 6.91),
    ("mixed", "min"): Recorded(33.456, 26.0, 74.7, 95.81, 11.66, 5.83),
    ("pointer", "tapfinger"): Recorded(8.057, 3.5, 22.4, 16.07, 9.83, 9.65),
    ("pointer", "no_pointer"): Recorded(13.229, 12.0, 30.0, 27.87, 11.32, 11.1),
    ("pointer", "optimus"): Recorded(13.333, 11.0, 47.3, 27.19, 12.48, 12.48),
    ("pointer", "tiresias"): Recorded(35.786, 36.5, 81.8, 50.49, 13.29, 13.24),
    ("pointer", "random"): Recorded(52.974, 61.0, 93.9, 65.59, 10.37, 10.73),
    ("pointer", "min"): Recorded(12.604, 12.0, 26.4, 28.09, 11.51, 11.51),
    ("containers", "tapfinger"): Recorded(23.12, 19.5, 51.1, 15.11, 10.23, 3.49),
    ("containers", "optimus"): Recorded(30.97, 23.0, 67.3, 20.04, 6.53, 3.83),
    ("containers", "tiresias"): Recorded(26.765, 24.5, 57.0, 18.39, 9.05, 4.02),
    ("containers", "random"): Recorded(55.265, 49.5, 127.1, 29.55, 10.28, 3.79),
    ("containers", "min"): Recorded(67.87, 56.5, 147.0, 37.49, 4.45, 4.45),
}
"""By setting and policy; one draw of tasks each."""


_TOLD: Final = (
    "Policies told durations know how long kinds of tasks take with every bundle; those told "
    "nothing do not. A kept book holds what was seen on one earlier workload, a fresh one nothing. "
    "TapFinger's network has learned on workloads of the same kinds, and so has our imitation, "
    "whose weights carry what its teacher was told."
)
_RECORDED_RUNS: Final = (
    "Published values are those of the authors' recorded runs, one draw of tasks each; the paper "
    "shows only pictures. Other draws give other values."
)
FIT: Final = (
    "Optimus is shown with the fit of the authors' program, which takes CPU cores for GPUs and "
    "GPUs for CPU cores, and with the fit that the paper describes."
)
_OPEN: Final = (
    FIT,
    "Tasks that want GPUs slow down as in the authors' program: 21 slots with one GPU, where the "
    "paper says 2 to 17. The program also says how many clusters a task may run on: the number is "
    "drawn evenly, then the clusters.",
)
"""Why figures of generated tasks may differ."""

_NOISE: Final = (
    "In the recorded runs with one start per slot policies met different arrivals; here all meet "
    "the same. Progress differs by up to 0.1 per slot, and is never negative.",
    "Tiresias gives tasks the smallest bundle they accept, as the recorded use of GPUs shows.",
)
FREE: Final = (
    "Tasks arrive at the rate of the authors' program, one per cluster and slot.",
    "Tiresias gives tasks as much as it can, as the recorded use of GPUs shows; a change of bundle "
    "is free.",
)

_MEASURED: Final = (
    "Running times come from the package's small tables: whole seconds, interpolated between some "
    "numbers of CPU cores. The paper does not say how progress follows from them. Here a task "
    "takes as long as was measured; in the recorded runs tasks were faster: a training of the "
    "language model with the smallest bundle took 5 slots, here it takes 27.",
    "No noise is added to progress: 0.1 per slot is more than most of these tasks progress.",
    "Optimus is shown with the fit of the authors' program, which mixes up CPU cores and GPUs, and "
    "with the fit that the paper describes. Tiresias gives tasks the smallest bundle.",
)
"""Why figures of measured tasks may differ."""


OTHERS: Final = ("optimus", "reservation", "learnt", "learnt+kept")
"""Our schedulers that were not recorded and need no training."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A setting of the paper, by its name among the recorded runs.

    `make` draws an instance with the keywords `options`, for a first look with fewer `tasks`;
    `open` says what the paper leaves open. `learned` are recorded policies that have to be
    learned. `baselines` are those of our schedulers that stand for recorded ones, whose names
    theirs begin with; `others` were not recorded. With `ranges` pictures show the least and the
    most mean of the draws.
    """

    recorded: str
    open: tuple[str, ...]
    learned: tuple[str, ...] = ("tapfinger",)
    baselines: tuple[str, ...] = ("optimus+swapped", "tiresias", "random", "min")
    others: tuple[str, ...] = OTHERS
    make: Callable[..., Any] = generate
    options: Mapping[str, Any] = field(default_factory=dict)
    tasks: int = 24
    draws: int = 20
    runs: int = 5
    ranges: bool = False

    @property
    def policies(self) -> dict[str, str]:
        """Our schedulers and their titles."""
        return {name: TITLES[name] for name in (*self.baselines, *self.others)}

    def caveats(self, *further: str) -> list[str]:
        """Return why figures of the setting may differ."""
        runs = f"In full size means over {self.draws} draws of tasks, {self.runs} runs of each."
        return [_RECORDED_RUNS, _TOLD, *self.open, *further, runs]

    def cells(self, quick: bool, series: Sequence[str] = (), **at: Any) -> list[Cell]:
        """List the cells, one per drawn instance."""
        options = {**self.options, **({"tasks": self.tasks} if quick else {})}
        return [
            compared(InstanceSpec.of(self.make, rng=draw, **options), self.policies,
                     runs=1 if quick else self.runs, at={**at, "draw": draw}, series=series)
            for draw in range(3 if quick else self.draws)
        ]  # fmt: skip

    def recorded_of(self, policy: str) -> Recorded | None:
        """Return what was recorded of a learned policy, or of the one that ours stands for."""
        known = policy in self.learned or policy in self.baselines
        return RECORDED[self.recorded, policy.partition("+")[0]] if known else None

    def lines(self, parts: Sequence[str] = FOUR, place: str = "", **at: Any) -> list[Published]:
        """Compare recorded figures with ours, at a place of the rows that is named `place`."""
        why = "Recorded after tasks that ended have released their units, computed before."
        return [
            Published(
                f"{LEARNED.get(name) or TITLES[name]}, {STATISTICS[part]}{place}",
                getattr(self.recorded_of(name), part),
                None if name in LEARNED else found("value", policy=name, part=part, **at),
                why="" if part in FOUR else why,
                rule=CLOSE,
                sized=True,
            )
            for name in (*self.learned, *self.baselines)
            for part in parts
        ]


SINGLE: Final = Setting(
    recorded="three",
    options={"single_start": True},
    open=(*_OPEN, *_NOISE),
    others=(*OTHERS, "imitation"),
)
"""Three clusters that start one task per slot."""

SIX: Final = replace(
    SINGLE, recorded="six", options={"single_start": True, "clusters": 6}, tasks=36
)
SEVERAL: Final = Setting(
    recorded="several",
    open=(*_OPEN, *FREE),
    baselines=("optimus+swapped", "tiresias+elastic", "random", "min"),
    others=(*OTHERS, "imitation", "imitation+untold"),
)
MIXED: Final = replace(
    SEVERAL, recorded="mixed", options={"clusters": 6, "capacity": "mixed"}, tasks=36
)


def servers(clusters: int, tasks: int) -> Setting:
    """Return the setting of measured tasks on so many clusters."""
    return Setting(
        recorded=f"test-bed {'three' if clusters == 3 else 'six'}, {tasks}",
        open=_MEASURED,
        make=from_bundled,
        options={"figures": "testbed", "clusters": clusters, "tasks": tasks},
        tasks=tasks // 50,
        draws=5,
        runs=2,
    )


def claimed(
    baseline: str, value: float, part: str = "mean", *,
    computed: Callable[[pd.DataFrame], float] | None = None, why: str = "",
) -> list[Published]:  # fmt: skip
    """Compare TapFinger's published lead over a baseline with that of Reservation."""
    what = f"below {TITLES[baseline]}, {part} completion time"
    instead = (
        "The published value is TapFinger's. Reservation is not learned, but knows how long tasks "
        "take."
    )
    computed = computed or below("value", "reservation", baseline, part=part)
    return [
        Published(f"TapFinger {what}", value, None, True, why),
        Published(
            f"Reservation in its place {what}", value, computed, True, instead, rule=NOT_COMPARABLE
        ),
    ]


def compared(
    spec: InstanceSpec,
    policies: Iterable[str],
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
    environment, warm_up = system.policies.environment, system.policies.warm_up
    instance = spec.instance()
    assert warm_up is not None
    short, whole = environment(warm_up(instance)), environment(instance)
    read = []
    for entry in choose(system, policies):
        policy = entry.make(instance, {})
        simulate(short, policy, rng=0, runs=1)
        run = simulate(whole, policy, rng=0, runs=runs)
        read.append({"told": getattr(policy, "told", ""), **_read(run, series)})
    return {key: [one[key] for one in read] for key in read[0]}


def _read(run: Any, series: Sequence[str]) -> Mapping[str, Any]:
    flow = np.asarray(run.flow_time).ravel()
    slots = np.maximum(1, np.asarray(run.end))
    used = np.asarray(run.used, dtype=float).mean(axis=2)
    tasks = np.asarray(run.accumulation, dtype=float)
    # Quantiles between slots are not defined where some tasks are never complete.
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
    """Summarise the draws and return one row per place, scheduler, part and stretch of time."""
    import pandas as pd

    tall = table.explode(["policy", "told", *_SUMMARY, *series], ignore_index=True)
    longest = max((len(one) for name in series for one in tall[name]), default=1)
    step = -(-longest // points)
    rows = []
    for key, group in tall.groupby([*by, "policy", "told"], sort=False):
        parts = [(name, np.nan, group[name].to_numpy(dtype=float)) for name in _SUMMARY]
        for name in series:
            kept = windows([np.asarray(one, dtype=float) for one in group[name]], longest, step)
            parts += [(name, place * step, values) for place, values in enumerate(kept.T)]
        about = dict(zip((*by, "policy", "told"), key, strict=True))
        rows += [{**about, "part": part, "slot": slot, "instances": len(group),
                  **mean_columns("value", values, timing=part == "decision_ms")}
                 for part, slot, values in parts]  # fmt: skip
    return pd.DataFrame(rows)


def windows(series: Sequence[Any], longest: int, step: int) -> Any:
    """Average series over stretches of slots, with zeros after their end, [series, stretch]."""
    edges = np.arange(0, longest, step)
    padded = np.stack([np.pad(one, (0, longest - len(one))) for one in series])
    return np.add.reduceat(padded, edges, axis=1) / np.diff([*edges, longest])
