"""The clusters that TapFinger's schedulers live in, and the schedulers.

Source: Li, Zeng, Zhang, Duan, Wu: TapFinger: Task Placement and Fine-Grained Resource Allocation
for Edge Machine Learning.
"""

from __future__ import annotations

from edgeopt.online.tapfinger.events import Decision, Outcome, Round, Running, Tasks

__all__ = ["Decision", "Outcome", "Round", "Running", "Tasks"]
