"""Inference each second and retraining beside it: the data of OINC.

Source: Zeng, Zhou, Jiao, Han, Yu, Ma: Efficient Online DNN Inference with Continuous Learning in
Edge Computing.
"""

from __future__ import annotations

from edgeopt.instances.oinc.activity import draw_activity
from edgeopt.instances.oinc.channel import link_rates
from edgeopt.instances.oinc.generate import generate
from edgeopt.instances.oinc.instance import OincInstance

__all__ = ["OincInstance", "draw_activity", "generate", "link_rates"]
