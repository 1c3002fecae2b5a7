"""Observation 1 and the facts around the recursion: monotony, routing, dependence on the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.bounds.named import one
from edgeopt.bounds.rescue import counterexamples
from edgeopt.bounds.rescue.assumptions import EXCLUSIVE
from edgeopt.bounds.rescue.families import INDEPENDENT, PAPER_SETTING, TINY
from edgeopt.bounds.rescue.plans import optimal_plans
from edgeopt.bounds.rescue.statement import EXACT, claim
from edgeopt.bounds.verdict import Relation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.bounds.rescue.evaluation import Evaluation

__all__ = ["CLAIMS"]


def _monotony(view: Evaluation) -> Measurement:
    baseline = view.values[1]
    steps = baseline[:, :-1] - baseline[:, 1:]
    smallest = min(float(steps.min()), -float(np.abs(baseline[:, -1]).max()))
    size = float(np.abs(baseline).max())
    return Measurement(smallest, 0.0, {"baseline": baseline}, size=size)


def _best_alone(view: Evaluation) -> NDArray[np.float64]:
    """Best expected profit of any policy that has one server to itself, per server."""
    instance = view.instance
    value = np.zeros((instance.servers, instance.horizon + 1))
    for t in reversed(range(instance.horizon)):
        seen = value[:, t + 1 : t + 1 + instance.max_duration]
        future = seen @ instance.duration[:, : seen.shape[1]].T
        reward = instance.expected_profit_block(slice(t, t + 1))[0]
        wait = value[:, t + 1]
        gain = np.maximum((reward + future).max(axis=2) - wait, 0)
        value[:, t] = wait + instance.arrival[t] @ gain
    return value[:, 0]


def _maximality(view: Evaluation) -> Measurement:
    start, best = view.values[1][:, 0], _best_alone(view)
    worst = int(np.argmin(start - best))
    return Measurement(start[worst], best[worst], {"baseline": start, "best_alone": best})


def _routed_mass(view: Evaluation) -> Measurement:
    mass = view.synthetic.sum(axis=2)
    return Measurement(float(mass.max()), 1.0, {"mass": mass})


def _routing_sums(view: Evaluation) -> NDArray[np.float64]:
    """Return the sums of y / p over the cells of every task that can arrive."""
    arrival = view.instance.arrival
    mass = np.stack([view.routing(t).sum(axis=(1, 2)) for t in range(len(arrival))])
    if not (arrival > 0).any():
        raise NotApplicableError("no task ever arrives")
    return mass[arrival > 0] / arrival[arrival > 0]


def _routing_at_most_one(view: Evaluation) -> Measurement:
    sums = _routing_sums(view)
    return Measurement(float(sums.max()), 1.0, {"sums": sums})


def _routing_complete(view: Evaluation) -> Measurement:
    sums = _routing_sums(view)
    return Measurement(float(sums.min()), 1.0, {"sums": sums})


def _plan_spread(view: Evaluation) -> Measurement:
    values = [value for _, value in optimal_plans(view)]
    size = max(map(abs, values))
    return Measurement(max(values) - min(values), 0.0, {"values": np.array(values)}, size=size)


def _least_of_plans(view: Evaluation) -> Measurement:
    y, value = min(optimal_plans(view), key=lambda found: found[1])
    return view.against_bound(value, {"y": y, "value": value})


_ALL = {**TINY, **INDEPENDENT, **PAPER_SETTING}

CLAIMS = (
    claim(
        "observation1",
        r"$\mathcal{B}_k(t) \ge \mathcal{B}_k(t+1)$ and $\mathcal{B}_k(T+1) = 0$; the smallest "
        "step is measured.",
        "Observation 1",
        _monotony,
        Relation.AT_LEAST,
        _ALL,
        tolerance=EXACT,
    ),
    claim(
        "observation1.printed",
        r"$\mathcal{B}_k(1)$ is the largest value that can be earned on server k.",
        "Observation 1",
        _maximality,
        Relation.AT_LEAST,
        one(counterexamples.half_routed),
        assumptions=(EXCLUSIVE,),
        counterexample="half_routed()",
        corrected_by=("rescue.value", "rescue.observation1"),
    ),
    claim(
        "recursion",
        r"$\sum_{j,l} y_{jkl}(t) \le 1$ on every server by row (3b), so equation (5) averages with "
        "probabilities whatever the law of arrivals.",
        "equation (5)",
        _routed_mass,
        Relation.AT_MOST,
        _ALL,
    ),
    claim(
        "routing",
        r"$\sum_{k,l} y_{jkl}(t) / p_j(t) \le 1$ for every task that can arrive; what is missing "
        "to one rejects.",
        "Algorithm 1, line 6",
        _routing_at_most_one,
        Relation.AT_MOST,
        _ALL,
    ),
    claim(
        "routing.printed",
        r"$y_{jkl}(t) / p_j(t)$ is a probability distribution over the pairs (k, l).",
        "Algorithm 1, line 6",
        _routing_complete,
        Relation.AT_LEAST,
        one(counterexamples.half_routed),
        counterexample="half_routed()",
        corrected_by=("rescue.routing",),
    ),
    claim(
        "plan_choice.printed",
        r"The value $\sum_k \mathcal{B}_k(1)$ is the same for every optimal plan $y^*$; the spread "
        "over the optimal plans found is measured.",
        "Algorithm 1, line 2",
        _plan_spread,
        Relation.AT_MOST,
        one(counterexamples.two_plans),
        assumptions=(EXCLUSIVE,),
        counterexample="two_plans()",
        corrected_by=("rescue.plan_choice",),
    ),
    claim(
        "plan_choice",
        r"Every optimal plan gives $\sum_k \mathcal{B}_k(1) \ge \frac12 \mathrm{OPT}(LP)$, though "
        "not the same value; the least one found is measured.",
        "Theorem 1",
        _least_of_plans,
        Relation.AT_LEAST,
        {**one(counterexamples.two_plans), **TINY},
        assumptions=(EXCLUSIVE,),
    ),
)
