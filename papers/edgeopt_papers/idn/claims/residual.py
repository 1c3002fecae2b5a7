"""What becomes of the last fractional entry: what dropping it can cost, and what is safe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.claim import Assumption, Measured, Measurement, NotApplicableError
from edgeopt.bounds.regret import PSI
from edgeopt.bounds.verdict import Relation
from edgeopt_papers.claims.paper import one
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
    mean,
    node_laws,
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


WITH_LEFTOVER = {**one(named.large_leftover, 0.01), **FITTING}
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


def _laws(view: Evaluation, points: Any, residual: Residual) -> Any:
    nodes = np.flatnonzero(free(view.instance))[:6]
    return node_laws(points, view.instance.size, nodes.tolist(), residual)


def _half_of_marginals(view: Evaluation) -> Iterator[Measurement]:
    for v, point, law in _laws(view, view.fractional, "half"):
        chance = np.array(mean(law), dtype=float)
        m = int(np.argmin(chance - point / 2))
        yield Measurement(chance[m], point[m] / 2, {"node": v, "model": m})


def _largest_use(view: Evaluation, points: Any, residual: Residual) -> Iterator[Measurement]:
    """Find the node and outcome that come closest to the budget or exceed it most."""
    for v, point, law in _laws(view, points, residual):
        yield Measurement(
            max(float(view.instance.size[v] @ outcome) for outcome in law),
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
        cells = np.flatnonzero(fits.ravel() & (row == 0))
        if len(cells) == 0:
            return row
        trial = np.repeat(row[None], len(cells), axis=0)
        trial[np.arange(len(cells)), cells] = 1
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
    claim(
        "rounding",
        r"$\mathbb{E} G(x) \ge (1 - 1/e) G(y)$ when the last fractional entry is drawn.",
        "Theorem V.1, proof, equation (164)",
        _all_of_theory,
        Relation.AT_LEAST,
        WITH_LEFTOVER,
        assumptions=(WHOLE,),
    ),
    claim(
        "rounding.capped",
        r"$\mathbb{E} G(x) \ge (1 - 1/e) G(y)$ when repositories together can serve everything and "
        r"every capacity on the right is capped at what its rank still needs, $r - Z^k(\omega)$.",
        "Theorem V.1, proof, equation (164), repaired",
        _capped_theory,
        Relation.AT_LEAST,
        {**WITH_LEFTOVER, **one(named.nearly_whole_repository)},
        assumptions=(COVERED,),
    ),
    claim(
        "rounding.published",
        r"$\mathbb{E} G(x) \ge (1 - 1/e) G(y)$ as soon as repositories together can serve "
        "everything, as (9) requires.",
        "Theorem V.1, proof, equation (164)",
        _all_of_theory,
        Relation.AT_LEAST,
        one(named.nearly_whole_repository),
        assumptions=(COVERED,),
        corrected_by=("idn.rounding", "idn.rounding.capped"),
    ),
    claim(
        "half",
        r"$\mathbb{E} G(x) \ge \frac12 (1 - 1/e) G(y)$ when, if the last fractional entry would be "
        "drawn, a fair coin keeps either it alone or all the rest.",
        "Section IV-C, repaired",
        lambda view: share_of_gain(view, "half", PSI / 2),
        Relation.AT_LEAST,
        WITH_LEFTOVER,
        assumptions=(CHOICE, FITS, WHOLE),
    ),
    claim(
        "half.gain",
        "The fair coin keeps half of the expected gain that drawing the last entry has.",
        "Section IV-C, repaired",
        _half_of_bernoulli,
        Relation.AT_LEAST,
        WITH_LEFTOVER,
        assumptions=(CHOICE, FITS, COVERED),
    ),
    claim(
        "half.marginals",
        "The fair coin keeps half of every marginal.",
        "Section IV-C, repaired",
        _half_of_marginals,
        Relation.AT_LEAST,
        WITH_LEFTOVER,
        assumptions=(CHOICE, FITS),
    ),
    claim(
        "half.budget",
        "With the fair coin no budget is ever exceeded.",
        "Section IV-C, repaired",
        _half_fits,
        Relation.AT_MOST,
        WITH_LEFTOVER,
        assumptions=(CHOICE, FITS),
    ),
    claim(
        "half.oversized",
        "With the fair coin no budget is ever exceeded even where a model is larger than a budget.",
        "Section IV-C, repaired",
        _half_fits,
        Relation.AT_MOST,
        one(named.oversized_model),
        assumptions=(CHOICE,),
        corrected_by=("idn.half.budget",),
    ),
    claim(
        "drop.budget",
        "Without the last fractional entry no budget is ever exceeded.",
        "Section IV-C",
        lambda view: _largest_use(view, view.fractional, "drop"),
        Relation.AT_MOST,
        WITH_LEFTOVER,
        assumptions=(CHOICE,),
    ),
    claim(
        "drop.psi",
        r"$\mathbb{E} G(x) \ge (1 - 1/e) G(y)$ even without the last fractional entry.",
        "Section IV-C",
        lambda view: share_of_gain(view, "drop", PSI),
        Relation.AT_LEAST,
        one(named.two_large_models),
        assumptions=(CHOICE, FITS, COVERED),
        corrected_by=("idn.half", "idn.rounding"),
    ),
    claim(
        "drop.constant",
        r"Without the last fractional entry a constant share of the gain is kept; $\frac12 (1 - "
        "1/e)$ is tried, and by the size of the smaller model any share is refuted.",
        "Section IV-C",
        lambda view: share_of_gain(view, "drop", PSI / 2),
        Relation.AT_LEAST,
        one(named.large_leftover, 0.01),
        assumptions=(CHOICE, FITS, COVERED),
        corrected_by=("idn.half",),
    ),
    claim(
        "residual.published",
        "Where the budget is strict, filling the space of the last fractional entry with the best "
        r"models that fit costs a negligible share; even $\frac12 (1 - 1/e)$ can be lost.",
        "Section IV-C",
        _fill,
        Relation.AT_LEAST,
        one(named.large_leftover, 0.01),
        assumptions=(CHOICE, FITS, COVERED),
        corrected_by=("idn.half", "idn.margin.gain"),
    ),
    claim(
        "margin.gain",
        r"Rounding for budgets $b_v - \max_m s^v_m$ keeps the share $\min_v (1 - \max_m s^v_m / "
        "b_v)$ of the fractional gain.",
        "Section IV-C, repaired",
        _margin_gain,
        Relation.AT_LEAST,
        WITH_LEFTOVER,
        assumptions=(CHOICE, FITS, COVERED),
    ),
    claim(
        "margin.budget",
        r"Rounding for budgets $b_v - \max_m s^v_m$ never exceeds $b_v$.",
        "Section IV-C, repaired",
        _margin_fits,
        Relation.AT_MOST,
        WITH_LEFTOVER,
        assumptions=(CHOICE, FITS),
    ),
)
