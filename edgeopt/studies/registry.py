"""The systems and policies by name: one explicit table, and what other packages offer."""

from __future__ import annotations

import difflib
import fnmatch
import importlib
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from edgeopt.errors import OptionError
from edgeopt.studies.entries import PolicyEntry
from edgeopt.studies.system import System

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["choose", "find_system", "policies", "system_of", "systems"]

SYSTEM_GROUP = "edgeopt.systems"
"""Entry-point group under which another package offers a `System`."""

POLICY_GROUP = "edgeopt.policies"
"""Entry-point group under which another package offers a `PolicyEntry` with its `system` set."""

_SYSTEMS = {
    "rescue": "edgeopt.studies.rescue:SYSTEM",
    "idn": "edgeopt.studies.idn:SYSTEM",
    "oinc": "edgeopt.studies.oinc:SYSTEM",
    "edr": "edgeopt.studies.edr:SYSTEM",
    "tapfinger": "edgeopt.studies.tapfinger:SYSTEM",
}


def systems() -> list[str]:
    """Return the names of all systems, the package's own first."""
    offered = (point.name for point in entry_points(group=SYSTEM_GROUP))
    return [*_SYSTEMS, *sorted(set(offered) - set(_SYSTEMS))]


def find_system(name: str) -> System:
    """Return the record of a system.

    Parameters
    ----------
    name
        One of :func:`systems`.

    Raises
    ------
    OptionError
        If there is no such system, or another package offers something else under that name.
    """
    if name in _SYSTEMS:
        module, attribute = _SYSTEMS[name].split(":")
        return _record(getattr(importlib.import_module(module), attribute), _SYSTEMS[name])
    for point in entry_points(group=SYSTEM_GROUP):
        if point.name == name:
            return _record(point.load(), point.value)
    raise OptionError(f"system {name!r} is unknown; {_hint(name, systems())}")


def system_of(instance: object) -> System:
    """Return the system whose instances are of the type of `instance`.

    Raises
    ------
    OptionError
        If no system knows such instances.
    """
    for name in systems():
        record = find_system(name)
        if isinstance(instance, record.instance_type):
            return record
    raise OptionError(
        f"no system has instances of type {type(instance).__name__}; pass system= or an instance "
        f"of {', '.join(systems())}"
    )


def policies(record: System) -> tuple[PolicyEntry, ...]:
    """Return the policies of a system, its own first, then those that other packages offer.

    Raises
    ------
    OptionError
        If an offered policy is not a `PolicyEntry` or takes a name that is in use.
    """
    table = list(record.policies)
    for point in entry_points(group=POLICY_GROUP):
        entry = point.load()
        if not isinstance(entry, PolicyEntry):
            raise OptionError(f"entry point {point.value!r}: expected an edgeopt PolicyEntry")
        if entry.system != record.name:
            continue
        if entry.name in {known.name for known in table}:
            raise OptionError(f"entry point {point.value!r}: policy {entry.name!r} is taken")
        table.append(entry)
    return tuple(table)


def choose(record: System, wanted: Iterable[Any] | None = None) -> tuple[PolicyEntry, ...]:
    """Resolve what a caller asks for to entries, in the order asked for.

    Parameters
    ----------
    record
        The system.
    wanted
        Names, glob patterns such as ``"rescue*"``, `PolicyEntry` objects and policies themselves;
        by default every policy that takes part by default.

    Raises
    ------
    OptionError
        If a name matches nothing, or nothing is left to compare.
    """
    known = policies(record)
    if wanted is None:
        return tuple(entry for entry in known if entry.default)
    if isinstance(wanted, str):
        wanted = [wanted]
    chosen: dict[str, PolicyEntry] = {}
    for one in wanted:
        if isinstance(one, str):
            found: Sequence[PolicyEntry] = [e for e in known if fnmatch.fnmatchcase(e.name, one)]
            if not found:
                raise OptionError(
                    f"policy {one!r} is unknown to {record.name}; "
                    f"{_hint(one, [entry.name for entry in known])}"
                )
        else:
            found = [one if isinstance(one, PolicyEntry) else _entry(record, one, chosen)]
        for entry in found:
            chosen.setdefault(entry.name, entry)
    if not chosen:
        raise OptionError("policies: nothing to compare; leave it out to compare all")
    return tuple(chosen.values())


def _entry(record: System, policy: Any, taken: Iterable[str]) -> PolicyEntry:
    """Wrap a policy that came without an entry; a name in use gets a number."""
    title = str(getattr(policy, "name", "") or type(policy).__name__)
    name, count = title, 2
    while name in set(taken) | {entry.name for entry in record.policies}:
        name, count = f"{title} ({count})", count + 1
    bound = record.bound_of(policy) if record.bound_of else ""
    return PolicyEntry(name, name, lambda _instance, _benchmarks: policy, bound=bound)


def _record(offered: object, origin: str) -> System:
    if not isinstance(offered, System):
        raise OptionError(f"entry point {origin!r}: expected an edgeopt System record")
    return offered


def _hint(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=2)
    choices = f"choose from {', '.join(known)}"
    return f"did you mean {' or '.join(near)}? {choices}" if near else choices
