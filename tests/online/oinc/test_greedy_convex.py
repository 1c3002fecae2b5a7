"""Greedy inference: who chooses first and where, and that shares are the best of their site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgeopt.models.oinc.slot import SlotProblem, slot_problem
from edgeopt.online.oinc.inference import GreedyConvex
from tests.draws import draws
from tests.oracles.oinc import shares
from tests.strategies import oinc_instances, slot_problems

if TYPE_CHECKING:
    from edgeopt.instances.oinc import OincInstance


def sites(A: list[list[float]], E: list[list[float]], **changes: list[float]) -> list[int]:
    fields = {"slo": [1.0] * len(A), "room": [1.0] * len(A[0])} | changes
    plan, _ = GreedyConvex().answer(None, SlotProblem(np.array(A), np.array(E), **fields))  # type: ignore[arg-type]
    return plan.site.tolist()


# --- by hand -------------------------------------------------------------------------------------


def test_the_most_urgent_chooses_first() -> None:
    """Site 0 takes .2 and site 1 takes .5; two on site 0 take .4 each, .6 more than one alone."""
    A = [[0.2, 0.5]] * 2
    E = [[0.0, 0.0]] * 2
    assert sites(A, E, slo=[0.9, 0.5]) == [1, 0]
    assert sites(A, E, slo=[0.5, 0.9]) == [0, 1]
    assert sites(A, E, slo=[0.5, 0.5]) == [0, 1]


def test_the_latency_of_others_counts() -> None:
    """A request of .2 beside one of .4 on site 0 adds .4 for itself and .4 for the other."""
    assert sites([[0.4, 2.0], [0.2, 0.75]], [[0.0, 0.0]] * 2) == [0, 1]
    assert sites([[0.4, 2.0], [0.2, 0.85]], [[0.0, 0.0]] * 2) == [0, 0]


def test_what_retraining_leaves_counts_and_equal_sites_go_by_number() -> None:
    assert sites([[0.1, 0.1]], [[0.1, 0.1]]) == [0]
    assert sites([[0.1, 0.1]], [[0.1, 0.1]], room=[0.5, 0.75]) == [1]
    # Twice the CPU time of site 1, half the room: .2 on both.
    assert sites([[0.0, 0.0]], [[0.1, 0.2]], room=[0.5, 1.0]) == [0]


def test_a_heavier_request_counts_more() -> None:
    """Request 1 adds .4 w for itself and .4 for request 0, or .5 w on site 1."""
    A, E = [[0.4, 2.0], [0.2, 0.5]], [[0.0, 0.0]] * 2
    assert sites(A, E, weight=[1.0, 3.0]) == [0, 1]
    assert sites(A, E, weight=[1.0, 5.0]) == [0, 0]


def test_objectives_are_kept_if_all_can_be() -> None:
    """Alike requests take .4 each at best, and both objectives of .41 and .3 are out of reach.

    With objectives of .6 and .35 shares bend: request 1 takes .35, request 0 more than .4.
    """

    def latencies(*slo: float) -> np.ndarray:
        problem = SlotProblem(np.full((2, 1), 0.1), np.full((2, 1), 0.1), np.array(slo), np.ones(1))
        plan, _ = GreedyConvex().answer(None, problem)
        return plan.latency

    assert latencies(0.41, 0.41) == pytest.approx(0.4)
    assert latencies(0.41, 0.3) == pytest.approx(0.4)
    bent = latencies(0.6, 0.35)
    # With shares of 1/2 + d: .2 / (1/2 + d) = .35, and the other takes .2 / (1/2 - d).
    assert bent == pytest.approx([0.2 / (1 - 0.2 / 0.35), 0.35])


@pytest.mark.parametrize("slo", [9.0, 0.1])
def test_weights_count_with_objectives_and_without(slo: float) -> None:
    problem = SlotProblem(
        np.full((2, 1), 0.1), np.full((2, 1), 0.1), np.full(2, slo), np.ones(1),
        weight=np.array([1.0, 4.0]),
    )  # fmt: skip
    plan, _ = GreedyConvex().answer(None, problem)
    assert plan.band == pytest.approx([1 / 3, 2 / 3])
    assert plan.cpu == pytest.approx([1 / 3, 2 / 3])


def test_it_remembers_nothing_and_answers_nobody() -> None:
    part = GreedyConvex()
    problem = SlotProblem(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0), np.ones(2))
    plan, memory = part.answer(None, problem)
    assert plan.site.size == 0
    assert memory is None
    assert part.name == "Greedy"


# --- drawn ---------------------------------------------------------------------------------------


@settings(max_examples=draws(100))
@given(slot_problems(requests=6, weighted=None))
def test_each_goes_where_equal_shares_add_least(problem: SlotProblem) -> None:
    plan, _ = GreedyConvex().answer(None, problem)
    placed: list[list[int]] = [[] for _ in range(problem.sites)]
    assert problem.weight is not None

    def total(j: int, those: list[int]) -> float:
        """Sum latencies of requests with equal shares of site j."""
        share = 1.0 / max(len(those), 1)
        return sum(
            problem.weight[i]  # type: ignore[index]
            * (
                problem.transmission[i, j] / share
                + problem.computation[i, j] / (share * problem.room[j])
            )
            for i in those
        )

    for i in sorted(range(problem.requests), key=lambda i: (problem.slo[i], i)):
        added = [total(j, [*placed[j], i]) - total(j, placed[j]) for j in range(problem.sites)]
        j = int(plan.site[i])
        assert added[j] <= min(added) + 1e-9
        assert all(other > added[j] - 1e-9 for other in added[:j])
        placed[j].append(i)


@settings(max_examples=draws(60))
@given(slot_problems(requests=4, sites=1, weighted=None, zeros=False), st.data())
def test_no_other_shares_are_better(problem: SlotProblem, data: st.DataObject) -> None:
    """Neither with objectives, where they can be met, nor without, where they cannot."""
    plan, _ = GreedyConvex().answer(None, problem)
    A, E = problem.transmission[:, 0], problem.computation[:, 0]
    room, n = float(problem.room[0]), problem.requests
    assert plan.band.sum() <= 1 + 1e-9
    assert plan.cpu.sum() <= room + 1e-9
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    tries = np.concatenate([
        rng.dirichlet(np.full(n, 2.0), (300, 2)),
        np.stack([plan.band, plan.cpu / room]) * np.exp(rng.normal(0, 0.05, (300, 2, n))),
    ])  # fmt: skip
    shares = tries / tries.sum(axis=2, keepdims=True)
    latency = A / shares[:, 0] + E / (shares[:, 1] * room)
    better = latency @ problem.weight < plan.objective * (1 - 1e-6)
    keeps = (latency <= problem.slo).all(axis=1)
    if plan.met.all():
        assert not (better & keeps).any()
    else:
        assert not keeps.any()
        assert not better.any()


@settings(max_examples=draws(20))
@given(slot_problems(requests=3, sites=1, zeros=False, objectives=True))
def test_objectives_are_given_up_only_where_they_must(problem: SlotProblem) -> None:
    plan, _ = GreedyConvex().answer(None, problem)
    room = float(problem.room[0])
    need = shares.needed(
        problem.transmission[:, 0].tolist(), problem.computation[:, 0].tolist(),
        problem.slo.tolist(),
    )  # fmt: skip
    # Where objectives just fit, or just do not, floats are not sure.
    assume(abs(need - room) > 1e-6 * room)
    assert plan.met.all() == (need < room)


@settings(max_examples=draws(60))
@given(oinc_instances(), st.sampled_from([0.0, 0.5, 0.95]))
def test_nobody_is_refused_and_nothing_is_given_twice(
    instance: OincInstance, reserved: float
) -> None:
    for t in range(instance.slots):
        problem = slot_problem(instance, t, reserved)
        plan, _ = GreedyConvex().answer(None, problem)
        assert (plan.site >= 0).all()
        assert np.isfinite(plan.latency).all()
        for j in range(instance.sites):
            here = plan.site == j
            assert plan.band[here].sum() <= 1 + 1e-9
            assert plan.cpu[here].sum() <= 1 - reserved + 1e-9
