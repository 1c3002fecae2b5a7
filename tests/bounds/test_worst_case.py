"""The worst instance of an algorithm: against closed forms, coverage, and what cannot be."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from edgeopt.bounds import WorstCase, ratio_of, regret_of
from edgeopt.errors import CertificateError, OptionError
from tests.draws import draws


def buying(price: int) -> np.ndarray:
    """Probabilities to buy on day 1, 2, ... of least ratio (Karlin, Manasse, McGeoch, Owicki)."""
    weight = (1 - 1 / price) ** np.arange(price - 1, -1, -1)
    return weight / weight.sum()


def paid(days: int, price: int, day: np.ndarray) -> np.ndarray:
    """What skis for some days cost if they are bought on a day, 1 a day before."""
    return np.where(days >= day, day - 1 + price, days)


def least(price: int) -> float:
    return 1 / (1 - (1 - 1 / price) ** price)


def rent(price: int):
    return lambda days: min(days, price)


@pytest.mark.parametrize("price", [2, 10, 1000])
def test_ski_rental_has_its_ratio_on_every_instance(price: int) -> None:
    def expected(days: int, rng: object) -> float:
        return float(buying(price) @ paid(days, price, np.arange(1, price + 1)))

    days = [1, 2, price, 5 * price]
    found = ratio_of(expected, days, rent(price), cost=True, guarantee=least(price), runs=1)
    assert found.verdict == "kept"
    assert [case.value for case in found.cases.values()] == pytest.approx([least(price)] * 4)
    assert found.low == found.high == found.value
    assert least(price) < math.e / (math.e - 1)
    if price == 1000:
        assert found.value == pytest.approx(math.e / (math.e - 1), rel=1e-3)


def drawn(days: int, rng: np.random.Generator) -> float:
    return float(paid(days, 10, rng.choice(np.arange(1, 11), p=buying(10))))


DAYS = {"one": 1, "five": 5, "ten": 10, "many": 50}


def test_sampled_ski_rental_covers_its_ratio() -> None:
    found = ratio_of(drawn, DAYS, rent(10), cost=True, guarantee=1.9, runs=2000)
    assert found.verdict == "kept"
    assert found.low < least(10) < found.high
    assert found.high - found.low < 0.15
    assert found.worst == max(found.cases, key=lambda name: found.cases[name].value)
    resolved = [
        ratio_of(drawn, DAYS, rent(10), cost=True, guarantee=promised, runs=2000).verdict
        for promised in (least(10), 1.4)
    ]
    assert resolved == ["not resolved", "broken"]
    again = ratio_of(drawn, DAYS, rent(10), cost=True, runs=2000)
    assert again.value == found.value
    assert again.verdict == "no guarantee"


def test_a_deterministic_strategy_pays_almost_twice() -> None:
    found = ratio_of(lambda days, rng: 19.0 if days >= 10 else days, [3, 10, 99], rent(10),
                     cost=True, guarantee=2 - 1 / 10, runs=1)  # fmt: skip
    assert (found.worst, found.value, found.verdict) == ("1", 1.9, "kept")
    assert "worst of 3 instances" in repr(found)


def test_of_gains_the_least_ratio_is_the_worst() -> None:
    found = ratio_of(lambda i, rng: i, [1.0, 2.0, 3.0], lambda i: SimpleNamespace(bound=4.0),
                     guarantee=lambda i: i / 4, runs=1)  # fmt: skip
    assert (found.value, found.low, found.verdict) == (0.25, 0.25, "kept")
    broken = ratio_of(lambda i, rng: i, [1.0, 2.0], lambda i: 4.0, guarantee=0.3, runs=1)
    assert broken.verdict == "broken"


def test_what_leaves_its_own_guarantee_least_room_is_worst() -> None:
    found = ratio_of(lambda i, rng: i, {"a": 1.0, "b": 3.0}, lambda i: 4.0,
                     guarantee={1.0: 0.1, 3.0: 0.74}.__getitem__, runs=1)  # fmt: skip
    assert found.worst == "b"


@pytest.mark.parametrize("cost", [False, True])
def test_a_value_beyond_its_bound_raises(cost: bool) -> None:
    bound = 1.0 + (0.2 if cost else -0.2)

    def noisy(i: float, rng: np.random.Generator) -> float:
        return rng.normal(1.0, 0.2)

    with pytest.raises(CertificateError, match=r"instance 0: .* is beyond its bound"):
        ratio_of(noisy, [0], lambda i: bound, cost=cost, runs=200)
    with pytest.raises(CertificateError, match="beyond"):
        ratio_of(lambda i, rng: 1.0, [0], lambda i: bound, cost=cost, runs=1)
    # A tight one does not: not in 300 tries, however the noise falls.
    for seed in range(300):
        ratio_of(noisy, [0], lambda i: 1.0, cost=cost, runs=20, rng=seed)
    assert (
        ratio_of(lambda i, rng: 0.1 + 0.2, [0], lambda i: 0.3, cost=cost, runs=1).value > 1 - 1e-9
    )


def test_intervals_cover_all_ratios_together() -> None:
    """Cover .9 of all tries with 12 instances each; each alone would cover .9^12 = .28.

    Intervals of few runs are wider than asked for: they are those of the cautious test.
    """
    truths = {str(k): 1.0 + k / 10 for k in range(12)}
    covered = []
    tries = draws(600)
    for seed in range(tries):
        found = ratio_of(
            lambda i, rng: rng.normal(i, 0.05),
            truths,
            lambda i: 4.0,
            runs=20,
            rng=seed,
            confidence=0.9,
        )
        covered.append(
            all(found.cases[k].low <= t / 4 <= found.cases[k].high for k, t in truths.items())
        )
    assert np.mean(covered) > 0.9 - 5 * math.sqrt(0.09 / tries)


def test_regret_of_coins_is_half_of_the_slots() -> None:
    slots = 200
    found = regret_of(lambda i, rng: rng.random(slots) < 0.5, {"all": slots, "few": slots // 2},
                      lambda i: i, guarantee=0.6 * slots)  # fmt: skip
    assert found.worst == "all"
    assert found.low < slots / 2 < found.high
    assert found.verdict == "kept"
    assert isinstance(found, WorstCase)


def test_regret_of_costs_and_exact_outcomes() -> None:
    costs = {"low": np.ones(4), "high": 2 * np.ones(4)}
    found = regret_of(lambda i, rng: i, costs, lambda i: 3.0, cost=True, runs=1,
                      guarantee=lambda i: 5.0 * i[0])  # fmt: skip
    assert [case.value for case in found.cases.values()] == [1.0, 5.0]
    assert found.worst == "low"  # by 4 of 5, the other by 5 of 10
    # The benchmark need bound nothing.
    assert regret_of(lambda i, rng: i, costs, lambda i: 9.0, cost=True, runs=1).value == -1.0


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"instances": []}, "must not be empty"),
        ({"instances": 3}, "instances"),
        ({"runs": 3}, "must be at least 10, or 1"),
        ({"runs": 0}, "runs = 0"),
        ({"confidence": 1.0}, "confidence"),
        ({"against": lambda i: 0.0}, "instance 0: bound: must be positive"),
        ({"against": lambda i: [1.0, 2.0]}, "instance 0: bound: must be one number"),
        ({"against": lambda i: None}, "instance 0: bound"),
        ({"algorithm": lambda i, rng: np.nan}, "instance 0: .*finite"),
        ({"algorithm": lambda i, rng: "x"}, "instance 0: the algorithm must return numbers"),
        ({"algorithm": lambda i, rng: [1.0, 2.0]}, "must return one number"),
        ({"guarantee": "much"}, "guarantee"),
        ({"rng": -1}, "rng"),
        ({"cost": 1}, "cost"),
    ],
)
def test_bad_input_is_named(change: dict, word: str) -> None:
    given = {"algorithm": lambda i, rng: 0.5, "instances": [0], "against": lambda i: 1.0}
    with pytest.raises(OptionError, match=word):
        ratio_of(**{**given, **change})


def test_an_error_of_the_algorithm_names_the_instance() -> None:
    with pytest.raises(ZeroDivisionError) as failed:
        ratio_of(lambda i, rng: 1 / 0, {"mine": 0}, lambda i: 1.0)
    assert failed.value.__notes__ == ["in the algorithm, on instance mine"]
