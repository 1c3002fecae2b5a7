"""Opportunistic retraining on underutilised edges: the data of RESCUE.

Source: Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on
Underutilized Edges.
"""

from __future__ import annotations

from edgeopt.instances.rescue.generate import generate
from edgeopt.instances.rescue.instance import RescueInstance
from edgeopt.instances.rescue.measurements import from_data, from_tables
from edgeopt.instances.rescue.physical import LogFit, fit_log_profile
from edgeopt.instances.rescue.profit import LogProfit, ProfitModel
from edgeopt.instances.rescue.reserved import ReservedTasks
from edgeopt.instances.rescue.special import small, tight

__all__ = [
    "LogFit",
    "LogProfit",
    "ProfitModel",
    "RescueInstance",
    "ReservedTasks",
    "fit_log_profile",
    "from_data",
    "from_tables",
    "generate",
    "small",
    "tight",
]
