"""The jobs that most figures consist of: policies on drawn instances, over swept parameters."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.validity import candidates
from edgeopt.later import Computed
from edgeopt.representation import compact_repr
from edgeopt.studies.entries import Benchmark
from edgeopt.studies.registry import choose, find_system
from edgeopt.studies.run import study
from edgeopt.studies.sweeps import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from edgeopt.studies.entries import PolicyEntry
    from edgeopt.studies.results import Case
    from edgeopt.studies.system import System

_LEFT_OUT = (
    "instance", "policy", "group", "variant", "runs", "place", "how", "beyond", "spread",
    "value_each", "bound", "bound_how", "reference",
)  # fmt: skip


@compact_repr
@dataclass(frozen=True)
class InstanceSpec:
    """How to make an instance wherever a job is computed.

    Parameters
    ----------
    make
        Function of a module, such as a generator.
    settings
        Pairs of keywords and values; see `of`.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt_papers.figures import InstanceSpec
    >>> spec = InstanceSpec.of(generate, horizon=20, rng=7)
    >>> spec.settings, spec.instance().horizon
    ((('horizon', 20), ('rng', 7)), 20)
    """

    make: Callable[..., Any]
    settings: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, make: Callable[..., Any], **settings: Any) -> InstanceSpec:
        """Return the spec of ``make(**settings)``; values have to be hashable."""
        return cls(make, tuple(sorted(settings.items())))

    def instance(self) -> Any:
        """Return the instance; each process keeps the last few."""
        return _made(self)

    def fingerprint(self) -> str:
        """Return the fingerprint of the instance, which each process makes once for it."""
        return _fingerprint(self)


@cache
def _fingerprint(spec: InstanceSpec) -> str:
    return str(spec.instance().fingerprint())


@lru_cache(maxsize=4)
def _made(spec: InstanceSpec) -> Any:
    return spec.make(**dict(spec.settings))


@dataclass(frozen=True)
class Sweep:
    """A parameter of the instances that a figure varies.

    Its `name` is the column of the table and, unless `keyword` is given, the keyword of the
    generator, which gets `value` of each place. A quick run takes the `few` places, by default the
    first and the last. Sentences name the places with `each`, axes with `percent` and `names`.
    """

    name: str
    title: str
    places: tuple[Any, ...]
    few: tuple[Any, ...] = ()
    each: str = ""
    keyword: str = ""
    value: Callable[[Any], Any] = lambda place: place
    percent: bool = False
    names: Mapping[Any, str] = field(default_factory=dict)

    def at(self, quick: bool) -> tuple[Any, ...]:
        """Return the places of a quick or of a full run."""
        return (self.few or (self.places[0], self.places[-1])) if quick else self.places

    def settings(self, place: Any) -> dict[str, Any]:
        """Return what the generator is given at a place."""
        return {self.keyword or self.name: self.value(place)}

    def shown(self, place: Any) -> Any:
        """Return a place as an axis shows it."""
        return self.names.get(place, 100 * place if self.percent else place)


def _combined(over: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(over, values, strict=True)) for values in product(*over.values())]


def _name(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def evaluated(
    work: Callable[..., Mapping[str, Any]],
    over: Mapping[str, Iterable[Any]],
    *,
    at: Mapping[str, Any] | None = None,
    **settings: Any,
) -> list[Job]:
    """List jobs that call a function at every combination of values.

    The function of a module gets values and further `settings` by keyword, and returns numbers,
    texts or lists of them by name. The table has columns for both, and for `at`.
    """
    return [
        Job(
            {**(at or {}), **place, **settings, "aggregate": _name(work)},
            partial(work, **place, **settings),
        )
        for place in _combined(over)
    ]


def swept(
    system: str,
    spec: Callable[..., InstanceSpec],
    policies: Iterable[str | PolicyEntry],
    over: Mapping[str, Iterable[Any]],
    seeds: Iterable[int],
    **options: Any,
) -> list[Job]:
    """List the jobs of policies on instances drawn at every combination of swept values.

    Parameters
    ----------
    system
        Name of the system.
    spec
        ``spec(seed, **values)`` returns how to draw an instance.
    policies
        As in :func:`simulated`.
    over
        The swept values, by the name of their column.
    seeds
        Of the instances drawn at each place.
    **options
        For :func:`simulated`: runs, seed, aggregate, bounded, joint, bounds.

    Returns
    -------
    list of Job
        One for each place, seed and policy.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt_papers.figures import InstanceSpec, swept
    >>> def spec(seed, devices):
    ...     return InstanceSpec.of(generate, devices=devices, horizon=20, rng=seed)
    ...
    >>> jobs = swept("rescue", spec, ["srs", "random"], {"devices": (4, 8)}, range(3), runs=20)
    >>> len(jobs), jobs[0].identity["devices"]
    (12, 4)
    """
    # Once for all: whoever looks a name up asks every installed package what it offers.
    record = find_system(system)
    chosen = choose(record, list(policies))
    return [
        job
        for place in _combined(over)
        for seed in seeds
        for job in _simulated(record, spec(seed, **place), chosen, at=place, **options)
    ]


def simulated(
    system: str,
    spec: InstanceSpec,
    policies: Iterable[str | PolicyEntry],
    *,
    runs: int,
    seed: int = 0,
    at: Mapping[str, Any] | None = None,
    aggregate: Callable[[Case], Mapping[str, Any]] | None = None,
    bounded: bool = True,
    joint: bool = False,
    bounds: Sequence[str] = (),
) -> list[Job]:
    """List one job for each policy on an instance, or one for all of them.

    Parameters
    ----------
    system
        Name of the system.
    spec
        The instance.
    policies
        Names of its policies, or entries of your own; an entry has to do the same whenever it has
        the same name and the same values in `at`.
    runs
        Simulated runs, at least 2.
    seed
        Of the scenarios.
    at
        Where the job stands in the sweep: swept values by column, such as ``{"alpha": 3}``.
    aggregate
        Function of a module that maps the case of a job to numbers, texts or lists of them;
        by default :func:`table_row`.
    bounded
        Whether to compute the reference bound and the bounds of the policies. Without them, ratios
        are NaN.
    joint
        Whether one job compares all policies, which then share their plans; `aggregate` returns
        lists with an entry per policy.
    bounds
        Names of bounds that `aggregate` needs besides those.

    Returns
    -------
    list of Job
        Their table has the columns of `at`, ``system, instance, policy, aggregate, seed, runs``,
        then what `aggregate` returned.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.studies.sweeps import run_jobs
    >>> from edgeopt_papers.figures import InstanceSpec, simulated
    >>> spec = InstanceSpec.of(generate, servers=2, devices=4, horizon=20, rng=7)
    >>> jobs = simulated("rescue", spec, ["srs", "random"], runs=20)
    >>> run_jobs(jobs)[["policy", "runs"]]
       policy  runs
    0     srs    20
    1  random    20
    """
    record = find_system(system)
    return _simulated(
        record, spec, choose(record, policies), runs=runs, seed=seed, at=at, aggregate=aggregate,
        bounded=bounded, joint=joint, bounds=bounds,
    )  # fmt: skip


def _simulated(
    record: System,
    spec: InstanceSpec,
    entries: Sequence[PolicyEntry],
    *,
    runs: int,
    seed: int = 0,
    at: Mapping[str, Any] | None = None,
    aggregate: Callable[[Case], Mapping[str, Any]] | None = None,
    bounded: bool = True,
    joint: bool = False,
    bounds: Sequence[str] = (),
) -> list[Job]:
    """List the jobs of policies that have been looked up."""
    read = table_row if aggregate is None else aggregate
    about = frozenset({record.instances.kind.__module__})
    listed = []
    for group in [entries] if joint else [(entry,) for entry in entries]:
        names = [entry.name for entry in group]
        identity = {
            **(at or {}),
            "system": record.name,
            "instance": spec.fingerprint(),
            "policy": names if joint else names[0],
            "aggregate": _name(read),
            "seed": seed,
            "runs": runs,
            **({} if bounded else {"bounded": False}),
        }
        chosen = tuple(
            replace(
                entry,
                # Readings have no use for exact expectations, which take long.
                exact=None if aggregate else entry.exact,
            )
            for entry in group
        )
        arguments = (record.name, spec, chosen, runs, seed, read, bounded, tuple(bounds))
        listed.append(Job(identity, _run_policies, arguments, about))
    return listed


def table_row(case: Case) -> dict[str, float]:
    """Return the numbers of the only row of the table of a case, see `Case.table`."""
    [row] = case.table.to_dict("records")
    kept = {str(name): value for name, value in row.items() if name not in _LEFT_OUT}
    return {name: value for name, value in kept.items() if not name.startswith("relative")}


def _run_policies(
    system: str,
    spec: InstanceSpec,
    entries: Sequence[PolicyEntry],
    runs: int,
    seed: int,
    aggregate: Callable[[Case], Mapping[str, Any]],
    bounded: bool,
    more: Sequence[str],
) -> Mapping[str, Any]:
    record = find_system(system)
    wanted = {record.offline.reference, *more}
    wanted |= {entry.follows for entry in entries}
    if bounded:
        solved = Computed(record.offline.bounds, lambda name: _benchmark(system, name, spec))
        for entry in entries:
            policy = entry.make(spec.instance(), solved)
            wanted.update(candidates(record.offline.bounds, policy))
    bounds = {
        name: replace(known, compute=partial(_bound, system, name, spec, bounded))
        for name, known in record.offline.bounds.items()
        if name in wanted
    }
    narrowed = replace(
        record,
        policies=replace(record.policies, reference=""),
        offline=replace(record.offline, bounds=bounds),
        claims=None,
    )
    compared = study(
        {"instance": spec.instance()}, entries, system=narrowed, runs=runs, rng=seed, progress=False
    )
    return aggregate(compared.cases[0])


def _bound(system: str, name: str, spec: InstanceSpec, bounded: bool, _instance: Any) -> Benchmark:
    if bounded:
        return _benchmark(system, name, spec)
    return Benchmark(value=np.nan, bound=np.nan, gap=np.nan, seconds=0.0, solver="none")


@lru_cache(maxsize=8)
def _benchmark(system: str, name: str, spec: InstanceSpec) -> Benchmark:
    return find_system(system).offline.bounds[name].compute(spec.instance())
