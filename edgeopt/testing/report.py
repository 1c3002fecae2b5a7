"""How checks are described and run, and what they report."""

from __future__ import annotations

import dataclasses
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from edgeopt.errors import EdgeOptError, OptionError
from edgeopt.options import check_flag, check_whole, listed
from edgeopt.representation import compact_repr, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


_PLAIN: Final = (str, int, float, bool, type(None))
"""Values whose `repr` makes them again."""


class Recipe(NamedTuple):
    """How a check was called.

    Parameters
    ----------
    kind
        Which part was checked: ``"policy"``.
    part
        The part itself.
    others
        What stands behind it in the call, such as the name of the system.
    options
        Keywords of the call.
    """

    kind: str
    part: Any
    others: tuple[Any, ...] = ()
    options: Mapping[str, Any] = MappingProxyType({})

    @property
    def subject(self) -> str:
        """Name of the part."""
        return label(self.part)

    def lines(self, check: str, **where: Any) -> str:
        """Return the lines that run one check again."""
        function = f"check_{self.kind}"
        made, *given = (written(one) for one in (self.part, *self.others))
        second = "; ".join(dict.fromkeys(text for one in (made, *given) for text in one.imports))
        arguments = [made.expression, *(one.expression for one in given), f"checks=[{check!r}]"]
        arguments += [f"{name}={value!r}" for name, value in {**self.options, **where}.items()]
        return "\n".join(
            [
                f"from edgeopt.testing import {function}",
                second or f"part = {made.expression}",
                f"{function}({', '.join(arguments)})",
            ]
        )


class Written(NamedTuple):
    """An expression that makes an object, and the imports that it takes."""

    expression: str
    imports: tuple[str, ...] = ()


def label(part: Any) -> str:
    """Return a name for messages and identifiers."""
    if isinstance(part, str):
        return part
    if isinstance(part, partial):
        changes = [written(one).expression for one in part.args]
        changes += [f"{key}={written(value).expression}" for key, value in part.keywords.items()]
        return f"{label(part.func)}({', '.join(changes)})"
    name = getattr(part, "__name__", None) or getattr(part, "name", None)
    return name if isinstance(name, str) and name else type(part).__name__


def written(thing: Any) -> Written:
    """Write how an object is made, as far as a line can say it."""
    if isinstance(thing, _PLAIN):
        return Written(repr(thing))
    if isinstance(thing, tuple | list) and not hasattr(thing, "_fields"):
        inner = [written(one) for one in thing]
        text = ", ".join(one.expression for one in inner)
        text = f"[{text}]" if isinstance(thing, list) else f"({text}{',' * (len(inner) == 1)})"
        return Written(text, tuple(line for one in inner for line in one.imports))
    if isinstance(thing, partial):
        return _call(written(thing.func), thing.args, thing.keywords, wrapped=True)
    if isinstance(thing, type) or hasattr(thing, "__qualname__"):
        return _named(thing)
    kind = type(thing)
    if kind.__module__ == "builtins":
        return _unwritten(thing)
    if (place := _place(thing)) is not None:
        return Written(place[1], (f"from {place[0]} import {place[1]}",))
    maker = _named(kind)
    if dataclasses.is_dataclass(thing):
        changed = {
            one.name: getattr(thing, one.name)
            for one in dataclasses.fields(thing)
            if one.init and not _is_default(kind, one, getattr(thing, one.name))
        }
        return _call(maker, (), changed)
    return _call(maker, (), {}) if not getattr(thing, "__dict__", {}) else _unwritten(thing)


def _place(thing: Any) -> tuple[str, str] | None:
    """Return the module and the name under which an object is kept, if it is."""
    for module, held in list(sys.modules.items()):
        for name, value in list(getattr(held, "__dict__", {}).items()):
            if value is thing and name.isidentifier():
                script = getattr(held, "__file__", None)
                return (Path(script).stem if module == "__main__" and script else module), name
    return None


def _is_default(kind: type, one: dataclasses.Field[Any], value: Any) -> bool:
    if isinstance(getattr(kind, one.name, None), property):  # a subclass works it out
        return True
    if one.default_factory is not dataclasses.MISSING:
        return bool(one.default_factory() == value)
    return value is one.default or (isinstance(value, _PLAIN) and value == one.default)


