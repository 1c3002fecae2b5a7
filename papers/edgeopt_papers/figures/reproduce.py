"""Compute the figures of a paper; finished jobs of earlier runs are kept."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import edgeopt
from edgeopt.errors import OptionError
from edgeopt.representation import compact_repr
from edgeopt.studies.progress import at_work, progress_bar
from edgeopt.studies.registry import find_system
from edgeopt.studies.sweeps import Store, compute_jobs, tabulate
from edgeopt.studies.wording import listed, spreads_said
from edgeopt.writing import Folder
from edgeopt.writing.results import in_html
from edgeopt_papers import cases
from edgeopt_papers.figures.paper_figure import Estimate
from edgeopt_papers.figures.verdicts import in_a_sentence
from edgeopt_papers.releases import anew

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from edgeopt.studies.sweeps import Job
    from edgeopt.studies.system import System
    from edgeopt_papers.figures.paper_figure import PaperFigure
    from edgeopt_papers.releases import Release

_LINE = (
    "paper_figure", "what", "setting", "published", "computed", "low", "high", "spread", "finding",
    "percent", "verdict", "met", "why",
)  # fmt: skip


@in_html
@compact_repr
@dataclass(frozen=True, eq=False)
class Outcome:
    """A figure with its results.

    Parameters
    ----------
    paper_figure
        The figure.
    rows
        The rows that the page shows.
    jobs
        Number of jobs computed for it.
    quick
        Whether they are few and small.
    trained
        Whether this run trained the series that it shows.

    Examples
    --------
    >>> import pandas
    >>> from edgeopt_papers.figures import Outcome, PaperFigure, Published, found, said
    >>> square = found("square", number=3)
    >>> figure = PaperFigure(
    ...     number="1", title="squares", jobs=lambda quick: [], rows=lambda table: table,
    ...     columns={"square": "Square"}, draw=lambda rows: None,
    ...     takeaway=said("3 squared is {x:3}", x=square),
    ...     published=[Published("3 squared", 9.0, square, rule=0.1)], caveats=["Rounded."],
    ... )
    >>> rows = pandas.DataFrame({"number": [3], "square": [9.5]})
    >>> outcome = Outcome(figure, rows, jobs=0)
    >>> outcome.takeaway, outcome.lines[0]["verdict"]
    ('3 squared is 9.50', 'agrees')
    """

    paper_figure: PaperFigure
    rows: pd.DataFrame
    jobs: int
    quick: bool = False
    trained: bool = False

    @cached_property
    def caveats(self) -> tuple[str, ...]:
        """Why computed values may differ from published ones, in sentences."""
        return self.paper_figure.caveats_of(self.quick, self.trained)

    @cached_property
    def takeaway(self) -> str:
        """The main finding, in a sentence."""
        return self.paper_figure.takeaway(self.rows)

    @cached_property
    def caption(self) -> str:
        """What the picture and the small print beside the rows mean."""
        said = (self.paper_figure.caption, spreads_said(self.rows.to_dict("records")))
        return " ".join(one for one in said if one)

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """One mapping per published value, with its computed counterpart.

        Keys ``paper_figure, what, setting, published, computed, low, high, spread, finding,
        percent, verdict, met, why``; `computed` is a number or a statement; `spread` says what the
        ends are, `finding` whether a comparison is resolved; `met` is what counts as agreement;
        `why` is particular to the line.
        """
        lines = []
        for one in self.paper_figure.published:
            found: Any = one.computed(self.rows)
            estimate = found if isinstance(found, Estimate) else (found, nan, nan, "", "")
            verdict = one.verdict(self.rows, found, quick=self.quick)
            line = (
                self.paper_figure.name, one.what, one.setting, one.value, *estimate, one.percent,
                verdict, one.counts, one.reason(self.rows, verdict),
            )  # fmt: skip
            lines.append(dict(zip(_LINE, line, strict=True)))
        return lines


@in_html
@compact_repr
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
        Whether this was a quick run with few and small jobs.
    seconds
        Duration of this run; kept jobs cost nothing.
    version
        Of the package.

    Examples
    --------
    >>> import pandas
    >>> from edgeopt.studies import find_system
    >>> from edgeopt_papers.figures import Outcome, PaperFigure, Published, Reproduction
    >>> from edgeopt_papers.figures import found, said
    >>> square = found("square", number=3)
    >>> figure = PaperFigure(
    ...     number="1", title="squares", jobs=lambda quick: [], rows=lambda table: table,
    ...     columns={"square": "Square"}, draw=lambda rows: None,
    ...     takeaway=said("3 squared is {x:3}", x=square),
    ...     published=[Published("3 squared", 9.0, square, rule=0.1)], caveats=["Rounded."],
    ... )
    >>> rows = pandas.DataFrame({"number": [3], "square": [9.5]})
    >>> outcome = Outcome(figure, rows, jobs=0)
    >>> found = Reproduction(find_system("rescue"), (outcome,), quick=True, seconds=0.1)
    >>> found.lines[["what", "published", "computed", "verdict"]]
            what  published  computed verdict
    0  3 squared        9.0       9.5  agrees
    """

    system: System
    outcomes: tuple[Outcome, ...]
    quick: bool
    seconds: float
    version: str = edgeopt.__version__

    @property
    def lines(self) -> pd.DataFrame:
        """The lines of all outcomes; `why` is what holds for a line alone, see `caveats`."""
        import pandas as pd

        lines = [line for outcome in self.outcomes for line in outcome.lines]
        return pd.DataFrame(lines, columns=list(_LINE))

    @property
    def caveats(self) -> pd.DataFrame:
        """What holds for all lines of a figure, one caveat of one figure per row."""
        import pandas as pd

        rows = [
            (outcome.paper_figure.name, caveat)
            for outcome in self.outcomes
            for caveat in outcome.caveats
        ]
        return pd.DataFrame(rows, columns=["paper_figure", "caveat"])

    @cached_property
    def verdict(self) -> str:
        """How many published values and statements agree with the computed ones, in a sentence."""
        lines = [line for outcome in self.outcomes for line in outcome.lines]
        return in_a_sentence(lines, quick=self.quick)

    @cached_property
    def shared(self) -> dict[str, str]:
        """The caveats of more than one figure, and in words the figures that share each."""
        every = self.outcomes
        shared: dict[str, str] = {}
        for caveat in dict.fromkeys(caveat for one in every for caveat in one.caveats):
            meant = [one.paper_figure.heading for one in every if caveat in one.caveats]
            others = [one.paper_figure.heading for one in every if caveat not in one.caveats]
            if len(meant) > 1:
                but = f"all but {listed(others)}" if others else "all"
                shared[caveat] = listed(meant) if len(meant) <= len(others) else but
        return shared

    def page(self, out: str | Path, *, force: bool = False) -> Path:
        """Write a page, and the picture and rows of every figure.

        Parameters
        ----------
        out
            Directory to write to; it is made if it does not exist.
        force
            Whether to write to a directory that is not empty and that no reproduction has made;
            files of the same names are replaced, others left alone.

        Returns
        -------
        Path
            The page, ``index.html``. The directory also gets ``NAME.svg`` and ``NAME.csv`` per
            figure, ``published.csv``, ``caveats.csv`` and ``reproduction.json``.

        Raises
        ------
        OutputError
            If the directory is not empty and not a reproduction's, or cannot be written to.
        """
        from edgeopt_papers.figures.report import write

        return write(self, out, force=force)


