"""Training and serving of the whole horizon: one program, and enumeration of all rounds."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tests.oracles.edr import routing
from tests.oracles.edr.programs import INFINITY, InfeasibleError, Program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.oracles.edr.data import Plain


def _frame(program: Program, plain: Plain, t: int, cap: float, *, split: str, whole: bool) -> dict:
    """Add the columns and rows of one frame; return its costs."""
    slots = range(plain.D)
    routing.columns(program, plain, t, slots)
    here = [i for i in range(plain.I) if plain.active(t, i)]
    for i in here:
        program.column(("x", t, i), upper=plain.rounds[i], whole=whole)
    total = [{("x", t, i): float(plain.zc(i, k)) for i in here} for k in range(plain.J)]
    routing.spread_training(program, plain, t, slots, total, split)
    if cap != INFINITY:
        used = routing.energy_terms(program, plain, t)
        used |= {("x", t, i): float(plain.e(t, i)) for i in here}
        program.row(used, -INFINITY, float(cap))
    goal = routing.cost_terms(program, plain, t, plain.price[t])
    return goal | {("x", t, i): float(plain.c(t, i)) for i in here}


def optimum(
    plain: Plain,
    *,
    late_price: Sequence[float],
    unserved_price: Sequence[float],
    cap: Sequence[float],
    whole: bool = False,
    split: str = "free",
) -> tuple[float, dict]:
    """Minimise cost, missing rounds and unserved requests at their prices under the given caps."""
    program = Program()
    goal: dict = {}
    for t in range(plain.T):
        goal |= _frame(program, plain, t, cap[t], split=split, whole=whole)
        goal |= routing.unserved_terms(program, t, unserved_price)
    for i in range(plain.I):
        missing = program.column(("missing", i))
        goal[missing] = float(late_price[i])
        window = range(plain.arrival[i], plain.deadline[i] + 1)
        Q = float(plain.rounds[i])
        program.row({("x", t, i): 1.0 for t in window} | {missing: 1.0}, Q, Q)
    optima, found = program.minimum(goal)
    return optima[0], found


def enumerate_rounds(
    plain: Plain,
    *,
    late_price: Sequence[float],
    unserved_price: Sequence[float],
    cap: Sequence[float],
    split: str = "free",
) -> float:
    """Try every whole number of rounds in every frame; serve each frame at its own optimum."""
    best = INFINITY
    plans = []
    for i in range(plain.I):
        window = range(plain.arrival[i], plain.deadline[i] + 1)
        choices = itertools.product(range(plain.rounds[i] + 1), repeat=len(window))
        plans.append([c for c in choices if sum(c) <= plain.rounds[i]])
    known: dict = {}
    for plan in itertools.product(*plans):
        total = 0.0
        for t in range(plain.T):
            x = tuple(
                plan[i][t - plain.arrival[i]] if plain.active(t, i) else 0 for i in range(plain.I)
            )
            if (t, x) not in known:
                known[t, x] = _serve(plain, t, x, cap[t], unserved_price, split)
            total += known[t, x]
            if total == INFINITY:
                break
        for i, rounds in enumerate(plan):
            total += float(late_price[i]) * (plain.rounds[i] - sum(rounds))
        best = min(best, total)
    return best


def _serve(
    plain: Plain, t: int, x: Sequence[int], cap: float, price: Sequence[float], split: str
) -> float:
    training = sum(plain.e(t, i) * x[i] for i in range(plain.I))
    left = cap if cap == INFINITY else float(cap - training)
    if left < -1e-12 * max(1.0, float(cap)):
        return INFINITY
    program = routing.build(
        plain, t, range(plain.D), training=plain.training(x), budget=max(left, 0.0), split=split
    )
    if cap != INFINITY:
        program.upper[program.place[routing.EXCESS]] = 0.0
    goal = routing.cost_terms(program, plain, t, plain.price[t])
    goal |= routing.unserved_terms(program, t, price)
    try:
        optima, _ = program.minimum(goal)
    except InfeasibleError:
        return INFINITY
    return optima[0] + sum(float(plain.c(t, i)) * x[i] for i in range(plain.I))


def frame_optimum(
    plain: Plain, t: int, minimum: Sequence[float], unserved_price: Sequence[float]
) -> tuple[float, dict]:
    """Minimise the cost of a frame with between `minimum` and all rounds of each task.

    Requests that are not served cost their price; the split of training is free.
    """
    program = Program()
    goal = _frame(program, plain, t, plain.cap[t], split="free", whole=False)
    goal |= routing.unserved_terms(program, t, unserved_price)
    for i in range(plain.I):
        if plain.active(t, i):
            program.row({("x", t, i): 1.0}, float(minimum[i]), INFINITY)
    optima, found = program.minimum(goal)
    return optima[0], found
