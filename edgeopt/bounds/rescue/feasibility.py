"""When all reserved tasks of a server can be met: window by window is not enough."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Assumption, Measurement
from edgeopt.bounds.rescue.families import RESERVED
from edgeopt.bounds.rescue.statement import claim
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.edf import FEASIBLE, ROUNDING, VIOLATED, edf_feasible, edf_order
from edgeopt.instances.rescue import RescueInstance, ReservedTasks
from edgeopt.solvers import LinearProgram, solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CLAIMS", "ReservedLoad", "crowded_window"]


@dataclass(frozen=True)
class ReservedLoad:
    """Reserved tasks and servers alone, which need not fit together.

    A `RescueInstance` refuses tasks that cannot all be met; this is what remains of one to
    speak about such tasks.

    Parameters
    ----------
    capacity
        Work that each server does per slot, TMAC, shape [K, T].
    reserved
        The tasks.
    """

    capacity: NDArray[np.float64]
    reserved: ReservedTasks


@cache
def crowded_window() -> ReservedLoad:
    """One slot of capacity 1 TMAC and two reserved tasks of 0.6 TMAC in it.

    Each demand fits into its own window, both together do not: a sixth of it has no place in P1.
    """
    here = np.array([0, 0])
    tasks = ReservedTasks(server=here, start=here, end=here, demand=np.array([0.6, 0.6]))
    return ReservedLoad(np.ones((1, 1)), tasks)


def _criterion_holds(load: ReservedLoad, server: int) -> bool:
    """Tell whether every interval offers what must be served within it."""
    tasks, mine = load.reserved, load.reserved.of_server(server)
    start, end, demand = tasks.start[mine], tasks.end[mine], tasks.demand[mine]
    offered = np.concatenate(([0.0], np.cumsum(load.capacity[server])))
    for a in np.unique(start):
        for b in np.unique(end[end >= a]):
            inside, offer = demand[(start >= a) & (end <= b)], offered[b + 1] - offered[a]
            allowed = max(FEASIBLE * inside.min(initial=np.inf), ROUNDING * offer)
            if inside.sum() - offer > allowed:
                return False
    return True


def _unserved(load: ReservedLoad, server: int) -> float:
    """Least share of all demand that any shares of the slots leave unserved, by an LP."""
    from scipy.sparse import csr_array

    tasks, mine = load.reserved, load.reserved.of_server(server)
    cells = [(n, t) for n, i in enumerate(mine) for t in range(tasks.start[i], tasks.end[i] + 1)]
    if not cells:
        return 0.0
    owner, slot = np.array(cells).T
    horizon = load.capacity.shape[1]
    rows = np.concatenate((slot, horizon + owner))
    columns = np.tile(np.arange(len(cells)), 2)
    work = csr_array((np.ones(len(rows)), (rows, columns)), shape=(horizon + len(mine), len(cells)))
    total = tasks.demand[mine].sum()
    side = np.concatenate((load.capacity[server], tasks.demand[mine])) / total
    served = LinearProgram(-np.ones(len(cells)), work, -np.inf, side, 0.0, np.inf)
    return 1.0 + solve(served).objective


def _edf_meets_all(load: ReservedLoad, server: int) -> bool:
    tasks = load.reserved
    order, offset = edf_order(tasks.server, tasks.end, len(load.capacity))
    mine = order[offset[server] : offset[server + 1]]
    return bool(
        edf_feasible(
            mine,
            tasks.start,
            tasks.end,
            tasks.demand,
            tasks.demand,
            load.capacity[server],
            0,
            0,
        )
    )


def _shortfall(load: ReservedLoad) -> Measurement:
    unserved = [_unserved(load, k) for k in range(len(load.capacity))]
    proof = {"unserved": np.array(unserved)}
    return Measurement(max(unserved), 0.0, proof, size=1.0)


def _disagreements(load: ReservedLoad) -> Measurement:
    servers = range(len(load.capacity))
    verdicts = np.array(
        [
            (
                _edf_meets_all(load, k),
                _criterion_holds(load, k),
                _unserved(load, k) <= VIOLATED,
            )
            for k in servers
        ]
    )
    differing = verdicts.any(axis=1) != verdicts.all(axis=1)
    return Measurement(float(differing.sum()), 0.0, {"edf_criterion_lp": verdicts})


def _windows_suffice_alone(load: ReservedLoad) -> bool:
    tasks = load.reserved
    return all(
        demand * (1.0 - FEASIBLE) <= load.capacity[k, start : end + 1].sum()
        for k, start, end, demand in zip(
            tasks.server, tasks.start, tasks.end, tasks.demand, strict=True
        )
    )


_EACH_WINDOW_SUFFICES = Assumption(
    "every window holds its own demand",
    r"$\phi_i \le \sum_{t=s_i}^{e_i} c_{k_i}(t)$ for every reserved task",
    _windows_suffice_alone,
)

CLAIMS = (
    claim(
        "feasibility.printed",
        r"$\phi_i \le \sum_{t=s_i}^{e_i} c_{k_i}(t)$ for every reserved task makes P1 feasible; "
        "the share of the demand that must stay unserved on the worst server is measured.",
        "section III-A",
        _shortfall,
        Relation.AT_MOST,
        {"crowded_window()": crowded_window},
        instance_type=(ReservedLoad, RescueInstance),
        view=lambda load: load,
        assumptions=(_EACH_WINDOW_SUFFICES,),
        counterexample="crowded_window()",
        corrected_by=("rescue.feasibility",),
    ),
    claim(
        "feasibility",
        "P1 is feasible iff no interval of slots must serve more than it offers, and then serving "
        "the earliest deadline first meets all demands; servers on which the demand criterion, "
        "that rule and the linear program disagree are counted.",
        "section III-A, corrected",
        _disagreements,
        Relation.AT_MOST,
        {"crowded_window()": crowded_window, **RESERVED},
        instance_type=(ReservedLoad, RescueInstance),
        view=lambda load: load,
    ),
)
