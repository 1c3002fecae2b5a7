"""The offline optimum: decomposition against the whole program, cuts, limits, certificates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import InputError, OptionError
from edgeopt.instances.edr import generate, small
from edgeopt.models.edr.matrix import colocation_columns, colocation_matrix
from edgeopt.models.edr.penalties import late_price, served_cap, unserved_price
from edgeopt.models.edr.recourse import FrameRecourse
from edgeopt.models.edr.solve import solve_offline
from edgeopt.solvers import solve
from edgeopt.testing.strategies import edr_instances
from tests.draws import draws
from tests.edr.scenarios import two_sites

CLOSE = {"rel": 1e-6, "abs": 1e-6}


def optimum(program):
    """Solve a program; HiGHS reports no point of one without columns."""
    return solve(program, gap=1e-9).objective if program.shape[1] else 0.0


@given(edr_instances(), st.booleans(), st.booleans())
@settings(max_examples=draws(60))
def test_decomposed_and_whole_are_the_optimum(instance, relax, raised):
    cap = None if raised else instance.cap
    program = colocation_matrix(
        instance, cap=served_cap(instance) if raised else instance.cap, relax=relax
    )
    best = optimum(program)
    for method in ("benders", "highs"):
        plan = solve_offline(instance, relax=relax, cap=cap, method=method, gap=1e-6)
        assert plan.objective == pytest.approx(best, rel=3e-6, abs=3e-6)
        assert plan.bound <= best + 1e-6 * max(1.0, abs(best))
        assert plan.certified
        holds(instance, plan, relax=relax)


def holds(instance, plan, *, relax):
    """Check a plan against the data, and its cost against its parts."""
    rounds = plan.rounds
    assert (rounds >= 0).all()
    assert (rounds[~instance.active] == 0).all()
    assert relax or (rounds == np.rint(rounds)).all()
    done = rounds.sum(axis=0)
    assert done + plan.missing == pytest.approx(instance.rounds, **CLOSE)
    assert (plan.energy <= plan.cap * (1 + 1e-9) + 1e-9).all()
    room = instance.slots * instance.capacity
    assert (rounds @ instance.round_work <= room * (1 + 1e-9) + 1e-9).all()
    assert plan.training_energy == pytest.approx((instance.round_energy * rounds).sum(axis=1))
    assert plan.training_cost == pytest.approx((instance.round_cost * rounds).sum(axis=1))
    assert (plan.unserved >= 0).all()
    assert (plan.unserved <= instance.requests.sum(axis=(1, 2)) + 1e-9).all()
    assert plan.type_cost.sum(axis=1) == pytest.approx(plan.request_cost, **CLOSE)
    served = (instance.requests.sum(axis=(1, 2)) - plan.unserved).sum(axis=1)
    assert (plan.accurate <= served + 1e-9 * instance.requests.sum()).all()
    penalties = late_price(instance) @ plan.missing
    penalties += (plan.unserved @ unserved_price(instance)).sum()
    assert plan.cost + penalties == pytest.approx(plan.objective, rel=1e-9, abs=1e-9)


@given(edr_instances(frames=2), st.data())
@settings(max_examples=draws(40))
def test_cuts_meet_the_cost_of_requests_and_stay_below_it(instance, data):
    frame = data.draw(st.integers(0, instance.frames - 1))
    cap = float(instance.cap[frame])
    recourse = FrameRecourse(instance, frame, cap)
    shares = st.lists(
        st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=instance.tasks, max_size=instance.tasks
    )
    points = [recourse.alone]
    rounds = [np.zeros(instance.tasks)]
    for _ in range(3):
        x = np.array(data.draw(shares)) * instance.rounds * instance.active[frame]
        load = x @ instance.round_work
        room = instance.slots * instance.capacity
        if instance.round_energy[frame] @ x <= cap and (load <= room).all():
            rounds.append(x)
            points.append(recourse.at(x))
    values = [by_program(instance, frame, cap, x) for x in rounds]
    for point, value in zip(points, values, strict=True):
        assert point.value == pytest.approx(value, rel=1e-7, abs=1e-7)
        assert point.value <= recourse.worst + 1e-9
    for here, (x, point) in enumerate(zip(rounds, points, strict=True)):
        assert point.cut.at(x) == pytest.approx(values[here], rel=1e-7, abs=1e-7) or (
            point is recourse.alone
        )
        for other, value in zip(rounds, values, strict=True):
            assert point.cut.at(other) <= value + 1e-7 * max(1.0, abs(value))


def by_program(instance, frame, cap, rounds):
    """Return the cost of a frame's requests beside given rounds, from the whole program."""
    caps = np.full(instance.frames, np.inf)
    caps[frame] = cap
    program = colocation_matrix(instance, cap=caps, relax=True)
    columns = colocation_columns(instance)
    count = len(columns.rounds)
    cost, lower, upper = program.cost.copy(), program.lower.copy(), program.upper.copy()
    t, task = columns.rounds.T
    lower[:count] = upper[:count] = np.where(t == frame, rounds[task], 0.0)
    cost[: count + instance.tasks] = 0.0
    start = count + instance.tasks
    cost[start : start + len(columns.route)] *= columns.route[:, 0] == frame
    cost[start + len(columns.route) :] *= columns.asked[:, 0] == frame
    return optimum(program.replace(cost=cost, lower=lower, upper=upper))


