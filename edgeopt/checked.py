"""Checks of a function's options by their annotations."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from functools import cache, wraps
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
        def rules() -> dict[str, tuple[tuple[Any, ...], bool]]:
            # At the first call, since names may be defined below the function.
            found = {}
            for name, parameter in inspect.signature(function).parameters.items():
                if name == "rng":
                    found[name] = ((np.random.Generator,), False)
                    continue
                with contextlib.suppress(NameError):  # of names for type checkers alone
                    kind = eval(str(parameter.annotation), function.__globals__)
                    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
                    found[name] = tuple(k for k in kinds if k is not NoneType), NoneType in kinds
            return found

        names = tuple(inspect.signature(function).parameters)

        @wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            for name, value in (*zip(names, args, strict=False), *named.items()):
                if name in rules():
                    _check_kinds(name, value, *rules()[name], known.get(name))
            return function(*args, **named)

        return cast("FunctionT", call)

    return decorate


def _check_kinds(
    name: str, value: object, kinds: tuple[Any, ...], none: bool, span: str | int | None
) -> None:
    if (none and value is None) or len(kinds) != 1:
        return
    if get_origin(kinds[0]) is Literal:
        check_choice(name, value, get_args(kinds[0]), otherwise="None" if none else "")
    elif kinds[0] is np.random.Generator:
        generator(value)
    elif kinds[0] is bool:
        check_flag(name, value)
    elif kinds[0] is int:
        check_whole(name, value, span if isinstance(span, int) else 0, none=none)
    elif kinds[0] is float:
        check_real(name, value, str(span or "(-inf, inf)"), none=none)
    elif kinds[0] is str:
        check_text(name, value)
