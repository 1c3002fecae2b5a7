"""TapFinger as studies see it.

Source: Li, Zeng, Zhang, Duan, Wu: TapFinger: Task Placement and Fine-Grained Resource Allocation
for Edge Machine Learning.
"""

from __future__ import annotations

from edgeopt.studies.tapfinger.record import SYSTEM

__all__ = ["SYSTEM"]
