"""The bound for plans without foresight: its parts, its error, and policies that it bounds."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.edr import EdrDistribution, EdrInstance, generate
from edgeopt.models.edr import bounds as informed
from edgeopt.models.edr import informed_bound, late_price
from edgeopt.models.edr.bounds import (
    _coming,
    _costs,
    ascend,
    frame_prices,
    outcome_values,
)
from edgeopt.models.edr.training import informed_value, room_prices, stopping
from tests.draws import LEAN, draws, every
from tests.models.edr.test_waiting import drawn

SMALL = {"sites": 4, "tasks": 3, "frames": 12, "slots": 2, "distribution": True}


def test_parts_by_outcome_have_the_bound_as_their_mean() -> None:
    rng = np.random.default_rng(3)
    for _ in range(draws(100)):
        coming = drawn(rng)
        price = rng.uniform(0, 1, coming.cost.shape[1:])
        parts = outcome_values(coming, price)
        assert parts.mean() == pytest.approx(informed_value(coming, price), abs=1e-12)


def test_ascent_raises_the_bound_of_most_instances() -> None:
    """Above the fluid answer and one step; not of all, as what outcomes cost is a rule of thumb."""
    above = []
    for seed in range(12):
        instance = generate(**SMALL, rng=seed)
        coming = _coming(instance, _costs(instance, 8, np.random.default_rng(seed)))
        fluid = room_prices(coming)
        first, plans = (ascend(coming, fluid.price, steps) for steps in (1, 100))
        assert (len(first), len(plans)) == (1, 10)
        after, once = (informed_value(coming, frame_prices(coming, it)) for it in (plans, first))
        above.append((after > informed_value(coming, fluid.price), after > once))
    assert (np.mean(above, axis=0) > 0.5).all()


def test_room_is_worth_what_the_last_round_that_fits_would_gain() -> None:
    rng, scarce = np.random.default_rng(5), 0
    for _ in range(draws(100)):
        coming = drawn(rng)
        plan = stopping(coming, room_prices(coming).price)
        price = frame_prices(coming, [plan])
        assert (price >= 0).all()
        heavy = coming.weight > 0
        for h, q in np.ndindex(price.shape):
            here = heavy & coming.usable[:, h]
            wanted = coming.weight[here] * plan.left[here, h]
            gain = (plan.value[here, h + 1] - coming.cost[here, h, q]) / coming.weight[here]
            # Above the price rounds fit; with those that gain just the price they do not.
            assert wanted[gain > price[h, q] + 1e-12].sum() <= coming.cap[h] + 1e-12
            if price[h, q] > 0:
                assert wanted[gain >= price[h, q] - 1e-12].sum() > coming.cap[h]
                scarce += 1
    assert scarce > 0


def threshold_cost(instance: EdrInstance, runs: int) -> np.ndarray:
    """Train all that fits the sites when it costs less than usual, and in the last frame."""
    assert instance.distribution is not None
    room = instance.slots * instance.capacity
    sites = (instance.round_work / room).max(axis=1)
    usual = [instance.distribution.redrawn(instance, g) for g in np.random.default_rng(7).spawn(20)]
    level = np.quantile([one.round_cost for one in usual], 0.2, axis=(0, 1))
    costs = np.zeros(runs)
    for run, own in enumerate(np.random.default_rng(8).spawn(runs)):
        cost = instance.distribution.redrawn(instance, own).round_cost
        left = instance.rounds.astype(float)
        for t in range(instance.frames):
            space = 1.0
            for i in np.argsort(instance.deadline):
                open_now = instance.active[t, i]
                if open_now and (cost[t, i] <= level[i] or t == instance.deadline[i]):
                    done = min(left[i], space / sites[i])
                    left[i], space = left[i] - done, space - done * sites[i]
                    costs[run] += done * cost[t, i]
        costs[run] += late_price(instance) @ left
    return costs


@pytest.mark.parametrize("reuse", every(2, ["group", "none"]))
def test_policies_without_foresight_cost_at_least_the_bound(reuse: str) -> None:
    """And knowing the future is worth something where channels vary."""
    instance = generate(rng=1, reuse=reuse, capped=None, **SMALL | {"sites": 12})
    found = informed_bound(instance, draws=64)
    costs = threshold_cost(instance, 60)
    error = costs.std(ddof=1) / np.sqrt(costs.size)
    assert costs.mean() + 3 * error >= found.bound - found.serving
    # It is not idle either, and more than what a plan costs that knows the future.
    assert found.training > 0.5 * costs.mean()
    if reuse == "group":
        assert found.foresight > 2 * found.foresight_error


def test_one_small_task_stops_where_the_law_says() -> None:
    """Without congestion the bound is the value of stopping, here by many draws of each frame."""
    instance = generate(rng=2, capped=None, **SMALL | {"tasks": 1})
    instance = instance.replace(rounds=np.ones(1, dtype=int))
    assert instance.distribution is not None
    many = [
        instance.distribution.redrawn(instance, g).round_cost
        for g in np.random.default_rng(9).spawn(200 if LEAN else 400)
    ]
    value = 2 * instance.round_cost[instance.active[:, 0], 0].mean()
    for t in range(int(instance.deadline[0]), int(instance.arrival[0]) - 1, -1):
        value = np.minimum([one[t, 0] for one in many], value).mean()
    found = informed_bound(instance, draws=64 if LEAN else 128, steps=10)
    assert found.training == pytest.approx(value, abs=4 * found.training_error)


def test_the_bound_is_estimated_on_other_draws_than_its_prices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drew: list[np.ndarray] = []
    costs = informed._costs

    def recorded(*given: Any) -> np.ndarray:
        drew.append(costs(*given))
        return drew[-1]

    monkeypatch.setattr(informed, "_costs", recorded)
    instance = generate(rng=3, **SMALL)
    found = informed_bound(instance, draws=4, steps=5)
    assert len(drew) == 2
    assert (drew[0] != drew[1]).any()
    paths = [room_prices(informed._coming(instance, drew[1][:, :, [q]])).value for q in range(4)]
    assert found.hindsight == pytest.approx(np.mean(paths))


@pytest.mark.long
def test_the_standard_error_is_that_of_repeated_estimates() -> None:
    instance = generate(rng=3, **SMALL)
    found = [
        informed_bound(instance, draws=16, steps=20, rng=seed) for seed in range(12 if LEAN else 24)
    ]
    spread = np.std([one.training for one in found], ddof=1)
    claimed = np.mean([one.training_error for one in found])
    assert 0.6 < claimed / spread < 1.6
    assert found[0].bound == found[0].value - 2 * found[0].training_error


def test_the_same_seed_gives_the_same_bound() -> None:
    instance = generate(rng=3, **SMALL)
    twice = [replace(informed_bound(instance, draws=8, steps=5), seconds=0.0) for _ in range(2)]
    assert repr(twice[0]) == repr(twice[1])


def test_nothing_to_train_costs_what_serving_costs() -> None:
    found = informed_bound(generate(rng=3, **SMALL | {"tasks": 0}), draws=2)
    assert found.training == found.foresight == found.training_error == 0
    assert found.bound == found.serving > 0


def test_an_instance_without_a_law_has_no_such_bound() -> None:
    with pytest.raises(OptionError, match="how channels and prices are drawn"):
        informed_bound(generate(rng=3, **SMALL | {"distribution": False}))
    with pytest.raises(OptionError):
        informed_bound(generate(rng=3, **SMALL), draws=1)


def test_a_law_changes_nothing_else_and_is_kept_in_files(tmp_path) -> None:
    plain, given = (
        generate(rng=5, **SMALL | {"sites": 12, "distribution": distribution})
        for distribution in (False, True)
    )
    assert (
        given.replace(distribution=None).fingerprint() == plain.fingerprint() != given.fingerprint()
    )
    given.save(tmp_path / "given.nc")
    assert EdrInstance.load(tmp_path / "given.nc").fingerprint() == given.fingerprint()
    again = given.distribution.redrawn(given, np.random.default_rng(0))
    changed = {
        one.name
        for one in fields(given)
        if isinstance(getattr(given, one.name), np.ndarray)
        and not np.array_equal(getattr(given, one.name), getattr(again, one.name))
    }
    assert changed == {"rate", "price"}
    quiet = given.replace(distribution=EdrDistribution(reuse="none")).distribution.redrawn(
        given, np.random.default_rng(0)
    )
    assert (quiet.rate >= again.rate).all()
    assert (quiet.rate > again.rate).any()
    with pytest.raises(InstanceError, match=r"distribution\.reuse"):
        EdrDistribution(reuse="nobody")
