"""The policies that a RESCUE study compares, and the linear programs that bound them."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.validity import Check
from edgeopt.errors import OptionError
from edgeopt.studies.entries import Benchmark, BenchmarkEntry, PolicyEntry, made
from edgeopt.studies.wording import plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.online.simulate import Step

ONLINE, PLAIN, SAFE, FREE = "safe", "lp", "lp_safe", "lp_free"
"""Names of the benchmarks."""

METHODS = ("auto", "direct", "columns", "pdhg", "structured")
"""Ways to solve the linear program."""


def solve(
    instance: RescueInstance, *, time_limit: float | None = None, **options: Any
) -> Benchmark:
    """Solve P1-LP with its reserved tasks."""
    from edgeopt.models.rescue import solve_p1_lp

    plan = solve_p1_lp(instance, time_limit=time_limit, **options)
    return Benchmark.certified(plan, instance)


def _safe(instance: RescueInstance, *, time_limit: float | None = None) -> Benchmark:
    """Solve P1-LP without unsafe pairs."""
    return _shared(instance, time_limit)


@lru_cache(maxsize=1)
def _shared(instance: RescueInstance, time_limit: float | None) -> Benchmark:
    """Solve it once for the two bounds that need it."""
    return solve(instance, time_limit=time_limit, forbid_unsafe=True)


def _online(instance: RescueInstance, *, time_limit: float | None = None) -> Benchmark:
    """Bound safe policies; `value` is what RESCUE by state earns, exactly."""
    from edgeopt.models.rescue import safe_bound
    from edgeopt.online.rescue import SafeRescue
    from edgeopt.solvers.tolerance import relative_gap

    plan = _safe(instance, time_limit=time_limit).plan
    found = safe_bound(instance, plan=plan, time_limit=time_limit)
    rule, places = SafeRescue(plan=plan).start(instance)
    value = float(rule.values.value[list(places)].sum())
    return Benchmark(
        value=value,
        bound=found.value,
        gap=relative_gap(value, found.value),
        seconds=found.seconds,
        solver="dual prices",
        status=f"{plural(found.steps, 'price')} tried on {plural(found.states.count, 'state')}",
        plan=found,
    )


def _free(instance: RescueInstance, *, time_limit: float | None = None) -> Benchmark:
    from edgeopt.instances.rescue import ReservedTasks

    return solve(instance.replace(reserved=ReservedTasks.none()), time_limit=time_limit)


def _met(_instance: RescueInstance, trajectory: Any) -> Any:
    return trajectory.violations.sum(axis=1)


def _guarded(policy: Any) -> bool | None:
    guarded = getattr(policy, "guarded", None)
    return None if guarded is None else bool(guarded)


def _causal(policy: Any) -> bool:
    return getattr(policy, "hindsight", False) is not True


MET = Check(
    "reserved tasks met", _met, high=0, source="trajectory", declared=_guarded,
    sentence="meets all reserved tasks",
)  # fmt: skip
"""Guarded policies keep it by design."""

SURELY = Check("guarded", None, declared=_guarded, sentence="starts no run that might let one fail")
"""The same by design, so that no run, however rare, lets a reserved task fail."""

CAUSAL = Check("causal", None, declared=_causal, sentence="does not know the future")


def point(instance: RescueInstance, log: Sequence[Step]) -> dict[str, NDArray[np.float64]]:
    """Return which runs were begun: slot, device, server and profile, shape [T, J, K, L]."""
    begun = np.zeros(instance.shape[:4])
    for seen, decision, _ in log:
        if decision is not None:
            begun[seen.slot, seen.device, decision[0], decision[1]] = 1.0
    return {"y": begun}


def most(instance: RescueInstance, policy: Any) -> dict[str, NDArray[np.float64]] | None:
    """Return the plan that a policy follows: it begins what it routes, p times y / p, or nothing.

    The other policies may choose server or profile themselves.
    """
    from edgeopt.online.rescue import Rescue, SafeRescue

    if type(policy) not in (Rescue, SafeRescue) or policy.plan is None:
        return None
    y = policy.plan.y
    dense = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
    return {"y": dense.reshape(instance.shape[:4])}


def exact(instance: RescueInstance, policy: Any) -> dict[str, NDArray[np.float64]] | None:
    """Return how many runs of every kind begin in expectation, if there are few joint states."""
    from edgeopt.online.rescue import occupation

    try:
        return {"y": occupation(instance, policy, limit=5_000)}
    except OptionError:
        return None


BENCHMARKS = {
    ONLINE: BenchmarkEntry(
        "safe bound",
        _online,
        (MET, SURELY, CAUSAL),
    ),
    PLAIN: BenchmarkEntry(
        "LP bound",
        solve,
        (MET,),
    ),
    SAFE: BenchmarkEntry(
        "LP bound, safe pairs only",
        _safe,
        (MET, SURELY),
    ),
    FREE: BenchmarkEntry(
        "LP bound without reserved tasks",
        _free,
    ),
}


_GROUPS = (
    # name, title, class in edgeopt.online.rescue, follows a plan
    ("rescue", "RESCUE", "Rescue", True),
    ("rescueplus", "RESCUE+", "RescuePlus", True),
    ("pickconfigs", "PickConfigs", "PickConfigs", False),
    ("srs", "SRS", "Srs", False),
    ("sumita", "Sumita", "Sumita", True),
    ("cvs", "CVS", "Cvs", False),
    ("random", "Random", "RandomPolicy", False),
)

_STATES = 300
"""Most joint states of the servers for which an exact expectation is computed."""

_SERVER_BY_SERVER = ("rescue", "sumita")
"""Unguarded, these decide on a server by its own state alone: exact for any instance."""

_HALF = ("rescue", "rescueplus")
"""Unguarded, these guarantee half of the LP bound (Theorem 1)."""


_SHOWN = ("rescue", "rescueplus", "srs")
"""Beside the policies by price, a study compares these by default, guarded and not."""


def _planned(
    kind: str,
    guarded: bool,
    _instance: RescueInstance,
    benchmarks: Mapping[str, Benchmark],
) -> Any:
    from edgeopt.online import rescue

    plan = benchmarks[SAFE if guarded else PLAIN].plan
    return getattr(rescue, kind)(guarded=guarded, plan=plan)


def _exact(instance: RescueInstance, policy: Any) -> float | None:
    from edgeopt.online.rescue import policy_value

    return float(policy_value(instance, policy))


def _exact_within_limit(instance: RescueInstance, policy: Any) -> float | None:
    """Follow the joint state of all servers, if there are few."""
    if (int(instance.longest.max()) + 1) ** instance.servers > _STATES:
        return None
    try:
        return _exact(instance, policy)
    except OptionError:  # the work left of reserved tasks makes too many states
        return None


def _entry(name: str, title: str, kind: str, planned: bool, guarded: bool) -> PolicyEntry:
    make = (
        partial(_planned, kind, guarded)
        if planned
        else made("edgeopt.online.rescue", kind, guarded=guarded)
    )
    published = not guarded and name != "rescueplus"
    return PolicyEntry(
        name=f"{name}+guard" if guarded else name,
        group=title,
        make=make,
        variant="guarded" if guarded else "unguarded",
        edition="published" if published else "improved",
        guarantee=0.5 if name in _HALF and not guarded else None,
        guarantee_of=PLAIN,
        follows=(SAFE if guarded else PLAIN) if planned else "",
        exact=_exact if name in _SERVER_BY_SERVER and not guarded else _exact_within_limit,
        default=name in _SHOWN,
    )


def _by_price(kind: str, _instance: RescueInstance, benchmarks: Mapping[str, Benchmark]) -> Any:
    from edgeopt.online import rescue

    return getattr(rescue, kind)(bound=benchmarks[ONLINE].plan)


_BY_STATE = tuple(
    PolicyEntry(
        name, title, partial(_by_price, kind), "guarded", exact=_exact_within_limit, follows=ONLINE,
    )
    for name, title, kind in (
        ("offers", "Competing offers", "CompetingOffers"),
        ("price", "Price-greedy", "PriceGreedy"),
    )
)  # fmt: skip
"""Policies that know what reserved work leaves of every server, the recommended one first."""


def _by_state(_instance: RescueInstance, benchmarks: Mapping[str, Benchmark]) -> Any:
    from edgeopt.online.rescue import SafeRescue

    return SafeRescue(plan=benchmarks[SAFE].plan)


CONTROLS = (
    PolicyEntry(
        "rescue+state", "RESCUE by state", _by_state, exact=_exact, follows=SAFE, default=False,
    ),
)  # fmt: skip
"""Keeps reserved tasks as the guarded policies do, and its value is known for any instance."""

POLICIES = (
    *_BY_STATE,
    *(_entry(*group, guarded=False) for group in _GROUPS),
    *(_entry(*group, guarded=True) for group in _GROUPS),
)
