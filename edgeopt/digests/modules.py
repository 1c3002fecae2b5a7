"""The modules that code imports, and their digest."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import sys
import tempfile
from dataclasses import astuple
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import edgeopt
from edgeopt.cache import PACKAGE, cache_folder
from edgeopt.digests.source import OWN, Facts, hash_of, read_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FORMAT: Final = 1
"""Version of the format of facts."""

SHIPPED: Final = PACKAGE / "_digests.json"
"""Facts about the modules of edgeopt, written when a wheel is built."""

KEPT: Final = "digests.json"
"""The same in the cache folder, written when they are found."""

_HANDLED: Final = {OWN} | {
    f"{OWN}.{name}"
    for name in (
        "checker", "errors", "instances.alignment", "instances.labelled", "instances.labels",
        "instances.reordering", "instances.rounding", "instances.sheets",
        "instances.sheets_written", "instances.shown", "instances.units", "representation",
    )
}  # fmt: skip
"""Modules that read, write and show numbers or name errors, beside those of certificates.

What instances become is held by their fingerprints in the tests.
"""

_TICK: Final = 0.005
"""Seconds by which the clock of files may be late."""


@cache
def facts_of(module: str) -> Facts | None:
    """Return the facts about a module; None without source, and for Python's own modules."""
    path = _sources(module.partition(".")[0]).get(module)
    if path is None:
        return None
    source = path.read_bytes()
    known = _table().get(module)
    if known is None or known.source != hash_of(source):
        known = read_facts(source, module, path.name == "__init__.py")
        _FOUND[module] = known
    return known


_FOUND: Final[dict[str, Facts]] = {}
"""Facts that are in no table yet."""


@cache
def _table() -> dict[str, Facts]:
    """Return the facts that are known, by module."""
    found: dict[str, Facts] = {}
    for path in (SHIPPED, cache_folder() / KEPT):
        try:
            content = json.loads(path.read_bytes())
            if content["format"] == FORMAT:
                found |= {module: Facts(*row) for module, row in content["modules"].items()}
        except (OSError, ValueError, TypeError, LookupError, AttributeError):
            continue
    return found


def _keep() -> None:
    """Keep new facts; if that fails, they are found again."""
    if not _FOUND:
        return
    folder = cache_folder()
    try:
        with tempfile.NamedTemporaryFile("w", dir=folder, prefix=".draft-", delete=False) as draft:
            draft.write(table_of({**_table(), **_FOUND}))
        Path(draft.name).replace(folder / KEPT)
    except OSError:
        return
    _table().update(_FOUND)
    _FOUND.clear()


def facts_of_package() -> str:
    """Return the facts about all modules of edgeopt, found anew, for its wheel."""
    sources = sorted(_sources(OWN).items())
    return table_of(
        {
            module: read_facts(path.read_bytes(), module, path.name == "__init__.py")
            for module, path in sources
        }
    )


def table_of(facts: Mapping[str, Facts]) -> str:
    """Return facts by module as JSON."""
    rows = {module: astuple(known) for module, known in sorted(facts.items())}
    return json.dumps({"format": FORMAT, "modules": rows}, separators=(",", ":"))


@cache
def _sources(top: str) -> dict[str, Path]:
    """Return the files of a package by module; none for Python's own."""
    if top in sys.stdlib_module_names:
        return {}
    if top == "__main__":
        return {} if (script := _script()) is None else {top: script}
    if top == OWN:
        folders, single = [os.fspath(PACKAGE)], None
    else:
        spec = importlib.util.find_spec(top)
        if spec is None:
            return {}
        folders, single = list(spec.submodule_search_locations or ()), spec.origin
    found = {} if folders or single is None else {top: Path(single)}
    for folder in folders:
        for where, inner, files in os.walk(folder):
            inner[:] = [name for name in inner if name.isidentifier() and name != "__pycache__"]
            parts = [top, *Path(where).relative_to(folder).parts]
            for file in files:
                name, suffix = os.path.splitext(file)
                if suffix == ".py":
                    kept = parts if name == "__init__" else [*parts, name]
                    found[".".join(kept)] = Path(where, file)
    return found


