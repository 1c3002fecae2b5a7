"""Mirror ascent: the geometry of both maps, the step rules, and the proven regret."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from edgeopt.errors import InputError, OptionError
from edgeopt.online.knapsack_projection import project_knapsack_entropy
from edgeopt.online.mirror_ascent import (
    AdaptiveStep,
    FixedStep,
    KnapsackEntropy,
    KnapsackEuclidean,
    MirrorAscent,
    MirrorMap,
    TheoryStep,
    regret_bound,
)
from tests.draws import draws

Floats = NDArray[np.float64]
Map = KnapsackEntropy | KnapsackEuclidean


@st.composite
def maps(draw: st.DrawFn) -> tuple[Map, np.random.Generator]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = rng.uniform(0.2, 3.0, draw(st.integers(2, 8)))
    kind = draw(st.sampled_from([KnapsackEntropy, KnapsackEuclidean]))
    share = draw(st.sampled_from([0.02, 0.2, 0.5, 0.8, 0.98]))
    return kind(size, share * float(size.sum())), rng


def somewhere(mirror: Map, rng: np.random.Generator, decades: float = 3.0) -> Floats:
    """Draw a point of the set, near its faces as often as not."""
    n = mirror.size.size
    point = 10.0 ** rng.uniform(-rng.uniform(0, decades), 0, n)
    return project_knapsack_entropy(point, mirror.size, mirror.budget)


def norm(mirror: Map, move: Floats) -> float:
    if isinstance(mirror, KnapsackEntropy):
        return float(mirror.size @ np.abs(move))
    return float(np.sqrt(mirror.size @ move**2))


def best_fixed(total: Floats, mirror: Map) -> float:
    """Fill the budget with the items that earn most per size."""
    left, earned = mirror.budget, 0.0
    for m in np.argsort(-total / mirror.size):
        part = min(1.0, left / mirror.size[m])
        earned += part * total[m]
        left -= part * mirror.size[m]
    return earned


@given(maps())
def test_divergence_is_at_least_half_the_squared_norm(drawn: tuple[Map, np.random.Generator]):
    mirror, rng = drawn
    y, z = somewhere(mirror, rng), somewhere(mirror, rng)
    assert mirror.divergence(y, z) >= mirror.convexity / 2 * norm(mirror, y - z) ** 2 - 1e-12
    assert mirror.divergence(y, y) == pytest.approx(0.0, abs=1e-12)


def test_no_larger_convexity_is_valid_for_the_entropy():
    """Halves of equal mass, moved against each other by little."""
    mirror = KnapsackEntropy([1.0, 2.0, 3.0, 4.0], 3.0)
    centre = mirror.centre()
    move = 1e-4 * np.array([1.0, -1.0, -1.0, 1.0]) * centre
    ratio = mirror.divergence(centre + move, centre) / norm(mirror, move) ** 2
    assert ratio == pytest.approx(mirror.convexity / 2, rel=1e-3)


@given(maps())
def test_diameter_and_width_bound_the_set(drawn: tuple[Map, np.random.Generator]):
    mirror, rng = drawn
    y, z = somewhere(mirror, rng, 30.0), somewhere(mirror, rng, 30.0)
    assert mirror.divergence(y, mirror.centre()) <= mirror.diameter * (1 + 1e-12)
    assert norm(mirror, y - z) <= mirror.width * (1 + 1e-12)


@pytest.mark.parametrize("kind", [KnapsackEntropy, KnapsackEuclidean])
def test_whole_choices_attain_diameter_and_width(kind: type[Map]):
    mirror = kind([1.0, 2.0, 3.0, 2.0], 4.0)
    low, high = np.array([1.0, 0.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.0, 1.0])
    assert mirror.divergence(low, mirror.centre()) == pytest.approx(mirror.diameter)
    assert norm(mirror, low - high) == pytest.approx(mirror.width)


@given(maps())
def test_dual_norm_bounds_what_a_move_earns_and_is_attained(
    drawn: tuple[Map, np.random.Generator],
):
    mirror, rng = drawn
    gradient = rng.normal(size=mirror.size.size)
    move = somewhere(mirror, rng) - somewhere(mirror, rng)
    assert gradient @ move <= mirror.dual_norm(gradient) * norm(mirror, move) + 1e-12
    worth = gradient / mirror.size
    if isinstance(mirror, KnapsackEntropy):
        move = np.zeros_like(worth)
        move[np.argmax(worth)] += 1.0
        move[np.argmin(worth)] -= 1.0
        move /= mirror.size
    else:
        move = worth - np.average(worth, weights=mirror.size)
    assert mirror.size @ move == pytest.approx(0.0, abs=1e-12)
    assert gradient @ move == pytest.approx(mirror.dual_norm(gradient) * norm(mirror, move))
    shifted = gradient + 7.0 * mirror.size
    assert mirror.dual_norm(shifted) == pytest.approx(mirror.dual_norm(gradient))


@given(maps())
def test_a_step_maximises_its_objective(drawn: tuple[Map, np.random.Generator]):
    mirror, rng = drawn
    start, gradient = somewhere(mirror, rng), rng.normal(size=mirror.size.size)
    rate = 10.0 ** rng.uniform(-2, 1)
    reached = mirror.step(start, gradient, rate)
    assert mirror.size @ reached == pytest.approx(mirror.budget, rel=1e-12)
    assert ((reached >= 0) & (reached <= 1)).all()

    def objective(y: Floats) -> float:
        return rate * float(gradient @ y) - mirror.divergence(y, start)

    other = somewhere(mirror, rng)
    for part in (1.0, 0.1, 1e-3):
        assert objective(reached + part * (other - reached)) <= objective(reached) + 1e-10


@given(maps(), st.floats(-3, 3))
def test_euclidean_projection_clips_at_one_level(
    drawn: tuple[Map, np.random.Generator], offset: float
):
    face, rng = drawn
    mirror = KnapsackEuclidean(face.size, face.budget)
    target = rng.normal(scale=rng.choice([0.1, 1.0, 10.0]), size=mirror.size.size) + offset
    if rng.random() < 0.3:
        target = np.round(target)
    result = mirror.project(target)
    low, high = target.min() - 1.0, target.max()
    for _ in range(100):
        level = (low + high) / 2
        if mirror.size @ np.clip(target - level, 0.0, 1.0) > mirror.budget:
            low = level
        else:
            high = level
    np.testing.assert_allclose(result, np.clip(target - high, 0.0, 1.0), atol=1e-12)
    assert mirror.size @ result == pytest.approx(mirror.budget, rel=1e-12)


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


SEQUENCES = [alternating, worst_for_it, turning, growing]


def run_policy(
    ascent: MirrorAscent, mirror: Map, sequence: Sequence, slots: int
) -> tuple[float, float]:
    """Return the regret and its bound."""
    state, earned, total = ascent.start(), 0.0, np.zeros(mirror.size.size)
    norms, rates = [], []
    for slot in range(slots):
        gradient = sequence(mirror, slot, state.point)
        earned += float(gradient @ state.point)
        total += gradient
        norms.append(mirror.dual_norm(gradient))
        rates.append(state.rate)
        state = ascent.update(state, gradient)
    if isinstance(ascent.rule, FixedStep | TheoryStep):
        rates[0] = ascent.rule.rate(mirror, 0.0)
    np.testing.assert_allclose(state.total, total)
    return best_fixed(total, mirror) - earned, regret_bound(mirror, norms, rates)


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


@pytest.mark.parametrize(("n", "slots"), [(2, 500), (10, 300), (100, 1000)])
def test_prediction_with_experts(n: int, slots: int):
    """Unit sizes, budget 1, gains 0 or 1: the constant that no algorithm improves for many n."""
    mirror = KnapsackEntropy(np.ones(n), 1.0)
    rule = TheoryStep(0.5, slots)
    known = math.sqrt(slots * math.log(n) / 2)
    assert rule.rate(mirror, 0.0) == pytest.approx(math.sqrt(8 * math.log(n) / slots))
    coins = np.random.default_rng(n).integers(0, 2, (slots, n)).astype(float)

    def tossed(mirror: Map, slot: int, point: Floats) -> Floats:
        return coins[slot]

    norms = np.full(slots, 0.5)
    rates = np.full(slots, rule.rate(mirror, 0.0))
    unclipped = regret_bound(mirror, norms, rates)
    assert unclipped == pytest.approx(known)
    for sequence in (tossed, worst_for_it):
        regret, _ = run_policy(MirrorAscent(mirror, rule), mirror, sequence, slots)
        assert regret <= known
        if sequence is tossed:
            # Coins alone cost any algorithm a good part of it.
            assert regret >= 0.25 * known


def test_theory_rate_equals_that_of_a_node():
    """With range sigma of g/s: sqrt(8 D / (b T)) / sigma."""
    mirror = KnapsackEntropy([3.0, 4.0, 5.0], 4.0)
    expected = math.sqrt(8 * 4.0 * math.log(3.0) / (4.0 * 50)) / 7.0
    assert TheoryStep(3.5, 50).rate(mirror, 0.0) == pytest.approx(expected)
    spread = [2.0, 7.0]
    expected = 10 * math.sqrt(8 * math.log(3.0) / sum(r**2 for r in spread))
    rate = AdaptiveStep().rate(mirror, sum((r / 2) ** 2 for r in spread))
    assert rate == pytest.approx(expected)


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


@pytest.mark.parametrize("kind", [KnapsackEntropy, KnapsackEuclidean])
@pytest.mark.parametrize("budget", [0.0, 6.0, 100.0, np.inf])
def test_sets_of_one_point(kind: type[Map], budget: float):
    mirror = kind([1.0, 2.0, 3.0], budget)
    point = np.ones(3) if budget else np.zeros(3)
    np.testing.assert_array_equal(mirror.centre(), point)
    assert mirror.diameter == 0.0
    assert mirror.width == 0.0
    np.testing.assert_array_equal(mirror.step(point, np.array([1.0, -5.0, 2.0]), 3.0), point)
    for rule in (TheoryStep(1.0, 10), AdaptiveStep()):
        ascent = MirrorAscent(mirror, rule)
        state = ascent.update(ascent.start(), np.array([1.0, 0.0, 0.0]))
        np.testing.assert_array_equal(state.point, point)


def test_states_are_left_as_they_were():
    ascent = MirrorAscent(KnapsackEuclidean([1.0, 2.0], 1.0), FixedStep(1.0))
    start = ascent.start()
    before = start.point.copy(), start.total.copy()
    ascent.update(start, np.array([1.0, 0.0]))
    np.testing.assert_array_equal(start.point, before[0])
    np.testing.assert_array_equal(start.total, before[1])


def test_maps_follow_the_protocol():
    mirrors: list[MirrorMap] = [KnapsackEntropy([1.0], 0.5), KnapsackEuclidean([1.0], 0.5)]
    for mirror, other in itertools.product(mirrors, ([0.5], [1.0])):
        assert mirror.divergence(np.array(other), np.array(other)) == 0.0


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
        (lambda: regret_bound(KnapsackEntropy([1.0], 0.5), [1.0], [1.0, 1.0]), InputError, "rates"),
        (lambda: regret_bound(KnapsackEntropy([1.0], 0.5), [1.0] * 2, [1.0, 2.0]), InputError,
         "increase"),
        (lambda: regret_bound(KnapsackEntropy([1.0], 0.5), [1.0, -1.0], [1.0, 1.0]), InputError,
         r"norms\[1\]"),
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


def test_mirror_steps_from_its_point_and_the_leader_from_the_centre() -> None:
    mirror = KnapsackEuclidean(np.ones(3), 1.0)
    gradients = np.array([[9.0, 0.0, -3.0], [-4.0, 2.0, 1.0]])
    for kind in ("mirror", "leader"):
        ascent = MirrorAscent(mirror, FixedStep(0.5), kind)
        first = ascent.update(ascent.start(), gradients[0])
        last = ascent.update(first, gradients[1])
        origin, direction = (
            (mirror.centre(), gradients.sum(axis=0))
            if kind == "leader"
            else (first.point, gradients[1])
        )
        assert last.point.tolist() == mirror.step(origin, direction, 0.5).tolist()
    assert first.point.max() == 1.0
