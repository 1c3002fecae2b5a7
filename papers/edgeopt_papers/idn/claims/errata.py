"""Errors in the paper on inference delivery networks, and their corrections."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.regret import PSI
from edgeopt.online.idn import Infida
from edgeopt.online.mirror_ascent import KnapsackEntropy
from edgeopt_papers.idn.claims.evaluation import Evaluation, centre, erratum, free
from edgeopt_papers.idn.claims.instances import (
    Projection,
    one_model,
    one_model_whole,
    roomy_node,
    thirds,
    tied,
    tight_repository,
    unneeded_model,
    whole_catalogue,
)
from edgeopt_papers.idn.claims.rounding_distribution import (
    by_item,
    by_step,
    distribution_of_coins,
    mean,
    node_distribution,
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
    steep = float(slot.supergradient(point)[kind.pair[0]])
    by_rank = [float(kind.potential[0] * (kind.cost[k] - kind.cost[0])) for k in (0, rank)]
    roomy, tight = roomy_node(), tight_repository()
    v = int(np.argmax(roomy.active & (roomy.size.sum(axis=1) < roomy.budget)))
    started = (roomy.size * Infida().start(roomy).fractional).sum(axis=1)
    w, m = np.argwhere(tight.repository)[0]
    host = tight.budget[w] / tight.size[w].sum()
    both = Evaluation(unneeded_model())
    begin = centre(both.instance).ravel()
    [pair], [last] = both.slots[0].types, both.slots[0].worst_needed(begin)
    assert last is not None
    amounts = (pair.potential * np.maximum(pair.cost[last] - pair.cost, 0.0))[pair.pair < 2]
    constants, count = alone.constants, 4
    rate = float(constants.published_rate(count).max())
    slope, theta = constants.paper.gradient_bound, constants.paper.convexity
    per_slot = slope * math.sqrt(2.0 * constants.diameter / theta)
    by_rate = constants.diameter / (rate * count) + rate * slope**2 / (2.0 * theta)
    whole = Evaluation(one_model_whole())
    u = int(np.flatnonzero(free(whole.instance))[0])
    used = float(whole.instance.size[u] @ whole.integral[0, u])
    case = thirds()
    shares = [
        mean({joint[0]: chance for joint, chance in distribution_of_coins([case], rule).items()})
        for rule in (by_item, by_step)
    ]
    drawn = mean(node_distribution(case.point, case.size))
    return (
        erratum(
            "budget.published",
            roomy.budget[v],
            min(roomy.budget[v], roomy.size[v].sum()),
            started[v],
        ),
        erratum(
            "permanent.published",
            min(1.0, host),
            float(tight.repository[w, m]),
            Infida().start(tight).fractional[w, m],
        ),
        erratum(
            "worst_needed.published",
            by_rank[0] if rank == len(kind.cost) - 1 else by_rank[1],
            by_rank[1],
            steep,
        ),
        erratum(
            "step4.published",
            float(amounts.sum()),
            float(amounts[1]),
            float(both.slots[0].supergradient(begin)[pair.pair[1]]),
        ),
        erratum(
            "theorem_d1.published",
            _filled(whole_catalogue(), both=True),
            _filled(whole_catalogue(), both=False),
            _projected(whole_catalogue()),
        ),
        erratum(
            "theorem_d1.ties",
            _filled(tied(), both=True),
            _filled(tied(), both=False),
            _projected(tied()),
        ),
        erratum(
            "rounding_gap.uncapped",
            PSI * min(1.0, 0.1 * 10.0),
            PSI * min(1.0, 0.1 * 1.0),
            _expected([0.1], [10.0], 1.0),
        ),
        erratum("coins.by_item", float(shares[0][0]), float(shares[1][0]), float(drawn[0])),
        erratum("equation163.published", whole.instance.budget[u], used, used),
        erratum("equation169.published", per_slot, per_slot / math.sqrt(count), by_rate),
    )
