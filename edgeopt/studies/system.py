"""What a study, a check and the command line know of a system: small frozen records in one.

A system is added by writing such a record and naming it, inside the package in
:mod:`edgeopt.registry`, outside of it under the entry-point group ``edgeopt.systems``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.options import check_choice, check_fields, check_kind, check_whole
from edgeopt.studies.entries import BenchmarkEntry, Named, PolicyEntry
from edgeopt.studies.wording import interval, number, percent
from edgeopt.writing import checked_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from edgeopt.online.protocols import Trajectory
    from edgeopt.studies.entries import Benchmark, Comparison, Log, Metric, Picture, Source
    from edgeopt.studies.figures.paper_figure import PaperFigure
    from edgeopt.studies.result import Case

DIMENSIONLESS = "dimensionless"
"""The unit that is not written behind a number."""


@dataclass(frozen=True)
class Paper:
    """Where a system was published.

    Parameters
    ----------
    authors
        Last names, separated by commas.
    title
        Of the paper.
    """

    authors: str
    title: str

    def __post_init__(self) -> None:
        check_fields(self)

    def __str__(self) -> str:
        return f"{self.authors}: {self.title}."


@dataclass(frozen=True)
class Instances:
    """Where instances come from.

    Parameters
    ----------
    kind
        Their class: frozen, with ``fingerprint()`` and ``save(path)``.
    sources
        Named origins of instances; the first one is the default.
    load
        Reads an instance from a file.
    generate
        ``generate(*, rng=0, ...)`` draws an instance; its keywords are what ``--set`` takes.
    random_small
        ``random_small(seed)`` draws an instance of which exact values can be computed, for checks.
    from_raw
        ``from_raw(directory, rng=0)`` builds an instance from a directory of raw data, where the
        system has such data.
    describe
        Maps an instance to its sizes and main figures, name to number.
    """

    kind: type
    sources: Mapping[str, Source]
    load: Callable[[Path], Any]
    generate: Callable[..., Any] | None = None
    random_small: Callable[[int], Any] | None = None
    from_raw: Callable[..., Any] | None = None
    describe: Callable[[Any], Mapping[str, float | int | str]] = lambda _: {}

    def __post_init__(self) -> None:
        check_fields(self)
        check_kind("Instances.kind", self.kind, type)
        if not self.sources:
            raise OptionError("Instances.sources: must not be empty")


@dataclass(frozen=True)
class Objective:
    """What a policy is to make large or small.

    Parameters
    ----------
    name
        Such as ``"profit"``.
    unit
        Its unit.
    sense
        Whether more or less of it is better.
    adds
        Whether the value of a run is the sum of the rewards of its slots or their mean.
    total
        ``total(trajectory)`` returns the value of every run, shape [runs], where that is neither;
        infinite where a run has none.
    period
        What a slot of a trajectory is called, in the singular.
    """

    name: str = "profit"
    unit: str = DIMENSIONLESS
    sense: Literal["max", "min"] = "max"
    adds: Literal["sum", "mean"] = "sum"
    total: Callable[[Any], NDArray[np.float64]] | None = None
    period: str = "slot"

    def __post_init__(self) -> None:
        check_fields(self)
        check_choice("sense", self.sense, ("max", "min"))
        check_choice("adds", self.adds, ("sum", "mean"))

    @property
    def heading(self) -> str:
        """Name of the value of a run, with its unit: ``"Profit per run"``."""
        name = self.name.capitalize() + (" per run" if self.adds == "sum" else "")
        return name if self.unit == DIMENSIONLESS else f"{name} ({self.unit})"

    def amount(self, value: float, digits: int = 4) -> str:
        """Write a value with its unit: ``12.34``, ``56.78 ms``."""
        text = number(value, digits)
        return text if self.unit == DIMENSIONLESS else f"{text} {self.unit}"

    def over(self, label: str) -> str:
        """Head a column of ratios: ``"share of OPT(LP)"``, or of a cost ``"times OPT(LP)"``."""
        return f"{'share of' if self.sense == 'max' else 'times'} {label}"

    def ratio(self, value: float) -> str:
        """Write a value over a bound: a profit as a share, ``68.9 %``, a cost as a multiple."""
        return percent(value) if self.sense == "max" else number(value, 4)

    def ratios(self, low: float, high: float) -> str:
        """Write the interval of such a ratio."""
        return interval(low, high, share=self.sense == "max")

    def against(self, value: float, label: str) -> str:
        """Write a ratio with its bound: ``68.9 % of OPT(LP)``, ``2.294 times OPT(LP)``."""
        return f"{self.ratio(value)} {'of' if self.sense == 'max' else 'times'} {label}"

    def values(self, trajectory: Trajectory) -> NDArray[np.float64]:
        """Return the value of every run, shape [runs]."""
        if self.total is not None:
            return self.total(trajectory)
        return trajectory.total if self.adds == "sum" else trajectory.reward.mean(axis=1)

    def so_far(self, trajectory: Trajectory) -> NDArray[np.float64]:
        """Return the value of every run up to the end of each slot, shape [runs, T]."""
        total = np.cumsum(np.asarray(trajectory.reward, dtype=float), axis=1)
        if self.adds == "mean":
            total /= np.arange(1, total.shape[1] + 1)
        return total


@dataclass(frozen=True)
class Constraint:
    """The service constraint, which a run can violate; ``Trajectory.violations`` counts how often.

    Parameters
    ----------
    name
        What is violated, in the singular: ``"reserved task"``.
    count
        Maps an instance to how many of them there are in a run.
    verb
        What is said of a policy that violates one, in the present and in the past:
        ``("fails", "failed")``.
    """

    name: str = "service constraint"
    count: Callable[[Any], int] = lambda _: 0
    verb: tuple[str, str] = ("violates", "violated")

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Offline:
    """What is known about the best that could be reached.

    Parameters
    ----------
    bounds
        Offline optima by name; the first one is the reference bound.
    solve
        ``solve(instance, **options)`` computes the reference bound with options of the user.
    methods
        Values of the option ``method`` that `solve` takes.
    export
        ``export(benchmark, path)`` writes the plan of a benchmark to a file.
    suffixes
        Endings of file names that `export` takes, each with its dot.
    """

    bounds: Mapping[str, BenchmarkEntry]
    solve: Callable[..., Benchmark] | None = None
    methods: Sequence[str] = ()
    export: Callable[[Benchmark, Path], None] | None = None
    suffixes: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.bounds:
            raise OptionError("Offline.bounds: must not be empty")
        _check_kinds("Offline.bounds", self.bounds.values(), BenchmarkEntry)

    @property
    def reference(self) -> str:
        """Name of the reference bound, which the column ``ratio`` divides by."""
        return next(iter(self.bounds))


@dataclass(frozen=True)
class Policies:
    """The policies to compare, and how they are simulated.

    Parameters
    ----------
    entries
        The policies.
    environment
        Maps an instance to the environment of :func:`edgeopt.simulate`.
    warm_up
        Maps an instance to a short one, on which every policy runs before its time is taken, so
        that the time is not that of compiling.
    runs
        Simulated runs per policy when nobody chooses.
    reference
        Name of the policy that paired differences are taken to, by default the first one. Another
        policy is compared with the variant of it that is like its own.
    bound_of
        Maps a policy that came without an entry to the name of the bound that is valid for it.
    """

    entries: Sequence[PolicyEntry]
    environment: Callable[[Any], Any]
    warm_up: Callable[[Any], Any] | None = None
    runs: int = 200
    reference: str = ""
    bound_of: Callable[[Any], str] | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_whole("runs", self.runs, 2)
        if isinstance(self.entries, Named):
            return
        if not self.entries:
            raise OptionError("Policies.entries: must not be empty")
        _check_kinds("Policies.entries", self.entries, PolicyEntry)
        names = [entry.name for entry in self.entries]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise OptionError(f"Policies.entries: policy names {twice} occur twice")


@dataclass(frozen=True)
class Claims:
    """The claims to check on an instance.

    Parameters
    ----------
    pattern
        Their names, see :func:`edgeopt.check`; those of a system begin with its name, under which
        :mod:`edgeopt.registry` has their modules and their parameter spaces.
    given
        ``given(benchmarks)`` returns what is at hand already for these checks, such as a solved
        plan.
    """

    pattern: str
    given: Callable[[Mapping[str, Benchmark]], Mapping[str, Any]] = lambda _: {}

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Reporting:
    """What a page shows beside the values of the policies.

    Parameters
    ----------
    metrics, pictures
        Extra columns and drawings.
    logs
        Tables in full, one per policy each, folded on the page and written beside it.
    comparisons
        Tables of all policies over all instances of a study, on the page and beside it.
    notes
        ``notes(case)`` returns what a reader must know to read the numbers rightly, in sentences.

    Raises
    ------
    OutputError
        If a file could not be called like a picture, a log or a comparison.
    """

    metrics: Sequence[Metric] = ()
    pictures: Sequence[Picture] = ()
    logs: Sequence[Log] = ()
    comparisons: Sequence[Comparison] = ()
    notes: Callable[[Case], Sequence[str]] = lambda _: ()

    def __post_init__(self) -> None:
        check_fields(self)
        written: Iterable[Any] = (*self.pictures, *self.logs, *self.comparisons)
        for one in written:
            checked_name(one.name)


@dataclass(frozen=True)
class System:
    """A system as studies see it.

    Parameters
    ----------
    name
        The name that runs through every subpackage and the command line.
    title
        One line for people.
    instances, offline, policies, objective, constraint, claims, reporting, paper
        What is compared, on what, against what, and by what.
    figures
        Figures and tables of the paper's evaluation, see :mod:`edgeopt.studies.figures`. Those of
        built-in systems are loaded when they are looked into.

    Raises
    ------
    OptionError
        If a policy names a bound that does not exist, or two figures bear one number.
    OutputError
        If a file could not be called like a figure.
    """

    name: str
    title: str
    instances: Instances
    offline: Offline
    policies: Policies
    objective: Objective = field(default_factory=Objective)
    constraint: Constraint = field(default_factory=Constraint)
    claims: Claims | None = None
    figures: Sequence[PaperFigure] = ()
    reporting: Reporting = field(default_factory=Reporting)
    paper: Paper | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        for name, kind in _PARTS.items():
            optional = name in ("claims", "paper")
            check_kind(f"System.{name}", getattr(self, name), kind, none=optional)
        if not isinstance(self.figures, Named):
            names = [checked_name(one.name) for one in self.figures]
            if len(set(names)) < len(names):
                raise OptionError(f"system {self.name!r}: two figures bear one number: {names}")
        if not isinstance(self.policies.entries, Named):
            for entry in self.policies.entries:
                if entry.bound and entry.bound not in self.offline.bounds:
                    raise OptionError(
                        f"system {self.name!r}: policy {entry.name!r} names the benchmark "
                        f"{entry.bound!r}; it has {', '.join(self.offline.bounds)}"
                    )


_PARTS: dict[str, type] = {
    "instances": Instances,
    "offline": Offline,
    "policies": Policies,
    "objective": Objective,
    "constraint": Constraint,
    "claims": Claims,
    "reporting": Reporting,
    "paper": Paper,
}


def _check_kinds(where: str, given: Iterable[Any], kind: type) -> None:
    for one in given:
        if not isinstance(one, kind):
            raise OptionError(f"{where}: {one!r} stands where a {kind.__name__} belongs")
