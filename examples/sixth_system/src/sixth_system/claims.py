r"""A proven ratio, and one that sounds as good and is false.

That Balance pays at most twice the optimum: its waiting stays below the price of a batch, so a
batch costs it at most two prices. From the first of a batch's requests to its launch, the optimum
launches as well, or lets them all wait for at least one slot more than Balance, which costs the
price of a batch or more by the rule of Balance. Either way it pays a price there, and these
stretches do not overlap.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt import simulate
from edgeopt.bounds.claim import Claim, Measurement, NotApplicableError
from edgeopt.bounds.search import Parameter, ParameterSpace
from edgeopt.bounds.verdict import Relation, Source
from sixth_system.instance import BatchInstance, generate
from sixth_system.offline import optimum
from sixth_system.online import BALANCE, TIMER, Waking

if TYPE_CHECKING:
    from collections.abc import Mapping

PAPER = "Dooly, Goldman, Scott: On-line analysis of the TCP acknowledgment delay problem"


def ratio(policy: Any, instance: BatchInstance) -> Measurement:
    """Compare twice the optimum with what a policy without coins pays."""
    best = optimum(instance)
    if best.bound <= 0:
        raise NotApplicableError("nobody asks for anything")
    paid = simulate(Waking(instance), policy, runs=1).total[0]
    return Measurement(paid / best.bound, 2.0, {"paid": paid, "optimum": best.bound})


def one_request(launch: int) -> BatchInstance:
    """Return the day on which Balance is worst: one request, which could have been served alone."""
    return BatchInstance(np.eye(1, launch + 1, dtype=int)[0], launch)


def two_at_once() -> BatchInstance:
    """Return the smallest day that refutes the timer: two requests, a price of one slot."""
    return BatchInstance(np.array([2, 0]), 1.0)


CLAIMS = (
    Claim(
        id="sixth.balance",
        statement=r"$\mathrm{cost}(\text{Balance}) \le 2\,\mathrm{OPT}$ on every day",
        source=Source(PAPER, "the greedy algorithm, by slots"),
        measure=partial(ratio, BALANCE),
        relation=Relation.AT_MOST,
        instance_type=BatchInstance,
        test_instances={
            "one_request": partial(one_request, 20),
            **{f"drawn_{seed}": partial(generate, slots=80, rng=seed) for seed in range(5)},
        },
    ),
    Claim(
        id="sixth.timer",
        statement=r"$\mathrm{cost}(\text{Timer}) \le 2\,\mathrm{OPT}$ on every day",
        source=Source("folklore", "by analogy with renting skis"),
        measure=partial(ratio, TIMER),
        relation=Relation.AT_MOST,
        instance_type=BatchInstance,
        test_instances={"two_at_once": two_at_once},
        counterexample="two_at_once",
        corrected_by=("sixth.balance",),
    ),
)


def two_moments(point: Mapping[str, Any]) -> BatchInstance:
    """Return a day with requests in its first slot and some slots later."""
    requests = np.zeros(point["later"] + 10, dtype=int)
    requests[0] += point["first"]
    requests[point["later"]] += point["then"]
    return BatchInstance(requests, point["launch"])


PARAMETER_SPACES = (
    ParameterSpace(
        "two_moments",
        (
            Parameter("first", 1, 12, whole=True),
            Parameter("then", 0, 12, whole=True),
            Parameter("later", 1, 12, whole=True),
            Parameter("launch", 1.0, 8.0),
        ),
        two_moments,
    ),
)
