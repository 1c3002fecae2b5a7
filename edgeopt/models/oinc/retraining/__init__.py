"""Retraining at fixed shares: problem, linear programs, bounds."""

from __future__ import annotations

from edgeopt.models.oinc.retraining.problem import RetrainingProblem, Weights, retraining_problem

__all__ = ["RetrainingProblem", "Weights", "retraining_problem"]
