"""One family of errors and warnings; each error is also the builtin that a caller would expect.

The text of an error says what is wrong, where, and what to do.
"""

from __future__ import annotations

__all__ = [
    "CacheWarning",
    "CertificateError",
    "CollectionError",
    "EdgeOptError",
    "EdgeOptWarning",
    "InputError",
    "InstanceError",
    "MissingDependencyError",
    "OptionError",
    "OutputError",
    "PluginWarning",
    "PolicyError",
    "ProblemTypeError",
    "QualityWarning",
    "Refused",
    "ScalingWarning",
    "SolverError",
    "WorkerError",
]


class EdgeOptError(Exception):
    """Base of every error that edgeopt raises on purpose."""


class InputError(EdgeOptError, ValueError):
    """An array given to a function breaks a rule.

    Parameters
    ----------
    field
        Name of the offending argument or field, or of the file that could not be read.
    rule
        The rule that is broken, as a short sentence.
    index
        Position of the first offending entry, where there is one.
    value
        The value there.

    Examples
    --------
    >>> raise InputError("y", "must lie in [0, 1]", index=(3,), value=1.5)
    Traceback (most recent call last):
    ...
    edgeopt.errors.InputError: y[3] = 1.5: must lie in [0, 1]
    """

    def __init__(
        self, field: str, rule: str, *, index: tuple[int, ...] | None = None, value: object = None
    ) -> None:
        self.field = field
        self.rule = rule
        self.index = index
        self.value = value
        where = field if not index else f"{field}[{', '.join(map(str, index))}]"
        found = "" if value is None else f" = {value}"
        super().__init__(f"{where}{found}: {rule}")

    def __reduce__(self) -> tuple[object, ...]:
        # The default would replay the formatted text as `field`, and lose the rest on the way.
        return _restore, (type(self), self.field, self.rule, self.index, self.value)


def _restore(
    kind: type[InputError], field: str, rule: str, index: tuple[int, ...] | None, value: object
) -> InputError:
    return kind(field, rule, index=index, value=value)


class InstanceError(InputError):
    """Data of an instance break a rule; has the same attributes as its parent."""


class CollectionError(EdgeOptError, ValueError):
    """The data of a named instance are not those of its name."""


class OptionError(EdgeOptError, ValueError):
    """An argument or option has a value that it cannot take."""


class CertificateError(EdgeOptError, ValueError):
    """No certificate can be had, or one does not prove what it says."""


class OutputError(EdgeOptError, OSError):
    """A file or folder cannot be written, or must not be overwritten."""


class PolicyError(EdgeOptError, TypeError):
    """A policy lacks a method, or returns something else than expected; the text says what."""


class Refused(EdgeOptError, ValueError):  # noqa: N818
    """An event does not fit what has happened in a session, which stays as it was."""


class ProblemTypeError(EdgeOptError, TypeError):
    """A solver was given a kind of problem that it cannot solve."""


class MissingDependencyError(EdgeOptError, ImportError):
    """An optional package is needed but not installed; the text names the extra to install."""


class SolverError(EdgeOptError, RuntimeError):
    """A solve ended without a usable solution; raised only on request.

    Parameters
    ----------
    message
        What happened and what to try next.
    solution
        What is known nevertheless: status, bound, timings.
    """

    def __init__(self, message: str, solution: object = None) -> None:
        self.solution = solution
        super().__init__(message)


class WorkerError(EdgeOptError, RuntimeError):
    """A worker process, or the scheduler that gives it work, was lost."""


class EdgeOptWarning(UserWarning):
    """Base of every warning that edgeopt gives."""


class CacheWarning(EdgeOptWarning):
    """Compiled code cannot be kept, and is compiled again by the next process."""


class PluginWarning(EdgeOptWarning):
    """A plugin of another package is broken, and was left out."""


class ScalingWarning(EdgeOptWarning):
    """The entries of a matrix lie far apart even equilibrated: a solver may lose precision."""


class QualityWarning(EdgeOptWarning):
    """A solver claimed more than the recomputed residuals support."""
