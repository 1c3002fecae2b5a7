"""Compare policies on the same instances and scenarios, with the same reference bound."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

import edgeopt
from edgeopt import processes
from edgeopt.bounds.pairs import looks
from edgeopt.bounds.validity import Plan
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
from edgeopt.studies.checks import own, require_instance, watch
from edgeopt.studies.entries import BenchmarkEntry, Settings
from edgeopt.studies.progress import Step, progress_bar
from edgeopt.studies.results import Case, Study
from edgeopt.studies.simulation import Ran, control_entries, controls, run
from edgeopt.studies.system import Objective, System

if TYPE_CHECKING:
    import numpy as np

    from edgeopt.bounds.estimate import Control
    from edgeopt.bounds.validity import Judged
    from edgeopt.online.protocols import Policy
    from edgeopt.studies.checks import Own
    from edgeopt.studies.entries import Benchmark, PolicyEntry


MOST: Final = 1600
"""Most runs of a study that looks when to stop."""

ALONE: Final = 8.0
"""Seconds of work below which starting workers takes longer than they save."""

PRECISE: Final = 0.01
"""Share of its value within which every value is known precisely enough."""


def study(
    instances: Any,
    policies: Iterable[Any] | Policy[Any, Any, Any, Any, Any] | PolicyEntry | None = None,
    *,
    bounds: Mapping[str, Any] | None = None,
    checks: Iterable[Any] = (),
    watched: int = 200,
    system: System | str | None = None,
    runs: int | Literal["auto"] | None = None,
    until: int = MOST,
    rng: int | np.random.Generator = 0,
    workers: int = 1,
    reference: str | None = None,
    confidence: float = 0.95,
    drawn: bool = True,
    detailed: int | None = None,
    claims: bool = True,
    bound_time: float | None = None,
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
        attribute ``hindsight = True``; such policies come last. A plan stands for the policy that
        follows it.
    bounds
        Bounds of your own by name: a plan (what the class methods ``of`` of
        :mod:`edgeopt.models` return), a :class:`edgeopt.bounds.Bound`, a number that bounds every
        policy, or a function of the instance that returns one of these, which several instances
        need. The table compares every policy with the tightest bound of all that is valid for it,
        and says of each of yours why it is not.
    checks
        Constraints on what runs do that the table is to report: :class:`edgeopt.bounds.Check`
        objects, or constraints of a Pyomo or CVXPY program in the variables of the system's own.
    watched
        Most runs per policy of which a log is made for these; they take the plain loop, which is
        slower than compiled code.
    system
        The system, or its name; by default found by the type of the instance.
    runs
        Simulated runs per instance and policy, at least 2; the default depends on the system. A
        policy that draws no random number where nothing else is random is simulated once. With
        ``"auto"`` the study looks after 50, 100, 200, ... runs and stops when the first policy is
        better than all others that it was chosen from, or every value is known within 1 %. What it
        says is corrected for the looks. To raise the number by hand after a look is a new study.
    until
        Most runs with ``runs="auto"``.
    rng
        Seed of the scenarios, the same for every instance and policy. From a generator, the seed is
        drawn.
    workers
        Processes; -1 takes all cores. They start only where the study seems to take more than some
        8 seconds without.
    reference
        Name of the policy to which paired differences are taken; by default that of the system,
        in the variant of the policy compared.
    confidence
        Of each interval, and of all that is said of differences together.
    drawn
        Whether several instances were drawn at random, so that means, intervals and comparisons
        are of others like them; False for a fixed list, of which alone something is said.
    detailed
        Number of instances, from the first, that the page shows in detail and on which claims are
        checked; the default depends on the system.
    claims
        Whether to check them; on a large instance that may take longer than all else.
    bound_time
        Limit of every bound, s. A bound whose computation can stop early is then the best one in
        hand: it holds, but may be loose, and its status says so. The results then depend on
        how fast the machine is. By default no bound stops before it is done.
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
    auto = isinstance(runs, str) and runs == "auto"
    if isinstance(runs, str) and not auto:
        raise OptionError(f"runs = {runs!r}: must be a whole number from 2 on, 'auto', or None")
    if not auto:
        check_whole("runs", runs, 2, MOST_RUNS, none=True)  # a spread needs two
    check_whole("until", until, 2, MOST_RUNS)
    check_flag("drawn", drawn)
    check_workers(workers)
    check_real("confidence", confidence, "(0, 1)")
    check_whole("detailed", detailed, 1, none=True)
    check_flag("claims", claims)
    check_real("bound_time", bound_time, "[0, inf)", none=True)
    check_whole("watched", watched, 2, MOST_RUNS)
    if reference is not None:
        check_text("reference", reference)
    if progress is not None:
        check_flag("progress", progress)
    stream = generator(rng)
    named = _named(instances)
    record = _system(system, next(iter(named.values())))
    counts = looks(until) if auto else [record.policies.runs if runs is None else int(runs)]
    for name, instance in named.items():
        if not isinstance(instance, record.instances.kind):
            raise OptionError(
                f"instance {name!r} is a {type(instance).__name__}; "
                f"{record.name} takes {record.instances.kind.__name__}"
            )
        _require_fingerprint(instance)
    more = own(record, named, {} if bounds is None else bounds, list(checks))
    chosen = registry.listed(policies)
    for one in chosen or ():
        if isinstance(one, Plan):
            require_instance("policies", one, named)
    # Those that know the future come last.
    entries = sorted(registry.choose(record, chosen), key=lambda entry: not entry.causal)
    references = _references(record, entries, reference)
    seed = int(stream.integers(2**63)) if stream is rng else int(rng)  # type: ignore[arg-type]

    detailed = min(detailed or record.reporting.detailed or len(named), len(named))
    each = len(entries)
    total = sum(len(record.offline.offered(instance)) + each for instance in named.values())
    claims = claims and record.claims is not None
    total += detailed * claims + each * sum(bool(one.logged) for one in more.values())
    table = {entry.name: entry for entry in entries}
    first = Settings(
        runs=counts[0],
        seed=seed,
        workers=workers,
        confidence=confidence,
        seconds=0.0,
        version=edgeopt.__version__,
        platform=f"Python {platform.python_version()}, {platform.system()} {platform.machine()}",
        provenance=_noted(provenance, named),
        detailed=detailed,
        drawn=drawn,
    )

    def cases(parts: Mapping[str, Mapping[str, Any]], settings: Settings) -> tuple[Case, ...]:
        return tuple(
            Case(
                record, name, named[name], entries=table, references=references, settings=settings,
                own=more[name].bounds, checks=more[name].checks, **part,
            )
            for name, part in parts.items()
        )  # fmt: skip

    with progress_bar(total, show=progress) as step, processes.pool(workers, alone=ALONE) as pool:
        given = {name: one.benchmarks for name, one in more.items()}
        stages = _Stages(record, named, entries, seed, bound_time, pool, step, given)
        for place, count in enumerate(counts):
            seen = tuple(counts[: place + 1]) * auto
            settings = replace(first, runs=count, looks=seen, most=until * auto)
            parts = stages.simulated(count)
            if auto and all(map(settled, cases(parts, settings))):
                break
        found = stages.watched(more, min(watched, settings.runs), confidence)
        verdicts = stages.checked(detailed * claims)
    settings = replace(settings, seconds=time.perf_counter() - began)
    complete = {
        name: {**part, "verdicts": verdicts[name], "watched": found[name]}
        for name, part in parts.items()
    }
    return Study(record, cases(complete, settings), settings)


def settled(case: Case) -> bool:
    """Tell whether more runs are not worth it: the first is resolved, or all values are precise.

    Chow, Robbins: On the asymptotic theory of fixed-width sequential confidence intervals, 1965.
    """
    if not case.sampled:
        return True
    found = case.standings
    if found.first is not None and found.others and not found.open:
        return True
    spreads = [case.estimates[name].spread(case.settings.confidence) for name in case.causal]
    return all(
        one.kind in ("exact", "as", "equal")
        or (one.kind == "interval" and one.high - one.low <= 2 * PRECISE * abs(one.centre))
        for one in spreads
    )


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


class _Stages:
    """Solving, simulating and checking; every stage is a flat list of independent calls."""

    def __init__(
        self,
        record: System,
        named: Mapping[str, Any],
        entries: Sequence[PolicyEntry],
        seed: int,
        bound_time: float | None,
        pool: processes.Pool,
        step: Step,
        given: Mapping[str, Mapping[str, Benchmark]],
    ) -> None:
        self.record, self.named, self.entries, self.seed = record, named, entries, seed
        self.bound_time = bound_time
        self._pool, self._step = pool, step
        self.benchmarks: dict[str, dict[str, Benchmark]] = {
            name: dict(given[name]) for name in named
        }
        self.policies: dict[str, dict[str, Any]] = {}
        self.others: dict[str, dict[str, Any]] = {}
        self.ran: dict[tuple[str, str], Ran] = {}
        warm_up = record.policies.warm_up
        self._short = {name: warm_up(one) if warm_up else None for name, one in named.items()}

    def _stage(
        self,
        doing: Callable[[Any], str],
        call: Callable[..., Any],
        cells: Mapping[Any, Any],
        advance: int = 1,
    ) -> dict[Any, Any]:
        found = {}
        results = self._pool((call, given) for given in cells.values())
        for cell in cells:
            self._step(doing(cell), 0)
            found[cell] = next(results)
            self._step(doing(cell), advance)
        next(results, None)  # ends the iteration
        return found

    def _solve(self, runs: int) -> None:
        """Solve the bounds that are missing, and anew those of the scenarios."""
        offline, environment = self.record.offline, self.record.policies.environment
        labels = {key: one.label for key, one in offline.bounds.items()}
        solved = self._stage(lambda cell: f"bound {labels[cell[1]]}", BenchmarkEntry.solve, {
            (name, key): (
                offline.bounds[key], instance, environment, self.seed, runs, self.bound_time,
            )
            for name, instance in self.named.items()
            for key in offline.offered(instance)
            if key not in self.benchmarks[name] or offline.bounds[key].of_scenarios is not None
        })  # fmt: skip
        for (name, key), benchmark in solved.items():
            self.benchmarks[name][key] = benchmark
        if self.policies:
            return
        for name, instance in self.named.items():
            benchmarks = self.benchmarks[name]
            self.policies[name] = {
                entry.name: entry.make(instance, benchmarks) for entry in self.entries
            }

    def simulated(self, runs: int) -> dict[str, dict[str, Any]]:
        """Simulate so many runs of what is random, and return the parts of every case."""
        self._solve(runs)
        environment, objective = self.record.policies.environment, self.record.objective
        once = {key for key, one in self.ran.items() if one.trajectory.runs == 1}
        titles = {one.name: one.title for one in self.entries}
        self.ran |= self._stage(lambda cell: f"policy {titles[cell[1]]}", _simulate, {
            (name, one.name): (
                environment, instance, self._short[name], self.policies[name][one.name],
                objective, one.exact, self.seed, runs,
            )
            for name, instance in self.named.items()
            for one in self.entries
            if (name, one.name) not in once
        })  # fmt: skip
        beside = self._stage(lambda _: "policies known exactly", _beside, {
            name: (
                environment, instance, objective, self._candidates(name), self._of(name),
                self.seed, runs,
            )
            for name, instance in self.named.items()
            if any(one.exact is None for one in self._of(name).values())
            and not getattr(environment(instance), "alike", False)
        }, advance=0)  # fmt: skip
        return {
            name: {
                "benchmarks": dict(self.benchmarks[name]),
                "policies": self.policies[name],
                "trajectories": {key: one.trajectory for key, one in self._of(name).items()},
                "exact": {
                    key: one.exact for key, one in self._of(name).items() if one.exact is not None
                },
                "controls": beside.get(name, ()),
                "verdicts": (),
            }
            for name in self.named
        }

    def _of(self, name: str) -> dict[str, Ran]:
        return {one.name: self.ran[name, one.name] for one in self.entries}

    def _candidates(self, name: str) -> list[tuple[PolicyEntry, Any]]:
        """Return what may take luck out of the values on an instance, with its policies."""
        taken, known = self.policies[name], control_entries(self.record)
        known += [one for one in self.entries if one.exact is not None and one not in known]
        made = self.others.setdefault(name, {})
        known = [one for one in known if not one.follows or one.follows in self.benchmarks[name]]
        for entry in known:
            if entry.name not in taken and entry.name not in made:
                made[entry.name] = entry.make(self.named[name], self.benchmarks[name])
        return [(one, taken.get(one.name, made.get(one.name))) for one in known]

    def watched(
        self, own: Mapping[str, Own], runs: int, confidence: float
    ) -> dict[str, dict[str, dict[str, Judged]]]:
        """Judge the checks of the user by the logs of runs."""
        environment, offline = self.record.policies.environment, self.record.offline
        found = self._stage(lambda _: "checking constraints", watch, {
            (name, one.name): (
                environment, instance, self.policies[name][one.name], own[name].logged, offline,
                self.seed, min(runs, self.ran[name, one.name].trajectory.runs), confidence,
            )
            for name, instance in self.named.items()
            for one in self.entries
            if own[name].logged
        })  # fmt: skip
        return {
            name: {policy: one for (case, policy), one in found.items() if case == name}
            for name in self.named
        }

    def checked(self, count: int) -> dict[str, tuple[Any, ...]]:
        """Check the claims on the first instances."""
        claims, verdicts = self.record.claims, {}
        if claims is not None and count:
            verdicts = self._stage(lambda _: "checking claims", _check, {
                name: (claims.pattern, self.named[name], claims.given(self.benchmarks[name]))
                for name in list(self.named)[:count]
            })  # fmt: skip
        return {name: tuple(verdicts.get(name, ())) for name in self.named}


def _simulate(
    environment: Callable[[Any], Any],
    instance: Any,
    short: Any,
    policy: Any,
    objective: Objective,
    exact: Callable[[Any, Any], float | None] | None,
    seed: int,
    runs: int,
) -> Ran:
    from edgeopt.online import simulate

    if short is not None:
        simulate(environment(short), policy, rng=seed, runs=1)
    value = None if exact is None else partial(exact, instance, policy)
    return run(environment(instance), policy, objective, value, seed, runs)


def _beside(
    environment: Callable[[Any], Any],
    instance: Any,
    objective: Objective,
    candidates: Sequence[tuple[PolicyEntry, Any]],
    ran: Mapping[str, Ran],
    seed: int,
    runs: int,
) -> tuple[Control, ...]:
    return controls(
        environment(instance),
        objective,
        [
            (one.name, one.title, policy, partial(one.exact, instance, policy))
            for one, policy in candidates
            if one.exact is not None
        ],
        ran,
        seed,
        runs,
    )


def _check(pattern: str, instance: Any, options: Mapping[str, Any]) -> list[Any]:
    from edgeopt.bounds.registry import check, offered

    found = offered(pattern)
    return check(found, instance, **options) if found else []
