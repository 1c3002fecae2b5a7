"""How jobs are dispatched to sites and served there."""

from __future__ import annotations

from edgeopt.online.oinc.retraining.residual_density import (
    JobRuns,
    RetrainingRun,
    run_density,
)

__all__ = ["JobRuns", "RetrainingRun", "run_density"]
