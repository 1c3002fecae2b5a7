"""Modules that need an optional package are not searched for examples where it is missing."""

from importlib.util import find_spec
from pathlib import Path

MISSING = [f"import {name}\n" for name in ("torch", "marimo", "qpsolvers") if not find_spec(name)]

collect_ignore = [
    str(path)
    for package in ("edgeopt", "papers")
    for path in (Path(__file__).parent / package).rglob("*.py")
    if any(statement in path.read_text(encoding="utf-8") for statement in MISSING)
]
