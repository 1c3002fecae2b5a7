"""Figures 2, 4 and 7 and Table II: measured times, an example, and what deciding takes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.tables import FOLDER
from edgeopt.instances.tapfinger import TapFingerInstance, from_bundled, from_durations
from edgeopt.instances.tapfinger.measurements import CORES, KINDS, LARGEST, read_tables
from edgeopt.studies.figures import InstanceSpec, PaperFigure, Published, found, said
from edgeopt.studies.figures.drawing import HOLLOW, curves, rows_of_bars
from edgeopt.studies.figures.reading import extreme, overall, unrolled, where
from edgeopt.studies.pictures.canvas import blank, colours
from edgeopt.studies.registry import find_system
from edgeopt.studies.sweeps import Cell
from edgeopt.studies.tapfinger.figures.setting import compared, unfolded
from edgeopt.studies.tapfinger.log import doublings
from edgeopt.studies.wording import number, percent, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.figure import Figure

_GPUS: Final = {gpus: f"{gpus} GPU{'s' if gpus > 1 else ''}" for gpus in range(1, LARGEST[1] + 1)}


def _times(gpus: int) -> Mapping[str, list[Any]]:
    seconds = read_tables(FOLDER).testbed[KINDS.index("lm"), :, gpus - 1]
    return {"cpus": list(CORES), "seconds": [float(seconds[cores - 1]) for cores in CORES]}


def _seconds(cpus: int, gpus: int = LARGEST[1]) -> Any:
    return found("seconds", cpus=cpus, gpus=gpus)


_ONE_CORE: Final = extreme("min", "seconds", _GPUS, "gpus", cpus=1)


def _rebound(rows: pd.DataFrame) -> str:
    best, bad = _ONE_CORE(rows), _seconds(1)(rows).value
    more = percent(bad / best - 1, 0)
    return f"{number(bad, 3)} s, {more} more than with {best.titles[0]}, {number(float(best), 3)} s"


FIGURE_2 = PaperFigure(
    number="2",
    title="completion time of a training of a language model, by CPU cores and GPUs",
    cells=lambda _quick: [
        Cell({"task": "lm", "gpus": gpus, "reading": __name__}, _times, (gpus,)) for gpus in _GPUS
    ],
    rows=partial(unrolled, lists=("cpus", "seconds"), keep=("gpus",)),
    columns={"gpus": "GPUs", "cpus": "CPU cores", "seconds": "Seconds"},
    draw=partial(
        curves, x="cpus", metrics={"seconds": "completion time (s)"}, xlabel="CPU cores",
        series="gpus", titles=_GPUS, logx=True, zero=True,
        ticks=(1, 2, 4, 8, 16),
    ),
    takeaway=said(
        "One core with 8 GPUs takes {bad:3} s, with {best.title} {best:3} s; the fastest bundle "
        "takes {fastest:3} s",
        bad=_seconds(1),
        best=_ONE_CORE,
        fastest=overall("min", "seconds"),
    ),
    published=[
        Published(
            "more CPU cores", "first less time, then rather flat",
            said(
                "with 8 GPUs {few:3} s with 1 core, {some:3} s with 8, {many:3} s with 16",
                few=_seconds(1), some=_seconds(8), many=_seconds(16),
            ),
        ),
        Published("1 CPU core and 8 GPUs", "the time rebounds", _rebound),
    ],
    caveats=[
        "The times are the authors' measurements on RTX 3090 GPUs, mean of two runs, in whole "
        "seconds at 11 numbers of CPU cores. Which of their runs the paper shows is not said."
    ],
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


def _draw_bundles(rows: pd.DataFrame) -> Figure:
    figure = blank(height=2.4)
    axes = figure.subplots()
    for place, shade in enumerate(colours(_TASKS).values()):
        row: Any = rows.iloc[place]
        axes.barh(place, row["slowest"] - row["fastest"], 0.5, left=row["fastest"], color=shade,
                  alpha=0.8, linewidth=0)  # fmt: skip
        axes.plot([row["smallest"]], [place], **HOLLOW)
    rows_of_bars(axes, rows["title"])
    doublings(axes.xaxis, 0.8 * float(rows["fastest"].min()), 1.2 * float(rows["slowest"].max()))
    axes.set_xlabel("completion time (s)")
    return figure


def _gains(rows: pd.DataFrame) -> str:
    gains = zip(rows["task"], rows["smallest"] / rows["fastest"], strict=True)
    words = ", ".join(f"{task} {number(gain, 2)}" for task, gain in gains)
    return f"From the smallest bundle to the fastest tasks gain by a factor: {words}"


TABLE_II = PaperFigure(
    kind="table",
    number="II",
    title="the measured tasks",
    cells=lambda _quick: [
        Cell({"task": task, "reading": __name__}, _bundles, (task,)) for task in _TASKS
    ],
    rows=lambda table: table.drop(columns="reading").assign(title=table["task"].map(_TASKS)),
    columns={
        "task": "Task", "title": "What it is", "smallest": "With 2 CPU cores and 1 GPU (s)",
        "fastest": "Fastest (s)", "cpus": "CPU cores then", "gpus": "GPUs then",
        "slowest": "Slowest (s)",
    },
    draw=_draw_bundles,
    takeaway=_gains,
    published=[
        Published(
            "completion times", "seconds to a few minutes",
            said("{low:3} to {high:3} s", low=overall("min", "fastest"),
                 high=overall("max", "slowest")),
        )
    ],
    caveats=[
        "The entries of the table are not at hand. The times are the authors' measurements on RTX "
        "3090 GPUs, mean of two runs, in whole seconds at 10 numbers of CPU cores from 2 on."
    ],
    caption="From the fastest bundle to the slowest; diamond: the smallest one.",
)  # fmt: skip

_COUNT: Final = 14
_CLUSTERS: Final = 3
_MODES: Final = {"single": "one start per cluster and slot", "several": "several starts per slot"}


def contrived(single_start: bool) -> TapFingerInstance:
    """Return three clusters with room for four tasks each, and tasks of one slot."""
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


def _started(spec: InstanceSpec, policy: str) -> Mapping[str, Any]:
    from edgeopt.online import simulate

    system = find_system("tapfinger")
    instance = spec.instance()
    [entry] = [one for one in system.policies.entries if one.name == policy]
    run: Any = simulate(
        system.policies.environment(instance), entry.make(instance, {}), rng=0, runs=1
    )
    lanes: dict[str, list[Any]] = {"slot": [], "cluster": [], "tasks": [], "started": []}
    for slot, cluster in np.ndindex(int(run.end[0]), instance.clusters):
        here = np.flatnonzero((run.start[0] == slot) & (run.cluster[0] == cluster))
        letters = " ".join(chr(ord("a") + int(task)) for task in here) or "-"
        for name, value in zip(lanes, (slot, cluster, letters, len(here)), strict=True):
            lanes[name].append(value)
    return lanes


def _examples(_quick: bool) -> list[Cell]:
    specs = {mode: InstanceSpec.of(contrived, single_start=mode == "single") for mode in _MODES}
    return [
        Cell({"mode": mode, "instance": spec.fingerprint(), "policy": "min", "seed": 0,
              "reading": __name__}, _started, (spec, "min"))
        for mode, spec in specs.items()
    ]  # fmt: skip


def _slots(rows: pd.DataFrame, mode: str) -> int:
    return int(where(rows, mode=mode)["slot"].max()) + 1


def _draw_example(rows: pd.DataFrame) -> Figure:
    figure = blank(height=4.4)
    panels = figure.subplots(len(_MODES), 1, sharex=True)
    shades = list(colours(map(str, range(_CLUSTERS))).values())
    for axes, (mode, title) in zip(panels, _MODES.items(), strict=True):
        for row in where(rows, mode=mode).to_dict("records"):
            place, slot = row["cluster"], row["slot"]
            opacity = 0.3 if row["started"] else 0.07
            axes.barh(place, 0.94, 0.8, left=slot + 0.03, color=shades[place], alpha=opacity)
            axes.text(slot + 0.5, place, row["tasks"], ha="center", va="center", fontsize=10)
        axes.set_title(f"{title}: {plural(_slots(rows, mode), 'slot')}")
        rows_of_bars(axes, [f"cluster {n}" for n in range(_CLUSTERS)])
    last = int(rows["slot"].max()) + 1
    panels[-1].set_xlim(0, last)
    panels[-1].set_xticks(range(last + 1))
    panels[-1].set_xlabel("slot")
    return figure


_NEEDED: Final = {mode: partial(_slots, mode=mode) for mode in _MODES}

FIGURE_4 = PaperFigure(
    number="4",
    title="an example: one start per cluster and slot, and several",
    cells=_examples,
    rows=partial(unrolled, lists=("slot", "cluster", "tasks", "started"), keep=("mode",)),
    columns={
        "mode": "Mode", "slot": "Slot", "cluster": "Cluster", "tasks": "Tasks started",
        "started": "How many",
    },
    draw=_draw_example,
    takeaway=said(
        "14 tasks take {single} slots where a cluster starts one at a time, and {unused} chances "
        "to do so are not used; with several starts they take {several} slots",
        unused=lambda rows: int((where(rows, mode="single")["started"] == 0).sum()),
        **_NEEDED,
    ),
    published=[
        Published("slots until all tasks are complete", "fewer with several",
                said("{single} with one start, {several} with several", **_NEEDED))
    ],
    caveats=[
        "The paper's example is a drawing: its tasks, and the conflicts that its agents run into, "
        f"are not listed. Here {_COUNT} tasks arrive in slots 0 to 2, may run on clusters that are "
        "drawn, and are chosen at random by clusters that start nothing when another one was first."
    ],
    caption="Letters: tasks that a cluster starts in a slot. A hyphen: none.",
)  # fmt: skip

_RECORDED: Final = {1000: 9.549, 2000: 15.255, 3000: 23.978, 4000: 25.065}
"""Milliseconds of communication, by distance in km."""

_INFERENCE: Final = 5.344
"""Milliseconds of one inference."""

_LINK: Final = {"bytes": 2000 + 800, "bit_per_second": 1e6, "km_per_second": 2e5}
_SCHEDULERS: Final = {
    "reservation": "Reservation, ours",
    "priced": "Priced, ours",
    "optimus": "Optimus, fit as described",
    "tiresias": "Tiresias",
}


def communication(kilometres: float) -> Mapping[str, float]:
    """Return the milliseconds that state and action of an agent take over a distance."""
    transfer = 1e3 * 8 * _LINK["bytes"] / _LINK["bit_per_second"]
    light = 1e3 * 2 * kilometres / _LINK["km_per_second"]
    return {"transfer": transfer, "light": light, "communication": transfer + light}


def _timed(quick: bool) -> list[Cell]:
    far = [
        Cell({"distance": km, **_LINK, "reading": __name__}, communication, (float(km),))
        for km in _RECORDED
    ]
    options = {"figures": "testbed", "clusters": 6, "tasks": 40 if quick else 1000}
    near = [
        compared(InstanceSpec.of(from_bundled, rng=draw, **options), list(_SCHEDULERS), runs=1,
                 at={"draw": draw, "timed": True})
        for draw in range(3)
    ]  # fmt: skip
    return [*far, *near]


def _milliseconds(table: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    parts = table[table["distance"].notna()].melt(
        id_vars="distance", value_vars=["transfer", "light", "communication"], var_name="part"
    )
    near = where(unfolded(table[table["distance"].isna()]), part="decision_ms")
    columns = ["part", "policy", "distance", "value", "value_low", "value_high"]
    both = [parts.assign(policy="any"), near.assign(part="decision")]
    return pd.concat(both, ignore_index=True).reindex(columns=columns)


def _draw_overhead(rows: pd.DataFrame) -> Figure:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    figure = blank(height=3.8)
    left, right = figure.subplots(1, 2, width_ratios=(1.1, 1))
    parts = {"transfer": "transfer at 1 Mbit/s", "light": "light in fibre, there and back"}
    shades = colours([*parts, "decision"])
    bottom = np.zeros(len(_RECORDED))
    for part in parts:
        own = where(rows, part=part).sort_values("distance")["value"].to_numpy()
        left.bar(range(len(own)), own, 0.6, bottom=bottom, color=shades[part], alpha=0.85)
        bottom = bottom + own
    left.plot(range(len(_RECORDED)), list(_RECORDED.values()), **HOLLOW)
    left.set_xticks(range(len(_RECORDED)), [str(km) for km in _RECORDED])
    left.set_xlabel("distance from the coordinator (km)")
    left.set_ylabel("communication (ms)")
    left.grid(axis="x", visible=False)
    for place, name in enumerate(_SCHEDULERS):
        taken = found("value", part="decision", policy=name)(rows).value
        right.barh(place + 1, taken, 0.6, color=shades["decision"], alpha=0.85)
    right.plot([_INFERENCE], [0], **HOLLOW)
    rows_of_bars(right, ["TapFinger,\nnot built yet", *_SCHEDULERS.values()])
    right.set_xlabel("decisions of a slot (ms)")
    handles: list[Any] = [Patch(color=shades[part], alpha=0.85, label=label)
                          for part, label in parts.items()]  # fmt: skip
    handles.append(Line2D([], [], label="recorded", **HOLLOW))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


_FAR: Final = {km: found("value", part="communication", distance=km) for km in _RECORDED}
_DECISION: Final = found("value", part="decision", policy="reservation")

FIGURE_7 = PaperFigure(
    number="7",
    title="time that deciding and communicating take",
    cells=_timed,
    rows=_milliseconds,
    columns={
        "part": "Part", "policy": "Policy", "distance": "Distance (km)", "value": "Milliseconds",
    },
    draw=_draw_overhead,
    takeaway=said(
        "Over 1000 to 4000 km state and actions need {near:3} to {far:3} ms, Reservation decides a "
        "slot in {decision:2} ms: of a slot of 10 s {share:2} % at most",
        near=_FAR[1000],
        far=_FAR[4000],
        decision=_DECISION,
        share=lambda rows: (_FAR[4000](rows).value + _DECISION(rows).value) / 100,
    ),
    published=[
        Published("one inference of TapFinger (ms)", _INFERENCE, None),
        Published("the same, as a share of the communication time, at most", 0.0304, None, True),
        Published("scheduling one task with TapFinger, about (s)", 0.3, None),
        *(
            Published(f"communication over {km} km (ms)", value, _FAR[km])
            for km, value in _RECORDED.items()
        ),
        Published(
            "decisions of a slot, Reservation in TapFinger's place (ms)", _INFERENCE, _DECISION,
            why="The printed figure is TapFinger's inference. Reservation learns nothing, and "
            "decides in plain code.",
        ),
    ],
    caveats=[
        "The figures under “printed” are those that the authors' program plots. They were measured "
        "with emulated delays that are not listed, on their own machine.",
        "Ours is computed: 2 kB of state and 800 bytes of actions of one agent at 1 Mbit/s, and "
        "light in fibre there and back at 200,000 km/s. Decisions are timed on this machine, six "
        "clusters of measured tasks.",
    ],
    caption="Diamonds: recorded by the authors.",
)  # fmt: skip
