"""What the records of a system list: sources, benchmarks, policies, metrics, pictures."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from edgeopt import registry
from edgeopt.bounds.validity import scope
from edgeopt.errors import OptionError
from edgeopt.instances.tables import FOLDER
from edgeopt.options import check_choice, check_fields, generator
from edgeopt.representation import compact_repr
from edgeopt.studies.wording import with_article
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    import pandas as pd
    import xarray as xr

    from edgeopt.bounds.validity import Check
    from edgeopt.models.tabular import Tabular
    from edgeopt.studies.drawing import Drawing
    from edgeopt.studies.results import Case, Study

ItemT = TypeVar("ItemT")


class Part:
    """A part of a system; texts, flags, functions and collections are checked when it is made."""

    def __post_init__(self) -> None:
        check_fields(cast("Any", self))


@dataclass(frozen=True)
class Named(Sequence[ItemT]):
    """What :mod:`edgeopt.registry` has under a name, loaded on first use."""

    group: str
    name: str

    @cached_property
    def _loaded(self) -> Sequence[ItemT]:
        found: Sequence[ItemT] = registry.built_in(self.group)[self.name].load()
        return found

    def __getitem__(self, place: Any) -> Any:
        return self._loaded[place]

    def __len__(self) -> int:
        return len(self._loaded)


@compact_repr
@dataclass(frozen=True)
class Source(Part):
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
    settings
        Where `make` takes ``**options``: the function to whose keyword parameters it hands them.

    Examples
    --------
    >>> from edgeopt.studies import find_system
    >>> source = find_system("tapfinger").instances.sources["tables"]
    >>> source.seeded, source.make().clusters
    (True, 3)
    """

    make: Callable[..., Any]
    title: str
    seeded: bool = False
    provenance: Callable[[], Sequence[str]] = tuple
    settings: Callable[..., Any] | None = None


def licences(*sources: str) -> list[str]:
    """Return a line with licence and citation for each source of the small tables."""
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    paragraphs = (" ".join(paragraph.split()) for paragraph in readme.split("\n\n"))
    named = {line.strip("*"): line.replace("**", "") for line in paragraphs if line[:2] == "**"}
    return [line for name, line in named.items() if name.startswith(sources)]


def origin(instance: Any) -> str:
    """Say where the data of an instance come from."""
    said = instance.origin.strip()
    return f"Data: {said}" if said else "The origin of the data is not recorded."


