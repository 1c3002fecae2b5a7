"""The reward that the actor learns by, beside the objective that it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgeopt.bounds.claim import Measurement
from edgeopt.bounds.oinc.statement import claim
from edgeopt.bounds.verdict import Relation

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CLAIMS", "TwoPlans", "few_or_many"]

Latencies = tuple[tuple[float, ...], ...]
"""Latencies of the requests of each slot, s, all within their objectives."""


@dataclass(frozen=True)
class TwoPlans:
    """What two plans for the same slots come to.

    Parameters
    ----------
    first, second
        Latencies of the requests of each slot, s, all within their objectives.
    """

    first: Latencies
    second: Latencies


def few_or_many() -> TwoPlans:
    """Answer one request of a slot fast, or the three of the next.

    In sum 0.5 + 3 * 0.1 s is less than 0.1 + 3 * 0.3; of the means 0.5 + 0.1 is more.
    """
    return TwoPlans(((0.5,), (0.1, 0.1, 0.1)), ((0.1,), (0.3, 0.3, 0.3)))


def _total(plan: Latencies) -> float:
    return sum(sum(slot) for slot in plan)


def _mean_reward(plan: Latencies) -> float:
    return -sum(sum(slot) / len(slot) for slot in plan)


def _sum_reward(plan: Latencies) -> float:
    return -_total(plan)


def _advantage(plans: TwoPlans, reward: Callable[[Latencies], float]) -> Measurement:
    """Measure by how much the reward prefers the plan that the objective prefers."""
    better, worse = sorted((plans.first, plans.second), key=_total)
    return Measurement(reward(better) - reward(worse), 0.0)


_PLANS = {"instance_type": TwoPlans, "view": lambda plans: plans}

CLAIMS = (
    claim(
        "reward",
        "The sum of latencies over a slot, taken negatively, prefers what problem (3) prefers.",
        "Equation (4), corrected",
        lambda plans: _advantage(plans, _sum_reward),
        Relation.AT_LEAST,
        {"few_or_many()": few_or_many},
        **_PLANS,
    ),
    claim(
        "reward.printed",
        "Their mean over a slot does so: but it weighs a request the less the more there are.",
        "Equation (4)",
        lambda plans: _advantage(plans, _mean_reward),
        Relation.AT_LEAST,
        {"few_or_many()": few_or_many},
        counterexample="few_or_many()",
        corrected_by=("oinc.reward",),
        **_PLANS,
    ),
)
