"""A claim of one's own, checked where the toolkit is installed alone: ``python own_claim.py``."""

from __future__ import annotations

from edgeopt import check
from edgeopt.bounds.claim import Claim, Measurement
from edgeopt.bounds.verdict import Relation, Source
from edgeopt.instances import rescue
from edgeopt.models.rescue import solve_p1_lp

CLAIM = Claim(
    id="mine.prices",
    statement="The optimum is proven by its duals.",
    source=Source("My notes", "page 1"),
    measure=lambda plan: Measurement(plan.objective, plan.bound),
    relation=Relation.AT_MOST,
    instance_type=rescue.RescueInstance,
    test_instances={"drawn": lambda: rescue.generate(horizon=10, rng=1)},
    view=solve_p1_lp,
)

[VERDICT] = check(CLAIM)
print(VERDICT)
assert VERDICT.verdict == "holds"
