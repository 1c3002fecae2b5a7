"""Named instances of claims, each built once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

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