def _script() -> Path | None:
    """Return the script that this process runs, if any."""
    name = getattr(sys.modules["__main__"], "__file__", None)
    return None if name is None else Path(name).absolute()


def _beside_script() -> set[str]:
    """Return the names of modules and packages in the folder of the script."""
    script = _script()
    if script is None:
        return set()
    return {
        path.stem for path in (*script.parent.glob("*.py"), *script.parent.glob("*/__init__.py"))
    }


def _home(module: str, name: str) -> str:
    """Return the module that defines what a module offers under a name."""
    sources = _sources(module.partition(".")[0])
    for _ in range(20):
        if name and f"{module}.{name}" in sources:
            return f"{module}.{name}"
        facts = facts_of(module)
        origin = None if facts is None else facts.offers.get(name)
        if origin is None:
            return module
        module, name = origin
    return module


@cache
def closure(
    roots: frozenset[str],
    named: frozenset[str] = frozenset(),
    alone: frozenset[str] = frozenset(),
) -> tuple[str, ...]:
    """Return modules and those of their packages that they import, directly or not, sorted.

    The modules in the folder of a script count as its package. Modules that read, write and show
    numbers are left out.

    Parameters
    ----------
    roots
        The first modules.
    named
        Names of systems, in addition to those of the roots. Parts of other systems are left out:
        they are imported by name only, and one system never imports another.
    alone
        Modules that count without their imports.
    """
    packages = {root.partition(".")[0] for root in roots} | {OWN}
    if "__main__" in packages:
        packages |= _beside_script()
    wanted = named.union(*(root.split(".") for root in roots))
    found: set[str] = set()
    todo = sorted(roots)
    while todo:
        module = todo.pop()
        facts = facts_of(module)
        if facts is None or module in found:
            continue
        if module not in roots and (module in _HANDLED or module.endswith(".certificates")):
            continue
        found.add(module)
        if module in alone:
            continue
        todo += [_home(*used) for used in facts.uses if used[0].partition(".")[0] in packages]
        for text in facts.texts:
            if not (systems() & set(text.split("."))) - wanted:
                todo += modules_within(text) if text.endswith(".") else [text]
    return tuple(sorted(found))


@cache
def systems() -> frozenset[str]:
    """Return the names of the built-in systems, which have a folder in several subpackages."""
    layers = [PACKAGE / layer for layer in ("instances", "studies")]
    there = [{file.parent.name for file in layer.glob("*/__init__.py")} for layer in layers]
    return frozenset.intersection(*map(frozenset, there))


def modules_within(package: str) -> list[str]:
    """Return the modules whose names begin with a package's."""
    return [name for name in _sources(package.partition(".")[0]) if name.startswith(package)]


@cache
def digest(
    roots: frozenset[str],
    named: frozenset[str] = frozenset(),
    alone: frozenset[str] = frozenset(),
) -> str:
    """Return one hash of the code of modules and their imports in their packages.

    Parameters
    ----------
    roots, named, alone
        As in :func:`closure`.
    """
    modules = closure(roots, named, alone)
    _keep()
    codes = [(module, facts.code) for module in modules if (facts := facts_of(module)) is not None]
    return hash_of(repr(codes).encode())


def changed(modules: Iterable[str]) -> list[Path]:
    """Return files that changed after this process began, whose code may not be what runs.

    Parameters
    ----------
    modules
        Names of modules, as `closure` returns them.
    """
    files = (_sources(module.partition(".")[0]).get(module) for module in modules)
    return [file for file in files if file is not None and _touched(file) > edgeopt._BEGAN - _TICK]


def _touched(file: Path) -> float:
    try:
        seen = file.stat()
    except FileNotFoundError:
        return math.inf
    return max(seen.st_mtime, seen.st_ctime)
