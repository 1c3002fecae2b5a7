"""OINC online: requests each second, jobs beside them, policies and their environment.

Source: Zeng, Zhou, Jiao, Han, Yu, Ma: Efficient Online DNN Inference with Continuous Learning in
Edge Computing.
"""

from __future__ import annotations

from edgeopt.online.oinc.environment import OincEnvironment
from edgeopt.online.oinc.events import Decision, Jobs, Outcome, Runs, Slot
from edgeopt.online.oinc.inference.greedy_convex import GreedyConvex
from edgeopt.online.oinc.inference.liu import Liu
from edgeopt.online.oinc.inference.near_optimal import NearOptimalInference
from edgeopt.online.oinc.policies.ekya import Ekya
from edgeopt.online.oinc.policies.kalmia import Kalmia
from edgeopt.online.oinc.policies.loop import Oinc, OincState
from edgeopt.online.oinc.policies.parts import Inference, Queues, Reserving, Retraining
from edgeopt.online.oinc.reservation import Reservation, StaticShares
from edgeopt.online.oinc.retraining.dedas import Dedas
from edgeopt.online.oinc.retraining.residual_density import ResidualDensity
from edgeopt.online.oinc.retraining.zhang import Zhang
from edgeopt.online.oinc.trajectory import OincTrajectory, Served

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
    "OincState",
    "OincTrajectory",
    "Outcome",
    "Queues",
    "Reservation",
    "Reserving",
    "ResidualDensity",
    "Retraining",
    "Runs",
    "Served",
    "Slot",
    "StaticShares",
    "Zhang",
]
