"""Figures 2, 4 and 7 and Table II: measured times, an example, and what deciding takes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.tables import FOLDER
from edgeopt.instances.tapfinger import TapFingerInstance, from_durations, generate
from edgeopt.instances.tapfinger.data import CORES, KINDS, LARGEST, read_tables
from edgeopt.studies.pictures.canvas import blank, colours
from edgeopt.studies.sweeps import Job
from edgeopt.studies.wording import plural
from edgeopt_papers.figures import (
    CLOSE,
    NOT_COMPARABLE,
    InstanceSpec,
    PaperFigure,
    Published,
    found,
    said,
)
from edgeopt_papers.figures.aggregates import extreme, overall, unrolled, where
from edgeopt_papers.figures.drawing import bars, curves, rows_of_bars
from edgeopt_papers.tapfinger.figures.setting import CAVEATS, TITLES, compared, unfolded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt_papers.figures import Estimate

_GPUS: Final = {gpus: f"{gpus} GPU{'s' if gpus > 1 else ''}" for gpus in range(1, LARGEST[1] + 1)}


def _times(gpus: int) -> Mapping[str, list[Any]]:
    seconds = read_tables(FOLDER).testbed[KINDS.index("lm"), :, gpus - 1]
    return {"cpus": list(CORES), "seconds": [float(seconds[cores - 1]) for cores in CORES]}


def _seconds(cpus: int) -> Callable[[pd.DataFrame], Estimate]:
    return found("seconds", cpus=cpus, gpus=LARGEST[1])


_ONE_CORE: Final = extreme("min", "seconds", _GPUS, "gpus", cpus=1)


def _flattens(rows: pd.DataFrame) -> bool:
    """Tell whether time falls to 8 cores, and then stays within a tenth."""
    few, some, many = (_seconds(cores)(rows).value for cores in (1, 8, 16))
    return some < few and abs(many / some - 1.0) <= CLOSE


_FIGURE_2 = PaperFigure(
    number="2",
    title="completion time of a training of a language model, by CPU cores and GPUs",
    jobs=lambda _quick: [
        Job({"task": "lm", "gpus": gpus, "aggregate": __name__}, _times, (gpus,)) for gpus in _GPUS
    ],
    rows=partial(unrolled, lists=("cpus", "seconds"), keep=("gpus",)),
    columns={"gpus": "GPUs", "cpus": "CPU cores", "seconds": "Seconds"},
    draw=partial(
        curves, x="cpus", metrics={"seconds": "completion time (s)"}, xlabel="CPU cores",
        series="gpus", titles=_GPUS, logx=True, zero=True, ticks=(1, 2, 4, 8, 16),
    ),
    takeaway=said(
        "With one core training takes {bad:3} s on 8 GPUs, {best:3} s on {best.title}; with the "
        "fastest bundle it takes {fastest:3} s",
        bad=_seconds(1), best=_ONE_CORE, fastest=overall("min", "seconds"),
    ),
    published=[
        Published(
            "more CPU cores", "first less time, then rather flat",
            said(
                "with 8 GPUs {few:3} s with 1 core, {some:3} s with 8, {many:3} s with 16",
                few=_seconds(1), some=_seconds(8), many=_seconds(16),
            ),
            rule=_flattens, met="from 8 cores on within 10 %",
        ),
        Published(
            "1 CPU core and 8 GPUs", "the time rebounds",
            said(
                "{bad:3} s, {more:0%} more than with {best.title}, {best:3} s",
                bad=_seconds(1), best=_ONE_CORE,
                more=lambda rows: _seconds(1)(rows).value / _ONE_CORE(rows) - 1,
            ),
            rule=lambda rows: _seconds(1)(rows).value > _ONE_CORE(rows),
        ),
    ],
    caveats=(CAVEATS["figure 2"],),
)  # fmt: skip

_TASKS: Final = {
    "audio": "speech recognition, wav2vec2",
    "lm": "training of a language model",
    "mnist": "training on MNIST",
}


def _bundles(task: str) -> Mapping[str, float]:
    seconds = read_tables(FOLDER).testbed[KINDS.index(task)]
    cores = [one for one in CORES if one >= 2]
    known = seconds[[one - 1 for one in cores]]
    place = np.unravel_index(int(known.argmin()), known.shape)
    return {
        "smallest": float(seconds[1, 0]),
        "fastest": float(known.min()),
        "slowest": float(known.max()),
        "cpus": cores[int(place[0])],
        "gpus": int(place[1]) + 1,
    }


_TABLE_II = PaperFigure(
    kind="table",
    number="II",
    title="the measured tasks",
    jobs=lambda _quick: [
        Job({"task": task, "aggregate": __name__}, _bundles, (task,)) for task in _TASKS
    ],
    rows=lambda table: table.drop(columns="aggregate").assign(title=table["task"].map(_TASKS)),
    columns={
        "task": "Task", "title": "What it is", "smallest": "With 2 CPU cores and 1 GPU (s)",
        "fastest": "Fastest (s)", "cpus": "CPU cores then", "gpus": "GPUs then",
        "slowest": "Slowest (s)",
    },
    draw=partial(
        bars, titles=_TASKS, series="task",
        metrics={"smallest": "smallest bundle (s)", "fastest": "fastest (s)",
                 "slowest": "slowest (s)"},
    ),
    takeaway=said(
        "The fastest bundle is faster than the smallest by a factor of {gain[audio]:2} for audio, "
        "{gain[lm]:2} for lm and {gain[mnist]:2} for mnist",
        gain=lambda rows: dict(zip(rows["task"], rows["smallest"] / rows["fastest"], strict=True)),
    ),
    published=[
        Published(
            "completion times", "seconds to a few minutes",
            said("{low:3} to {high:3} s", low=overall("min", "fastest"),
                 high=overall("max", "slowest")),
            rule=lambda rows: rows["fastest"].min() < 60.0 and rows["slowest"].max() < 600.0,
            met="from less than a minute to less than ten",
        )
    ],
    caveats=(CAVEATS["table II"],),
)  # fmt: skip

_COUNT: Final = 14
_CLUSTERS: Final = 3
_MODES: Final = {"single": "one start per cluster and slot", "several": "several starts per slot"}


def contrived(single_start: bool) -> TapFingerInstance:
    """Return three clusters that hold four tasks each, and tasks of one slot."""
    eligible = np.random.default_rng(4).random((_COUNT, _CLUSTERS)) < 0.7
    eligible[~eligible.any(axis=1)] = True
    return from_durations(
        np.ones((1, 2, 2)),
        minimum=[[1, 1]],
        capacity=[[4, 4]] * _CLUSTERS,
        arrival=np.repeat([0, 1, 2], [6, 5, 3]),
        kind=np.zeros(_COUNT, dtype=int),
        eligible=eligible,
        single_start=single_start,
    )


def _started(spec: InstanceSpec) -> Mapping[str, Any]:
    """Return which tasks Min starts in each slot on each cluster, by letters."""
    from edgeopt.online import simulate
    from edgeopt.online.tapfinger import TapFingerEnvironment
    from edgeopt.online.tapfinger.policies.random import Min

    instance = spec.instance()
    run: Any = simulate(TapFingerEnvironment(instance), Min(), rng=0, runs=1)
    places = list(np.ndindex(int(run.end[0]), instance.clusters))
    tasks = [np.flatnonzero((run.start[0] == slot) & (run.cluster[0] == cluster))
             for slot, cluster in places]  # fmt: skip
    return {
        "slot": [slot for slot, _ in places],
        "cluster": [cluster for _, cluster in places],
        "tasks": [" ".join(chr(ord("a") + int(task)) for task in here) or "-" for here in tasks],
        "started": [len(here) for here in tasks],
    }


def _examples(_quick: bool) -> list[Job]:
    specs = {mode: InstanceSpec.of(contrived, single_start=mode == "single") for mode in _MODES}
    return [
        Job({"mode": mode, "instance": spec.fingerprint(), "policy": "min", "seed": 0,
              "aggregate": __name__}, _started, (spec,))
        for mode, spec in specs.items()
    ]  # fmt: skip


def _slots(rows: pd.DataFrame, mode: str) -> int:
    return int(where(rows, mode=mode)["slot"].max()) + 1


def _draw_example(rows: pd.DataFrame) -> Figure:
    figure = blank(height=4.4)
    panels = figure.subplots(len(_MODES), 1, sharex=True)
    shades = colours(f"cluster {n}" for n in range(_CLUSTERS))
    for axes, (mode, title) in zip(panels, _MODES.items(), strict=True):
        for row in where(rows, mode=mode).to_dict("records"):
            place, slot, shade = row["cluster"], row["slot"], [*shades.values()][row["cluster"]]
            opacity = 0.3 if row["started"] else 0.07
            axes.barh(place, 0.94, 0.8, left=slot + 0.03, facecolor=(shade, opacity),
                      edgecolor=shade)  # fmt: skip
            axes.text(slot + 0.5, place, row["tasks"], ha="center", va="center", fontsize=10)
        axes.set_title(f"{title}: {plural(_slots(rows, mode), 'slot')}")
        rows_of_bars(axes, shades)
    last = int(rows["slot"].max()) + 1
    panels[-1].set(xlim=(0, last), xticks=range(last + 1), xlabel="slot")
    return figure


_NEEDED: Final = {mode: partial(_slots, mode=mode) for mode in _MODES}

_FIGURE_4 = PaperFigure(
    number="4",
    title="an example: one start per cluster and slot, and several",
    jobs=_examples,
    rows=partial(unrolled, lists=("slot", "cluster", "tasks", "started"), keep=("mode",)),
    columns={
        "mode": "Mode", "slot": "Slot", "cluster": "Cluster", "tasks": "Tasks started",
        "started": "How many",
    },
    draw=_draw_example,
    takeaway=said(
        "14 tasks take {single} slots where a cluster starts one at a time, and clusters start "
        "nothing {unused} times; with several starts they take {several} slots",
        unused=lambda rows: int((where(rows, mode="single")["started"] == 0).sum()),
        **_NEEDED,
    ),
    published=[
        Published("slots until all tasks are complete", "fewer with several",
                said("{single} with one start, {several} with several", **_NEEDED),
                rule=lambda rows: _NEEDED["several"](rows) < _NEEDED["single"](rows))
    ],
    caveats=[
        "The paper's example is a drawing that does not list its tasks and the conflicts of its "
        f"agents. Here {_COUNT} tasks arrive in slots 0 to 2 and may run on drawn clusters. "
        "Clusters choose at random, and start nothing when another one was first."
    ],
    caption="Letters: tasks that a cluster starts in a slot. A hyphen: none.",
)  # fmt: skip

_RECORDED: Final = {1000: 9.549, 2000: 15.255, 3000: 23.978, 4000: 25.065}
"""Milliseconds of communication, by distance in km."""

_INFERENCE: Final = 5.344
"""Milliseconds of one inference."""

_LINK: Final = {"bytes": 2000 + 800, "bit_per_second": 1e6, "km_per_second": 2e5}
_SCHEDULERS: Final = {
    name: TITLES[name] for name in ("reservation", "learnt", "optimus", "tiresias", "imitation")
}


def communication(kilometres: float) -> Mapping[str, float]:
    """Return the milliseconds that state and action of an agent take over a distance."""
    transfer = 1e3 * 8 * _LINK["bytes"] / _LINK["bit_per_second"]
    light = 1e3 * 2 * kilometres / _LINK["km_per_second"]
    return {"transfer": transfer, "light": light, "communication": transfer + light}


def _timed(quick: bool) -> list[Job]:
    far = [
        Job({"distance": km, **_LINK, "aggregate": __name__}, communication, (float(km),))
        for km in _RECORDED
    ]
    options = {"single_start": True, "clusters": 6, "tasks": 40 if quick else 1000}
    near = [
        compared(InstanceSpec.of(generate, rng=draw, **options), _SCHEDULERS, runs=1,
                 at={"draw": draw, "timed": True}, bounded=False)
        for draw in range(3)
    ]  # fmt: skip
    return [*far, *near]


def _milliseconds(table: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    parts = table[table["distance"].notna()].melt(
        id_vars="distance", value_vars=["transfer", "light", "communication"], var_name="part"
    )
    near = where(unfolded(table[table["distance"].isna()]), part="decision_ms")
    columns = ["part", "policy", "information", "distance", "value", "value_low", "value_high"]
    both = [parts.assign(policy="any", information=""), near.assign(part="decision")]
    return pd.concat(both, ignore_index=True).reindex(columns=columns)


_BARS: Final[Any] = {
    **{km: f"over {km} km" for km in _RECORDED}, "tapfinger": "TapFinger, recorded", **_SCHEDULERS,
}  # fmt: skip


def _draw_overhead(rows: pd.DataFrame) -> Figure:
    shown = rows[rows["part"].isin(["communication", "decision"])]
    names = shown["distance"].where(shown["distance"].notna(), shown["policy"])
    published: Any = {**_RECORDED, "tapfinger": _INFERENCE}
    return bars(
        shown.assign(bar=names), {"value": "communication, and decisions of a slot (ms)"},
        titles=_BARS, series="bar", published={"value": published},
    )  # fmt: skip


_FAR: Final = {km: found("value", part="communication", distance=km) for km in _RECORDED}
_DECISION: Final = found("value", part="decision", policy="reservation")
_NETWORK: Final = found("value", part="decision", policy="imitation")
_SMALLER: Final = (
    "Ours is the time of all decisions of a slot. The network is smaller than the paper's, and "
    "runs in NumPy on a processor."
)

_LESS: Final = (
    "The print contradicts itself: 2 kB and 800 bytes at 1 Mbit/s alone take 22.4 ms, more than "
    "the two least of the plotted times."
)

_FIGURE_7 = PaperFigure(
    number="7",
    title="time that deciding and communicating take",
    jobs=_timed,
    rows=_milliseconds,
    columns={
        "part": "Part", "policy": "Policy", "information": "Information",
        "distance": "Distance (km)", "value": "Milliseconds",
    },
    draw=_draw_overhead,
    takeaway=said(
        "Over 1000 to 4000 km state and actions need {near:3} to {far:3} ms; the imitation decides "
        "a slot in {network:2} ms, Reservation, its teacher, in {decision:2} ms: communication and "
        "the imitation together take {share:2} % of a slot of 10 s at most",
        near=_FAR[1000],
        far=_FAR[4000],
        network=_NETWORK,
        decision=_DECISION,
        share=lambda rows: (_FAR[4000](rows).value + _NETWORK(rows).value) / 100,
    ),
    published=[
        Published("one inference of TapFinger (ms)", _INFERENCE, _NETWORK, rule=NOT_COMPARABLE,
                  why=_SMALLER),
        Published(
            "the same, as a share of the communication time, at most", 0.0304,
            lambda rows: _NETWORK(rows).value / _FAR[1000](rows).value, True,
            rule=NOT_COMPARABLE, why=_SMALLER,
        ),
        Published(
            "scheduling one task with TapFinger, about (s)", 0.3,
            lambda rows: (_FAR[4000](rows).value + _NETWORK(rows).value) / 1e3,
            rule=NOT_COMPARABLE,
            why="The paper's value was measured with the processes of all agents.",
        ),
        *(
            Published(f"communication over {km} km (ms)", value, _FAR[km], rule=CLOSE, why=_LESS)
            for km, value in _RECORDED.items()
        ),
        Published(
            "decisions of a slot, Reservation in TapFinger's place (ms)", _INFERENCE, _DECISION,
            rule=NOT_COMPARABLE,
            why="The published value is TapFinger's inference. Reservation has no network.",
        ),
    ],
    caveats=CAVEATS["figure 7"],
    caption="Diamonds: recorded by the authors.",
)  # fmt: skip

FIGURES: Final = (_FIGURE_2, _FIGURE_4, _TABLE_II, _FIGURE_7)
