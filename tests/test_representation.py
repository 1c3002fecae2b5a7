"""`repr` stays short: of results of all systems, and of every class that can hold much."""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import edgeopt
from edgeopt.representation import compact_repr, short_repr
from edgeopt.studies import Study
from tests.draws import some
from tests.results import SYSTEMS, inside, results_of, study_of

NAMES = Path(__file__).parents[1] / "docs" / "api" / "names.txt"


@cache
def public_objects() -> list[Any]:
    parts = (name.rpartition(".") for name in NAMES.read_text(encoding="utf-8").split())
    return [getattr(importlib.import_module(module), last) for module, _, last in parts]


def public_classes() -> list[type]:
    every = (one for one in public_objects() if inspect.isclass(one))
    return [one for one in every if not issubclass(one, BaseException | enum.Enum)]


def public_functions() -> list[Any]:
    return [one for one in public_objects() if inspect.isfunction(one)]


def too_long(one: Any) -> bool:
    said = repr(one)
    return len(said) > MOST or said.count("\n") > 7 or "array(" in said


@pytest.mark.parametrize("system", some(SYSTEMS, "oinc"))
def test_results_are_short(system: str) -> None:
    seen: dict[int, Any] = {}
    objects = [one for root in results_of(system).values() for one in inside(root, seen)]
    kinds = {type(one).__name__ for one in objects}
    usual = {"Study", "Case", "Benchmark", "Verdict", "Claim", "Found", "ParameterSpace", "System"}
    assert usual <= kinds
    public = {*public_classes()}
    shown = [one for one in objects if type(one) in public]
    assert len({type(one) for one in shown}) > 30
    assert [f"{type(one).__name__}: {repr(one)[:200]}" for one in shown if too_long(one)] == []


MOST = 400
"""Characters."""

LARGE = re.compile(
    r"Floats|Ints|Bools|NDArray|ndarray|csr|csc|Mapping|dict|Sequence|list|Any|DataFrame|\.\.\."
)
"""Annotations of what may be long to write down."""


def test_classes_that_can_hold_much_have_a_short_text() -> None:
    long = []
    for kind in public_classes():
        if issubclass(kind, tuple):
            fields = [str(getattr(t, "__forward_arg__", t)) for t in kind.__annotations__.values()]
        elif dataclasses.is_dataclass(kind):
            fields = [str(one.type) for one in dataclasses.fields(kind) if one.repr]
        else:
            continue
        usual = kind.__repr__ is not short_repr and (
            issubclass(kind, tuple) or "create_fn" in kind.__repr__.__qualname__
        )
        if usual and any(map(LARGE.search, fields)):
            long.append(kind.__qualname__)
    assert long == []


def test_a_study_says_what_it_compares() -> None:
    assert re.fullmatch(
        r"Study\(rescue, 4 policies, 2 scenarios, bound [\d.]+, "
        r"best known plan within [\d.e-]+ of it\)",
        repr(study_of("rescue")),
    )
    instance = study_of("rescue").cases[0].instance
    several = edgeopt.study({"a": instance, "b": instance}, ["srs"], runs=2, progress=False)
    assert isinstance(several, Study)
    assert repr(several) == "Study(rescue, 2 instances, 1 policy, 2 scenarios)"


@compact_repr
@dataclasses.dataclass
class Everything:
    """One field of each kind."""

    array: Any
    number: float
    text: str
    table: dict[str, int]
    few: tuple[int, ...]
    many: list[int]
    do: Any
    other: Any = None


def test_fields_are_shown_by_what_they_hold() -> None:
    one = Everything(
        np.zeros((3, 20)), 1 / 3, "x" * 100, {"a": 1}, (1, 2), [0] * 9, len, np.float64(2.0)
    )
    assert repr(one) == (
        f"Everything(array=float64[3, 20], number=0.333333, text='{'x' * 56}..., table=1 entry, "
        "few=(1, 2), many=9 values, do=len, other=2)"
    )


def test_what_is_too_long_is_cut_between_fields() -> None:
    names = [(f"number_{place}_of_many", int, place) for place in range(90)]
    said = repr(compact_repr(dataclasses.make_dataclass("Long", names))())
    assert said.startswith("Long(number_0_of_many=0, ")
    assert said.endswith(", ...)")
    assert MOST - 30 < len(said) <= MOST
