"""Checks of a function's options by their annotations."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from functools import cache, partial, wraps
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, cast, get_args, get_origin

import numpy as np

from edgeopt.options import (
    check_choice,
    check_flag,
    check_real,
    check_text,
    check_whole,
    generator,
)

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_SPANS: Final = {"gap": "(0, inf]", "time_limit": "[0, inf]", "confidence": "(0, 1)"}
"""Intervals of options that many functions have."""


def checked(**spans: str | int) -> Callable[[FunctionT], FunctionT]:
    """Check the options of a function by their annotations whenever it is called.

    Flags, whole and real numbers, texts and choices are checked; ``rng`` has to be a seed or a
    generator. Other annotations are left to the function.
    """

    def decorate(function: FunctionT) -> FunctionT:
        known = spans | {name: span for name, span in _SPANS.items() if name not in spans}

        @cache
        def checks() -> dict[str, Callable[[str, object], object]]:
            # At the first call, since names may be defined below the function.
            found: dict[str, Callable[[str, object], object]] = {}
            for name, parameter in inspect.signature(function).parameters.items():
                if name == "rng":
                    found[name] = _check_generator
                    continue
                with contextlib.suppress(NameError):  # of names for type checkers alone
                    kind = eval(str(parameter.annotation), function.__globals__)
                    if check := _check_of(kind, known.get(name)):
                        found[name] = check
            return found

        names = tuple(inspect.signature(function).parameters)

        @wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            found = checks()
            for name, value in (*zip(names, args, strict=False), *named.items()):
                if name in found:
                    found[name](name, value)
            return function(*args, **named)

        return cast("FunctionT", call)

    return decorate


def _check_generator(name: str, value: object) -> None:
    generator(value)


def _check_of(annotation: Any, span: str | int | None) -> Callable[[str, object], object] | None:
    """Return the check of an option by its name and value, None where it is left alone."""
    union = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    kinds, none = [kind for kind in union if kind is not NoneType], NoneType in union
    if len(kinds) != 1:
        return None
    [kind] = kinds
    if kind is np.random.Generator:
        check: Callable[[str, object], object] = _check_generator
    elif get_origin(kind) is Literal:
        check = partial(check_choice, known=get_args(kind), otherwise="None" if none else "")
    elif kind is int:
        check = partial(check_whole, least=span if isinstance(span, int) else 0, none=none)
    elif kind is float:
        check = partial(check_real, span=str(span or "(-inf, inf)"), none=none)
    elif kind in (bool, str):
        check = check_flag if kind is bool else check_text
    else:
        return None
    return _unless_none(check) if none else check


def _unless_none(check: Callable[[str, object], object]) -> Callable[[str, object], object]:
    return lambda name, value: None if value is None else check(name, value)
