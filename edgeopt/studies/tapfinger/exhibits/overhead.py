"""Figure 7: what deciding and communicating take of a slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.tapfinger import from_tables
from edgeopt.studies.exhibits import Exhibit, Printed, Recipe, found
from edgeopt.studies.pictures.canvas import INK, PAPER, blank, colours
from edgeopt.studies.sweeps import Cell
from edgeopt.studies.tapfinger.exhibits.lived import lived, unfolded
from edgeopt.studies.wording import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["OVERHEAD", "communication"]

_RECORDED: Final = {1000: 9.549, 2000: 15.255, 3000: 23.978, 4000: 25.065}
"""Milliseconds of communication, by distance in km."""

_INFERENCE: Final = 5.344
"""Milliseconds of one inference."""

_BYTES: Final = 2000 + 800
_BIT_PER_SECOND: Final = 1e6
_KM_PER_SECOND: Final = 2e5
_POLICIES: Final = {
    "reservation": "Reservation, ours",
    "priced": "Priced, ours",
    "optimus": "Optimus, fit as described",
    "tiresias": "Tiresias",
}


def communication(kilometres: float) -> Mapping[str, float]:
    """Return the milliseconds that state and action of an agent take over a distance."""
    transfer = 1e3 * 8 * _BYTES / _BIT_PER_SECOND
    light = 1e3 * 2 * kilometres / _KM_PER_SECOND
    return {"transfer": transfer, "light": light, "communication": transfer + light}


def _cells(quick: bool) -> list[Cell]:
    link = {"bytes": _BYTES, "bit_per_second": _BIT_PER_SECOND, "km_per_second": _KM_PER_SECOND}
    far = [
        Cell({"distance": km, **link, "reading": __name__}, communication, (float(km),))
        for km in _RECORDED
    ]
    tasks = 40 if quick else 1000
    near = [
        lived(
            Recipe.of(from_tables, rng=draw, figures="testbed", clusters=6, tasks=tasks),
            list(_POLICIES),
            runs=1,
            at={"draw": draw, "timed": True},
        )
        for draw in range(3)
    ]
    return [*far, *near]


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    far = table[table["distance"].notna()]
    parts = far.melt(
        id_vars="distance", value_vars=["transfer", "light", "communication"], var_name="part"
    ).assign(policy="any")
    near = unfolded(table[table["distance"].isna()])
    near = near[near["part"] == "decision_ms"].assign(part="decision")
    columns = ["part", "policy", "distance", "value", "value_low", "value_high"]
    return pd.concat([parts, near], ignore_index=True).reindex(columns=columns)


def _draw(rows: pd.DataFrame) -> Figure:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    figure = blank(height=3.8)
    left, right = figure.subplots(1, 2, width_ratios=(1.1, 1))
    shades = colours(["transfer", "light", "decision"])
    parts = {"transfer": "transfer at 1 Mbit/s", "light": "light in fibre, there and back"}
    bottom = np.zeros(len(_RECORDED))
    for part in parts:
        own = rows[rows["part"] == part].sort_values("distance")
        left.bar(range(len(own)), own["value"], 0.6, bottom=bottom, color=shades[part], alpha=0.85)
        bottom = bottom + own["value"].to_numpy()
    hollow: dict[str, Any] = {
        "marker": "D", "markersize": 6, "color": INK, "markerfacecolor": PAPER, "linestyle": "none",
    }  # fmt: skip
    left.plot(range(len(_RECORDED)), list(_RECORDED.values()), **hollow)
    left.set_xticks(range(len(_RECORDED)), [str(km) for km in _RECORDED])
    left.set_xlabel("distance from the coordinator (km)")
    left.set_ylabel("communication (ms)")
    left.grid(axis="x", visible=False)
    for place, name in enumerate(_POLICIES):
        right.barh(place + 1, _decision(rows, name), 0.6, color=shades["decision"], alpha=0.85)
    right.plot([_INFERENCE], [0], **hollow)
    right.set_yticks(range(len(_POLICIES) + 1), ["TapFinger,\nnot built yet", *_POLICIES.values()])
    right.set_ylim(len(_POLICIES) + 0.5, -0.5)
    right.set_xlabel("decisions of a slot (ms)")
    right.grid(axis="y", visible=False)
    right.tick_params(axis="y", length=0)
    handles: list[Any] = [
        Patch(color=shades[part], alpha=0.85, label=label) for part, label in parts.items()
    ]
    handles.append(Line2D([], [], label="recorded", **hollow))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def _decision(rows: pd.DataFrame, policy: str) -> float:
    return found("value", part="decision", policy=policy)(rows).value


def _notice(rows: pd.DataFrame) -> str:
    near, far = (
        found("value", part="communication", distance=km)(rows).value for km in (1000, 4000)
    )
    return (
        f"Over 1000 to 4000 km state and actions need {number(near, 3)} to {number(far, 3)} ms, "
        f"Reservation decides a slot in {number(_decision(rows, 'reservation'), 2)} ms: of a slot "
        f"of 10 s {number((far + _decision(rows, 'reservation')) / 100, 2)} % at most"
    )


OVERHEAD = Exhibit(
    kind="figure",
    number="7",
    title="time that deciding and communicating take",
    cells=_cells,
    rows=_rows,
    columns={
        "part": "Part",
        "policy": "Policy",
        "distance": "Distance (km)",
        "value": "Milliseconds",
    },
    draw=_draw,
    notice=_notice,
    printed=[
        Printed(what="one inference of TapFinger (ms)", value=_INFERENCE, ours=None),
        Printed(
            what="the same, as a share of the communication time, at most", value=0.0304,
            ours=None, percent=True,
        ),
        Printed(what="scheduling one task with TapFinger, about (s)", value=0.3, ours=None),
        *(
            Printed(
                what=f"communication over {km} km (ms)",
                value=value,
                ours=found("value", part="communication", distance=km),
            )
            for km, value in _RECORDED.items()
        ),
        Printed(
            what="decisions of a slot, Reservation in TapFinger's place (ms)",
            value=_INFERENCE,
            ours=found("value", part="decision", policy="reservation"),
            why="The printed figure is TapFinger's inference. Reservation learns nothing, and "
            "decides in plain code.",
        ),
    ],
    differs=[
        "The figures under “printed” are those that the authors' program plots. They were measured "
        "with emulated delays that are not listed, on their own machine.",
        "Ours is computed: 2 kB of state and 800 bytes of actions of one agent at 1 Mbit/s, and "
        "light in fibre there and back at 200,000 km/s. Decisions are timed on this machine, six "
        "clusters of measured tasks.",
    ],
    caption="Diamonds: recorded by the authors.",
)  # fmt: skip
