"""Mirror ascent on a knapsack: the step rules, the driver, and the proven regret."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import InputError, OptionError
from edgeopt.online.mirror_ascent import (
    AdaptiveStep,
    FixedStep,
    KnapsackEntropy,
    KnapsackEuclidean,
    MirrorAscent,
    TheoryStep,
)
from tests.draws import draws, every
from tests.online.mirror_maps import Floats, Line, Map, best_fixed, maps, somewhere

Sequence = Callable[[Map, int, Floats], Floats]


def alternating(mirror: Map, slot: int, point: Floats) -> Floats:
    n = mirror.size.size
    return mirror.size * ((np.arange(n) + slot) % 2)


def worst_for_it(mirror: Map, slot: int, point: Floats) -> Floats:
    """Pay for the items of least weight."""
    gradient = np.zeros_like(point)
    gradient[np.argmin(point)] = mirror.size[np.argmin(point)]
    return gradient


def turning(mirror: Map, slot: int, point: Floats) -> Floats:
    """One item is good for long, then the next one."""
    gradient = np.zeros_like(point)
    chosen = (slot // 25) % point.size
    gradient[chosen] = mirror.size[chosen]
    return gradient


def growing(mirror: Map, slot: int, point: Floats) -> Floats:
    """Most of it comes at the end, and nothing at the start."""
    return mirror.size * np.sin(np.arange(point.size) + slot**2) * max(0, slot - 5) / 100.0


def charged(mirror: Map, slot: int, point: Floats) -> Floats:
    """What is used most is dear: gains fall with it."""
    return mirror.size * (0.4 - point) * (1 + slot % 3)


SEQUENCES = [alternating, worst_for_it, turning, growing, charged]


def run_policy(
    ascent: MirrorAscent, mirror: Map, sequence: Sequence, slots: int, start: Floats | None = None
) -> tuple[float, float]:
    """Return the regret and its bound."""
    state, earned, total = ascent.start(start), 0.0, np.zeros(mirror.size.size)
    for slot in range(slots):
        gradient = sequence(mirror, slot, state.point)
        earned += float(gradient @ state.point)
        total += gradient
        state = ascent.update(state, gradient)
    np.testing.assert_allclose(state.total, total)
    return best_fixed(total, mirror) - earned, ascent.regret_bound(state)


@settings(max_examples=draws(25))
@given(maps(), st.sampled_from([0.01, 0.3, 3.0]), st.sampled_from(["mirror", "leader"]))
def test_regret_at_a_fixed_rate_keeps_its_bound(
    drawn: tuple[Map, np.random.Generator], rate: float, kind: str
):
    mirror, _ = drawn
    for sequence in SEQUENCES:
        regret, bound = run_policy(
            MirrorAscent(mirror, FixedStep(rate), kind), mirror, sequence, 120
        )
        assert regret <= bound + 1e-9


@settings(max_examples=draws(25))
@given(maps(), st.sampled_from([0.5, 1.0, 10.0]))
def test_regret_of_the_leader_keeps_its_bound_at_adaptive_rates(
    drawn: tuple[Map, np.random.Generator], scale: float
):
    mirror, _ = drawn
    for sequence in SEQUENCES:
        ascent = MirrorAscent(mirror, AdaptiveStep(scale), "leader")
        regret, bound = run_policy(ascent, mirror, sequence, 120)
        assert regret <= bound + 1e-9


@settings(max_examples=draws(25))
@given(maps())
def test_regret_of_the_default_keeps_its_bound_from_any_start(
    drawn: tuple[Map, np.random.Generator],
):
    mirror, rng = drawn
    ascent = MirrorAscent(mirror)
    for sequence in SEQUENCES:
        for start in (None, somewhere(mirror, rng)):
            regret, bound = run_policy(ascent, mirror, sequence, 120, start)
            assert regret <= bound + 1e-9 < np.inf


def test_bound_of_the_default_grows_as_the_root_of_time():
    """Norms of 1/2: at most 2 sqrt(D / kappa) times the root of their squares, and one slot."""
    mirror = KnapsackEntropy(np.ones(10), 1.0)
    for slots in (100, 400):
        ascent = MirrorAscent(mirror)
        regret, bound = run_policy(ascent, mirror, worst_for_it, slots)
        closed = 2 * math.sqrt(mirror.diameter / mirror.convexity * slots / 4)
        assert 0.9 * closed <= bound <= closed + mirror.width
        assert 0 < regret <= bound


def test_nothing_is_proven_for_rates_that_rise_change_or_forget():
    mirror = KnapsackEntropy([1.0, 2.0, 3.0], 2.0)

    class Rising:
        def rate(self, mirror: object, squares: float) -> float:
            return 0.1 * squares

    class Stopping:
        def rate(self, mirror: object, squares: float) -> float:
            return 0.1 if squares < 1.0 else 0.0

    for rule, ascent, discount, finite in (
        (AdaptiveStep(), "leader", 1.0, True),
        (AdaptiveStep(), "mirror", 1.0, False),
        (FixedStep(0.1), "mirror", 1.0, True),
        (AdaptiveStep(), "leader", 0.9, False),
        (Rising(), "leader", 1.0, False),
        (Stopping(), "leader", 1.0, False),
    ):
        method = MirrorAscent(mirror, rule, ascent, discount)
        state = method.start()
        assert method.regret_bound(state) == 0.0
        for _ in range(6):
            state = method.update(state, [1.0, 0.0, 0.0])
        assert (method.regret_bound(state) < np.inf) is finite


@settings(max_examples=draws(25))
@given(maps(), st.integers(1, 200))
def test_theory_rate_gives_the_closed_form(drawn: tuple[Map, np.random.Generator], slots: int):
    mirror, _ = drawn
    largest = max(mirror.dual_norm(row) for row in np.diag(mirror.size))
    rule = TheoryStep(largest, slots)
    guaranteed = largest * math.sqrt(2 * mirror.diameter * slots / mirror.convexity)
    for sequence in (worst_for_it, turning):
        regret, bound = run_policy(MirrorAscent(mirror, rule), mirror, sequence, slots)
        assert regret <= bound + 1e-9
        assert bound <= guaranteed * (1 + 1e-9)
    rate = rule.rate(mirror, 0.0)
    whole = mirror.diameter / rate + rate * slots * largest**2 / (2 * mirror.convexity)
    assert whole == pytest.approx(guaranteed)


@pytest.mark.parametrize(("n", "slots"), every(2, [(2, 500), (100, 1000), (10, 300)], rows=True))
def test_prediction_with_experts(n: int, slots: int):
    """Unit sizes, budget 1, gains 0 or 1: the constant that no algorithm improves for many n."""
    mirror = KnapsackEntropy(np.ones(n), 1.0)
    rule = TheoryStep(0.5, slots)
    known = math.sqrt(slots * math.log(n) / 2)
    assert rule.rate(mirror, 0.0) == pytest.approx(math.sqrt(8 * math.log(n) / slots))
    coins = np.random.default_rng(n).integers(0, 2, (slots, n)).astype(float)

    def tossed(mirror: Map, slot: int, point: Floats) -> Floats:
        return coins[slot]

    for sequence in (tossed, worst_for_it):
        regret, bound = run_policy(MirrorAscent(mirror, rule), mirror, sequence, slots)
        assert regret <= bound <= known * (1 + 1e-12)
        if sequence is tossed:
            # Coins alone cost any algorithm a good part of it.
            assert regret >= 0.25 * known
        else:
            assert bound == pytest.approx(known)


def test_theory_rate_equals_that_of_a_node():
    """With range sigma of g/s: sqrt(8 D / (b T)) / sigma."""
    mirror = KnapsackEntropy([3.0, 4.0, 5.0], 4.0)
    expected = math.sqrt(8 * 4.0 * math.log(3.0) / (4.0 * 50)) / 7.0
    assert TheoryStep(3.5, 50).rate(mirror, 0.0) == pytest.approx(expected)
    spread = [2.0, 7.0]
    expected = 10 * math.sqrt(8 * math.log(3.0) / sum(r**2 for r in spread))
    rate = AdaptiveStep(10.0).rate(mirror, sum((r / 2) ** 2 for r in spread))
    assert rate == pytest.approx(expected)


def test_gradients_along_the_sizes_are_nothing_to_a_filled_budget():
    """Up to rounding, which must not be taken for a direction."""
    rng = np.random.default_rng(0)
    for kind in (KnapsackEntropy, KnapsackEuclidean):
        for _ in range(20):
            mirror = kind(rng.uniform(0.2, 3.0, 7), 2.0)
            ascent = MirrorAscent(mirror)
            state = ascent.update(ascent.start(), 0.3 * mirror.size)
            assert state.rate == 0.0
            assert ascent.update(state, 0.3 * mirror.size + np.eye(7)[0]).rate > 0.0


def test_no_step_while_nothing_is_known():
    mirror = KnapsackEntropy([1.0, 2.0, 3.0], 2.0)
    for kind in ("mirror", "leader"):
        ascent = MirrorAscent(mirror, AdaptiveStep(), kind)
        state = ascent.update(ascent.start(), np.zeros(3))
        np.testing.assert_array_equal(state.point, mirror.centre())
        assert state.rate == 0.0
        assert state.slot == 1
        state = ascent.update(state, np.array([1.0, 0.0, 0.0]))
        assert state.rate > 0
        assert state.point[0] > mirror.centre()[0]


def test_both_ascents_agree_while_nothing_is_capped():
    """In the entropy the exponents add up until an entry reaches 1."""
    mirror = KnapsackEntropy(np.array([1.0, 2.0, 3.0, 4.0]), 1.0)
    rng = np.random.default_rng(3)
    by_steps, by_sums = (MirrorAscent(mirror, FixedStep(0.1), k) for k in ("mirror", "leader"))
    one, two = by_steps.start(), by_sums.start()
    for _ in range(20):
        gradient = rng.uniform(0, 2, 4)
        one, two = by_steps.update(one, gradient), by_sums.update(two, gradient)
        assert one.point.max() < 1
        np.testing.assert_allclose(one.point, two.point, rtol=1e-12)


def test_states_are_left_as_they_were():
    ascent = MirrorAscent(KnapsackEuclidean([1.0, 2.0], 1.0), FixedStep(1.0))
    start = ascent.start()
    before = start.point.copy(), start.total.copy()
    ascent.update(start, np.array([1.0, 0.0]))
    np.testing.assert_array_equal(start.point, before[0])
    np.testing.assert_array_equal(start.total, before[1])


def test_three_members_make_a_map():
    for rule, expected in ((FixedStep(0.5), -0.5), (AdaptiveStep(2.0, reach=3.0), -1.2)):
        ascent = MirrorAscent(Line(), rule)
        state = ascent.update(ascent.update(ascent.start(), [3.0]), [-4.0])
        assert state.point.tolist() == pytest.approx([expected])
        with pytest.raises(OptionError, match="regret_bound needs its convexity"):
            ascent.regret_bound(state)
    assert MirrorAscent(Line(), FixedStep(0.5)).start([7.0]).point.tolist() == [7.0]


def test_rules_say_which_member_they_miss():
    with pytest.raises(OptionError, match=r"AdaptiveStep.*convexity: 'Line'"):
        MirrorAscent(Line()).start()

    class Curved(Line):
        convexity = 1.0

    with pytest.raises(OptionError, match="TheoryStep needs its diameter"):
        MirrorAscent(Curved(), TheoryStep(1.0, 5)).start()

    class Wide(Curved):
        diameter = width = 1.0

    ascent = MirrorAscent(Wide())
    assert ascent.regret_bound(ascent.update(ascent.start(), [1.0])) < np.inf
    with pytest.raises(OptionError, match="regret_bound needs its farthest"):
        ascent.regret_bound(ascent.update(ascent.start([0.5]), [1.0]))


AHEAD = MirrorAscent(KnapsackEntropy([1.0, 1.0], 1.0))


@pytest.mark.parametrize(
    ("make", "error", "named"),
    [
        (lambda: KnapsackEntropy([1.0, 0.0], 1.0), InputError, r"size\[1\]"),
        (lambda: KnapsackEuclidean([np.inf, 1.0], 1.0), InputError, r"size\[0\]"),
        (lambda: KnapsackEntropy([], 1.0), InputError, "size"),
        (lambda: KnapsackEntropy([1.0], -1.0), InputError, "budget"),
        (lambda: KnapsackEntropy([1.0], np.nan), InputError, "budget"),
        (lambda: KnapsackEuclidean([1.0], 0.5).project([np.nan]), InputError, "point"),
        (lambda: FixedStep(-1.0), OptionError, "value"),
        (lambda: TheoryStep(np.inf, 3), OptionError, "largest"),
        (lambda: TheoryStep(1.0, 0), OptionError, "horizon"),
        (lambda: AdaptiveStep(0.0), OptionError, "scale"),
        (lambda: MirrorAscent(KnapsackEntropy([1.0], 1.0), FixedStep(1.0), "down"), OptionError,
         "ascent"),
        (lambda: KnapsackEntropy([1.0], 1.0, "no"), OptionError, "fill"),
        (lambda: TheoryStep([1.0, -1.0], 3), OptionError, "largest"),
        (lambda: TheoryStep([1.0, 1.0], 3).rate(KnapsackEntropy([1.0], 1.0), 0.0), OptionError,
         "largest: 2 bounds"),
        (lambda: AdaptiveStep(reach=-1.0), OptionError, "reach"),
        (lambda: AHEAD.start([0.5]), InputError, "must have shape"),
        (lambda: AHEAD.start([0.5, np.nan]), InputError, r"point\[1\]"),
        (lambda: AHEAD.start([0.5, 0.6]), InputError, "must lie in the set"),
        (lambda: AHEAD.start([1.5, -0.5]), InputError, r"point\[1\]"),
    ],
)  # fmt: skip
def test_bad_input_is_named(make: Callable[[], object], error: type[Exception], named: str):
    with pytest.raises(error, match=named):
        make()


@pytest.mark.parametrize("gradient", [[1.0], [np.nan, 1.0], [[1.0, 2.0]]])
def test_bad_gradients_are_named(gradient: list[float]):
    ascent = MirrorAscent(KnapsackEntropy([1.0, 2.0], 1.0), FixedStep(1.0))
    with pytest.raises(InputError, match="gradient"):
        ascent.update(ascent.start(), np.array(gradient))


def test_mirror_steps_from_its_point_and_the_leader_from_the_start() -> None:
    mirror = KnapsackEuclidean(np.ones(3), 1.0)
    gradients = np.array([[9.0, 0.0, -3.0], [-4.0, 2.0, 1.0]])
    for kind in ("mirror", "leader"):
        ascent = MirrorAscent(mirror, FixedStep(0.5), kind)
        start = ascent.start([0.5, 0.1, 0.4])
        assert start.point.tolist() == start.origin.tolist() == [0.5, 0.1, 0.4]
        first = ascent.update(start, gradients[0])
        last = ascent.update(first, gradients[1])
        origin, direction = (
            (first.origin, gradients.sum(axis=0))
            if kind == "leader"
            else (first.point, gradients[1])
        )
        assert last.point.tolist() == mirror.step(origin, direction, 0.5).tolist()
    assert first.point.max() == 1.0
