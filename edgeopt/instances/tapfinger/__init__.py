"""Tasks that ask for CPU cores and GPUs of edge clusters: the data of TapFinger.

Source: Li, Zeng, Zhang, Duan, Wu: TapFinger: Task Placement and Fine-Grained Resource Allocation
for Edge Machine Learning.
"""

from __future__ import annotations

from edgeopt.instances.tapfinger.instance import TapFingerInstance

__all__ = ["TapFingerInstance"]
