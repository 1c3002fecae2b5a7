"""What the claims of one paper share: their form, named instances, and work that is done once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial, wraps
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numpy as np

from edgeopt.bounds.claim import Claim, Measured, NotApplicableError
from edgeopt.bounds.search.space import Parameter, ParameterSpace
from edgeopt.bounds.verdict import Relation, Source
from edgeopt.errors import OptionError
from edgeopt_papers.claims.errata import Erratum
from edgeopt_papers.claims.tightest import found_instances
from edgeopt_papers.texts import texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


Method = TypeVar("Method", bound="Callable[..., Any]")

EXACT: Final = 1e-9
"""Relative tolerance of identities and inequalities that solve no program."""

SOLVED: Final = 1e-6
"""Relative tolerance where linear programs are solved."""


def memoised(method: Method) -> Method:
    """Keep on the object what a method returns, by its arguments, or that it cannot be applied.

    The claims of a system read an instance through one object, so that none repeats the work of
    another. What takes no arguments is a `functools.cached_property` of it.
    """

    @wraps(method)
    def cached(view: Any, *args: Any, **options: Any) -> Any:
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

    return cast("Method", cached)


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

Instances = NamedInstances | Callable[..., Any]
"""Named instances, or the function of a single one that takes no arguments."""


def named_instance(build: Callable[..., Any], *args: Any, **options: Any) -> NamedInstances:
    """Return a single named instance."""
    text = ", ".join([*map(str, args), *(f"{name}={value}" for name, value in options.items())])
    return {f"{build.__name__}({text})": cached_builder(build, *args, **options)}


def named_instances(
    build: Callable[..., Any], first: Iterable[Any], *args: Any, **options: Any
) -> NamedInstances:
    """Return a named instance for each value of the first argument, such as a seed."""
    found: NamedInstances = {}
    for value in first:
        found |= named_instance(build, value, *args, **options)
    return found


@cache
def cached_builder(build: Callable[..., Any], *args: Any, **options: Any) -> Callable[[], Any]:
    """Return a builder that builds once: claims recognise a shared instance by its builder."""
    return cache(partial(build, *args, **options))


def space(
    name: str, instance_type: type, *parameters: Parameter
) -> Callable[[Callable[[Mapping[str, Any]], Any]], ParameterSpace]:
    """Make a parameter space of a function that builds an instance from the numbers of a point."""
    return lambda build: ParameterSpace(name, parameters, Builder(build), instance_type)


@dataclass(frozen=True)
class Builder:
    """A function whose name in its module is that of the space made of it: pickled by that name."""

    build: Callable[[Mapping[str, Any]], Any]

    def __call__(self, numbers: Mapping[str, Any]) -> Any:
        """Build an instance from the numbers of a point."""
        return self.build(numbers)

    def __reduce__(self) -> Any:
        return _builder_of, (self.build.__module__, self.build.__name__)


def _builder_of(module: str, name: str) -> Any:
    """Return what builds the instances of the space of that name."""
    return getattr(import_module(module), name).build


def collected(*parts: Iterable[Claim]) -> tuple[Claim, ...]:
    """Return the claims of all parts of a paper, in their order; one listed twice is an error."""
    found: dict[str, Claim] = {}
    for claim in chain.from_iterable(parts):
        if claim.id in found:
            raise OptionError(f"claim {claim.id} is listed twice; list it once")
        found[claim.id] = claim
    return tuple(found.values())


class Paper:
    """A paper: its words, and the fields of `Claim` that most of its claims share.

    What it claims and what it prints wrong is written down in two files of its package, by
    identifier: `statements.toml` and `errata.toml`.
    """

    def __init__(self, system: str, **defaults: Any) -> None:
        self.system = system
        self._defaults = defaults
        module = str(Path(__file__).parents[1] / system / "claims" / "__init__.py")
        self.statements, self.errata = texts(module, "statements"), texts(module, "errata")

    def _words(self, texts: Mapping[str, Any], id: str) -> dict[str, Any]:
        """Return the fields that have the same meaning in both files, and the other texts."""
        words = dict(texts[id])
        source = Source(self.statements["paper"], words.pop("number"))
        relation = Relation(words.pop("relation", Relation.EQUAL))
        return {"id": f"{self.system}.{id}", "source": source, "relation": relation, **words}

    def claim(
        self,
        id: str,
        measure: Callable[[Any], Measured],
        instances: Instances | tuple[Instances, ...],
        **rest: Any,
    ) -> Claim:
        """Build a claim from its words, and from what is measured on which instances."""
        parts = instances if isinstance(instances, tuple) else (instances,)
        parts = (*parts, found_instances(f"{self.system}.{id}"))
        named: NamedInstances = {}
        for part in parts:
            for name, build in (named_instance(part) if callable(part) else part).items():
                if named.setdefault(name, build) is not build:
                    raise OptionError(f"claim {id}: two named instances are called {name}")
        fields = {**self._words(self.statements, id), **self._defaults, **rest}
        return Claim(measure=measure, test_instances=named, **fields)

    def erratum(
        self, id: str, published: float, corrected: float, true: float, **rest: Any
    ) -> Erratum:
        """Build an erratum from its words, and from its printed, corrected and true value."""
        return Erratum(
            **self._words(self.errata, id),
            published_value=published,
            corrected_value=corrected,
            true_value=true,
            **rest,
        )
