"""One case of pytest for each check of each part."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from edgeopt.errors import MissingDependencyError, OptionError
from edgeopt.options import listed
from edgeopt.testing.report import CheckError, label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def parametrize_with_checks(calls: Iterable[partial[Any]]) -> Callable[..., Any]:
    """Decorate a test: it runs once for each check of each part.

    Parameters
    ----------
    calls
        Calls of checks, as ``functools.partial``: ``partial(check_policy, Mine(), "idn")``.

    Returns
    -------
    A decorator of a test with one argument, ``check``, that it calls. A check that is expected to
    fail is an expected failure, with its reason, and one that does not apply is skipped.

    Raises
    ------
    OptionError
        If something else than such calls is given.
    MissingDependencyError
        If pytest is not installed.

    Examples
    --------
    >>> from functools import partial
    >>> from edgeopt.online.idn import Olag
    >>> from edgeopt.testing import check_policy, parametrize_with_checks
    >>> @parametrize_with_checks([partial(check_policy, Olag(), "idn")])
    ... def test_my_policy(check):
    ...     check()
    """
    try:
        import pytest
    except ImportError:
        raise MissingDependencyError(
            'parametrize_with_checks needs pytest: pip install "edgeopt[testing]"'
        ) from None
    cases = [
        pytest.param(case, id=str(case)) for call in listed("calls", calls) for case in _cases(call)
    ]
    decorate: Callable[..., Any] = pytest.mark.parametrize("check", cases)
    return decorate


@dataclass(frozen=True)
class Case:
    """One check of one part."""

    call: partial[Any]
    check: str

    def __str__(self) -> str:
        return f"{label(self.call.args[0])}-{self.check}".replace(" ", "_")

    def __call__(self) -> None:
        """Run the check, and tell pytest of its outcome."""
        import pytest

        report = self.call(checks=[self.check], raises=False)
        result = report[self.check]
        if result.outcome == "failed":
            raise CheckError(str(report), report)
        if result.outcome == "expected":
            pytest.xfail(result.message)
        if result.outcome == "skipped":
            pytest.skip(result.message)


def _cases(call: Any) -> list[Case]:
    function = getattr(call, "func", None)
    module = inspect.getmodule(function)
    known = getattr(import_module("edgeopt.testing"), getattr(function, "__name__", ""), None)
    if not isinstance(call, partial) or known is not function or not call.args or module is None:
        raise OptionError(
            f"calls: {call!r} is no call of a check; write partial(check_policy, Mine(), 'idn')"
        )
    chosen = call.keywords.get("checks")
    return [Case(call, name) for name in (module.CHECKS if chosen is None else chosen)]
