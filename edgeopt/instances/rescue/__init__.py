"""Opportunistic retraining on underutilised edges: the data of RESCUE.

Source: Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on
Underutilized Edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.instances.rescue.data import from_bundled, from_raw
from edgeopt.instances.rescue.generate import generate
from edgeopt.instances.rescue.instance import RescueInstance, ReservedTasks
from edgeopt.instances.rescue.named import small, tight
from edgeopt.instances.rescue.profit_models import LogFit, LogProfit, ProfitModel, fit_log_profile
from edgeopt.later import loaded_later

if TYPE_CHECKING:
    from edgeopt.instances.rescue.job_list import from_jobs

__all__ = [
    "LogFit",
    "LogProfit",
    "ProfitModel",
    "RescueInstance",
    "ReservedTasks",
    "fit_log_profile",
    "from_bundled",
    "from_jobs",
    "from_raw",
    "generate",
    "small",
    "tight",
]

__getattr__ = loaded_later(__name__, {"from_jobs": "job_list"})
