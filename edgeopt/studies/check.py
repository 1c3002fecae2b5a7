"""Checking many claims, on their named instances and on drawn ones."""

from __future__ import annotations

import time
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from edgeopt import plugins, registry
from edgeopt.bounds.claim import Claim
from edgeopt.bounds.registry import Views, claims, resolve
from edgeopt.errors import OptionError
from edgeopt.options import MOST_DRAWS, check_whole, check_workers
from edgeopt.studies.claims.verdict_table import Checked, CheckedClaim
from edgeopt.studies.registry import find_system, systems
from edgeopt.studies.sweeps import Job, run_jobs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from edgeopt.bounds import Verdict


def check_all(
    wanted: str | Claim | Iterable[str | Claim] | None = None,
    *,
    instances: int = 0,
    rng: int = 0,
    workers: int = 1,
    progress: bool | None = None,
) -> Checked:
    """Check claims on their named instances, and on drawn ones.

    Parameters
    ----------
    wanted
        Identifiers, glob patterns, names of systems or `Claim` objects; all known claims by
        default.
    instances
        Instances to draw for each system, by ``random_small`` of its record. They are named
        ``drawn(SEED)``; ``find_system("rescue").instances.random_small(SEED)`` draws one again.
    rng
        Seed of the first of them; the others follow.
    workers
        Processes; -1 takes all cores. Claims that cannot be found by their identifiers are checked
        in this process.
    progress
        Whether to show a progress bar; by default only when standard error is a terminal.

    Returns
    -------
    Checked
        Verdicts by claim, with the instance that has the least slack.

    Raises
    ------
    OptionError
        If an identifier is unknown or an option out of range.

    Examples
    --------
    >>> from edgeopt.studies import check_all
    >>> [found] = check_all("rescue.theorem2").claims
    >>> found.verdict.instance
    'tight(0.5)'
    """
    check_whole("instances", instances, 0, MOST_DRAWS)
    check_whole("rng", rng)
    check_workers(workers)
    begin = time.perf_counter()
    chosen = resolve(wanted)
    records = _drawing(chosen) if instances else {}
    known = {name: one for system in _systems_of(chosen) for name, one in _known(system).items()}
    local = workers == 1 or any(known.get(claim.id) is not claim for claim in chosen)
    jobs = [*_named(chosen, local=local)]
    for system, about in records.items():
        for seed in range(rng, rng + instances):
            identity = {"system": system, "seed": seed, "claims": [one.id for one in about]}
            work = (system, seed, tuple(one if local else one.id for one in about))
            jobs.append(Job(identity, _check_drawn, work))
    rows = run_jobs(jobs, workers=1 if local else workers, progress=progress)
    found: list[tuple[str, str, Verdict]] = [one for row in rows["found"] for one in row]
    by_name = {(claim, verdict.instance): verdict for kind, claim, verdict in found if not kind}
    drawn: dict[str, list[Verdict]] = {}
    for kind, claim, verdict in found:
        if kind:
            drawn.setdefault(claim, []).append(verdict)
    return Checked(
        tuple(
            CheckedClaim(
                claim,
                tuple(by_name[claim.id, name] for name in claim.test_instances),
                tuple(drawn.get(claim.id, ())),
                _undrawn(claim) if instances and claim.id not in drawn else "",
            )
            for claim in chosen
        ),
        instances=instances,
        seed=rng,
        workers=workers,
        seconds=time.perf_counter() - begin,
        titles={name: _title(name) for name in _systems_of(chosen)},
    )


def _title(system: str) -> str:
    try:
        return find_system(system).title
    except OptionError:
        return system


def _drawing(chosen: Sequence[Claim]) -> dict[str, list[Claim]]:
    """Return the claims that apply to drawn instances of a system, by system."""
    found: dict[str, list[Claim]] = {}
    about_own = _systems_of(chosen).keys() <= set(registry.built_in(registry.SYSTEMS))
    for name in _systems_of(chosen) if about_own else systems():
        try:
            record = find_system(name)
        except OptionError as error:
            plugins.leave_out(error)
            continue
        about = [
            claim
            for claim in chosen
            if record.instances.random_small
            and issubclass(record.instances.kind, claim.instance_type)
        ]
        if about:
            found[name] = about
    return found


def _undrawn(claim: Claim) -> str:
    types = (
        claim.instance_type if isinstance(claim.instance_type, tuple) else (claim.instance_type,)
    )
    return f"no system draws {' or '.join(one.__name__ for one in types)}"


def _named(chosen: Sequence[Claim], *, local: bool) -> Iterable[Job]:
    """Yield a job for every named instance, with all claims about it that share its view."""
    shared: dict[tuple[Any, int], list[tuple[Claim, str]]] = {}
    for claim in chosen:
        for name, build in claim.test_instances.items():
            shared.setdefault((claim.view, id(build)), []).append((claim, name))
    for several in shared.values():
        identity = {"named": [[claim.id, name] for claim, name in several]}
        work = tuple((claim if local else claim.id, name) for claim, name in several)
        yield Job(identity, _check_named, (work,))


def _check_named(several: Sequence[tuple[Any, str]]) -> Mapping[str, Any]:
    views, found = Views(), []
    for reference, name in several:
        claim = _claim(reference)
        build = claim.test_instances[name]
        view = partial(views.of_named(claim), build)
        found.append(("", claim.id, claim.decide(build(), view, name)))
    return {"found": found}


def _check_drawn(system: str, seed: int, references: Sequence[Any]) -> Mapping[str, Any]:
    random_small = find_system(system).instances.random_small
    assert random_small is not None
    instance, views, name = random_small(seed), Views(), f"drawn({seed})"
    about = [_claim(reference) for reference in references]
    return {
        "found": [
            (system, claim.id, claim.decide(instance, views.of(claim, instance), name))
            for claim in about
        ]
    }


def _claim(reference: Any) -> Claim:
    if isinstance(reference, Claim):
        return reference
    return _kept(reference.partition(".")[0])[reference]


def _systems_of(chosen: Iterable[Claim]) -> dict[str, None]:
    return dict.fromkeys(claim.id.partition(".")[0] for claim in chosen)


def _known(system: str) -> Mapping[str, Claim]:
    try:
        return claims(system)
    except OptionError:
        return {}


@cache
def _kept(system: str) -> Mapping[str, Claim]:
    """Keep the claims of a system: finding them takes longer than checking one."""
    return claims(system)
