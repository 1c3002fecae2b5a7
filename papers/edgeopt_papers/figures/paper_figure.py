"""What a figure is: jobs to compute, rows to show, a picture, and published values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from string import ascii_lowercase
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from edgeopt.errors import OptionError
from edgeopt.representation import compact_repr
from edgeopt.studies.wording import percent
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.sweeps import Job
    from edgeopt_papers.releases import Release

AGREES: Final = "agrees"
DIFFERS: Final = "differs"
UNRESOLVED: Final = "not resolved"
NOT_COMPARABLE: Final = "not comparable"
NOT_JUDGED: Final = "not judged"
VERDICTS: Final = (AGREES, DIFFERS, UNRESOLVED, NOT_COMPARABLE, NOT_JUDGED)
"""What may be said of a published value beside the computed one."""

JUDGED: Final = VERDICTS[:3]
"""Those of values with a rule that applies."""

CLOSE: Final = 0.1
"""Relative distance within which most figures count a number as agreeing."""


@in_html
class Estimate(NamedTuple):
    """A value with the ends of its interval or range, NaN where there is none, and which it is.

    A comparison also says whether a difference is resolved.

    Attributes
    ----------
    value
        The value.
    low, high
        Ends of its interval or range.
    spread
        Which of them these are.
    finding
        Of a comparison, whether a difference is resolved.

    Examples
    --------
    >>> import pandas
    >>> from edgeopt_papers.figures import found
    >>> row = {"policy": "srs", "profit": 16.0, "profit_low": 15.0, "profit_high": 17.5}
    >>> estimate = found("profit", policy="srs")(pandas.DataFrame([row]))
    >>> estimate.value, estimate.low, estimate.high
    (16.0, 15.0, 17.5)
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    spread: str = ""
    finding: str = ""


@compact_repr
@dataclass(frozen=True)
class Published:
    """A value or statement of the paper, and how its counterpart is computed.

    Parameters
    ----------
    what
        What it is about, in a few words: ``"OINC, latency (s)"``.
    value
        The published value, or the statement in a few words.
    computed
        Maps the rows of the figure to the computed value, or to a finding in words.
    percent
        Whether the value is a share, shown as a percentage.
    why
        Why both may differ, beyond the caveats of the whole figure, or a reader of it.
    rule
        When both agree. A number says how far from the published one the computed one may be, as a
        share of it; a published number inside the interval of the computed one agrees too, and one
        inside the range of too few draws for an interval is not resolved. A predicate of the
        rows tells whether a statement is met, or None where the draws do not resolve it.
        ``NOT_COMPARABLE`` says that the computed value is one of something else. By default both
        are shown, and not judged.
    met
        What counts as met, in a few words, where the statement does not say it.
    setting
        The setting of the computed value, where a figure has several; the same statement has a
        line for each.
    apart
        A reader of why both differ and how far, asked only where they do.
    sized
        Whether the value depends on the size of the instances, so that a quick run, whose
        instances are small, does not judge it.

    Raises
    ------
    OptionError
        If a statement has the rule of a number.

    Examples
    --------
    >>> import pandas
    >>> from edgeopt_papers.figures import Published, found
    >>> square = found("square", number=3)
    >>> one = Published("3 squared", 9.0, square, rule=0.1)
    >>> for computed in (9.5, 12.0):
    ...     rows = pandas.DataFrame({"number": [3], "square": [computed]})
    ...     one.verdict(rows, square(rows), quick=False)
    ...
    'agrees'
    'differs'
    """

    what: str
    value: float | str
    computed: Callable[[pd.DataFrame], Estimate | float | str]
    percent: bool = False
    why: str | Callable[[pd.DataFrame], str] = ""
    rule: float | str | Callable[[pd.DataFrame], bool | None] | None = None
    met: str = ""
    setting: str = ""
    apart: Callable[[pd.DataFrame], str] | None = None
    sized: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.rule, int | float) and isinstance(self.value, str):
            raise OptionError(f"{self.what}: a statement needs a predicate as its rule")

    @property
    def counts(self) -> str:
        """What counts as agreement, in words."""
        if isinstance(self.rule, int | float):
            near = f"within {percent(self.rule, 0)}, or in the interval"
            return f"{near}; not resolved in the range of a few draws"
        return self.met

    def reason(self, rows: pd.DataFrame, verdict: str) -> str:
        """Return why both may differ, and where they do, how far they are apart."""
        said = [self.why(rows) if callable(self.why) else self.why]
        if self.apart is not None and verdict in (DIFFERS, UNRESOLVED):
            said.append(self.apart(rows))
        return " ".join(one for one in said if one)

    def verdict(self, rows: pd.DataFrame, found: Estimate | float | str, *, quick: bool) -> str:
        """Return the verdict on the value computed from the rows, one of `VERDICTS`."""
        if self.rule is None:
            return NOT_JUDGED
        if isinstance(self.rule, str) or (quick and self.sized):
            return NOT_COMPARABLE
        met = self.rule(rows) if callable(self.rule) else self._near(found)
        return UNRESOLVED if met is None else AGREES if met else DIFFERS

    def _near(self, found: Estimate | float | str) -> bool | None:
        """Tell whether a number is near the published one; None if only its range holds that."""
        estimate = found if isinstance(found, Estimate) else Estimate(float(found))
        value, tolerance = float(self.value), float(self.rule)  # type: ignore[arg-type]
        if abs(estimate.value - value) <= tolerance * abs(value):
            return True
        inside = estimate.low <= value <= estimate.high
        return None if inside and estimate.spread == "range" else inside


