"""A system of your own in one file: how long should an idle model stay in memory?

Keeping it costs 1 per slot, loading it again costs more, and the length of a pause is unknown.
"""

import hashlib
import json
from dataclasses import dataclass, field

import numpy as np

from edgeopt import study
from edgeopt.online import Trajectory
from edgeopt.studies import (
    Benchmark,
    BenchmarkEntry,
    Instances,
    Objective,
    Offline,
    Policies,
    PolicyEntry,
    Source,
    System,
)  # fmt: skip


@dataclass(frozen=True)
class Pauses:  # the instance: (pause in slots, probability), cost of loading
    chance: tuple = ((1, 0.4), (2, 0.2), (5, 0.1), (30, 0.3))
    count: int = 100
    load: float = 8.0

    def fingerprint(self):
        return hashlib.sha256(repr(self).encode()).hexdigest()


@dataclass
class Evening:  # one scenario: reveals the length of a pause when it ends
    load: float
    pauses: np.ndarray
    cost: list = field(default_factory=list)

    def observe(self):
        return len(self.cost) if len(self.cost) < len(self.pauses) else None

    def act(self, keep):
        pause = int(self.pauses[len(self.cost)])
        self.cost.append(pause if pause <= keep else keep + self.load)
        return pause


@dataclass(frozen=True)
class Memory:  # the environment: draws scenarios and collects results
    instance: Pauses

    def scenarios(self, rng, runs):
        lengths, chances = zip(*self.instance.chance, strict=True)
        return rng.choice(lengths, size=(runs, self.instance.count), p=chances)

    def episode(self, scenario, *, keep_trace=False):
        return Evening(self.instance.load, scenario)

    def trajectory(self, name, episodes, *, seconds, keep_trace=False):
        cost = np.array([evening.cost for evening in episodes], dtype=float)
        nothing = np.zeros(cost.shape, dtype=int)
        return Trajectory(name, cost, nothing, nothing + 1, seconds, False)


@dataclass(frozen=True)
class Keep:  # for `times` the cost of loading: 1 costs at most twice the optimum
    name: str
    times: float = 1.0

    def start(self, instance):
        return instance.load, ()  # the state: cost of loading, pauses so far

    def decide(self, state, observation, rng=None):
        return self.times * state[0], state

    def learn(self, state, observation, decision, pause):
        return state[0], (*state[1], pause)


class Learn(Keep):  # for the time that would have been best in all pauses so far
    def decide(self, state, observation, rng=None):
        load, seen = state[0], np.array(state[1])
        tried = {k: np.where(seen <= k, seen, k + load).sum() for k in {0, *state[1]}}
        return min(tried, key=tried.get), state


def hindsight(instance):  # knowing each pause, keep the model through those cheaper than loading
    value = instance.count * sum(p * min(k, instance.load) for k, p in instance.chance)
    return Benchmark(value, value, gap=0.0, seconds=0.0, solver="sum over the lengths")


def entry(policy):
    return PolicyEntry(policy.name, policy.name, lambda instance, benchmarks: policy)


SYSTEM = System(
    name="memory",
    title="A model in memory between requests",
    instances=Instances(
        Pauses,
        sources={"evening": Source(Pauses, "short pauses and long ones")},
        load=lambda path: Pauses(**json.loads(path.read_text())),
    ),
    objective=Objective("cost", sense="min"),
    offline=Offline({"best": BenchmarkEntry("hindsight", hindsight)}),
    policies=Policies(
        [entry(Keep("drop", 0)), entry(Keep("even")), entry(Keep("keep", np.inf)),
         entry(Learn("learn"))],
        environment=Memory,
    ),
)  # fmt: skip

if __name__ == "__main__":
    found = study(Pauses(), system=SYSTEM, runs=50)
    print(found.table[["policy", "value", "value_se", "ratio", "ratio_low", "ratio_high"]].round(3))
    # found.page("report") writes a page. With an entry point, `edgeopt study memory` works too.
