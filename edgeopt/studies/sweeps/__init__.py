"""Sweeps: independent cells of a table, computed in parallel and kept when finished."""

from __future__ import annotations

from edgeopt.studies.sweeps.cells import Cell
from edgeopt.studies.sweeps.sweep import Store, StoreWarning, compute_cells, run_cells, tabulate

__all__ = ["Cell", "Store", "StoreWarning", "compute_cells", "run_cells", "tabulate"]