@compact_repr
@dataclass(frozen=True, kw_only=True)
class PaperFigure:
    """A figure or table of a paper's evaluation.

    Parameters
    ----------
    kind, number
        What the paper calls it: ``"figure"`` and ``"5"``, ``"table"`` and ``"I"``.
    title
        What it shows, in one line.
    jobs
        ``jobs(quick)`` lists the jobs; with `quick`, so few and small ones that they take
        seconds. None, if the figure shows a series.
    rows
        Maps the table of the jobs, or the series, to the rows of the page, such as means over
        seeds; see :func:`edgeopt_papers.figures.means`.
    columns
        Headings with units by the name of the column, in the order shown; an interval in
        ``NAME_low`` and ``NAME_high`` is shown with its column.
    draw
        ``draw(rows)`` returns a matplotlib figure without title.
    takeaway
        ``takeaway(rows)`` returns the main finding in a sentence, with numbers from the rows.
    published
        Values and statements of the paper.
    caveats
        Why computed values may differ: the settings that the paper leaves open, and those taken
        here. A page shows caveats that figures share only once. One may be a function of whether
        the run is quick: a page says how large its own instances are.
    percent
        Columns that are shares, shown as percentages.
    caption
        What the axes and marks mean; what bands and small print are over drawn instances is added.
    leads
        Whether a page begins with the main finding, before it counts what agrees.
    series
        A table that training made and that comes with the package, in place of jobs, or beside
        them: then `rows` is given the table of the jobs and this one.

    Raises
    ------
    OptionError
        If the number is empty, there are published values without caveats, or neither jobs nor a
        series.

    Examples
    --------
    >>> import pandas
    >>> from edgeopt_papers.figures import PaperFigure, Published, found, said
    >>> square = found("square", number=3)
    >>> figure = PaperFigure(
    ...     number="1", title="squares", jobs=lambda quick: [], rows=lambda table: table,
    ...     columns={"square": "Square"}, draw=lambda rows: None,
    ...     takeaway=said("3 squared is {x:3}", x=square),
    ...     published=[Published("3 squared", 9.0, square, rule=0.1)], caveats=["Rounded."],
    ... )
    >>> figure.heading, figure.takeaway(pandas.DataFrame({"number": [3], "square": [9.5]}))
    ('Figure 1', '3 squared is 9.50')
    """

    kind: Literal["figure", "table"] = "figure"
    number: str
    title: str
    jobs: Callable[[bool], Sequence[Job]] | None = None
    rows: Callable[..., pd.DataFrame]
    columns: Mapping[str, str]
    draw: Callable[[pd.DataFrame], Figure]
    takeaway: Callable[[pd.DataFrame], str]
    published: Sequence[Published] = ()
    caveats: Sequence[str | Callable[[bool], str]] = ()
    percent: Sequence[str] = ()
    caption: str = ""
    leads: bool = False
    series: Release | None = None

    def __post_init__(self) -> None:
        if not self.number:
            raise OptionError(f"figure {self.title!r}: needs its number in the paper")
        if self.jobs is None and self.series is None:
            raise OptionError(f"{self.heading}: needs jobs, or else a series")
        if self.published and not self.caveats:
            raise OptionError(
                f"{self.heading}: say why computed values may differ from published ones"
            )

    @property
    def name(self) -> str:
        """File name without suffix: ``"figure-5"``."""
        return f"{self.kind}-{self.number.lower()}"

    @property
    def heading(self) -> str:
        """Kind and number for people: ``"Figure 5"``."""
        return f"{self.kind.capitalize()} {self.number}"

    def caveats_of(self, quick: bool, trained: bool = False) -> tuple[str, ...]:
        """Return the caveats of a full or a quick run, which may have trained the series anew."""
        own = tuple(one if isinstance(one, str) else one(quick) for one in self.caveats)
        if self.series is None:
            return own
        return (*own, "The series was trained by this run." if trained else self.series.said)

    def listed(self, quick: bool) -> Sequence[Job]:
        """Return the jobs of a full or a quick run, none if the figure shows a series alone."""
        return () if self.jobs is None else self.jobs(quick)

    def is_called(self, kind: str, number: str) -> bool:
        """Tell whether a kind and a number as typed mean this one.

        Figure 5ab is meant by ``5ab``, by ``5``, and by one of its parts, ``5a``.
        """
        own, typed = self.number.lower(), number.lower()
        stem = own.rstrip(ascii_lowercase)
        if kind != self.kind or not typed.startswith(stem):
            return False
        parts = typed.removeprefix(stem)
        return own == typed or (stem.isdigit() and set(parts) <= set(own.removeprefix(stem)))
