"""Errors in the paper on inference delivery networks, and their corrections."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.regret import PSI
from edgeopt.bounds.verdict import Relation
from edgeopt.online.idn import Infida
from edgeopt.online.mirror_ascent import KnapsackEntropy
from edgeopt_papers.idn.claims.evaluation import Evaluation, erratum, free
from edgeopt_papers.idn.claims.instances import (
    Projection,
    one_model,
    one_model_whole,
    roomy_node,
    thirds,
    tied,
    tight_repository,
    whole_catalogue,
)
from edgeopt_papers.idn.claims.rounding_distribution import (
    by_item,
    by_step,
    law_of_coins,
    mean,
    node_law,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeopt_papers.claims.errata import Erratum


def accepted(case: Projection, *, both: bool) -> list[int]:
    """Return the k that Algorithm 2 accepts by one or both inequalities, from above."""
    order = np.argsort(case.point, kind="stable")
    y, s = np.array(case.point)[order], np.array(case.size)[order]
    above = np.append(y, np.inf)
    found = []
    for k in range(len(y), 0, -1):
        scale = (case.budget - s[k:].sum()) / (s[:k] @ y[:k])
        if y[k - 1] * scale < 1 and (not both or above[k] * scale >= 1):
            found.append(k)
    return found


def _filled(case: Projection, *, both: bool) -> float:
    """Return the size of what Algorithm 2 returns, 0 if it accepts no k.

    With the first inequality alone no k means that everything is at its cap.
    """
    order = np.argsort(case.point, kind="stable")
    y, s = np.array(case.point)[order], np.array(case.size)[order]
    found = accepted(case, both=both)
    if not found:
        return 0.0 if both else float(s.sum())
    k = found[0]
    scale = (case.budget - s[k:].sum()) / (s[:k] @ y[:k])
    return float(s[:k] @ (y[:k] * scale) + s[k:].sum())


def _projected(case: Projection) -> float:
    size = np.array(case.size)
    return float(size @ KnapsackEntropy(size, case.budget).project(np.array(case.point)))


def _expected(share: Sequence[float], weight: Sequence[float], cap: float) -> float:
    """Return the mean of min{c, sum of x q} for independent x."""
    return math.fsum(
        math.prod(y if x else 1 - y for x, y in zip(taken, share, strict=True))
        * min(cap, float(np.dot(taken, weight)))
        for taken in itertools.product([False, True], repeat=len(share))
    )


def errata() -> tuple[Erratum, ...]:
    """Evaluate all examples."""
    alone = Evaluation(one_model())
    [slot] = alone.slots
    point = alone.fractional[0].ravel()
    [kind], [rank] = slot.types, slot.worst_needed(point)
    assert rank is not None
    steep = float(slot.supergradient(point)[kind.cell[0]])
    by_rank = [float(kind.potential[0] * (kind.cost[k] - kind.cost[0])) for k in (0, rank)]
    roomy, tight = roomy_node(), tight_repository()
    v = int(np.argmax(roomy.active & (roomy.size.sum(axis=1) < roomy.budget)))
    started = (roomy.size * Infida().start(roomy).fractional).sum(axis=1)
    w, m = np.argwhere(tight.repository)[0]
    host = tight.budget[w] / tight.size[w].sum()
    whole = Evaluation(one_model_whole())
    u = int(np.flatnonzero(free(whole.instance))[0])
    used = float(whole.instance.size[u] @ whole.integral[0, u])
    case = thirds()
    shares = [
        mean({joint[0]: chance for joint, chance in law_of_coins([case], rule).items()})
        for rule in (by_item, by_step)
    ]
    drawn = mean(node_law(case.point, case.size))
    return (
        erratum(
            "budget.published",
            "Section IV-A, before equation (17)",
            r"Where $\|s_v\|_1 < b_v$ a fractional allocation uses the whole budget.",
            r"It does where $\|s_v\|_1 \ge b_v$; elsewhere everything is hosted.",
            "The inequality is the wrong way round: even everything together does not fill the "
            "budget.",
            "roomy_node()",
            (roomy.budget[v], min(roomy.budget[v], roomy.size[v].sum()), started[v]),
        ),
        erratum(
            "permanent.published",
            "Section IV-A, equation (17)",
            r"A repository model starts with the share $b / \|s\|_1$ of all others.",
            "Pinned nodes carry no variables, and repository models stay whole.",
            "Constraint (3) is missing in (17).",
            "tight_repository()",
            (min(1.0, host), float(tight.repository[w, m]), Infida().start(tight).fractional[w, m]),
        ),
        erratum(
            "worst_needed.published",
            "Section IV-B and Lemma E.1",
            r"$K^* = \min\{k \in [K - 1]: \sum_{k' \le k} y l \ge r\}$.",
            r"$K^* = \min\{k \in [K]: \sum_{k' \le k} y l \ge r\}$.",
            "Often only the last rank, the repository, closes the demand. The entry of the "
            "supergradient is given; without a $K^*$ it is 0.",
            "one_model()",
            (by_rank[0] if rank == len(kind.cost) - 1 else by_rank[1], by_rank[1], steep),
        ),
        erratum(
            "theorem_d1.published",
            "Theorem D.1, Algorithm 2",
            "Algorithm 2 accepts some k, whatever the budget.",
            r"For $b = \|s\|_1$ everything is at its cap.",
            "It accepts no k there and returns nothing. The size of the result is given.",
            "whole_catalogue()",
            (
                _filled(whole_catalogue(), both=True),
                _filled(whole_catalogue(), both=False),
                _projected(whole_catalogue()),
            ),
        ),
        erratum(
            "theorem_d1.ties",
            "Theorem D.1, Algorithm 2, line 4",
            r"$y'_k \mu_k < 1 \le y'_{k+1} \mu_k$ identifies k.",
            r"The largest k with $y'_k \mu_k < 1$ does.",
            "With ties at the cap no k may pass both in floating point. The size of the result is "
            "given.",
            "tied()",
            (_filled(tied(), both=True), _filled(tied(), both=False), _projected(tied())),
        ),
        erratum(
            "rounding_gap.uncapped",
            "Lemmas F.7 and F.8",
            r"$\mathbb{E} \min\{c, \sum x q\} \ge (1 - 1/e) \min\{c, \sum y q\}$ for independent "
            "x with means y.",
            r"$\mathbb{E} \min\{c, \sum x q\} \ge (1 - 1/e) \min\{c, \sum y \min\{q, c\}\}$.",
            r"Without $q \le c$ one element may fill the cap in the mean and hardly ever be drawn.",
            "one element of weight 10 under a cap of 1, drawn with probability 0.1",
            (PSI * min(1.0, 0.1 * 10.0), PSI * min(1.0, 0.1 * 1.0), _expected([0.1], [10.0], 1.0)),
            Relation.AT_MOST,
        ),
        erratum(
            "coins.by_item",
            "Section IV-C, with common random numbers",
            "Marginals are kept when every item has one uniform, which decides all steps in which "
            "it comes first.",
            "They are when the k-th step of a node always reads the k-th uniform.",
            "A uniform that decides twice is no news the second time. The chance of item 0 is "
            "given.",
            "thirds()",
            (float(shares[0][0]), float(shares[1][0]), float(drawn[0])),
        ),
        erratum(
            "equation163.published",
            "Theorem V.1, proof, equation (163)",
            r"Allocations of whole models are fractional ones, $\mathcal X \subseteq \mathcal Y$, "
            "which use the whole budget.",
            "They use at most the budget, and can be filled up by fractions that cost no gain.",
            "Whole models do not always add up to the budget.",
            "one_model_whole()",
            (whole.instance.budget[u], used, used),
        ),
    )
