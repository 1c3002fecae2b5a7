"""The record of a system, its objective and its constraint.

A record is pickled by its name in the registry, which is imported when that happens.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.options import check_choice, check_kind, check_whole
from edgeopt.representation import compact_repr
from edgeopt.studies.entries import BenchmarkEntry, Named, Part, PolicyEntry
from edgeopt.studies.wording import number, percent, with_article
from edgeopt.writing import checked_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from edgeopt.online.protocols import Trajectory
    from edgeopt.online.simulate import Step
    from edgeopt.studies.entries import Benchmark, Comparison, Log, Metric, Picture, Source
    from edgeopt.studies.learners import Learned, LearnerEntry
    from edgeopt.studies.live import Live
    from edgeopt.studies.results import Case


DIMENSIONLESS = "dimensionless"
"""The unit that is not written after a number."""


@compact_repr
@dataclass(frozen=True)
class Objective(Part):
    """The value that policies maximise or minimise.

    Parameters
    ----------
    name
        Such as ``"profit"``.
    unit
        Its unit.
    sense
        Whether larger or smaller values are better.
    adds
        Whether the value of a run is the sum of the rewards of its slots or their mean.
    total
        ``total(trajectory)`` returns the value of every run, shape [runs], if that is neither;
        infinite if a run has none.
    period
        Name of a slot of a trajectory, in the singular.
    definition
        What exactly it is where its name does not say it, in whole sentences for pages.

    Examples
    --------
    >>> from edgeopt.studies import Objective, find_system
    >>> objective = find_system("edr").objective
    >>> objective.sense
    'min'
    """

    name: str = "profit"
    unit: str = DIMENSIONLESS
    sense: Literal["max", "min"] = "max"
    adds: Literal["sum", "mean"] = "sum"
    total: Callable[[Any], NDArray[np.float64]] | None = None
    period: str = "slot"
    definition: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("sense", self.sense, ("max", "min"))
        check_choice("adds", self.adds, ("sum", "mean"))

    @property
    def heading(self) -> str:
        """Name of the value of a run, with its unit: ``"Profit per run"``."""
        name = self.name.capitalize() + (" per run" if self.adds == "sum" else "")
        return name if self.unit == DIMENSIONLESS else f"{name} ({self.unit})"

    @property
    def most(self) -> str:
        """What the best value is called before any test: ``"highest"``, of a cost ``"least"``."""
        return "highest" if self.sense == "max" else "least"

    @property
    def earned(self) -> bool:
        """Whether a policy earns it."""
        return self.sense == "max" and self.name.endswith(("profit", "reward"))

    @property
    def paid(self) -> bool:
        """Whether a policy costs it."""
        return self.sense == "min" and self.name.endswith("cost")

    def amount(self, value: float, digits: int = 4) -> str:
        """Write a value with its unit: ``12.34``, ``56.78 ms``."""
        text = number(value, digits)
        return text if self.unit == DIMENSIONLESS else f"{text} {self.unit}"

    def ratio(self, value: float) -> str:
        """Write a value over a bound: a profit as a share, ``68.9 %``, a cost as a multiple."""
        return percent(value) if self.sense == "max" else number(value, 4)

    def against(self, value: float, label: str) -> str:
        """Write a ratio with its bound: ``68.9 % of the LP bound``, ``2.3 times OPT``."""
        return (
            f"{self.ratio(value)} {'of' if self.sense == 'max' else 'times'} {with_article(label)}"
        )

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


def _none(_instance: Any) -> int:
    return 0


@compact_repr
@dataclass(frozen=True)
class Constraint(Part):
    """The service constraint, which a run can violate; ``Trajectory.violations`` counts how often.

    Parameters
    ----------
    name
        What is violated, in the singular: ``"reserved task"``.
    count
        Maps an instance to how many of them there are in a run.
    verb
        Verb for violating one, in the present and in the past: ``("fails", "failed")``.
    soft
        Whether a violation is a matter of degree: the policy with the best value is then called
        best whatever it violates, and its violations are told.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.studies import find_system
    >>> constraint = find_system("rescue").constraint
    >>> constraint.name, constraint.verb, constraint.count(generate(reserved=6))
    ('reserved task', ('fails', 'failed'), 6)
    """

    name: str = "service constraint"
    count: Callable[[Any], int] = _none
    verb: tuple[str, str] = ("violates", "violated")
    soft: bool = False


def _no_entries(_given: Any) -> Mapping[str, Any]:
    return {}


def _no_notes(_case: Case) -> Sequence[str]:
    return ()


@dataclass(frozen=True)
class Paper(Part):
    """Where a system was published.

    Parameters
    ----------
    authors
        Last names, separated by commas.
    title
        Of the paper.

    Examples
    --------
    >>> from edgeopt.studies import Paper
    >>> print(Paper("Huang, Liu, Shan", "RESCUE: Opportunistic Online Scheduling"))
    Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling.
    """

    authors: str
    title: str

    def __str__(self) -> str:
        return f"{self.authors}: {self.title}."


@compact_repr
@dataclass(frozen=True)
class Instances(Part):
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
    template
        ``template(seed)`` draws the small instance whose tables ``edgeopt template`` writes; by
        default `random_small`.
    describe
        Maps an instance to its sizes and main figures, name to number.
    draws
        How many instances ``edgeopt study`` draws by default, where the source is drawn; at least
        twelve compare many policies over instances.

    Examples
    --------
    >>> from edgeopt.studies import find_system
    >>> instances = find_system("rescue").instances
    >>> list(instances.sources)[0], instances.random_small(3).servers
    ('tables', 2)
    """

    kind: type
    sources: Mapping[str, Source]
    load: Callable[[Path], Any]
    generate: Callable[..., Any] | None = None
    random_small: Callable[[int], Any] | None = None
    from_raw: Callable[..., Any] | None = None
    template: Callable[[int], Any] | None = None
    describe: Callable[[Any], Mapping[str, float | int | str]] = _no_entries
    draws: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_kind("Instances.kind", self.kind, type)
        check_whole("draws", self.draws, 1)
        if not self.sources:
            raise OptionError("Instances.sources: must not be empty")


