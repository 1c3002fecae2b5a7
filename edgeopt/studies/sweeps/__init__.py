"""Sweeps: independent cells of a table, computed in parallel and kept when finished."""

from __future__ import annotations

from edgeopt.studies.sweeps.cells import Cell, modules_in
from edgeopt.studies.sweeps.run import compute_cells, run_cells, tabulate
from edgeopt.studies.sweeps.store import Store, StoreWarning

__all__ = ["Cell", "Store", "StoreWarning", "compute_cells", "modules_in", "run_cells", "tabulate"]
