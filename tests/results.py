"""Results of every system on a small instance, and what they are made of."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from edgeopt_papers.claims import errata

import edgeopt
from edgeopt import registry
from edgeopt.bounds import claims
from edgeopt.bounds.search import search, spaces
from edgeopt.studies import find_system

if TYPE_CHECKING:
    from edgeopt.studies import Case, Study

SYSTEMS = tuple(registry.built_in(registry.SYSTEMS))


@cache
def study_of(system: str) -> Study:
    """Compare some policies of a system on a small drawn instance, in two scenarios."""
    record = find_system(system)
    some = [entry.name for entry in record.policies.entries if entry.default][:4]
    instance = record.instances.random_small(0)
    return edgeopt.study(instance, some, system=record, runs=2, progress=False)


def steps(case: Case, name: str) -> list[Any]:
    """Return what passes between an environment and a policy in the first steps of a run."""
    environment, policy = case.system.policies.environment(case.instance), case.policies[name]
    rng = np.random.default_rng(0)
    state = policy.start(environment.instance)
    episode = environment.episode(environment.scenarios(rng, 1)[0], keep_trace=True)
    seen: list[Any] = [environment, episode, state]
    for _ in range(4):
        observation = episode.observe()
        if observation is None:
            break
        decision, state = policy.decide(state, observation, rng)
        feedback = episode.act(decision)
        seen += [observation, decision, feedback, state]
        state = policy.learn(state, observation, decision, feedback)
    return seen


@cache
def results_of(system: str) -> dict[str, Any]:
    """Return public results of a system by what they are."""
    study = study_of(system)
    [case] = study.cases
    known = claims(system)
    claim = next(iter(known))
    return {
        "study": study,
        "case": case,
        "benchmarks": case.benchmarks,
        "trajectories": case.trajectories,
        "verdicts": case.verdicts,
        "system": study.system,
        "instance": case.instance,
        "claims": known,
        "errata": list(errata(system)),
        "spaces": spaces(system),
        "found": search(claim, budget=4),
        "steps": [steps(case, name) for name in case.policies],
        "table": case.replay(next(iter(case.policies))),
    }


def inside(root: Any, known: dict[int, Any] | None = None) -> Iterable[Any]:
    """Yield an object and everything of edgeopt that its fields hold."""
    known = {} if known is None else known
    waiting = [root]
    while waiting:
        one = waiting.pop()
        if id(one) in known:
            continue
        known[id(one)] = one  # kept, so that its number stays its own
        if isinstance(one, Mapping):
            waiting.extend(one.values())
        elif isinstance(one, list | tuple | set | frozenset):
            waiting.extend(one)
        if type(one).__module__.partition(".")[0] == "edgeopt":
            yield one
            if dataclasses.is_dataclass(one):
                waiting += [getattr(one, part.name, None) for part in dataclasses.fields(one)]
            waiting.extend(getattr(one, "__dict__", {}).values())
