"""Figure 15: containers on real clusters, which simulations meet in part."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from edgeopt.instances.tapfinger import from_bundled
from edgeopt.studies.wording import listed, number
from edgeopt_papers.figures import NOT_COMPARABLE, Published
from edgeopt_papers.tapfinger.figures.completion import TIMES, completion_figure, mean_range
from edgeopt_papers.tapfinger.figures.setting import (
    CAVEATS,
    OWN,
    STATISTICS,
    TAUGHT,
    TITLES,
    Setting,
    standing,
)
from edgeopt_papers.tapfinger.imitation_runs import SHOWN
from edgeopt_papers.tapfinger.recorded import LEARNED, RECORDED

if TYPE_CHECKING:
    import pandas as pd


CONTAINERS: Final = Setting(
    recorded="containers",
    make=from_bundled,
    options={"containers": "measured"},
    tasks=30,
    open=CAVEATS["containers"],
    baselines=("optimus+containers", "tiresias+containers", "random", "min"),
    others=("reservation", "learnt", "learnt+kept", "imitation"),
    draws=10,
    ranges=True,
    taught=SHOWN,
)
"""Measured tasks on three clusters of containers."""


def _recorded(policy: str) -> float:
    known = {"imitation": "tapfinger"}.get(policy, policy.partition("+")[0])
    return RECORDED["containers", known].mean


def _range(rows: pd.DataFrame, *, policy: str) -> str:
    """Say between which means the draws are, and where the recorded one is."""
    least, most = mean_range(rows, policy)
    recorded, said = _recorded(policy), f"{number(least, 3)} to {number(most, 3)}"
    if _few(rows):
        return said
    where = "below all" if recorded < least else "above all" if recorded > most else "within"
    return f"{said}; the recorded one is {where}"


def _reached(rows: pd.DataFrame, *, policy: str) -> bool:
    """Tell whether the recorded mean is one that the draws have."""
    least, most = mean_range(rows, policy)
    return least <= _recorded(policy) <= most


def _few(rows: pd.DataFrame) -> bool:
    """Tell whether there are too few draws for a recorded run to be compared with their range."""
    return bool((rows["instances"] < CONTAINERS.draws).any())


def _takeaway(rows: pd.DataFrame) -> str:
    met: dict[bool, list[str]] = {True: [], False: []}
    for policy in CONTAINERS.baselines:
        met[_reached(rows, policy=policy)].append(TITLES[policy])
    parts = [f"the recorded means of {listed(met[True])} are within such ranges"] * bool(met[True])
    parts += [f"those of {listed(met[False])} are not reproduced"] * bool(met[False])
    if _few(rows):
        parts = ["for a comparison with the recorded runs the draws are too few and too short"]
    least, most = mean_range(rows, "tiresias+containers")
    return (
        f"The mean completion time of Tiresias is between {number(least, 3)} and {number(most, 3)} "
        f"slots, by the draw; {'; '.join(parts)}; {standing()(rows)}"
    )


_FIGURE_15 = completion_figure(
    "15", f"measured tasks on three clusters of containers: {TIMES}, and units in use", CONTAINERS,
    use=True,
)  # fmt: skip

FIGURES: Final = (
    replace(
        _FIGURE_15,
        takeaway=_takeaway,
        published=[
            *(
                Published(
                    f"{TITLES[name]}, {STATISTICS['mean']}",
                    _recorded(name),
                    partial(_range, policy=name),
                    rule=partial(_reached, policy=name),
                    met="within the range",
                    sized=True,
                )
                for name in CONTAINERS.baselines
            ),
            Published(
                f"{LEARNED['tapfinger']}, {STATISTICS['mean']}",
                _recorded(OWN),
                partial(_range, policy=OWN),
                rule=NOT_COMPARABLE,
                why=TAUGHT,
            ),
            *_FIGURE_15.published,
        ],
        caption=f"{_FIGURE_15.caption} Thick lines: from the least to the most mean completion "
        "time of a draw.",
    ),
)
