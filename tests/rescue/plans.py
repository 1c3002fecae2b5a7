"""Plans for tests, solved by SciPy on a dense matrix: small, slow, and written independently."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.models.rescue import P1Duals, P1Solution
from edgeopt.online.rescue import (
    Cvs,
    PickConfigs,
    RandomPolicy,
    Rescue,
    RescuePlus,
    Srs,
    Sumita,
)
from edgeopt.online.rescue.expected_value import outcome
from tests.certified import linprog

if TYPE_CHECKING:
    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.online.rescue import RescuePolicy


def plan_of(instance: RescueInstance) -> P1Solution:
    """Solve the relaxation of a tiny instance: columns y[t, j, k, l], then x[i, t] by windows."""
    T, J, K, L, _ = instance.shape
    tasks = instance.reserved
    runs = list(product(range(T), range(J), range(K), range(L)))
    shares = [(i, t) for i in range(len(tasks)) for t in range(tasks.start[i], tasks.end[i] + 1)]
    arrives = np.zeros((T, J, len(runs) + len(shares)))
    occupied = np.zeros((K, T, len(runs) + len(shares)))
    done = np.zeros((len(tasks), len(runs) + len(shares)))
    for column, (t, j, k, profile) in enumerate(runs):
        arrives[t, j, column] = 1
        for age, chance in enumerate(instance.survival[profile][: T - t]):
            occupied[k, t + age, column] = chance
    for column, (i, t) in enumerate(shares, start=len(runs)):
        occupied[tasks.server[i], t, column] = 1
        done[i, column] = instance.capacity[tasks.server[i], t]
    size = len(runs) + len(shares)
    found = linprog(
        -np.concatenate([instance.expected_profit.ravel(), np.zeros(len(shares))]),
        A_ub=np.concatenate([arrives.reshape(-1, size), occupied.reshape(-1, size), -done]),
        b_ub=np.concatenate([instance.arrival.ravel(), np.ones(K * T), -tasks.demand]),
        bounds=(0, 1),
        method="highs",
    )
    assert found.status == 0, found.message
    y = np.where(found.x[: len(runs)] < 1e-12, 0.0, found.x[: len(runs)]).reshape(T, J, K, L)
    used = y.sum(axis=(2, 3))
    y *= np.minimum(1.0, instance.arrival / np.where(used > 0, used, 1.0))[..., None, None]
    # Profit is maximised and the demand stands on the right of >=: both signs turn.
    marginals = found.ineqlin.marginals
    return plan_with(y, reserved=marginals[marginals.size - len(tasks) :], objective=-found.fun)


def plan_with(
    y: np.ndarray, *, reserved: np.ndarray | None = None, objective: float = 0.0
) -> P1Solution:
    """Put what policies read of a plan into one; the rest is empty."""
    nothing = np.zeros((0, 0))
    duals = P1Duals(nothing, nothing, np.zeros(0) if reserved is None else reserved)
    return P1Solution(nothing, y, objective, objective, duals, solution=None)


def all_policies(plan: P1Solution, *, guarded: bool) -> list[RescuePolicy]:
    """The seven policies."""
    return [
        Rescue(guarded=guarded, plan=plan),
        RescuePlus(guarded=guarded, plan=plan),
        PickConfigs(guarded=guarded),
        Srs(guarded=guarded),
        Sumita(guarded=guarded, plan=plan),
        Cvs(guarded=guarded),
        RandomPolicy(guarded=guarded),
    ]


def expected_violations(instance, policy, limit=50_000):
    """Return the expected number of reserved tasks that a policy makes fail, exactly."""
    return outcome(instance, policy, track=True, limit=limit).violations
