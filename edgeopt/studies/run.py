"""Compare policies on the same instances and scenarios, with the same reference bound."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import edgeopt
from edgeopt import processes
from edgeopt.errors import OptionError
from edgeopt.online.simulate import MOST_RUNS
from edgeopt.options import (
    check_flag,
    check_real,
    check_text,
    check_whole,
    check_workers,
    generator,
)
from edgeopt.studies import registry
from edgeopt.studies.entries import BenchmarkEntry
from edgeopt.studies.progress import Step, progress_bar
from edgeopt.studies.results import Case, Settings, Study
from edgeopt.studies.system import System

if TYPE_CHECKING:
    import numpy as np

    from edgeopt.online.protocols import Policy, Trajectory
    from edgeopt.studies.entries import Benchmark, PolicyEntry


def study(
    instances: Any,
    policies: Iterable[Any] | Policy[Any, Any, Any, Any, Any] | PolicyEntry | None = None,
    *,
    system: System | str | None = None,
    runs: int | None = None,
    rng: int | np.random.Generator = 0,
    workers: int = 1,
    reference: str | None = None,
    confidence: float = 0.95,
    detailed: int | None = None,
    claims: bool = True,
    progress: bool | None = None,
    provenance: Iterable[str] = (),
) -> Study:
    """Compare policies on one instance or several.

    For every instance the offline benchmarks are solved once, every policy is simulated on the same
    scenarios, and the claims of the system are checked. Except for timings, the result does not
    depend on `workers`.

    Parameters
    ----------
    instances
        One instance, a sequence of them, or a mapping from names to them; all of one system.
    policies
        Names and glob patterns of the system's policies (``"rescue*"``), policy objects, or a
        mixture; one alone needs no list, and ``"all"`` are all of them. By default those entries
        with ``default=True``, at most eight.
        ``[mine, "*"]`` compares a policy of your own with all of the system's. ``learned`` is the
        learned policy that the system recommends, ``learned:NAME`` one that comes with the package,
        ``learned:PATH`` one that `edgeopt train` has made. One that knows the future of a run,
        which is marked and never called best, says so by its `kind`, or as an object by an
        attribute ``hindsight = True``; such policies come last.
    system
        The system, or its name; by default found by the type of the instance.
    runs
        Simulated runs per instance and policy, at least 2; the default depends on the system.
    rng
        Seed of the scenarios, the same for every instance and policy. From a generator, the seed is
        drawn.
    workers
        Processes; -1 takes all cores.
    reference
        Name of the policy to which paired differences are taken; by default that of the system,
        in the variant of the policy compared.
    confidence
        Of the intervals.
    detailed
        Number of instances, from the first, that the page shows in detail and on which claims are
        checked; the default depends on the system.
    claims
        Whether to check them; on a large instance that may take longer than all else.
    progress
        Whether to show a progress bar; by default only when standard error is a terminal.
    provenance
        Origin of the data of the instances, one line per data set, for the page.

    Returns
    -------
    Study
        Table, benchmarks, trajectories and verdicts; it can write its page.

    Raises
    ------
    OptionError
        If an option is out of range, a policy or system is unknown, or there is no instance.
    PolicyError
        If a policy of your own lacks a part, or as in :func:`edgeopt.online.simulate`.

    Examples
    --------
    >>> from edgeopt import study
    >>> from edgeopt.instances.rescue import generate
    >>> result = study(generate(horizon=20), ["rescue", "random"], runs=20)
    >>> list(result.table["policy"])
    ['rescue', 'random']
    """
    began = time.perf_counter()
    check_whole("runs", runs, 2, MOST_RUNS, none=True)  # an interval needs two
    check_workers(workers)
    check_real("confidence", confidence, "(0, 1)")
    check_whole("detailed", detailed, 1, none=True)
    check_flag("claims", claims)
    if reference is not None:
        check_text("reference", reference)
    if progress is not None:
        check_flag("progress", progress)
    stream = generator(rng)
    named = _named(instances)
    record = _system(system, next(iter(named.values())))
    runs = record.policies.runs if runs is None else runs
    for name, instance in named.items():
        if not isinstance(instance, record.instances.kind):
            raise OptionError(
                f"instance {name!r} is a {type(instance).__name__}; "
                f"{record.name} takes {record.instances.kind.__name__}"
            )
        _require_fingerprint(instance)
    # Those that know the future come last.
    entries = sorted(registry.choose(record, policies), key=lambda entry: not entry.causal)
    references = _references(record, entries, reference)
    seed = int(stream.integers(2**63)) if stream is rng else int(rng)  # type: ignore[arg-type]

    detailed = min(detailed or record.reporting.detailed or len(named), len(named))
    each = len(entries)
    total = sum(len(record.offline.offered(instance)) + each for instance in named.values())
    claims = claims and record.claims is not None
    total += detailed * claims
    with progress_bar(total, show=progress) as step:
        parts = _compute(
            record, named, entries, runs=runs, seed=seed, checked=detailed * claims,
            workers=workers, step=step,
        )  # fmt: skip
    settings = Settings(
        runs=runs,
        seed=seed,
        workers=workers,
        confidence=confidence,
        seconds=time.perf_counter() - began,
        version=edgeopt.__version__,
        platform=f"Python {platform.python_version()}, {platform.system()} {platform.machine()}",
        provenance=_noted(provenance, named),
        detailed=detailed,
    )
    table = {entry.name: entry for entry in entries}
    cases = tuple(
        Case(
            record,
            name,
            named[name],
            entries=table,
            references=references,
            settings=settings,
            **part,
        )
        for name, part in parts.items()
    )
    return Study(record, cases, settings)


def _noted(provenance: Iterable[str], named: Mapping[str, Any]) -> tuple[str, ...]:
    """Return where the data come from, and what the instances note of them."""
    said = dict.fromkeys(provenance)
    for name, instance in named.items():
        head = f"{name}: " if len(named) > 1 else ""
        said |= {
            f"{head}{note}": None for note in getattr(instance, "notes", ()) if note not in said
        }
    return tuple(said)


def _named(instances: Any) -> dict[str, Any]:
    """Give every instance a name; without one it goes by its fingerprint."""
    if isinstance(instances, Mapping):
        named = {str(name): instance for name, instance in instances.items()}
    else:
        several = isinstance(instances, Sequence) and not isinstance(instances, str)
        named = {}
        for instance in instances if several else [instances]:
            _require_fingerprint(instance)
            named[str(instance.fingerprint())[:12]] = instance
    if not named:
        raise OptionError("instances: must not be empty")
    return named


def _require_fingerprint(instance: Any) -> None:
    if not callable(getattr(instance, "fingerprint", None)):
        raise OptionError(
            f"{type(instance).__name__} is no instance; build one with edgeopt.instances, or add "
            "a method fingerprint() to your class"
        )


def _system(wanted: System | str | None, instance: Any) -> System:
    if wanted is None:
        return registry.system_of(instance)
    if isinstance(wanted, str):
        return registry.find_system(wanted)
    if not isinstance(wanted, System):
        raise OptionError(f"system: must be a System or its name, not a {type(wanted).__name__}")
    return wanted


def _references(
    record: System, entries: Sequence[PolicyEntry], wanted: str | None
) -> dict[str, str]:
    """Name for every policy the one with which it is compared."""
    names = {entry.name: entry for entry in entries}
    if wanted is not None:
        if wanted not in names:
            raise OptionError(
                f"reference {wanted!r} is not among the policies compared: {', '.join(names)}"
            )
        return dict.fromkeys(names, wanted)
    default = names.get(record.policies.reference, entries[0])
    like = {e.variant: e.name for e in reversed(entries) if e.group == default.group}
    return {entry.name: like.get(entry.variant, default.name) for entry in entries}


def _compute(
    record: System,
    named: Mapping[str, Any],
    entries: Sequence[PolicyEntry],
    *,
    runs: int,
    seed: int,
    checked: int,
    workers: int,
    step: Step,
) -> dict[str, dict[str, Any]]:
    """Solve, simulate and check; every stage is a flat list of independent jobs."""
    environment, warm_up = record.policies.environment, record.policies.warm_up
    with processes.pool(workers) as pool:

        def stage(doing: str, call: Callable[..., Any], jobs: Mapping[Any, Any]) -> dict[Any, Any]:
            found = {}
            calls = ((call, given) for given in jobs.values())
            for job, result in zip(jobs, pool(calls), strict=True):
                step(doing)
                found[job] = result
            return found

        solved = stage("solving benchmarks", BenchmarkEntry.solve, {
            (name, key): (record.offline.bounds[key], instance, environment, seed, runs)
            for name, instance in named.items()
            for key in record.offline.offered(instance)
        })  # fmt: skip
        benchmarks: dict[str, dict[str, Benchmark]] = {name: {} for name in named}
        for (name, key), benchmark in solved.items():
            benchmarks[name][key] = benchmark
        policies = {
            name: {entry.name: entry.make(instance, benchmarks[name]) for entry in entries}
            for name, instance in named.items()
        }
        short = {name: warm_up(instance) if warm_up else None for name, instance in named.items()}
        ran = stage("simulating policies", _simulate, {
            (name, one.name): (
                environment, instance, short[name], policies[name][one.name], one.exact, seed, runs,
            )
            for name, instance in named.items()
            for one in entries
        })  # fmt: skip
        verdicts: dict[str, Any] = {}
        if record.claims is not None and checked:
            verdicts = stage("checking claims", _check, {
                name: (record.claims.pattern, named[name], record.claims.given(benchmarks[name]))
                for name in list(named)[:checked]
            })  # fmt: skip
    return {
        name: {
            "benchmarks": benchmarks[name],
            "policies": policies[name],
            "trajectories": {one.name: ran[name, one.name][0] for one in entries},
            "exact": {
                one.name: value for one in entries if (value := ran[name, one.name][1]) is not None
            },
            "verdicts": tuple(verdicts.get(name, ())),
        }
        for name in named
    }


def _simulate(
    environment: Callable[[Any], Any],
    instance: Any,
    short: Any,
    policy: Any,
    exact: Callable[[Any, Any], float | None] | None,
    seed: int,
    runs: int,
) -> tuple[Trajectory, float | None]:
    from edgeopt.online import simulate

    if short is not None:
        simulate(environment(short), policy, rng=seed, runs=1)
    trajectory = simulate(environment(instance), policy, rng=seed, runs=runs)
    return trajectory, None if exact is None else exact(instance, policy)


def _check(pattern: str, instance: Any, options: Mapping[str, Any]) -> list[Any]:
    from edgeopt.bounds.registry import check, offered

    found = offered(pattern)
    return check(found, instance, **options) if found else []
