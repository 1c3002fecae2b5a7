"""Trees of waiting jobs hold what sorted lists hold, stay flat, and know their sums."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.online.oinc.retraining import waiting as trees
from edgeopt.online.oinc.retraining.waiting import NOBODY, nobody_waits
from tests.draws import draws

if TYPE_CHECKING:
    from edgeopt.online.oinc.retraining.waiting import Waiting

LIST = dict[int, tuple[float, float, float]]
"""Density, work and delay of each job that waits."""


def order(listed: LIST) -> list[int]:
    return sorted(listed, key=lambda job: (-listed[job][0], job))


def walked(waiting: Waiting, job: int) -> list[int]:
    """Return the jobs of a subtree in order, and check that it is balanced."""
    if job == NOBODY:
        return []
    ahead, behind = (walked(waiting, child) for child in waiting.child[job].tolist())
    heights = [0 if child == NOBODY else waiting.height[child] for child in waiting.child[job]]
    assert abs(heights[0] - heights[1]) <= 1
    assert waiting.height[job] == 1 + max(heights)
    return [*ahead, job, *behind]


def check(waiting: Waiting, lists: list[LIST]) -> None:
    for site, listed in enumerate(lists):
        inside = order(listed)
        assert walked(waiting, waiting.root[site]) == inside
        assert trees.densest(waiting, site) == (inside[0] if inside else NOBODY)
        least = min((one[0] for one in listed.values()), default=0.0)
        lightest = [job for job in inside if listed[job][0] == least]
        assert trees.lightest(waiting, site) == (lightest[0] if lightest else NOBODY)
        for density in (0.0, 0.75, 1.0, 1.5, 2.0, 3.0, 9.0):
            ahead, behind = trees.around(waiting, site, density)
            assert ahead == sum(one[1] for one in listed.values() if one[0] >= density)
            assert behind == sum(one[2] for one in listed.values() if one[0] < density)


@settings(max_examples=draws(60))
@given(st.data())
def test_trees_hold_what_lists_hold(data: st.DataObject) -> None:
    jobs, lists = 16, [LIST(), LIST()]
    waiting = nobody_waits(jobs, len(lists))
    whole = st.sampled_from([0.0, 1.0, 1.5, 2.0, 3.0])
    for _ in range(data.draw(st.integers(1, 40))):
        site = data.draw(st.integers(0, 1))
        job = data.draw(st.integers(0, jobs - 1))
        holder = next((at for at, listed in enumerate(lists) if job in listed), None)
        if holder is None:
            brought = (data.draw(whole), data.draw(whole), data.draw(whole))
            lists[site][job] = brought
            trees.insert(waiting, site, job, *brought)
        else:
            del lists[holder][job]
            trees.remove(waiting, holder, job)
        check(waiting, lists)


def test_trees_stay_flat_whatever_the_order_in_which_jobs_come_and_go() -> None:
    jobs = 3000
    rng = np.random.default_rng(0)
    for density in (np.arange(jobs), -np.arange(jobs), np.zeros(jobs), rng.random(jobs)):
        waiting = nobody_waits(jobs, 1)
        for job in range(jobs):
            trees.insert(waiting, 0, job, float(density[job]), 1.0, 1.0)
        assert len(walked(waiting, waiting.root[0])) == jobs
        assert waiting.height[waiting.root[0]] <= 1.4405 * log2(jobs + 2)
        for job in rng.permutation(jobs)[:-10].tolist():
            trees.remove(waiting, 0, job)
        assert len(walked(waiting, waiting.root[0])) == 10
