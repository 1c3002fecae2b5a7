"""What checks found: a report of all of them, and one error for all that failed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from edgeopt.errors import EdgeOptError, OptionError
from edgeopt.options import check_flag, check_whole, listed
from edgeopt.representation import brief, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from edgeopt.testing.recipe import Recipe

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


@brief
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
        from edgeopt.writing.tables import html_table

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
        outcome, message = "failed", told(error)
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


def told(error: BaseException) -> str:
    """Say what was raised, with the notes on where."""
    said = f"{type(error).__name__}: {error}"
    return "; ".join([said, *getattr(error, "__notes__", ())])


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
