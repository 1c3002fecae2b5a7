"""Figure 4: the contrived example of one start per slot and of several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.tapfinger import TapFingerInstance, from_durations
from edgeopt.studies.exhibits import Exhibit, Printed, Recipe
from edgeopt.studies.pictures.canvas import blank, colours
from edgeopt.studies.registry import find_system
from edgeopt.studies.sweeps import Cell
from edgeopt.studies.wording import plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["CONTRIVED", "contrived"]

_TASKS: Final = 14
_CLUSTERS: Final = 3
_MODES: Final = {"single": "one start per cluster and slot", "several": "several starts per slot"}
_VOID: Final = "-"


def contrived(single_start: bool) -> TapFingerInstance:
    """Return three clusters with room for four tasks each, and tasks of one slot."""
    eligible = np.random.default_rng(4).random((_TASKS, _CLUSTERS)) < 0.7
    eligible[~eligible.any(axis=1)] = True
    return from_durations(
        np.ones((1, 2, 2)),
        minimum=[[1, 1]],
        capacity=[[4, 4]] * _CLUSTERS,
        arrival=np.repeat([0, 1, 2], [6, 5, 3]),
        kind=np.zeros(_TASKS, dtype=int),
        eligible=eligible,
        single_start=single_start,
    )


def _work(recipe: Recipe, policy: str) -> Mapping[str, Any]:
    from edgeopt.online import simulate

    system = find_system("tapfinger")
    instance = recipe.instance()
    [entry] = [one for one in system.policies.entries if one.name == policy]
    run: Any = simulate(
        system.policies.environment(instance), entry.make(instance, {}), rng=0, runs=1
    )
    lanes: dict[str, list[Any]] = {"slot": [], "cluster": [], "tasks": [], "started": []}
    for slot in range(int(run.end[0])):
        for cluster in range(instance.clusters):
            here = np.flatnonzero((run.start[0] == slot) & (run.cluster[0] == cluster))
            said = " ".join(chr(ord("a") + int(task)) for task in here) or _VOID
            for name, value in zip(lanes, (slot, cluster, said, len(here)), strict=True):
                lanes[name].append(value)
    return lanes


def _cells(quick: bool) -> list[Cell]:
    del quick  # there is nothing to save
    listed = []
    for mode in _MODES:
        recipe = Recipe.of(contrived, single_start=mode == "single")
        identity = {
            "mode": mode, "instance": recipe.fingerprint(), "policy": "min",
            "seed": 0, "reading": __name__,
        }  # fmt: skip
        listed.append(Cell(identity, _work, (recipe, "min")))
    return listed


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    columns = ["slot", "cluster", "tasks", "started"]
    found = table.explode(columns, ignore_index=True)[["mode", *columns]]
    return found.astype({"slot": int, "cluster": int, "started": int})


def _slots(rows: pd.DataFrame, mode: str) -> int:
    return int(rows[rows["mode"] == mode]["slot"].max()) + 1


def _void(rows: pd.DataFrame, mode: str) -> int:
    return int((rows[rows["mode"] == mode]["started"] == 0).sum())


def _draw(rows: pd.DataFrame) -> Figure:
    figure = blank(height=4.4)
    panels = figure.subplots(len(_MODES), 1, sharex=True)
    shades = list(colours(map(str, range(_CLUSTERS))).values())
    for axes, (mode, title) in zip(panels, _MODES.items(), strict=True):
        for row in rows[rows["mode"] == mode].to_dict("records"):
            place, slot = row["cluster"], row["slot"]
            opacity = 0.3 if row["started"] else 0.07
            axes.barh(place, 0.94, 0.8, left=slot + 0.03, color=shades[place], alpha=opacity)
            axes.text(slot + 0.5, place, row["tasks"], ha="center", va="center", fontsize=10)
        axes.set_title(f"{title}: {plural(_slots(rows, mode), 'slot')}")
        axes.set_yticks(range(_CLUSTERS), [f"cluster {n}" for n in range(_CLUSTERS)])
        axes.set_ylim(_CLUSTERS - 0.5, -0.5)
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
    panels[-1].set_xlim(0, int(rows["slot"].max()) + 1)
    panels[-1].set_xticks(range(int(rows["slot"].max()) + 2))
    panels[-1].set_xlabel("slot")
    return figure


def _needed(rows: pd.DataFrame) -> str:
    return f"{_slots(rows, 'single')} with one start, {_slots(rows, 'several')} with several"


def _notice(rows: pd.DataFrame) -> str:
    one, many = (_slots(rows, mode) for mode in _MODES)
    return (
        f"{_TASKS} tasks take {plural(one, 'slot')} where a cluster starts one at a time, and "
        f"{_void(rows, 'single')} of {one * _CLUSTERS} chances to do so are not used; with several "
        f"starts they take {plural(many, 'slot')}"
    )


CONTRIVED = Exhibit(
    kind="figure",
    number="4",
    title="an example: one start per cluster and slot, and several",
    cells=_cells,
    rows=_rows,
    columns={
        "mode": "Mode",
        "slot": "Slot",
        "cluster": "Cluster",
        "tasks": "Tasks started",
        "started": "How many",
    },
    draw=_draw,
    notice=_notice,
    printed=[
        Printed(what="slots until all tasks are complete", value="fewer with several", ours=_needed)
    ],
    differs=[
        "The paper's example is a drawing: its tasks, and the conflicts that its agents run into, "
        f"are not listed. Here {_TASKS} tasks arrive in slots 0 to 2, may run on clusters that are "
        "drawn, and are chosen at random by clusters that start nothing when another one was first."
    ],
    caption="Letters: tasks that a cluster starts in a slot. A hyphen: none.",
)
