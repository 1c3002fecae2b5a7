"""Figures 5, 7 and 9: the success rate over devices, edges and retraining sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from edgeopt.studies.exhibits import Printed
from edgeopt.studies.oinc.exhibits.setting import DEVICES, EDGES, PICTURES
from edgeopt.studies.oinc.exhibits.sweeping import (
    best_places,
    figure_of,
    largest,
    needed,
    range_of,
    trend,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from edgeopt.studies.exhibits import Exhibit
    from edgeopt.studies.oinc.exhibits.setting import Sweep

__all__ = ["FIGURE_5", "FIGURE_7", "FIGURE_9"]

_DRAWN: Final = {"success": "requests and jobs in time (%)", "jobs_met": "jobs in time (%)"}
_RELATIVE: Final = "Read as a share of the success rate of the other policy."
_TOGETHER: Final = (
    "The success rate counts requests and jobs alike, and there are a hundred times as many "
    "requests; jobs are shown apart as well."
)


def _figure(number: str, sweep: Sweep, printed: Sequence[Printed]) -> Exhibit:
    def notice(rows: pd.DataFrame) -> str:
        first, places = best_places(rows, sweep.column, "success", "max")
        second, _ = best_places(rows, sweep.column, "jobs_met", "max")
        return (
            f"OINC is in time with {range_of(rows, 'success', share=True)} of requests and jobs, "
            f"no other with more at {first} of {places} {sweep.each}; "
            f"of jobs alone at {second} of {places}"
        )

    return figure_of(
        number, "the success rate", sweep, _DRAWN, notice, printed, (_TOGETHER,), share=True
    )


def _gain(sweep: Sweep, value: float) -> Printed:
    return Printed(
        what="largest gain of OINC in the success rate",
        value=value,
        ours=largest(sweep.column, "success", "max"),
        percent=True,
        why=_RELATIVE,
    )


def _trend(sweep: Sweep, statement: str) -> Printed:
    return Printed(what="the success rate", value=statement, ours=trend(sweep.column, "success"))


FIGURE_5 = _figure("5", DEVICES, [_gain(DEVICES, 0.332), _trend(DEVICES, "falls with the devices")])
"""Over the number of devices."""

FIGURE_7 = _figure(
    "7",
    EDGES,
    [
        Printed(
            what="edges needed for the success rate",
            value="Ekya and Kalmia need more than OINC",
            ours=needed("edges", "success", "max"),
        ),
        _trend(EDGES, "rises with the edges"),
    ],
)
"""Over the number of edges."""

FIGURE_9 = _figure(
    "9",
    PICTURES,
    [
        _gain(PICTURES, 0.356),
        _trend(PICTURES, "stays high with OINC, falls with Ekya and Kalmia"),
    ],
)
"""Over the size of the retraining set."""
