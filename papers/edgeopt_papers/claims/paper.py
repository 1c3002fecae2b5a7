"""What the claims of one paper share: their form, named instances, and work that is done once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial, wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numpy as np

from edgeopt.bounds.claim import Claim, Measured, NotApplicableError
from edgeopt.bounds.verdict import Relation, Source
from edgeopt_papers.claims.errata import Erratum

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


Method = TypeVar("Method", bound="Callable[..., Any]")

EXACT: Final = 1e-9
"""Relative tolerance of identities and inequalities that solve no program."""

SOLVED: Final = 1e-6
"""Relative tolerance where linear programs are solved."""


def once(method: Method) -> Method:
    """Keep on the object what a method returns by its arguments, or that it cannot be applied.

    The claims of a system read an instance through one object, so that none repeats the work of
    another. What takes no arguments is a `functools.cached_property` of it.
    """

    @wraps(method)
    def kept(view: Any, *args: Any, **options: Any) -> Any:
        known: dict[Any, Any] = view.__dict__.setdefault("_known", {})
        key = method.__name__, args, *sorted(options.items())
        if key not in known:
            try:
                known[key] = method(view, *args, **options)
            except NotApplicableError as why:
                known[key] = why
        if isinstance(known[key], NotApplicableError):
            raise known[key]
        return known[key]

    return cast("Method", kept)


def hashed(*parts: str | NDArray[Any]) -> str:
    """Return a fingerprint of texts and arrays."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            digest.update(part.encode())
        else:
            digest.update(np.ascontiguousarray(part, dtype=float).tobytes())
    return digest.hexdigest()[:16]


NamedInstances = dict[str, Callable[[], Any]]
"""Builders of instances, by the call that builds each."""


def one(build: Callable[..., Any], *args: Any, **options: Any) -> NamedInstances:
    """Return a single named instance."""
    text = ", ".join([*map(str, args), *(f"{name}={value}" for name, value in options.items())])
    return {f"{build.__name__}({text})": kept(build, *args, **options)}


def each(
    build: Callable[..., Any], first: Iterable[Any], *args: Any, **options: Any
) -> NamedInstances:
    """Return a named instance for each value of the first argument, such as a seed."""
    found: NamedInstances = {}
    for value in first:
        found |= one(build, value, *args, **options)
    return found


@cache
def kept(build: Callable[..., Any], *args: Any, **options: Any) -> Callable[[], Any]:
    """Return a builder that builds once: claims recognise a shared instance by its builder."""
    return cache(partial(build, *args, **options))


@dataclass(frozen=True)
class Paper:
    """System and title of a paper, and the fields of `Claim` that most of its claims share."""

    system: str
    title: str
    defaults: Mapping[str, Any]

    def claim(
        self,
        id: str,
        statement: str,
        number: str,
        measure: Callable[[Any], Measured],
        relation: Relation,
        test_instances: Mapping[str, Callable[[], Any]],
        **rest: Any,
    ) -> Claim:
        """Build a claim."""
        fields: dict[str, Any] = {**self.defaults, **rest}
        return Claim(
            id=f"{self.system}.{id}",
            statement=statement,
            source=Source(self.title, number),
            measure=measure,
            relation=relation,
            test_instances=test_instances,
            **fields,
        )

    def erratum(
        self,
        id: str,
        number: str,
        published: str,
        corrected: str,
        why: str,
        example: str,
        values: tuple[float, float, float],
        relation: Relation = Relation.EQUAL,
    ) -> Erratum:
        """Build an erratum from its printed, corrected and true value."""
        return Erratum(
            id=f"{self.system}.{id}",
            source=Source(self.title, number),
            published=published,
            corrected=corrected,
            why=why,
            example=example,
            published_value=values[0],
            corrected_value=values[1],
            true_value=values[2],
            relation=relation,
        )
