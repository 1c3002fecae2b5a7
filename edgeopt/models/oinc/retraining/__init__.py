"""Retraining at fixed shares: problem, linear programs, bounds."""

from __future__ import annotations

from edgeopt.models.oinc.retraining.bounds import FlowBound, flow_bound
from edgeopt.models.oinc.retraining.matrix import dual_matrix, flow_matrix
from edgeopt.models.oinc.retraining.problem import (
    Certificate,
    RetrainingProblem,
    certify,
    horizon,
    retraining_problem,
)
from edgeopt.models.oinc.retraining.problem import ServiceMode as ServiceMode
from edgeopt.models.oinc.retraining.problem import Weights as Weights
from edgeopt.models.oinc.retraining.programs import flow_dual, flow_lp

__all__ = [
    "Certificate",
    "FlowBound",
    "RetrainingProblem",
    "certify",
    "dual_matrix",
    "flow_bound",
    "flow_dual",
    "flow_lp",
    "flow_matrix",
    "horizon",
    "retraining_problem",
]
