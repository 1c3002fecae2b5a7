"""The page of formulations lists every builder, with the names that its models have."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cvxpy
import numpy as np
import pyomo.environ as pyo
import pytest

from edgeopt import models
from edgeopt.instances import edr, idn, oinc, rescue, tapfinger
from edgeopt.models.idn import Demand
from edgeopt.models.oinc.retraining import retraining_problem
from edgeopt.models.oinc.slot import slot_problem
from edgeopt.models.tapfinger import scheduling_problem
from edgeopt.solvers import CasadiNlp

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = (Path(__file__).parents[2] / "docs" / "formulations.md").read_text(encoding="utf-8")
LIBRARIES = {"Pyomo": "pyomo", "CVXPY": "cvxpy", "CasADi": "casadi"}
ONES = np.ones(2)
STEP = {"point": ONES, "gradient": ONES, "energy": ONES, "cap": 2.0, "upper": ONES, "step": 0.5}


def _jobs() -> tuple[Any, dict[str, Any]]:
    return retraining_problem(oinc.small(1)), {"one_site": True}


GIVEN: dict[str, Callable[[], tuple[Any, ...]]] = {
    "rescue.p1": lambda: (rescue.small(1),),
    "rescue.p1_lp": lambda: (rescue.small(1),),
    "idn.placement": lambda: (idn.small(1), Demand.of(idn.small(1))),
    "idn.cooperative_placement": lambda: (idn.small(1), Demand.of(idn.small(1))),
    "oinc.joint": lambda: (oinc.small(1),),
    "oinc.joint_misocp": lambda: (oinc.small(1),),
    "oinc.slot_misocp": lambda: (slot_problem(oinc.small(1), 0),),
    "oinc.allocation_program": lambda: (ONES, ONES, 9 * ONES),
    "oinc.retraining.flow_lp": _jobs,
    "oinc.retraining.flow_dual": _jobs,
    "edr.colocation": lambda: (edr.small(1),),
    "edr.step_program": lambda: (STEP,),
    "edr.step_nlp": lambda: (STEP,),
    "tapfinger.start_program": lambda: (scheduling_problem(tapfinger.small(1), single_start=True),),
}
"""What each builder is called with so that everything it may have is there."""


def builders() -> set[str]:
    """Return the public functions that build a model of another library."""
    found = set()
    for module in pkgutil.walk_packages(models.__path__, "edgeopt.models."):
        if not module.ispkg:
            continue
        package = importlib.import_module(module.name)
        for name in package.__all__:
            one = getattr(package, name)
            home = Path(importlib.import_module(one.__module__).__file__ or "").read_text()
            returned = str(getattr(one, "__annotations__", {}).get("return", ""))
            kinds = r"^(Any|.*CasadiNlp|.*ConcreteModel|(cp|cvxpy)\.Problem)$"
            if re.search(r"import (pyomo|cvxpy|casadi)", home) and re.match(kinds, returned):
                found.add(f"{module.name}.{name}".removeprefix("edgeopt.models."))
    return found


def listed() -> dict[str, list[str]]:
    rows = re.findall(r"^\| \[`edgeopt\.models\.([\w.]+)`\]\(.*?\) \| (.*) \|$", PAGE, re.MULTILINE)
    return {name: rest.split(" | ") for name, rest in rows}


def names(model: Any) -> tuple[set[str], set[str]]:
    """Return the names of variables and of constraints."""
    if isinstance(model, CasadiNlp):
        columns = {name.partition("[")[0] for name in model.column_names}
        return columns, {name.partition("[")[0] for name in model.row_names}
    if isinstance(model, cvxpy.Problem):
        return {one.name() for one in model.variables()}, {one.label for one in model.constraints}
    kinds = (pyo.Var, pyo.Constraint)
    variables, constraints = (
        {one.local_name for one in model.component_objects(kind)} for kind in kinds
    )
    return variables, constraints


def test_the_page_lists_every_builder() -> None:
    assert len(builders()) > 10
    assert set(listed()) == builders() == set(GIVEN)


@pytest.mark.parametrize("name", GIVEN)
def test_the_page_has_the_names_of_the_model(name: str) -> None:
    _, library, variables, constraints, _ = listed()[name]
    package, _, function = name.rpartition(".")
    builder = getattr(importlib.import_module(f"edgeopt.models.{package}"), function)
    given = GIVEN[name]()
    options = given[-1] if isinstance(given[-1], dict) else {}
    model = builder(*(one for one in given if one is not options), **options)
    home = {cls.__module__.partition(".")[0] for cls in type(model).__mro__}
    assert LIBRARIES[library] in home or (library == "CasADi" and isinstance(model, CasadiNlp))
    said = tuple(set(re.findall(r"`(\w+)`", text)) for text in (variables, constraints))
    assert names(model) == said


def test_what_the_page_says_policies_use_is_there() -> None:
    for name, (*_, followed) in listed().items():
        system = name.partition(".")[0]
        places = [
            importlib.import_module(f"edgeopt.{part}.{system}") for part in ("models", "online")
        ]
        for word in re.findall(r"`([A-Z]\w+|\w+_\w+)\b", followed):
            assert any(hasattr(place, word) for place in places), word
