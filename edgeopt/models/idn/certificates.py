"""Certificates of the cooperative bound on what placements gain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import CertificateError
from edgeopt.solvers.certificates import Certificate, entries, indices, proven, text, texts

if TYPE_CHECKING:
    from edgeopt.models.idn.cooperative.program import CooperativeProgram
    from edgeopt.solvers import Solution


def certificate_of(
    program: CooperativeProgram,
    solution: Solution,
    *,
    name: str,
    instance: Any,
    point: bool,
    repair: bool,
) -> Certificate:
    """Return the certificate of a solution, from its prices of capacity alone."""
    if instance is not None and instance != program.instance:
        raise CertificateError("no certificate: the instance is another one")
    primal = None
    if point:
        served, hosted = solution.values["q"], solution.values["x"]
        primal = {"columns": entries(np.concatenate([served.ravel(), hosted]))}
    return proven(
        "idn.cooperative",
        data_of(program),
        {"capacity": entries(np.maximum(solution.duals, 0.0))},
        primal,
        sense="max",
        system="idn",
        instance=program.instance,
        name=name,
    )


def data_of(program: CooperativeProgram) -> dict[str, Any]:
    """Return the numbers of the program as texts."""
    ends = program.option_first.tolist()
    cell, gain = program.cell.tolist(), program.gain.tolist()
    return {
        "weight": texts(program.weight),
        "requests": texts(program.requests),
        "options": [
            {str(cell[o]): text(gain[o]) for o in range(first, last)}
            for first, last in zip(ends[:-1], ends[1:], strict=True)
        ],
        "capacity": texts(program.capacity),
        "copies": texts(program.copies),
        "size": texts(program.size),
        "budget": texts(program.budget),
        "node": indices(program.node),
    }
