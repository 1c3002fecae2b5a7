"""From the table of the jobs to the rows of a figure, and from rows to values and sentences.

A reader is a function that maps rows to a value or to words; most functions here return one. They
select rows by values of columns, ``policy="oinc"``, or by functions of them: ``slot=max`` is the
last slot.
"""

from __future__ import annotations

from string import Formatter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.studies.comparison import mean_columns
from edgeopt.studies.wording import interval, listed, number, percent
from edgeopt_papers.figures.paper_figure import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

Sense = Literal["max", "min"]

_EQUAL = 1e-12
"""Two values that differ by no more are equal."""


def means(
    table: pd.DataFrame,
    metrics: Sequence[str],
    by: Sequence[str],
    *,
    shares: Sequence[str] = (),
    timings: Sequence[str] = (),
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Summarise metrics over the jobs that agree in some columns, such as those of all seeds.

    Parameters
    ----------
    table
        Table of the jobs.
    metrics
        Columns to summarise, by their arithmetic means, but for the following.
    by
        Columns that stay, such as the swept ones and ``policy``.
    shares
        Metrics in [0, 1].
    timings
        Metrics that are measured times.
    confidence
        Of the intervals over the draw of the instances.

    Returns
    -------
    pandas.DataFrame
        One row per combination in order of appearance: `by`, ``instances``, and for each metric
        NAME, NAME_low, NAME_high and NAME_spread, the kind of the ends, which are NaN where there
        is only one job, all are equal, or a value is not finite; of few jobs also NAME_each.

    Examples
    --------
    >>> import pandas
    >>> from edgeopt_papers.figures import means
    >>> jobs = pandas.DataFrame({"policy": ["srs"] * 4, "profit": [15.0, 17.0, 16.0, 16.0]})
    >>> means(jobs, ["profit"], ["policy"])[["policy", "instances", "profit"]]
      policy  instances  profit
    0    srs          4    16.0
    """
    import pandas as pd

    rows = []
    for key, group in table.groupby(list(by), sort=False, dropna=False):
        row: dict[str, Any] = {**dict(zip(by, key, strict=True)), "instances": len(group)}
        for name in metrics:
            series = group[name].to_numpy(dtype=float)
            row |= mean_columns(
                name,
                series,
                confidence,
                share=name in shares,
                timing=name in timings,
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
    """Return a reader of one value with its interval or range.

    Parameters
    ----------
    metric
        Column.
    **at
        Values of other columns that select the row, such as ``policy="oinc"``, or functions of
        the column, such as ``slot=max``.

    Returns
    -------
    A function of the rows of a figure.

    Examples
    --------
    >>> import pandas
    >>> from edgeopt_papers.figures import found
    >>> rows = pandas.DataFrame({"policy": ["rescue", "srs"], "profit": [20.0, 16.0]})
    >>> found("profit", policy="srs")(rows).value
    16.0
    """

    def read(rows: pd.DataFrame) -> Estimate:
        chosen = where(rows, **at)
        if len(chosen) != 1:
            raise OptionError(f"{len(chosen)} rows of the figure have {at}; one is needed")
        row = chosen.iloc[0]
        low, high = row.get(f"{metric}_low", np.nan), row.get(f"{metric}_high", np.nan)
        kind = str(row.get(f"{metric}_spread", ""))
        return Estimate(float(row[metric]), float(low), float(high), kind)

    return read


def lead(metric: str, policy: str, other: str, **at: Any) -> Callable[[pd.DataFrame], float]:
    """Return a reader of how far a policy is above another, as a share of the other's value.

    Parameters
    ----------
    metric
        Column.
    policy, other
        Values of the column ``policy``.
    **at
        Values of other columns that select both rows, as in :func:`found`.

    Returns
    -------
    A function of the rows of a figure.

    Examples
    --------
    >>> import pandas
    >>> from edgeopt_papers.figures import lead
    >>> rows = pandas.DataFrame({"policy": ["rescue", "srs"], "profit": [20.0, 16.0]})
    >>> lead("profit", "rescue", "srs")(rows)
    0.25
    """

    def read(rows: pd.DataFrame) -> float:
        mine, theirs = (found(metric, **at, policy=one)(rows).value for one in (policy, other))
        return mine / theirs - 1.0

    return read


def below(metric: str, policy: str, other: str, **at: Any) -> Callable[[pd.DataFrame], float]:
    """Return a reader of how far a policy is below another, as a share of the other's value."""
    above = lead(metric, policy, other, **at)
    return lambda rows: -above(rows)


def overall(how: str, metric: str, **at: Any) -> Callable[[pd.DataFrame], float]:
    """Return a reader of the ``min``, ``max``, ``mean`` or ``sum`` of a column."""
    return lambda rows: float(getattr(where(rows, **at)[metric].astype(float), how)())


def span(
    metric: str, *, share: bool = False, digits: int = 3, **at: Any
) -> Callable[[pd.DataFrame], str]:
    """Return a reader that writes the range of a column, or its only value."""

    def read(rows: pd.DataFrame) -> str:
        own = where(rows, **at)[metric].astype(float)
        low, high = float(own.min()), float(own.max())
        ends = [percent(end) if share else number(end, digits) for end in (low, high)]
        return ends[0] if ends[0] == ends[1] else interval(low, high, share=share, digits=digits)

    return read


def by(metric: str, key: str = "policy", **at: Any) -> Callable[[pd.DataFrame], dict[Any, float]]:
    """Return a reader of a metric of each policy, or of each value of another column."""

    def read(rows: pd.DataFrame) -> dict[Any, float]:
        chosen = where(rows, **at)
        return dict(zip(chosen[key], chosen[metric].astype(float), strict=True))

    return read


def ordered(
    metric: str,
    own: str,
    titles: Mapping[str, str],
    ways: Mapping[str, Callable[[float, float], bool]],
    **at: Any,
) -> Callable[[pd.DataFrame], str]:
    """Return a reader that names the policies which one is above and below.

    `ways` maps words to a comparison of the other's value with its own: ``"below"`` to
    `operator.gt`.
    """

    def read(rows: pd.DataFrame) -> str:
        values = by(metric, **at)(rows)
        others = [name for name in titles if name != own and name in values]
        words = []
        for way, holds in ways.items():
            names = [titles[name] for name in others if holds(values[name], values[own])]
            words += [f"{way} {listed(names)}"] if names else []
        return "; ".join(words) or f"{next(iter(ways))} none"

    return read


class Named(float):
    """A value with the titles of those that have it."""

    titles: tuple[str, ...]

    def __new__(cls, value: float, *titles: str) -> Named:
        """Return a value with titles."""
        named = super().__new__(cls, value)
        named.titles = titles
        return named

    @property
    def title(self) -> str:
        """All titles, in words."""
        return listed(list(self.titles))


def extreme(
    sense: Sense, metric: str, titles: Mapping[Any, str], key: str = "policy", **at: Any
) -> Callable[[pd.DataFrame], Named]:
    """Return a reader of the largest or least value of those in `titles`, and whose it is."""

    def read(rows: pd.DataFrame) -> Named:
        values = by(metric, key, **at)(rows)
        own = {name: values[name] for name in titles if name in values}
        best = max(own.values()) if sense == "max" else min(own.values())
        return Named(best, *(titles[name] for name in own if own[name] == best))

    return read


def _gains(
    rows: pd.DataFrame, column: str, metric: str, sense: Sense, own: str, *, relative: bool
) -> pd.DataFrame:
    """Return the gains of a policy over each other one, a row per place."""
    table = rows.pivot(index=column, columns="policy", values=metric).sort_index()
    others = table.drop(columns=own)
    gains = others.rdiv(table[own], axis=0) - 1.0 if relative else others.rsub(table[own], axis=0)
    return gains if sense == "max" else -gains


def ahead(
    column: str, metric: str, sense: Sense, own: str
) -> Callable[[pd.DataFrame], tuple[int, int]]:
    """Return a reader that counts the places at which a policy is best or tied, and all places."""

    def read(rows: pd.DataFrame) -> tuple[int, int]:
        gains = _gains(rows, column, metric, sense, own, relative=False)
        return int((gains >= -_EQUAL).all(axis=1).sum()), len(gains)

    return read


def largest(
    column: str, metric: str, sense: Sense, own: str, titles: Mapping[str, str]
) -> Callable[[pd.DataFrame], Estimate]:
    """Return a reader of the largest gain of a policy, as a share of the other's, and over whom."""

    def read(rows: pd.DataFrame) -> Estimate:
        gains = _gains(rows, column, metric, sense, own, relative=True).max()
        other = str(gains.idxmax())
        return Estimate(float(gains[other]), finding=f"over {titles[other]}")

    return read


def trend(column: str, metric: str, titles: Mapping[str, str]) -> Callable[[pd.DataFrame], str]:
    """Return a reader that says with which policies a metric rises or falls over a column."""

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
    """Return a reader that says whether a metric rises or falls over a column, and its range."""

    def read(rows: pd.DataFrame) -> str:
        own = where(rows, **at).sort_values(column)[metric]
        fine = own.is_monotonic_increasing if sense == "rises" else own.is_monotonic_decreasing
        return f"{'yes' if fine else 'no'}: {number(own.min(), 3)} to {number(own.max(), 3)}"

    return read


def needed(
    column: str, metric: str, sense: Sense, own: str, titles: Mapping[str, str]
) -> Callable[[pd.DataFrame], str]:
    """Return a reader of the places from which others do as well as a policy at the first."""

    def read(rows: pd.DataFrame) -> str:
        table = rows.pivot(index=column, columns="policy", values=metric).sort_index()
        table = table if sense == "max" else -table
        words = []
        for policy, title in titles.items():
            if policy != own:
                enough = table.index[table[policy] - table[own].iloc[0] >= -_EQUAL]
                least = f"{enough[0]}" if len(enough) else f"more than {table.index[-1]}"
                words.append(f"{title} with {least}")
        return f"as {titles[own]} with {table.index[0]}: {listed(words)}"

    return read


def says(reader: Callable[[pd.DataFrame], str], words: str) -> Callable[[pd.DataFrame], bool]:
    """Return a predicate: a reader finds just these words."""
    return lambda rows: reader(rows) == words


class _Pattern(Formatter):
    """Formats numbers as text for people."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, str):
            return value
        value = value.value if isinstance(value, Estimate) else value
        if format_spec.endswith("%"):
            return percent(float(value), int(format_spec[:-1] or 1))
        if format_spec.isdigit():
            return number(float(value), int(format_spec))
        return format(value, format_spec)


def said(pattern: str, **readers: Any) -> Callable[[pd.DataFrame], str]:
    """Return a reader that fills the values of others into a pattern.

    Parameters
    ----------
    pattern
        A format string. ``{x:3}`` writes a number with three significant digits, ``{x:%}`` a share
        as a percentage with one decimal, ``{x:0%}`` with none; otherwise Python's rules hold.
        ``{x[oinc]:3}`` takes an entry of :func:`by`, ``{x.title}`` the title of :func:`extreme`.
    **readers
        Readers, or constant values, by name.

    Returns
    -------
    A function of the rows of a figure.

    Examples
    --------
    >>> import pandas
    >>> from edgeopt_papers.figures import found, said
    >>> rows = pandas.DataFrame({"policy": ["rescue", "srs"], "profit": [20.0, 16.0]})
    >>> said("Its profit is {least:3} at least", least=found("profit", policy="srs"))(rows)
    'Its profit is 16.0 at least'
    """

    def write(rows: pd.DataFrame) -> str:
        values = {name: one(rows) if callable(one) else one for name, one in readers.items()}
        return _Pattern().vformat(pattern, (), values)

    return write
