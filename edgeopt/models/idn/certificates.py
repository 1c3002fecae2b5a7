"""Certificates of the cooperative bound on what placements gain."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.models.idn.bounds import cooperative_program
from edgeopt.models.idn.demand import Demand
from edgeopt.models.idn.matrix import offers
from edgeopt.solvers.certificates import (
    SHRUNK,
    Certificate,
    entries,
    indices,
    proven_of,
    text,
    texts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.arrays import Floats
    from edgeopt.instances.idn import IdnInstance
    from edgeopt.models.idn.bounds import CooperativeProgram
    from edgeopt.solvers import Solution


def certificate_of(program: CooperativeProgram, solution: Solution, **how: Any) -> Certificate:
    """Return the certificate of a solution, from its prices of capacity alone."""
    price = np.maximum(solution.duals, 0.0)
    dual = {"capacity": entries(price), "budget": entries(_price_of_budgets(program, price))}
    points = _points(program, solution)
    return proven_of(program, "idn.cooperative", data_of(program), dual, points, **how)


def _points(program: CooperativeProgram, solution: Solution) -> Iterator[dict[str, str]]:
    served, hosted = solution.values["q"], solution.values["x"]
    yield _entries(program, served, hosted)
    # What is hosted gives up less than what it serves.
    served, hosted = (np.maximum(one, 0.0) for one in (served, hosted))
    yield _entries(program, SHRUNK * served, SHRUNK**0.5 * hosted)


def _entries(program: CooperativeProgram, served: Floats, hosted: Floats) -> dict[str, str]:
    """Return what is served by slot, type and pair, and what is hosted by pair."""
    kind, pair = program.option_type.tolist(), program.pair.tolist()
    found = {f"{t},{kind[o]},{pair[o]}": text(q) for (t, o), q in np.ndenumerate(served) if q}
    return found | entries(hosted)


def data_of(program: CooperativeProgram) -> dict[str, Any]:
    """Return the numbers of the program as texts."""
    ends = program.option_first.tolist()
    pair, gain = program.pair.tolist(), program.gain.tolist()
    return {
        "weight": texts(program.weight),
        "requests": texts(program.requests),
        "options": [
            {str(pair[o]): text(gain[o]) for o in range(first, last)}
            for first, last in pairwise(ends)
        ],
        "capacity": texts(program.capacity),
        "copies": texts(program.copies),
        "size": texts(program.size),
        "budget": texts(program.budget),
        "node": indices(program.node),
    }


def programs_of(instance: IdnInstance) -> Iterator[dict[str, Any]]:
    """Yield the programs that an instance may have: of its gain by slot, and by request."""
    for normalised in (False, True):
        demand = Demand.of(instance, normalised=normalised)
        chosen = offers(instance, demand, aggregate=True, cooperative=True)
        yield data_of(cooperative_program(instance, demand, chosen))


def _price_of_budgets(program: CooperativeProgram, price: Floats) -> Floats:
    """Return the best prices of a MB at every node: what the last replica that fits is worth."""
    worth = program.weight @ (program.capacity * price) / program.size
    budget = np.zeros(program.budget.size)
    left = program.budget.copy()
    for c in np.argsort(-worth, kind="stable").tolist():
        node = program.node[c]
        if left[node] >= 0.0:
            left[node] -= program.size[c] * program.copies[c]
            budget[node] = worth[c] if left[node] < 0.0 else 0.0
    return budget
