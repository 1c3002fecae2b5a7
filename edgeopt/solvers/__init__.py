"""One call, many backends: every solution comes with a recomputed certificate.

`solve` takes a `LinearProgram`, a Pyomo model, a CVXPY problem or a `CasadiNlp`; `backends` lists
who can solve what; `explain` says why a problem is infeasible; `Reusable` solves again with new
data; a `Certificate` is a proof for others. Modelling libraries are imported only when a problem of
theirs arrives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.later import loaded_later

if TYPE_CHECKING:
    from edgeopt.solvers.certificates import Certificate
    from edgeopt.solvers.conflict import Explanation
    from edgeopt.solvers.dispatch import solve
    from edgeopt.solvers.infeasibility import explain
    from edgeopt.solvers.labels import LabelBlock
    from edgeopt.solvers.nonlinear import CasadiNlp
    from edgeopt.solvers.parametric import Reusable
    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.registry import Backend, Kind, Progress, backends
    from edgeopt.solvers.solution import Quality, Seconds, Solution, Status
    from edgeopt.solvers.tolerance import DEFAULT, LOOSE, TIGHT

__all__ = [
    "DEFAULT",
    "LOOSE",
    "TIGHT",
    "Backend",
    "CasadiNlp",
    "Certificate",
    "Explanation",
    "Kind",
    "LabelBlock",
    "LinearProgram",
    "Progress",
    "Quality",
    "Reusable",
    "Seconds",
    "Solution",
    "Status",
    "backends",
    "explain",
    "solve",
]

__getattr__ = loaded_later(
    __name__,
    {
        "Backend": "registry",
        "CasadiNlp": "nonlinear",
        "Certificate": "certificates",
        "DEFAULT": "tolerance",
        "Explanation": "conflict",
        "Kind": "registry",
        "LOOSE": "tolerance",
        "LabelBlock": "labels",
        "LinearProgram": "program",
        "Progress": "registry",
        "Quality": "solution",
        "Reusable": "parametric",
        "Seconds": "solution",
        "Solution": "solution",
        "Status": "solution",
        "TIGHT": "tolerance",
        "backends": "registry",
        "explain": "infeasibility",
        "solve": "dispatch",
    },
)
