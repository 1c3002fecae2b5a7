"""Near-optimal inference as a part: late or refused, and certified bounds that hold."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.models.oinc.slot import SlotProblem
from edgeopt.models.oinc.slot.solve import evaluate
from edgeopt.online import simulate
from edgeopt.online.oinc.environment import OincEnvironment
from edgeopt.online.oinc.inference import NearOptimalInference
from edgeopt.online.oinc.policies.loop import Oinc
from tests.draws import draws
from tests.online.oinc.lives import two_sites
from tests.strategies import oinc_instances, slot_problems


def test_what_does_not_fit_is_late_or_refused() -> None:
    # Two requests of 1/4 s + 1/8 s at one site: alone 3/8 s, together 3/4 s each at best.
    problem = SlotProblem(
        np.full((2, 1), 0.25), np.full((2, 1), 0.125), np.full(2, 0.7), np.ones(1)
    )
    instance = OincEnvironment(two_sites()).instance
    late, memory = NearOptimalInference().answer(2.0, problem)
    assert memory == 2.0 == NearOptimalInference().start(instance)
    assert sorted(late.met.tolist()) == [False, True]
    assert (late.latency <= 2.0).all()
    strict, _ = NearOptimalInference(unfit="refuse").answer(2.0, problem)
    assert sorted(strict.site.tolist()) == [-1, 0]
    assert np.nanmax(strict.latency) == pytest.approx(0.375)
    fair, _ = NearOptimalInference(objectives=False).answer(2.0, problem)
    assert fair.latency == pytest.approx([0.75, 0.75])
    assert np.isnan(late.bound)


def test_late_requests_are_answered_within_the_latency_of_a_refusal_if_possible() -> None:
    # The second can be in time only if the first takes longer than 3 s.
    problem = SlotProblem(
        np.array([[0.5], [0.125]]), np.full((2, 1), 0.125), np.array([0.5, 0.3]), np.ones(1)
    )
    soon, _ = NearOptimalInference().answer(3.0, problem)
    assert (soon.latency <= 3.0).all()
    assert not soon.met.any()
    late, _ = NearOptimalInference().answer(20.0, problem)
    assert late.latency[0] > 3.0
    assert late.met.tolist() == [False, True]


@settings(max_examples=draws(40))
@given(
    slot_problems(requests=4, sites=2),
    st.sampled_from(["late", "refuse"]),
    st.booleans(),
)
def test_no_plan_that_answers_and_meets_as_much_is_better_than_its_bound(
    problem: SlotProblem, unfit: Any, objectives: bool
) -> None:
    part = NearOptimalInference(unfit=unfit, objectives=objectives, certify=True)
    plan, _ = part.answer(3.0, problem)
    plain, _ = replace(part, certify=False).answer(3.0, problem)
    for name in ("site", "band", "cpu"):
        assert np.array_equal(getattr(plan, name), getattr(plain, name)), name
    assert plan.bound <= plan.objective * (1 + 1e-9) + 1e-12
    here = plan.site >= 0
    slo = np.where(plan.met & objectives, problem.slo, np.inf)
    answered = SlotProblem(
        problem.transmission[here], problem.computation[here], slo[here], problem.room
    )
    best = np.inf
    for site in product(range(problem.sites), repeat=int(here.sum())):
        other = evaluate(answered, np.array(site, dtype=int))
        if other.met.all():
            best = min(best, other.objective)
    assert plan.bound <= best * (1 + 1e-6) + 1e-12


@settings(max_examples=draws(20))
@given(oinc_instances())
def test_a_trajectory_tells_the_gap_of_every_slot(instance: Any) -> None:
    policy = Oinc(inference=NearOptimalInference(certify=True))
    trajectory = simulate(OincEnvironment(instance), policy, runs=1)
    gap = trajectory.gap()
    assert gap.shape == trajectory.bound.shape == (1, instance.slots)
    for t in range(instance.slots):
        summed = float(trajectory.latency[0, trajectory.slot == t].sum())
        assert trajectory.bound[0, t] <= summed * (1 + 1e-9) + 1e-12
        if summed == 0.0:
            assert gap[0, t] == 0.0
        elif trajectory.bound[0, t] > 0.0:
            assert gap[0, t] == pytest.approx(
                max(summed / trajectory.bound[0, t] - 1.0, 0.0), abs=1e-9
            )


@pytest.mark.parametrize("options", [{"unfit": "maybe"}, {"gap": 0.0}, {"time_limit": 0.0}])
def test_unknown_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        NearOptimalInference(**options)


def test_names_say_what_is_not_as_usual() -> None:
    assert NearOptimalInference().name == "NearOptimal"
    assert NearOptimalInference(objectives=False).name == "NearOptimal, objectives=False"
