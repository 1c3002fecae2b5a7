"""The setting of EDR's evaluation: policies, weeks, and the cells that its figures share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from edgeopt.studies.edr.exhibits.living import live, plan, week
from edgeopt.studies.edr.policies import OFFLINE
from edgeopt.studies.exhibits import Recipe
from edgeopt.studies.sweeps import Cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

__all__ = [
    "ONLINE",
    "OPEN",
    "RL",
    "TITLES",
    "longest",
    "per_step",
    "settings",
    "weekly",
    "weeks",
]

ONLINE: Final = {
    "saddle_point": "PROPOSED",
    "saddle_point+printed": "PROPOSED (as printed)",
    "oasdr": "OASDR",
    "lyapunov": "LYNO",
    "greedy": "GREEDY",
}
"""The policies of the paper's figures that are built."""

TITLES: Final = {**ONLINE, OFFLINE: "OFFLINE"}
"""With the offline optimum."""

RL: Final = {"rl": "RL (not built yet)"}
"""The policy that is not."""

_FULL: Final = {"sites": 50, "tasks": 100, "frames": 168, "slots": 12, "accuracy": 0.01}
_QUICK: Final = {"sites": 8, "tasks": 8, "frames": 24, "slots": 3, "accuracy": 0.1}
_SEEDS: Final = (3, 5)

OPEN: Final = (
    "The paper names 1000 sites and, elsewhere, 50; here are 50 at random places, 100 tasks, and "
    "168 frames of 12 slots.",
    "Requests, prices, caps and arrivals of tasks are drawn in place of its traces, and windows, "
    "objectives, speeds and batches, which are not given, are made up.",
    "Who shares a band is not given; here one set of a tenth to a fifth of the sites does so in "
    "each frame.",
    "A site does three times the largest load that arrives at it, not once: not every site can "
    "serve every type, and training takes room, too.",
    "Dollars and seconds are added with weights under which training and serving at an even rate "
    "cost 1000 points for energy and 1000 for delay. Rounds that miss their deadline and unserved "
    "requests are priced on top.",
    "PROPOSED is the method with its index and rounding corrected, a guard on deadlines and a "
    "reserve for requests; where it is compared, it stands beside as printed, too. OASDR and LYNO "
    "are readings of one line each.",
)
"""Why figures of all exhibits may differ."""


def settings(quick: bool) -> dict[str, Any]:
    """Return what the weeks are drawn with."""
    return {**(_QUICK if quick else _FULL), "capable_share": 0.25}


def weeks(
    quick: bool,
    names: Iterable[str] = TITLES,
    *,
    first: int | None = None,
    draws: int | None = None,
    **changes: Any,
) -> list[Cell]:
    """List a cell for each policy or benchmark on each of the drawn weeks."""
    from edgeopt.instances.edr.channel import NOISE

    own = {"reuse": "group", "noise": NOISE, **settings(quick), **changes}
    frames = own["frames"] if first is None else first
    listed = []
    for draw in range(_SEEDS[not quick] if draws is None else draws):
        recipe = Recipe.of(week, rng=draw, first=frames, **own)
        for name in names:
            known = name in ONLINE
            identity = {
                "draw": draw,
                "frames": frames,
                "reuse": own["reuse"],
                "noise": own["noise"],
                "system": "edr",
                "instance": recipe.fingerprint(),
                "policy": name,
                "reading": f"{live.__module__}.{(live if known else plan).__qualname__}",
            }
            work, arguments = (live, (recipe, name, draw)) if known else (plan, (recipe, name))
            listed.append(Cell(identity, work, arguments))
    return listed


def weekly(quick: bool) -> list[Cell]:
    """List the cells that most figures share: all policies and OFFLINE, on whole weeks."""
    return weeks(quick)


def per_step(table: pd.DataFrame, lists: Sequence[str], step: str) -> pd.DataFrame:
    """Make one row out of each entry of the lists in a table of cells."""
    import pandas as pd

    return pd.DataFrame(
        [
            {"draw": row["draw"], "policy": row["policy"], step: place}
            | {name: float(row[name][place]) for name in lists}
            for row in table.to_dict("records")
            for place in range(len(row[lists[0]]))
        ]
    )


def longest(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the rows at the last place of a column."""
    last: pd.DataFrame = rows[rows[column] == rows[column].max()]
    return last
