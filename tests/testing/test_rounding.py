"""Checks of roundings: all of edgeopt's pass, and each check fails one that breaks its rule."""

from __future__ import annotations

from functools import partial

import pytest

from edgeopt.rounding import (
    depround,
    depround_distribution,
    independent,
    pairwise,
    pairwise_distribution,
)
from edgeopt.testing import check_rounding
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


def test_a_right_rounding_passes_without_its_law() -> None:
    assert check_rounding(sound, keeps=ALL).of("passed") == tuple(CHECKS)
