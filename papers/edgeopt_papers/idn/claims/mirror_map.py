"""The weighted entropy: how curved and wide it is, and its projection onto a capped face."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.instances.idn import IdnInstance
from edgeopt.online.mirror_ascent import KnapsackEntropy
from edgeopt_papers.claims.paper import named_instance
from edgeopt_papers.idn.claims import instances as named
from edgeopt_papers.idn.claims.evaluation import (
    CHOICE,
    Adversary,
    Evaluation,
    alike,
    centre,
    claim,
    fill,
    free,
)
from edgeopt_papers.idn.claims.instances import DRAWN, Projection, adversarial

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


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


def _projected(cases: list[Projection]) -> Iterator[Measurement]:
    for case in cases:
        yield alike(_shipped(case), _by_bisection(case), 10.0)


def _optimal(cases: list[Projection]) -> Iterator[Measurement]:
    """Largest violation of the optimality conditions (71) by the package's projection."""
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
        yield Measurement(broken, 0.0, {"multiplier": level}, size=size)


about_points = partial(claim, instance_type=(IdnInstance, Adversary, Projection), view=_cases)

_HAND = {
    **named_instance(named.capped_entry),
    **named_instance(named.whole_catalogue),
    **named_instance(named.tied),
}

STEP = 1e-3
"""Relative step at which the curvature of a tight direction is measured."""


def divergence(
    size: NDArray[np.float64], point: NDArray[np.float64], other: NDArray[np.float64]
) -> float:
    r"""Return :math:`\sum s (y \log (y / y') - y + y')`, MB."""
    logs = np.where(point > 0, np.log(np.where(point > 0, point, 1) / other), 0)
    return float((size * (point * logs - point + other)).sum())


def _curvature(view: Evaluation) -> list[float]:
    """Twice the divergence over the squared norm, for pairs of inner allocations, 1/MB."""
    choice, found = view.constants.free, []
    inner = [y[choice] for y in view.fractional if (y[choice] > 0).all()]
    size = view.instance.size[choice]
    for y, other in itertools.permutations(inner[:6], 2):
        norm = float((size * np.abs(y - other)).sum())
        if norm > 1e-6 * float(size.sum()):
            found.append(2 * divergence(size, y, other) / norm**2)
    if not found:
        raise NotApplicableError("no two different allocations to compare")
    return found


def _is_the_constant(view: Evaluation) -> Measurement:
    constants = view.constants
    return Measurement(constants.convexity / constants.paper.convexity, 1.0)


def _balanced(size: NDArray[np.float64], budget: float) -> NDArray[np.bool_]:
    """Return a set of models that, like its complement, is at least half the budget large."""
    order = np.argsort(-size, kind="stable")
    chosen = np.zeros(len(size), dtype=bool)
    for m in order:
        if size[chosen].sum() < budget / 2:
            chosen[m] = True
    if size[~chosen].sum() >= budget / 2:
        return chosen
    if len(size) > 12:
        raise NotApplicableError("no half of the catalogue found")
    for mask in itertools.product([False, True], repeat=len(size)):
        chosen = np.array(mask)
        if min(size[chosen].sum(), size[~chosen].sum()) >= budget / 2:
            return chosen
    raise NotApplicableError("models are too large to halve the budget of a node")


def _tight(view: Evaluation) -> Measurement:
    """Shift mass between two halves of every node's budget and measure the curvature."""
    instance, choice = view.instance, np.flatnonzero(view.constants.free)
    moved, stayed = [], []
    for v in choice:
        size, budget = instance.size[v], float(instance.budget[v])
        half = _balanced(size, budget)
        point = np.where(half, budget / 2 / size[half].sum(), budget / 2 / size[~half].sum())
        stayed.append(point)
        moved.append(point * np.where(half, 1 + STEP, 1 - STEP))
    size, y, other = instance.size[choice], np.array(moved), np.array(stayed)
    norm = float((size * np.abs(y - other)).sum())
    measured = 2 * divergence(size, y, other) / norm**2 / view.constants.convexity
    return Measurement(measured, 1.0, {"point": other, "moved": y})


def _diameter(view: Evaluation) -> Measurement:
    start, size = centre(view.instance), view.instance.size
    choice = view.constants.free
    far = [divergence(size[choice], y[choice], start[choice]) for y in view.fractional]
    largest = max(far)
    bound = view.constants.diameter
    return Measurement(min(largest, bound) if largest <= bound * (1 + 1e-12) else largest, bound)


CLAIMS = (
    about_points("theorem_d1", _projected, (_HAND, DRAWN)),
    about_points("theorem_d1.optimality", _optimal, (_HAND, DRAWN)),
    claim(
        "lemma_f2",
        lambda view: Measurement(min(_curvature(view)) / view.constants.paper.convexity, 1.0),
        DRAWN,
        assumptions=(CHOICE,),
    ),
    claim(
        "lemma_f2.sharp",
        lambda view: Measurement(min(_curvature(view)) / view.constants.convexity, 1.0),
        DRAWN,
        assumptions=(CHOICE,),
    ),
    claim("lemma_f2.tight", _tight, DRAWN, assumptions=(CHOICE,), tolerance=1e-6),
    claim(
        "lemma_f2.published",
        _is_the_constant,
        named_instance(adversarial, horizon=400, tasks=2),
        assumptions=(CHOICE,),
    ),
    claim("lemma_f5", _diameter, DRAWN, assumptions=(CHOICE,)),
)
