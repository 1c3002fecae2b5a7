"""Settings of the paper: who takes part, what was recorded, and how drawn tasks are simulated."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.tapfinger import from_bundled, generate
from edgeopt.studies.comparison import mean_columns
from edgeopt.studies.registry import choose, find_system
from edgeopt.studies.sweeps import Job
from edgeopt.studies.wording import percent
from edgeopt_papers.figures import (
    CLOSE,
    NOT_COMPARABLE,
    Estimate,
    InstanceSpec,
    Published,
)
from edgeopt_papers.figures.aggregates import below, by
from edgeopt_papers.figures.comparing import compared as paired
from edgeopt_papers.figures.comparing import saving, with_comparison
from edgeopt_papers.tapfinger.imitation_runs import SHOWN, SUMMARY, joined, what_ran
from edgeopt_papers.tapfinger.recorded import LEARNED, RECORDED, Recorded
from edgeopt_papers.tapfinger.releases import TRAINING, summary
from edgeopt_papers.texts import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    import pandas as pd

    from edgeopt_papers.releases import Release

CAVEATS: Final = texts(__file__, "caveats")
"""Why computed values may differ from published ones."""

TITLES: Final = {
    "optimus+swapped": "Optimus",
    "tiresias": "Tiresias",
    "tiresias+elastic": "Tiresias",
    "random": "Random",
    "min": "Min",
    "optimus": "Optimus, fit as described",
    "reservation": "Reservation, ours",
    "learnt": "Learned durations, reset each run, ours",
    "learnt+kept": "Learned durations, carried over, ours",
    "optimus+containers": "Optimus",
    "tiresias+containers": "Tiresias",
    "imitation": "Imitation, durations known, ours",
    "imitation+unknown": "Imitation, durations unknown, ours",
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

BOUND: Final = "bound"
"""Stands for a policy in the row of the bound on the mean of all that never change a bundle."""

OWN: Final = "imitation"
"""Stands for TapFinger."""

FIT: Final = CAVEATS["optimus"]
_OPEN: Final = (FIT, CAVEATS["slowing"])
"""Why figures of generated tasks may differ."""

FREE: Final = CAVEATS["free"]


OTHERS: Final = ("optimus", "reservation", "learnt", "learnt+kept", "imitation")
"""Our schedulers that were not recorded."""

_ABLATIONS: Final = {
    ("three", "vanilla"): "imitated-vanilla-single",
    ("several", "no_han"): "imitated-no_han",
    ("pointer", "no_pointer"): "imitated-no_pointer-pointer",
}
"""Trainings of ours, by the setting and the name of the recorded network that lacks a part."""

TAUGHT: Final = (
    "Recorded of one draw of tasks. Ours is smaller, and imitates a scheduler that knows durations."
)
_USED: Final = "Recorded after tasks that ended have released their units, computed before."
_LACKS: Final = (
    "Ours imitates on 16 other draws of tasks: median, least and most mean of three trainings."
)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A setting of the paper, by its name among the recorded runs.

    `make` draws an instance with the keywords `options`, for a first look with fewer `tasks`;
    `open` says what the paper leaves open. `learned` are recorded policies that have to be
    learned. `baselines` are those of our schedulers that stand for recorded ones, whose names
    theirs begin with; `others` were not recorded. With `ranges` pictures show the least and the
    most mean of the draws. Where the network of our imitation does not come with the package,
    `taught` is the table of its runs.
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
    taught: Release | None = None

    @property
    def policies(self) -> dict[str, str]:
        """Our schedulers and their titles."""
        return {name: TITLES[name] for name in (*self.baselines, *self.others)}

    def caveats(self, *further: str) -> list[str]:
        """Return why figures of the setting may differ."""
        runs = f"In full size means over {self.draws} draws of tasks, {self.runs} runs of each."
        apart = [] if self.taught is None else [CAVEATS["imitation"]]
        return [CAVEATS["recorded"], CAVEATS["durations"], *apart, *self.open, *further, runs]

    def rows(self, summarised: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[..., Any]:
        """Return what makes rows of jobs, and of the table of runs of our imitation if needed."""
        return summarised if self.taught is None else partial(joined, rows=summarised)

    def jobs(self, quick: bool, series: Sequence[str] = (), **at: Any) -> list[Job]:
        """List the jobs, one per drawn instance."""
        options = {**self.options, **({"tasks": self.tasks} if quick else {})}
        here = [name for name in self.policies if self.taught is None or name != "imitation"]
        return [
            compared(InstanceSpec.of(self.make, rng=draw, **options), here,
                     runs=1 if quick else self.runs, at={**at, "draw": draw}, series=series)
            for draw in range(3 if quick else self.draws)
        ]  # fmt: skip

    def recorded_of(self, policy: str) -> Recorded | None:
        """Return what was recorded of a learned policy, or of the one that ours stands for."""
        known = policy in self.learned or policy in self.baselines
        return RECORDED[self.recorded, policy.partition("+")[0]] if known else None

    def lines(
        self, parts: Sequence[str] = FOUR, place: str = "", *,
        claims: Collection[tuple[str, str]] = (), **at: Any,
    ) -> list[Published]:  # fmt: skip
        """Compare what was recorded with ours, at a place of the rows that is named `place`.

        What was recorded in terms of another policy is compared with what our imitation has in
        terms of it on the same tasks, but for the `claims`, pairs of a policy and a part. A network
        that lacks a part is compared with ours that lacks it.
        """
        shown: list[Published] = []
        for name in self.learned:
            own: Any = self.recorded_of(name)
            key = _ABLATIONS.get((self.recorded, name))
            if key is not None:
                what = f"{LEARNED[name]}, {STATISTICS['mean']}{place}"
                shown.append(
                    Published(what, own.mean, partial(ablated, key), why=_LACKS,
                              rule=NOT_COMPARABLE)
                )  # fmt: skip
                continue
            for other, part in product(self.baselines, parts):
                if (other, part) not in claims:
                    share = 1.0 - getattr(own, part) / getattr(self.recorded_of(other), part)
                    shown.append(_lead(other, part, share, place, **at))
        return shown


def _lead(other: str, part: str, share: float, place: str = "", **at: Any) -> Published:
    """Compare how far TapFinger was recorded below another with ours on the same tasks."""
    noun = STATISTICS[part].partition(" (")[0]
    return Published(
        f"TapFinger below {TITLES[other]}, {noun}{place}", share,
        saving("value", other, part=part, **at), percent=True, rule=CLOSE, sized=part != "mean",
        why=TAUGHT if part in FOUR else f"{TAUGHT} {_USED}",
    )  # fmt: skip


def ablated(key: str, _rows: pd.DataFrame) -> Estimate:
    """Return what a network reached that lacks a part, with the range over trainings."""
    table = summary(TRAINING.read().table)
    [row] = table[table["course"] == key].to_dict("records")
    spread = "range" if row["seeds"] > 1 else ""
    return Estimate(row["flow"], row["least"], row["most"], spread)


SINGLE: Final = Setting(
    recorded="three",
    options={"single_start": True},
    open=(*_OPEN, *CAVEATS["noise"]),
)
"""Three clusters that start one task per slot."""

SIX: Final = replace(
    SINGLE, recorded="six", options={"single_start": True, "clusters": 6}, tasks=36
)
SEVERAL: Final = Setting(
    recorded="several",
    open=(*_OPEN, *FREE),
    baselines=("optimus+swapped", "tiresias+elastic", "random", "min"),
    others=(*OTHERS, "imitation+unknown"),
)
MIXED: Final = replace(
    SEVERAL, recorded="mixed", options={"clusters": 6, "capacity": "mixed"}, tasks=36
)


def servers(clusters: int, tasks: int) -> Setting:
    """Return the setting of measured tasks on so many clusters."""
    return Setting(
        recorded=f"test-bed {'three' if clusters == 3 else 'six'}, {tasks}",
        open=CAVEATS["measured"],
        make=from_bundled,
        options={"figures": "testbed", "clusters": clusters, "tasks": tasks},
        tasks=tasks // 50,
        draws=5,
        runs=2,
        taught=SHOWN,
    )


def claimed(
    baseline: str, value: float, part: str = "mean", *,
    computed: Callable[..., Any] = below, why: str = "",
) -> list[Published]:  # fmt: skip
    """Compare TapFinger's published lead over a baseline with those of ours.

    ``computed("value", policy, baseline, part=part)`` reads how far one of ours is below.
    """
    what = f"below {TITLES[baseline]}, {part} completion time"
    planned = (
        "The published value is TapFinger's. Reservation is not learned, but knows how long tasks "
        "take."
    )
    ours = _lead(baseline, part, value)
    if computed is not below:
        ours = replace(ours, computed=computed("value", OWN, baseline, part=part))
    return [
        replace(ours, why=" ".join(one for one in (TAUGHT, why) if one)),
        Published(
            f"Reservation in its place {what}", value,
            computed("value", "reservation", baseline, part=part), True,
            " ".join(one for one in (planned, why) if one), rule=NOT_COMPARABLE,
        ),
    ]  # fmt: skip


def standing(**at: Any) -> Callable[[pd.DataFrame], str]:
    """Return a reader that says how far our imitation is from its teacher and from the bound."""

    def read(rows: pd.DataFrame) -> str:
        known = by("value", part="mean", **at)(rows)
        teacher, least = (known["imitation"] / known[name] - 1 for name in ("reservation", BOUND))
        side = "above" if teacher >= 0 else "below"
        return (
            f"our imitation is {percent(abs(teacher))} {side} Reservation, its teacher, and "
            f"{percent(least)} above the bound on all that never change a bundle"
        )

    return read


def compared(
    spec: InstanceSpec,
    policies: Iterable[str],
    *,
    runs: int,
    at: Mapping[str, Any],
    series: Sequence[str] = (),
    bounded: bool = True,
) -> Job:
    """Return the job of schedulers on the same drawn tasks, with a bound if it is `bounded`."""
    identity = {
        **at,
        "instance": spec.fingerprint(),
        "policy": list(policies),
        "aggregate": f"{__name__}.{compared.__name__}",
        "series": list(series),
        "runs": runs,
        "bounded": bounded,
    }
    return Job(identity, _simulate, (spec, tuple(policies), runs, tuple(series), bounded))


def _simulate(
    spec: InstanceSpec, policies: Sequence[str], runs: int, series: Sequence[str], bounded: bool
) -> Mapping[str, Any]:
    from edgeopt.models.tapfinger import scenario_bound
    from edgeopt.online import simulate

    system = find_system("tapfinger")
    environment, warm_up = system.policies.environment, system.policies.warm_up
    instance = spec.instance()
    assert warm_up is not None
    short, whole = environment(warm_up(instance)), environment(instance)
    read, scenarios = [], np.zeros(1, dtype=np.int64)
    for entry in choose(system, policies):
        policy = entry.make(instance, {})
        simulate(short, policy, rng=0, runs=1)
        run = simulate(whole, policy, rng=0, runs=runs)
        scenarios = run.scenarios
        about = {"policy": entry.name, "information": getattr(policy, "information", "")}
        kept = {one: own for one, own in what_ran(run).items() if one in (*SUMMARY, *series)}
        read.append({**about, **kept})
    if bounded:
        if instance.noise == 0.0:
            scenarios = scenarios[:1]  # all are alike
        least = scenario_bound(instance, scenarios).value / instance.tasks
        nothing = {**dict.fromkeys(SUMMARY, np.nan), **{name: [] for name in series}}
        read.append({"policy": BOUND, "information": "everything", **nothing, "mean": least})
    return {key: [one[key] for one in read] for key in read[0]}


def unfolded(
    table: pd.DataFrame, by: Sequence[str] = (), series: Sequence[str] = (), points: int = 60
) -> pd.DataFrame:
    """Summarise the draws and return one row per place, scheduler, part and stretch of time."""
    import pandas as pd

    tall = table.explode(["policy", "information", *SUMMARY, *series], ignore_index=True)
    longest = max((len(one) for name in series for one in tall[name]), default=1)
    step = -(-longest // points)
    rows = []
    for key, group in tall.groupby([*by, "policy", "information"], sort=False):
        bound = "policy" in group and (group["policy"] == BOUND).all()
        each = {name: group[name].to_numpy(dtype=float) for name in SUMMARY}
        parts = [(name, np.nan, own) for name, own in each.items() if not np.isnan(own).all()]
        for name in () if bound else series:
            kept = windows([np.asarray(one, dtype=float) for one in group[name]], longest, step)
            parts += [(name, place * step, values) for place, values in enumerate(kept.T)]
        about = dict(zip((*by, "policy", "information"), key, strict=True))
        rows += [{**about, "part": part, "slot": slot, "instances": len(group),
                  **mean_columns("value", values, timing=part == "decision_ms")}
                 for part, slot, values in parts]  # fmt: skip
    return with_comparison(pd.DataFrame(rows), _leads(tall, by))


def _leads(tall: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Compare the imitation, in the place of TapFinger, with the others on the same tasks."""
    import pandas as pd

    others = [name for name in TITLES if name != OWN]
    parts = [
        paired(tall.assign(part=part, value=tall[part]), "value", OWN, others, [*by, "part"])
        for part in STATISTICS
    ]
    return pd.concat(parts, ignore_index=True)


def windows(series: Sequence[Any], longest: int, step: int) -> Any:
    """Average series over stretches of slots, with zeros after their end, [series, stretch]."""
    edges = np.arange(0, longest, step)
    padded = np.stack([np.pad(one, (0, longest - len(one))) for one in series])
    return np.add.reduceat(padded, edges, axis=1) / np.diff([*edges, longest])
