"""Facts about the set of fractional allocations and about credit for shared models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from edgeopt.bounds.claim import Assumption, Measurement, NotApplicableError, worst
from edgeopt.bounds.idn.assumptions import CHOICE, COVERED, network
from edgeopt.bounds.idn.families import DRAWN
from edgeopt.bounds.idn.points import free
from edgeopt.bounds.idn.statement import claim
from edgeopt.bounds.named import one
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.idn.special import shared_model
from edgeopt.models.idn import Demand
from edgeopt.online.idn import Infida

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.bounds.idn.evaluation import Evaluation
    from edgeopt.instances.idn import IdnInstance

__all__ = ["CLAIMS", "filled"]


SHARED = Assumption(
    "a model that several types can use",
    "a node that is not pinned lies on the paths of two types of one task",
    lambda given: bool(_sharing(network(given)).any()),
)


def _sharing(instance: IdnInstance) -> NDArray[np.bool_]:
    """Tell which cells are an option of several types, shape [V M]."""
    counts = np.bincount(instance.ranking.cell, minlength=instance.size.size)
    return np.asarray((counts > 1) & np.repeat(~instance.pinned, instance.models))


def _start(instance: IdnInstance) -> NDArray[np.float64]:
    return Infida().start(instance).fractional


def _use_at_start(view: Evaluation) -> Measurement:
    """Compare the size of the starting point with the budget, at the node where they differ."""
    choice = np.flatnonzero(free(view.instance))
    used = (view.instance.size * _start(view.instance)).sum(axis=1)
    v = choice[int(np.argmax(np.abs(used - view.instance.budget)[choice]))]
    return Measurement(used[v], view.instance.budget[v], {"node": int(v)})


def _permanent_kept(view: Evaluation) -> Measurement:
    start = np.concatenate([view.fractional, _start(view.instance)[None]])
    kept = start[:, view.instance.repository]
    return Measurement(float(kept.min()), 1.0)


def filled(instance: IdnInstance, allocation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fill the budgets left by an allocation with fractions of further models."""
    point = allocation.copy()
    for v in np.flatnonzero(free(instance)):
        rest = instance.size[v] * (1 - point[v])
        left = instance.budget[v] - float(instance.size[v] @ point[v])
        point[v] += (1 - point[v]) * min(1.0, left / rest.sum()) if rest.sum() > 0 else 0.0
    return point


def _gain_when_filled(view: Evaluation) -> Measurement:
    whole = view.integral
    wider = np.array([filled(view.instance, x) for x in whole])
    found = []
    for slot in view.slots:
        more = slot.ranked(wider.reshape(len(whole), -1))
        less = slot.ranked(whole.reshape(len(whole), -1))
        n = int(np.argmin(more - less))
        found.append(Measurement(more[n], less[n]))
    return worst(Relation.AT_LEAST, found)


def _credit(view: Evaluation, kind: Literal["own", "shared"]) -> Measurement:
    """Find the shared model whose types are credited with most beyond its capacity."""
    instance, ranking, found = view.instance, view.instance.ranking, []
    sharing = np.flatnonzero(_sharing(instance))
    few = instance.replace(requests=instance.requests[: len(view.slots)])
    for potential in Demand.of(few, credit=kind).potential:
        total = np.bincount(ranking.cell, potential, instance.size.size)[sharing]
        limit = instance.capacity.ravel()[sharing]
        finite = np.isfinite(limit)
        if finite.any():
            n = int(np.argmax((total - limit)[finite]))
            found.append(Measurement(total[finite][n], limit[finite][n]))
    if not found:
        raise NotApplicableError("shared models have no limits")
    return worst(Relation.AT_MOST, found)


CLAIMS = (
    claim(
        "budget",
        r"Where $\|s_v\|_1 \ge b_v$ a fractional allocation can use the whole budget; the starting "
        r"point $b_v / \|s_v\|_1$ does.",
        "Section IV-A, equation (17)",
        _use_at_start,
        Relation.EQUAL,
        DRAWN,
        assumptions=(CHOICE,),
    ),
    claim(
        "permanent",
        "Fractional allocations keep every repository model wholly when pinned nodes carry no "
        "variables.",
        "Section IV-A, equations (3) and (17)",
        _permanent_kept,
        Relation.AT_LEAST,
        DRAWN,
    ),
    claim(
        "equation163",
        "Every allocation of whole models can be filled up to a fractional one that uses all "
        "budgets and gains no less.",
        "Theorem V.1, proof, equation (163), repaired",
        _gain_when_filled,
        Relation.AT_LEAST,
        DRAWN,
        assumptions=(CHOICE, COVERED),
    ),
    claim(
        "credit.shared",
        "Credited in proportion to their requests, the types that can use a model are never "
        "credited with more than it can serve.",
        "Section III-D, repaired",
        lambda view: _credit(view, "shared"),
        Relation.AT_MOST,
        {**one(shared_model), **DRAWN},
        assumptions=(SHARED,),
    ),
    claim(
        "credit.printed",
        r"Crediting a model that is not deployed with $\min\{L, r_\rho\}$ for every type promises "
        "no more than it can serve.",
        "Section III-D, after equation (7)",
        lambda view: _credit(view, "own"),
        Relation.AT_MOST,
        one(shared_model),
        assumptions=(SHARED,),
        counterexample="shared_model()",
        corrected_by=("idn.credit.shared",),
    ),
)
