"""What a shell offers to complete a command: systems, policies, claims, sources.

A shell shows whatever is printed, so that nothing is said here: where nothing fits, or nothing can
be loaded, nothing is offered.
"""

import os
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from edgeopt.errors import EdgeOptError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from edgeopt.studies import System

REQUESTS = ("--install-completion", "--show-completion")
"""Options after which the program is left at once."""


def asked_for(arguments: "Sequence[str]") -> bool:
    """Return whether a shell asks for completions, or a user to have them installed."""
    return "_EDGEOPT_COMPLETE" in os.environ or any(one in REQUESTS for one in arguments)


def systems(incomplete: str) -> list[str]:
    """Return the names of systems."""
    from edgeopt.studies import systems as known

    return _fitting(known, incomplete)


def sources(incomplete: str) -> list[str]:
    """Return sources and named instances of the system typed; a shell completes names of files."""

    def known() -> "Iterable[str]":
        from edgeopt.collection.entries import rows

        record = _record()
        named = [name for name, row in rows().items() if row["system"] == record.name]
        return [*record.instances.sources, *named]

    return _fitting(known, incomplete)


def actions(incomplete: str) -> list[str]:
    """Return what can be done with the collection."""
    return _fitting(lambda: ("list", "show", "verify"), incomplete)


def collected(incomplete: str) -> list[str]:
    """Return the named instances of the collection."""
    from edgeopt.collection import names

    return _fitting(names, incomplete)


def tutorials(incomplete: str) -> list[str]:
    """Return the numbers of tutorials."""
    from edgeopt.tutorials import NAMES

    return _fitting(lambda: range(1, len(NAMES) + 1), incomplete)


def policies(incomplete: str) -> list[str]:
    """Return policies of the system already typed, after those that are listed before a comma."""
    before, comma, last = incomplete.rpartition(",")
    listed = before.split(",")
    return [
        f"{before}{comma}{name}"
        for name in _fitting(lambda: _policies(_record()), last)
        if name not in listed
    ]


def policy(incomplete: str) -> list[str]:
    """Return policies of the system already typed."""
    return _fitting(lambda: _policies(_record()), incomplete)


def claims(incomplete: str) -> list[str]:
    """Return systems, or the claims of the only one that fits: others need not be loaded."""

    def known() -> "Iterable[str]":
        from edgeopt.bounds import claims as all_claims
        from edgeopt.studies import systems as all_systems

        head, dot, _ = incomplete.partition(".")
        fit = [
            name for name in all_systems() if name == head or (not dot and name.startswith(head))
        ]
        return all_claims(fit[0]) if len(fit) == 1 else fit

    return _fitting(known, incomplete)


def spaces(incomplete: str) -> list[str]:
    """Return the parameter spaces that fit the claim already typed."""

    def known() -> "Iterable[str]":
        from edgeopt.bounds.search.space import fitting, known_claim

        return [
            space.name
            for space in fitting(known_claim(next(word for word in _typed() if "." in word)))
        ]

    return _fitting(known, incomplete)


def _typed() -> list[str]:
    """Return the words on the line, which a parser does not give while an option has no value."""
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    return line.split()


def _record() -> "System":
    from edgeopt.studies import find_system, systems

    known = systems()
    return find_system(next((word for word in _typed() if word in known), ""))


def _policies(record: "System") -> list[str]:
    learned = ["learned"] if record.learned is not None else []
    return [entry.name for entry in record.policies.entries] + learned


def _fitting(known: "Callable[[], Iterable[Any]]", incomplete: str) -> list[str]:
    with warnings.catch_warnings(), suppress(EdgeOptError, StopIteration):
        warnings.simplefilter("ignore")
        return [name for name in map(str, known()) if name.startswith(incomplete)]
    return []
