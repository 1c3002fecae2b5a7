"""Bounds on plans without foresight, against the best plan over all nodes of a tree."""

from dataclasses import replace

import numpy as np
import pytest
from edgeopt_papers.edr.claims.waiting import coin, multistage_optimum, scenario_tree

from edgeopt.bounds import check
from edgeopt.models.edr.training import informed_value, room_prices
from tests.draws import draws


def test_bounds_hold_on_scenario_trees():
    """At fifteen prices each; where prices matter, some of the bounds are above the fluid one."""
    better = 0
    for seed in range(100, 100 + draws(100)):
        tree = scenario_tree(seed)
        for found in check(["edr.informed_bound", "edr.informed_bound.fluid"], tree):
            assert found.verdict == "holds", (seed, found)
        fluid = room_prices(tree)
        better += informed_value(tree, fluid.price) > fluid.value * (1 + 1e-6)
    assert better > 0


def test_a_coin_is_waited_for_one_frame_after_the_other():
    for frames in (1, 2, 5):
        tree = coin(frames)
        assert multistage_optimum(tree) == pytest.approx(0.5**frames)
        assert informed_value(tree, np.zeros((frames, 2))) == 0.5**frames
        assert room_prices(tree).value == 0


def test_two_rounds_that_exclude_each_other():
    """One of them has a place in each frame: all costs are certain, and so is the optimum."""
    tree = replace(
        coin(2),
        cost=np.array([[[1.0], [3.0]], [[2.0], [5.0]]]), weight=np.ones(2), remaining=np.ones(2),
        late=np.full(2, 9.0), first=np.zeros(2, int), last=np.ones(2, int),
    )  # fmt: skip
    assert multistage_optimum(tree) == pytest.approx(5.0)  # 2 in the first, 3 in the second
    assert informed_value(tree, room_prices(tree).price) == pytest.approx(5.0)
