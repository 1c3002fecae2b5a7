r"""A proven ratio, and a plausible one that is false.

Proof that Balance pays at most twice the optimum. The requests of a batch wait for less than the
price of a batch, so Balance pays at most two prices per batch. Between the first request of the
batch and its launch the optimum either launches a batch too, or lets the same requests wait at
least one slot longer than Balance does, which by the rule of Balance costs at least the price of a
batch. Either way the optimum pays at least one price in this interval, and the intervals of
different batches do not overlap.
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
        raise NotApplicableError("there are no requests")
    paid = simulate(Waking(instance), policy, runs=1).total[0]
    return Measurement(paid / best.bound, 2.0, {"paid": paid, "optimum": best.bound})


def one_request(launch: int) -> BatchInstance:
    """Return the worst day for Balance: a single request, best served at once."""
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
    """Return a day with requests in its first slot and in one later slot."""
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
