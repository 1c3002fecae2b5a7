"""Named instances of claims, each built once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

ParameterSpace = dict[str, Callable[[], Any]]
"""Builders of instances by what they are called."""


def one(build: Callable[..., Any], *args: Any, **options: Any) -> ParameterSpace:
    """Return a single named instance, called like the call that builds it."""
    text = ", ".join([*map(str, args), *(f"{name}={value}" for name, value in options.items())])
    return {f"{build.__name__}({text})": kept(build, *args, **options)}


@cache
def kept(build: Callable[..., Any], *args: Any, **options: Any) -> Callable[[], Any]:
    """Return a builder that builds once: claims recognise a shared instance by its builder."""
    return cache(partial(build, *args, **options))
