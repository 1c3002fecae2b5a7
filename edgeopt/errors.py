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
    """Base of every error that edgeopt raises on purpose.

    Examples
    --------
    >>> import edgeopt
    >>> from edgeopt.errors import EdgeOptError
    >>> try:
    ...     edgeopt.study("resuce")
    ... except EdgeOptError as error:
    ...     print(type(error).__name__)
    ...
    OptionError
    """


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
    """Data of an instance break a rule; has the same attributes as its parent.

    Examples
    --------
    >>> from edgeopt.errors import InstanceError
    >>> from edgeopt.instances.rescue import small
    >>> try:
    ...     small(1).replace(capacity=-small(1).capacity)
    ... except InstanceError as error:
    ...     print(error.field, error.index, error.rule)
    ...
    capacity (0, 0) must not be negative
    """


class CollectionError(EdgeOptError, ValueError):
    """The data of a named instance are not those of its name.

    Examples
    --------
    >>> from edgeopt.collection import load
    >>> from edgeopt.errors import CollectionError
    >>> try:
    ...     instance = load("rescue-paper-k2-t30")
    ... except CollectionError:
    ...     print("the generator has changed; install the edgeopt that the name came with")
    ... else:
    ...     print(instance.horizon)
    ...
    30
    """


class OptionError(EdgeOptError, ValueError):
    """An argument or option has a value that it cannot take.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> generate(servers=0)
    Traceback (most recent call last):
    ...
    edgeopt.errors.OptionError: servers = 0: must be at least 1
    """


class CertificateError(EdgeOptError, ValueError):
    """No certificate can be had, or one does not prove what it says.

    Examples
    --------
    >>> from edgeopt.bounds import ratio_of
    >>> ratio_of(lambda days, rng: days, {"week": 7.0}, lambda days: 5.0)
    Traceback (most recent call last):
    ...
    edgeopt.errors.CertificateError: instance week: 7 is beyond its bound 5; one of both is
        wrong
    """


class OutputError(EdgeOptError, OSError):
    """A file or folder cannot be written, or must not be overwritten.

    Examples
    --------
    >>> from edgeopt.errors import OutputError
    >>> from edgeopt.writing import write_file
    >>> write_file("no/such/folder/note.txt", "text")
    Traceback (most recent call last):
    ...
    edgeopt.errors.OutputError: no/such/folder/note.txt cannot be written: the directory
        does not exist
    """


class PolicyError(EdgeOptError, TypeError):
    """A policy lacks a method, or returns something else than expected; the text says what.

    Examples
    --------
    >>> from edgeopt.instances.rescue import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.rescue import RescueEnvironment
    >>> simulate(RescueEnvironment(small(1)), "srs", runs=1)
    Traceback (most recent call last):
    ...
    edgeopt.errors.PolicyError: str.name and str.start and str.decide and str.learn are
        missing; a policy has name, start, decide, learn, see edgeopt.online.Policy
    """


class Refused(EdgeOptError, ValueError):  # noqa: N818
    """An event does not fit what has happened in a session, which stays as it was.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online.rescue import PickConfigs
    >>> from edgeopt.online.session import RescueDesk, Session
    >>> session = Session(PickConfigs(), RescueDesk(generate(horizon=20, rng=7)))
    >>> session.take({"event": "finished", "slot": 3, "server": 0})
    Traceback (most recent call last):
    ...
    edgeopt.errors.Refused: server 0 runs nothing
    """


class ProblemTypeError(EdgeOptError, TypeError):
    """A solver was given a kind of problem that it cannot solve.

    Examples
    --------
    >>> import edgeopt
    >>> edgeopt.solve([[1, 0], [0, 1]])
    Traceback (most recent call last):
    ...
    edgeopt.errors.ProblemTypeError: cannot solve a list: pass a LinearProgram, a Pyomo
        model, a CVXPY problem or a CasadiNlp
    """


class MissingDependencyError(EdgeOptError, ImportError):
    """An optional package is needed but not installed; the text names the extra to install.

    Examples
    --------
    >>> from edgeopt.errors import MissingDependencyError
    >>> from edgeopt.solvers import LinearProgram, solve
    >>> program = LinearProgram([1.0], [[1.0]], 1.0, 3.0)
    >>> try:
    ...     solution = solve(program, solver="scip")
    ... except MissingDependencyError:
    ...     solution = solve(program)
    ...
    >>> solution.objective
    1.0
    """


