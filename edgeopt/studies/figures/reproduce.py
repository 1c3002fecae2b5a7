"""Compute figures of a paper, as far as they are not kept from an earlier run."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import edgeopt
from edgeopt.errors import OptionError
from edgeopt.studies.figures.paper_figure import NOT_BUILT, Estimate
from edgeopt.studies.registry import find_system
from edgeopt.studies.sweeps import Store, compute_cells, tabulate
from edgeopt.studies.wording import listed
from edgeopt.writing import Folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from edgeopt.studies.figures.paper_figure import PaperFigure, Published
    from edgeopt.studies.system import System

_LINE = ("paper_figure", "what", "published", "computed", "low", "high", "percent", "why")


@dataclass(frozen=True, eq=False)
class Outcome:
    """A figure with what its cells came to.

    Parameters
    ----------
    paper_figure
        The figure.
    rows
        What is shown and written.
    cells
        Number of cells behind it.
    """

    paper_figure: PaperFigure
    rows: pd.DataFrame
    cells: int

    @cached_property
    def takeaway(self) -> str:
        """What to notice in the picture."""
        return self.paper_figure.takeaway(self.rows)

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """Printed, ours, and why they may differ: one mapping per printed line.

        Keys ``paper_figure, what, published, computed, low, high, percent, why``; `computed` is a
        number, a statement, or that it is not built yet; `why` is what the line says beyond its
        figure.
        """
        return [self._line(published) for published in self.paper_figure.published]

    def _line(self, published: Published) -> dict[str, Any]:
        computed: Any = NOT_BUILT if published.computed is None else published.computed(self.rows)
        low = high = math.nan
        if isinstance(computed, Estimate):
            computed, low, high = computed
        about = self.paper_figure.name, published.what, published.value
        return dict(
            zip(_LINE, (*about, computed, low, high, published.percent, published.why), strict=True)
        )


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Figures of a system, reproduced.

    Parameters
    ----------
    system
        The record of the system.
    outcomes
        One per figure.
    quick
        Whether few and small cells were taken.
    seconds
        What this run took; kept cells cost nothing.
    version
        Of the package.
    """

    system: System
    outcomes: tuple[Outcome, ...]
    quick: bool
    seconds: float
    version: str = edgeopt.__version__

    @property
    def lines(self) -> pd.DataFrame:
        """The lines of all outcomes; `why` says what holds for a whole figure in every line."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    **line,
                    "why": " ".join(filter(None, (line["why"], *outcome.paper_figure.caveats))),
                }
                for outcome in self.outcomes
                for line in outcome.lines
            ],
            columns=list(_LINE),
        )

    @cached_property
    def shared(self) -> dict[str, str]:
        """Why several figures may differ, each reason once, and for which it holds."""
        every = [outcome.paper_figure for outcome in self.outcomes]
        reasons: dict[str, str] = {}
        for sentence in dict.fromkeys(
            one for paper_figure in every for one in paper_figure.caveats
        ):
            meant = [one.heading for one in every if sentence in one.caveats]
            others = [one.heading for one in every if sentence not in one.caveats]
            if len(meant) > 1:
                but = f"all but {listed(others)}" if others else "all"
                reasons[sentence] = listed(meant) if len(meant) <= len(others) else but
        return reasons

    def page(self, out: str | Path, *, force: bool = False) -> Path:
        """Write a page, and of every figure its picture and rows.

        Parameters
        ----------
        out
            Directory to write to; it is made if it does not exist.
        force
            Whether to write to one that is not empty and that no reproduction has made; files of
            the same names are replaced, others left alone.

        Returns
        -------
        Path
            The page, ``index.html``. Beside it stand ``NAME.svg`` and ``NAME.csv`` per figure,
            ``published.csv`` and ``reproduction.json``.

        Raises
        ------
        OutputError
            If the directory is another's, or cannot be written to.
        """
        from edgeopt.studies.figures.report import write

        return write(self, out, force=force)


def reproduce(
    system: System | str,
    *,
    figure: str | None = None,
    table: str | None = None,
    out: str | Path | None = None,
    force: bool = False,
    quick: bool = False,
    workers: int = 1,
    cluster: str | None = None,
    progress: bool | None = None,
) -> Reproduction:
    """Reproduce the figures and tables of the evaluation in a system's paper.

    Parameters
    ----------
    system
        The system, or its name.
    figure, table
        Number of the one to reproduce; by default all.
    out
        Directory for page, pictures and tables. Finished cells are kept in its folder ``cells``,
        so that a run that was interrupted goes on where it stopped.
    force
        Whether to write to a directory that is not empty and that no reproduction has made.
    quick
        Few and small cells, for a first look.
    workers
        Processes on this machine; -1 takes all cores.
    cluster
        Address of the scheduler of a Dask cluster, which computes instead.
    progress
        Whether to show a progress bar; by default only when standard error is a terminal.

    Raises
    ------
    OptionError
        If an option is out of range, or the system has no such figure.
    OutputError
        If the directory is another's, or cannot be written to.
    MissingDependencyError
        If a cluster is asked for and the extra ``cluster`` is not installed.

    Examples
    --------
    >>> from edgeopt.studies.figures import reproduce
    >>> found = reproduce("oinc", table="I", quick=True)
    >>> [outcome.paper_figure.heading for outcome in found.outcomes]
    ['Table I']
    """
    began = time.perf_counter()
    record = find_system(system) if isinstance(system, str) else system
    paper_figures = _chosen(record, figure, table)
    store = None
    if out is not None:
        Folder(out, "reproduce", force=force).begin()
        store = Store(Path(out) / "cells", force=force)
    cells = [paper_figure.cells(quick) for paper_figure in paper_figures]
    computed = compute_cells(
        (cell for listed in cells for cell in listed),
        store=store,
        workers=workers,
        cluster=cluster,
        progress=progress,
    )
    outcomes = tuple(
        Outcome(paper_figure, paper_figure.rows(tabulate(listed, computed)), len(listed))
        for paper_figure, listed in zip(paper_figures, cells, strict=True)
    )
    found = Reproduction(record, outcomes, quick, time.perf_counter() - began)
    if out is not None:
        found.page(out, force=force)
    return found


def _chosen(record: System, figure: str | None, table: str | None) -> Sequence[PaperFigure]:
    if not record.figures:
        raise OptionError(f"system {record.name!r} has no figures or tables to reproduce")
    if figure is None and table is None:
        return record.figures
    chosen = [
        paper_figure
        for paper_figure in record.figures
        for kind, number in (("figure", figure), ("table", table))
        if number is not None and paper_figure.is_called(kind, number)
    ]
    for kind, number in (("figure", figure), ("table", table)):
        if number is not None and not any(one.is_called(kind, number) for one in chosen):
            known = ", ".join(paper_figure.heading for paper_figure in record.figures)
            raise OptionError(
                f"{record.name} has no {kind} {number!r} to reproduce; choose from {known}"
            )
    return chosen
