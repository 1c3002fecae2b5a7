"""The entropy projection onto a capped knapsack face, and Algorithm 2 as it is printed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError, worst
from edgeopt.bounds.idn.adversary import Adversary
from edgeopt.bounds.idn.evaluation import Evaluation, alike
from edgeopt.bounds.idn.families import DRAWN
from edgeopt.bounds.idn.points import fill, free
from edgeopt.bounds.idn.statement import claim
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.idn import IdnInstance
from edgeopt.online.mirror_ascent import KnapsackEntropy

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CLAIMS", "Projection", "hand_checked", "tied", "whole_catalogue"]


@dataclass(frozen=True)
class Projection:
    """A point to project onto the allocations of one node that fill its budget.

    Parameters
    ----------
    point
        Positive numbers, shape [M].
    size
        Sizes, shape [M].
    budget
        Budget, at most the sum of sizes.
    """

    point: tuple[float, ...]
    size: tuple[float, ...]
    budget: float

    def fingerprint(self) -> str:
        """Return a hash of the numbers."""
        text = repr((self.point, self.size, self.budget))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def hand_checked() -> Projection:
    """Four entries of which one is capped: (0.2, 0.9, 3, 0.05), sizes 1 to 4, budget 5.

    The result is (2/11, 9/11, 1, 1/22).
    """
    return Projection((0.2, 0.9, 3.0, 0.05), (1.0, 2.0, 3.0, 4.0), 5.0)


@cache
def whole_catalogue() -> Projection:
    """Two entries and a budget for both: the result is (1, 1), and Algorithm 2 accepts no k."""
    return Projection((0.2, 0.9), (1.0, 2.0), 3.0)


@cache
def tied() -> Projection:
    """Entries 0.2, 0.5 and 0.5 of unit size under a budget of 2.4; the result is (0.4, 1, 1).

    Exactly, k = 1 has the multiplier (2.4 - 2) / 0.2 = 2 and 0.5 x 2 = 1 passes line 4. In floating
    point 2.4 - 2 falls short of 0.4, the product stays below 1 and the second inequality fails; at
    k = 2 the two inequalities contradict each other, at k = 3 the first one fails.
    """
    return Projection((0.2, 0.5, 0.5), (1.0, 1.0, 1.0), 2.4)


def _cases(given: IdnInstance | Adversary | Projection) -> list[Projection]:
    """Draw points whose entries span several orders of magnitude, at a few nodes."""
    if isinstance(given, Projection):
        return [given]
    instance, draw = Evaluation(given).instance, np.random.default_rng(4)
    nodes = np.flatnonzero(free(instance))
    if len(nodes) == 0:
        raise NotApplicableError("no node has a choice")
    return [
        Projection(
            tuple(np.exp(spread * draw.normal(size=instance.models))),
            tuple(instance.size[v].tolist()),
            float(instance.budget[v]),
        )
        for v in nodes[:4]
        for spread in (0.5, 3.0, 10.0)
    ]


def _by_bisection(case: Projection) -> NDArray[np.float64]:
    size = np.array(case.size)
    if case.budget >= size.sum():
        return np.ones(len(size))
    return fill(np.array(case.point), size, case.budget)


def _shipped(case: Projection) -> NDArray[np.float64]:
    return KnapsackEntropy(np.array(case.size), case.budget).project(np.array(case.point))


def _projected(cases: list[Projection]) -> Measurement:
    return worst(
        Relation.EQUAL, (alike(_shipped(case), _by_bisection(case), 10.0) for case in cases)
    )


def _optimal(cases: list[Projection]) -> Measurement:
    """Largest violation of the optimality conditions (71) by the package's projection."""
    found = []
    for case in cases:
        y, point, weight = _shipped(case), np.array(case.point), np.array(case.size)
        ratio = np.log(y) - np.log(point)
        inner = y < 1
        level = float(ratio[inner].mean()) if inner.any() else float(ratio.max())
        uneven = float(np.abs(ratio[inner] - level).max(initial=0))
        beyond = float(np.maximum(ratio[~inner] - level, 0).max(initial=0))
        whole = float(weight.sum())
        unfilled = abs(float(weight @ y) - min(case.budget, whole)) / whole
        broken, size = max(uneven, beyond, unfilled), 1.0 + float(np.abs(ratio).max())
        found.append(Measurement(broken, 0.0, {"multiplier": level}, size=size))
    return worst(Relation.AT_MOST, found)


_POINTS: dict[str, Any] = {"instance_type": (IdnInstance, Adversary, Projection), "view": _cases}
_HAND = {"hand_checked()": hand_checked, "whole_catalogue()": whole_catalogue, "tied()": tied}

CLAIMS = (
    claim(
        "theorem_d1",
        "The projection that the package ships equals min(1, mu y') with mu found by bisection.",
        "Theorem D.1",
        _projected,
        Relation.EQUAL,
        {**_HAND, **DRAWN},
        **_POINTS,
    ),
    claim(
        "theorem_d1.optimality",
        r"min(1, mu y') with $\sum s y = b$ satisfies the optimality conditions of the projection; "
        "the largest residual is measured.",
        "Theorem D.1, equation (71)",
        _optimal,
        Relation.AT_MOST,
        {**_HAND, **DRAWN},
        **_POINTS,
    ),
)
