"""Measure how often the product's own rule calls equal policies different: ``python -m``.

The pool are runs of all policies of RESCUE on its default instance. Their means are made equal to
measure false words, and left as they are to measure power. The rule that was used before, Student's
test of the logarithms of paired ratios with agreement of mean and ratio, stands beside it.
"""

from __future__ import annotations

import sys
from functools import cache
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import stdtr

from edgeopt.bounds.estimate import Control, estimates
from edgeopt.bounds.intervals import holm
from edgeopt.bounds.pairs import Look, Pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SEED = 12345


class Pool(NamedTuple):
    """Runs of policies, shape [policies, runs], and of those whose expectation is known."""

    names: tuple[str, ...]
    runs: Floats
    exact: tuple[bool, ...]
    controls: Floats
    means: Floats


@cache
def pool_of(runs: int = 5000) -> Pool:
    """Simulate all policies of RESCUE, and its control, on the default instance."""
    from edgeopt.instances.rescue import generate
    from edgeopt.studies import find_system
    from edgeopt.studies.simulation import control_entries, run

    record, instance = find_system("rescue"), generate()
    environment = record.policies.environment(instance)
    found = {key: one.compute(instance) for key, one in record.offline.bounds.items()}
    every = {one.name: one for one in (*control_entries(record), *record.policies.entries)}
    ran, known = {}, {}
    for name, entry in every.items():
        policy = entry.make(instance, found)
        ran[name] = record.objective.values(
            run(environment, policy, record.objective, None, SEED, runs).trajectory
        )
        value = None if entry.exact is None else entry.exact(instance, policy)
        if value is not None:
            known[name] = value
    names = tuple(every)
    return Pool(
        names,
        np.array([ran[name] for name in names]),
        tuple(name in known for name in names),
        np.array([ran[name] for name in known]),
        np.array(list(known.values())),
    )


def compared(
    values: Mapping[str, Floats],
    controls: list[Control],
    exact: Mapping[str, float] | None = None,
) -> Pairs:
    """Return the pairs of a table, as a study makes them."""
    found = estimates(values, exact or {}, controls)
    return Pairs([Look(found)], list(values), "max", 0.95)


def words(pairs: Pairs) -> int:
    """Count the tested pairs of which one is called better."""
    names = list(pairs.entrants)
    return sum(
        pairs.word(a, b) in ("better", "worse") and pairs.probability(a, b) >= 0
        for a, b in combinations(names, 2)
    )


def drawn(
    pool: Pool, rng: np.random.Generator, count: int, *, policies: int = 0, equal: bool = True
) -> tuple[dict[str, Floats], list[Control]]:
    """Draw scenarios of the pool; equal means are those of the whole pool.

    Controls keep their luck: they are moved so that their known mean is that of the pool.
    """
    place = rng.integers(0, pool.runs.shape[1], count)
    middle = pool.runs.mean(axis=1)
    chosen = np.arange(len(pool.names))
    if policies:
        chosen = np.sort(rng.permutation(chosen)[:policies])
    values = {
        pool.names[one]: pool.runs[one, place] - (middle[one] - middle[0]) * equal for one in chosen
    }
    truth = pool.controls.mean(axis=1)
    controls = [
        Control(str(k), runs[place], float(truth[k])) for k, runs in enumerate(pool.controls)
    ]
    return values, controls


def any_word(pool: Pool, rng: np.random.Generator, count: int, *, policies: int = 0) -> bool:
    """Tell whether a table of policies whose means are equal has any word."""
    values, controls = drawn(pool, rng, count, policies=policies)
    return words(compared(values, controls)) > 0


