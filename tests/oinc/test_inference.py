"""Ways to answer the requests of a slot: greedy, after Liu, near-optimal."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.models.oinc.slot import SlotProblem, closed_form_cost, slot_problem
from edgeopt.models.oinc.slot.solve import evaluate
from edgeopt.online import simulate
from edgeopt.online.oinc.environment import OincEnvironment
from edgeopt.online.oinc.inference import GreedyConvex, Liu, NearOptimalInference
from edgeopt.online.oinc.policies.loop import Oinc
from edgeopt.testing.strategies import oinc_instances
from tests.draws import draws
from tests.oinc.scenarios import two_sites
from tests.oinc.strategies import slot_problems
from tests.oracles.oinc import shares

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


def problem(A: list[list[float]], E: list[list[float]], **changes: list[float]) -> SlotProblem:
    fields = {"slo": [1.0] * len(A), "room": [1.0] * len(A[0])} | changes
    return SlotProblem(np.array(A), np.array(E), **fields)  # type: ignore[arg-type]


def liu_sites(
    step: float, A: list[list[float]], E: list[list[float]], **changes: list[float]
) -> list:
    return Liu(step=step).answer(None, problem(A, E, **changes))[0].site.tolist()


# --- by hand -------------------------------------------------------------------------------------


def test_marginal_costs_decide_where_prices_do_not() -> None:
    """Beside one of .09, a request of .04 adds .04 + 2 * .3 * .2 = .16 to a site."""
    nothing = [[0.0, 0.0]] * 2
    assert liu_sites(0.0, [[0.09, 9.0], [0.04, 0.17]], nothing) == [0, 0]
    assert liu_sites(0.0, [[0.09, 9.0], [0.04, 0.15]], nothing) == [0, 1]
    # The same with a CPU of which retraining takes half: times double.
    assert liu_sites(0.0, nothing, [[0.045, 9.0], [0.02, 0.17]], room=[0.5, 1.0]) == [0, 0]
    assert liu_sites(0.0, nothing, [[0.045, 9.0], [0.02, 0.15]], room=[0.5, 1.0]) == [0, 1]
    # Band and CPU do not get in each other's way.
    assert liu_sites(0.0, [[0.09, 9.0], [0.0, 0.0]], [[0.0, 0.0], [0.04, 0.05]]) == [0, 0]
    # Requests come by number, not by objective, and of equal sites the lower is taken.
    assert liu_sites(0.0, [[0.1, 0.1]] * 2, nothing, slo=[0.9, 0.1]) == [0, 1]


def test_prices_move_requests_off_a_loaded_site() -> None:
    """Request 0 puts a load of .09 + .16 on site 0, whose price becomes .25 step.

    Request 1 would cost .16 there and .0625 of a price of 1 * .25; on site 1 it costs .17.
    """
    A, E = [[0.09, 9.0], [0.04, 0.17]], [[0.16, 9.0], [0.0, 0.0]]
    assert liu_sites(0.9, A, E) == [0, 0]  # .16 + .225 * .04 = .169
    assert liu_sites(1.1, A, E) == [0, 1]  # .16 + .275 * .04 = .171


def test_prices_grow_by_what_they_are() -> None:
    """After loads of .25 and .25 the price is .25 * 1.25 + .25 = .5625 steps."""
    A = [[0.25, 9.0], [0.25, 9.0], [0.01, 0.21 + 0.0055]]
    nothing = [[0.0, 0.0]] * 3
    # Request 2 adds .01 + 2 * (.5 + .5) * .1 = .21, and .005625 for a step of 1.
    assert liu_sites(1.0, A, nothing) == [0, 0, 1]
    assert liu_sites(0.97, A, nothing) == [0, 0, 0]
    # The slot after that begins without a price.
    part = Liu(step=1.0)
    _, memory = part.answer(None, problem(A, nothing))
    plan, _ = part.answer(memory, problem(A[2:], nothing[2:]))
    assert plan.site.tolist() == [0]


def test_shares_are_in_closed_form_whatever_the_objectives() -> None:
    plan, _ = Liu().answer(
        None,
        problem([[0.04], [0.16]], [[0.09], [0.01]], room=[0.5], weight=[1.0, 4.0], slo=[0.01, 0.9]),
    )
    # sqrt(w A) = .2 and .8, sqrt(w E) = .3 and .2.
    assert plan.band == pytest.approx([0.2, 0.8])
    assert plan.cpu == pytest.approx([0.3, 0.2])


def test_options_and_names() -> None:
    for step in (-1.0, np.inf, np.nan):
        with pytest.raises(OptionError, match="step"):
            Liu(step=step)
    assert Liu().name == "Liu"
    assert Liu(step=0.5).name == "Liu, step=0.5"
    plan, _ = Liu().answer(None, SlotProblem(np.zeros((0, 1)), np.zeros((0, 1)), [], [1.0]))  # type: ignore[arg-type]
    assert plan.site.size == 0


# --- drawn ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0.0, 0.3, 5.0])
@settings(max_examples=draws(60))
@given(slot_problems(requests=6, weighted=None))
def test_a_plain_reading(step: float, problem: SlotProblem) -> None:
    plan, _ = Liu(step=step).answer(None, problem)
    placed: list[list[int]] = [[] for _ in range(problem.sites)]
    price = [0.0] * problem.sites
    weight = problem.weight
    assert weight is not None

    def cost(j: int, those: list[int]) -> float:
        A, E = problem.transmission[those, j], problem.computation[those, j]
        return closed_form_cost(A, E, room=float(problem.room[j]), weight=weight[those])

    for i in range(problem.requests):
        load = problem.transmission[i] + problem.computation[i] / problem.room
        total = [
            cost(j, [*placed[j], i]) - cost(j, placed[j]) + price[j] * load[j]
            for j in range(problem.sites)
        ]
        j = int(plan.site[i])
        assert total[j] <= min(total) + 1e-9
        assert all(other > total[j] - 1e-9 for other in total[:j])
        placed[j].append(i)
        price[j] = price[j] + price[j] * load[j] + step * load[j]
    for j, those in enumerate(placed):
        if not those:
            continue
        # The cost of the plan is what the closed form says, so the shares are those.
        mine = plan.latency[those] @ weight[those]
        assert mine == pytest.approx(cost(j, those), rel=1e-9)
        assert plan.band[those].sum() <= 1 + 1e-9
        assert plan.cpu[those].sum() <= problem.room[j] + 1e-9
        roots = [sqrt(weight[i] * problem.transmission[i, j]) for i in those]
        if sum(roots) > 0:
            assert plan.band[those] == pytest.approx(np.array(roots) / sum(roots))


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


@pytest.mark.parametrize("fit", ["equal", "closed", "exact"])
def test_first_fit_by_hand(fit):
    """The first needs all of site 0, where nothing fits beside it; the others share site 1."""
    A, E = np.full((3, 2), 0.1), np.array([[0.4, 0.1], [0.1, 0.1], [0.1, 0.1]])
    problem = SlotProblem(A, E, [0.5, 0.9, 0.91], [1.0, 1.0])
    plan, _ = GreedyConvex(rule="first-fit", fit=fit).answer(None, problem)
    assert plan.site.tolist() == [0, 1, 1]


def test_tests_of_first_fit_differ():
    """Two on one site: 2 * .3 = .6 with equal shares, .49 and .11 in closed form, less exactly."""
    A, E = np.array([[0.2], [0.0]]), np.array([[0.1], [0.01]])
    # Closed: the first takes .2 + sqrt(.1) (sqrt(.1) + .1) = .3316; the second .1 (.4162) = .0416.
    for slo, fits_there in (
        ([0.61, 0.9], {"equal": True, "closed": True, "exact": True}),
        ([0.34, 0.9], {"equal": False, "closed": True, "exact": True}),
        ([0.32, 0.9], {"equal": False, "closed": False, "exact": True}),
        ([0.30, 0.9], {"equal": False, "closed": False, "exact": False}),
    ):
        for fit, kept in fits_there.items():
            both = SlotProblem(np.hstack([A, A]), np.hstack([E, 2 * E]), slo, [1.0, 1.0])
            plan, _ = GreedyConvex(rule="first-fit", fit=fit).answer(None, both)
            assert plan.site.tolist() == [0, 0 if kept else 1], (slo, fit)


def plain_first_fit(problem: SlotProblem, fit: str) -> list[int]:
    """The rule in lists and loops."""
    A, E = problem.transmission.tolist(), problem.computation.tolist()
    room, slo, weight = problem.room.tolist(), problem.slo.tolist(), problem.weight.tolist()

    def kept(j: int, members: list[int]) -> bool:
        if fit == "exact":
            sums = [
                sum(part(A[i][j], E[i][j] / room[j]) / slo[i] for i in members)
                for part in (lambda a, e: a, lambda a, e: (a * e) ** 0.5, lambda a, e: e)
            ]
            return (1 - sums[0]) * (1 - sums[2]) >= sums[1] ** 2 - 1e-11 and max(sums) <= 1 + 1e-11
        for i in members:
            latency = len(members) * (A[i][j] + E[i][j] / room[j])
            if fit == "closed":
                latency = sum(
                    (A[i][j] * A[k][j] * weight[k] / weight[i]) ** 0.5
                    + (E[i][j] * E[k][j] * weight[k] / weight[i]) ** 0.5 / room[j]
                    for k in members
                )
            if latency > slo[i] * (1 + 1e-11):
                return False
        return True

    sets: list[list[int]] = [[] for _ in room]
    for i in sorted(range(len(slo)), key=lambda i: (slo[i], i)):
        j = next((j for j in range(len(room)) if kept(j, [*sets[j], i])), None)
        if j is None:
            needs = [(len(sets[j]) + 1) * (A[i][j] + E[i][j] / room[j]) for j in range(len(room))]
            j = needs.index(min(needs))
        sets[j].append(i)
    return [next(j for j, members in enumerate(sets) if i in members) for i in range(len(slo))]


@given(slot_problems(requests=6, sites=3, objectives=True, weighted=None))
def test_first_fit_is_the_rule_in_plain_loops(problem):
    for fit in ("equal", "closed", "exact"):
        plan, _ = GreedyConvex(rule="first-fit", fit=fit).answer(None, problem)
        assert plan.site.tolist() == plain_first_fit(problem, fit)


def test_first_fit_without_objectives_fills_the_first_site():
    problem = SlotProblem(np.ones((4, 3)), np.ones((4, 3)), [np.inf] * 4, [1.0] * 3)
    plan, _ = GreedyConvex(rule="first-fit").answer(None, problem)
    assert plan.site.tolist() == [0] * 4
    with pytest.raises(OptionError, match="rule"):
        GreedyConvex(rule="best")  # type: ignore[arg-type]
