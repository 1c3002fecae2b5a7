"""The lines beside a training: proven bounds, held against plans and closed forms."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from edgeopt.instances.edr import generate as edr
from edgeopt.instances.oinc import generate as oinc
from edgeopt.instances.tapfinger import generate as tapfinger
from edgeopt.learning.edr.rounds import LEVELS, TaskEpisode
from edgeopt.learning.oinc.insertion import reward_of
from edgeopt.models.oinc.slot import evaluate, slot_problem, solve_slot
from edgeopt.studies import find_system
from edgeopt.studies.edr.learners import least_share
from edgeopt.studies.oinc.learners import best_reward


@pytest.mark.parametrize("seed", range(3))
def test_no_plan_of_a_slot_has_more_reward_than_its_bound(seed: int) -> None:
    instance = oinc(sites=3, devices=5, slots=20, jobs=2, duty=0.8, rng=seed)
    drawn = np.random.default_rng(seed)
    for slot in np.flatnonzero(instance.active.any(axis=1))[:6]:
        # With little CPU left some objectives are missed, whatever the sites.
        for reserved in (0.0, 0.9):
            problem = slot_problem(instance, slot=int(slot), reserved=reserved)
            most = best_reward(problem)
            every = np.indices((3,) * problem.requests).reshape(problem.requests, -1).T
            tried = every[drawn.permutation(len(every))[:60]]
            found = [reward_of(evaluate(problem, site)) for site in tried]
            best = max(reward_of(solve_slot(problem)), *found)
            assert best <= most + 1e-9
            assert most <= 0.0


def test_the_bound_of_training_is_exact_where_nothing_binds() -> None:
    instance = edr(rng=5, slots=3)
    free = instance.replace(cap=np.full(instance.frames, np.inf))
    episode = TaskEpisode(free)
    episode.room = np.full(free.sites, np.inf)
    cost = np.where(free.active, free.round_cost, np.inf)
    each = free.rounds * np.minimum(cost.min(axis=0), episode.late)
    assert least_share(episode) == pytest.approx(each.sum() / episode.scale.sum(), rel=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
def test_no_training_costs_less_than_its_bound(seed: int) -> None:
    drawn = np.random.default_rng(seed)
    episode = TaskEpisode(edr(rng=seed, slots=3, reuse=("group", "none")[seed]))
    least, costs = least_share(episode), []
    for _ in range(5):
        episode.restart()
        while (tasks := episode.observe()) is not None:
            level = np.array(LEVELS)[drawn.integers(len(LEVELS), size=tasks.rounds.size)]
            wanted = np.ceil(np.minimum(level * tasks.even_rate, tasks.remaining))
            episode.act(wanted.astype(np.int64), np.arange(tasks.rounds.size))
        costs.append(episode.share())
    assert 0.0 < least <= min(costs)


def test_no_scheduler_is_faster_than_the_bound() -> None:
    instances = [tapfinger(rng=seed, tasks=24) for seed in range(3)]
    for entry in find_system("tapfinger").learners:
        fast, bound = entry.references(SimpleNamespace(validation=instances)).values()
        assert 0.8 * fast < bound <= fast
