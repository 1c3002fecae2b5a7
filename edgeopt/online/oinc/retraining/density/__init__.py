"""Dispatch and service by residual density while shares of the CPU stay as they are."""

from __future__ import annotations

from edgeopt.online.oinc.retraining.density.run import (
    JobRuns,
    RetrainingRun,
    run_density,
    unfinished_weight,
)

__all__ = ["JobRuns", "RetrainingRun", "run_density", "unfinished_weight"]
