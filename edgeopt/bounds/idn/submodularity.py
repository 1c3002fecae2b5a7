"""Diminishing returns of the gain for capacities fixed in advance, and their loss at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, worst
from edgeopt.bounds.idn import counterexamples
from edgeopt.bounds.idn.assumptions import COVERED
from edgeopt.bounds.idn.evaluation import NOISE
from edgeopt.bounds.idn.families import DRAWN
from edgeopt.bounds.idn.statement import claim
from edgeopt.bounds.named import one
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.idn.special import shared_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeopt.bounds.idn.evaluation import Evaluation

__all__ = ["CLAIMS", "most_violated"]

CANDIDATES = 8
"""Models at nodes among which all subsets are formed."""


def _candidates(view: Evaluation) -> NDArray[np.int64]:
    """Cells that are deployed alone with the largest gain, at most `CANDIDATES` of them."""
    instance = view.instance
    cells = np.flatnonzero(np.repeat(~instance.pinned, instance.models))
    if len(cells) > CANDIDATES:
        worth = np.sum([slot.supergradient(_rows(view, [()])[0]) for slot in view.slots], axis=0)
        cells = cells[np.argsort(-worth[cells], kind="stable")[:CANDIDATES]]
    return np.sort(cells)


def _rows(view: Evaluation, sets: list[tuple[int, ...]]) -> NDArray[np.float64]:
    rows = np.repeat(view.instance.empty.reshape(1, -1).astype(float), len(sets), axis=0)
    for row, cells in zip(rows, sets, strict=True):
        row[list(cells)] = 1
    return rows


def most_violated(values: NDArray[np.float64], count: int) -> tuple[float, dict[str, int]]:
    """Look for increasing returns of a set function.

    Submodularity holds for all pairs of nested sets if it holds for sets that differ by one
    element, so those are enumerated.
    """
    sets, excess, where = np.arange(1 << count), -np.inf, {}
    for i in range(count):
        for j in range(i + 1, count):
            base = sets[(sets & (1 << i | 1 << j)) == 0]
            late = values[base | 1 << i | 1 << j] - values[base | 1 << j]
            early = values[base | 1 << i] - values[base]
            n = int(np.argmax(late - early))
            if late[n] - early[n] > excess:
                excess = float(late[n] - early[n])
                where = {"set": int(base[n]), "first": 1 << i, "second": 1 << j}
    return excess, where


def _least_marginal(values: NDArray[np.float64], count: int) -> float:
    sets = np.arange(1 << count)
    return min(
        float((values[sets | 1 << i] - values[sets])[(sets & 1 << i) == 0].min())
        for i in range(count)
    )


def _all_values(
    view: Evaluation, gain: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    cells = _candidates(view)
    sets = [
        tuple(int(cell) for i, cell in enumerate(cells) if mask >> i & 1)
        for mask in range(1 << len(cells))
    ]
    return gain(_rows(view, sets)), cells


def _judge(values: NDArray[np.float64], cells: NDArray[np.int64]) -> Measurement:
    """Largest violation of f(empty) = 0, monotony or submodularity, as an excess over 0."""
    count, scale = len(cells), float(np.abs(values).max())
    empty = abs(float(values[0]))
    excess, where = most_violated(values, count) if count > 1 else (0.0, {})
    drop = -_least_marginal(values, count) if count else 0.0
    largest = max(empty, excess, drop)
    proof = {"cells": cells, "values": values, **where}
    return Measurement(0.0 if abs(largest) <= NOISE * scale else largest, 0.0, proof)


def _each_slot(view: Evaluation) -> Measurement:
    return worst(Relation.AT_MOST, (_judge(*_all_values(view, s.ranked)) for s in view.slots))


def _average(view: Evaluation) -> Measurement:
    def gain(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        total: NDArray[np.float64] = sum(
            (slot.ranked(rows) for slot in view.slots), np.zeros(len(rows))
        )
        return total / len(view.slots)

    return _judge(*_all_values(view, gain))


def _at_run_time(view: Evaluation) -> Measurement:
    """Serve the first slot under every subset, types in their order."""
    from edgeopt.online.idn import serve

    instance, requests = view.instance, view.instance.requests[0]

    def gain(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        cost = [
            serve(instance, requests, (row > 0).reshape(instance.size.shape)).cost for row in rows
        ]
        return cost[0] - np.array(cost)

    values, cells = _all_values(view, gain)
    excess, where = most_violated(values, len(cells)) if len(cells) > 1 else (0.0, {})
    if excess <= NOISE * float(np.abs(values).max()):
        return Measurement(0.0, 0.0, {"cells": cells, "values": values})
    base, i, j = where["set"], where["first"], where["second"]
    late = values[base | i | j] - values[base | j]
    return Measurement(late, values[base | i] - values[base], {"cells": cells, "values": values})


CLAIMS = (
    claim(
        "lemma_a1",
        r"For fixed capacities $f_t(S) = G(r_t, l_t, x(S))$ is 0 without extra models, monotone "
        "and submodular; the largest violation over all subsets of up to eight models is measured.",
        "Lemma A.1",
        _each_slot,
        Relation.AT_MOST,
        {**DRAWN, **one(counterexamples.two_half_repositories)},
        assumptions=(COVERED,),
    ),
    claim(
        "lemma_a2",
        r"For fixed capacities the average $F_T(S)$ is 0 without extra models, monotone and "
        "submodular.",
        "Lemma A.2",
        _average,
        Relation.AT_MOST,
        DRAWN,
        assumptions=(COVERED,),
    ),
    claim(
        "lemma_a1.run_time",
        "The gain is submodular too when potential capacities are those that serving leaves over, "
        "equation (7), as in the experiments. A model that relieves a shared one makes it worth "
        "more.",
        "Lemma A.1 with equation (7)",
        _at_run_time,
        Relation.AT_MOST,
        one(shared_model),
        counterexample="shared_model()",
        corrected_by=("idn.lemma_a1",),
    ),
)
