"""Systems and policies by name: edgeopt's own, and those of installed plugins."""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
import importlib.metadata
import os
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, Literal

from edgeopt import plugins, registry
from edgeopt.bounds.validity import Plan
from edgeopt.errors import OptionError
from edgeopt.online.simulate import require_parts
from edgeopt.studies.entries import PolicyEntry
from edgeopt.studies.learners import given, is_learned, learned_entry
from edgeopt.studies.system import System

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from importlib.metadata import EntryPoint


ALL: Final = "all"
"""Stands for all policies of a system; by default a study compares at most eight of them."""


def systems() -> list[str]:
    """Return the names of all systems, edgeopt's own first.

    Returns
    -------
    Names for `find_system`.

    Examples
    --------
    >>> from edgeopt.studies import systems
    >>> systems()
    ['rescue', 'idn', 'oinc', 'edr', 'tapfinger']
    """
    own = registry.built_in(registry.SYSTEMS)
    offered = {point.name for point in _offered(registry.SYSTEMS)}
    return [*own, *sorted(offered - set(own))]


def _offered(group: str) -> tuple[EntryPoint, ...]:
    """Return what other packages have in a group.

    The metadata of all installed packages are read once, and again when a place to import from has
    been added or has changed.
    """
    places = []
    for place in sys.path:
        with contextlib.suppress(OSError):
            places.append((os.path.abspath(place), os.stat(place or ".").st_mtime_ns))
    ask = registry.offered, importlib.metadata.entry_points
    return _found(*ask, group, tuple(places))


@lru_cache
def _found(
    read: Callable[[str], Sequence[EntryPoint]], below: Any, group: str,
    places: tuple[tuple[str, int], ...],
) -> tuple[EntryPoint, ...]:  # fmt: skip
    return tuple(read(group))


def find_system(name: str) -> System:
    """Return the record of a system.

    Parameters
    ----------
    name
        One of :func:`systems`.

    Returns
    -------
    The record that studies, commands and pages read.

    Raises
    ------
    OptionError
        If there is no such system, or if what a plugin offers under that name is no record, or a
        record of another name.

    Warns
    -----
    PluginWarning
        If a plugin offers a system under a name of edgeopt's own.

    Examples
    --------
    >>> from edgeopt.studies import find_system
    >>> find_system("rescue").title
    'RESCUE: model retraining on the leftover capacity of edge servers'
    """
    offered = [point for point in _offered(registry.SYSTEMS) if point.name == name]
    own = registry.built_in(registry.SYSTEMS).get(name)
    if own is not None:
        for point in offered:
            plugins.leave_out(plugins.refusal(point, f"the name {name} is taken by edgeopt"))
        built_in: System = own.load()
        return built_in
    if not offered:
        raise OptionError(f"system {name!r} is unknown; {_hint(name, systems())}")
    record = plugins.load(point := plugins.only(offered), System)
    if record.name != name:
        raise plugins.refusal(point, f"the record calls itself {record.name!r}; use one name")
    return record


def system_of(instance: object) -> System:
    """Return the system whose instances are of the type of `instance`."""
    classes = {f"{one.__module__}:{one.__qualname__}" for one in type(instance).__mro__}
    for name, point in registry.built_in(registry.INSTANCES).items():
        if point.value in classes:
            built_in: System = registry.built_in(registry.SYSTEMS)[name].load()
            return built_in
    for name in systems():
        if name in registry.built_in(registry.SYSTEMS):
            continue
        try:
            record = find_system(name)
        except OptionError as error:
            plugins.leave_out(error)
            continue
        if isinstance(instance, record.instances.kind):
            return record
    raise OptionError(
        f"no system has instances of type {type(instance).__name__}; pass system= or an instance "
        f"of {', '.join(systems())}"
    )


def policies(record: System) -> tuple[PolicyEntry, ...]:
    """Return the policies of a system, its own first, then those of plugins."""
    known, refused = _known(record)
    for why in refused.values():
        plugins.leave_out(why)
    return known


def _known(record: System) -> tuple[tuple[PolicyEntry, ...], Mapping[str, OptionError]]:
    """Return all policies, and the reasons why others are left out, by entry point."""
    table = {entry.name: entry for entry in record.policies.entries}
    refused: dict[str, OptionError] = {}
    for point in _offered(registry.POLICIES):
        try:
            entry = plugins.load(point, PolicyEntry)
            _require_sound(point, entry)
        except OptionError as why:
            refused[point.name] = why
            continue
        if entry.system != record.name:
            continue
        if entry.name in table:
            refused[point.name] = plugins.refusal(point, f"the policy name {entry.name!r} is taken")
        else:
            table[entry.name] = entry
    return tuple(table.values()), refused


def _require_sound(point: EntryPoint, entry: PolicyEntry) -> None:
    if not entry.system:
        raise plugins.refusal(point, "does not say which system it is for; set system=")
    if entry.system not in systems():
        raise plugins.refusal(
            point, f"is for the system {entry.system!r}; {_hint(entry.system, systems())}"
        )


def listed(wanted: Any) -> list[Any] | None:
    """Return what is to be chosen as a list, which one alone need not be; None stays None."""
    if wanted is None:
        return None
    # A policy may be a tuple of its options.
    alone = isinstance(wanted, str | Plan) or hasattr(wanted, "decide")
    return list(wanted) if isinstance(wanted, Iterable) and not alone else [wanted]


def choose(record: System, wanted: Any = None) -> tuple[PolicyEntry, ...]:
    """Resolve names, patterns, learned policies and objects to entries, in their order."""
    known, refused = _known(record)
    wanted = listed(wanted)
    for name, why in refused.items():
        if wanted is not None and name in wanted and name not in {entry.name for entry in known}:
            raise why
        plugins.leave_out(why)
    if wanted is None:
        return tuple(entry for entry in known if entry.default)
    chosen: dict[str, PolicyEntry] = {}
    for one in wanted:
        if isinstance(one, str):
            pattern = "*" if one == ALL else one
            found: Sequence[PolicyEntry] = [
                entry for entry in known if fnmatch.fnmatchcase(entry.name, pattern)
            ]
            if not found and is_learned(one):
                found = [learned_entry(record, one)]
            if not found:
                raise OptionError(
                    f"policy {one!r} is unknown to {record.name}; "
                    f"{_hint(one, [entry.name for entry in known])}"
                )
        else:
            one = one.policy() if isinstance(one, Plan) else one
            found = [one if isinstance(one, PolicyEntry) else _entry(record, one, chosen)]
        for entry in found:
            chosen.setdefault(entry.name, entry)
    if not chosen:
        raise OptionError("policies: must not be empty; leave it out to compare all")
    titles = Counter(entry.title for entry in chosen.values())
    # Two policies of one title would be told apart nowhere.
    return tuple(
        entry if titles[entry.title] == 1 else replace(entry, group=f"{entry.group}, {entry.name}")
        for entry in chosen.values()
    )


def _entry(record: System, policy: Any, taken: Iterable[str]) -> PolicyEntry:
    """Return an entry for a policy without one; a name in use gets a number."""
    require_parts(policy)
    title = policy.name or type(policy).__name__
    name, count = title, 2
    while name in set(taken) | {entry.name for entry in record.policies.entries}:
        name, count = f"{title} ({count})", count + 1
    knows = getattr(policy, "hindsight", False) is True
    kind: Literal["causal", "hindsight"] = "hindsight" if knows else "causal"
    return PolicyEntry(name, name, partial(given, policy), kind=kind)


def _hint(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=2)
    choices = f"choose from {', '.join(known)}"
    return f"did you mean {' or '.join(near)}? {choices}" if near else choices
