"""The jobs that the collection is made of, and that `edgeopt.bench` measures."""

from __future__ import annotations

import hashlib
import json
from functools import cache, lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.bounds.estimate import estimates
from edgeopt.collection.certification import certificate_of, without_program
from edgeopt.collection.entries import LARGEST, OPTIMAL, edition, improvements, load, names, row_of
from edgeopt.collection.measures import timed
from edgeopt.collection.optima import AUTO, PROBLEMS, solved
from edgeopt.errors import CertificateError, EdgeOptError, OptionError
from edgeopt.solvers.tolerance import relative_gap
from edgeopt.studies.sweeps import Job
from edgeopt.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from edgeopt.bounds.estimate import Control
    from edgeopt.studies.entries import Benchmark, PolicyEntry
    from edgeopt.studies.system import System

GAP: Final = 1e-6
"""Relative gap to which offline problems are solved."""


def scenarios_of(fingerprint: str) -> int:
    """Return the seed of the scenarios of an instance, the same for all policies."""
    text = f"{edition()} {fingerprint}"
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16)


def offline_job(
    row: Mapping[str, Any], competitor: str, gaps: Sequence[float], time_limit: float
) -> Job:
    """Solve the offline problem of an instance with one competitor, to each gap."""
    wanted = tuple(sorted(gaps, reverse=True))
    identity = _identity(row) | {
        "competitor": competitor, "gaps": " ".join(f"{gap:g}" for gap in wanted),
        "time_limit": time_limit,
    }  # fmt: skip
    return Job(identity, _solve, (row["system"], row["name"], competitor, wanted, time_limit))


def best_job(row: Mapping[str, Any], gap: float, time_limit: float, folder: str) -> Job:
    """Solve the offline problem of an instance, and prove it: by a certificate, or twice."""
    identity = _identity(row) | {"proven": True, "gap": gap, "time_limit": time_limit}
    return Job(identity, _solve_and_prove, (row["system"], row["name"], gap, time_limit, folder))


def online_job(row: Mapping[str, Any], policy: str, runs: int) -> Job:
    """Run a policy, by the name of its entry or as ``module:Class``, on the common scenarios."""
    seed = scenarios_of(row["fingerprint"])
    identity = _identity(row) | {"policy": policy, "runs": runs, "seed": seed}
    module = policy.partition(":")[0] if ":" in policy else ""
    return Job(
        identity, _run, (row["system"], row["name"], policy, runs, seed),
        frozenset([module] if module else []),
    )  # fmt: skip


def bound_job(row: Mapping[str, Any], bound: str, runs: int) -> Job:
    """Compute a bound on what policies can reach on the common scenarios."""
    seed = scenarios_of(row["fingerprint"])
    identity = _identity(row) | {"bound": bound, "runs": runs, "seed": seed}
    return Job(identity, _bound, (row["system"], row["name"], bound, runs, seed))


def published(record: System) -> list[PolicyEntry]:
    """Return the published policies that do not know the future."""
    return [one for one in record.policies.entries if one.edition == "published" and one.causal]


def recommended(record: System) -> PolicyEntry:
    """Return the policy that stands first in the record."""
    entry: PolicyEntry = record.policies.entries[0]
    return entry


def _identity(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"instance": row["name"], "fingerprint": row["fingerprint"]}


def _solve(
    system: str, name: str, competitor: str, gaps: Sequence[float], time_limit: float
) -> dict[str, Any]:
    """Solve to each gap, the widest first; one that an earlier result keeps takes no other run."""
    instance, last = load(name), None
    reached: list[dict[str, Any]] = []
    for target in gaps:
        try:
            if last is None or last.last.gap > target:
                _warm(system, competitor)
                last = timed(partial(solved, system, instance, competitor, target, time_limit))
        except EdgeOptError as error:
            reached.append({"target": target, "failed": str(error)})
            continue
        reached.append({"target": target, "seconds": last.median, **_values(last.last)})
    proof = "" if last is None else _improving(row_of(name), instance, last.last)
    return {"reached": json.dumps(reached), "certificate": proof, "failed": ""}


@cache
def _warm(system: str, competitor: str) -> None:
    """Let a competitor solve something small, so that no time holds imports and compilation."""
    solved(system, load(names(system, size="s")[0]), competitor, 0.1, 10.0)


def _improving(row: Mapping[str, Any], instance: Any, found: Benchmark) -> str:
    """Return the certificate of a result that is better than all known ones, as JSON."""
    if not improvements(row, found.value, found.bound):
        return ""
    try:
        return certificate_of(row["system"], instance, found, row["name"]).text()
    except CertificateError:
        return ""


def _values(found: Benchmark) -> dict[str, float]:
    return {"value": float(found.value), "bound": float(found.bound), "gap": float(found.gap)}


def _said(found: Benchmark) -> dict[str, Any]:
    return {
        **_values(found), "seconds": float(found.seconds), "solver": found.solver,
        "status": found.status, "failed": "",
    }  # fmt: skip


