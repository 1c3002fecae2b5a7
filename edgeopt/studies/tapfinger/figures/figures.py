"""Figures 5, 6, 8, 9 and 11 to 15: completion times of made-up and of measured tasks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from edgeopt.instances.tapfinger import from_bundled
from edgeopt.studies.figures import PaperFigure, Published, found, said
from edgeopt.studies.figures.drawing import HOLLOW, curves
from edgeopt.studies.figures.reading import extreme
from edgeopt.studies.pictures.canvas import INK, colours
from edgeopt.studies.tapfinger.figures.completion import COLUMNS, RUNS_SAID, completion
from edgeopt.studies.tapfinger.figures.setting import Setting, unfolded

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_OWN: Final = {
    "random": "Random",
    "min": "Min",
    "optimus": "Optimus, fit as described",
    "reservation": "Reservation, ours",
    "priced": "Priced, ours",
}
_ONE: Final = {"optimus+swapped": "Optimus", "tiresias": "Tiresias", **_OWN}
_MANY: Final = {"optimus+swapped": "Optimus", "tiresias+elastic": "Tiresias", **_OWN}
_BEST: Final = ("optimus+swapped", "random", "min")

_SINGLE: Final = Setting(
    recorded="three", policies=_ONE, baselines=(*_BEST, "tiresias"), options={"single_start": True}
)
"""Three clusters that start one task per slot."""

_SIX: Final = replace(_SINGLE, recorded="six", options={"single_start": True, "clusters": 6},
                      tasks=36)  # fmt: skip
_SEVERAL: Final = Setting(
    recorded="several", policies=_MANY, baselines=(*_BEST, "tiresias+elastic")
)
_MIXED: Final = replace(_SEVERAL, recorded="mixed", options={"clusters": 6, "capacity": "mixed"},
                        tasks=36)  # fmt: skip

_FIT: Final = (
    "Optimus is shown with the fit of the authors' program, which takes CPU cores for GPUs and the "
    "other way round, and with the fit that is described."
)
_OPEN: Final = (
    _FIT,
    "Tasks that want GPUs slow down as in the authors' program: 21 slots with one GPU, where the "
    "paper says 2 to 17. On how many clusters a task may run is drawn evenly, then on which, as "
    "there.",
)
"""Why figures of made-up tasks may differ."""

_NOISE: Final = (
    "In the recorded runs with one start per slot policies met different arrivals; here all meet "
    "the same. Progress differs by up to 0.1 per slot, and is never negative.",
    "Tiresias gives tasks the smallest bundle they ask for, as the recorded use of GPUs says.",
)
_FREE: Final = (
    "Tasks arrive at the rate of the authors' program, one per cluster and slot.",
    "Tiresias gives tasks what it can, as the recorded use of GPUs says; a change of bundle costs "
    "nothing.",
)

MEASURED: Final = (
    "Running times are those of the small tables of the package: whole seconds, interpolated "
    "between some numbers of CPU cores. How progress follows from them is not written down. Here a "
    "task takes as long as was measured; in the recorded runs tasks went faster, a training of the "
    "language model with the smallest bundle 5 slots where it takes 27 here.",
    "No noise is added to progress: 0.1 per slot is more than most of these tasks progress.",
    "Optimus is shown with the fit of the authors' program, which mixes up CPU cores and GPUs, and "
    "with the fit that is described. Tiresias gives tasks the smallest bundle.",
)
"""Why figures of measured tasks may differ."""


def servers(clusters: int, tasks: int) -> Setting:
    """Return the setting of measured tasks on so many clusters."""
    return Setting(
        recorded=f"test-bed {'three' if clusters == 3 else 'six'}, {tasks}",
        policies={name: _ONE[name] for name in
                  ("optimus+swapped", "tiresias", "random", "min", "optimus", "reservation",
                   "priced")},
        baselines=("optimus+swapped", "tiresias", "random", "min"),
        make=from_bundled,
        options={"figures": "testbed", "clusters": clusters, "tasks": tasks},
        tasks=tasks // 50,
        draws=5,
        runs=2,
    )  # fmt: skip


def _floor(rows: pd.DataFrame) -> str:
    least, chance = (found("value", policy=name, part="mean")(rows) for name in ("min", "random"))
    pattern = "{side} Random's: {least:3} and {chance:3} slots"
    side = "at most" if least.value <= chance.value else "above"
    return said(pattern, side=side, least=least, chance=chance)(rows)


_RATES: Final = {
    rate: replace(_SIX, recorded=name, options={**_SIX.options, "rate": float(rate)})
    for rate, name in {2: "six, rate 2", 3: "six, rate 3", 4: "six"}.items()
}


def _draw_rates(rows: pd.DataFrame) -> Figure:
    from matplotlib.lines import Line2D

    labels = {"waiting": "mean tasks in the system", "mean": "mean completion time (slots)"}
    wide = rows.pivot_table(index=["rate", "policy"], columns="part", sort=False,
                            values=["value", "value_low", "value_high"])  # fmt: skip
    names: Any = wide.columns
    wide.columns = [part + end.removeprefix("value") for end, part in names]
    handles = [Line2D([], [], label=label, **HOLLOW | {"marker": mark})
               for mark, label in (("o", "recorded"), ("D", "TapFinger, recorded"))]  # fmt: skip
    figure = curves(
        wide.reset_index(), "rate", labels, xlabel="arrivals per slot", titles=_SIX.policies,
        zero=True, handles=handles,
    )  # fmt: skip
    shades = colours(_SIX.policies) | {"tapfinger": INK}
    for axes, part in zip(figure.axes, labels, strict=True):
        for name in (*_SIX.baselines, "tapfinger"):
            recorded = [getattr(one.recorded_of(name), part) for one in _RATES.values()]
            mark = "D" if name == "tapfinger" else "o"
            axes.plot(list(_RATES), recorded, **HOLLOW | {"marker": mark, "color": shades[name]})
    return figure


def _lighter(rows: pd.DataFrame, *, policy: str) -> str:
    """Tell how a policy does under a light load, against Random, which never preempts."""
    heavy, light = (found("value", rate=rate, policy=policy, part="mean")(rows) for rate in (4, 2))
    chance = found("value", rate=2, policy="random", part="mean")(rows)
    pattern = "{heavy:3} slots at rate 4, {light:3} at rate 2, {side} than Random's {chance:3}"
    side = "more" if light.value > chance.value else "no more"
    return said(pattern, heavy=heavy, light=light, side=side, chance=chance)(rows)


_FIGURE_6 = PaperFigure(
    number="6",
    title="six clusters under different arrival rates",
    cells=lambda quick: [
        cell for rate, one in _RATES.items() for cell in one.cells(quick, rate=rate)
    ],
    rows=partial(unfolded, by=["rate"]),
    columns={"rate": "Arrivals per slot", **COLUMNS},
    draw=_draw_rates,
    takeaway=said(
        "With 4 arrivals per slot {least4:3} ({least4.title}) to {most4:3} tasks ({most4.title}) "
        "are in the system on average, with 2 arrivals {least2:3} ({least2.title}) to {most2:3} "
        "({most2.title})",
        least4=extreme("min", "value", _ONE, rate=4, part="waiting"),
        most4=extreme("max", "value", _ONE, rate=4, part="waiting"),
        least2=extreme("min", "value", _ONE, rate=2, part="waiting"),
        most2=extreme("max", "value", _ONE, rate=2, part="waiting"),
    ),
    published=[
        *(
            Published(f"{_ONE[policy]} in lighter workloads",
                    "degrades: preemptions cost progress", partial(_lighter, policy=policy))
            for policy in ("optimus+swapped", "tiresias")
        ),
        *(
            line
            for rate, setting in _RATES.items()
            for line in setting.lines(("mean", "waiting"), f", rate {rate}", rate=rate)
        ),
    ],
    caveats=[
        RUNS_SAID,
        *_OPEN,
        f"In full size means over {_SIX.draws} draws of tasks, {_SIX.runs} runs of each.",
    ],
    caption="Mean over draws with interval; hollow marks: recorded by the authors, at full size.",
)  # fmt: skip

_BASELINES: Final = {name: _ONE[name] for name in _SINGLE.baselines}
_THREE_MEASURED: Final = servers(3, 1000)
_SIX_MEASURED: Final = servers(6, 2000)

FIGURES: Final = (
    completion(
        "5ab",
        "single-task TapFinger on three clusters: completion times and tasks in the system",
        _SINGLE,
        [
            *_SINGLE.claimed("optimus+swapped", 0.286, "median"),
            *_SINGLE.claimed("optimus+swapped", 0.251),
            Published(
                "best of the baselines", "Optimus",
                said(
                    "{best.title} has the least, {best:3} slots; with the fit as described Optimus "
                    "has {optimus:3}",
                    best=extreme("min", "value", _BASELINES, part="mean"),
                    optimus=found("value", policy="optimus", part="mean"),
                ),
            ),
        ],
        caveats=[*_OPEN, *_NOISE],
    ),
    completion(
        "5cd",
        "single-task TapFinger on six clusters: completion times and tasks in the system",
        _SIX,
        _SIX.claimed("optimus+swapped", 0.205),
        caveats=[*_OPEN, *_NOISE],
    ),
    _FIGURE_6,
    completion(
        "8",
        "compared with multi-agent learning without graph and pointer",
        Setting(
            recorded="three",
            policies={name: _ONE[name] for name in ("random", "min", "reservation")},
            learned=("tapfinger", "vanilla"),
            options={"single_start": True},
        ),
        caveats=[
            *_OPEN, *_NOISE, "Both are learned. Policies that are not stand beside them.",
        ],
    ),
    completion(
        "9ab",
        "single-task TapFinger on three clusters, 1000 measured tasks",
        _THREE_MEASURED,
        _THREE_MEASURED.claimed("optimus+swapped", 0.137),
        caveats=MEASURED,
    ),
    completion(
        "9cd",
        "single-task TapFinger on six clusters, 2000 measured tasks",
        _SIX_MEASURED,
        _SIX_MEASURED.claimed("optimus+swapped", 0.104),
        caveats=MEASURED,
    ),
    completion(
        "11",
        "multi-task TapFinger on three clusters: completion, tasks, CPU cores and GPUs in use",
        _SEVERAL,
        [
            *_SEVERAL.claimed("tiresias+elastic", 0.432),
            *_SEVERAL.claimed("optimus+swapped", 0.445),
        ],
        use=True,
        caveats=[*_OPEN, *_FREE],
    ),
    completion(
        "12",
        "multi-task TapFinger on six clusters of different sizes",
        _MIXED,
        [
            *_MIXED.claimed("optimus+swapped", 0.401),
            *_MIXED.claimed("tiresias+elastic", 0.549),
        ],
        caveats=[*_OPEN, *_FREE],
    ),
    completion(
        "13",
        "compared with TapFinger without HAN",
        Setting(
            recorded="several",
            policies={name: _MANY[name] for name in ("optimus+swapped", "optimus", "reservation")},
            baselines=("optimus+swapped",),
            learned=("tapfinger", "no_han"),
        ),
        caveats=[*_OPEN, *_FREE],
    ),
    completion(
        "14",
        "compared with TapFinger without pointer, on tasks of 1 and 10 slots",
        replace(_SEVERAL, recorded="pointer", options={"workload": "pointer"},
                learned=("tapfinger", "no_pointer")),
        [
            Published("Min, mean completion time", "lower bound of any random selection", _floor,
                    why="It holds in expectation where more units do not help."),
        ],
        caveats=[_FIT, *_FREE],
    ),
    completion(
        "15",
        "measured tasks on three clusters of containers",
        Setting(
            recorded="containers",
            policies={
                "optimus+containers": "Optimus, no preemption",
                "tiresias+containers": "Tiresias, no preemption",
                **{name: title for name, title in _OWN.items() if name != "optimus"},
            },
            baselines=("optimus+containers", "tiresias+containers", "random", "min"),
            make=from_bundled,
            tasks=30,
        ),
        use=True,
        caveats=[
            "Slots of 5 s. Ours is a simulation with the running times that were measured in a "
            "container, plus 14 s for its start, which is not in the paper; the recorded figures "
            "are those of real clusters, in which fewer GPUs were in use than these times keep "
            "busy, so tasks ended sooner there. Whether a cluster may start several containers in "
            "a session is left open; here it may."
        ],
    ),
)  # fmt: skip
"""In the order of the paper."""
