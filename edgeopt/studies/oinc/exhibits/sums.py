"""Figures 4, 6, 8 and 10: the weighted sum over devices, edges, retraining sets and bands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from edgeopt.studies.exhibits import Printed
from edgeopt.studies.oinc.exhibits.setting import BAND, DEVICES, EDGES, PICTURES
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

__all__ = ["FIGURE_4", "FIGURE_6", "FIGURE_8", "FIGURE_10"]

_READINGS: Final = {"scaled": "sum of scaled means", "value": "weighted sum"}
"""Both readings of the weighted sum, the one of even kinds first."""

_WEIGHTS: Final = (
    "The weights are not given. The weighted sum adds up all requests and jobs, a latency of a "
    "quarter of a second counting like a completion time of 100 s, so that thousands of requests "
    "outweigh the jobs; the sum of scaled means adds mean latency and mean completion time at the "
    "same scales."
)


def _figure(
    number: str, sweep: Sweep, printed: Sequence[Printed], differs: Sequence[str] = ()
) -> Exhibit:
    def notice(rows: pd.DataFrame) -> str:
        first, places = best_places(rows, sweep.column, "scaled", "min")
        second, _ = best_places(rows, sweep.column, "value", "min")
        return (
            f"OINC's sum of scaled means, {range_of(rows, 'scaled')}, is the least at {first} of "
            f"{places} {sweep.each}; its weighted sum is the least at {second} of {places}"
        )

    return figure_of(
        number, "the weighted sum", sweep, _READINGS, notice, printed, (*differs, _WEIGHTS)
    )


def _savings(sweep: Sweep, value: float) -> list[Printed]:
    return [
        Printed(
            what=f"largest saving of OINC in the {words}",
            value=value,
            ours=largest(sweep.column, measure, "min"),
            percent=True,
        )
        for measure, words in _READINGS.items()
    ]


def _trends(sweep: Sweep, statement: str) -> list[Printed]:
    return [
        Printed(what=f"the {words}", value=statement, ours=trend(sweep.column, measure))
        for measure, words in _READINGS.items()
    ]


def _best(rows: pd.DataFrame) -> str:
    found = {words: best_places(rows, "band", name, "min") for name, words in _READINGS.items()}
    return "; ".join(
        f"{words}: OINC least at {count} of {places}" for words, (count, places) in found.items()
    )


FIGURE_4 = _figure(
    "4", DEVICES, [*_savings(DEVICES, 0.237), *_trends(DEVICES, "rises with the devices")]
)
"""Over the number of devices."""

FIGURE_6 = _figure(
    "6",
    EDGES,
    [
        *(
            Printed(
                what=f"edges needed for the {words}",
                value="as OINC with 10: Ekya with 14 and Kalmia with 12",
                ours=needed("edges", measure, "min"),
            )
            for measure, words in _READINGS.items()
        ),
        *_trends(EDGES, "falls with the edges"),
    ],
)
"""Over the number of edges."""

FIGURE_8 = _figure(
    "8",
    PICTURES,
    [*_savings(PICTURES, 0.21), *_trends(PICTURES, "rises with the retraining set")],
    [
        "The sizes of the retraining set are not given, but for the default of 1024; here they are "
        "512 to 2048.",
    ],
)
"""Over the size of the retraining set."""

FIGURE_10 = _figure(
    "10",
    BAND,
    [Printed(what="the least sum", value="OINC at every band", ours=_best)],
    ["Of the changes of the band only one is given, 20 % less; here they are -20 to 20 %."],
)
"""Over the wireless band."""
