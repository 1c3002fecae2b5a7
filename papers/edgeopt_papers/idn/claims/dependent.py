"""Dependent rounding, and the product form between the gain and its expectation under it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measured, Measurement, NotApplicableError, worst
from edgeopt.bounds.regret import PSI
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.idn import IdnInstance
from edgeopt_papers.claims.paper import named_instance
from edgeopt_papers.idn.claims import instances as named
from edgeopt_papers.idn.claims.evaluation import (
    CHOICE,
    COVERED,
    NOISE,
    WHOLE,
    Adversary,
    Evaluation,
    claim,
    free,
)
from edgeopt_papers.idn.claims.instances import DRAWN
from edgeopt_papers.idn.claims.rounding_distribution import (
    WIDEST,
    Knapsack,
    common_by_step,
    distribution_of_coins,
    expectations,
    mean,
    node_distribution,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from edgeopt_papers.idn.claims.slot import Slot


def _near(measured: float, guaranteed: float, scale: float) -> float:
    return guaranteed if abs(measured - guaranteed) <= NOISE * scale else measured


def _sandwich(
    view: Evaluation,
    gain: Callable[[Slot, NDArray[np.float64]], NDArray[np.float64]],
    bounding: Callable[[Slot, NDArray[np.float64]], NDArray[np.float64]],
) -> Iterator[Measurement]:
    """Measure by how much Lambda <= G <= Lambda / psi is violated, slot by slot."""
    for slot in view.slots:
        g, product = gain(slot, view.allocations), bounding(slot, view.allocations)
        excess = np.maximum(product - g, g - product / PSI)
        row = int(np.argmax(excess))
        largest = _near(float(excess[row]), 0.0, slot.scale)
        proof = {"gain": g[row], "bounding": product[row], "allocation": row}
        yield Measurement(largest, 0.0, proof)


def _published(view: Evaluation) -> Measured:
    return _sandwich(view, lambda slot, x: slot.ranked(x), lambda slot, x: slot.bounding(x))


def _capped(view: Evaluation) -> Measured:
    """Caps leave the gain of whole models as it is; elsewhere they belong to the statement."""

    def gain(slot: Slot, x: NDArray[np.float64]) -> NDArray[np.float64]:
        whole = np.isin(x, (0, 1)).all(axis=1)
        return np.where(whole, slot.ranked(x), slot.capped(x))

    return _sandwich(view, gain, lambda slot, x: slot.capped_bounding(x))


def _nodes(given: IdnInstance | Adversary | Knapsack) -> list[Knapsack]:
    """Read the nodes with a choice off a network, under a few fractional allocations."""
    if isinstance(given, Knapsack):
        return [given]
    view = Evaluation(given)
    cases = [
        Knapsack.of(y[v].tolist(), view.instance.size[v].tolist())
        for y in view.fractional[:5]
        for v in np.flatnonzero(free(view.instance))[:3]
    ]
    small = [case for case in cases if sum(0 < y < 1 for y in case.point) <= WIDEST]
    if not small:
        raise NotApplicableError("too large for the exact distribution of a rounding")
    return small


def _shipped(case: Knapsack) -> dict[tuple[int, ...], Fraction]:
    return node_distribution(case.point, case.size)


def _marginals(cases: list[Knapsack]) -> Iterator[Measurement]:
    for case in cases:
        means = mean(_shipped(case))
        m = max(range(len(means)), key=lambda m: abs(means[m] - case.point[m]))
        yield Measurement(float(means[m]), float(case.point[m]), {"marginals": means})


def _overshoot(cases: list[Knapsack]) -> Iterator[Measurement]:
    """Compare the largest size of an outcome with the fractional size plus the largest model."""
    for case in cases:
        budget = float(_total(case.point, case.size))
        mixed = [s for y, s in zip(case.point, case.size, strict=True) if 0 < y < 1]
        largest = max(float(_total(outcome, case.size)) for outcome in _shipped(case))
        yield Measurement(largest, budget + float(max(mixed, default=0)))


def _total(entries: Sequence[Fraction | int], size: Sequence[Fraction]) -> Fraction:
    return sum((y * s for y, s in zip(entries, size, strict=True)), Fraction(0))


def _first_pair(cases: list[Knapsack]) -> Measured:
    """Round two entries alone and compare their product moment with the formula."""
    found = []
    for case in cases:
        pair = case.pair
        if pair is None:
            continue
        (y, z), (s, u) = ([values[m] for m in pair] for values in (case.point, case.size))
        distribution = _shipped(Knapsack((y, z), (s, u)))
        up, down = min(1 - y, u * z / s), min(y, u * (1 - z) / s)
        both = distribution.get((1, 1), Fraction(0))
        found.append(Measurement(float(both), float(y * z - s / u * up * down)))
    if not found:
        raise NotApplicableError("no two fractional entries at one node")
    return found


def _all_subsets(cases: list[Knapsack]) -> Measurement:
    r"""Largest excess of E prod (1 - c x) over prod (1 - c y), exactly.

    Both sides are linear in each c, so the excess is largest with every c at 0 or 1: it suffices
    to let c be 1 on each subset S.
    """
    found = []
    for case in cases:
        distribution = _shipped(case)
        mixed = [m for m, y in enumerate(case.point) if 0 < y < 1]
        for count in range(1, len(mixed) + 1):
            for chosen in itertools.combinations(mixed, count):
                none = sum(p for x, p in distribution.items() if not any(x[m] for m in chosen))
                bound = math.prod((1 - case.point[m] for m in chosen), start=Fraction(1))
                found.append((none - bound, chosen, case))
    if not found:
        return Measurement(0.0, 0.0)
    excess, chosen, case = max(found, key=lambda entry: entry[0])
    return Measurement(float(excess), 0.0, {"subset": chosen, "point": case.point})


def _expected_product(view: Evaluation) -> Iterator[Measurement]:
    for found, slot in expectations(view):
        yield Measurement(found.mean(slot.bounding), float(slot.bounding(found.flat)[0]))


def _strict(view: Evaluation) -> Measurement:
    """Smallest gain of the expectation over the bounding function, which is to be positive."""
    least = worst(Relation.AT_LEAST, _expected_product(view))
    size = max(abs(least.measured), abs(least.guaranteed))
    excess = (least.measured - least.guaranteed) / size if size > 0.0 else 0.0
    if abs(excess) <= STRICT:
        excess = 0.0
    return Measurement(excess, STRICT, {"expected": least.measured})


STRICT = 1e-9
"""Smallest share of the expectation that counts as positive."""


def _shared_coins(view: Evaluation) -> Iterator[Measurement]:
    """Compare the expected gain under coins that all nodes share with psi times the fractional."""
    choice = np.flatnonzero(free(view.instance))
    for y in view.fractional[:3]:
        nodes = [Knapsack.of(y[v].tolist(), view.instance.size[v].tolist()) for v in choice]
        if sum(0 < entry < 1 for node in nodes for entry in node.point) > WIDEST:
            raise NotApplicableError("too large for the exact distribution of shared coins")
        distribution = distribution_of_coins(nodes, common_by_step)
        rows = np.repeat(y[None], len(distribution), axis=0)
        for row, outcome in zip(rows, distribution, strict=True):
            row[choice] = outcome
        chance = np.array([float(p) for p in distribution.values()])
        for slot in view.slots:
            measured = float(chance @ slot.ranked(rows.reshape(len(rows), -1)))
            yield Measurement(measured, PSI * float(slot.ranked(y.reshape(1, -1))[0]))


about_nodes = partial(claim, instance_type=(IdnInstance, Adversary, Knapsack), view=_nodes)

_HAND = {**named_instance(named.hand_checked), **named_instance(named.thirds)}

CLAIMS = (
    claim("lemma_f9", _published, DRAWN, assumptions=(WHOLE,)),
    claim(
        "lemma_f9.capped",
        _capped,
        (DRAWN, named.two_half_repositories, named.cheap_half_repository),
        assumptions=(COVERED,),
    ),
    claim("lemma_f9.published", _published, named.cheap_half_repository, assumptions=(COVERED,)),
    about_nodes("marginals", _marginals, (_HAND, DRAWN)),
    about_nodes("overshoot", _overshoot, (_HAND, DRAWN)),
    about_nodes("equation149", _first_pair, (_HAND, DRAWN)),
    about_nodes("lemma_f10", _all_subsets, (_HAND, DRAWN)),
    claim("lemma_f11", _expected_product, DRAWN, assumptions=(WHOLE,)),
    claim("lemma_f11.published", _strict, named.one_model, assumptions=(WHOLE,), tolerance=0.0),
    claim("coins.shared", _shared_coins, named.two_shelves, assumptions=(CHOICE,)),
)