def before(values: Mapping[str, Floats], exact: Mapping[str, float] | None = None) -> int:
    """Count the words of the rule that was used before, which is kept here only to be measured.

    Pairs of exact values, which it tested too, are left out.
    """
    known = exact or {}
    pairs = [
        (values[a], values[b])
        for a, b in combinations(values, 2)
        if not (a in known and b in known)
    ]
    alone = [_log_ratio(a, b) for a, b in pairs]
    said = 0
    for (a, b), p in zip(pairs, holm(alone), strict=True):
        positive = (a > 0).all() and (b > 0).all()
        agree = not positive or (np.log(a / b).mean() > 0) == (a.mean() > b.mean())
        said += p <= 0.05 and agree
    return said


def _log_ratio(a: Floats, b: Floats) -> float:
    positive = (a > 0).all() and (b > 0).all()
    apart = np.log(a / b) if positive else a - b
    error = apart.std(ddof=1) / apart.size**0.5
    if error <= 1e-12 * np.abs(apart).max():
        return float(np.abs(apart).max() <= 1e-12)
    return float(2 * stdtr(apart.size - 1, -abs(apart.mean()) / error))


def lognormals(rng: np.random.Generator, count: int, policies: int = 6) -> dict[str, Floats]:
    """Draw independent policies of mean 1 whose logarithms deviate by .2 to 1.2."""
    deviations = np.linspace(0.2, 1.2, policies)
    return {f"{one:.1f}": rng.lognormal(-(one**2) / 2, one, count) for one in deviations}


def rate(draw: Callable[[np.random.Generator], tuple[bool, bool]], seed: int, tables: int) -> str:
    """Return in percent how many tables have any false word, by the rule and by that before."""
    rng, sums = np.random.default_rng(seed), np.zeros(2)
    for _ in range(tables):
        sums += draw(rng)
    return "  ".join(f"{100 * one / tables:5.1f}" for one in sums)


def measure_pool(tables: int) -> None:
    """Print false words among all policies of RESCUE whose means are made equal."""
    pool = pool_of()
    print(f"{len(pool.names)} policies of RESCUE, {pool.runs.shape[1]} scenarios, {tables} tables")
    print("false words, any in a table, equal means:      n, now, before")
    for count in (50, 200, 2000):

        def draw(rng: np.random.Generator, count: int = count) -> tuple[bool, bool]:
            values, controls = drawn(pool, rng, count)
            return words(compared(values, controls)) > 0, before(values) > 0

        print(f"  {count:5d}  {rate(draw, count, tables)}", flush=True)


def measure_lognormals(tables: int) -> None:
    """Print false words among six independent lognormals of equal mean."""
    print(f"six lognormals of equal mean, {tables} tables:   n, now, before")
    for count in (20, 50, 200):

        def draw(rng: np.random.Generator, count: int = count) -> tuple[bool, bool]:
            values = lognormals(rng, count)
            return words(compared(values, [])) > 0, before(values) > 0

        print(f"  {count:5d}  {rate(draw, count, tables)}", flush=True)


def measure_power(tables: int) -> None:
    """Print the share of pairs with a word, of those that are not both exact."""
    pool = pool_of()
    truth = dict(zip(pool.names, pool.runs.mean(axis=1).tolist(), strict=True))
    exact = {name: truth[name] for name, one in zip(pool.names, pool.exact, strict=True) if one}
    print("power, share of pairs with a word, true means: n, now, without controls, before")
    pairs = comb(len(pool.names), 2) - comb(len(exact), 2)
    for count in (20, 50, 200, 400, 2000):
        rng, sums = np.random.default_rng(count), np.zeros(3)
        for _ in range(tables):
            values, controls = drawn(pool, rng, count, equal=False)
            sums += (
                words(compared(values, controls, exact)), words(compared(values, [], exact)),
                before(values, exact),
            )  # fmt: skip
        shown = "  ".join(f"{100 * one / tables / pairs:5.1f}" for one in sums)
        print(f"  {count:5d}  {shown}", flush=True)


if __name__ == "__main__":
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    measure_pool(many)
    measure_lognormals(5 * many)
    measure_power(max(10, many // 10))
