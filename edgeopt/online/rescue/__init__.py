"""RESCUE online: the environment, the policies, their value functions and exact evaluation.

Source: Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on
Underutilized Edges.
"""

from __future__ import annotations

from edgeopt.online.rescue.environment import (
    Arrival,
    FinishedRun,
    Placement,
    RescueEnvironment,
    RescueTrajectory,
)
from edgeopt.online.rescue.expected_value import expected_violations, policy_value
from edgeopt.online.rescue.guarantees import SafeGuarantee, safe_guarantee
from edgeopt.online.rescue.lookup_tables import Guard
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
    PriceGreedy,
    SafeRescue,
    SafeRescuePlus,
)
from edgeopt.online.rescue.value_functions import (
    AuxiliaryValues,
    ValueFunctions,
    auxiliary_values,
    value_functions,
)

__all__ = [
    "Arrival",
    "AuxiliaryValues",
    "CompetingOffers",
    "Cvs",
    "FinishedRun",
    "Guard",
    "PickConfigs",
    "Placement",
    "PriceGreedy",
    "RandomPolicy",
    "Rescue",
    "RescueEnvironment",
    "RescuePlus",
    "RescuePolicy",
    "RescueTrajectory",
    "SafeGuarantee",
    "SafeRescue",
    "SafeRescuePlus",
    "Srs",
    "Sumita",
    "ValueFunctions",
    "auxiliary_values",
    "expected_violations",
    "policy_value",
    "safe_guarantee",
    "value_functions",
]
