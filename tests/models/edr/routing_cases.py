"""Routing problems of tiny instances, and their optimum by plain loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from edgeopt.models.edr.routing import conditions, routing_problem
from edgeopt.testing.strategies import edr_instances
from tests.oracles.edr import plain, routing


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

    def _given(self):
        instance = self.instance
        given = {"training": self.training.tolist(), "budget": self.budget, "split": self.split}
        slots, price = range(instance.slots), float(instance.price[self.frame])
        return (plain(instance, float), self.frame, slots, price), given

    def penalised(self, penalties):
        """Return the least cost with penalties."""
        where, given = self._given()
        unserved = [penalties.unserved] * self.instance.types
        found = routing.penalised(*where, unserved=unserved, excess=penalties.excess, **given)
        return found.objective


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