@in_html
@compact_repr
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
        Proven relative gap ``|bound - value| / max(|value|, |bound|)``.
    seconds
        Build and solve together.
    solver
        Name and version of the solver.
    status
        Why the solver stopped, and what it holds.
    plan
        The system's own solution object, which policies may follow.
    each
        Bound of each simulated scenario, whose mean is `bound`; empty where `bound` holds for all.
    labels
        Labels of the instance, by axis, for the file of a plan.
    bound_by
        Who answers for the bound: "proof", or "solver" where it is the word of a search.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.studies import find_system
    >>> found = find_system("rescue").offline.solve(generate(horizon=10, rng=0))
    >>> found.value <= found.bound * (1 + 1e-9), found.gap < 1e-6, found.bound_by
    (True, True, 'proof')
    """

    value: float
    bound: float
    gap: float
    seconds: float
    solver: str
    status: str = ""
    plan: Any = None
    each: tuple[float, ...] = ()
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    bound_by: str = "proof"

    @property
    def scope(self) -> str:
        """``"scenario"`` where every scenario has a bound of its own, else empty."""
        return "scenario" if self.each else ""

    @classmethod
    def certified(cls, plan: Any, instance: Any) -> Benchmark:
        """Sum up a solved plan with ``objective``, ``bound``, ``gap`` and ``solution``."""
        solution = plan.solution
        ended = solution.status.value, solution.in_hand
        return cls(
            value=plan.objective,
            bound=plan.bound,
            gap=abs(plan.gap),
            seconds=sum(solution.seconds),
            solver=f"{solution.solver} {solution.version}".strip(),
            status=", ".join(ended),
            plan=plan,
            labels=dict(instance.labels),
            bound_by=solution.bound_by or "proof",
        )

    def to_frame(self) -> pd.DataFrame:
        """Return what the plan holds by the labels of the instance, as `ProgramPlan.to_frame`.

        Raises
        ------
        OptionError
            If there is no plan.

        Examples
        --------
        >>> from edgeopt.studies import find_system
        >>> record = find_system("rescue")
        >>> instance = record.instances.generate(horizon=10, rng=0)
        >>> list(record.offline.solve(instance).to_frame())
        ['slot', 'device', 'server', 'profile', 'probability']
        """
        return self._tabular.to_frame(self.labels)

    def to_xarray(self) -> xr.Dataset:
        """Return the plan as arrays with the labels of the instance, as `ProgramPlan.to_xarray`.

        The attributes are what `record` says of the bound.

        Raises
        ------
        OptionError
            If there is no plan.

        Examples
        --------
        >>> from edgeopt.studies import find_system
        >>> record = find_system("rescue")
        >>> instance = record.instances.generate(horizon=10, rng=0)
        >>> found = record.offline.solve(instance)
        >>> found.to_xarray().attrs["bound"] == found.bound
        True
        """
        return self._tabular.to_xarray(self.labels).assign_attrs(self.record())

    @property
    def _tabular(self) -> Tabular:
        if not hasattr(self.plan, "to_xarray"):
            raise OptionError("the bound has no plan that could be shown as a table")
        return cast("Tabular", self.plan)

    def record(self) -> dict[str, float | str | list[float]]:
        """Everything but the plan, ready for JSON."""
        return {
            "value": float(self.value),
            "bound": float(self.bound),
            "bound_by": self.bound_by,
            "relative_gap": float(self.gap),
            "seconds": float(self.seconds),
            "solver": self.solver,
            "status": self.status,
            **({"each": list(self.each)} if self.each else {}),
        }


@compact_repr
@dataclass(frozen=True)
class Settings:
    """Settings from which a study can be repeated, with its instances.

    Parameters
    ----------
    runs
        Simulated runs per policy, where anything is random.
    seed
        Seed of the scenarios, the same for every policy and instance.
    workers
        Processes; they affect the time only.
    confidence
        Probability that an interval covers the true value.
    seconds
        Wall-clock time of the whole study.
    version
        Version of edgeopt.
    platform
        Interpreter and machine.
    provenance
        Origin of the data of the instances, one line per data set.
    detailed
        Number of instances, from the first, that are shown in detail; None for all.
    drawn
        Whether several instances were drawn, so that something is said of others like them.
    looks
        Numbers of runs after which the study might have stopped, the last one that at which it
        did; empty where the number was given.
    most
        At how many runs it would have stopped at the latest; 0 where the number was given.

    Examples
    --------
    >>> import edgeopt
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.studies import Settings
    >>> study = edgeopt.study(generate(horizon=20), ["srs"], runs=20, rng=3, claims=False)
    >>> study.settings.runs, study.settings.seed
    (20, 3)
    """

    runs: int
    seed: int
    workers: int
    confidence: float
    seconds: float
    version: str
    platform: str
    provenance: tuple[str, ...] = ()
    detailed: int | None = None
    drawn: bool = True
    looks: tuple[int, ...] = ()
    most: int = 0


@compact_repr
@dataclass(frozen=True)
class BenchmarkEntry(Part):
    """How to compute one benchmark of a system, and for whom it is a bound.

    Parameters
    ----------
    label
        Name in tables and pictures, such as ``"LP bound"``.
    compute
        Maps an instance to its :class:`Benchmark`. If it takes ``time_limit=``, seconds, it
        returns the valid bound in hand when they are over, and its status says so.
    checks
        What a policy has to keep for it to be a bound; by default it bounds every policy. One that
        has all checks of another bound, and more, is at least as tight.
    offered
        Whether it is computed; by default always. The reference and those that policies name must.
    of_scenarios
        ``of_scenarios(instance, benchmark, scenarios)`` returns the tighter one of all scenarios;
        it may take ``time_limit=``, too.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.studies import find_system
    >>> entry = find_system("rescue").offline.bounds["lp"]
    >>> entry.label, entry.phrase, entry.compute(generate(horizon=10, rng=0)).bound > 0
    ('LP bound', 'the LP bound', True)
    """

    label: str
    compute: Callable[..., Benchmark]
    checks: Sequence[Check] = ()
    offered: Callable[[Any], bool] | None = None
    of_scenarios: Callable[..., Benchmark] | None = None

    @property
    def phrase(self) -> str:
        """The label within a sentence: ``"the safe bound"``."""
        return with_article(self.label)

    @property
    def scope(self) -> str:
        """Policies whose expected value it bounds, as the end of "it bounds ..."."""
        return scope(self.checks)

    def solve(
        self,
        instance: Any,
        environment: Callable[[Any], Any],
        seed: int,
        runs: int,
        time_limit: float | None = None,
    ) -> Benchmark:
        """Compute the bound, for the scenarios that are simulated where it has one for each."""
        began = time.perf_counter()
        found = self.compute(instance, **_limited(self.compute, time_limit))
        if self.of_scenarios is not None:
            # As `simulate` draws them from the same seed.
            stream = generator(seed).spawn(2)[0]
            scenarios = environment(instance).scenarios(stream, runs)
            limited = _limited(self.of_scenarios, time_limit)
            found = self.of_scenarios(instance, found, scenarios, **limited)
        if time_limit is not None and time.perf_counter() - began >= time_limit:
            found = replace(found, status=f"{found.status}; took its limit of {time_limit:g} s")
        return found


def _limited(function: Callable[..., Any], time_limit: float | None) -> dict[str, float]:
    """Return the limit as an option of a function, if there is one and the function takes it."""
    takes = time_limit is not None and "time_limit" in signature(function).parameters
    return {"time_limit": time_limit} if takes else {}  # type: ignore[dict-item]


@compact_repr
@dataclass(frozen=True)
class PolicyEntry(Part):
    """A policy under the name that tables and ``--policies`` use.

    Parameters
    ----------
    name
        Short, unique within the system: ``"rescue+guard"``.
    group
        Name of the method in tables and pictures, shared by its variants.
    make
        ``make(instance, benchmarks)`` returns the policy; `benchmarks` maps a benchmark's name to
        its :class:`Benchmark`, so that a plan is solved once and followed by many.
    variant
        What tells this entry from others of its group: ``"guarded"``, ``"unguarded"``, ``""``.
    guarantee
        Proven ratio of the expected value to a bound, where a theorem gives one.
    exact
        ``exact(instance, policy)`` returns the expected value without sampling, or None where that
        takes too long.
    default
        Whether it takes part when no policies are named.
    system
        Name of its system; needed only by the entry-point group ``edgeopt.policies``.
    kind
        Whether it decides by what has happened so far, or knows the future of a run. A policy with
        hindsight is marked in tables, drawn apart in pictures, and never called best.
    learned
        Whether it was trained on instances.
    edition
        Whether it is as published, corrected or improved, or not from a paper.
    guarantee_of
        Name of the bound that `guarantee` is a share of, by default the reference bound.
    follows
        Name of the benchmark whose plan it follows.

    Examples
    --------
    >>> from edgeopt.studies import PolicyEntry, find_system
    >>> from edgeopt.studies.registry import policies
    >>> first = policies(find_system("rescue"))[0]
    >>> first.name, first.group
    ('offers', 'Competing offers')
    """

    name: str
    group: str
    make: Callable[[Any, Mapping[str, Benchmark]], Any]
    variant: str = ""
    guarantee: float | None = None
    exact: Callable[[Any, Any], float | None] | None = None
    default: bool = True
    system: str = ""
    kind: Literal["causal", "hindsight"] = "causal"
    learned: bool = False
    edition: Literal["published", "improved", "own"] = "own"
    guarantee_of: str = ""
    follows: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("PolicyEntry.kind", self.kind, ("causal", "hindsight"))
        check_choice("PolicyEntry.edition", self.edition, ("published", "improved", "own"))

    @property
    def causal(self) -> bool:
        """Whether it decides by what has happened so far."""
        return self.kind == "causal"

    @property
    def title(self) -> str:
        """Group and, in brackets, variant and hindsight: ``"RESCUE (guarded)"``."""
        remarks = [self.variant] * bool(self.variant) + [self.kind] * (not self.causal)
        return f"{self.group} ({', '.join(remarks)})" if remarks else self.group


def made(module: str, name: str, **options: Any) -> Callable[..., Any]:
    """Return a maker of policies of a class, whose module is imported when it is called."""
    return partial(_made, module, name, options)


def _made(module: str, name: str, options: Mapping[str, Any], *_given: Any) -> Any:
    return getattr(import_module(module), name)(**options)


def on(module: str, name: str) -> Callable[[Any], Any]:
    """Return a call of a class on an instance, which imports its module when it is called."""
    return partial(_on, module, name)


def _on(module: str, name: str, instance: Any) -> Any:
    return getattr(import_module(module), name)(instance)


@compact_repr
@dataclass(frozen=True)
class Metric(Part):
    """A further quantity of a run, one number per run.

    Parameters
    ----------
    name
        Column of the table; its standard error is in ``NAME_se``.
    title
        Heading with unit.
    compute
        ``compute(instance, trajectory)`` returns an array [runs].
    percent
        Whether the number is a share, printed as a percentage.

    Examples
    --------
    >>> from edgeopt.studies import Metric, find_system
    >>> [metric.name for metric in find_system("tapfinger").reporting.metrics][:2]
    ['mean', 'median']
    """

    name: str
    title: str
    compute: Callable[[Any, Any], np.ndarray]
    percent: bool = False


@compact_repr
@dataclass(frozen=True)
class Picture(Part):
    """A drawing of one case of a study.

    Parameters
    ----------
    name
        File name without suffix.
    title
        ``title(case)`` states the main finding, computed from the numbers that are drawn.
    draw
        ``draw(case)`` returns lanes, bars, curves or panels of them, see
        :mod:`edgeopt.studies.drawing`, or a matplotlib figure without title.
    caption
        What the axes, bands and marks mean.

    Examples
    --------
    >>> from edgeopt.studies import find_system
    >>> [picture.name for picture in find_system("rescue").reporting.pictures]
    ['gantt', 'value_over_time', 'safety']
    """

    name: str
    title: Callable[[Case], str]
    draw: Callable[[Case], Drawing]
    caption: str


@compact_repr
@dataclass(frozen=True)
class Log(Part):
    """A complete table of a run: one row per slot, task or whatever a policy decides about.

    Parameters
    ----------
    name
        File name without suffix.
    title
        Heading on the page, such as ``"Every frame"``.
    rows
        ``rows(case, policy)`` returns a `pandas.DataFrame` whose columns are headings with units.
    bad
        Columns in which a number above zero is marked.
    caption
        Meaning of columns that their headings do not explain.

    Examples
    --------
    >>> import edgeopt
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.studies import find_system
    >>> study = edgeopt.study(small(1), ["even_rate"], runs=2, claims=False)
    >>> log = find_system("edr").reporting.logs[0]
    >>> log.title, list(log.rows(study.cases[0], "even_rate"))[:3]
    ('Every frame', ['frame', 'cap (Wh)', 'energy (Wh)'])
    """

    name: str
    title: str
    rows: Callable[[Case, str], pd.DataFrame]
    bad: Sequence[str] = ()
    caption: str = ""


@compact_repr
@dataclass(frozen=True)
class Comparison(Part):
    """A table of all policies over all instances of a study, such as one that a paper prints.

    Parameters
    ----------
    name
        File name without suffix.
    title
        Heading on the page.
    rows
        ``rows(study)`` returns a `pandas.DataFrame`, a row per policy, its name in ``policy`` and
        its title in ``title``; see :func:`edgeopt.studies.comparison.over_instances`.
    columns
        Headings with units by the name of the column, in the order shown; the interval in
        ``NAME_low`` and ``NAME_high`` is shown with it.
    percent
        Columns that are shares, printed as percentages.
    caption
        Meaning of columns that their headings do not explain.
    absent
        Words by the name of a column, shown where it has no number.

    Examples
    --------
    >>> from edgeopt.studies import find_system
    >>> [table] = find_system("tapfinger").reporting.comparisons
    >>> table.name, table.title
    ('over_instances', 'Flow times')
    """

    name: str
    title: str
    rows: Callable[[Study], pd.DataFrame]
    columns: Mapping[str, str]
    percent: Sequence[str] = ()
    caption: str = ""
    absent: Mapping[str, str] = field(default_factory=dict)
