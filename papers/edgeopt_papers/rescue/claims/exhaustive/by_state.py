"""Exact values of policies that follow the state of every server, over all histories."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.online.rescue.environment import Arrival, FinishedRun
from edgeopt.online.rescue.expected_value import Outcome
from edgeopt.online.rescue.safe_policies import Position
from edgeopt_papers.rescue.claims.exhaustive.scenario import SIZE_LIMIT, Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable

    from edgeopt.instances import RescueInstance
    from edgeopt.online.rescue.safe_policies import SafePolicy, SafeRule

Run = tuple[int, int] | None


class _Place(NamedTuple):
    """Where a history has led to."""

    states: tuple[int, ...]  # in which each server is idle, or in which its run began
    runs: tuple[Run, ...]  # slot in which the run of each server ends, and how long it takes
    remaining: tuple[float, ...]
    failed: bool


_Distribution = dict[_Place, float]


def evaluate_by_state(
    instance: RescueInstance, policy: SafePolicy, *, limit: int = SIZE_LIMIT
) -> Outcome:
    """Ask a policy for its decision in every history, and add up what it earns.

    It is told what the environment would tell it: idle servers, work left, and ends of runs.
    """
    scenario = Scenario(instance, reserved=True, limit=limit)
    rule, states = policy.start(instance)
    idle: tuple[Run, ...] = (None,) * instance.servers
    places: _Distribution = {_Place(states, idle, scenario.demands, False): 1.0}
    profit = violations = 0.0
    for slot in range(instance.horizon):
        places = _merged((_ended(policy, rule, slot, place), w) for place, w in places.items())
        chances = [(p, j) for j, p in enumerate(scenario.arrival[slot]) if p > 0.0]
        for step in [chances] if scenario.exclusive else [[one] for one in chances]:
            after: defaultdict[_Place, float] = defaultdict(float)
            for place, weight in places.items():
                scenario.visit()
                after[place] += weight * (1.0 - math.fsum(p for p, _ in step))
                for p, device in step:
                    answers = _answers(policy, rule, slot, device, place)
                    for share, server, profile, at in answers:
                        chance = weight * p * share
                        if server < 0:
                            after[at] += chance
                            continue
                        profit += chance * scenario.reward[slot][device][server][profile]
                        for d, q in scenario.distribution[profile]:
                            run = (slot + d, d)
                            runs = (*at.runs[:server], run, *at.runs[server + 1 :])
                            after[at._replace(runs=runs)] += chance * q
            places = {place: weight for place, weight in after.items() if weight > 0.0}
        following: defaultdict[_Place, float] = defaultdict(float)
        for place, weight in places.items():
            free = np.array([run is None for run in place.runs])
            left, failures = scenario.guard.elapse(slot, free, place.remaining)
            violations += weight * failures
            failed = place.failed or failures > 0
            following[place._replace(remaining=left, failed=failed)] += weight
        places = following
    failure = math.fsum(weight for place, weight in places.items() if place.failed)
    return Outcome(profit, violations, failure)


def _merged(places: Iterable[tuple[_Place, float]]) -> _Distribution:
    found: defaultdict[_Place, float] = defaultdict(float)
    for place, weight in places:
        found[place] += weight
    return found


def _ended(policy: SafePolicy, rule: SafeRule, slot: int, place: _Place) -> _Place:
    """End the runs that end with the slot before, and let idle servers reach this slot."""
    began = rule.states.slot
    ended = [
        FinishedRun(int(began[place.states[server]]), 0, server, 0, run[1], 0.0)
        for server, run in enumerate(place.runs)
        if run is not None and run[0] == slot
    ]
    states = policy.learn(Position(rule, place.states), None, None, ended).places  # type: ignore[arg-type]
    gone = {run.server for run in ended}
    runs = tuple(None if k in gone else run for k, run in enumerate(place.runs))
    waited = tuple(
        rule.waited(state, slot) if run is None else state
        for state, run in zip(states, runs, strict=True)
    )
    return place._replace(states=waited, runs=runs)


def _answers(
    policy: SafePolicy, rule: SafeRule, slot: int, device: int, place: _Place
) -> list[tuple[float, int, int, _Place]]:
    """Return the decisions on a task with their probabilities; server -1 turns it down.

    A policy draws by one coin, and decides alike between two of the sums of its routes.
    """
    cuts = [0.0, 1.0]
    if rule.routes is not None:
        row = slot * rule.devices + device
        low, high = rule.routes.first[row : row + 2]
        cuts = sorted({*cuts, *np.minimum(rule.routes.cumulative[low:high], 1.0).tolist()})
    idle = np.array([run is None for run in place.runs])
    found = []
    for low, high in itertools.pairwise(cuts):
        arrival = Arrival(slot, device, idle, np.array(place.remaining), (low + high) / 2)
        placed, position = policy.decide(Position(rule, place.states), arrival)
        at = place._replace(states=position.places)
        server, profile = (-1, 0) if placed is None else placed
        found.append((high - low, server, profile, at))
    return found
