"""Figures 5, 8 and 11 to 14: made-up tasks, with one start per slot and with several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from edgeopt.instances.tapfinger import generate
from edgeopt.studies.exhibits import Printed, found
from edgeopt.studies.tapfinger.exhibits.completion import completion
from edgeopt.studies.tapfinger.exhibits.setting import Claim, Setting
from edgeopt.studies.wording import number

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ABLATIONS", "OPEN", "SEVERAL", "SINGLE", "SIX", "THREE", "VANILLA"]

_OWN: Final = {"optimus": "Optimus, fit as described", "reservation": "Reservation, ours",
               "priced": "Priced, ours"}  # fmt: skip
_PLAIN: Final = {"random": "Random", "min": "Min"}
_ONE: Final = {"optimus+swapped": "Optimus", "tiresias": "Tiresias", **_PLAIN, **_OWN}
_MANY: Final = {"optimus+swapped": "Optimus", "tiresias+elastic": "Tiresias", **_PLAIN, **_OWN}
_STAND: Final = {"optimus+swapped": "optimus", "random": "random", "min": "min"}
_STAND_ONE: Final = {**_STAND, "tiresias": "tiresias"}
_STAND_MANY: Final = {**_STAND, "tiresias+elastic": "tiresias"}

OPEN: Final = (
    "Optimus is shown with the fit of the authors' program, which takes CPU cores for GPUs and the "
    "other way round, and with the fit that is described.",
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

_FEW: Final[dict[str, Any]] = {"tasks": 24}

SINGLE: Final = Setting(
    recorded="three",
    make=generate,
    options={"single_start": True},
    quick=_FEW,
    policies=_ONE,
    baselines=_STAND_ONE,
)
"""Three clusters that start one task per slot."""

SIX: Final = Setting(
    recorded="six",
    make=generate,
    options={"single_start": True, "clusters": 6},
    quick={"tasks": 36},
    policies=_ONE,
    baselines=_STAND_ONE,
)
"""Six of them."""

_TOY: Final = Setting(
    recorded="three",
    make=generate,
    options={"single_start": True},
    quick=_FEW,
    policies={name: _ONE[name] for name in ("random", "min", "reservation")},
    baselines={},
    learned=("tapfinger", "vanilla"),
)

_SEVERAL: Final = Setting(
    recorded="several", make=generate, options={}, quick=_FEW, policies=_MANY,
    baselines=_STAND_MANY,
)  # fmt: skip

_MIXED: Final = Setting(
    recorded="mixed",
    make=generate,
    options={"clusters": 6, "capacity": "mixed"},
    quick={"tasks": 36},
    policies=_MANY,
    baselines=_STAND_MANY,
)

_NO_HAN: Final = Setting(
    recorded="several",
    make=generate,
    options={},
    quick=_FEW,
    policies={name: _MANY[name] for name in ("optimus+swapped", "optimus", "reservation")},
    baselines={"optimus+swapped": "optimus"},
    learned=("tapfinger", "no_han"),
)

_POINTER: Final = Setting(
    recorded="pointer",
    make=generate,
    options={"workload": "pointer"},
    quick=_FEW,
    policies=_MANY,
    baselines=_STAND_MANY,
    learned=("tapfinger", "no_pointer"),
)


def _floor(rows: pd.DataFrame) -> str:
    least, chance = (found("value", policy=name, part="mean")(rows).value
                     for name in ("min", "random"))  # fmt: skip
    said = "at most" if least <= chance else "above"
    return f"{said} Random's: {number(least, 3)} and {number(chance, 3)} slots"


def _better(rows: pd.DataFrame) -> str:
    means = {name: found("value", policy=name, part="mean")(rows).value for name in _ONE}
    best = min(_STAND_ONE, key=lambda name: means[name])
    return (
        f"{_ONE[best]} has the least, {number(means[best], 3)} slots; with the fit as described "
        f"Optimus has {number(means['optimus'], 3)}"
    )


THREE = completion(
    "5ab",
    "single-task TapFinger on three clusters: completion times and tasks in the system",
    SINGLE,
    [
        Claim(0.286, "optimus+swapped", "Optimus", "median"),
        Claim(0.251, "optimus+swapped", "Optimus"),
    ],
    more=[
        Printed(
            what="best of the baselines",
            value="Optimus",
            ours=_better,
        )
    ],
    differs=[*OPEN, *_NOISE],
)

SIX_CLUSTERS = completion(
    "5cd",
    "single-task TapFinger on six clusters: completion times and tasks in the system",
    SIX,
    [Claim(0.205, "optimus+swapped", "Optimus")],
    differs=[*OPEN, *_NOISE],
)

VANILLA = completion(
    "8",
    "compared with multi-agent learning without graph and pointer",
    _TOY,
    differs=[*OPEN, *_NOISE, "Both are learned. Policies that are not stand beside them."],
)

SEVERAL = (
    completion(
        "11",
        "multi-task TapFinger on three clusters: completion, tasks, CPU cores and GPUs in use",
        _SEVERAL,
        [
            Claim(0.432, "tiresias+elastic", "Tiresias"),
            Claim(0.445, "optimus+swapped", "Optimus"),
        ],
        use=True,
        differs=[*OPEN, *_FREE],
    ),
    completion(
        "12",
        "multi-task TapFinger on six clusters of different sizes",
        _MIXED,
        [
            Claim(0.401, "optimus+swapped", "Optimus"),
            Claim(0.549, "tiresias+elastic", "Tiresias"),
        ],
        differs=[*OPEN, *_FREE],
    ),
)

ABLATIONS = (
    completion("13", "compared with TapFinger without HAN", _NO_HAN, differs=[*OPEN, *_FREE]),
    completion(
        "14",
        "compared with TapFinger without pointer, on tasks of 1 and 10 slots",
        _POINTER,
        more=[
            Printed(
                what="Min, mean completion time",
                value="lower bound of any random selection",
                ours=_floor,
                why="It holds in expectation where more units do not help.",
            )
        ],
        differs=[*OPEN[:1], *_FREE],
    ),
)
