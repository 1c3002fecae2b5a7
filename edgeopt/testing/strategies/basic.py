"""Sizes and entries of what is drawn, and strategies that belong to no system."""

from __future__ import annotations

import inspect
from fractions import Fraction
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from hypothesis import strategies as st

from edgeopt.solvers import LinearProgram

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import DrawFn, SearchStrategy

    from edgeopt.online import Environment

P = ParamSpec("P")
DrawnT = TypeVar("DrawnT")


def composite(
    function: Callable[Concatenate[DrawFn, P], DrawnT],
) -> Callable[P, SearchStrategy[DrawnT]]:
    """Make a strategy of a function that draws; unlike that of Hypothesis, it keeps its source."""
    made = st.composite(function)

    @wraps(function)
    def strategy(*args: P.args, **kwargs: P.kwargs) -> SearchStrategy[DrawnT]:
        return made(*args, **kwargs)

    takes = inspect.signature(function)
    shown = takes.replace(parameters=list(takes.parameters.values())[1:])
    strategy.__signature__ = shown  # type: ignore[attr-defined]
    return strategy


def up_to(largest: int) -> SearchStrategy[int]:
    """Shrink to 1, but draw the largest size twice as often as any other."""
    return st.sampled_from([*range(1, largest + 1), largest])


def nearly(largest: int) -> SearchStrategy[int]:
    """Shrink to 1, but rarely draw less than half of the largest size."""
    upper = range((largest + 2) // 2, largest + 1)
    return st.sampled_from([*range(1, largest + 1), *upper, *upper])


def array_of(draw: DrawFn, shape: tuple[int, ...], values: tuple[float, ...]) -> np.ndarray:
    """Draw an array of a shape, each entry one of some values."""
    n = int(np.prod(shape))
    return np.array(draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))).reshape(shape)


@composite
def linear_programs(draw: DrawFn, *, rows: int = 4, columns: int = 4) -> LinearProgram:
    """Draw a linear program of small integers with finite column bounds, feasible or not.

    Parameters
    ----------
    rows, columns
        Largest sizes; there may be no row.

    Returns
    -------
    A strategy of hypothesis for programs.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from edgeopt.solvers import solve
    >>> from edgeopt.testing.strategies import linear_programs
    >>> found = []
    >>> @settings(max_examples=5, database=None, derandomize=True, deadline=None)
    ... @given(linear_programs())
    ... def look(drawn):
    ...     found.append(solve(drawn, raises=False))
    ...
    >>> look()
    >>> all(one.quality.usable != one.status.infeasible for one in found)
    True
    """
    rows, columns = draw(st.integers(0, rows)), draw(st.integers(1, columns))
    entries = st.integers(-3, 3)
    cost = draw(st.lists(entries, min_size=columns, max_size=columns))
    matrix = draw(
        st.lists(
            st.lists(entries, min_size=columns, max_size=columns), min_size=rows, max_size=rows
        )
    )
    row_lower, row_upper = np.full(rows, -np.inf), np.full(rows, np.inf)
    for row in range(rows):
        side = draw(st.integers(-4, 6))
        form = draw(st.sampled_from(["<=", ">=", "==", "range", "free"]))
        if form in ("<=", "==", "range"):
            row_upper[row] = side
        if form in (">=", "=="):
            row_lower[row] = side
        if form == "range":
            row_lower[row] = side - draw(st.integers(0, 3))
    lower = np.array(draw(st.lists(st.integers(-3, 1), min_size=columns, max_size=columns)))
    width = np.array(draw(st.lists(st.integers(0, 4), min_size=columns, max_size=columns)))
    return LinearProgram(
        cost,
        np.reshape(np.array(matrix, dtype=float), (rows, columns)),
        row_lower,
        row_upper,
        lower,
        lower + width,
        sense=draw(st.sampled_from(["min", "max"])),
        offset=draw(entries),
    )


SHARES = st.one_of(
    st.sampled_from(
        [
            Fraction(0),
            Fraction(1),
            Fraction(1, 2),
            Fraction(1, 2),
            Fraction(1, 3),
            Fraction(2, 3),
            Fraction(3, 4),
        ]
    ),
    st.fractions(0, 1, max_denominator=12),
    st.sampled_from([Fraction(1, 10**12), 1 - Fraction(1, 10**12)]),
)
WEIGHTS = st.one_of(
    st.sampled_from([Fraction(1), Fraction(1), Fraction(2), Fraction(3)]),
    st.fractions(Fraction(1, 8), 8, max_denominator=8),
    st.integers(-12, 12).map(lambda k: Fraction(10) ** k),
)


@composite
def fractions_to_round(
    draw: DrawFn, *, n: int = 6, fits: bool = False
) -> tuple[list[Fraction], list[Fraction]]:
    """Draw fractions in [0, 1] and positive weights, both rational; ties, 0 and 1 are frequent.

    Parameters
    ----------
    n
        Largest number of entries.
    fits
        Whether no fractional entry may outweigh the whole.

    Returns
    -------
    A strategy of hypothesis for pairs of fractions and weights.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from edgeopt.rounding import depround
    >>> from edgeopt.testing.strategies import fractions_to_round
    >>> found = []
    >>> @settings(max_examples=5, database=None, derandomize=True, deadline=None)
    ... @given(fractions_to_round())
    ... def look(drawn):
    ...     fractions = [float(y) for y in drawn[0]]
    ...     found.append(abs(depround(fractions, rng=0).sum() - sum(fractions)))
    ...
    >>> look()
    >>> bool(max(found) < 1.0)
    True
    """
    count = draw(st.integers(1, n))
    y = draw(st.lists(SHARES, min_size=count, max_size=count))
    if draw(st.booleans()):
        y = [y[0]] * count
    s = draw(st.lists(WEIGHTS, min_size=count, max_size=count))
    if fits:
        while any(0 < v < 1 and w > _total(y, s) for v, w in zip(y, s, strict=True)):
            y, s = [*y, Fraction(1)], [*s, max(s)]
    return y, s


def _total(y: list[Fraction], weights: list[Fraction]) -> Fraction:
    return sum((w * v for v, w in zip(y, weights, strict=True)), Fraction(0))


@composite
def scenarios(draw: DrawFn, environment: Environment[Any, Any, Any, Any, Any, Any]) -> Any:
    """Draw a scenario of an environment: a realisation of everything random.

    Parameters
    ----------
    environment
        The environment.

    Returns
    -------
    A strategy of hypothesis for scenarios of the environment.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from edgeopt.instances.rescue import small
    >>> from edgeopt.online.rescue import RescueEnvironment
    >>> from edgeopt.testing.strategies import scenarios
    >>> found = []
    >>> environment = RescueEnvironment(small(1))
    >>> @settings(max_examples=5, database=None, derandomize=True, deadline=None)
    ... @given(scenarios(environment))
    ... def look(drawn):
    ...     found.append(environment.episode(drawn).observe() is None)
    ...
    >>> look()
    >>> len(found)
    5
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return environment.scenarios(rng, 1)[0]
