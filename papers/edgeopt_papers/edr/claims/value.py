"""The cost of serving as training grows: convexity, monotony, and the split over slots."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement
from edgeopt.models.edr.routing import (
    RoutingPlan,
    RoutingProblem,
    conditions,
    dual_bound,
    routing_problem,
    solve_routing,
)
from edgeopt_papers.claims.paper import SOLVED, named_instance
from edgeopt_papers.edr.claims import counterexamples
from edgeopt_papers.edr.claims import instances as named
from edgeopt_papers.edr.claims.evaluation import Evaluation, about_requests
from edgeopt_papers.edr.claims.instances import DRAWN, STEADY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.arrays import Floats
    from edgeopt.instances.edr import EdrInstance


FEW = 3
"""Most frames that are measured."""

LARGEST = 4000
"""Routes of a frame up to which a program is written out in full."""

DRAWS = 4
"""Pairs of a training load and a budget, per frame."""


def compared(objective: float, best: RoutingPlan) -> Measurement:
    """Compare an objective with that of a plan, to a share of the terms of the plan's."""
    return Measurement(objective, best.objective, size=best.size)


def _value(instance: EdrInstance, frame: int, load: Floats, budget: float) -> float:
    """Cost of serving the first slot, penalties included."""
    problem = routing_problem(
        instance,
        conditions(instance, frame, 0),
        price=float(instance.price[frame]),
        training=load,
        budget=budget,
    )
    return solve_routing(problem).objective


def _pairs(view: Evaluation) -> Iterator[tuple[int, tuple[Floats, float], tuple[Floats, float]]]:
    """Yield frames with two training loads and budgets each, the second with less of neither."""
    instance, draw = view.instance, np.random.default_rng(0)
    most = instance.capacity * instance.slots
    for frame in range(min(FEW, instance.frames)):
        asked = instance.requests[frame, 0].sum(axis=0)
        energy = float(instance.request_energy.max(axis=0) @ asked)
        for _ in range(DRAWS):
            first, second = np.sort(draw.uniform(0, 1, (2, instance.sites)), axis=0) * most
            low, high = np.sort(draw.uniform(0, 1.2, 2)) * energy
            yield frame, (first, float(low)), (second, float(high))


def _convex(view: Evaluation) -> Iterator[Measurement]:
    for frame, (load, budget), (other, more) in _pairs(view):
        middle = _value(view.instance, frame, (load + other) / 2, (budget + more) / 2)
        ends = _value(view.instance, frame, load, budget)
        ends += _value(view.instance, frame, other, more)
        yield Measurement(middle, ends / 2, {"frame": frame})


def _monotone(view: Evaluation) -> Iterator[Measurement]:
    for frame, (load, budget), (other, more) in _pairs(view):
        best = _value(view.instance, frame, load, more)
        worse = _value(view.instance, frame, other, budget)
        yield Measurement(best, worse, {"frame": frame})


def frame_problem(view: Evaluation, frame: int, split: str) -> RoutingProblem:
    """Return all slots of a frame together, with its fractional rounds trained."""
    instance = view.instance
    rounds = view.points[frame] if instance.tasks else np.zeros(0)
    return routing_problem(
        instance,
        [conditions(instance, frame, slot) for slot in range(instance.slots)],
        price=float(instance.price[frame]),
        training=rounds @ instance.round_work,
        budget=float(instance.cap[frame] - instance.round_energy[frame] @ rounds),
        split=split,  # type: ignore[arg-type]
    )


