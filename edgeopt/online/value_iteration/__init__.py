"""Best decisions in known Markov processes: value iteration, policy iteration, linear programs."""

from __future__ import annotations

from edgeopt.online.value_iteration.methods import (
    Values,
    average_reward,
    discounted,
    finite_horizon,
)
from edgeopt.online.value_iteration.policy import ProcessEnvironment, TablePolicy
from edgeopt.online.value_iteration.process import DecisionProcess

__all__ = [
    "DecisionProcess",
    "ProcessEnvironment",
    "TablePolicy",
    "Values",
    "average_reward",
    "discounted",
    "finite_horizon",
]
