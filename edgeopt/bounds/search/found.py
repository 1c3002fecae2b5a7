"""What a search has found, and the file that keeps it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from edgeopt.bounds.search.space import named_space, reachable
from edgeopt.errors import InstanceError
from edgeopt.reading import content_of
from edgeopt.representation import compact_repr
from edgeopt.writing import write_file
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from edgeopt.bounds.search.moves import Evaluations
    from edgeopt.bounds.search.space import ParameterSpace, Point
    from edgeopt.bounds.verdict import Verdict

__all__ = ["Found", "rebuild"]

_KIND = "edgeopt.found"


@in_html
@compact_repr
@dataclass(frozen=True, eq=False)
class Found:
    """The instance that leaves a claim the least slack, of those checked.

    Attributes
    ----------
    verdict
        What the claim says of it.
    instance
        The instance.
    parameters
        The numbers that it was built from.
    space
        Where it was found.
    relative_slack
        Slack relative to the larger of the two numbers compared.
    evaluations
        Number of instances that were checked.

    Examples
    --------
    >>> from types import SimpleNamespace as Point
    >>> from edgeopt.bounds import Claim, Measurement, Relation, Source
    >>> from edgeopt.bounds.search import Parameter, ParameterSpace, search
    >>> claim = Claim(
    ...     id="mine.square", statement="x^2 >= 0.25", source=Source("mine", "1"),
    ...     measure=lambda point: Measurement(point.x**2, 0.25), relation=Relation.AT_LEAST,
    ...     instance_type=Point, test_instances={"one": lambda: Point(x=1.0)},
    ... )
    >>> x = Parameter("x", 0.0, 1.0)
    >>> space = ParameterSpace("line", (x,), lambda numbers: Point(**numbers))
    >>> found = search(claim, space, budget=20)
    >>> found.verdict.verdict.value, found.instance, found.relative_slack
    ('violated', namespace(x=0.0), -1.0)
    """

    verdict: Verdict
    instance: Any
    parameters: Mapping[str, Any]
    space: ParameterSpace
    relative_slack: float
    evaluations: int

    @classmethod
    def at(cls, evaluations: Evaluations, point: Point, checked: int) -> Found:
        """Return what was found at a point, one of so many that were checked."""
        space, slack = evaluations.space, evaluations.slack(point)
        numbers = space.named(point)
        verdict = evaluations.verdicts[point]
        assert verdict is not None
        named = replace(verdict, instance=_named(space, numbers))
        return cls(named, space.build(numbers), numbers, space, slack, checked)

    @property
    def name(self) -> str:
        """Name of the parameter space, and the numbers."""
        return self.verdict.instance

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the instance to a file.

        An instance that can save itself does so, with its name in the sentences on its origin if it
        has any. Of another one the parameter space and the numbers are kept, from which `rebuild`
        builds it again.

        Raises
        ------
        OutputError
            If the file cannot be written, or something else than a regular file stands there.
        """
        if not callable(getattr(self.instance, "save", None)):
            spec = {"kind": _KIND, "claim": self.verdict.claim, "space": self.space.name}
            text = json.dumps({**spec, "parameters": dict(self.parameters)}, indent=2)
            write_file(path, text + "\n")
            return
        instance = self.instance
        if hasattr(instance, "origin"):
            said = f"Found by a search for the least slack of {self.verdict.claim}: {self.name}."
            instance = instance.replace(origin=said)
        instance.save(path)


def rebuild(path: str | os.PathLike[str], space: ParameterSpace | None = None) -> Any:
    """Build the instance again whose parameter space and numbers `Found.save` has written.

    Parameters
    ----------
    path
        The file.
    space
        Its parameter space, if it is none of those that `spaces` lists.

    Returns
    -------
    object
        The instance.

    Raises
    ------
    InstanceError
        If the file is missing or was not written by `Found.save`.
    OptionError
        If the parameter space is unknown.

    Examples
    --------
    >>> import tempfile
    >>> from types import SimpleNamespace as Point
    >>> from edgeopt.bounds import Claim, Measurement, Relation, Source
    >>> from edgeopt.bounds.search import Parameter, ParameterSpace, rebuild, search
    >>> claim = Claim(
    ...     id="mine.square", statement="x^2 >= 0.25", source=Source("mine", "1"),
    ...     measure=lambda point: Measurement(point.x**2, 0.25), relation=Relation.AT_LEAST,
    ...     instance_type=Point, test_instances={"one": lambda: Point(x=1.0)},
    ... )
    >>> x = Parameter("x", 0.0, 1.0)
    >>> space = ParameterSpace("line", (x,), lambda numbers: Point(**numbers))
    >>> found = search(claim, space, budget=20)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found.save(f"{folder}/found.json")
    ...     print(rebuild(f"{folder}/found.json", space) == found.instance)
    ...
    True
    """
    try:
        spec = json.loads(content_of(path).decode())
        kinds = {"claim": str, "space": str, "parameters": dict}
        if spec["kind"] != _KIND or not all(isinstance(spec[n], k) for n, k in kinds.items()):
            raise ValueError
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise InstanceError("file", "was not written by Found.save", value=path) from None
    if space is None:
        space = named_space(spec["space"], reachable(spec["claim"]), "is unknown; known")
    wanted = {parameter.name for parameter in space.parameters}
    if set(spec["parameters"]) != wanted:
        raise InstanceError("parameters", f"must be {', '.join(sorted(wanted))}", value=path)
    return space.build(spec["parameters"])


def _named(space: ParameterSpace, numbers: Mapping[str, Any]) -> str:
    listed = ", ".join(
        f"{name}={value:.6g}" if math.isfinite(value) else f"{name}={value}"
        for name, value in numbers.items()
    )
    return f"{space.name}({listed})"
