"""What the reference shows is documented: every public name, and parameters as they are."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
import types
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from numpydoc.docscrape import NumpyDocString, get_doc_object
from numpydoc.validate import validate

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PAGES = re.findall(
    r"^   (edgeopt(?:_papers)?\.\S+)$",
    (ROOT / "docs" / "api" / "index.rst").read_text(),
    re.MULTILINE,
)
NAMES = [
    f"{page}.{name}"
    for page in PAGES
    for name in importlib.import_module(page).__all__
    if not inspect.ismodule(getattr(importlib.import_module(page), name))
]
ALWAYS = {"GL08", "PR02", "PR07"}
"""No docstring; a parameter that does not exist; a parameter without a description."""

OF_FUNCTIONS = {"PR01", "PR03"}
"""A parameter is missing; parameters are out of order."""


@pytest.mark.parametrize("name", NAMES)
def test_public_name_is_documented(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    target = getattr(importlib.import_module(module), attribute)
    forbidden = ALWAYS | OF_FUNCTIONS if inspect.isfunction(target) else ALWAYS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # By object: a name may be that of a module too.
        faults = validate(get_doc_object(target))["errors"]
    assert [fault for fault in faults if fault[0] in forbidden] == []


def test_every_subpackage_has_its_page() -> None:
    layers = {path.parent.name for path in (ROOT / "edgeopt").glob("*/__init__.py")}
    assert layers - {"cli", "explore", "tutorials"} <= {page.split(".")[1] for page in PAGES}


PUBLIC = ROOT / "docs" / "api" / "names.txt"
"""The reviewed list of public names: whoever adds or takes one changes it too."""

MOST = 572
"""Public names that a newcomer can still survey."""


def test_public_names_are_those_reviewed() -> None:
    reviewed = PUBLIC.read_text(encoding="utf-8").splitlines()
    assert sorted(NAMES) == reviewed
    assert len(reviewed) <= MOST


def target_of(name: str) -> object:
    """Return what a public name stands for, and the Python of a compiled kernel."""
    module, _, attribute = name.rpartition(".")
    target = getattr(importlib.import_module(module), attribute)
    return getattr(target, "py_func", target)


def test_public_names_show_their_use() -> None:
    shown = {name: target_of(name) for name in NAMES}
    without = [
        name
        for name, target in shown.items()
        if callable(target) and not isinstance(target, types.GenericAlias)
        if "Examples\n---" not in (inspect.getdoc(target) or "")
    ]
    assert without == []


SOURCE = re.compile(
    r"et al\.|Huang, Liu|\b(?:19|20)\d\d\b|\b[Oo]urs\b|Not (?:in|of) the paper|Not a published rule"
)
"""A paper, the year of a book or article, or the word that it is of nobody but us."""


def states_mathematics(name: str, target: object) -> bool:
    """Whether a name is a policy, bound, rounding, program, or value of a decision process."""
    module, _, own = name.rpartition(".")
    said = (inspect.getdoc(target) or "").partition("Returns\n---")[2][:200]
    if getattr(target, "_is_protocol", False):
        return False
    simulated = module.startswith(("edgeopt.online", "edgeopt.learning"))
    if inspect.isclass(target):
        modelled = module.startswith("edgeopt.models")
        return (simulated and hasattr(target, "decide")) or (modelled and own.endswith("Bound"))
    if not inspect.isfunction(target):
        return False
    rounding = module == "edgeopt.rounding"
    value = module == "edgeopt.online.value_iteration" or own in ("value_functions", "policy_value")
    returned = str(inspect.signature(target).return_annotation)
    program = re.search("LinearProgram|CasadiNlp|ConcreteModel|CVXPY", returned + said)
    bound = "bound" in own and (simulated or module.startswith("edgeopt.models"))
    return rounding or value or bound or bool(program and module.startswith("edgeopt.models"))


def test_mathematics_names_its_source() -> None:
    shown = {name: target_of(name) for name in NAMES}
    stating = {name for name, target in shown.items() if states_mathematics(name, target)}
    assert len(stating) > 80
    without = [
        name
        for name in sorted(stating)
        if not SOURCE.search((inspect.getdoc(shown[name]) or "").partition("Examples\n---")[0])
    ]
    assert without == []


def entries_of(target: object, *sections: str) -> dict[str, str]:
    """Return what sections of a docstring say, by each of the names that they speak of."""
    doc = NumpyDocString(inspect.getdoc(target) or "")
    return {
        own.strip(" *"): " ".join(entry.desc)
        for section in sections
        for entry in doc[section]
        for own in entry.name.split(",")
    }


def parts_of(target: object) -> list[str]:
    """Return the fields of a class or the parameters of a function."""
    if not inspect.isclass(target):
        return list(inspect.signature(target).parameters)
    held = dataclasses.fields(target) if dataclasses.is_dataclass(target) else ()
    parts = [one.name for one in held] or getattr(target, "_fields", ())
    return [own for own in parts if not own.startswith("_")]


def test_fields_parameters_and_returns_are_described() -> None:
    missing = []
    for name in NAMES:
        target = target_of(name)
        if not (inspect.isclass(target) or inspect.isfunction(target)):
            continue
        kinds = target.__mro__ if inspect.isclass(target) else (target,)
        said = {own for kind in kinds for own in entries_of(kind, "Parameters", "Attributes")}
        missing += [(name, own) for own in parts_of(target) if own not in said]
        doc = NumpyDocString(inspect.getdoc(target) or "")
        silent = target.__annotations__.get("return") in (None, "None")
        if inspect.isfunction(target) and not silent and not (doc["Returns"] or doc["Yields"]):
            missing.append((name, "return"))
    assert missing == []


ARRAY = re.compile(r"\b(?:ArrayLike|NDArray|Floats|Ints|Integers|Flags)\b")
SHAPED = re.compile(r"[Ss]hape|\[[^\]]+\]|\bper\b|\beach\b|[Aa]s in|[Aa]s for")
"""How a description says what shape an array has: itself, entry by entry, or by reference."""


def arrays_of(target: object) -> Iterator[tuple[str, str]]:
    """Go through the arrays that a name takes, holds or returns, with what is said of each."""
    said = entries_of(target, "Parameters", "Attributes")
    kinds = reversed(target.__mro__) if inspect.isclass(target) else (target,)
    annotated = {
        own: str(annotation)
        for kind in kinds
        for own, annotation in getattr(kind, "__annotations__", {}).items()
    }
    for own, annotation in annotated.items():
        if ARRAY.search(annotation) and "Callable" not in annotation and own in said:
            yield own, said[own]
    if not inspect.isclass(target) and ARRAY.search(annotated.get("return", "")):
        doc = NumpyDocString(inspect.getdoc(target) or "")
        returned = [" ".join([entry.name, entry.type, *entry.desc]) for entry in doc["Returns"]]
        yield "return", " ".join([*doc["Summary"], *returned])


def test_arrays_have_shapes() -> None:
    said = [
        (name, own, text)
        for name in NAMES
        if callable(target := target_of(name)) and not isinstance(target, types.GenericAlias)
        for own, text in arrays_of(target)
    ]
    assert len(said) > 500
    assert [(name, own) for name, own, text in said if not SHAPED.search(text)] == []


def exported() -> set[tuple[str, str]]:
    """Module and name of all that a page or a subpackage exports."""
    packages = {
        ".".join(path.relative_to(ROOT).parent.parts)
        for path in (ROOT / "edgeopt").rglob("__init__.py")
    }
    found = set()
    for page in {*PAGES, *packages}:
        module = importlib.import_module(page)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            value = getattr(value, "py_func", value)
            home = getattr(value, "__module__", page), getattr(value, "__qualname__", name)
            found.add(tuple(map(str, home)))
    return found


def test_inner_functions_say_what_they_do_in_a_sentence() -> None:
    public, wordy = exported(), []
    for path in sorted((ROOT / "edgeopt").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and (module, node.name) not in public:
                said = ast.get_docstring(node) or ""
                if re.search(r"^(Parameters|Returns|Raises)\n---", said, re.MULTILINE):
                    wordy.append(f"{module}.{node.name}")
    assert wordy == []
