"""Claims of TapFinger: what is proven of tasks that are placed on clusters and given bundles.

Source: Li, Zeng, Zhang, Duan, Wu: TapFinger: Task Placement and Fine-Grained Resource Allocation
for Edge Machine Learning.

That the learned policy converges, or beats another one, has no check: it is measured.
"""

from __future__ import annotations

from edgeopt.bounds.tapfinger import (
    accumulation,
    capacity,
    conflicts,
    placements,
    program,
    progress,
    rounds,
)

__all__ = ["CLAIMS"]

CLAIMS = (
    *program.CLAIMS,
    *placements.CLAIMS,
    *capacity.CLAIMS,
    *accumulation.CLAIMS,
    *rounds.CLAIMS,
    *conflicts.CLAIMS,
    *progress.CLAIMS,
)
"""All claims."""
