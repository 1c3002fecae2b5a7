"""Routing problems of tiny instances, and their optimum by plain loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from edgeopt.models.edr.routing import Penalties, conditions, routing_problem
from tests.certified import linprog
from tests.strategies import edr_instances


class Case(NamedTuple):
    """A frame of an instance, and how it is routed."""

    instance: object
    frame: int
    training: np.ndarray
    split: str
    budget: float

    @property
    def problem(self):
        instance = self.instance
        return routing_problem(
            instance,
            [conditions(instance, self.frame, slot) for slot in range(instance.slots)],
            price=float(instance.price[self.frame]),
            training=self.training,
            budget=self.budget,
            split=self.split,
        )


@st.composite
def cases(draw, *, split=None, capped=None, **sizes):
    """Draw a frame whose training may leave no room at all."""
    instance = draw(edr_instances(**({"frames": 1, "tasks": 0, "capped": capped} | sizes)))
    frame = draw(st.integers(0, instance.frames - 1))
    share = draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=instance.sites,
                          max_size=instance.sites))  # fmt: skip
    training = np.array(share) * instance.slots * instance.capacity
    chosen = draw(st.sampled_from(["even", "free"])) if split is None else split
    return Case(instance, frame, training, chosen, float(instance.cap[frame]))


class Published(NamedTuple):
    """A frame as printed: every flow has a variable, training is split by hand."""

    cost: np.ndarray
    equal: tuple
    at_most: tuple
    bounds: list
    unserved: np.ndarray
    excess: np.ndarray

    def least(self, objective, *limits):
        """Return the least value, and optionally keep other objectives at most at their limits."""
        rows, sides = [self.at_most[0]], [self.at_most[1]]
        for weights, limit in limits:
            rows.append(weights[None, :])
            sides.append([limit])
        found = linprog(
            objective, np.vstack(rows), np.concatenate(sides), *self.equal, bounds=self.bounds
        )
        assert found.status == 0
        return found.fun

    def penalised(self, penalties: Penalties):
        """Return the least cost with penalties."""
        return self.least(
            self.cost + penalties.unserved * self.unserved + penalties.excess * self.excess
        )


def published(case: Case) -> Published:
    """Write a frame down variable by variable: y[s, j, k, n], u[s, j, n], z[s, k], o."""
    instance, t, (training, split, budget) = case.instance, case.frame, case[2:]
    D, J, N = instance.slots, instance.sites, instance.types
    flows = [(s, j, k, n) for s in range(D) for j in range(J) for k in range(J) for n in range(N)]
    lost = [(s, j, n) for s in range(D) for j in range(J) for n in range(N)]
    beside = [(s, k) for s in range(D) for k in range(J)]
    width = len(flows) + len(lost) + len(beside) + 1
    cost, bounds = np.zeros(width), [(0.0, None)] * width
    unserved, excess = np.zeros(width), np.zeros(width)
    unserved[len(flows) : len(flows) + len(lost)] = 1.0
    excess[-1] = 1.0
    demand = np.zeros((len(lost), width))
    load = np.zeros((len(beside), width))
    whole = np.zeros((J, width))
    energy = np.zeros((1, width))
    energy[0, -1] = -1.0
    for v, (s, j, k, n) in enumerate(flows):
        used = float(instance.energy_per_work[k] * instance.request_work[n])
        seconds = float(
            instance.propagation[t, s, j, k]
            + instance.propagation[t, s, k, j]
            + instance.request_work[n] / instance.speed[k]
        )
        if j != k:
            seconds += float(instance.request_size[n] / instance.rate[t, j, k])
        if not instance.capable[k, n] or seconds > instance.slo[t, s, n]:
            bounds[v] = (0.0, 0.0)
        cost[v] = (
            instance.energy_weight * float(instance.price[t]) * used
            + instance.delay_weight * seconds
        )
        demand[lost.index((s, j, n)), v] = 1.0
        load[beside.index((s, k)), v] = float(instance.request_work[n])
        energy[0, v] = used
    for v, (s, j, n) in enumerate(lost, start=len(flows)):
        demand[lost.index((s, j, n)), v] = 1.0
    for v, (s, k) in enumerate(beside, start=len(flows) + len(lost)):
        load[beside.index((s, k)), v] = 1.0
        whole[k, v] = 1.0
        if split == "even":
            bounds[v] = (float(training[k]) / D,) * 2
    asked = [float(instance.requests[t, s, j, n]) for s, j, n in lost]
    equal, right = demand, asked
    if split == "free":
        equal, right = np.vstack([demand, whole]), [*asked, *training.tolist()]
    room = [float(instance.capacity[k]) for _, k in beside]
    rows, sides = load, room
    if np.isfinite(budget):
        rows, sides = np.vstack([load, energy]), [*room, budget]
    else:
        bounds[-1] = (0.0, 0.0)
    return Published(cost, (equal, right), (rows, sides), bounds, unserved, excess)


def check_plan(plan, *, close=1e-9):
    """Recount a plan from its problem by plain loops."""
    problem = plan.problem
    assert (plan.flow >= 0).all()
    assert (plan.unserved >= 0).all()
    served = np.zeros(problem.demand.shape)
    load = np.zeros(problem.capacity.shape)
    cost, energy, delay = 0.0, 0.0, 0.0
    for a in range(problem.routes):
        s, j, n, k = problem.slot[a], problem.origin[a], problem.type[a], problem.site[a]
        served[s, j, n] += plan.flow[a]
        load[s, k] += plan.flow[a] * problem.work[n]
        cost += plan.flow[a] * problem.cost[a]
        energy += plan.flow[a] * problem.energy[k, n]
        delay += plan.flow[a] * problem.seconds[a]
    np.testing.assert_allclose(served + plan.unserved, problem.demand, rtol=close, atol=close)
    assert (load <= problem.capacity * (1 + close)).all()
    assert (load.sum(axis=0) <= problem.room * (1 + close)).all()
    np.testing.assert_allclose(plan.load, load, rtol=close, atol=close)
    np.testing.assert_allclose(
        [plan.cost, plan.energy, plan.delay], [cost, energy, delay], rtol=close, atol=close
    )
    assert plan.excess >= energy - problem.budget - close * max(1.0, energy)
    assert plan.bound <= plan.objective + close * max(1.0, abs(plan.objective))
