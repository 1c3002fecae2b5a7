"""Checks of roundings: all of edgeopt's pass, and each check fails one that breaks its rule."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from edgeopt.rounding import (
    depround,
    depround_distribution,
    independent,
    pairwise,
    pairwise_distribution,
)
from edgeopt.testing import CheckError, check_rounding
from edgeopt.testing.rounding import CHECKS
from tests.draws import every
from tests.testing.mutants import assert_fails
from tests.testing.roundings import ALL, MUTANTS, sound

exact, exact_pairs = depround_distribution, pairwise_distribution
BUDGET = ("budget", "cardinality")
DROPS = (*BUDGET, "upper correlation")
PUBLISHED = [
    (partial(depround, residual="bernoulli"), ALL, partial(exact, residual="bernoulli"), {}),
    (partial(depround, residual="drop"), DROPS, partial(exact, residual="drop"), {}),
    (partial(depround, residual="half"), DROPS, partial(exact, residual="half"),
     {"expected": {"integers": "a coin decides between the last entry and all others"}}),
    (partial(depround, residual="reserve"), ("budget",), partial(exact, residual="reserve"),
     {"expected": {"integers": "all entries are scaled down for the last one"}}),
    (partial(depround, residual="fill"), BUDGET, partial(exact, residual="fill"), {}),
    (partial(depround, order="random"), ALL, None, {}),
    (lambda y, weights, rng: independent(y, rng=rng), ("marginals", "correlation"), None, {}),
    (partial(pairwise, residual="floor"), BUDGET, partial(exact_pairs, residual="floor"),
     {"counts": True}),
    (partial(pairwise, residual="bernoulli"), ALL, partial(exact_pairs, residual="bernoulli"),
     {"counts": True}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rounding", "keeps", "distribution", "options"), every(4, PUBLISHED, rows=True)
)
def test_roundings_of_edgeopt_pass(rounding, keeps, distribution, options) -> None:
    check_rounding(rounding, keeps=keeps, distribution=distribution, **options)


@pytest.mark.parametrize("check", every(4, CHECKS))
def test_a_rounding_that_breaks_one_rule_fails_its_check(check: str) -> None:
    rounding, keeps, implied = MUTANTS[check]
    assert_fails(check_rounding, rounding, own=check, implied=implied, keeps=keeps)


class Systematic:
    """Systematic sampling: entries are 1 where a grid of one random offset meets them."""

    keeps: tuple[str, ...] = ("marginals", "cardinality")

    def __call__(self, y, weights, *, rng):
        ends = np.cumsum(y, axis=-1)
        offset = np.random.default_rng(rng).random((*np.shape(y)[:-1], 1))
        up = np.floor(ends - offset + 1e-12)
        return (up - np.concatenate([np.full_like(up[..., :1], -1.0), up[..., :-1]], -1)) > 0.5

    def distribution(self, y, weights):
        ends = [sum(y[: i + 1], Fraction(0)) for i in range(len(y))]
        cuts = sorted({Fraction(0), Fraction(1), *(end % 1 for end in ends)})
        found: dict[tuple[int, ...], Fraction] = {}
        for low, high in itertools.pairwise(cuts):
            up = [-1, *(math.floor(end - (low + high) / 2) for end in ends)]
            x = tuple(b - a for a, b in itertools.pairwise(up))
            found[x] = found.get(x, Fraction(0)) + high - low
        return found


class Bold(Systematic):
    keeps = (*Systematic.keeps, "correlation")


def test_a_rounding_brings_its_promises_and_its_distribution() -> None:
    report = check_rounding(Systematic())
    assert len(report.of("passed")) + len(report.of("skipped")) == len(CHECKS)
    assert {"marginals", "cardinality"} <= set(report.of("passed"))
    with pytest.raises(CheckError, match=r"entries .* with probability \S+ > \S+"):
        check_rounding(Bold())
    # What the call says wins.
    assert "correlation" in check_rounding(Bold(), keeps=["marginals"]).of("skipped")

    class Wrong(Systematic):
        def distribution(self, y, weights):
            return {tuple(int(v >= 1) for v in y): Fraction(1)}

    with pytest.raises(CheckError, match="marginals"):
        check_rounding(Wrong())


def test_a_right_rounding_passes_without_its_law() -> None:
    assert check_rounding(sound, keeps=ALL).of("passed") == tuple(CHECKS)
