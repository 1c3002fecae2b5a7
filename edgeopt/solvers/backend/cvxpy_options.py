"""A request under the names that solvers have behind CVXPY."""

from __future__ import annotations

import difflib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from edgeopt.errors import OptionError
from edgeopt.solvers.backend import or_tools
from edgeopt.solvers.tolerance import DEFAULT, TIGHT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.solvers.request import Request

_TRANSLATIONS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = MappingProxyType(
    {
        "CLARABEL": {
            "time_limit": ("time_limit",),
            "tolerance": ("tol_feas", "tol_gap_abs", "tol_gap_rel"),
            "threads": ("max_threads",),
        },
        "OSQP": {"time_limit": ("time_limit",), "tolerance": ("eps_abs", "eps_rel")},
        "SCS": {"time_limit": ("time_limit_secs",), "tolerance": ("eps_abs", "eps_rel")},
        "HIGHS": {
            "algorithm": ("solver",),
            "time_limit": ("time_limit",),
            "gap": ("mip_rel_gap",),
            "absolute_gap": ("mip_abs_gap",),
            "tolerance": ("kkt_tolerance",),
            "threads": ("threads",),
        },
        "SCIPY": {
            "time_limit": ("scipy_options.time_limit",),
            "gap": ("scipy_options.mip_rel_gap",),
            "tolerance": (
                "scipy_options.primal_feasibility_tolerance",
                "scipy_options.dual_feasibility_tolerance",
            ),
        },
        "SCIP": {
            "time_limit": ("scip_params.limits/time",),
            "gap": ("scip_params.limits/gap",),
            "absolute_gap": ("scip_params.limits/absgap",),
            "tolerance": ("scip_params.numerics/feastol",),
            "threads": ("scip_params.parallel/maxnthreads",),
        },
        "GUROBI": {
            "time_limit": ("TimeLimit",),
            "gap": ("MIPGap",),
            "absolute_gap": ("MIPGapAbs",),
            "tolerance": ("FeasibilityTol", "OptimalityTol"),
            "threads": ("Threads",),
        },
        "MOSEK": {
            "time_limit": ("mosek_params.MSK_DPAR_OPTIMIZER_MAX_TIME",),
            "gap": ("mosek_params.MSK_DPAR_MIO_TOL_REL_GAP",),
            "tolerance": ("mosek_params.MSK_DPAR_INTPNT_CO_TOL_REL_GAP",),
            "threads": ("mosek_params.MSK_IPAR_NUM_THREADS",),
        },
        "CPLEX": {
            "time_limit": ("cplex_params.timelimit",),
            "gap": ("cplex_params.mip.tolerances.mipgap",),
            "tolerance": ("cplex_params.simplex.tolerances.feasibility",),
            "threads": ("cplex_params.threads",),
        },
        "XPRESS": {
            "time_limit": ("maxtime",),
            "gap": ("miprelstop",),
            "tolerance": ("feastol",),
            "threads": ("threads",),
        },
        "COPT": {
            "time_limit": ("TimeLimit",),
            "gap": ("RelGap",),
            "tolerance": ("FeasTol",),
            "threads": ("Threads",),
        },
        **or_tools.TRANSLATIONS,
    }
)
"""Each dot leads into a dictionary that CVXPY hands on."""

_SINGLE_THREADED: Final = ("OSQP", "SCS", "SCIPY", "GLOP")

FIRST_ORDER: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "OSQP": {"max_iter": 1_000_000, "polishing": True},
        "SCS": {"max_iters": 1_000_000, "acceleration_lookback": 20},
        "PDLP": {},
    }
)
"""First-order methods need many cheap iterations for the accuracy of a certificate."""


_DICTIONARIES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "GLOP": ("time_limit_sec", "parameters_proto"),
        "PDLP": ("time_limit_sec", "parameters_proto"),
        "SCIPY": ("scipy_options",),
    }
)
"""What CVXPY reads of the keywords of solvers that it hands nothing else to."""


def translate(solver: str, request: Request) -> dict[str, Any]:
    """Return a request as the keywords of CVXPY's call of a solver."""
    keywords: dict[str, Any] = dict(FIRST_ORDER.get(solver, {}))
    names = _TRANSLATIONS.get(solver, {})
    for argument in ("algorithm", "time_limit", "gap", "tolerance", "threads"):
        value = getattr(request, argument)
        if argument == "tolerance" and value is None and solver in FIRST_ORDER:
            # The solver measures residuals of its own scaled problem: leave it room.
            value = TIGHT
        if argument == "gap" and value is None:
            value = DEFAULT if argument in names else None
        if value is None or (argument == "threads" and solver in _SINGLE_THREADED and value == 1):
            continue
        if argument == "gap" and argument not in names:
            argument = "tolerance"
        if argument not in names:
            raise OptionError(f"{solver} through CVXPY has no {argument}; leave it out")
        for name in names[argument]:
            _put(keywords, name, value)
    for name in names.get("absolute_gap", ()):
        _put(keywords, name, float(request.absolute_gap))
    return keywords | request.options


def refuse_unknown(solver: str, options: Mapping[str, Any]) -> None:
    """Refuse options that a solver would take without a word and ignore."""
    if solver == "OSQP":
        import osqp

        known = {name for name in dir(osqp.OSQP().ext.OSQPSettings) if not name.startswith("_")}
    else:
        known = {*_DICTIONARIES.get(solver, options)}
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(sorted(known))}"
            raise OptionError(f"{solver} has no option {name!r}; {hint}")


def _put(keywords: dict[str, Any], name: str, value: Any) -> None:
    nest, dot, inner = name.partition(".")
    if dot:
        _put(keywords.setdefault(nest, {}), inner, value)
    else:
        keywords[name] = value
