"""A cell of a sweep: what identifies it, and what has to be done for it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Cell", "digest"]

Row = dict[str, Any]
"""What a cell comes to: numbers and texts by name."""


@dataclass(frozen=True, eq=False)
class Cell:
    """An independent piece of a sweep.

    Parameters
    ----------
    identity
        What the outcome depends on: fingerprint of the instance, policy and its options, seed,
        runs. Numbers, texts, truth values, None, and lists and mappings of them. These are the
        first columns of the table. The code that it runs belongs to it without being said.
    work
        Function of a module that returns the numbers of the cell by name.
    arguments
        What it is called with; they have to be picklable.
    modules
        Names of modules that the work finds by itself. Those of the work and of what is among the
        arguments are known, and so are edgeopt's own systems that the arguments name.

    Raises
    ------
    OptionError
        If the identity holds something else.
    """

    identity: Mapping[str, Any]
    work: Callable[..., Mapping[str, Any]] = field(repr=False)
    arguments: tuple[Any, ...] = field(default=(), repr=False)
    modules: frozenset[str] = field(default=frozenset(), repr=False)

    def __post_init__(self) -> None:
        try:
            canonical(self.identity)
        except (TypeError, ValueError) as error:
            raise OptionError(f"identity of a cell: {error}") from None

    @property
    def key(self) -> str:
        """Hash of the identity."""
        return digest(dict(self.identity))

    def compute(self) -> Row:
        """Do the work; numbers of NumPy become plain ones."""
        row = self.work(*self.arguments)
        return {name: _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    item = getattr(value, "item", None)
    return value if item is None else item()


def canonical(content: Any) -> str:
    """Write content as JSON in the one way that equal content has."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=True)


def digest(content: Any) -> str:
    """Return a hash of content, the same on every machine."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()
