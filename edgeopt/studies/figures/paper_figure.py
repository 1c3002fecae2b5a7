"""What a figure is: cells to compute, rows to show, a picture, and what the paper prints."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.sweeps import Cell

NOT_BUILT: Final = "not built yet: needs a learned policy"
"""Stands for our figure where the paper's is that of a learned policy."""

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


class Estimate(NamedTuple):
    """A figure with the ends of its interval, NaN where there is none."""

    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Published:
    """A figure or statement of the paper, and where ours is to be found.

    Parameters
    ----------
    what
        What it is about, in a few words: ``"OINC, latency (s)"``.
    value
        The printed figure, or the statement in a few words.
    computed
        Maps the rows of the figure to our figure or to what is found instead of the statement;
        None where that needs a learned policy, which is not built yet.
    percent
        Whether the figure is a share, shown as a percentage.
    why
        Why both may differ, beyond what holds for the whole figure.
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
        ``cells(quick)`` lists the cells; with `quick` so few and small ones that all of them take
        seconds.
    rows
        Maps the table of the cells to the rows that are shown and written, such as means over
        seeds; see :func:`edgeopt.studies.figures.means`.
    columns
        Headings with units by the name of the column, in the order shown; the interval that stands
        in ``NAME_low`` and ``NAME_high`` is shown with it.
    draw
        ``draw(rows)`` returns a matplotlib figure without title.
    takeaway
        ``takeaway(rows)`` says what to notice in the picture, computed from what is drawn.
    published
        What the paper prints, line by line.
    caveats
        Why ours may differ: the settings that the paper leaves open, and what is taken for them. A
        page says once what several figures share.
    percent
        Columns that are shares, shown as percentages.
    caption
        What the axes, bands and marks mean.

    Raises
    ------
    OptionError
        If the number is empty, or nothing says why figures may differ.
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
    caveats: Sequence[str] = ()
    percent: Sequence[str] = field(default=())
    caption: str = ""

    def __post_init__(self) -> None:
        if not self.number:
            raise OptionError(f"figure {self.title!r}: needs the number that the paper gives it")
        if self.published and not self.caveats:
            raise OptionError(f"{self.heading}: say why our figures may differ from printed ones")

    @property
    def name(self) -> str:
        """File name without suffix: ``"figure-5"``."""
        return f"{self.kind}-{self.number.lower()}"

    @property
    def heading(self) -> str:
        """Kind and number for people: ``"Figure 5"``."""
        return f"{self.kind.capitalize()} {self.number}"

    def is_called(self, kind: str, number: str) -> bool:
        """Tell whether a reader who asks for a number means this.

        Figure 5ab is meant by ``5ab``, by ``5``, and by one of its parts, ``5a``.

        Parameters
        ----------
        kind
            ``"figure"`` or ``"table"``.
        number
            As typed.
        """
        own, asked = self.number.lower(), number.lower()
        if kind != self.kind or own == asked:
            return kind == self.kind
        stem, wanted = own.rstrip(_LETTERS), asked.rstrip(_LETTERS)
        if not stem.isdigit() or stem != wanted:
            return False
        return set(asked.removeprefix(wanted)) <= set(own.removeprefix(stem))
