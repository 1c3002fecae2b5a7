"""What becomes of the last fractional entry: what dropping it can cost, and what is safe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.claim import Assumption, Measured, Measurement, NotApplicableError
from edgeopt.bounds.regret import PSI
from edgeopt_papers.claims.paper import named_instance
from edgeopt_papers.idn.claims import instances as named
from edgeopt_papers.idn.claims.evaluation import (
    CHOICE,
    COVERED,
    WHOLE,
    Adversary,
    Evaluation,
    claim,
    fractional,
    free,
    network,
    vertices,
)
from edgeopt_papers.idn.claims.instances import FITTING
from edgeopt_papers.idn.claims.rounding_distribution import (
    Residual,
    expectations,
    expected_gain,
    node_distributions,
    rounded,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.instances.idn import IdnInstance
    from edgeopt_papers.idn.claims.slot import Slot


def share_of_gain(view: Evaluation, residual: Residual, share: float) -> Iterator[Measurement]:
    """Compare the expected gain of a rounding with a share of the fractional gain."""
    for found, slot in expectations(view, residual):
        yield Measurement(found.mean(slot.ranked), share * float(slot.ranked(found.flat)[0]))


def _capped_theory(view: Evaluation) -> Iterator[Measurement]:
    """Compare the expected gain with a share of the gain under caps."""
    for found, slot in expectations(view):
        yield Measurement(found.mean(slot.ranked), PSI * float(slot.capped(found.flat)[0]))


def _all_of_theory(view: Evaluation) -> Measured:
    return share_of_gain(view, "bernoulli", PSI)


WITH_LEFTOVER = {**named_instance(named.large_leftover, 0.01), **FITTING}
"""Networks where every model fits alone, among them one that dropping ruins."""


def _fits(given: IdnInstance | Adversary) -> bool:
    instance = network(given)
    choice = free(instance)
    return bool((instance.size[choice].max(axis=1, initial=0) <= instance.budget[choice]).all())


FITS = Assumption(
    "every model fits alone",
    r"$s^v_m \le b_v$ at every node with a choice; others are to be deleted first",
    _fits,
)


def _half_of_bernoulli(view: Evaluation) -> Iterator[Measurement]:
    for found, slot in expectations(view, "half"):
        yield Measurement(found.mean(slot.ranked), expected_gain(view, slot, found.point) / 2)


def _distributions(view: Evaluation, points: Any, residual: Residual) -> Any:
    nodes = np.flatnonzero(free(view.instance))[:6]
    return node_distributions(points, view.instance.size, nodes.tolist(), residual)


def _largest_use(view: Evaluation, points: Any, residual: Residual) -> Iterator[Measurement]:
    """Find the node and outcome that come closest to the budget or exceed it most."""
    for v, point, distribution in _distributions(view, points, residual):
        yield Measurement(
            max(float(view.instance.size[v] @ outcome) for outcome in distribution),
            float(view.instance.budget[v]),
            {"node": v, "point": point},
        )


def _half_fits(view: Evaluation) -> Measured:
    return _largest_use(view, view.fractional, "half")


def _fill(view: Evaluation) -> Iterator[Measurement]:
    """Drop what is left over, then add the best model that fits while one does."""
    if not view.small:
        raise NotApplicableError("too large to fill up every outcome")
    for kept in rounded(view, "drop"):
        for slot in view.slots:
            filled = np.array([_filled(view, slot, row) for row in kept.outcomes])
            measured = float(kept.chance @ slot.ranked(filled))
            yield Measurement(measured, PSI / 2 * float(slot.ranked(kept.flat)[0]))


def _filled(view: Evaluation, slot: Slot, row: Any) -> Any:
    size, instance = view.instance.size, view.instance
    row = row.copy()
    while True:
        used = (row.reshape(size.shape) * size).sum(axis=1)
        fits = (size <= (instance.budget - used)[:, None]) & free(instance)[:, None]
        pairs = np.flatnonzero(fits.ravel() & (row == 0))
        if len(pairs) == 0:
            return row
        trial = np.repeat(row[None], len(pairs), axis=0)
        trial[np.arange(len(pairs)), pairs] = 1
        row = trial[int(np.argmax(slot.ranked(trial)))]


def _shrunk(view: Evaluation) -> tuple[Any, float]:
    """Scale allocations to budgets less the largest model; the smallest factor of a node."""
    instance = view.instance
    factor = np.ones(instance.nodes)
    choice = free(instance)
    largest = instance.size[choice].max(axis=1)
    factor[choice] = np.maximum(0, 1 - largest / instance.budget[choice])
    return view.fractional * factor[:, None], float(factor[choice].min())


def _margin_gain(view: Evaluation) -> Iterator[Measurement]:
    smaller, factor = _shrunk(view)
    for slot in view.slots:
        measured = slot.ranked(smaller.reshape(len(smaller), -1))
        whole = slot.ranked(view.fractional.reshape(len(smaller), -1))
        n = int(np.argmin(measured - factor * whole))
        yield Measurement(measured[n], factor * whole[n], {"factor": factor})


def _margin_fits(view: Evaluation) -> Measured:
    instance = view.instance
    choice = free(instance)
    largest = np.where(choice, instance.size.max(axis=1), 0)
    smaller = instance.replace(budget=instance.budget - largest)
    draw = np.random.default_rng(6)
    points = np.concatenate([fractional(smaller, 3, draw), vertices(smaller, 3, draw)])
    return _largest_use(view, points, "bernoulli")


CLAIMS = (
    claim("rounding", _all_of_theory, WITH_LEFTOVER, assumptions=(WHOLE,)),
    claim(
        "rounding.capped",
        _capped_theory,
        (WITH_LEFTOVER, named.nearly_whole_repository),
        assumptions=(COVERED,),
    ),
    claim(
        "rounding.published", _all_of_theory, named.nearly_whole_repository, assumptions=(COVERED,)
    ),
    claim(
        "half",
        lambda view: share_of_gain(view, "half", PSI / 2),
        WITH_LEFTOVER,
        assumptions=(CHOICE, FITS, WHOLE),
    ),
    claim("half.gain", _half_of_bernoulli, WITH_LEFTOVER, assumptions=(CHOICE, FITS, COVERED)),
    claim("half.budget", _half_fits, WITH_LEFTOVER, assumptions=(CHOICE, FITS)),
    claim("half.oversized", _half_fits, named.oversized_model, assumptions=(CHOICE,)),
    claim(
        "drop.budget",
        lambda view: _largest_use(view, view.fractional, "drop"),
        WITH_LEFTOVER,
        assumptions=(CHOICE,),
    ),
    claim(
        "drop.psi",
        lambda view: share_of_gain(view, "drop", PSI),
        named.two_large_models,
        assumptions=(CHOICE, FITS, COVERED),
    ),
    claim(
        "drop.constant",
        lambda view: share_of_gain(view, "drop", PSI / 2),
        named_instance(named.large_leftover, 0.01),
        assumptions=(CHOICE, FITS, COVERED),
    ),
    claim(
        "residual.published",
        _fill,
        named_instance(named.large_leftover, 0.01),
        assumptions=(CHOICE, FITS, COVERED),
    ),
    claim("margin.gain", _margin_gain, WITH_LEFTOVER, assumptions=(CHOICE, FITS, COVERED)),
    claim("margin.budget", _margin_fits, WITH_LEFTOVER, assumptions=(CHOICE, FITS)),
)
