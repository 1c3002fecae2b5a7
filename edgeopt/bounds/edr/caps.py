"""Which cap the fractional rounds keep: that of their own frame, or that of the one before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement
from edgeopt.bounds.edr import counterexamples
from edgeopt.bounds.edr.assumptions import TASKS
from edgeopt.bounds.edr.families import DRAWN, MOVING, STEADY
from edgeopt.bounds.edr.statement import claim
from edgeopt.bounds.named import one
from edgeopt.bounds.verdict import Relation

if TYPE_CHECKING:
    from edgeopt.bounds.edr.evaluation import Evaluation

__all__ = ["CLAIMS"]


def _largest_excess(view: Evaluation, index: str) -> Measurement:
    """Energy and cap of the frame where the cap is missed most."""
    spent, cap = view.problem.spent(view.plays[index].points), view.problem.cap
    known = np.flatnonzero(np.isfinite(cap))
    if known.size == 0:
        return Measurement(0.0, 0.0, {"frames with a cap": 0})
    t = known[np.argmax((spent - cap)[known])]
    return Measurement(spent[t], cap[t], {"frame": int(t), "energy": spent})


CLAIMS = (
    claim(
        "cap",
        r"$e^t \cdot x^t \le R^t$ in every frame if a step keeps the cap of the frame that it is "
        "for, which is announced before the frame begins.",
        "Algorithm 1, equation (7), with the current constraint",
        lambda view: _largest_excess(view, "current"),
        Relation.AT_MOST,
        {**STEADY, **MOVING, **DRAWN, **one(counterexamples.sudden_cap)},
        assumptions=(TASKS,),
    ),
    claim(
        "cap.printed",
        r"$e^t \cdot x^t \le R^t$ in every frame if a step keeps the cap of the frame before, "
        r"$h^t(x^{t+1}) \ge 0$, as printed.",
        "Algorithm 1, equation (7)",
        lambda view: _largest_excess(view, "stale"),
        Relation.AT_MOST,
        one(counterexamples.sudden_cap),
        assumptions=(TASKS,),
        counterexample="sudden_cap()",
        corrected_by=("edr.cap",),
    ),
)
