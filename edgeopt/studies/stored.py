"""Studies on disk: data alone, which are read back without running any of it.

A study is a tree of records, collections and numbers in ``stored.json.gz``, whose arrays lie in
``arrays.npz`` and whose instances in ``instance-N.nc``. Records are read as the classes of edgeopt,
or of the package of the system, that they were, and get their fields as they are. Programs of
solvers and functions are left behind: what needs one says so.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import partial
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from scipy import sparse

from edgeopt.errors import EdgeOptError, OptionError
from edgeopt.instances.instance import Instance
from edgeopt.instances.records import Record
from edgeopt.later import Computed
from edgeopt.reading import content_of, unpacked
from edgeopt.solvers.registry import LeftBehind, kind_of
from edgeopt.studies import registry
from edgeopt.studies.learners import is_learned
from edgeopt.writing import Folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeopt.studies.entries import Benchmark, PolicyEntry
    from edgeopt.studies.system import System

CaseT = TypeVar("CaseT")
StudyT = TypeVar("StudyT")

TREE: Final = "stored.json.gz"
ARRAYS: Final = "arrays.npz"

FORMAT: Final = 1
"""Counts the changes of the layout."""

_DERIVED: Final = ("judged", "information", "trained")
"""What was found by means of policies; these are made again only where one is simulated anew."""

_PARTS: Final = (
    "name", "instance", "benchmarks", "trajectories", "exact", "controls", "references",
    "verdicts", "own", "checks", "watched", "entries",
)  # fmt: skip


def save(study: Any, folder: str | Path, *, force: bool = False) -> Path:
    """Write a study to a folder."""
    target, writer = Folder(folder, "study", force=force), _Writer()
    cases = [{name: getattr(case, name) for name in (*_PARTS, *_DERIVED)} for case in study.cases]
    content = {
        "format": FORMAT,
        "system": study.system.name,
        "built_in": _built_in(study.system),
        "settings": writer.tree(study.settings),
        "cases": [writer.tree(case) for case in cases],
    }
    packed = gzip.compress(json.dumps(content, allow_nan=False).encode(), mtime=0)
    arrays = io.BytesIO()
    np.savez_compressed(arrays, **{f"{n}": one for n, one in enumerate(writer.arrays)})
    for number, instance in enumerate(writer.instances):
        target.write(f"instance-{number}.nc", instance.save)
    target.write(ARRAYS, arrays.getvalue())
    target.write(TREE, packed)
    return target.path


def load(
    folder: str | Path,
    system: System | None,
    case: Callable[..., CaseT],
    study: Callable[..., StudyT],
) -> StudyT:
    """Read a study that `save` has written, and make it of its cases."""
    where = Path(folder)
    try:
        content = json.loads(unpacked(content_of(where / TREE)))
        if content["format"] != FORMAT:
            raise OptionError(f"{where}: another version of edgeopt has stored this study")
        record = _system(content, system)
        with np.load(where / ARRAYS, allow_pickle=False) as arrays:
            reader = _Reader(where, record, arrays)
            settings = reader.value(content["settings"])
            cases = [reader.value(one) for one in content["cases"]]
    except EdgeOptError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ImportError) as error:
        raise OptionError(f"{where}: no study of Study.save can be read there: {error}") from error
    return study(record, tuple(_case(record, settings, one, case) for one in cases), settings)


def _built_in(system: System) -> bool:
    try:
        return registry.find_system(system.name) is system
    except OptionError:
        return False


def _system(content: Mapping[str, Any], given: System | None) -> System:
    name = content["system"]
    if given is None and not content["built_in"]:
        raise OptionError(f"the study is of a system {name!r} of one's own: pass it as system=")
    if given is not None and given.name != name:
        raise OptionError(f"the study is of the system {name!r}, not of {given.name!r}")
    return given or registry.find_system(name)


def _case(
    record: System, settings: Any, found: dict[str, Any], kind: Callable[..., CaseT]
) -> CaseT:
    """Put a case together; policies are made when one is asked for."""
    entries = {name: _entry(record, one) for name, one in found["entries"].items()}
    make = partial(_policy, entries, found["instance"], found["benchmarks"])
    more = {"system": record, "settings": settings, "policies": Computed(entries, make)}
    return put_together(kind, {**found, **more, "entries": entries})


def pickled(case: Any) -> dict[str, Any]:
    """Return what a case is pickled as: what it was made of, entries of its system by name."""
    own = {entry.name: entry for entry in case.system.policies.entries}
    values = {one.name: getattr(case, one.name) for one in fields(case)}
    values["entries"] = {
        name: None if own.get(name) == entry else entry for name, entry in case.entries.items()
    }
    # A stored case cannot find these anew where policies are left behind.
    return values | {name: vars(case)[name] for name in _DERIVED if name in vars(case)}


def put_together(kind: Callable[..., CaseT], values: dict[str, Any]) -> CaseT:
    """Make a case of its parts, and of what was found by means of its policies."""
    own = {entry.name: entry for entry in values["system"].policies.entries}
    entries = {name: entry or own[name] for name, entry in values["entries"].items()}
    derived: dict[str, Any] = {name: values[name] for name in _DERIVED if name in values}
    made = {name: one for name, one in values.items() if name not in derived}
    case = kind(**{**made, "entries": entries})
    vars(case).update(derived)
    return case


def _entry(record: System, stored: PolicyEntry) -> PolicyEntry:
    """Give an entry back the functions of the one of its name."""
    own = {one.name: one for one in record.policies.entries}.get(stored.name)
    if own is None and is_learned(stored.name):
        own = registry.choose(record, stored.name)[0]
    return stored if own is None else replace(stored, make=own.make, exact=own.exact)


def _policy(
    entries: Mapping[str, PolicyEntry],
    instance: Any,
    benchmarks: Mapping[str, Benchmark],
    name: str,
) -> Any:
    return entries[name].make(instance, benchmarks)


@dataclass
class _Writer:
    """What is written of a study, with its arrays and instances, each once."""

    arrays: list[Any] = field(default_factory=list)
    instances: list[Any] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)
    held: list[Any] = field(default_factory=list)

    def _place(self, value: Any, among: list[Any]) -> int:
        if id(value) not in self.places:
            self.places[id(value)] = len(among)
            among.append(value)
            self.held.append(value)  # so that no other value gets its id
        return self.places[id(value)]

    def tree(self, value: Any) -> Any:
        """Return a value in terms of JSON; what is not JSON is an object with one key."""
        if isinstance(value, Enum):
            return {"enum": [_name(type(value)), value.name]}
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return float(value) if isfinite(value) else {"float": str(float(value))}
        if isinstance(value, np.generic):
            return self.tree(value.item())
        if isinstance(value, np.ndarray) and value.dtype != object:
            return {"array": self._place(value, self.arrays)}
        if sparse.issparse(value):
            entries = value.tocoo()
            parts = [entries.data, *entries.coords]
            return {"sparse": [type(value).__name__, list(value.shape), *map(self.tree, parts)]}
        if isinstance(value, Instance):
            return {"instance": [_name(type(value)), self._place(value, self.instances)]}
        if isinstance(value, Mapping):
            return {"map": [[self.tree(key), self.tree(one)] for key, one in value.items()]}
        if isinstance(value, Fraction):
            return {"fraction": str(value)}
        for kind in (tuple, frozenset, set):
            if type(value) is kind:
                return {kind.__name__: [self.tree(one) for one in value]}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return {"named": [_name(type(value)), *map(self.tree, value)]}
        if isinstance(value, list):
            return [self.tree(one) for one in value]
        if is_dataclass(value) and not isinstance(value, type):
            held = {one.name: self.tree(getattr(value, one.name)) for one in fields(value)}
            return {"record": [_name(type(value)), held]}
        return self.tree(_left_behind(value))


def _left_behind(value: Any) -> LeftBehind:
    why = "it was stored, and only data are"
    try:
        return LeftBehind(type(value).__name__, why, kind_of(value))
    except EdgeOptError:
        return LeftBehind(getattr(value, "__qualname__", type(value).__name__), why, None)


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


@dataclass
class _Reader:
    """A study being read."""

    folder: Path
    system: System
    arrays: Any
    read: dict[Any, Any] = field(default_factory=dict)

    def _class(self, name: str, *bases: type) -> Any:
        """Return a class of data, of edgeopt or of the package of the system."""
        module, _, inside = name.partition(":")
        own = self.system.instances.kind.__module__.partition(".")[0]
        if module.partition(".")[0] not in ("edgeopt", "edgeopt_papers", own):
            raise OptionError(f"{self.folder}: {name} is no class of edgeopt or of the system")
        found: Any = import_module(module)
        for part in inside.split("."):
            found = getattr(found, part)
        data = isinstance(found, type) and (issubclass(found, bases) if bases else True)
        if not data or (not bases and not is_dataclass(found)):
            raise OptionError(f"{self.folder}: {name} is no class of data")
        return found

    def _kept(self, key: Any, make: Any) -> Any:
        if key not in self.read:
            self.read[key] = make()
        return self.read[key]

    def value(self, tree: Any) -> Any:
        """Return the value that a tree was made of."""
        if isinstance(tree, list):
            return [self.value(one) for one in tree]
        if not isinstance(tree, dict):
            return tree
        [(kind, held)] = tree.items()
        match kind:
            case "float" | "fraction":
                return {"float": float, "fraction": Fraction}[kind](held)
            case "array":
                return self._kept(held, lambda: self.arrays[f"{held}"])
            case "map":
                return {self.value(key): self.value(one) for key, one in held}
            case "tuple" | "frozenset" | "set":
                made: Any = {"tuple": tuple, "frozenset": frozenset, "set": set}[kind]
                return made(map(self.value, held))
            case "sparse":
                name, shape, data, *coords = held
                entries = self.value(data), tuple(map(self.value, coords))
                whole = sparse.coo_array(entries, shape=tuple(shape))
                return sparse.csr_array(whole) if "csr" in name else sparse.csc_array(whole)
            case "enum":
                return self._class(held[0], Enum)[held[1]]
            case "named":
                return self._class(held[0], tuple)._make(map(self.value, held[1:]))
            case "instance":
                path = self.folder / f"instance-{int(held[1])}.nc"
                return self._kept(path, lambda: self._class(held[0], Instance).load(path))
            case "record":
                return self._record(*held)
        raise OptionError(f"{self.folder}: holds a {kind!r}, which no study has")

    def _record(self, name: str, parts: Mapping[str, Any]) -> Any:
        kind = self._class(name)
        given = {key: self.value(one) for key, one in parts.items()}
        if issubclass(kind, Record):
            return kind(**given)
        made = kind.__new__(kind)
        for key in (one.name for one in fields(kind)):
            object.__setattr__(made, key, given[key])
        return made
