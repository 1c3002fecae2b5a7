"""RESCUE, its improvement and the baselines."""

from __future__ import annotations

from edgeopt.online.rescue.policies.greedy import Cvs, PickConfigs, Srs
from edgeopt.online.rescue.policies.random import RandomPolicy
from edgeopt.online.rescue.policies.rescue import Rescue
from edgeopt.online.rescue.policies.rescue_plus import RescuePlus
from edgeopt.online.rescue.policies.sumita import Sumita

__all__ = ["Cvs", "PickConfigs", "RandomPolicy", "Rescue", "RescuePlus", "Srs", "Sumita"]
