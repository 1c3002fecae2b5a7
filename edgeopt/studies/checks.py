"""Bounds and checks of a study: those of the system, those of the user, and what runs came to."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.bounds.validity import (
    BY_DESIGN,
    KEPT,
    TIE,
    Bound,
    Check,
    Judged,
    Plan,
    candidates,
    why,
)
from edgeopt.errors import EdgeOptError, OptionError
from edgeopt.models.rows import Rows, Values
from edgeopt.options import check_text
from edgeopt.studies.entries import Benchmark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.online.protocols import Trajectory
    from edgeopt.studies.results import Case
    from edgeopt.studies.system import Offline, System

GIVEN: Final = "given by the user"
"""What stands for the solver of a bound that was not computed here."""

_TAKEN: Final = frozenset(
    [
        "instance",
        "policy",
        "group",
        "variant",
        "kind",
        "information",
        "runs",
        "place",
        "how",
        "spread",
        "value",
        "raw_mean",
        "gap",
        "beyond",
        "ratio",
        "bound",
        "violated",
        "reference",
        "relative",
        "decision_us",
    ]
)
"""Columns of every table, which no check may be called."""


def offered(offline: Offline, benchmarks: Mapping[str, Benchmark]) -> dict[str, Bound]:
    """Return the bounds of a system that were computed for an instance."""
    return {
        name: Bound(float(benchmarks[name].bound), entry.checks, entry.label)
        for name, entry in offline.bounds.items()
        if name in benchmarks
    }


def judged(case: Case, policy: str) -> dict[str, Judged]:
    """Judge the checks that need no log, of all bounds of a case and beside them."""
    checks = [one for bound in case.bounds.values() for one in bound.checks]
    return of_trajectory(
        [*checks, *case.checks.values()], case.instance, case.policies[policy],
        case.trajectories[policy], case.settings.confidence,
    )  # fmt: skip


def of_trajectory(
    checks: Iterable[Check],
    instance: Any,
    policy: Any,
    trajectory: Trajectory,
    confidence: float = 0.95,
) -> dict[str, Judged]:
    """Judge checks by what a policy declares, else by its trajectory; the others by nothing."""
    found: dict[str, Judged] = {}
    for check in checks:
        if check.name in found:
            continue
        numbers = None
        if check.measure is not None and check.source == "trajectory":
            numbers = check.numbers(instance, trajectory)
        # A study simulates a policy once where nothing is random.
        exact = trajectory.runs == 1
        found[check.name] = check.found(policy, numbers, confidence=confidence, exact=exact)
    return found


def tightest(case: Case, policy: str) -> str:
    """Name the tightest bound that is valid for a policy, "" where none is."""
    found = case.judged[policy]
    valid = {name: one for name, one in case.bounds.items() if not why(one, found)}
    checks = {name: {one.name for one in bound.checks} for name, bound in valid.items()}
    # What more checks ask for is tighter, whatever rounding says.
    own = [
        name
        for name in valid
        if name in case.own or not any(checks[name] < checks[other] for other in valid)
    ]
    sign = 1.0 if case.objective.sense == "max" else -1.0
    return min(own, key=lambda name: sign * valid[name].value, default="")


def valid_for(offline: Offline, instance: Any, policy: Any, trajectory: Trajectory) -> list[str]:
    """Name the bounds of a system that are valid for a policy in its runs, no looser ones."""
    names = candidates(offline.bounds, policy)
    checks = {name: offline.bounds[name].checks for name in names}
    found = of_trajectory(
        [one for those in checks.values() for one in those], instance, policy, trajectory
    )
    return [name for name in names if all(found[one.name].kept == KEPT for one in checks[name])]


def _same(one: Check, other: Check) -> bool:
    return one.measure == other.measure and one.per == other.per


class Own(NamedTuple):
    """Bounds and checks of the user on one instance."""

    bounds: dict[str, Bound]
    benchmarks: dict[str, Benchmark]
    checks: dict[str, Check]

    @property
    def logged(self) -> list[Check]:
        """Checks that the log of a run is needed for."""
        return [one for one in self.checks.values() if one.source == "log"]


def own(
    record: System, named: Mapping[str, Any], bounds: Mapping[str, Any], checks: Sequence[Any]
) -> dict[str, Own]:
    """Check what the user gives, and return it for every instance."""
    several = len(named) > 1
    for key, given in bounds.items():
        check_text("bounds", key)
        if key in record.offline.bounds:
            raise OptionError(
                f"bounds: {record.name} has a bound {key!r} itself; name it otherwise"
            )
        if several and not _computed(given):
            raise OptionError(
                f"bounds[{key!r}]: {len(named)} instances need a function of the instance that "
                "returns its bound"
            )
    for one in checks:
        if several and not isinstance(one, Check):
            raise OptionError(
                "checks: a constraint is that of a program of one instance; for several give a "
                "Check that measures the log"
            )
    return {name: _own(record, name, one, bounds, checks) for name, one in named.items()}


def _computed(given: Any) -> bool:
    return callable(given) and not isinstance(given, Bound | Plan)


def _own(
    record: System, name: str, instance: Any, bounds: Mapping[str, Any], checks: Sequence[Any]
) -> Own:
    offline = record.offline
    base = {one.name: one for entry in offline.bounds.values() for one in entry.checks}
    found = Own({}, {}, {})
    metrics = {one.name for one in record.reporting.metrics}

    def take(check: Check) -> Check:
        if check.per is None:
            check = replace(check, per=offline.per)
        known = found.checks.get(check.name)
        if base.get(check.name) is check:
            return check
        if known and isinstance(check.measure, Rows) and _same(known, check):
            return known
        if check.name in base.keys() | metrics | _TAKEN or check.name in found.checks:
            raise OptionError(f"check {check.name!r}: the name is taken; choose another one")
        if isinstance(check.measure, Rows) and offline.point is None:
            raise OptionError(
                f"check {check.name!r}: {record.name} does not say what runs did in the variables "
                "of its program (Offline.point)"
            )
        found.checks[check.name] = check
        return check

    taken: dict[Check, Check] = {}  # by identity

    def once(check: Check) -> Check:
        """Take a check that several bounds have only once."""
        if check not in taken:
            taken[check] = take(check)
        return taken[check]

    for key, given in bounds.items():
        given = given(instance) if _computed(given) else given
        found.benchmarks[key], bound = _bound(f"bounds[{key!r}]", offline, name, instance, given)
        found.bounds[key] = replace(
            bound, checks=tuple(map(once, bound.checks)), label=bound.label or key
        )
    for one in checks:
        once(one if isinstance(one, Check) else Check.of(one))
    return found


def _bound(
    where: str, offline: Offline, name: str, instance: Any, given: Any
) -> tuple[Benchmark, Bound]:
    if isinstance(given, Plan):
        require_instance(where, given, {name: instance})
        other = given.program == "other"
        base = offline.bounds[offline.solved or offline.reference].checks
        value = nan if other else float(given.bound)
        note = f"another program: {'; '.join(given.changed)}" if other else ""
        solution: Any = getattr(given, "solution", None)
        seconds, solver = (sum(solution.seconds), solution.solver) if solution else (0.0, GIVEN)
        benchmark = Benchmark(
            float(given.objective), value, float(given.gap), seconds, solver, plan=given
        )
        return benchmark, Bound(value, (*base, *given.checks), note=note)
    bound = given if isinstance(given, Bound) else _number(where, given)
    return Benchmark(nan, float(bound.value), nan, 0.0, GIVEN), bound


def _number(where: str, given: Any) -> Bound:
    try:
        return Bound(given)
    except OptionError:
        raise OptionError(
            f"{where}: must be a plan, a Bound, a number, or a function of the instance that "
            f"returns one, not a {type(given).__name__}"
        ) from None


def require_instance(where: str, plan: Any, named: Mapping[str, Any]) -> None:
    """Check that a plan is one for these instances."""
    instance = getattr(plan, "instance", None)
    if instance is None:
        return
    for name, one in named.items():
        if instance.fingerprint() != one.fingerprint():
            raise OptionError(
                f"{where}: the plan is one of the instance {str(instance.fingerprint())[:12]}, not "
                f"of {name!r} ({str(one.fingerprint())[:12]}); solve its program for that"
            )


def watch(
    environment: Callable[[Any], Any],
    instance: Any,
    policy: Any,
    checks: Sequence[Check],
    offline: Offline,
    seed: int,
    runs: int,
    confidence: float,
) -> dict[str, Judged]:
    """Judge checks by the logs of runs, on the scenarios that `simulate` draws from the seed.

    One run is all where nothing is random.
    """
    from edgeopt.online.simulate import logs

    rows = [one for one in checks if isinstance(one.measure, Rows)]
    seen: dict[str, list[Any]] = {one.name: [] for one in checks}
    for log in logs(environment(instance), policy, rng=seed, runs=runs):
        point = Values(offline.point(instance, log)) if rows and offline.point else None
        for one in checks:
            seen[one.name].append(_numbers(one, instance, point if one in rows else log))
    found = {}
    for one in checks:
        numbers = seen[one.name]
        if len({row.size for row in numbers}) > 1:
            raise OptionError(
                f"check {one.name!r}: its measure returned {numbers[0].size} items in one run and "
                "another number in another; it must return as many in each"
            )
        found[one.name] = one.found(
            policy, np.array(numbers), confidence=confidence, exact=runs == 1
        )
    return found | _without_sampling(rows, instance, policy, offline, found)


def _numbers(check: Check, instance: Any, given: Any) -> NDArray[np.float64]:
    try:
        return check.numbers(instance, given)
    except EdgeOptError as error:
        if f"check {check.name!r}" in str(error):
            raise
        raise OptionError(f"check {check.name!r}: {error}") from error


def _without_sampling(
    rows: Sequence[Check], instance: Any, policy: Any, offline: Offline, found: Mapping[str, Judged]
) -> dict[str, Judged]:
    """Judge rows that are kept on average by expectations, where these are known or limited."""
    better: dict[str, Judged] = {}
    rows = [one for one in rows if one.per == "mean"]
    if rows and offline.most and (most := offline.most(instance, policy)) is not None:
        for one in rows:
            if _grows(one, most) and (one.numbers(instance, Values(most)) <= one.high + TIE).all():
                better[one.name] = replace(found[one.name], kept="kept", how=BY_DESIGN)
    rest = [one for one in rows if one.name not in better]
    if rest and offline.exact and (exact := offline.exact(instance, policy)) is not None:
        for one in rest:
            judged = one.judge(_numbers(one, instance, Values(exact))[None], exact=True)
            better[one.name] = replace(judged, broken=found[one.name].broken)
    return better


def _grows(check: Check, known: Mapping[str, Any]) -> bool:
    """Tell whether a limit from above on nothing but these, with coefficients from 0 on."""
    assert isinstance(check.measure, Rows)
    return bool(np.isneginf(check.low).all()) and all(
        c >= 0 and name.partition("[")[0] in known
        for row in check.measure.rows
        for name, c in row.coefficient.items()
    )
