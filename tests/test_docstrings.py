"""What the reference shows is documented: every public name, and parameters as they are."""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import re
import warnings
from pathlib import Path

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

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
    forbidden = set(ALWAYS)
    # What a conversion of one quantity takes stands in its summary.
    if inspect.isfunction(target) and len(inspect.signature(target).parameters) > 1:
        forbidden |= OF_FUNCTIONS
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

MOST = 571
"""Public names that a newcomer can still survey."""


def test_public_names_are_those_reviewed() -> None:
    reviewed = PUBLIC.read_text(encoding="utf-8").splitlines()
    assert sorted(NAMES) == reviewed
    assert len(reviewed) <= MOST


PLAIN = 69
"""Public functions and classes without an example; whoever adds a name shows its use."""


def test_public_names_show_their_use() -> None:
    without = 0
    for name in NAMES:
        module, _, attribute = name.rpartition(".")
        target = getattr(importlib.import_module(module), attribute)
        exempt = inspect.isclass(target) and issubclass(target, BaseException | enum.Enum)
        if callable(target) and not exempt:
            without += "Examples\n---" not in (inspect.getdoc(target) or "")
    assert without <= PLAIN


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
