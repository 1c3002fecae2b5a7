"""What the reference shows is documented: every public name, and parameters as they are."""

from __future__ import annotations

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
    r"^   (edgeopt\.\S+)$", (ROOT / "docs" / "api" / "index.rst").read_text(), re.MULTILINE
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


def test_every_room_has_its_page() -> None:
    rooms = {path.parent.name for path in (ROOT / "edgeopt").glob("*/__init__.py")} - {"cli"}
    assert rooms <= {page.split(".")[1] for page in PAGES}
