"""What a study, a check and the command line know of a system: one frozen record.

A system is added by writing such a record and naming it, inside the package in
:mod:`edgeopt.studies.registry`, outside of it under the entry-point group ``edgeopt.systems``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from matplotlib.figure import Figure

    from edgeopt.studies.result import Case

__all__ = ["Benchmark", "BenchmarkEntry", "Measure", "Picture", "PolicyEntry", "Source", "System"]


@dataclass(frozen=True)
class Source:
    """A named origin of instances.

    Parameters
    ----------
    make
        Called without arguments, or with ``rng=`` when `seeded`; returns an instance.
    title
        One line: what the instance is made of.
    seeded
        Whether the instance depends on a seed.
    provenance
        Called without arguments: one line per data set, with source and licence.
    """

    make: Callable[..., Any]
    title: str
    seeded: bool = False
    provenance: Callable[[], Sequence[str]] = tuple


@dataclass(frozen=True)
class Benchmark:
    """An offline optimum with its certificate.

    Parameters
    ----------
    value
        Objective of the solution in hand, in the system's unit of value.
    bound
        Proven bound on the optimum: from above when the system maximises, from below otherwise.
    gap
        Proven relative gap ``|bound - value| / max(1, |value|)``.
    seconds
        Build and solve together.
    solver
        Name and version of the solver.
    status
        Why the solver stopped, and what it holds.
    plan
        The system's own solution object, which policies may follow.
    """

    value: float
    bound: float
    gap: float
    seconds: float
    solver: str
    status: str = ""
    plan: Any = None

    def record(self) -> dict[str, float | str]:
        """Everything but the plan, ready for JSON."""
        return {
            "value": float(self.value),
            "bound": float(self.bound),
            "gap": float(self.gap),
            "seconds": float(self.seconds),
            "solver": self.solver,
            "status": self.status,
        }


@dataclass(frozen=True)
class BenchmarkEntry:
    """How to compute one benchmark of a system, and for whom it is a bound.

    Parameters
    ----------
    label
        Name in tables and pictures, such as ``"OPT(LP)"``.
    scope
        Policies whose expected value it bounds, as the end of "it bounds ...".
    compute
        Maps an instance to its :class:`Benchmark`.
    """

    label: str
    scope: str
    compute: Callable[[Any], Benchmark]


@dataclass(frozen=True)
class PolicyEntry:
    """A policy under the name that tables and ``--policies`` use.

    Parameters
    ----------
    name
        Short, unique within the system: ``"rescue+guard"``.
    family
        Name of the method in tables and pictures, shared by its variants.
    make
        ``make(instance, benchmarks)`` returns the policy; `benchmarks` maps a benchmark's name to
        its :class:`Benchmark`, so that a plan is solved once and followed by many.
    variant
        What tells this entry from its family: ``"guarded"``, ``"unguarded"``, ``""``.
    bound
        Name of the tightest benchmark that bounds this policy.
    guarantee
        Proven ratio of the expected value to the first benchmark, where a theorem gives one.
    exact
        ``exact(instance, policy)`` returns the expected value without sampling, or None where that
        takes too long.
    default
        Whether it takes part when nobody chooses.
    system
        Name of the system it belongs to; needed only by the entry-point group ``edgeopt.policies``.
    """

    name: str
    family: str
    make: Callable[[Any, Mapping[str, Benchmark]], Any]
    variant: str = ""
    bound: str = ""
    guarantee: float | None = None
    exact: Callable[[Any, Any], float | None] | None = None
    default: bool = True
    system: str = ""

    @property
    def title(self) -> str:
        """Family and variant in one: ``"RESCUE (guarded)"``."""
        return f"{self.family} ({self.variant})" if self.variant else self.family


@dataclass(frozen=True)
class Measure:
    """A quantity beside the value, one number per run.

    Parameters
    ----------
    name
        Column of the table; its standard error stands in ``NAME_se``.
    title
        Heading with unit.
    compute
        ``compute(instance, trajectory)`` returns an array [runs].
    percent
        Whether the number is a share, printed as a percentage.
    """

    name: str
    title: str
    compute: Callable[[Any, Any], np.ndarray]
    percent: bool = False


@dataclass(frozen=True)
class Picture:
    """A drawing of one case of a study.

    Parameters
    ----------
    name
        File name without suffix.
    title
        ``title(case)`` says what to notice; it is computed from the numbers that are drawn.
    draw
        ``draw(case)`` returns a matplotlib figure without title.
    caption
        What the axes, bands and marks mean.
    """

    name: str
    title: Callable[[Case], str]
    draw: Callable[[Case], Figure]
    caption: str


@dataclass(frozen=True)
class System:
    r"""A system as studies see it.

    Parameters
    ----------
    name
        The name that runs through every room and the command line.
    title
        One line for people.
    paper
        Where the system was published.
    instance_type
        Class of its instances: frozen, with ``fingerprint()`` and ``save(path)``.
    sources
        Named origins of instances; the first one is the default.
    load
        Reads an instance from a file.
    generate
        ``generate(*, rng=0, ...)`` draws an instance; its keywords are what ``--set`` takes.
    benchmarks
        Offline optima by name; the first one is the yardstick of the column ``ratio``.
    policies
        The policies to compare.
    environment
        Maps an instance to the environment of :func:`edgeopt.simulate`.
    describe
        Maps an instance to its sizes and main figures, name to number.
    from_data
        ``from_data(directory, rng=0)`` builds an instance from a directory of raw data, where the
        system has such data.
    solve
        ``solve(instance, **options)`` computes the first benchmark with options of the user.
    methods
        Values of the option ``method`` that `solve` takes.
    export
        ``export(benchmark, path)`` writes the plan of a benchmark to a file.
    suffixes
        Endings of file names that `export` takes, each with its dot.
    obligations
        Number of promises of an instance that a run can break; counts ``Trajectory.violations``.
    obligation
        What such a promise is called, in the singular.
    value
        What is counted, such as ``"profit"``, and its unit.
    sense
        Whether more or less of it is better.
    claims
        Pattern of the claims to check on an instance, see :func:`edgeopt.check`.
    claim_options
        ``claim_options(benchmarks)`` returns what is at hand already for these checks, such as a
        solved plan.
    reference
        Name of the policy that paired differences are taken to, by default the first one. Another
        policy is compared with the variant of it that is like its own.
    measures, pictures
        Extra columns and drawings.
    notes
        ``notes(case)`` returns what a reader must know to read the numbers rightly, in sentences.
    bound_of
        Maps a policy that came without an entry to the name of the benchmark that bounds it.

    Raises
    ------
    OptionError
        If a mandatory table is empty, or an entry names a benchmark that does not exist.
    """

    name: str
    title: str
    instance_type: type
    sources: Mapping[str, Source]
    load: Callable[[Path], Any]
    benchmarks: Mapping[str, BenchmarkEntry]
    policies: Sequence[PolicyEntry]
    environment: Callable[[Any], Any]
    paper: str = ""
    generate: Callable[..., Any] | None = None
    from_data: Callable[..., Any] | None = None
    solve: Callable[..., Benchmark] | None = None
    methods: Sequence[str] = ()
    export: Callable[[Benchmark, Path], None] | None = None
    suffixes: Sequence[str] = ()
    describe: Callable[[Any], Mapping[str, float | int | str]] = lambda _: {}
    obligations: Callable[[Any], int] = lambda _: 0
    obligation: str = "promise"
    value: str = "profit"
    sense: Literal["max", "min"] = "max"
    claims: str = ""
    claim_options: Callable[[Mapping[str, Benchmark]], Mapping[str, Any]] = lambda _: {}
    reference: str = ""
    measures: Sequence[Measure] = ()
    pictures: Sequence[Picture] = ()
    notes: Callable[[Case], Sequence[str]] = lambda _: ()
    bound_of: Callable[[Any], str] | None = None

    def __post_init__(self) -> None:
        for table in ("sources", "benchmarks", "policies"):
            if not getattr(self, table):
                raise OptionError(f"system {self.name!r}: {table} must not be empty")
        names = [entry.name for entry in self.policies]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise OptionError(f"system {self.name!r}: policy names {twice} occur twice")
        for entry in self.policies:
            if entry.bound and entry.bound not in self.benchmarks:
                raise OptionError(
                    f"system {self.name!r}: policy {entry.name!r} names the benchmark "
                    f"{entry.bound!r}; it has {', '.join(self.benchmarks)}"
                )

    @property
    def yardstick(self) -> str:
        """Name of the first benchmark, which the column ``ratio`` divides by."""
        return next(iter(self.benchmarks))
