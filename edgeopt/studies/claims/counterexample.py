"""Instances that refute a claim: found, or the smallest known one, with its numbers written out."""

from __future__ import annotations

import functools
import inspect
import re
import time
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.bounds.registry import check, claims
from edgeopt.bounds.verdict import Finding
from edgeopt.errors import OptionError
from edgeopt.representation import compact_repr
from edgeopt.studies.live import live_of
from edgeopt.studies.pages.rendering import in_text
from edgeopt.studies.wording import duration, number, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from edgeopt.bounds import Claim, Verdict
    from edgeopt.studies.system import System

FEW: Final = 40
"""Most numbers of an array that are written one by one."""

SAME: Final = 6
"""Most equal numbers of an array that are written one by one."""

_SILENT: Final = ("origin", "provenance")
"""Fields that hold words about the data instead of data."""


def size(instance: Any) -> int:
    """Return how many numbers an instance is made of, those of its parts included."""
    return sum(_count(value) for _, value in _leaves(instance))


def numbers(instance: Any) -> list[tuple[str, str]]:
    """Write out an instance field by field."""
    found = [(name, _content(value)) for name, value in _leaves(instance)]
    last = [name.rpartition(".")[2] for name, _ in found]
    # The part that a number belongs to is named where that tells numbers apart.
    return [
        (short if last.count(short) == 1 else name, content)
        for short, (name, content) in zip(last, found, strict=True)
    ]


def words(build: Callable[[], Any]) -> str:
    """Return what the docstring of a builder says, without its sections; empty if there is none."""
    inner: Any = build
    while True:
        if isinstance(inner, functools.partial):
            inner = inner.func
        elif hasattr(inner, "__wrapped__"):
            inner = inner.__wrapped__
        else:
            break
    if getattr(inner, "__name__", "") == "<lambda>":
        return ""
    said = inspect.getdoc(inner) or ""
    said = re.split(r"\n[A-Z][A-Za-z ]+\n-{3,}", said)[0]
    said = re.sub(r":math:`([^`]*)`", lambda found: in_text(f"${found[1]}$"), said)
    said = re.sub(r":[a-z:]+:`~?([^`]*)`", r"\1", said).replace("`", "")
    said = re.sub(r"^Return (\w)", lambda found: found[1].upper(), said.strip())
    return "\n\n".join(" ".join(part.split()) for part in said.split("\n\n"))


def _leaves(instance: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if not is_dataclass(instance):
        yield path or type(instance).__name__, instance
        return
    for field in fields(instance):
        value = getattr(instance, field.name)
        name = f"{path}.{field.name}" if path else field.name
        if field.name.startswith("_") or field.name in _SILENT or value is None:
            continue
        if is_dataclass(value) and not isinstance(value, type):
            yield from _leaves(value, name)
        elif value != "" if isinstance(value, str) else _count(value) > 0:
            yield name, value


def _count(value: Any) -> int:
    if isinstance(value, list | tuple):
        return sum(map(_count, value))
    if is_dataclass(value):
        return size(value)
    return value.size if isinstance(value, np.ndarray) else 1


def _content(value: Any) -> str:
    if isinstance(value, list | tuple):
        several = [_content(one) for one in value]
        if len(several) > FEW:
            return f"{len(several)} entries"
        return f"[{', '.join(several)}]"
    if is_dataclass(value):
        return "(" + ", ".join(f"{name} {_content(one)}" for name, one in _leaves(value)) + ")"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float | np.number):
        return digits(value.item() if isinstance(value, np.number) else value)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
        return str(value)
    array = value.astype(int) if value.dtype.kind == "b" else value
    shape = " \N{MULTIPLICATION SIGN} ".join(map(str, array.shape))
    low, high = array.min(), array.max()
    if low == high and array.size > SAME:
        return f"{shape}, all {digits(low.item())}"
    if array.size <= FEW:
        return _nested(array.tolist())
    return f"{shape}, from {digits(low.item())} to {digits(high.item())}"


def _nested(values: Any) -> str:
    if isinstance(values, list):
        return f"[{', '.join(map(_nested, values))}]"
    return digits(values)


def digits(value: float) -> str:
    """Write a number with at most six digits, without zeros at its end: ``0.5``, ``-3``."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e7:
        value = int(value)
    text = number(value, 6)
    return text.rstrip("0").rstrip(".") if "." in text and "·" not in text else text


@dataclass(frozen=True)
class Refutation:
    """The smallest named instance that refutes a claim.

    The verdict, the description of the instance in paragraphs, its fields as :func:`numbers` writes
    them, and how many numbers it has.
    """

    verdict: Verdict
    words: str
    numbers: tuple[tuple[str, str], ...]
    size: int


def refutation(
    claim: Claim, named: Iterable[Verdict], drawn: Iterable[Verdict] = ()
) -> Refutation | None:
    """Return the smallest named instance that violates a claim."""
    found = [one for one in named if one.verdict is Finding.VIOLATED]
    if not found:
        others = (one for one in drawn if one.verdict is Finding.VIOLATED)
        return next((Refutation(one, "A drawn instance.", (), 0) for one in others), None)

    def order(verdict: Verdict) -> tuple[int, bool]:
        return size(
            claim.test_instances[verdict.instance]()
        ), verdict.instance != claim.counterexample

    smallest = min(found, key=order)
    build = claim.test_instances[smallest.instance]
    instance = build()
    said = words(build) or words(type(instance)).partition("\n\n")[0]
    return Refutation(smallest, said, tuple(numbers(instance)), size(instance))


@compact_repr
class Hunted(NamedTuple):
    """A counterexample to a published claim, and where it comes from."""

    text: str
    verdict: Any
    found: bool


SECONDS: Final = 10.0
"""Longest search of the page."""


class _TimeIsUpError(Exception):
    pass


def hunt(
    record: System,
    rng: int = 0,
    seconds: float = SECONDS,
    ended: Callable[[], bool] = lambda: False,
) -> Hunted:
    """Search for an instance on which a published claim fails, else take the known one.

    The search is given up after so many seconds, or once `ended` is true, which is asked at every
    instance; a sentence says whether it has found one.
    """
    from edgeopt.bounds.search import search

    name = live_of(record).claim
    [claim] = claims(name).values()
    began = time.perf_counter()

    def step(_: str) -> None:
        if ended() or time.perf_counter() - began > seconds:
            raise _TimeIsUpError

    verdict = None
    try:
        result = search(claim, rng=rng, step=step)
    except (_TimeIsUpError, OptionError):
        spent = min(seconds, time.perf_counter() - began)
        how = f"Nothing was found within {duration(spent)}; this is the known instance"
    else:
        checked = plural(result.evaluations, "instance")
        if result.verdict.verdict == "violated":
            verdict = result.verdict
            how = f"Found just now, after {checked}"
        else:
            how = f"{checked} violate nothing; this is the known instance"
    found = verdict is not None
    if verdict is None:
        [verdict] = check(name)
    text = (
        f"{claim.id} ({claim.source.number}): {in_text(claim.statement)} {how}: "
        f"{verdict.instance}; measured {number(verdict.measured)}, published: "
        f"{claim.relation.value} {number(verdict.guaranteed)}."
    )
    return Hunted(text, verdict, found)
