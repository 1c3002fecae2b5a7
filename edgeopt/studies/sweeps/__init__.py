"""Sweeps: independent jobs of a table, computed in parallel and kept when finished."""

from __future__ import annotations

from edgeopt.studies.sweeps.jobs import Job
from edgeopt.studies.sweeps.sweep import Store, StoreWarning, compute_jobs, run_jobs, tabulate

__all__ = ["Job", "Store", "StoreWarning", "compute_jobs", "run_jobs", "tabulate"]
