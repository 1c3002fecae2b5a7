"""Primal-dual inference: marginal costs, prices that grow with load, shares in closed form."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings

from edgeopt.errors import OptionError
from edgeopt.models.oinc.slot import SlotProblem, closed_form_cost
from edgeopt.online.oinc.inference import Liu
from tests.draws import draws
from tests.strategies import slot_problems


def problem(A: list[list[float]], E: list[list[float]], **changes: list[float]) -> SlotProblem:
    fields = {"slo": [1.0] * len(A), "room": [1.0] * len(A[0])} | changes
    return SlotProblem(np.array(A), np.array(E), **fields)  # type: ignore[arg-type]


def sites(step: float, A: list[list[float]], E: list[list[float]], **changes: list[float]) -> list:
    return Liu(step=step).answer(None, problem(A, E, **changes))[0].site.tolist()


# --- by hand -------------------------------------------------------------------------------------


def test_marginal_costs_decide_where_prices_do_not() -> None:
    """Beside one of .09, a request of .04 adds .04 + 2 * .3 * .2 = .16 to a site."""
    nothing = [[0.0, 0.0]] * 2
    assert sites(0.0, [[0.09, 9.0], [0.04, 0.17]], nothing) == [0, 0]
    assert sites(0.0, [[0.09, 9.0], [0.04, 0.15]], nothing) == [0, 1]
    # The same with a CPU of which retraining takes half: times double.
    assert sites(0.0, nothing, [[0.045, 9.0], [0.02, 0.17]], room=[0.5, 1.0]) == [0, 0]
    assert sites(0.0, nothing, [[0.045, 9.0], [0.02, 0.15]], room=[0.5, 1.0]) == [0, 1]
    # Band and CPU do not get in each other's way.
    assert sites(0.0, [[0.09, 9.0], [0.0, 0.0]], [[0.0, 0.0], [0.04, 0.05]]) == [0, 0]
    # Requests come by number, not by objective, and of equal sites the lower is taken.
    assert sites(0.0, [[0.1, 0.1]] * 2, nothing, slo=[0.9, 0.1]) == [0, 1]


def test_prices_move_requests_off_a_loaded_site() -> None:
    """Request 0 puts a load of .09 + .16 on site 0, whose price becomes .25 step.

    Request 1 would cost .16 there and .0625 of a price of 1 * .25; on site 1 it costs .17.
    """
    A, E = [[0.09, 9.0], [0.04, 0.17]], [[0.16, 9.0], [0.0, 0.0]]
    assert sites(0.9, A, E) == [0, 0]  # .16 + .225 * .04 = .169
    assert sites(1.1, A, E) == [0, 1]  # .16 + .275 * .04 = .171


def test_prices_grow_by_what_they_are() -> None:
    """After loads of .25 and .25 the price is .25 * 1.25 + .25 = .5625 steps."""
    A = [[0.25, 9.0], [0.25, 9.0], [0.01, 0.21 + 0.0055]]
    nothing = [[0.0, 0.0]] * 3
    # Request 2 adds .01 + 2 * (.5 + .5) * .1 = .21, and .005625 for a step of 1.
    assert sites(1.0, A, nothing) == [0, 0, 1]
    assert sites(0.97, A, nothing) == [0, 0, 0]
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
