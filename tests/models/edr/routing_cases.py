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
