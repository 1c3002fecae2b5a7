"""The view of an instance, computed anew: a few policies, their bound, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from edgeopt.bounds.validity import candidates
from edgeopt.errors import EdgeOptError, OptionError
from edgeopt.later import Computed
from edgeopt.online.simulate import MOST_RUNS
from edgeopt.options import check_whole
from edgeopt.studies import registry
from edgeopt.studies.entries import Settings
from edgeopt.studies.pages.instance import View, view_of
from edgeopt.studies.results import Case
from edgeopt.studies.simulation import control_entries, controls, run
from edgeopt.studies.system import Reporting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from edgeopt.studies.entries import PolicyEntry
    from edgeopt.studies.system import System


@dataclass(frozen=True)
class ViewSettings:
    """What a view compares.

    Parameters
    ----------
    policies
        Names and patterns of policies; those that the system recommends for a view by default.
    runs
        Scenarios, at least 2; the default depends on the system.
    rng
        Seed of the scenarios.
    bound
        Name of the proven bound; by default that which the system recommends for a view.
    """

    policies: tuple[str, ...] = ()
    runs: int | None = None
    rng: int = 0
    bound: str = ""


def view(instance: Any, settings: ViewSettings | None = None) -> View:
    """Compare policies on one instance, on common scenarios and against a proven bound.

    If edgeopt refuses instance or settings, the view is the text of the error.
    """
    try:
        return view_of(_case(instance, settings or ViewSettings()))
    except EdgeOptError as error:
        return View(str(error))


def _case(instance: Any, settings: ViewSettings) -> Case:
    """Simulate the policies, and solve the bound and what they need, nothing else."""
    record = registry.system_of(instance)
    live = record.live
    preferred = (live.bound if live else "") or record.offline.reference
    bound = settings.bound or preferred
    if bound not in record.offline.offered(instance):
        raise OptionError(
            f"bound {bound!r} is unknown here; choose from "
            f"{', '.join(record.offline.offered(instance))}"
        )
    runs = settings.runs or (live.runs if live else record.policies.runs)
    check_whole("runs", runs, 2, MOST_RUNS)
    seed = settings.rng
    check_whole("rng", seed, 0)
    wanted = settings.policies or (live.policies if live else ())
    entries = {
        entry.name: entry
        for entry in sorted(_chosen(record, wanted), key=lambda one: not one.causal)
    }
    known, make = record.offline.bounds, record.policies.environment
    bounds = Computed(known, lambda name: known[name].solve(instance, make, seed, runs))
    policies = {name: entry.make(instance, bounds) for name, entry in entries.items()}
    others = [
        name
        for policy in policies.values()
        if not all(one.may_hold(policy) for one in known[bound].checks)
        for name in candidates(known, policy)
    ]
    needed = dict.fromkeys([bound, *others])
    environment = make(instance)
    ran = {
        name: run(
            environment, policy, record.objective, _exact(entries[name], instance, policy), seed,
            runs,
        )
        for name, policy in policies.items()
    }  # fmt: skip
    beside = [] if getattr(environment, "alike", False) else control_entries(record)
    # Another bound would take longer than the view.
    made = {
        one.name: policies.get(one.name) or one.make(instance, bounds)
        for one in beside
        if one.name in policies or not one.follows or one.follows in bounds.held
    }
    return Case(
        system=_narrowed(record, entries, list(needed)),
        name=str(instance.fingerprint())[:12],
        instance=instance,
        benchmarks={name: bounds[name] for name in needed},
        entries=entries,
        policies=policies,
        trajectories={name: one.trajectory for name, one in ran.items()},
        exact={name: one.exact for name, one in ran.items() if one.exact is not None},
        controls=controls(
            environment,
            record.objective,
            [
                (one.name, one.title, made[one.name], _exact(one, instance, made[one.name]))
                for one in beside
                if one.name in made
            ],
            ran,
            seed,
            runs,
        ),
        references=dict.fromkeys(entries, next(iter(entries))),
        verdicts=(),
        settings=Settings(runs, seed, 1, 0.95, 0.0, "", ""),
    )


def _exact(entry: PolicyEntry, instance: Any, policy: Any) -> Callable[[], float | None] | None:
    return None if entry.exact is None else partial(entry.exact, instance, policy)


def _chosen(record: System, wanted: Sequence[Any]) -> Sequence[PolicyEntry]:
    """Resolve policies; plugins are read, which takes a while, only where they may be meant."""
    own = {entry.name: entry for entry in record.policies.entries}
    if wanted and all(isinstance(one, str) and one in own for one in wanted):
        return [own[name] for name in dict.fromkeys(wanted)]
    return registry.choose(record, wanted or None)


def _narrowed(record: System, entries: Mapping[str, PolicyEntry], bounds: Sequence[str]) -> System:
    """Return the record with the bound that is drawn and those of policies, and what is shown."""
    return replace(
        record,
        offline=replace(
            record.offline,
            bounds={name: record.offline.bounds[name] for name in bounds},
            solve=None,
        ),
        policies=replace(record.policies, entries=tuple(entries.values())),
        reporting=Reporting(),
    )
