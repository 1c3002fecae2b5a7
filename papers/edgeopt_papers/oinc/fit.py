"""The fit of the joint setting: for each choice of what is open, how many statements agree.

A candidate is a row of the table. Its instances have the seeds 900 to 909; the setting is shown on
others. Counted are the statements about Table I and Figures 4, 5, 8 and 9; Figures 6, 7, 10 and 11
have no part in the fit.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.sweeps import Store, compute_jobs, tabulate
from edgeopt_papers.figures.paper_figure import AGREES, Estimate
from edgeopt_papers.oinc.figures import PAPER_FIGURES
from edgeopt_papers.oinc.figures.setting import JOINT, Knobs
from edgeopt_papers.releases import Release

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd


FIRST: Final = 900
SEEDS: Final = 10

COUNTED: Final = ("I", "4", "5", "8", "9")
"""Tables and figures whose statements are counted."""

SUMS: Final = ("4", "8")
"""Those of them that show sums, which depend on where times begin to count."""

_FIGURES: Final = {one.number: one for one in PAPER_FIGURES if one.number in COUNTED}

LEAST: Final = tuple(product((0.0, 0.03, 0.05, 0.055, 0.06, 0.07, 0.13), (0.0, 90.0, 94.0)))
"""Latencies and completion times that are tried as the ones that count as 0, s."""

_MANY: Final = Knobs(
    slo=(0.24, 0.58), jobs=200, job_scale=0.04, duty=0.38, patience=(1.0, 2.0), lasting=True,
    share=0.4, largest=0.8,
)  # fmt: skip

CANDIDATES: Final = (
    Knobs(slo=(0.22, 0.57), lasting=True),
    _MANY,
    _MANY._replace(jobs=300, job_scale=0.03, duty=0.37),
    _MANY._replace(jobs=100, job_scale=0.06, duty=0.39),
    _MANY._replace(job_scale=0.05, share=0.45, largest=0.85),
    _MANY._replace(patience=(0.8, 1.6)),
    _MANY._replace(patience=(0.8, 1.6), duty=0.39),
)
"""What is tried: the calibrated setting with other objectives, and more that is open."""


def simulated(knobs: Knobs, folder: Path, seeds: int = SEEDS) -> dict[str, pd.DataFrame]:
    """Return the tables of the jobs of a candidate, by the number of the figure."""
    settings = {JOINT: knobs.setting(FIRST)}
    tables = {}
    for number, figure in _FIGURES.items():
        jobs = figure.jobs(False, settings=settings, draws=seeds)  # type: ignore[misc, call-arg]
        tables[number] = tabulate(jobs, compute_jobs(jobs, store=Store(folder), progress=False))
    return tables


def measured(knobs: Knobs, tables: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """Return the row of a candidate, with the best of the beginnings of the times."""
    same = _judged({one: tables[one] for one in COUNTED if one not in SUMS}, knobs)
    rows = []
    for least in LEAST:
        own = knobs._replace(least=least)
        found = [*same, *_judged({one: tables[one] for one in SUMS}, own)]
        rows.append(
            {
                "seeds": f"{FIRST}-{FIRST + SEEDS - 1}",
                **_flat(own),
                "statements": len(found),
                "agree": sum(verdict == AGREES for verdict, _ in found),
                "error": round(float(np.nanmean([away for _, away in found])), 6),
            }
        )
    return min(rows, key=lambda row: (-row["agree"], row["error"]))


def _judged(tables: Mapping[str, pd.DataFrame], knobs: Knobs) -> list[tuple[str, float]]:
    """Return of each statement the verdict, and how far a number is from the printed one."""
    found = []
    for number, table in tables.items():
        rows = _FIGURES[number].rows(table, settings={JOINT: knobs.setting(FIRST)})
        for line in _FIGURES[number].published:
            if line.setting == JOINT:
                value = line.computed(rows)
                away = np.nan
                if not isinstance(line.value, str):
                    one = value.value if isinstance(value, Estimate) else float(value)
                    away = abs(one / line.value - 1.0)
                found.append((line.verdict(rows, value, quick=False), away))
    return found


def _flat(knobs: Knobs) -> dict[str, Any]:
    """Return the columns of a candidate; a pair has two."""
    flat: dict[str, Any] = {}
    for name, value in knobs._asdict().items():
        if isinstance(value, tuple):
            flat |= {f"{name}_{place}": one for place, one in enumerate(value)}
        else:
            flat[name] = value
    return flat


def best(table: pd.DataFrame) -> Knobs:
    """Return the candidate for which most statements agree, of equal ones that of least error."""
    row = table.sort_values(["agree", "error"], ascending=[False, True], kind="stable").iloc[0]
    found: dict[str, Any] = {
        name: tuple(float(row[f"{name}_{place}"]) for place in range(2))
        if isinstance(value, tuple)
        else type(value)(row[name])
        for name, value in Knobs()._asdict().items()
    }
    return Knobs(**found)


def _made(folder: Path) -> pd.DataFrame:
    """Measure all candidates."""
    import pandas as pd

    return pd.DataFrame(
        [measured(one, simulated(one, folder / str(place))) for place, one in enumerate(CANDIDATES)]
    )


FIT: Final = Release(
    name="oinc-fit",
    path=Path(__file__).with_name("fit.csv"),
    command="make learners NAMES=oinc-fit",
    make=_made,
)
"""The table, from which `CHOSEN` follows."""
