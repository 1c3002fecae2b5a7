"""INFIDA under further rows and with a rounding of one's own: what is kept, and what is proven."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from edgeopt.errors import InputError, OptionError
from edgeopt.instances.idn import generate
from edgeopt.online import simulate
from edgeopt.online.idn import IdnEnvironment, Infida, MessageLoss
from edgeopt.online.mirror_ascent import (
    AdaptiveStep,
    KnapsackEntropy,
    Limited,
    MirrorAscent,
    Product,
)
from edgeopt.rounding import depround, independent
from tests.idn.test_infida import ran

NETWORK = generate(rng=0, horizon=25, tasks=3)
LARGE = ((NETWORK.size > np.median(NETWORK.size)) & ~NETWORK.pinned[:, None]).astype(float)
FIRST = np.zeros_like(LARGE)
FIRST[:, 0] = ~NETWORK.pinned


def held(share: float, rows: np.ndarray = LARGE, **options: Any) -> tuple[np.ndarray, float]:
    """A row and a share of what it comes to where INFIDA is left alone in its last slot."""
    alone = ran(NETWORK, Infida(**options))[-1][0].fractional
    return rows, share * float((rows * alone).sum())


OPTIONS = [
    {},
    {"ascent": "leader"},
    {"ascent": "leader", "discount": 0.9, "scale": 3.0, "coins": "common"},
    {"step": "theory", "peak": 200.0},
    {"step": 0.5, "residual": "reserve"},
    {"residual": "fill", "credit": "shared", "pairs": "useful"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("keep", ["mean", "always"])
def test_shares_keep_the_rows_and_compiled_runs_are_the_plain_ones(options, keep) -> None:
    rows = [held(0.8, **options), held(0.9, FIRST, **options)]
    policy = Infida(rows=rows, keep=keep, **options)
    most = 0.0
    for state, decision, _ in ran(NETWORK, policy):
        for entries, limit in rows:
            used = (entries * state.fractional).sum()
            assert used <= limit * (1 + 1e-8)
            most = max(most, used / limit)
            if keep == "always":
                assert (entries * decision).sum() <= limit * (1 + 1e-9)
    assert most > 1 - 1e-8  # a row binds
    environment = IdnEnvironment(NETWORK)
    compiled, plain = (simulate(environment, policy, runs=2, compiled=how) for how in (True, False))
    assert compiled.compiled
    for field in ("reward", "violations", "gain", "cost", "latency", "inaccuracy", "fetched"):
        np.testing.assert_array_equal(getattr(compiled, field), getattr(plain, field))


def test_deployments_keep_the_rows_on_average() -> None:
    """Each deployment is drawn by the shares: the mean over draws is within five sigma of it."""
    row, limit = held(0.7)
    policy = Infida(rows=[(row, limit)])
    state = ran(NETWORK, policy)[-1][0]
    rng, drawn = np.random.default_rng(1), []
    for _ in range(400):
        decision, _ = policy.decide(state, _slot(), rng)
        drawn.append((row * decision).sum())
    share = float((row * state.fractional).sum())
    assert share <= limit * (1 + 1e-9)
    assert abs(np.mean(drawn) - share) < 5 * np.std(drawn) / 20
    assert max(drawn) > limit


def _slot() -> Any:
    from edgeopt.online.idn import Slot

    return Slot(0)


def test_a_refilled_budget_takes_nothing_that_counts_in_a_row() -> None:
    row, limit = held(0.7, residual="reserve")
    policy = Infida(rows=[(row, limit)], residual="reserve")
    state = ran(NETWORK, policy)[-1][0]
    rng = np.random.default_rng(1)
    drawn = [(row * policy.decide(state, _slot(), rng)[0]).sum() for _ in range(400)]
    share = float((row * state.fractional).sum())
    assert np.mean(drawn) < share + 5 * np.std(drawn) / 20


@pytest.mark.parametrize("ascent", ["mirror", "leader"])
def test_nodes_under_rows_climb_as_generic_mirror_ascent(ascent: str) -> None:
    row, limit = held(0.7)
    policy = Infida(rows=[(row, limit)], ascent=ascent)
    state = policy.start(NETWORK)
    free = np.flatnonzero(state.constants.free)
    nodes = Product([KnapsackEntropy(NETWORK.size[v], float(NETWORK.budget[v])) for v in free])
    generic = MirrorAscent(Limited(nodes, row[free].ravel(), limit), AdaptiveStep(10.0), ascent)
    climbing, rng = generic.start(), np.random.default_rng(0)
    np.testing.assert_allclose(state.fractional[free].ravel(), climbing.point, rtol=1e-7)
    for _ in range(12):
        gradient = rng.exponential(size=NETWORK.size.shape) * (rng.random(NETWORK.size.shape) < 0.3)
        gradient[:, 1] += row[:, 1] * 3.0
        climbing = generic.update(climbing, gradient[free].ravel())
        state = policy.climb(state, gradient.ravel()[state.mirror.pairs.place])
        np.testing.assert_allclose(
            state.fractional[free].ravel(), climbing.point, rtol=1e-6, atol=1e-9
        )
    proven = state.ascent.regret_bound(state.climbing)
    assert proven == pytest.approx(generic.regret_bound(climbing), rel=1e-6)


def test_regret_under_a_row_stays_below_its_bound() -> None:
    """Against the best shares in hindsight that fill the budgets and keep the row."""
    row, limit = held(0.7)
    policy = Infida(rows=[(row, limit)], ascent="leader", scale=0.7)
    earned = total = 0.0
    state = policy.start(NETWORK)
    for step in ran(NETWORK, policy):
        state = policy.learn(step[0], None, step[1], step[2])
        earned += state.gradient @ step[0].climbing.point
        total = total + state.gradient
    pairs = state.mirror.pairs
    nodes = np.repeat(np.arange(pairs.free.size), np.diff(pairs.first))
    fills = np.zeros((pairs.free.size, nodes.size))
    fills[nodes, np.arange(nodes.size)] = pairs.size
    used = np.minimum(pairs.filled, fills.sum(axis=1))[np.unique(nodes)]
    best = linprog(
        -total, A_ub=row.ravel()[pairs.place][None], b_ub=[limit],
        A_eq=fills[np.unique(nodes)], b_eq=used, bounds=(0, 1),
    )  # fmt: skip
    regret = -best.fun - earned
    assert 0.0 < regret <= state.ascent.regret_bound(state.climbing)


def test_a_row_that_never_binds_changes_nothing() -> None:
    free = simulate(IdnEnvironment(NETWORK), Infida(), runs=2)
    roomy = simulate(IdnEnvironment(NETWORK), Infida(rows=[(LARGE, 1e6)]), runs=2)
    np.testing.assert_array_equal(free.gain, roomy.gain)


def test_what_repositories_host_counts() -> None:
    """A row over the whole network has a limit of that and the rest."""
    row, limit = held(0.8)
    everywhere = np.where(NETWORK.pinned[:, None], 1.0, row)
    fixed = float((everywhere * NETWORK.empty).sum())
    assert fixed > 0.0
    one, other = (Infida(rows=[pair]).start(NETWORK).fractional
                  for pair in ((row, limit), (everywhere, limit + fixed)))  # fmt: skip
    np.testing.assert_allclose(one, other)


@pytest.mark.parametrize(
    ("rows", "options", "word"),
    [
        ([LARGE], {}, r"rows\[0\]: must be \(array"),
        (3, {}, "rows"),
        ([(LARGE[0], 1.0)], {}, r"rows\[0\]: must be a finite array"),
        ([(LARGE * np.nan, 1.0)], {}, r"rows\[0\]: must be a finite array"),
        ([(LARGE, np.inf)], {}, r"rows\[0\], limit"),
        ([(-LARGE, 1.0)], {"keep": "always"}, "no number may be negative"),
        ([(-LARGE, 1.0)], {"residual": "half"}, "with entries below 0 use 'bernoulli'"),
        ([(LARGE, 1.0)], {"keep": "mostly"}, "keep"),
    ],
)
def test_rows_that_cannot_be_are_named(rows, options, word) -> None:
    with pytest.raises((OptionError, InputError), match=word):
        Infida(rows=rows, **options)


def test_rows_that_nothing_keeps_are_named_at_the_start() -> None:
    with pytest.raises(OptionError, match=r"rows\[0\]: no point .*; INFIDA fills the budgets"):
        Infida(rows=[(np.ones_like(LARGE), 1.0)]).start(NETWORK)
    with pytest.raises(InputError, match=r"rows\[0\] = shape .*: must have shape"):
        Infida(rows=[(LARGE[1:], 1.0)]).start(NETWORK)


def test_policies_with_rows_are_compared_by_them() -> None:
    assert Infida(rows=[(LARGE, 3.0)]) == Infida(rows=[(LARGE, 3.0)])
    assert Infida(rows=[(LARGE, 3.0)]) != Infida(rows=[(LARGE, 4.0)])
    assert "rows" not in repr(Infida(rows=[(LARGE, 3.0)]))


def test_the_guarantee_under_rows() -> None:
    kept = Infida(rows=[(LARGE, 1e3)]).guarantee(NETWORK)
    assert kept.share == Infida().guarantee(NETWORK).share
    assert "keeps the rows on average" in kept.why
    always = Infida(rows=[(LARGE, 1e3)], keep="always").guarantee(NETWORK)
    assert (always.share, "dropped to keep the rows" in always.why) == (0.0, True)


# A rounding of one's own.


class Own:
    """Dependent rounding, as an object with what it promises."""

    def __init__(self, *keeps: str) -> None:
        self.keeps = keeps

    def __call__(self, y, weights, *, rng):
        return depround(y, weights, rng=rng)


def test_a_rounding_of_ones_own_is_called_node_by_node() -> None:
    calls = []

    def rounding(y, weights, *, rng):
        calls.append((y, weights))
        return depround(y, weights, rng=rng)

    policy = Infida(residual=rounding)
    state = policy.start(NETWORK)
    decision, _ = policy.decide(state, _slot(), np.random.default_rng(0))
    assert len(calls) == np.count_nonzero(np.diff(state.mirror.pairs.first))
    assert np.concatenate([y for y, _ in calls]).tolist() == state.climbing.point.tolist()
    assert np.concatenate([w for _, w in calls]).tolist() == state.mirror.pairs.size.tolist()
    rng = np.random.default_rng(1)
    mean = np.mean([policy.decide(state, _slot(), rng)[0] for _ in range(400)], axis=0)
    assert np.abs(mean - state.fractional).max() < 5 * 0.5 / 20
    assert decision[NETWORK.pinned].tolist() == NETWORK.empty[NETWORK.pinned].tolist()


def test_runs_with_a_rounding_of_ones_own() -> None:
    environment = IdnEnvironment(NETWORK)
    mine, ours = (simulate(environment, one, runs=4) for one in (Infida(residual=Own()), Infida()))
    assert not mine.compiled
    # Another stream of coins, the same policy: rewards are those of the built-in one.
    assert mine.total.mean() == pytest.approx(ours.total.mean(), rel=0.02)
    again = simulate(environment, Infida(residual=Own()), runs=4)
    np.testing.assert_array_equal(mine.reward, again.reward)
    row, limit = held(0.7)
    kept = Infida(residual=Own(), rows=[(row, limit)], keep="always")
    assert all((row * decision).sum() <= limit for _, decision, _ in ran(NETWORK, kept))
    noisy = Infida(residual=Own(), noise=MessageLoss(0.3))
    assert simulate(environment, noisy, runs=1).reward.shape == (1, NETWORK.horizon)


def test_common_coins_hold_for_a_rounding_of_ones_own() -> None:
    policy = Infida(residual=lambda y, w, *, rng: independent(y, rng=rng), coins="common", step=0.0)
    decisions = [decision for _, decision, _ in ran(NETWORK, policy)]
    assert all(np.array_equal(one, decisions[0]) for one in decisions)
    fresh = [decision for _, decision, _ in ran(NETWORK, Infida(residual=Own(), step=0.0))]
    assert not all(np.array_equal(one, fresh[0]) for one in fresh)


@pytest.mark.parametrize("wrong", [lambda y, w, *, rng: y, lambda y, w, *, rng: np.zeros(1)])
def test_what_is_no_decision_is_refused(wrong) -> None:
    policy = Infida(residual=wrong)
    with pytest.raises(OptionError, match=r"the rounding must return \d+ decisions"):
        policy.decide(policy.start(NETWORK), _slot(), np.random.default_rng(0))
    with pytest.raises(OptionError, match="residual"):
        Infida(residual=3)


@pytest.mark.parametrize(
    ("keeps", "proven"),
    [
        ((), False),
        (("marginals",), False),
        (("correlation",), False),
        (("marginals", "upper correlation"), False),
        (("marginals", "correlation"), True),
        (("marginals", "correlation", "budget"), True),
    ],
)
def test_a_guarantee_needs_marginals_and_correlation(keeps, proven: bool) -> None:
    found = Infida(residual=Own(*keeps)).guarantee(NETWORK)
    assert found.share == pytest.approx((1 - 1 / np.e) * proven)
    assert ("within the budgets" in found.why) == ("budget" in keeps and proven)
    assert proven or found.why.startswith("nothing is proven")


def test_upper_correlation_alone_is_not_enough() -> None:
    """Of four entries of 1/4: marginals and E prod x <= prod y hold, some entry is 1 with 5/8.

    That is below 1 - 1/e of the concave gain min(1, sum y) = 1.
    """
    distribution = {
        x: Fraction(1, 16) for x in itertools.product((0, 1), repeat=4) if sum(x) in (1, 2)
    }
    distribution[0, 0, 0, 0] = 1 - sum(distribution.values())
    for i in range(4):
        assert sum(p for x, p in distribution.items() if x[i]) == Fraction(1, 4)
    for size in (2, 3, 4):
        for chosen in itertools.combinations(range(4), size):
            both = sum(p for x, p in distribution.items() if all(x[i] for i in chosen))
            assert both <= Fraction(1, 4) ** size
    some = 1 - distribution[0, 0, 0, 0]
    assert some == Fraction(5, 8)
    assert some < 1 - 1 / np.e
