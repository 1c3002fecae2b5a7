"""Inference every second and retraining on the same sites: the data of OINC.

Source: Zeng, Zhou, Jiao, Han, Yu, Ma: Efficient Online DNN Inference with Continuous Learning in
Edge Computing.
"""

from __future__ import annotations

from edgeopt.instances.oinc.channel import link_rates
from edgeopt.instances.oinc.data import from_bundled, from_raw
from edgeopt.instances.oinc.generate import generate, small
from edgeopt.instances.oinc.instance import OincInstance

__all__ = ["OincInstance", "from_bundled", "from_raw", "generate", "link_rates", "small"]
