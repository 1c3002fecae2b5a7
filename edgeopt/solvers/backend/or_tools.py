"""What OR-Tools' GLOP and PDLP need that other solvers behind CVXPY do not.

They have to be loaded beside highspy, get a model that is built before its objective is scaled, and
take their parameters as a message.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

PACKAGE: Final = "ortools"
MODULE: Final = "ortools.linear_solver.pywraplp"
"""What can be imported only if the libraries of OR-Tools can be loaded."""

_CRITERIA: Final = "termination_criteria.simple_optimality_criteria"

TRANSLATIONS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = MappingProxyType(
    {
        "GLOP": {
            "time_limit": ("time_limit_sec",),
            "tolerance": (
                "parameters_proto.primal_feasibility_tolerance",
                "parameters_proto.dual_feasibility_tolerance",
            ),
        },
        "PDLP": {
            "time_limit": ("time_limit_sec",),
            "tolerance": (
                f"parameters_proto.{_CRITERIA}.eps_optimal_absolute",
                f"parameters_proto.{_CRITERIA}.eps_optimal_relative",
            ),
            "threads": ("parameters_proto.num_threads",),
        },
    }
)
"""Keywords of CVXPY's call; each dot leads into a dictionary."""

_GLOP, _PDLP = "model_proto", "pdlp_model"
"""Names of the models in what CVXPY hands over."""


def load(module: str = MODULE) -> None:
    """Import a module of OR-Tools so that it can be used beside highspy.

    Both bring a library of the name ``libhighs.so.1``, in releases that do not fit each other, and
    the first one that a process loads serves both. That has to be highspy's, which calls it. What
    OR-Tools misses in it is looked up at the call, which GLOP, PDLP and network flows never make.
    """
    if module in sys.modules:
        return
    importlib.import_module("highspy")
    flags = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_LAZY)
    try:
        importlib.import_module(module)
    finally:
        sys.setdlopenflags(flags)


def costs(data: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return the objective of GLOP's model, empty if there is none."""
    columns = data[_GLOP].variable if _GLOP in data else ()
    return np.array([column.objective_coefficient for column in columns])


def scale(data: Mapping[str, Any], factor: float) -> None:
    """Multiply the objective of a model that is built already."""
    if _GLOP in data:
        for column in data[_GLOP].variable:
            column.objective_coefficient *= factor
    if _PDLP in data:
        data[_PDLP].objective_vector = data[_PDLP].objective_vector * factor


def with_message(name: str, keywords: dict[str, Any]) -> dict[str, Any]:
    """Return keywords in which the parameters of a solver are the message that it takes."""
    given = keywords.get("parameters_proto")
    if not isinstance(given, dict):
        return keywords
    from google.protobuf import json_format

    if name == "GLOP":
        from ortools.glop.parameters_pb2 import GlopParameters as Message
    else:
        from ortools.pdlp.solvers_pb2 import PrimalDualHybridGradientParams as Message
    try:
        return keywords | {"parameters_proto": json_format.ParseDict(given, Message())}
    except json_format.ParseError as why:
        raise OptionError(f"parameters_proto: {why}") from None
