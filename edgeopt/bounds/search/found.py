"""What a search has found, and the file that keeps it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeopt.bounds.search.registry import families
from edgeopt.errors import InstanceError, OptionError
from edgeopt.writing import write_file

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from edgeopt.bounds.search.family import Family, Point
    from edgeopt.bounds.search.moves import Looker
    from edgeopt.bounds.verdict import Verdict

__all__ = ["Found", "rebuild"]

_KIND = "edgeopt.found"


@dataclass(frozen=True, eq=False)
class Found:
    """The instance that leaves a claim the least room, of those looked at.

    Attributes
    ----------
    verdict
        What the claim says of it.
    instance
        The instance.
    parameters
        The numbers that it was built from.
    family
        Where it was found.
    slack
        Slack relative to the larger of the two numbers compared.
    looked
        Number of instances that were checked.
    """

    verdict: Verdict
    instance: Any
    parameters: Mapping[str, Any]
    family: Family
    slack: float
    looked: int

    @classmethod
    def at(cls, looker: Looker, point: Point, looked: int) -> Found:
        """Return the find at a point that was looked at, one of so many."""
        family, slack = looker.family, looker.slack(point)
        numbers = family.named(point)
        verdict = looker.verdicts[point]
        assert verdict is not None
        named = replace(verdict, instance=_named(family, numbers))
        return cls(named, family.build(numbers), numbers, family, slack, looked)

    @property
    def name(self) -> str:
        """Name of the family, and the numbers."""
        return self.verdict.instance

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the instance to a file.

        An instance that can save itself does so, with its name in the sentences on its origin if it
        has any. Of another one the family and the numbers are kept, from which `rebuild` builds it
        again.

        Raises
        ------
        OutputError
            If the file cannot be written, or something else than a regular file stands there.
        """
        if not callable(getattr(self.instance, "save", None)):
            recipe = {"kind": _KIND, "claim": self.verdict.claim, "family": self.family.name}
            text = json.dumps({**recipe, "parameters": dict(self.parameters)}, indent=2)
            write_file(path, text + "\n")
            return
        instance = self.instance
        if hasattr(instance, "origin"):
            said = f"Found by a search for the least slack of {self.verdict.claim}: {self.name}."
            instance = instance.replace(origin=said)
        instance.save(path)


def rebuild(path: str | os.PathLike[str], family: Family | None = None) -> Any:
    """Build the instance again whose family and numbers `Found.save` has written.

    Parameters
    ----------
    path
        The file.
    family
        Its family, if it is none of those that `families` lists.

    Returns
    -------
    object
        The instance.

    Raises
    ------
    InstanceError
        If the file is missing or was not written by `Found.save`.
    OptionError
        If the family is unknown.
    """
    try:
        recipe = json.loads(Path(path).read_text(encoding="utf-8"))
        names = {"claim", "family", "parameters"}
        if recipe["kind"] != _KIND or not names <= set(recipe):
            raise ValueError
    except (OSError, ValueError, TypeError, KeyError):
        raise InstanceError("file", "is no find that was kept by its numbers", value=path) from None
    if family is None:
        known = families(recipe["claim"].partition(".")[0])
        if recipe["family"] not in known:
            raise OptionError(f"family {recipe['family']!r} is unknown; known: {', '.join(known)}")
        family = known[recipe["family"]]
    wanted = {parameter.name for parameter in family.parameters}
    if set(recipe["parameters"]) != wanted:
        raise InstanceError("parameters", f"must be {', '.join(sorted(wanted))}", value=path)
    return family.build(recipe["parameters"])


def _named(family: Family, numbers: Mapping[str, Any]) -> str:
    listed = ", ".join(
        f"{name}={value:.6g}" if math.isfinite(value) else f"{name}={value}"
        for name, value in numbers.items()
    )
    return f"{family.name}({listed})"
