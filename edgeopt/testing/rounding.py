"""Checks of a rounding by its distribution: rows to round, marginals, what it keeps."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.content import alike
from edgeopt.errors import EdgeOptError
from edgeopt.options import check_choice, check_flag, listed
from edgeopt.testing.report import (
    BrokenError,
    Recipe,
    SkippedError,
    by_name,
    describe,
    on_each,
    require,
    run_checks,
    seeds_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.testing.report import Report


ALARM: Final = 1e-6
"""Probability that a check refuses a rounding that is right; its seeds are fixed."""


@dataclass(frozen=True, eq=False)
class Row:
    """Fractions to round, with weights, as rational numbers."""

    seed: int
    y: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(self.y)

    @property
    def values(self) -> NDArray[np.float64]:
        """Fractions as floats, shape [n]."""
        return np.array([float(one) for one in self.y])

    @property
    def sizes(self) -> NDArray[np.float64]:
        """Weights as floats, shape [n]."""
        return np.array([float(one) for one in self.weights])

    @property
    def where(self) -> dict[str, Any]:
        """What draws the row again."""
        return {"seeds": [self.seed]}

    def __str__(self) -> str:
        y, weights = (", ".join(map(str, part)) for part in (self.y, self.weights))
        return f"y = [{y}], weights = [{weights}]"


def draw_row(seed: int, *, counts: bool = False) -> Row:
    """Draw a row of simple fractions, ties, zeros and ones, none of which outweighs the rest."""
    rng = np.random.default_rng((seed, 4))
    size = int(rng.integers(2, 7))
    steps = int(rng.choice([2, 3, 4, 12]))
    y = [Fraction(int(k), steps) for k in rng.integers(0, steps + 1, size)]
    y[0] = Fraction(1, 2)
    if counts:
        y = [one + int(k) for one, k in zip(y, rng.integers(0, 3, size), strict=True)]
    weights = [Fraction(int(k), 2) for k in rng.integers(1, 7, size)]
    # Some roundings need a budget into which every entry fits by itself.
    while max(weights) > sum(w * v for w, v in zip(weights, y, strict=True)):
        y.append(Fraction(1))
        weights.append(max(weights))
    return Row(seed, tuple(y), tuple(weights))


def follows(
    row: Row, distribution: Mapping[tuple[int, ...], Fraction], draws: NDArray[Any]
) -> None:
    """Require that draws may be by chance, as their distribution says."""
    found, times = np.unique(draws.astype(np.int64), axis=0, return_counts=True)
    seen = dict(zip(map(tuple, found.tolist()), times.tolist(), strict=True))
    for x in {**distribution, **seen}:
        wanted = float(distribution.get(x, 0))
        if not plausible(seen.get(x, 0), len(draws), wanted, len(distribution) + 1):
            text = (
                f"{x} came {seen.get(x, 0)} times in {len(draws)}, by its distribution {wanted:.5g}"
            )
            raise BrokenError(f"{text}: {row}", **row.where)


def plausible(times: int, of: int, probability: float, tests: int, *, upper: bool = False) -> bool:
    """Tell whether a count may be by chance, in one of so many tests; `upper`: or any smaller."""
    from scipy.stats import binom

    level = ALARM / (2 * tests)
    high = float(binom.sf(times - 1, of, probability))
    low = 1.0 if upper else float(binom.cdf(times, of, probability))
    return min(high, low) > level


def subsets(size: int) -> list[tuple[int, ...]]:
    """Return the sets of two or three entries."""
    return [s for r in (2, 3) for s in itertools.combinations(range(size), r)]


def rounded(draws: NDArray[Any], row: Row, chosen: Sequence[int], ones: bool) -> NDArray[np.bool_]:
    """Tell which draws round all entries of a set up, or none of them."""
    places = list(chosen)
    up = draws[:, places] > [row.y[i].__floor__() for i in places]
    return np.asarray(up.all(axis=1) if ones else ~up.any(axis=1))


KEEPS: Final = ("marginals", "budget", "sum", "cardinality", "correlation", "upper correlation")
"""What a rounding may promise."""

DRAWS: Final = 200_000
"""Times that a row is rounded where no distribution is known."""

SLOW: Final = 20_000
"""The same where a distribution is known, or a rounding takes one row at a time."""


def check_rounding(
    rounding: Callable[..., Any],
    *,
    keeps: Sequence[str] | None = None,
    distribution: Callable[..., Mapping[tuple[int, ...], Fraction]] | None = None,
    counts: bool = False,
    seeds: int | Sequence[int] = 5,
    expected: Mapping[str, str] | None = None,
    raises: bool = True,
    checks: Sequence[str] | None = None,
) -> Report:
    r"""Check that a randomised rounding keeps what it promises.

    Parameters
    ----------
    rounding
        ``rounding(y, weights, rng=...)`` returns decisions of the shape of `y`, which is [n], or
        [B, n] for a batch of independent roundings; `rng` is a seed or a generator. See
        :class:`edgeopt.rounding.Rounding`.
    keeps
        What it promises, with decisions x and weights s: ``"marginals"``, :math:`E\,x=y`;
        ``"budget"``, :math:`s\cdot x\le s\cdot y` surely; ``"sum"``, :math:`|s\cdot x-s\cdot y|`
        below the largest weight of a fraction, surely; ``"cardinality"``, the number of ones where
        weights are 1 and `y` sums to a whole number; ``"correlation"``,
        :math:`E\prod_S x_i\le\prod_S y_i` and :math:`E\prod_S(1-x_i)\le\prod_S(1-y_i)` for all sets
        S of up to three entries; ``"upper correlation"``, the first of the two. By default what the
        rounding itself says in an attribute ``keeps``, or else ``"marginals"``.
    distribution
        ``distribution(y, weights)`` returns the exact probability of every decision, for fractions
        that are rational. Expectations and correlations are then checked exactly, and draws against
        the distribution. By default the rounding's own attribute ``distribution``, if it has one.
    counts
        Whether numbers beyond 1 are rounded, to the whole number below or above.
    seeds
        How many rows to draw, or the seeds of which ones.
    expected
        Checks that are known to fail, each with the reason. One that passes is an error.
    raises
        Whether failures raise an error; otherwise the report tells.
    checks
        Names of the checks to run, by default all.

    Returns
    -------
    Report
        Outcome of every check.

    Raises
    ------
    CheckError
        If a check fails, with all that failed and lines of Python that reproduce it.
    OptionError
        If there is no such check or promise.

    Notes
    -----
    Without a distribution, expectations are tested on 200,000 draws. A rounding that is right fails
    with probability 1e-6 at most, and never on one day but not the other, as seeds are fixed.

    Examples
    --------
    >>> from edgeopt.rounding import depround
    >>> from edgeopt.testing import check_rounding
    >>> check_rounding(depround, keeps=["marginals", "sum", "cardinality", "correlation"])
    Report(rounding depround, 9 passed)
    """
    if keeps is None:
        keeps = getattr(rounding, "keeps", ("marginals",))
    if distribution is None:
        distribution = getattr(rounding, "distribution", None)
    promised = tuple(listed("keeps", keeps))
    for one in promised:
        check_choice("keeps", one, KEEPS)
    check_flag("counts", counts)
    checked = Checked(rounding, promised, distribution, counts, tuple(seeds_of(seeds)))
    options = {"keeps": list(promised)} | ({"counts": True} if counts else {})
    recipe = Recipe("rounding", rounding, (), options)
    return run_checks(recipe, CHECKS, checked, checks=checks, expected=expected, raises=raises)


@dataclass(frozen=True, eq=False)
class Checked:
    """A rounding with the rows and draws that its checks share."""

    rounding: Callable[..., Any]
    keeps: tuple[str, ...]
    distribution: Callable[..., Mapping[tuple[int, ...], Fraction]] | None
    counts: bool
    seeds: tuple[int, ...]

    @cached_property
    def rows(self) -> list[Row]:
        """The rows."""
        return [draw_row(seed, counts=self.counts) for seed in self.seeds]

    @cached_property
    def even(self) -> list[Row]:
        """The rows with weights of 1 and a whole sum."""
        found = []
        for row in self.rows:
            missing = Fraction(-sum(row.y) % 1)
            y = (*row.y, missing) if missing else row.y
            found.append(Row(row.seed, y, (Fraction(1),) * len(y)))
        return found

    @cached_property
    def batches(self) -> bool:
        """Whether it takes several rows at once."""
        try:
            tried = self.rounding(np.full((3, 2), 0.5), np.ones(2), rng=0)
        # Whatever it says to a table.
        except Exception:
            return False
        return bool(np.shape(tried) == (3, 2))

    def round(self, y: Any, weights: Any, rng: Any) -> NDArray[Any]:
        """Round copies, which may be written to."""
        return np.asarray(self.rounding(np.array(y), np.array(weights), rng=rng))

    def draws(self, row: Row) -> NDArray[Any]:
        """Round a row many times, shape [N, n]."""
        count = DRAWS if self.batches and self.distribution is None else SLOW
        rng = np.random.default_rng((row.seed, 5))
        if self.batches:
            return self.round(np.tile(row.values, (count, 1)), row.sizes, rng)
        return np.array([self.round(row.values, row.sizes, rng) for _ in range(count)])

    @cached_property
    def drawn(self) -> list[tuple[Row, NDArray[Any]]]:
        """Every row with its draws."""
        return [(row, self.draws(row)) for row in self.rows]

    @cached_property
    def exact(self) -> list[tuple[Row, Mapping[tuple[int, ...], Fraction]]]:
        """Every row with its distribution."""
        assert self.distribution is not None
        return [(row, self.distribution(list(row.y), list(row.weights))) for row in self.rows]

    def require_promise(self, *names: str) -> None:
        """Skip a check of what is not promised."""
        if not set(names) & set(self.keeps):
            raise SkippedError(f"it does not promise {' or '.join(names)}")


@on_each("rows")
def _types(checked: Checked, row: Row) -> None:
    tables = [row.values] + [np.tile(row.values, (3, 1))] * checked.batches
    for y in tables:
        x = checked.rounding(y.copy(), row.sizes, rng=row.seed)
        kind = x.dtype.kind if isinstance(x, np.ndarray) else type(x).__name__
        require(kind in "biu", f"decisions are of type {kind}, not bool or int")
        require(x.shape == y.shape, f"shape {x.shape} for y of {y.shape}")
        least, most = (np.floor(y), np.ceil(y)) if checked.counts else (0, 1)
        near = bool(((least <= x) & (x <= most)).all())
        require(near, f"{x.tolist()} is no rounding of {y.tolist()}")


@on_each("rows")
def _integers(checked: Checked, row: Row) -> None:
    whole = row.values == np.floor(row.values)
    for seed in range(50):
        x = checked.round(row.values, row.sizes, seed)
        require(np.array_equal(x[whole], row.values[whole]), f"whole entries change: {row}")


def _marginals(checked: Checked) -> None:
    if checked.distribution is not None:
        for row, distribution in checked.exact:
            follows(row, distribution, checked.draws(row))
    checked.require_promise("marginals")
    if checked.distribution is not None:
        for row, distribution in checked.exact:
            for place, wanted in enumerate(row.y):
                mean = sum((p * x[place] for x, p in distribution.items()), Fraction(0))
                text = f"E x[{place}] = {mean}, not {wanted}: {row}"
                require(mean == wanted, text, **row.where)
        return
    tests = sum(row.size for row in checked.rows)
    for row, draws in checked.drawn:
        for place, wanted in enumerate(row.y):
            ones, floor = draws[:, place] > wanted.__floor__(), float(wanted % 1)
            if not plausible(int(ones.sum()), len(ones), floor, tests):
                text = f"x[{place}] is on average {draws[:, place].mean():.5g}, not {wanted}: {row}"
                raise BrokenError(text, **row.where)


def _budget(checked: Checked) -> None:
    checked.require_promise("budget", "sum")
    for row, draws in checked.drawn:
        off = draws @ row.sizes - row.values @ row.sizes
        slack = 1e-9 * float(row.values @ row.sizes)
        if "budget" in checked.keeps:
            over = float(off.max())
            require(over <= slack, f"a decision is {over:.6g} above its budget: {row}", **row.where)
        if "sum" in checked.keeps:
            largest = max(w for w, v in zip(row.weights, row.y, strict=True) if v % 1)
            most = float(np.abs(off).max())
            text = f"a decision is {most:.6g} from the sum, with weights to {largest}: {row}"
            require(most < float(largest) + slack, text, **row.where)


def _cardinality(checked: Checked) -> None:
    checked.require_promise("cardinality")
    for row in checked.even:
        wanted = int(sum(row.y))
        for seed in range(200):
            total = int(checked.round(row.values, row.sizes, seed).sum())
            require(total == wanted, f"{total} instead of {wanted} ones: {row}", **row.where)


def _correlation(checked: Checked) -> None:
    checked.require_promise("correlation", "upper correlation")
    both = "correlation" in checked.keeps
    rows = checked.rows
    tests = 2 * sum(len(list(subsets(row.size))) for row in rows)
    for place, row in enumerate(rows):
        fractions = [one % 1 for one in row.y]
        for ones in (True, False) if both else (True,):
            for chosen in subsets(row.size):
                most = Fraction(1)
                for i in chosen:
                    most *= fractions[i] if ones else 1 - fractions[i]
                kind = "are 1" if ones else "are 0"
                if checked.distribution is not None:
                    distribution = checked.exact[place][1]
                    found = sum(
                        p
                        for x, p in distribution.items()
                        if rounded(np.array([x]), row, chosen, ones)[0]
                    )
                    right, shown = found <= most, str(found)
                else:
                    draws = checked.drawn[place][1]
                    times = int(rounded(draws, row, chosen, ones).sum())
                    right = plausible(times, len(draws), float(most), tests, upper=True)
                    shown = f"{times / len(draws):.5g}"
                text = f"entries {chosen} {kind} with probability {shown} > {most}: {row}"
                require(right, text, **row.where)


@on_each("rows")
def _stateless(checked: Checked, row: Row) -> None:
    y, weights = row.values, row.sizes
    first = checked.rounding(y, weights, rng=row.seed)
    same = np.array_equal(y, row.values) and np.array_equal(weights, row.sizes)
    require(same, f"it writes to what it is given: {row}")
    checked.rounding(row.values[::-1].copy(), row.sizes[::-1].copy(), rng=row.seed + 1)
    again = checked.rounding(row.values, row.sizes, rng=row.seed)
    require(alike(first, again), f"the same seed gives other decisions: {row}")


def _batch(checked: Checked) -> None:
    require(checked.batches, "it takes no batch of rows, shape [B, n]")
    for row in checked.rows:
        rng = np.random.default_rng(row.seed)
        table = np.array([row.values, row.values[::-1], row.values])
        weights = np.array([row.sizes, row.sizes[::-1], row.sizes])
        whole = checked.round(table, weights, np.random.default_rng(row.seed))
        each = [checked.round(y, w, rng) for y, w in zip(table, weights, strict=True)]
        require(np.array_equal(whole, each), f"a batch is not its rows: {row}", **row.where)


def _extremes(checked: Checked) -> None:
    cases = {
        "zeros": np.zeros(5),
        "ones": np.ones(5),
        "one fraction": np.array([0.0, 0.25, 1.0, 1.0]),
        "one entry": np.array([1.0]),
        "ties": np.append(np.full(8, 0.5), 1.0),
        "20,000 entries": np.full(20_000, 0.25),
    }
    for name, y in cases.items():
        try:
            x = checked.round(y, np.ones(y.size), 0)
        # Whatever a rounding of a stranger raises.
        except Exception as error:
            raise BrokenError(f"{name}: {describe(error)}") from None
        right = x.shape == y.shape and not x[y == 0].any()
        require(right, f"{name}: wrong decisions")
    try:
        nothing = checked.round(np.zeros(0), np.ones(0), 0)
    except (EdgeOptError, ValueError):
        return
    require(nothing.shape == (0,), f"no entries: shape {nothing.shape}")


CHECKS: Final[Mapping[str, Callable[[Checked], str | None]]] = by_name(
    _types, _integers, _marginals, _budget, _cardinality, _correlation, _stateless, _batch,
    _extremes,
)  # fmt: skip
