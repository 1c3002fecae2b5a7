"""What a figure is: cells to compute, rows to show, a picture, and published values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from string import ascii_lowercase
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.sweeps import Cell

NOT_BUILT: Final = "not built yet: needs a learned policy"
"""Stands for the computed value where the published one is that of a learned policy."""


class Estimate(NamedTuple):
    """A value with the ends of its interval or range, NaN where there is none, and which it is.

    A comparison also says whether a difference is resolved.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    spread: str = ""
    finding: str = ""


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
        Maps the rows of the figure to the computed value, or to a finding in words; None where
        that needs a learned policy, which is not built yet.
    percent
        Whether the value is a share, shown as a percentage.
    why
        Why both may differ, beyond the caveats of the whole figure.
    """

    what: str
    value: float | str
    computed: Callable[[pd.DataFrame], Estimate | float | str] | None
    percent: bool = False
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class PaperFigure:
    """A figure or table of a paper's evaluation.

    Parameters
    ----------
    kind, number
        What the paper calls it: ``"figure"`` and ``"5"``, ``"table"`` and ``"I"``.
    title
        What it shows, in one line.
    cells
        ``cells(quick)`` lists the cells; with `quick`, so few and small ones that they take
        seconds.
    rows
        Maps the table of the cells to the rows of the page, such as means over seeds; see
        :func:`edgeopt.studies.figures.means`.
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

    Raises
    ------
    OptionError
        If the number is empty, or there are published values without caveats.
    """

    kind: Literal["figure", "table"] = "figure"
    number: str
    title: str
    cells: Callable[[bool], Sequence[Cell]]
    rows: Callable[[pd.DataFrame], pd.DataFrame]
    columns: Mapping[str, str]
    draw: Callable[[pd.DataFrame], Figure]
    takeaway: Callable[[pd.DataFrame], str]
    published: Sequence[Published] = ()
    caveats: Sequence[str | Callable[[bool], str]] = ()
    percent: Sequence[str] = ()
    caption: str = ""

    def __post_init__(self) -> None:
        if not self.number:
            raise OptionError(f"figure {self.title!r}: needs its number in the paper")
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

    def caveats_of(self, quick: bool) -> tuple[str, ...]:
        """Return the caveats of a full or a quick run, in words."""
        return tuple(one if isinstance(one, str) else one(quick) for one in self.caveats)

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
