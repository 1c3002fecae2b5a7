"""The insertion actor without PyTorch: its distributions, its samples, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import InputError, OptionError
from edgeopt.instances.oinc import generate
from edgeopt.learning import Checkpoint
from edgeopt.learning.oinc import InsertionActor, shipped
from edgeopt.learning.oinc.insertion import SHIPPED, reward_of, shapes
from edgeopt.learning.oinc.placing import FEATURES
from edgeopt.learning.oinc.slots import OTHERS, SCENARIO, TESTS, TRAINING, VALIDATION
from edgeopt.models.oinc.slot import SlotProblem, slot_problem, solve_slot
from edgeopt.studies.oinc.learners import INSERTION
from tests.draws import draws
from tests.oinc.strategies import slot_problems

RECORDED = -0.3329
"""Mean reward of the checkpoint in the package on five slots of an instance it never saw."""


def checkpoint(seed: int | None, **changes: Any) -> Checkpoint:
    """Make weights of normal numbers, or zeros without a seed."""
    rng = np.random.default_rng(seed)
    drawn = {
        name: np.zeros(shape) if seed is None else rng.normal(size=shape)
        for name, shape in shapes().items()
    }
    settings = {"system": "oinc", "learner": "insertion", "features": FEATURES} | changes
    return Checkpoint(weights=drawn, **settings)


def answered(problem: SlotProblem, **options: Any) -> Any:
    return InsertionActor(**options).answer(3.0, problem, np.random.default_rng(0))[0]


def greedily(problem: SlotProblem) -> list[int]:
    """Insert by marginal cost, then take every request out and insert it again."""
    a = np.sqrt(problem.weight[:, None] * problem.transmission)
    e = np.sqrt(problem.weight[:, None] * problem.computation / problem.room)
    size = (np.square(a).min(axis=1) + np.square(e).min(axis=1)) / np.sqrt(
        np.minimum(problem.slo, 1.0)
    )
    site = np.full(problem.requests, -1)
    for _ in range(2):
        for i in np.argsort(-size, kind="stable"):
            site[i] = -1
            cost = []
            for j in range(problem.sites):
                here = site == j
                cost.append(
                    (a[here, j].sum() + a[i, j]) ** 2 - a[here, j].sum() ** 2
                    + (e[here, j].sum() + e[i, j]) ** 2 - e[here, j].sum() ** 2
                )  # fmt: skip
            site[i] = int(np.argmin(cost))
    return site.tolist()


@settings(max_examples=draws(60))
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 5))
def test_a_network_of_zeros_inserts_by_marginal_cost(seed: int, n: int, sites: int) -> None:
    rng = np.random.default_rng(seed)
    problem = SlotProblem(
        rng.uniform(0.01, 0.3, (n, sites)), rng.uniform(0.01, 0.1, (n, sites)),
        rng.uniform(0.3, 0.9, n), rng.uniform(0.2, 1.0, sites), rng.uniform(0.5, 2.0, n),
    )  # fmt: skip
    assert answered(problem, checkpoint=checkpoint(None)).site.tolist() == greedily(problem)


@settings(max_examples=draws(60))
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 5))
def test_numbers_of_sites_and_requests_do_not_matter(seed: int, n: int, sites: int) -> None:
    rng = np.random.default_rng(seed)
    arrays = (
        rng.uniform(0.01, 0.3, (n, sites)), rng.uniform(0.01, 0.1, (n, sites)),
        rng.uniform(0.3, 0.9, n), rng.uniform(0.2, 1.0, sites),
    )  # fmt: skip
    problem, actor = SlotProblem(*arrays), checkpoint(seed)
    whole = answered(problem, checkpoint=actor).site
    to, by = rng.permutation(sites), rng.permutation(n)
    A, E, slo, room = arrays
    moved = answered(SlotProblem(A[:, to], E[:, to], slo, room[to]), checkpoint=actor).site
    assert to[moved].tolist() == whole.tolist()
    listed = answered(SlotProblem(A[by], E[by], slo[by], room), checkpoint=actor).site
    assert listed.tolist() == whole[by].tolist()


@settings(max_examples=draws(40))
@given(slot_problems(requests=6, weighted=None))
def test_any_slot_is_answered_and_more_plans_are_no_worse(problem: SlotProblem) -> None:
    one, many = (answered(problem, checkpoint=checkpoint(3), samples=m) for m in (1, 9))
    assert ((one.site >= 0) & (one.site < problem.sites)).all()
    if problem.requests:
        assert reward_of(many) >= reward_of(one)
        late = one.latency > problem.slo * (1 + 1e-9)
        assert reward_of(one) == pytest.approx(-np.mean(one.latency) - 3.0 * np.mean(late))


def test_more_plans_draw_random_numbers_and_one_does_not() -> None:
    instance = generate(sites=3, devices=12, slots=30, duty=0.9, jobs=0, rng=4)
    problem = slot_problem(instance, 3, 0.5)
    part = InsertionActor(samples=2, temperature=3.0)
    first, again = (part.answer(3.0, problem, np.random.default_rng(1))[0] for _ in range(2))
    assert first.site.tolist() == again.site.tolist()
    plans = {
        tuple(part.answer(3.0, problem, np.random.default_rng(seed))[0].site) for seed in range(9)
    }
    assert len(plans) > 1
    assert not part.deterministic
    assert InsertionActor().deterministic
    assert (InsertionActor().name, part.name) == (
        "Insertion actor", "Insertion actor, samples=2, temperature=3.0",
    )  # fmt: skip


def test_what_is_no_insertion_actor_is_refused() -> None:
    with pytest.raises(InputError, match="must be of the insertion actor"):
        InsertionActor(checkpoint=checkpoint(0, learner="sac-d"))
    with pytest.raises(InputError, match="other features"):
        InsertionActor(checkpoint=checkpoint(0, features=FEATURES[::-1]))
    with pytest.raises(InputError, match="is missing in the checkpoint"):
        InsertionActor(checkpoint=Checkpoint(weights={}, system="oinc", learner="insertion"))
    with pytest.raises(OptionError, match="samples"):
        InsertionActor(samples=0)


def test_the_checkpoint_of_the_package_tells_its_training_apart_from_its_evaluation() -> None:
    found = shipped()
    found.require(shapes())
    used = {seed for seeds in (TRAINING, VALIDATION, TESTS) for seed in seeds}
    assert len(used) == len(TRAINING) + len(VALIDATION) + len(TESTS)
    assert SCENARIO["rng"] not in used
    assert found.seeds["training"] == list(TRAINING)
    assert found.seeds["validation"] == list(VALIDATION)
    assert len(set(found.instances)) == len(TRAINING)
    assert not found.stopped


def test_the_checkpoint_of_the_package_reaches_its_recorded_figures() -> None:
    problems = []
    for seed in TESTS[:5]:
        instance = generate(rng=seed, duty=0.45, slots=60, jobs=0)
        room = np.where(np.arange(instance.sites) % 3 == 0, 0.05, 1.0)
        problems += [slot_problem(instance, slot, 1.0 - room) for slot in (17, 41)]
    found = [reward_of(answered(one)) for one in problems]
    assert np.mean(found) == pytest.approx(RECORDED, abs=2e-4)
    assert np.mean(found) < np.mean([reward_of(solve_slot(one)) for one in problems])


def test_what_is_released_is_what_is_shipped() -> None:
    assert INSERTION == SHIPPED
    for kind, setting in OTHERS.items():
        own = {"duty": 0.45, "sites": 12} | setting
        trained = 0.3 <= own["duty"] <= 0.6 and 10 <= own["sites"] <= 15
        assert trained == (kind == "as trained")
