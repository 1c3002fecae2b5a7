"""What a study, a check and the command line know of a system: one frozen record.

A system is added by writing such a record and naming it, inside the package in
:mod:`edgeopt.studies.registry`, outside of it under the entry-point group ``edgeopt.systems``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from edgeopt import registry
from edgeopt.errors import OptionError
from edgeopt.options import check_choice, check_fields, check_kind, check_whole
from edgeopt.studies.entries import BenchmarkEntry, PolicyEntry
from edgeopt.studies.wording import number
from edgeopt.writing import checked_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from edgeopt.online.protocols import Trajectory
    from edgeopt.studies.entries import (
        Account,
        Benchmark,
        Comparison,
        Measure,
        Picture,
        Source,
    )
    from edgeopt.studies.exhibits.exhibit import Exhibit
    from edgeopt.studies.result import Case

__all__ = ["System"]

DIMENSIONLESS = "dimensionless"
"""The unit that is not written behind a number."""


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
    small
        ``small(seed)`` draws an instance of which exact values can be computed, for checks.
    benchmarks
        Offline optima by name; the first one is the yardstick of the column ``ratio``.
    policies
        The policies to compare.
    environment
        Maps an instance to the environment of :func:`edgeopt.simulate`.
    rehearsal
        Maps an instance to a short one, which every policy lives through before its time is
        taken, so that the time is not that of compiling.
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
    broken
        What is said of a policy that breaks one, in the present and in the past:
        ``("fails", "failed")``.
    value
        What is counted, such as ``"profit"``.
    unit
        Its unit.
    aggregate
        Whether the value of a run is the sum of the rewards of its slots or their mean.
    total
        ``total(trajectory)`` returns the value of every run, shape [runs], where that is neither;
        infinite where a run has none.
    period
        What a slot of a trajectory is called, in the singular.
    sense
        Whether more or less of it is better.
    runs
        Simulated runs per policy when nobody chooses.
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
    accounts
        Tables in full, one per policy each, folded on the page and written beside it.
    comparisons
        Tables of all policies over all instances of a study, on the page and beside it.
    exhibits
        Figures and tables of the paper's evaluation, see :mod:`edgeopt.studies.exhibits`. For the
        built-in systems they stand in the registry, and are loaded when `figures` is asked for.
    notes
        ``notes(case)`` returns what a reader must know to read the numbers rightly, in sentences.
    bound_of
        Maps a policy that came without an entry to the name of the benchmark that bounds it.

    Raises
    ------
    OptionError
        If a mandatory table is empty, or an entry names a benchmark that does not exist.
    OutputError
        If a file could not be called like a picture, an account, a comparison or an exhibit.
    """

    name: str
    title: str
    instance_type: type
    sources: Mapping[str, Source]
    load: Callable[[Path], Any]
    benchmarks: Mapping[str, BenchmarkEntry]
    policies: Sequence[PolicyEntry]
    environment: Callable[[Any], Any]
    rehearsal: Callable[[Any], Any] | None = None
    paper: str = ""
    generate: Callable[..., Any] | None = None
    small: Callable[[int], Any] | None = None
    from_data: Callable[..., Any] | None = None
    solve: Callable[..., Benchmark] | None = None
    methods: Sequence[str] = ()
    export: Callable[[Benchmark, Path], None] | None = None
    suffixes: Sequence[str] = ()
    describe: Callable[[Any], Mapping[str, float | int | str]] = lambda _: {}
    obligations: Callable[[Any], int] = lambda _: 0
    obligation: str = "promise"
    broken: tuple[str, str] = ("fails", "failed")
    value: str = "profit"
    unit: str = DIMENSIONLESS
    aggregate: Literal["sum", "mean"] = "sum"
    total: Callable[[Any], NDArray[np.float64]] | None = None
    period: str = "slot"
    sense: Literal["max", "min"] = "max"
    runs: int = 200
    claims: str = ""
    claim_options: Callable[[Mapping[str, Benchmark]], Mapping[str, Any]] = lambda _: {}
    reference: str = ""
    measures: Sequence[Measure] = ()
    pictures: Sequence[Picture] = ()
    accounts: Sequence[Account] = ()
    comparisons: Sequence[Comparison] = ()
    exhibits: Sequence[Exhibit] = ()
    notes: Callable[[Case], Sequence[str]] = lambda _: ()
    bound_of: Callable[[Any], str] | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_kind("instance_type", self.instance_type, type)
        check_whole("runs", self.runs, 2)
        check_choice("sense", self.sense, ("max", "min"))
        check_choice("aggregate", self.aggregate, ("sum", "mean"))
        for table in ("sources", "benchmarks", "policies"):
            if not getattr(self, table):
                raise OptionError(f"system {self.name!r}: {table} must not be empty")
        for kind, given in (
            (PolicyEntry, self.policies),
            (BenchmarkEntry, self.benchmarks.values()),
        ):
            wrong = [one for one in given if not isinstance(one, kind)]
            if wrong:
                raise OptionError(
                    f"system {self.name!r}: {wrong[0]!r} stands where a {kind.__name__} belongs"
                )
        names = [entry.name for entry in self.policies]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise OptionError(f"system {self.name!r}: policy names {twice} occur twice")
        written: tuple[Sequence[Any], ...] = (
            self.pictures,
            self.accounts,
            self.comparisons,
        )
        for several in written:
            for one in several:
                checked_name(one.name)
        self._check_figures(self.exhibits)
        for entry in self.policies:
            if entry.bound and entry.bound not in self.benchmarks:
                raise OptionError(
                    f"system {self.name!r}: policy {entry.name!r} names the benchmark "
                    f"{entry.bound!r}; it has {', '.join(self.benchmarks)}"
                )

    def _check_figures(self, figures: Sequence[Exhibit]) -> None:
        names = [checked_name(one.name) for one in figures]
        if len(set(names)) < len(names):
            raise OptionError(f"system {self.name!r}: two exhibits bear one number: {names}")

    @cached_property
    def figures(self) -> Sequence[Exhibit]:
        """Figures and tables of the paper's evaluation, loaded when they are first asked for."""
        place = registry.built_in(registry.FIGURES).get(self.name)
        if self.exhibits or place is None:
            return self.exhibits
        found: Sequence[Exhibit] = place.load()
        self._check_figures(found)
        return found

    @property
    def yardstick(self) -> str:
        """Name of the first benchmark, which the column ``ratio`` divides by."""
        return next(iter(self.benchmarks))

    @property
    def heading(self) -> str:
        """Name of the value of a run, with its unit: ``"Profit per run"``."""
        name = self.value.capitalize() + (" per run" if self.aggregate == "sum" else "")
        return name if self.unit == DIMENSIONLESS else f"{name} ({self.unit})"

    def amount(self, value: float, digits: int = 4) -> str:
        """Write a value with its unit: ``12.34``, ``56.78 ms``."""
        text = number(value, digits)
        return text if self.unit == DIMENSIONLESS else f"{text} {self.unit}"

    def values(self, trajectory: Trajectory) -> NDArray[np.float64]:
        """Return the value of every run, shape [runs]."""
        if self.total is not None:
            return self.total(trajectory)
        return trajectory.total if self.aggregate == "sum" else trajectory.reward.mean(axis=1)

    def so_far(self, trajectory: Trajectory) -> NDArray[np.float64]:
        """Return the value of every run up to the end of each slot, shape [runs, T]."""
        total = np.cumsum(np.asarray(trajectory.reward, dtype=float), axis=1)
        if self.aggregate == "mean":
            total /= np.arange(1, total.shape[1] + 1)
        return total