def _call(maker: Written, given: Any, named: Any, *, wrapped: bool = False) -> Written:
    inner = {key: written(value) for key, value in named.items()}
    first = [written(one) for one in given]
    arguments = [one.expression for one in first]
    arguments += [f"{key}={one.expression}" for key, one in inner.items()]
    imports = [*maker.imports, *(line for one in (*first, *inner.values()) for line in one.imports)]
    if wrapped:
        arguments.insert(0, maker.expression)
        return Written(
            f"partial({', '.join(arguments)})", ("from functools import partial", *imports)
        )
    return Written(f"{maker.expression}({', '.join(arguments)})", tuple(imports))


def _named(thing: Any) -> Written:
    name = getattr(thing, "__qualname__", "<locals>")
    if "<" in name:
        return _unwritten(thing)
    return Written(name, (f"from {_module(thing)} import {name.partition('.')[0]}",))


def _module(thing: Any) -> str:
    """Return the module to import from; a script is its file."""
    module = getattr(thing, "__module__", None) or "__main__"
    script = getattr(sys.modules["__main__"], "__file__", None)
    return Path(script).stem if module == "__main__" and script else module


def _unwritten(thing: Any) -> Written:
    """Name an object that no line can make: whoever runs the lines puts it there."""
    name = label(thing)
    stands = "mine" if not name.isidentifier() else name
    return Written(stands, (f"{stands} = ...  # here the part that was checked",))


PartT = TypeVar("PartT")
Outcome: TypeAlias = Literal["passed", "failed", "skipped", "expected"]

LONGEST: Final = 600
"""Characters of a message that are shown."""


class CheckError(EdgeOptError, AssertionError):
    """A part fails checks; the text lists all of them, each with the lines that reproduce it.

    Parameters
    ----------
    message
        What failed.
    report
        The report of all checks.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.testing import CheckError, check_rounding
    >>> def always_up(y, weights, *, rng):
    ...     return np.ones(y.shape)
    ...
    >>> try:
    ...     check_rounding(always_up, keeps=["marginals"], checks=["marginals"])
    ... except CheckError as error:
    ...     print(error.report.failed)
    ...
    ('marginals',)
    """

    def __init__(self, message: str, report: Report | None = None) -> None:
        self.report = report
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.report)


class BrokenError(Exception):
    """A part breaks a rule; `where` is what reproduces it, besides the name of the check."""

    def __init__(self, message: str, **where: Any) -> None:
        self.where = where
        super().__init__(message)


class SkippedError(Exception):
    """A check does not apply; the text says why."""


@dataclass(frozen=True)
class Result:
    """What one check found.

    Parameters
    ----------
    check
        Its name.
    outcome
        Whether it passed, failed, did not apply, or failed as expected.
    message
        What was wrong, or why it did not apply or was expected to fail.
    example
        The lines of Python that run this check again as it failed.
    seconds
        Time that it took, s.
    """

    check: str
    outcome: Outcome
    message: str = ""
    example: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        lines = [f"{self.check}: {self.message}" if self.message else self.check]
        lines += [f"    {line}" for line in self.example.splitlines()]
        return "\n".join(lines)