def test_what_each_type_of_request_costs_by_hand():
    price, accuracy = np.array([0.1, 0.0, 0.1]), [[0.5, 1.0], [1.0, 0.25]]
    plan = solve_offline(two_sites(price=price, accuracy=accuracy, cap=np.full(3, np.inf)))
    # All requests stay where they arrive, but those of type 1 at site 0 go to site 1.
    seconds = 0.5 * np.array([2 * 1.0 + 3 * 0.5, 3.0])
    energy = 3.0 * np.array([2 * 1.0 + 3 * 2.0, 4.0])
    assert plan.type_cost == pytest.approx(2 * (seconds + np.outer(price, energy)))
    assert plan.accurate == pytest.approx([2 * (2 * 0.5 + 3 * 1.0 + 1 * 0.25)] * 3)


def test_a_drawn_instance_is_proven():
    instance = generate(rng=3, sites=8, tasks=10, frames=12, slots=4)
    assert np.isfinite(instance.cap).any()
    plan = solve_offline(instance)
    holds(instance, plan, relax=True)
    assert plan.certified
    assert plan.iterations > 2
    whole = solve_offline(instance, method="highs")
    assert plan.objective == pytest.approx(whole.objective, rel=1e-5)
    integral = solve_offline(instance, relax=False, gap=1e-5)
    holds(instance, integral, relax=False)
    assert integral.certified
    assert plan.bound <= integral.objective
    assert integral.gap <= 1e-5


def test_the_scale_of_costs_does_not_matter():
    instance = generate(rng=3, sites=5, tasks=6, frames=12, slots=2)
    plan = solve_offline(instance)
    tiny = instance.replace(
        energy_weight=1e-6 * instance.energy_weight,
        delay_weight=1e-6 * instance.delay_weight,
    )
    scaled = solve_offline(tiny, gap=1e-9)
    assert 1e6 * scaled.objective == pytest.approx(plan.objective, rel=1e-3)
    assert 1e6 * scaled.bound == pytest.approx(plan.objective, rel=1e-3)


def test_the_best_plan_so_far_comes_back_in_time():
    instance = generate(rng=3, sites=6, tasks=6, frames=12, slots=3)
    plan = solve_offline(instance, time_limit=1e-9)
    assert not plan.certified
    best = solve_offline(instance)
    assert 0 < plan.bound <= best.bound
    assert plan.objective > best.objective
    assert plan.iterations == 0
    holds(instance, plan, relax=True)
    assert plan.missing == pytest.approx(instance.rounds)


def test_a_gap_below_what_solvers_can_tell_is_not_waited_for():
    instance = generate(rng=3, sites=5, tasks=6, frames=12, slots=2)
    plan = solve_offline(instance, gap=1e-45)
    assert 0 <= plan.gap < 1e-6
    assert plan.certified == (plan.gap <= 1e-45)


def test_wrong_options_are_named():
    instance = small(0)
    with pytest.raises(OptionError, match="method"):
        solve_offline(instance, method="magic")
    with pytest.raises(OptionError, match="gap"):
        solve_offline(instance, gap=0.0)
    with pytest.raises(InputError, match="cap"):
        solve_offline(instance, cap=[1.0])