@compact_repr
@dataclass(frozen=True)
class Offline(Part):
    """Bounds on the best value that any policy can have.

    Parameters
    ----------
    bounds
        Bounds by name; the first one is the reference bound.
    solve
        ``solve(instance, **options)`` computes a bound with options of the user.
    solved
        Name of the bound that `solve` computes, by default the reference bound. A program that
        extends its own needs the same checks, and those of what was added.
    point
        ``point(instance, log)`` returns what a run did in the variables of that program: an array
        for each variable, by name, as far as the log says; see
        :class:`edgeopt.online.simulate.Step`.
    per
        Whether that program is about every run, or about the expectation.
    exact
        ``exact(instance, policy)`` returns their expectations without sampling, or None.
    most
        ``most(instance, policy)`` returns what their expectations do not exceed by design, or None.
    methods
        Values of the option ``method`` that `solve` takes.
    export
        ``export(benchmark, path)`` writes the plan of a benchmark to a file.
    suffixes
        Endings of file names that `export` takes, each with its dot.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.studies import find_system
    >>> offline = find_system("rescue").offline
    >>> offline.reference, list(offline.bounds), offline.offered(generate())
    ('safe', ['safe', 'lp', 'lp_safe', 'lp_free'], ['safe', 'lp', 'lp_safe', 'lp_free'])
    """

    bounds: Mapping[str, BenchmarkEntry]
    solve: Callable[..., Benchmark] | None = None
    methods: Sequence[str] = ()
    export: Callable[[Benchmark, Path], None] | None = None
    suffixes: Sequence[str] = ()
    solved: str = ""
    point: Callable[[Any, Sequence[Step]], Mapping[str, NDArray[np.float64]]] | None = None
    per: Literal["run", "mean"] = "run"
    exact: Callable[[Any, Any], Mapping[str, NDArray[np.float64]] | None] | None = None
    most: Callable[[Any, Any], Mapping[str, NDArray[np.float64]] | None] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.bounds:
            raise OptionError("Offline.bounds: must not be empty")
        _check_kinds("Offline.bounds", self.bounds.values(), BenchmarkEntry)

    @property
    def reference(self) -> str:
        """Name of the reference bound, by which the column ``ratio`` divides."""
        return next(iter(self.bounds))

    def offered(self, instance: Any) -> list[str]:
        """Return the names of the bounds that are computed for an instance."""
        return [
            name
            for name, entry in self.bounds.items()
            if entry.offered is None or entry.offered(instance)
        ]