@compact_repr
@dataclass(frozen=True)
class Report:
    """What all checks of a part found.

    Parameters
    ----------
    subject
        Name of the part.
    kind
        What it is: ``"policy"``, ``"rounding"``, ``"solver"``, ``"instance"``, ``"environment"`` or
        ``"system"``.
    results
        Name, outcome, message, example and seconds of every check.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.testing import check_instance
    >>> report = check_instance(small(1), checks=["frozen", "saves"])
    >>> print(report)
    OincInstance passes 2 checks of an instance
    """

    subject: str
    kind: str
    results: tuple[Result, ...]

    @property
    def failed(self) -> tuple[str, ...]:
        """Names of the checks that failed."""
        return self.of("failed")

    def of(self, outcome: Outcome) -> tuple[str, ...]:
        """Return the names of the checks with an outcome."""
        return tuple(one.check for one in self.results if one.outcome == outcome)

    def __getitem__(self, check: str) -> Result:
        return next(one for one in self.results if one.check == check)

    def __str__(self) -> str:
        count = counted(len(self.results), "check")
        if not self.failed:
            return f"{self.subject} passes {count} of {_article(self.kind)}"
        failures = [f"- {one}" for one in self.results if one.outcome == "failed"]
        head = f"{self.subject} fails {len(failures)} of {count} of {_article(self.kind)}:"
        return "\n".join([head, *failures])

    def _brief(self) -> Iterator[str]:
        yield f"{self.kind} {self.subject}"
        for outcome in ("passed", "failed", "skipped", "expected"):
            if names := self.of(outcome):
                yield f"{len(names)} {outcome}"

    def _repr_html_(self) -> str:
        """Show all checks as a table."""
        from edgeopt.writing.results import html_table

        rows = [[one.check, one.outcome, one.message] for one in self.results]
        return html_table(f"{self.kind} {self.subject}", ["check", "outcome", "message"], rows)


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def run_checks(
    recipe: Recipe,
    known: Mapping[str, Callable[[PartT], str | None]],
    part: PartT,
    *,
    checks: Any,
    expected: Mapping[str, str] | None,
    raises: bool,
) -> Report:
    """Run checks of a part one after the other, and raise one error for all that fail."""
    check_flag("raises", raises)
    expected = {} if expected is None else dict(expected)
    names = list(known) if checks is None else listed("checks", checks)
    for option, given in (("checks", names), ("expected", expected)):
        for name in given:
            if name not in known:
                there = ", ".join(known)
                raise OptionError(f"{option}: there is no check {name!r}; there are {there}")
    results = tuple(
        _run(recipe, name, partial(known[name], part), expected.get(name)) for name in names
    )
    report = Report(recipe.subject, recipe.kind, results)
    if raises and report.failed:
        raise CheckError(str(report), report)
    return report


def _run(recipe: Recipe, name: str, check: Callable[[], str | None], reason: str | None) -> Result:
    began = time.perf_counter()
    outcome: Outcome = "passed"
    message, where = "", {}
    try:
        message = check() or ""
    except SkippedError as skipped:
        outcome, message = "skipped", str(skipped)
    except BrokenError as broken:
        outcome, message, where = "failed", str(broken), broken.where
    # A part of a stranger may raise anything.
    except Exception as error:
        outcome, message = "failed", describe(error)
    seconds = time.perf_counter() - began
    if reason is not None:
        if outcome == "failed":
            return Result(name, "expected", reason, "", seconds)
        message = f"it was expected to fail ({reason}), but {outcome}: take it out of `expected`"
        outcome = "failed"
    example = recipe.lines(name, **where) if outcome == "failed" else ""
    if len(message) > LONGEST:
        message = message[: LONGEST - 3] + "..."
    return Result(name, outcome, message, example, seconds)


def describe(error: BaseException) -> str:
    """Say what was raised, with the notes on where."""
    said = f"{type(error).__name__}: {error}"
    return "; ".join([said, *getattr(error, "__notes__", ())])


@contextmanager
def found_again(where: Mapping[str, Any]) -> Iterator[None]:
    """Note with what breaks in the block the arguments that lead to it again."""
    try:
        yield
    except BrokenError as broken:
        broken.where = {**where, **broken.where}
        raise


def on_each(parts: str) -> Callable[[Callable[..., None]], Callable[[Any], None]]:
    """Make a check of a function that is called with each of some parts of what is checked.

    The first of each says `where` it comes from, which is noted with what breaks.
    """

    def decorate(check: Callable[..., None]) -> Callable[[Any], None]:
        @wraps(check)
        def whole(checked: Any) -> None:
            for one in getattr(checked, parts):
                several = one if isinstance(one, tuple) else (one,)
                with found_again(several[0].where):
                    check(checked, *several)

        return whole

    return decorate


def by_name(*checks: Callable[[PartT], str | None]) -> Mapping[str, Callable[[PartT], str | None]]:
    """Return checks by their names in code, without the underscore in front."""
    return {check.__name__.removeprefix("_"): check for check in checks}


def require(true: Any, message: str, **where: Any) -> None:
    """Raise unless a rule is kept."""
    if not true:
        raise BrokenError(message, **where)


def seeds_of(seeds: Any) -> Sequence[int]:
    """Return the seeds that a number of them, or a list, stands for."""
    if isinstance(seeds, int):
        check_whole("seeds", seeds, 1)
        return range(seeds)
    found = listed("seeds", seeds)
    for one in found:
        check_whole("seeds", one, 0)
    return found
