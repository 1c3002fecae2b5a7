"""From the table of the cells to the rows of a figure, and from these to figures and sentences.

A reader maps the rows of a figure to a figure or to a few words. Where a reader asks for values
of columns that single out rows, a function such as ``max`` takes the value that it returns for the
column: ``slot=max`` is the last slot.
"""

from __future__ import annotations

from string import Formatter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.studies.figures.paper_figure import Estimate
from edgeopt.studies.over_instances import mean_columns
from edgeopt.studies.wording import interval, listed, number, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

Sense = Literal["max", "min"]

_EQUAL = 1e-12
"""Difference up to which two figures are a tie."""


def means(
    table: pd.DataFrame,
    metrics: Sequence[str],
    by: Sequence[str],
    *,
    shares: Sequence[str] = (),
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Average measures over the cells that agree in some columns, such as those of all seeds.

    Parameters
    ----------
    table
        Table of the cells.
    metrics
        Columns to average.
    by
        Columns that stay, such as the swept ones and ``policy``.
    shares
        Measures that lie in [0, 1]; so do the ends of their intervals.
    confidence
        Of the intervals, which speak about the draw of the instances.

    Returns
    -------
    pandas.DataFrame
        One row per combination in order of appearance: `by`, ``instances``, and for each measure
        NAME, NAME_low and NAME_high; these ends are NaN where there is one cell only, or where a
        value is not finite.
    """
    import pandas as pd

    rows = []
    for key, group in table.groupby(list(by), sort=False, dropna=False):
        row: dict[str, Any] = dict(zip(by, key, strict=True))
        row["instances"] = len(group)
        for name in metrics:
            row |= mean_columns(
                name, group[name].to_numpy(dtype=float), confidence, share=name in shares
            )
        rows.append(row)
    return pd.DataFrame(rows)


def unrolled(
    table: pd.DataFrame,
    lists: Sequence[str],
    step: str | Sequence[str] = "",
    keep: Sequence[str] = (),
    *,
    first: int = 0,
) -> pd.DataFrame:
    """Make one row out of each entry of the lists in a table.

    The column `step` numbers the entries from `first` on. With several names, lists are nested, a
    name per level, empty where a level is not numbered; a column without lists is repeated.
    """
    long = table[[*keep, *lists]]
    for level, name in enumerate([step] if isinstance(step, str) else step):
        nested = [one for one in lists if level == 0 or isinstance(long[one].iloc[0], list)]
        long = long.explode(nested)
        if name:
            long.insert(len(keep), name, first + long.groupby(level=0).cumcount())
            keep = [*keep, name]
        long = long.reset_index(drop=True)
    return long.infer_objects()


def where(rows: pd.DataFrame, **at: Any) -> pd.DataFrame:
    """Return the rows with given values of some columns."""
    for name, value in at.items():
        rows = rows[rows[name] == (value(rows[name]) if callable(value) else value)]
    return rows


def found(metric: str, **at: Any) -> Callable[[pd.DataFrame], Estimate]:
    """Return what reads one figure, with its interval, from the rows of a figure.

    Parameters
    ----------
    metric
        Column.
    **at
        Values of other columns that single out the row, such as ``policy="oinc"``, or functions of
        the column, such as ``slot=max``.
    """

    def read(rows: pd.DataFrame) -> Estimate:
        chosen = where(rows, **at)
        if len(chosen) != 1:
            raise OptionError(f"{len(chosen)} rows of the figure have {at}; one is asked for")
        row = chosen.iloc[0]
        low, high = row.get(f"{metric}_low", np.nan), row.get(f"{metric}_high", np.nan)
        return Estimate(float(row[metric]), float(low), float(high))

    return read


def lead(metric: str, policy: str, other: str, **at: Any) -> Callable[[pd.DataFrame], float]:
    """Return what reads by how much a policy's figure lies above another's, as a share of that.

    Parameters
    ----------
    metric
        Column.
    policy, other
        Values of the column ``policy``.
    **at
        Values of other columns that single out both rows, as in :func:`found`.
    """

    def read(rows: pd.DataFrame) -> float:
        mine, theirs = (found(metric, **at, policy=one)(rows).value for one in (policy, other))
        return mine / theirs - 1.0

    return read


def below(metric: str, policy: str, other: str, **at: Any) -> Callable[[pd.DataFrame], float]:
    """Return what reads by how much a policy's figure lies below another's, as a share of that."""
    above = lead(metric, policy, other, **at)
    return lambda rows: -above(rows)


def overall(how: str, metric: str, **at: Any) -> Callable[[pd.DataFrame], float]:
    """Return what reads the ``min``, ``max``, ``mean`` or ``sum`` of a column over chosen rows."""
    return lambda rows: float(getattr(where(rows, **at)[metric].astype(float), how)())


def span(
    metric: str, *, share: bool = False, digits: int = 3, **at: Any
) -> Callable[[pd.DataFrame], str]:
    """Return what writes between which figures a column lies, or the one that it comes to."""

    def read(rows: pd.DataFrame) -> str:
        own = where(rows, **at)[metric].astype(float)
        ends = [percent(end) if share else number(end, digits) for end in (own.min(), own.max())]
        both = interval(float(own.min()), float(own.max()), share=share, digits=digits)
        return ends[0] if ends[0] == ends[1] else both

    return read


def by(metric: str, key: str = "policy", **at: Any) -> Callable[[pd.DataFrame], dict[Any, float]]:
    """Return what reads a measure of each policy, or of each value of another column."""

    def read(rows: pd.DataFrame) -> dict[Any, float]:
        chosen = where(rows, **at)
        return dict(zip(chosen[key], chosen[metric].astype(float), strict=True))

    return read


def beside(
    metric: str,
    own: str,
    titles: Mapping[str, str],
    ways: Mapping[str, Callable[[float, float], bool]],
    **at: Any,
) -> Callable[[pd.DataFrame], str]:
    """Return what says whom a policy is above and below.

    `ways` maps words, such as ``"below"``, to the comparison of another's figure with its own that
    they stand for, such as `operator.gt`.
    """

    def read(rows: pd.DataFrame) -> str:
        figures = by(metric, **at)(rows)
        others = [name for name in titles if name != own and name in figures]
        words = []
        for way, holds in ways.items():
            names = [titles[name] for name in others if holds(figures[name], figures[own])]
            words += [f"{way} {listed(names)}"] if names else []
        return "; ".join(words) or f"{next(iter(ways))} none"

    return read


class Named(float):
    """A figure that knows whose it is."""

    titles: tuple[str, ...] = ()

    @classmethod
    def of(cls, value: float, *titles: str) -> Named:
        """Return the figure of somebody, or of several."""
        named = cls(value)
        named.titles = titles
        return named

    @property
    def title(self) -> str:
        """Whose it is, in words."""
        return listed(list(self.titles))


def extreme(
    sense: Sense, metric: str, titles: Mapping[Any, str], key: str = "policy", **at: Any
) -> Callable[[pd.DataFrame], Named]:
    """Return what reads the largest or least figure of those named, and whose it is."""

    def read(rows: pd.DataFrame) -> Named:
        figures = by(metric, key, **at)(rows)
        own = {name: figures[name] for name in titles if name in figures}
        best = max(own.values()) if sense == "max" else min(own.values())
        return Named.of(best, *(titles[name] for name in own if own[name] == best))

    return read


def _wide(rows: pd.DataFrame, column: str, metric: str) -> pd.DataFrame:
    return rows.pivot(index=column, columns="policy", values=metric).sort_index()


def _sign(sense: Sense) -> float:
    return 1.0 if sense == "max" else -1.0


def ahead(
    column: str, metric: str, sense: Sense, own: str
) -> Callable[[pd.DataFrame], tuple[int, int]]:
    """Return what counts places of a sweep at which a policy is best, ties included, and all."""

    def read(rows: pd.DataFrame) -> tuple[int, int]:
        table = _wide(rows, column, metric)
        gains = _sign(sense) * table.drop(columns=own).rsub(table[own], axis=0)
        return int((gains >= -_EQUAL).all(axis=1).sum()), len(table)

    return read


def largest(column: str, metric: str, sense: Sense, own: str) -> Callable[[pd.DataFrame], float]:
    """Return what reads the largest gain of a policy on another one, as a share of that one."""

    def read(rows: pd.DataFrame) -> float:
        table = _wide(rows, column, metric)
        gains = _sign(sense) * (table.drop(columns=own).rdiv(table[own], axis=0) - 1.0)
        return float(gains.to_numpy(dtype=float).max())

    return read


def trend(column: str, metric: str, titles: Mapping[str, str]) -> Callable[[pd.DataFrame], str]:
    """Return what says with which policies a measure rises or falls from place to place."""

    def read(rows: pd.DataFrame) -> str:
        kinds: dict[str, list[str]] = {}
        for policy, title in titles.items():
            own = where(rows, policy=policy).sort_values(column)[metric].diff().dropna()
            rises, falls = bool((own >= -_EQUAL).all()), bool((own <= _EQUAL).all())
            kind = "stays" if rises and falls else "rises" if rises else "falls" if falls else ""
            kinds.setdefault(kind or "goes up and down", []).append(title)
        return "; ".join(f"{kind} with {listed(those)}" for kind, those in kinds.items())

    return read


def monotone(
    sense: Literal["rises", "falls"], column: str, metric: str, **at: Any
) -> Callable[[pd.DataFrame], str]:
    """Return what says whether a measure rises or falls over a column, and between which ends."""

    def read(rows: pd.DataFrame) -> str:
        own = where(rows, **at).sort_values(column)[metric]
        fine = own.is_monotonic_increasing if sense == "rises" else own.is_monotonic_decreasing
        return f"{'yes' if fine else 'no'}: {number(own.min(), 3)} to {number(own.max(), 3)}"

    return read


def needed(
    column: str, metric: str, sense: Sense, own: str, titles: Mapping[str, str]
) -> Callable[[pd.DataFrame], str]:
    """Return what says from which place on others do as well as a policy at the first one."""

    def read(rows: pd.DataFrame) -> str:
        table = _wide(rows, column, metric)
        words = []
        for policy, title in titles.items():
            if policy != own:
                gains = _sign(sense) * (table[policy] - table[own].iloc[0])
                enough = table.index[gains >= -_EQUAL]
                least = f"{enough[0]}" if len(enough) else f"more than {table.index[-1]}"
                words.append(f"{title} with {least}")
        return f"as {titles[own]} with {table.index[0]}: {listed(words)}"

    return read


class _Pattern(Formatter):
    """Fills numbers in as people read them."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, str):
            return value
        value = value.value if isinstance(value, Estimate) else value
        if format_spec.endswith("%"):
            return percent(float(value), int(format_spec[:-1] or 1))
        if format_spec.isdigit():
            return number(float(value), int(format_spec))
        return format(value, format_spec)


_PATTERN = _Pattern()


def said(pattern: str, **readers: Any) -> Callable[[pd.DataFrame], str]:
    """Return what fills the figures of readers into a pattern.

    Parameters
    ----------
    pattern
        A format string. ``{x:3}`` writes a number with three significant digits, ``{x:%}`` a share
        as a percentage with one decimal, ``{x:0%}`` with none; else Python's own rules hold.
        ``{x[oinc]:3}`` takes an entry of :func:`by`, ``{x.title}`` the title of :func:`extreme`.
    **readers
        Readers of the rows, or values that stay the same, by name.
    """

    def write(rows: pd.DataFrame) -> str:
        values = {name: one(rows) if callable(one) else one for name, one in readers.items()}
        return _PATTERN.vformat(pattern, (), values)

    return write
