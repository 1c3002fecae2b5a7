"""OINC as studies see it.

Source: Zeng, Zhou, Jiao, Han, Yu, Ma: Efficient Online DNN Inference with Continuous Learning in
Edge Computing.
"""

from __future__ import annotations

from edgeopt.studies.oinc.record import SYSTEM

__all__ = ["SYSTEM"]
