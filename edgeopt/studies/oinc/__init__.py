"""OINC as studies see it, and the paper's Table I on drawn instances.

Source: Zeng, Zhou, Jiao, Han, Yu, Ma: Efficient Online DNN Inference with Continuous Learning in
Edge Computing.
"""

from __future__ import annotations

from edgeopt.studies.oinc.record import SYSTEM
from edgeopt.studies.oinc.table_one import table_one

__all__ = ["SYSTEM", "table_one"]
