"""Equal ways to write serving cost and gain, and that the gain is submodular."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.claim import Measured, Measurement
from edgeopt_papers.idn.claims import instances as named
from edgeopt_papers.idn.claims.evaluation import (
    COVERED,
    IN_SET,
    NOISE,
    WHOLE,
    Evaluation,
    alike,
    claim,
)
from edgeopt_papers.idn.claims.instances import DRAWN, shared_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from edgeopt_papers.idn.claims.slot import Slot

    Form = Callable[[Slot], NDArray[np.float64]]


def _equal(view: Evaluation, left: Form, right: Form) -> Iterator[Measurement]:
    for slot in view.slots:
        yield alike(left(slot), right(slot), slot.scale)


def _threshold(view: Evaluation) -> Iterator[Measurement]:
    """Compare both sides of (47) for several c, and with what is served of c requests alone."""
    from edgeopt.online.idn import serve

    instance = view.instance
    for n, one in enumerate(view.slots[0].types):
        c = int(one.requests)
        for threshold in range(1, c + 2, 1 + c // 3):
            yield from _nonzero(*_sides(one.effective(view.allocations), threshold), threshold)
        alone = np.where(np.arange(instance.types) == n, c, 0)
        span = instance.ranking.options(n)
        for x in view.integral[:4]:
            served = serve(instance, alone, x > 0)
            z = x.ravel()[one.pair] * instance.ranking.potential(alone[None])[0, span]
            yield from _nonzero(served.load[span], _sides(z[None], c)[1], c)


def _sides(z: NDArray[np.float64], c: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both sides of (47) at all ranks of all rows."""
    total = np.cumsum(z, axis=1)
    before = np.pad(total, ((0, 0), (1, 0)))[:, :-1]
    left = np.minimum(c, total) - np.minimum(c, before)
    right = np.minimum(c - before, z) * (before < c)
    return left.ravel(), right.ravel()


def _nonzero(
    left: NDArray[np.float64], right: NDArray[np.float64], scale: float
) -> Iterator[Measurement]:
    some = (left != 0.0) | (right != 0.0)
    if some.any():
        yield alike(left[some], right[some], scale)


def _cost(view: Evaluation) -> Measured:
    x = view.allocations
    return _equal(view, lambda slot: slot.telescoped_cost(x), lambda slot: slot.serving_cost(x))


def _gain(view: Evaluation) -> Measured:
    x = view.allocations
    return _equal(view, lambda slot: slot.ranked(x), lambda slot: slot.difference(x))


def _uncovered(view: Evaluation) -> Measured:
    x = view.allocations
    return _equal(view, lambda slot: slot.uncovered(x), lambda slot: slot.ranked(x))


def _simulated(view: Evaluation) -> Iterator[Measurement]:
    """Serve in every order; compare the cost with (12) at the capacities that were left over."""
    from edgeopt.online.idn import serve
    from edgeopt_papers.idn.claims.slot import Slot

    draw = np.random.default_rng(3)
    units = view.instance.requests[: len(view.slots)].sum()
    orders: list[Any] = ["sequential", "fluid"] + ["random"] * int(units <= MOST_UNITS)
    for slot in view.slots:
        for x in view.integral[:4]:
            for order in orders:
                shuffle = draw.permutation(view.instance.types)
                seed = {"sequential": shuffle, "fluid": None, "random": 5}[order]
                requests = slot.requests.astype(np.int64)
                served = serve(view.instance, requests, x > 0, order=order, draw=seed)
                again = Slot(view.instance, slot.requests, served.potential)
                cost = again.serving_cost(x.reshape(1, -1))
                yield alike(np.array([served.cost]), cost, 1e3 * slot.scale)


MOST_UNITS = 10_000
"""Largest number of requests that are served one by one in a random order."""

CANDIDATES = 8
"""Models at nodes among which all subsets are formed."""


def _candidates(view: Evaluation) -> NDArray[np.int64]:
    """Pairs that are deployed alone with the largest gain, at most `CANDIDATES` of them."""
    instance = view.instance
    pairs = np.flatnonzero(np.repeat(~instance.pinned, instance.models))
    if len(pairs) > CANDIDATES:
        worth = np.sum([slot.supergradient(_rows(view, [()])[0]) for slot in view.slots], axis=0)
        pairs = pairs[np.argsort(-worth[pairs], kind="stable")[:CANDIDATES]]
    return np.sort(pairs)


def _rows(view: Evaluation, sets: list[tuple[int, ...]]) -> NDArray[np.float64]:
    rows = np.repeat(view.instance.empty.reshape(1, -1).astype(float), len(sets), axis=0)
    for row, pairs in zip(rows, sets, strict=True):
        row[list(pairs)] = 1
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
    pairs = _candidates(view)
    sets = [
        tuple(int(pair) for i, pair in enumerate(pairs) if mask >> i & 1)
        for mask in range(1 << len(pairs))
    ]
    return gain(_rows(view, sets)), pairs


def _judge(values: NDArray[np.float64], pairs: NDArray[np.int64]) -> Measurement:
    """Largest violation of f(empty) = 0, monotony or submodularity, as an excess over 0."""
    count, scale = len(pairs), float(np.abs(values).max())
    empty = abs(float(values[0]))
    excess, where = most_violated(values, count) if count > 1 else (0.0, {})
    drop = -_least_marginal(values, count) if count else 0.0
    largest = max(empty, excess, drop)
    proof = {"pairs": pairs, "values": values, **where}
    return Measurement(0.0 if abs(largest) <= NOISE * scale else largest, 0.0, proof)


def _each_slot(view: Evaluation) -> Iterator[Measurement]:
    for s in view.slots:
        yield _judge(*_all_values(view, s.ranked))


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

    values, pairs = _all_values(view, gain)
    excess, where = most_violated(values, len(pairs)) if len(pairs) > 1 else (0.0, {})
    if excess <= NOISE * float(np.abs(values).max()):
        return Measurement(0.0, 0.0, {"pairs": pairs, "values": values})
    base, i, j = where["set"], where["first"], where["second"]
    late = values[base | i | j] - values[base | j]
    return Measurement(late, values[base | i] - values[base], {"pairs": pairs, "values": values})


CLAIMS = (
    claim("lemma_c1", _threshold, DRAWN),
    claim("lemma_c2", _cost, DRAWN, assumptions=(COVERED,)),
    claim("lemma_c2.published", _cost, named.starved_repository, assumptions=(IN_SET,)),
    claim("lemma3_1", _gain, (DRAWN, named.two_half_repositories), assumptions=(COVERED,)),
    claim("lemma3_1.published", _gain, named.starved_repository, assumptions=(IN_SET,)),
    claim("lemma_f6", _uncovered, DRAWN, assumptions=(WHOLE,)),
    claim("lemma_f6.published", _uncovered, named.two_half_repositories, assumptions=(COVERED,)),
    claim(
        "lemma_f6.one_serves_all", _uncovered, named.cheap_half_repository, assumptions=(COVERED,)
    ),
    claim("run_time_cost", _simulated, DRAWN),
    claim("lemma_a1", _each_slot, (DRAWN, named.two_half_repositories), assumptions=(COVERED,)),
    claim("lemma_a2", _average, DRAWN, assumptions=(COVERED,)),
    claim("lemma_a1.run_time", _at_run_time, shared_model),
)