def _explicit_optimum(problem: RoutingProblem, training: Floats) -> float:
    """Solve with the training of every site and slot as variables, z = sum of z by slots."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    penalties = problem.penalties()
    S, J, rows, A = problem.slots, problem.sites, problem.demand.size, problem.routes
    first_z, first_u, last = A, A + S * J, A + S * J + rows
    cost = np.concatenate([problem.cost, np.zeros(S * J), np.full(rows, penalties.unserved)])
    cost = np.append(cost, penalties.excess if np.isfinite(problem.budget) else 0.0)
    pair, route = np.arange(S * J), np.arange(A)
    ones = np.ones

    equal = coo_array(
        (
            np.concatenate([ones(A), ones(rows), ones(S * J)]),
            (
                np.concatenate([problem.row, np.arange(rows), rows + pair % J]),
                np.concatenate([route, first_u + np.arange(rows), first_z + pair]),
            ),
        ),
        shape=(rows + J, last + 1),
    )
    used = problem.slot * J + problem.site
    values = [problem.work[problem.type], ones(S * J), problem.route_energy, -ones(1)]
    at = [used, pair, np.full(A, S * J), np.array([S * J])]
    columns = [route, first_z + pair, route, np.array([last])]
    below = coo_array(
        (np.concatenate(values), (np.concatenate(at), np.concatenate(columns))),
        shape=(S * J + 1, last + 1),
    )
    limit = np.append(problem.capacity.ravel(), problem.budget)
    kept = np.isfinite(limit)
    # Tolerances of the solver are absolute, and a request costs a millionth of something.
    unit = float(np.abs(problem.cost).max(initial=0.0)) or 1.0
    answer = linprog(
        cost / unit,
        A_eq=equal.tocsr(),
        b_eq=np.concatenate([problem.demand.ravel(), training]),
        A_ub=below.tocsr()[kept],
        b_ub=limit[kept],
    )
    return unit * float(answer.fun) if answer.status == 0 else np.inf


def _eliminated(view: Evaluation) -> Iterator[Measurement]:
    instance = view.instance
    for frame in range(min(FEW, instance.frames)):
        problem = frame_problem(view, frame, "free")
        rounds = view.points[frame] if instance.tasks else np.zeros(0)
        training = rounds @ instance.round_work
        fits = (training <= instance.capacity * instance.slots).all()
        if problem.routes <= LARGEST and fits:
            explicit = _explicit_optimum(problem, training)
            plan = solve_routing(problem)
            yield Measurement(plan.objective, explicit, {"frame": frame}, size=plan.size)


def _splits(view: Evaluation) -> Iterator[tuple[RoutingPlan, RoutingPlan]]:
    """Yield plans with an even split of the training, and with a free one."""
    for frame in range(min(FEW, view.instance.frames)):
        even, free = (frame_problem(view, frame, split) for split in ("even", "free"))
        yield solve_routing(even), solve_routing(free)


def _even_split(view: Evaluation) -> Iterator[Measurement]:
    pairs = _splits(view)
    for even, free in pairs:
        yield compared(even.objective, free)


def _left_out(view: Evaluation) -> Iterator[Measurement]:
    for even, free in _splits(view):
        yield Measurement(
            float(even.unserved.sum()),
            float(free.unserved.sum()),
            size=float(free.problem.demand.sum()),
        )


about_serving = partial(about_requests, tolerance=SOLVED)

_INSTANCES = {
    **DRAWN,
    **STEADY,
    **named_instance(counterexamples.jensen),
    **named_instance(counterexamples.uneven_demand),
}

HALVINGS = 60
"""Halvings of the interval of prices; the plans on both sides do not change any more."""


def _problems(view: Evaluation) -> Iterator[RoutingProblem]:
    for frame in range(min(FEW, view.instance.frames)):
        yield frame_problem(view, frame, "even")


def _mixed(view: Evaluation) -> Iterator[Measurement]:
    """Compare slots with one price, both sides of it mixed, with what that price proves."""
    for problem in _problems(view):
        plan = solve_routing(problem)
        proven = dual_bound(problem, plan.prices, plan.penalties)
        yield Measurement(plan.objective, proven, size=plan.size)


def _dearer(problem: RoutingProblem, price: float) -> RoutingProblem:
    """Charge each Wh on top."""
    return problem.replace(cost=problem.cost + price * problem.route_energy)


def _one_side(view: Evaluation) -> Iterator[Measurement]:
    """Compare the plan at the least price that keeps the budget with the best plan."""
    for problem in _problems(view):
        best = solve_routing(problem)
        if best.excess > 0 or best.unserved.sum() > 0 or np.isinf(problem.budget):
            continue
        free = problem.replace(budget=np.inf)
        low, high = 0.0, best.penalties.excess
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            kept = solve_routing(_dearer(free, middle)).energy <= problem.budget
            low, high = (low, middle) if kept else (middle, high)
        plan = solve_routing(_dearer(free, high))
        cost = float(plan.flow @ problem.cost)
        yield Measurement(cost, best.cost, {"price": high}, size=best.size)


about_prices = partial(about_serving, tolerance=10 * SOLVED)

CLAIMS = (
    about_serving("value.convex", _convex, _INSTANCES),
    about_serving("value.monotone", _monotone, _INSTANCES),
    about_serving("elimination", _eliminated, _INSTANCES),
    about_serving("even_split", _even_split, (_INSTANCES, named.spread_training)),
    about_serving("even_split.published", _left_out, named.spread_training),
    about_prices("price.mix", _mixed, (counterexamples.mixed_price, DRAWN, STEADY)),
    about_prices("price.one_side", _one_side, counterexamples.mixed_price),
)
