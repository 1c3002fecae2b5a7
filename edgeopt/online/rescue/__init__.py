"""RESCUE online: the environment, the policies, their value functions and exact evaluation.

Source: Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on
Underutilized Edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.later import loaded_later
from edgeopt.online.rescue.environment import (
    Arrival,
    FinishedRun,
    Placement,
    RescueEnvironment,
    RescueTrajectory,
)
from edgeopt.online.rescue.expected_value import occupation, policy_value
from edgeopt.online.rescue.lookup_tables import Guard, ValueFunctions, value_functions
from edgeopt.online.rescue.policies import (
    Cvs,
    PickConfigs,
    RandomPolicy,
    Rescue,
    RescuePlus,
    RescuePolicy,
    Srs,
    Sumita,
)
from edgeopt.online.rescue.safe_policies import (
    CompetingOffers,
    Guarded,
    PriceGreedy,
    SafeRescue,
    SafeRescuePlus,
)

if TYPE_CHECKING:
    from edgeopt.online.rescue.enumeration import exact_value

__all__ = [
    "Arrival",
    "CompetingOffers",
    "Cvs",
    "FinishedRun",
    "Guard",
    "Guarded",
    "PickConfigs",
    "Placement",
    "PriceGreedy",
    "RandomPolicy",
    "Rescue",
    "RescueEnvironment",
    "RescuePlus",
    "RescuePolicy",
    "RescueTrajectory",
    "SafeRescue",
    "SafeRescuePlus",
    "Srs",
    "Sumita",
    "ValueFunctions",
    "exact_value",
    "occupation",
    "policy_value",
    "value_functions",
]

__getattr__ = loaded_later(__name__, {"exact_value": "enumeration"})
