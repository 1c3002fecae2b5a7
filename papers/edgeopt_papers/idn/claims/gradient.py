"""Concavity of the gain, its supergradient, and how large that can get."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt_papers.idn.claims import instances as named
from edgeopt_papers.idn.claims.evaluation import COVERED, NOISE, WHOLE, Evaluation, alike, claim
from edgeopt_papers.idn.claims.instances import DRAWN
from edgeopt_papers.idn.claims.messages import supergradient_by_messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeopt_papers.idn.claims.slot import Slot


def _flat(view: Evaluation) -> NDArray[np.float64]:
    return view.fractional.reshape(len(view.fractional), -1)


def _concave(view: Evaluation) -> Iterator[Measurement]:
    """Compare the gain half way between two allocations with the mean of both gains."""
    points = view.allocations
    for slot in view.slots:
        gain = slot.ranked(points)
        for n in range(1, len(points)):
            half = slot.ranked((points[:n] + points[n]) / 2)
            mean = (gain[:n] + gain[n]) / 2
            row = int(np.argmin(half - mean))
            yield _snapped(half[row], mean[row], slot)


def _snapped(measured: float, guaranteed: float, slot: Slot) -> Measurement:
    """Count differences as equal that rounding errors of the costs explain."""
    near = abs(measured - guaranteed) <= NOISE * slot.scale
    return Measurement(guaranteed if near else measured, guaranteed)


def _supergradient(view: Evaluation) -> Iterator[Measurement]:
    """Compare gains with the tangents at all other allocations; the smallest excess is measured."""
    points = view.allocations
    for slot in view.slots:
        gain = slot.ranked(points)
        for n, point in enumerate(points):
            slope = slot.supergradient(point)
            tangent = gain[n] + (points - point) @ slope
            row = int(np.argmax(gain - tangent))
            yield _snapped(gain[row], tangent[row], slot)


def _without_indicator(view: Evaluation) -> Iterator[Measurement]:
    """Compare (18) with the sum of (19) over the types, as the nodes are told to compute it."""
    for slot in view.slots:
        for point in _flat(view):
            total = np.zeros(len(point))
            for kind, rank in zip(slot.types, slot.worst_needed(point), strict=True):
                if kind.requests > 0 and rank is not None:
                    credit = kind.potential * (kind.cost[rank] - kind.cost)
                    np.add.at(total, kind.pair, credit)
            usable = np.repeat(~view.instance.pinned, view.instance.models)
            exact = slot.supergradient(point)
            yield alike(total[usable], exact[usable], float(np.abs(total).max()))


def _messages(view: Evaluation) -> Iterator[Measurement]:
    usable = ~view.instance.pinned
    # Multiples of 1/64 add up exactly, so that both agree on which rank closes the demand.
    points = np.round(64 * view.fractional) / 64
    for slot in view.slots:
        for point in points:
            sent = supergradient_by_messages(
                view.instance, slot.requests, slot.potential, point
            ).gradient
            exact = slot.supergradient(point.ravel()).reshape(point.shape)
            scale = float(np.abs(exact).max(initial=1))
            yield alike(sent[usable].ravel(), exact[usable].ravel(), 1e3 * scale)


def _densities(view: Evaluation) -> Iterator[NDArray[np.float64]]:
    """Supergradients over sizes at nodes that are not pinned, shape [V, M] each."""
    size = view.instance.size
    for slot in view.slots:
        for point in view.allocations:
            slope = slot.supergradient(point).reshape(size.shape)
            slope[view.instance.pinned] = 0
            yield slope / size


def _largest(view: Evaluation) -> Measurement:
    bound = view.constants.paper.gradient_bound
    largest = max(float(density.max(initial=0)) for density in _densities(view))
    if not np.isfinite(bound):
        raise NotApplicableError("no finite bound: capacities are unlimited")
    return Measurement(largest, bound)


def _largest_per_node(view: Evaluation) -> Iterator[Measurement]:
    """Find the node and allocation where the supergradient comes closest to its bound."""
    bound = view.constants.node_bound
    for density in _densities(view):
        largest = density.max(axis=1)
        share = largest - bound * (1 + NOISE)
        v = int(np.argmax(share))
        yield Measurement(largest[v], bound[v], {"node": v})


def _spread(view: Evaluation) -> Measurement:
    """Find the type whose costs spread most beyond the cost gap."""
    largest = max(float(kind.cost[-1] - kind.cost[0]) for kind in view.slots[0].types)
    return Measurement(largest, view.constants.paper.cost_gap)


def _spread_to_repository(view: Evaluation) -> Measurement:
    """Find the largest cost of a worst needed option less the cheapest cost of its type."""
    found = []
    for slot in view.slots:
        for point in view.allocations:
            for kind, rank in zip(slot.types, slot.worst_needed(point), strict=True):
                usable = ~view.instance.pinned[kind.pair // view.instance.models]
                if kind.requests > 0 and rank is not None and usable.any():
                    found.append(max(0.0, kind.cost[rank] - kind.cost[usable][0]))
    return Measurement(max(found, default=0.0), view.constants.paper.cost_gap)


CLAIMS = (
    claim("lemma_f1", _concave, DRAWN),
    claim("lemma_e1", _supergradient, DRAWN, assumptions=(COVERED,)),
    claim("message_passing", _messages, DRAWN, assumptions=(COVERED,)),
    claim(
        "message_passing.published",
        _without_indicator,
        named.unneeded_model,
        assumptions=(COVERED,),
    ),
    claim("lemma_f3", _largest, DRAWN, assumptions=(WHOLE,)),
    claim("lemma_f3.per_node", _largest_per_node, DRAWN, assumptions=(WHOLE,)),
    claim("equation103", _spread_to_repository, DRAWN, assumptions=(WHOLE,)),
    claim("equation103.published", _spread, named.dear_model, assumptions=(WHOLE,)),
)