def reproduce(
    system: System | str,
    *,
    figure: str | Sequence[str] | None = None,
    table: str | Sequence[str] | None = None,
    out: str | Path | None = None,
    force: bool = False,
    quick: bool = False,
    workers: int = 1,
    cluster: str | None = None,
    progress: bool | None = None,
    train: bool = False,
    figures: Sequence[PaperFigure] | None = None,
) -> Reproduction:
    """Reproduce the figures and tables of the evaluation in a system's paper.

    Parameters
    ----------
    system
        The system, or its name.
    figure, table
        Number of the one to reproduce, or several; by default all.
    out
        Directory for page, pictures and tables. Finished jobs are kept in its folder ``jobs``:
        an interrupted run resumes where it stopped.
    force
        Whether to write to a directory that is not empty and that no reproduction has made.
    quick
        Whether to take few and small jobs, for a quick run.
    workers
        Processes on this machine; -1 takes all cores.
    cluster
        Address of the scheduler of a Dask cluster, which computes instead.
    progress
        Whether to show a progress bar; by default only when standard error is a terminal.
    train
        Whether to train anew, at full length, the series that figures show, into the folder
        ``trained`` of `out`; by default those that come with the package are shown.
    figures
        Those of the paper, by default what an installed package has of them.

    Returns
    -------
    Reproduction
        The figures with their rows, and how they compare with what is published.

    Raises
    ------
    OptionError
        If an option is out of range, or the system has no such figure; with `train`, if there is no
        `out`, no figure shows a trained series, or `cluster` is given.
    OutputError
        If the directory is not empty and not a reproduction's, or cannot be written to.
    MissingDependencyError
        If `cluster` is given and the extra ``cluster`` is not installed, or `train` and the extra
        ``rl`` is not.

    Examples
    --------
    >>> from edgeopt_papers.figures import reproduce
    >>> found = reproduce("oinc", table="I", quick=True)
    >>> [outcome.paper_figure.heading for outcome in found.outcomes]
    ['Table I']
    """
    began = time.perf_counter()
    record = find_system(system) if isinstance(system, str) else system
    known = cases.checked(record.name, cases.figures(record.name) if figures is None else figures)
    paper_figures = _chosen(record, known, figure, table)
    wanted = _trainable(record, known, paper_figures, out, cluster) if train else {}
    store = None
    if out is not None:
        Folder(out, "reproduce", force=force).begin()
        store = Store(Path(out) / "jobs", force=force)
    paths: dict[str, Path] = {}
    if out is not None and wanted:
        with progress_bar(len(wanted), show=progress) as step:
            paths = anew(wanted.values(), Path(out) / "trained", workers=workers, step=step)
    jobs = [paper_figure.listed(quick) for paper_figure in paper_figures]
    computed = compute_jobs(
        (job for listed in jobs for job in listed),
        store=store,
        workers=workers,
        cluster=cluster,
        progress=progress,
    )
    with at_work("tables and pictures", show=progress):
        outcomes = tuple(
            Outcome(
                paper_figure,
                paper_figure.rows(*_tables(paper_figure, listed, computed, paths)),
                len(listed),
                quick,
                bool(wanted),
            )
            for paper_figure, listed in zip(paper_figures, jobs, strict=True)
        )
        found = Reproduction(record, outcomes, quick, time.perf_counter() - began)
        if out is not None:
            found.page(out, force=force)
    return found


