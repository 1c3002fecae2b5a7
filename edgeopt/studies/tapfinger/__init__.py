"""TapFinger as studies see it, and its policies in both modes on drawn instances.

Source: Li, Zeng, Zhang, Duan, Wu: TapFinger: Task Placement and Fine-Grained Resource Allocation
for Edge Machine Learning.
"""

from __future__ import annotations

from edgeopt.studies.tapfinger.record import SYSTEM
from edgeopt.studies.tapfinger.three_clusters import three_clusters

__all__ = ["SYSTEM", "three_clusters"]
