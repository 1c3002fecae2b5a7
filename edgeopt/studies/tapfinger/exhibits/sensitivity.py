"""Figure 2: how long a training of a language model takes with which bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from edgeopt.instances.tables import FOLDER
from edgeopt.instances.tapfinger.measurements import CORES, KINDS, LARGEST, read_tables
from edgeopt.studies.exhibits import Exhibit, Printed
from edgeopt.studies.exhibits.drawing import curves
from edgeopt.studies.sweeps import Cell
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["SENSITIVITY"]

_KIND: Final = "lm"
_GPUS: Final = {gpus: f"{gpus} GPU{'s' if gpus > 1 else ''}" for gpus in range(1, LARGEST[1] + 1)}


def _work(gpus: int) -> Mapping[str, list[Any]]:
    seconds = read_tables(FOLDER).testbed[KINDS.index(_KIND), :, gpus - 1]
    return {"cpus": list(CORES), "seconds": [float(seconds[cores - 1]) for cores in CORES]}


def _cells(quick: bool) -> list[Cell]:
    del quick  # nothing is computed
    return [Cell({"task": _KIND, "gpus": gpus, "reading": __name__}, _work, (gpus,))
            for gpus in _GPUS]  # fmt: skip


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    found = table.explode(["cpus", "seconds"], ignore_index=True)
    return found[["gpus", "cpus", "seconds"]].astype({"cpus": int, "seconds": float})


def _at(rows: pd.DataFrame, cpus: int, gpus: int) -> float:
    own = rows[(rows["cpus"] == cpus) & (rows["gpus"] == gpus)]
    return float(own["seconds"].iloc[0])


def _draw(rows: pd.DataFrame) -> Figure:
    named = rows.assign(series=rows["gpus"].map(_GPUS))
    figure = curves(
        named, "cpus", {"seconds": "completion time (s)"}, xlabel="CPU cores",
        series="series", titles={title: title for title in _GPUS.values()}, logx=True,
    )  # fmt: skip
    [axes] = figure.axes
    axes.set_xticks([1, 2, 4, 8, 16])
    axes.set_ylim(bottom=0)
    return figure


def _flat(rows: pd.DataFrame) -> str:
    few, some, many = (_at(rows, cores, LARGEST[1]) for cores in (1, 8, 16))
    return (
        f"with {LARGEST[1]} GPUs {number(few, 3)} s with 1 core, {number(some, 3)} s with 8, "
        f"{number(many, 3)} s with 16"
    )


def _least(rows: pd.DataFrame) -> tuple[int, float]:
    """Return the number of GPUs that is best beside one core, and the seconds then."""
    times = {gpus: _at(rows, 1, gpus) for gpus in _GPUS}
    best = min(times, key=lambda gpus: times[gpus])
    return best, times[best]


def _rebound(rows: pd.DataFrame) -> str:
    best, seconds = _least(rows)
    bad = _at(rows, 1, LARGEST[1])
    return (
        f"{number(bad, 3)} s, {percent(bad / seconds - 1, 0)} more than with {_GPUS[best]}, "
        f"{number(seconds, 3)} s"
    )


def _notice(rows: pd.DataFrame) -> str:
    best, seconds = _least(rows)
    low: Any = rows.iloc[int(rows["seconds"].to_numpy().argmin())]
    return (
        f"One core with {LARGEST[1]} GPUs takes {number(_at(rows, 1, LARGEST[1]), 3)} s, with "
        f"{_GPUS[best]} {number(seconds, 3)} s; the fastest bundle, {int(low['cpus'])} cores and "
        f"{_GPUS[int(low['gpus'])]}, takes {number(float(low['seconds']), 3)} s"
    )


SENSITIVITY = Exhibit(
    kind="figure",
    number="2",
    title="completion time of a training of a language model, by CPU cores and GPUs",
    cells=_cells,
    rows=_rows,
    columns={"gpus": "GPUs", "cpus": "CPU cores", "seconds": "Seconds"},
    draw=_draw,
    notice=_notice,
    printed=[
        Printed(what="more CPU cores", value="first less time, then rather flat", ours=_flat),
        Printed(what="1 CPU core and 8 GPUs", value="the time rebounds", ours=_rebound),
    ],
    differs=[
        "The times are the authors' measurements on RTX 3090 GPUs, mean of two runs, in whole "
        "seconds at 11 numbers of CPU cores. Which of their runs the paper shows is not said."
    ],
)