class SolverError(EdgeOptError, RuntimeError):
    """A solve ended without a usable solution; raised only on request.

    Parameters
    ----------
    message
        What happened and what to try next.
    solution
        What is known nevertheless: status, bound, timings.

    Examples
    --------
    >>> import edgeopt
    >>> from edgeopt.errors import SolverError
    >>> from edgeopt.solvers import LinearProgram
    >>> nothing_fits = LinearProgram([1.0], [[1.0]], row_lower=3.0, row_upper=3.0, upper=2.0)
    >>> try:
    ...     edgeopt.solve(nothing_fits)
    ... except SolverError as error:
    ...     print(error.solution.status.value)
    ...
    proven infeasible
    """

    def __init__(self, message: str, solution: object = None) -> None:
        self.solution = solution
        super().__init__(message)


class WorkerError(EdgeOptError, RuntimeError):
    """A worker process, or the scheduler that gives it work, was lost.

    Examples
    --------
    >>> from edgeopt.errors import WorkerError
    >>> from edgeopt.studies.sweeps import Job, run_jobs
    >>> def square(number):
    ...     return {"square": number**2}
    ...
    >>> jobs = [Job({"number": n}, square, (n,)) for n in (2, 3)]
    >>> try:
    ...     table = run_jobs(jobs, workers=1)
    ... except WorkerError:
    ...     table = run_jobs(jobs[:1])
    ...
    >>> list(table["square"])
    [4, 9]
    """


class EdgeOptWarning(UserWarning):
    """Base of every warning that edgeopt gives.

    Examples
    --------
    >>> import warnings
    >>> from edgeopt.errors import EdgeOptWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", EdgeOptWarning)
    ...     try:
    ...         warnings.warn("a solver may lose precision", EdgeOptWarning)
    ...     except EdgeOptWarning as warning:
    ...         print("stopped:", warning)
    ...
    stopped: a solver may lose precision
    """


class CacheWarning(EdgeOptWarning):
    """Compiled code cannot be kept, and is compiled again by the next process.

    Examples
    --------
    >>> import warnings
    >>> from edgeopt.errors import CacheWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", CacheWarning)
    ...     from edgeopt.instances.rescue import small
    ...
    >>> small(1).horizon
    4
    """


class PluginWarning(EdgeOptWarning):
    """A plugin of another package is broken, and was left out.

    Examples
    --------
    >>> import warnings
    >>> from edgeopt.errors import PluginWarning
    >>> from edgeopt.studies import systems
    >>> with warnings.catch_warnings(record=True, category=PluginWarning) as broken:
    ...     found = systems()
    ...
    >>> len(broken), "rescue" in found
    (0, True)
    """


class ScalingWarning(EdgeOptWarning):
    """The entries of a matrix lie far apart even equilibrated: a solver may lose precision.

    Examples
    --------
    >>> import warnings
    >>> import edgeopt
    >>> from edgeopt.errors import ScalingWarning
    >>> from edgeopt.solvers import LinearProgram
    >>> far_apart = LinearProgram([1, 1], [[1, 1], [1, 1e-13], [1e-13, 1]], 1.0, 2.0)
    >>> with warnings.catch_warnings(record=True) as given:
    ...     warnings.simplefilter("always", ScalingWarning)
    ...     solution = edgeopt.solve(far_apart)
    ...
    >>> [warning.category.__name__ for warning in given], solution.quality.value
    (['ScalingWarning'], 'optimal')
    """


class QualityWarning(EdgeOptWarning):
    """A solver claimed more than the recomputed residuals support.

    Examples
    --------
    >>> import warnings
    >>> import edgeopt
    >>> from edgeopt.errors import QualityWarning
    >>> from edgeopt.solvers import LinearProgram
    >>> program = LinearProgram([1.0, 2.0], [[1.0, 1.0]], 1.0, 3.0)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", QualityWarning)
    ...     print(edgeopt.solve(program).quality.value)
    ...
    optimal
    """