def _tables(
    one: PaperFigure,
    listed: Sequence[Job],
    computed: Mapping[str, Any],
    paths: Mapping[str, Path],
) -> list[pd.DataFrame]:
    """Return what rows are made of: the table of the jobs, the series, or both in this order."""
    tables = [] if one.jobs is None else [tabulate(listed, computed)]
    if one.series is not None:
        tables.append(one.series.read(paths.get(one.series.name)).table)
    return tables


def _trainable(
    record: System,
    known: Sequence[PaperFigure],
    chosen: Sequence[PaperFigure],
    out: str | Path | None,
    cluster: str | None,
) -> dict[str, Release]:
    """Return the series of figures by name, if they can be trained here."""
    if out is None:
        raise OptionError("--train: needs --out, where to keep what is trained")
    if cluster is not None:
        raise OptionError("--train and --cluster cannot be used together; it trains here")
    found = {one.series.name: one.series for one in chosen if one.series is not None}
    if not found:
        those = [one.heading for one in known if one.series is not None]
        others = f"these do: {', '.join(those)}" if those else f"none of {record.name} does"
        raise OptionError(f"--train: no figure chosen shows a series that was trained; {others}")
    import_module("edgeopt.learning.networks")  # says what to install if there is no PyTorch
    return found


def _chosen(
    record: System,
    known: Sequence[PaperFigure],
    figure: str | Sequence[str] | None,
    table: str | Sequence[str] | None,
) -> Sequence[PaperFigure]:
    if not known:
        raise OptionError(f"system {record.name!r} has no figures or tables to reproduce")
    numbers = {"figure": figure, "table": table}
    wanted = []
    for kind, given in numbers.items():
        several = [given] if isinstance(given, str) else given
        if several is not None and not several:
            raise OptionError(f"{kind}: must not be empty; leave it out to reproduce all")
        wanted += [(kind, number) for number in several or ()]
    for kind, number in wanted:
        if not any(one.is_called(kind, number) for one in known):
            listing = ", ".join(one.heading for one in known)
            raise OptionError(
                f"{record.name} has no {kind} {number!r} to reproduce; choose from {listing}"
            )
    return [
        one
        for one in known
        if not wanted or any(one.is_called(kind, number) for kind, number in wanted)
    ]
