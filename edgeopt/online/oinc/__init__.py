"""OINC online: requests each second, retraining jobs, policies and their environment.

Source: Zeng, Zhou, Jiao, Han, Yu, Ma: Efficient Online DNN Inference with Continuous Learning in
Edge Computing.
"""

from __future__ import annotations

from edgeopt.online.oinc.components import Inference, Queues, Retraining
from edgeopt.online.oinc.environment import OincEnvironment
from edgeopt.online.oinc.events import Decision, Jobs, OincTrajectory, Outcome, Runs, Served, Slot
from edgeopt.online.oinc.inference import GreedyConvex, Liu, NearOptimalInference
from edgeopt.online.oinc.policies.baselines import Ekya, Kalmia
from edgeopt.online.oinc.policies.loop import Oinc
from edgeopt.online.oinc.reservation import Reservation, StaticShares
from edgeopt.online.oinc.retraining.baselines import Dedas, Zhang
from edgeopt.online.oinc.retraining.residual_density import ResidualDensity

__all__ = [
    "Decision",
    "Dedas",
    "Ekya",
    "GreedyConvex",
    "Inference",
    "Jobs",
    "Kalmia",
    "Liu",
    "NearOptimalInference",
    "Oinc",
    "OincEnvironment",
    "OincTrajectory",
    "Outcome",
    "Queues",
    "Reservation",
    "ResidualDensity",
    "Retraining",
    "Runs",
    "Served",
    "Slot",
    "StaticShares",
    "Zhang",
]
