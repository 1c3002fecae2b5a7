r"""Any algorithm on several instances: the one on which it does worst, and what is proven by runs.

The interval of every instance is wider than that of a single one, as the error is shared evenly
among them (Bonferroni): all of them hold together, so they hold of the worst one as well, whichever
it turns out to be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.bounds.paired import FEWEST_RUNS, expectation
from edgeopt.bounds.ratio import Ratio, competitive_ratio
from edgeopt.bounds.regret import Regret, regret
from edgeopt.errors import CertificateError, OptionError
from edgeopt.options import check_flag, check_real, check_whole, generator, listed
from edgeopt.representation import compact_repr, counted
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from edgeopt.arrays import Floats

ALARM: Final = 1e-6
"""Probability that a value is taken for one beyond its bound which is right."""

ROUNDING: Final = 1e-9
"""Share of a bound by which a value may exceed it before that counts."""


@in_html
@compact_repr
@dataclass(frozen=True, eq=False)
class WorstCase:
    """What an algorithm comes to on the instance on which it does worst.

    Parameters
    ----------
    worst
        Name of that instance.
    cases
        The ratio or the regret on every instance, by name; their intervals hold all together.
    larger_is_worse
        Whether the largest of them is the worst: of regrets, and of ratios of costs.
    guarantees
        What a theorem promises for each instance, by name; empty if nothing was given.

    Examples
    --------
    >>> from edgeopt.bounds import ratio_of
    >>> def buy_on_the_tenth_day(days, rng):
    ...     return days if days < 10 else 19.0
    ...
    >>> found = ratio_of(
    ...     buy_on_the_tenth_day, {"week": 7.0, "winter": 90.0}, lambda days: min(days, 10.0),
    ...     cost=True, guarantee=2.0,
    ... )
    >>> found.worst, found.high, found.verdict
    ('winter', 1.9, 'kept')
    """

    worst: str
    cases: Mapping[str, Ratio | Regret]
    larger_is_worse: bool
    guarantees: Mapping[str, float]

    @property
    def value(self) -> float:
        """Ratio or regret on the worst instance."""
        return float(self.cases[self.worst].value)

    @property
    def low(self) -> float:
        """Lower end of the interval of the worst of all instances."""
        worst = max if self.larger_is_worse else min
        return float(worst(case.low for case in self.cases.values()))

    @property
    def high(self) -> float:
        """Upper end of the interval of the worst of all instances."""
        worst = max if self.larger_is_worse else min
        return float(worst(case.high for case in self.cases.values()))

    @property
    def verdict(self) -> str:
        """Whether the guarantee is kept.

        ``"kept"`` if every interval lies within its guarantee, ``"broken"`` if one lies beyond as a
        whole, ``"not resolved"`` if neither; ``"no guarantee"`` if none was given.
        """
        if not self.guarantees:
            return "no guarantee"
        found = {self._against(name, promised) for name, promised in self.guarantees.items()}
        return next(word for word in ("broken", "not resolved", "kept") if word in found)

    def _against(self, name: str, promised: float) -> str:
        """Compare the interval of one instance with its guarantee."""
        low, high = float(self.cases[name].low), float(self.cases[name].high)
        better, worse = (low, high) if self.larger_is_worse else (-high, -low)
        most = promised if self.larger_is_worse else -promised
        most += ROUNDING * abs(promised)
        return "broken" if better > most else "kept" if worse <= most else "not resolved"

    def _brief(self) -> Iterator[str]:
        yield f"{self.worst}: {self.value:.6g} in [{self.low:.6g}, {self.high:.6g}]"
        yield f"worst of {counted(len(self.cases), 'instance')}"
        yield self.verdict


def ratio_of(
    algorithm: Callable[[Any, np.random.Generator], float],
    instances: Any,
    against: Callable[[Any], Any],
    *,
    cost: bool = False,
    guarantee: float | Callable[[Any], float] | None = None,
    runs: int = 200,
    rng: int | np.random.Generator = 0,
    confidence: float = 0.95,
) -> WorstCase:
    """Compare any algorithm with a proven bound on several instances.

    Parameters
    ----------
    algorithm
        ``algorithm(instance, rng)`` runs once with a generator of random numbers, and returns its
        value. Nothing has to be of edgeopt.
    instances
        The instances, a mapping by name or a sequence.
    against
        ``against(instance)`` returns what bounds the expected value of any algorithm, from above,
        of costs from below: a positive number, or an object with a `bound`.
    cost
        Whether values are costs, of which less is better.
    guarantee
        Ratio that a theorem promises, for all instances or by instance.
    runs
        Runs on each instance, at least ten; or 1 for values that are exact, such as those of an
        algorithm without random numbers.
    rng
        Seed, or a generator.
    confidence
        Probability that the intervals of all instances cover their ratios, in (0, 1).

    Returns
    -------
    WorstCase
        The worst instance, the interval of its ratio, and whether the guarantee is kept.

    Raises
    ------
    CertificateError
        If the values on an instance are beyond its bound, so that one of both is wrong. Sampled
        values have to be beyond it by an interval that errs with a probability of 1e-6.
    OptionError
        If there is no instance, or a value or a bound cannot be one.

    Notes
    -----
    Intervals are those of :func:`~edgeopt.bounds.competitive_ratio`. They rest on runs as they
    came: where a rare run decides the mean, it takes enough of them to meet it.

    Examples
    --------
    Skis are rented for 1 a day or bought for 10, and nobody knows for how many days:

    >>> from edgeopt.bounds import ratio_of
    >>> def buy_on_the_tenth_day(days, rng):
    ...     return days if days < 10 else 9 + 10
    >>> found = ratio_of(
    ...     buy_on_the_tenth_day, [1, 9, 10, 90], lambda days: min(days, 10), cost=True, runs=1
    ... )
    >>> found.worst, found.value
    ('2', 1.9)
    """
    named, streams = _prepared(instances, runs, rng, confidence)
    check_flag("cost", cost)
    share = (1 - confidence) / len(named)
    cases, sign = dict[str, Ratio](), -1.0 if cost else 1.0
    for (name, instance), stream in zip(named.items(), streams, strict=True):
        values = _outcomes(name, algorithm, instance, stream, runs)
        if values.ndim != 1:
            raise OptionError(f"instance {name}: the algorithm must return one number")
        bound = against(instance)
        bound = getattr(bound, "bound", bound)
        try:
            if np.ndim(bound) != 0:
                raise OptionError(f"bound: must be one number, not of shape {np.shape(bound)}")
            cases[name] = competitive_ratio(values, bound, confidence=1 - share)
        except OptionError as why:
            raise OptionError(f"instance {name}: {why}") from None
        mean, _, low, high = expectation("values", values, 1 - ALARM / len(named))
        # The end of the interval that is nearest to the right side of the bound.
        over = sign * (float(high if cost else low) - float(bound))
        if over > ROUNDING * float(bound):
            raise CertificateError(
                f"instance {name}: {float(mean):.6g} is beyond its bound {float(bound):.6g}; one "
                "of both is wrong"
            )
    return _worst(named, cases, larger_is_worse=cost, guarantee=guarantee)


def regret_of(
    algorithm: Callable[[Any, np.random.Generator], Any],
    instances: Any,
    against: Callable[[Any], Any],
    *,
    cost: bool = False,
    guarantee: float | Callable[[Any], float] | None = None,
    runs: int = 50,
    rng: int | np.random.Generator = 0,
    confidence: float = 0.95,
) -> WorstCase:
    """Compare any algorithm with a benchmark, summed over slots, on several instances.

    Parameters
    ----------
    algorithm
        ``algorithm(instance, rng)`` runs once with a generator of random numbers, and returns gain
        or cost of every slot, shape [T].
    instances
        The instances, a mapping by name or a sequence.
    against
        ``against(instance)`` returns the benchmark, in the forms that
        :func:`~edgeopt.bounds.regret` takes, or an object with a `bound`. It need bound nothing: an
        algorithm may do better than the best fixed decision.
    cost
        Whether outcomes are costs, of which less is better.
    guarantee
        What a theorem promises the regret to stay below, for all instances or by instance.
    runs
        Runs on each instance, at least two; or 1 for outcomes that are exact.
    rng
        Seed, or a generator.
    confidence
        Probability that the intervals of all instances cover their regrets, in (0, 1).

    Returns
    -------
    WorstCase
        The worst instance, the interval of its regret, and whether the guarantee is kept. Worst is
        the largest regret, or the one that leaves its guarantee the least room.

    Raises
    ------
    OptionError
        If there is no instance, or outcomes or a benchmark cannot be such.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.bounds import regret_of
    >>> bits = {"even": np.array([0, 1, 0, 1]), "ones": np.array([1, 1, 1, 1])}
    >>> coins = lambda bits, rng: rng.integers(2, size=bits.size) == bits
    >>> best = lambda bits: max(bits.sum(), (1 - bits).sum())
    >>> found = regret_of(coins, bits, best, guarantee=4)
    >>> found.worst, found.verdict
    ('ones', 'kept')
    """
    named, streams = _prepared(instances, runs, rng, confidence, fewest=2)
    share, cases = (1 - confidence) / len(named), dict[str, Regret]()
    for (name, instance), stream in zip(named.items(), streams, strict=True):
        outcomes = _outcomes(name, algorithm, instance, stream, runs)
        benchmark = against(instance)
        benchmark = getattr(benchmark, "bound", benchmark)
        try:
            exact = outcomes[0] if runs == 1 else outcomes
            cases[name] = regret(exact, benchmark, cost=cost, confidence=1 - share)
        except OptionError as why:
            raise OptionError(f"instance {name}: {why}") from None
    return _worst(named, cases, larger_is_worse=True, guarantee=guarantee)


def _prepared(
    instances: Any,
    runs: int,
    rng: int | np.random.Generator,
    confidence: float,
    fewest: int = FEWEST_RUNS,
) -> tuple[dict[str, Any], list[np.random.Generator]]:
    """Check options; return instances by name, and a stream of random numbers for each."""
    check_whole("runs", runs, 1)
    if 1 < runs < fewest:
        raise OptionError(
            f"runs = {runs}: must be at least {fewest}, or 1 for values that are exact"
        )
    check_real("confidence", confidence, "(0, 1)")
    if isinstance(instances, Mapping):
        named = {str(name): one for name, one in instances.items()}
    else:
        named = {str(place): one for place, one in enumerate(listed("instances", instances))}
    if not named:
        raise OptionError("instances: must not be empty")
    return named, generator(rng).spawn(len(named))


def _outcomes(
    name: str, algorithm: Any, instance: Any, stream: np.random.Generator, runs: int
) -> Floats:
    """Return what the runs on an instance come to; a single one, which is exact, twice."""
    try:
        found = [algorithm(instance, one) for one in stream.spawn(runs)]
    except Exception as error:
        error.add_note(f"in the algorithm, on instance {name}")
        raise
    try:
        return np.array(found * 2 if runs == 1 else found, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(
            f"instance {name}: the algorithm must return numbers, of one shape in all runs"
        ) from None


def _worst(
    named: Mapping[str, Any],
    cases: Mapping[str, Ratio | Regret],
    *,
    larger_is_worse: bool,
    guarantee: float | Callable[[Any], float] | None,
) -> WorstCase:
    """Find the worst instance."""
    promised = dict[str, float]()
    if guarantee is not None:
        for name, instance in named.items():
            promised[name] = guarantee(instance) if callable(guarantee) else guarantee
            check_real("guarantee", promised[name])
    sign = 1.0 if larger_is_worse else -1.0
    beyond = {
        name: sign * (float(case.value) - promised.get(name, 0.0)) for name, case in cases.items()
    }
    worst = max(beyond, key=beyond.__getitem__)
    return WorstCase(worst, cases, larger_is_worse, promised)
