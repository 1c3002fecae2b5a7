"""Claims of TapFinger: what is proven of tasks that are placed on clusters and given bundles.

Source: Li, Zeng, Zhang, Duan, Wu: TapFinger: Task Placement and Fine-Grained Resource Allocation
for Edge Machine Learning.

That the learned policy converges, or beats another one, has no check: it is measured.
"""

from __future__ import annotations

from edgeopt_papers.claims.paper import collected
from edgeopt_papers.tapfinger.claims import conflicts, embeddings, lower, program
from edgeopt_papers.tapfinger.claims.gap import Gap, flow_gap
from edgeopt_papers.tapfinger.claims.plan import Plan

__all__ = ["CLAIMS", "Gap", "Plan", "flow_gap"]

CLAIMS = collected(
    program.CLAIMS,
    conflicts.CLAIMS,
    embeddings.CLAIMS,
    lower.CLAIMS,
)
"""All claims."""
