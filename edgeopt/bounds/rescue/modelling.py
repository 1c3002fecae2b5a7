"""Facts behind the profit model: the end of the horizon, time budgets, accuracy, radio."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement
from edgeopt.bounds.named import one
from edgeopt.bounds.rescue.counterexamples import outlasting_run
from edgeopt.bounds.rescue.families import INDEPENDENT, PAPER_SETTING, TINY
from edgeopt.bounds.rescue.statement import EXACT, claim
from edgeopt.bounds.verdict import Relation

if TYPE_CHECKING:
    from edgeopt.bounds.rescue.evaluation import Evaluation

__all__ = [
    "CLAIMS",
]


def _last_slot(view: Evaluation) -> Measurement:
    """Compare the baseline of the last slot with the plan's profit in it, on the worst server."""
    reward = view.instance.expected_profit_block(slice(view.instance.horizon - 1, None))[0]
    planned = np.einsum("jkl,jkl->k", view.routing(view.instance.horizon - 1), reward)
    last = view.values[1][:, -2]
    worst = int(np.argmax(np.abs(last - planned)))
    return Measurement(last[worst], planned[worst], {"baseline": last, "planned": planned})


def _held_and_dropped(view: Evaluation) -> Measurement:
    """Compare OPT(LP) when runs beyond the horizon are paid with OPT(LP) when they are not."""
    other = view.other_ending
    value = {
        view.instance.beyond: view.plan.objective,
        other.instance.beyond: other.plan.objective,
    }
    return Measurement(value["hold"], value["drop"], {"bound": view.plan.bound})


_BEYOND = {**one(outlasting_run, "hold"), **one(outlasting_run, "drop")}

CLAIMS = (
    claim(
        "horizon",
        r"$\mathcal{B}_k(T) = \sum_{j,l} y_{jkl}(T) R_{jkl}(T)$, whether runs that end after the "
        "horizon are paid or not; on the worst server.",
        "equation (6)",
        _last_slot,
        Relation.EQUAL,
        {**_BEYOND, **TINY, **INDEPENDENT, **PAPER_SETTING},
        tolerance=EXACT,
    ),
    claim(
        "beyond.printed",
        r"$\mathrm{OPT}(LP)$ does not depend on what is assumed after the horizon.",
        "equations (1) and (4)",
        _held_and_dropped,
        Relation.EQUAL,
        one(outlasting_run, "hold"),
        counterexample="outlasting_run(hold)",
        corrected_by=("rescue.beyond", "rescue.horizon"),
    ),
    claim(
        "beyond",
        r"$\mathrm{OPT}(LP)$ with runs paid that end after the horizon is at least what it is "
        "without.",
        "equations (1) and (4), corrected",
        _held_and_dropped,
        Relation.AT_LEAST,
        {**_BEYOND, **TINY},
    ),
)