def _solve_and_prove(
    system: str, name: str, gap: float, time_limit: float, folder: str
) -> dict[str, Any]:
    instance = load(name)
    found = solved(system, instance, AUTO, gap, time_limit)
    row = _said(found)
    try:
        made = certificate_of(system, instance, found, name)
    except CertificateError as error:
        row["certificate_none"] = str(error).removeprefix("no certificate: ")
    else:
        path = made.save(Path(folder) / f"{name}.json.gz")
        if path.stat().st_size > LARGEST:
            write_file(path, without_program(made))
        better = max if made.sense == "min" else min
        row["bound"] = better(row["bound"], made.bound)
        row["certificate_kind"] = made.kind
        row["certificate_sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
        if made.objective is None or relative_gap(made.objective, found.value) <= OPTIMAL:
            return row
    confirm = PROBLEMS[system].confirm
    if confirm is None or found.gap > OPTIMAL:
        return row
    try:
        second = confirm(instance, found, gap, time_limit)
    except EdgeOptError as error:
        return row | {"second_failed": str(error)}
    return row | {"second": float(second.value), "second_solver": second.solver}


def _run(system: str, name: str, policy: str, runs: int, seed: int) -> dict[str, Any]:
    from edgeopt.studies import find_system
    from edgeopt.studies.checks import valid_for
    from edgeopt.studies.simulation import run

    record, instance = find_system(system), load(name)
    objective, environment = record.objective, record.policies.environment(instance)
    try:
        entry = chosen(record, policy)
        found = {
            key: record.offline.bounds[key].compute(instance) for key in [entry.follows] if key
        }
        made = entry.make(instance, found)
        exact = partial(_exact_of, entry, instance, made)
        simulated = timed(lambda: run(environment, made, objective, exact, seed, runs))
        trajectory, known = simulated.last
        beside = _controls(system, name, seed, runs) if known is None else ()
    except EdgeOptError as error:
        return {"failed": str(error), "bound": ""}
    values = objective.values(trajectory)
    value = estimates({"": values}, {} if known is None else {"": known}, beside)[""]
    bound = next(iter(valid_for(record.offline, instance, made, trajectory)), "")
    violated = np.asarray(trajectory.violations, dtype=float).sum(axis=1)
    return {
        "mean": value.mean, "se": value.error, "how": value.how, "violated": float(violated.mean()),
        "bound": bound, "seconds": simulated.median, "failed": "",
        "values": " ".join(repr(float(value)) for value in values),
    }  # fmt: skip


@lru_cache(maxsize=1)
def _controls(system: str, name: str, seed: int, runs: int) -> tuple[Control, ...]:
    """Return what takes luck out of values on an instance, the same for all its policies."""
    from edgeopt.studies import find_system
    from edgeopt.studies.simulation import control_entries, controls

    record, instance = find_system(system), load(name)
    environment = record.policies.environment(instance)
    if getattr(environment, "alike", False):
        return ()
    solved: dict[str, Benchmark] = {}

    def candidates() -> Iterator[tuple[str, str, Any, Any]]:
        for entry in control_entries(record):
            if entry.follows and entry.follows not in solved:
                solved[entry.follows] = record.offline.bounds[entry.follows].compute(instance)
            policy = entry.make(instance, solved)
            yield entry.name, entry.title, policy, partial(_exact_of, entry, instance, policy)

    return controls(environment, record.objective, candidates(), {}, seed, runs)


def _exact_of(entry: PolicyEntry, instance: Any, policy: Any) -> float | None:
    return None if entry.exact is None else entry.exact(instance, policy)


def chosen(record: System, policy: str) -> PolicyEntry:
    """Return the entry of a policy by its name, or of a class of the user as ``module:Class``."""
    from edgeopt.studies.registry import choose

    if ":" not in policy or policy.startswith("learned:"):
        return choose(record, [policy])[0]
    return choose(record, [_made(policy)])[0]


def class_of(policy: str) -> Any:
    """Return the class of a policy of the user, given as ``module:Class``."""
    module, _, name = policy.partition(":")
    if not module or not name.isidentifier():
        raise OptionError(f"policy {policy!r} cannot be found: write it as module:Class")
    try:
        return getattr(import_module(module), name)
    # A foreign module may raise anything while it is imported, or exit.
    except (Exception, SystemExit) as error:
        why = f"{type(error).__name__}: {error}"
        raise OptionError(f"policy {policy!r} cannot be found: {why}") from error


def _made(policy: str) -> Any:
    """Make a policy of the user."""
    make = class_of(policy)
    try:
        return make()
    except (Exception, SystemExit) as error:  # foreign code, as above
        why = f"{type(error).__name__}: {error}"
        raise OptionError(f"policy {policy!r} cannot be made without arguments: {why}") from error


def _bound(system: str, name: str, bound: str, runs: int, seed: int) -> dict[str, Any]:
    from edgeopt.studies import find_system

    record, instance = find_system(system), load(name)
    entry = record.offline.bounds[bound]
    found = entry.solve(instance, record.policies.environment, seed, runs)
    return {
        **_values(found), "label": entry.label, "seconds": float(found.seconds),
        "solver": found.solver,
    }  # fmt: skip
