"""Two claims of your own: one holds, a search finds a counterexample to the other."""

from functools import partial

import numpy as np

from edgeopt import check
from edgeopt.bounds.claim import Claim, Measurement, NotApplicableError
from edgeopt.bounds.search import Parameter, ParameterSpace, search
from edgeopt.bounds.verdict import Relation, Source
from edgeopt.instances.rescue import RescueInstance, ReservedTasks, small
from edgeopt.models.rescue import solve_p1_lp
from edgeopt.online.rescue import PickConfigs, policy_value


def share(instance):
    """Expected profit of the greedy policy PickConfigs, as a share of the offline optimum."""
    optimum = solve_p1_lp(instance).bound
    if optimum <= 0:
        raise NotApplicableError("nothing can be earned")
    return policy_value(instance, PickConfigs()) / optimum


def claim(name, statement, relation, guaranteed):
    return Claim(
        id=f"mine.{name}",
        statement=statement,
        source=Source("this script", name),
        measure=lambda instance: Measurement(share(instance), guaranteed),
        relation=relation,
        instance_type=RescueInstance,
        test_instances={f"drawn {seed}": partial(small, seed, reserved=False) for seed in range(9)},
    )


def two_tasks(point):
    """One server: a task that earns 1, and perhaps one that earns more in the next slot."""
    profit = np.zeros((2, 2, 1, 1, 1))
    profit[:, :, 0, 0, 0] = np.diag([1.0, point["profit"]])
    return RescueInstance(
        arrival=np.diag([1.0, point["chance"]]),
        duration=np.eye(2)[[point["slots"] - 1]],
        capacity=np.ones((1, 2)),
        reserved=ReservedTasks.none(),
        profit=profit,
    )


bounded = claim("bounded", "PickConfigs never beats the optimum", Relation.AT_MOST, 1.0)
third = claim("third", "PickConfigs earns a third of the optimum", Relation.AT_LEAST, 1 / 3)
for verdict in check([bounded, third]):
    print(f"{verdict.claim}: {verdict.verdict} on {verdict.instance}, {verdict.measured:.3f}")

# Drawn instances do not refute the second claim. A search over three parameters does.
space = ParameterSpace(
    "two_tasks",
    (
        Parameter("profit", 0.0, 100.0),
        Parameter("chance", 0.0, 1.0, simple=1.0),
        Parameter("slots", 1, 2, whole=True),
    ),
    two_tasks,
)
found = search(third, space, budget=60, rng=7)
print(f"{found.verdict.claim}: {found.verdict.verdict} by {found.name}")
print(
    f"share {found.verdict.measured:.3f}, the smallest of {found.evaluations} instances, simplified"
)