@compact_repr
@dataclass(frozen=True)
class Policies(Part):
    """The policies to compare, and how they are simulated.

    Parameters
    ----------
    entries
        The policies.
    environment
        Maps an instance to the environment of :func:`edgeopt.simulate`.
    warm_up
        Maps an instance to a short one, on which every policy runs before it is timed, so that
        compilation does not count.
    runs
        Simulated runs per policy by default, where anything is random.
    reference
        Name of the policy to which paired differences are taken, by default the first one. A policy
        is compared with the reference in its own variant.
    controls
        Further policies with `exact`, which no study shows: with those of the entries that have it
        they take luck out of the values of others, see :mod:`edgeopt.bounds.estimate`.

    Examples
    --------
    >>> from edgeopt.studies import find_system
    >>> policies = find_system("rescue").policies
    >>> [entry.name for entry in policies.entries][:3], policies.reference
    (['offers', 'price', 'rescue'], 'rescue')
    """

    entries: Sequence[PolicyEntry]
    environment: Callable[[Any], Any]
    warm_up: Callable[[Any], Any] | None = None
    runs: int = 400
    reference: str = ""
    controls: Sequence[PolicyEntry] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
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


@compact_repr
@dataclass(frozen=True)
class Claims(Part):
    """The claims to check on an instance.

    Parameters
    ----------
    pattern
        Their names, see :func:`edgeopt.check`; those of a system begin with its name, under which
        :mod:`edgeopt.registry` has their modules and their parameter spaces.
    given
        ``given(benchmarks)`` returns what these checks can reuse, such as a solved plan.

    Examples
    --------
    >>> from edgeopt.bounds import claims
    >>> from edgeopt.studies import find_system
    >>> found = find_system("rescue").claims
    >>> found.pattern, "rescue.theorem2" in claims(found.pattern)
    ('rescue', True)
    """

    pattern: str
    given: Callable[[Mapping[str, Benchmark]], Mapping[str, Any]] = _no_entries


@compact_repr
@dataclass(frozen=True)
class Reporting(Part):
    """What a page shows in addition to the values of the policies.

    Parameters
    ----------
    metrics, pictures
        Extra columns and drawings.
    logs
        Complete tables, one per policy, folded on the page and written as files.
    comparisons
        Tables of all policies over all instances of a study, on the page and as files.
    notes
        ``notes(case)`` returns paragraphs that a reader needs to interpret the numbers.
    detailed
        How many instances of a study, from the first, are shown in detail and have their claims
        checked by default; None for all. Tables over instances and files have all of them.

    Raises
    ------
    OutputError
        If the name of a picture, log or comparison cannot be a file name.

    Examples
    --------
    >>> from edgeopt.studies import find_system
    >>> reporting = find_system("rescue").reporting
    >>> [metric.name for metric in reporting.metrics]
    ['utilisation']
    """

    metrics: Sequence[Metric] = ()
    pictures: Sequence[Picture] = ()
    logs: Sequence[Log] = ()
    comparisons: Sequence[Comparison] = ()
    notes: Callable[[Case], Sequence[str]] = _no_notes
    detailed: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("detailed", self.detailed, 1, none=True)
        written: Iterable[Any] = (*self.pictures, *self.logs, *self.comparisons)
        for one in written:
            checked_name(one.name)


@compact_repr
@dataclass(frozen=True)
class System(Part):
    """A system.

    Parameters
    ----------
    name
        Its name in every subpackage and on the command line.
    title
        One line, for people.
    instances, offline, policies, objective, constraint, claims, reporting, paper
        Its parts.
    learners
        What can be trained, the recommended one first.
    learned
        The policies that run what was trained.
    live
        What can be moved on its live page.

    Raises
    ------
    OutputError
        If a name cannot be a file name.

    Examples
    --------
    >>> from edgeopt.studies import System, find_system
    >>> find_system("idn").objective.name
    'gain per request'
    """

    name: str
    title: str
    instances: Instances
    offline: Offline
    policies: Policies
    objective: Objective = field(default_factory=Objective)
    constraint: Constraint = field(default_factory=Constraint)
    claims: Claims | None = None
    reporting: Reporting = field(default_factory=Reporting)
    paper: Paper | None = None
    learners: Sequence[LearnerEntry] = ()
    learned: Learned | None = None
    live: Live | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, kind in _PARTS.items():
            optional = name in ("claims", "paper")
            check_kind(f"System.{name}", getattr(self, name), kind, none=optional)

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Its functions cannot be pickled where they have no name; the record has one.
        from edgeopt.studies.registry import find_system

        with contextlib.suppress(OptionError):
            if find_system(self.name) is self:
                return find_system, (self.name,)
        return super().__reduce_ex__(protocol)


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
            raise OptionError(f"{where}: {one!r} is not a {kind.__name__}")
