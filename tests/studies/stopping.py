"""A sixth system, as an outside package would write it: stop once, on the best offer.

Offers are independent and uniform on 0..1, the one taken is the reward. Taking an offer below
`floor` violates a service constraint.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds import Check
from edgeopt.online.protocols import Trajectory
from edgeopt.studies import (
    Benchmark,
    BenchmarkEntry,
    Comparison,
    Constraint,
    Instances,
    LearnerEntry,
    Log,
    Metric,
    Objective,
    Offline,
    Policies,
    PolicyEntry,
    Reporting,
    Source,
    System,
)
from edgeopt.studies.comparison import over_instances
from edgeopt.studies.pictures.values import VALUE_OVER_TIME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from edgeopt.studies import Case, Study


@dataclass(frozen=True)
class Offers:
    slots: int = 10
    floor: float = 0.5

    def fingerprint(self) -> str:
        return hashlib.sha256(f"{self.slots} {self.floor}".encode()).hexdigest()

    def save(self, path: Path) -> None:
        Path(path).write_text(f"{self.slots} {self.floor}")

    @staticmethod
    def load(path: Path) -> Offers:
        slots, floor = Path(path).read_text().split()
        return Offers(int(slots), float(floor))

    @staticmethod
    def generate(*, slots: int = 10, floor: float = 0.5, rng: int = 0) -> Offers:
        return Offers(slots, floor)


@dataclass
class Stopping:
    instance: Offers
    scenario: np.ndarray
    slot: int = 0
    taken: list[int] = field(default_factory=list)

    def observe(self) -> tuple[int, float] | None:
        if self.taken or self.slot == self.instance.slots:
            return None
        return self.slot, float(self.scenario[self.slot])

    def act(self, decision: bool) -> None:
        if decision:
            self.taken.append(self.slot)
        self.slot += 1


@dataclass(frozen=True)
class Offering:
    instance: Offers

    def scenarios(self, rng: np.random.Generator, runs: int) -> np.ndarray:
        return rng.random((runs, self.instance.slots))

    def episode(self, scenario: np.ndarray, *, keep_trace: bool = False) -> Stopping:
        return Stopping(self.instance, scenario)

    def trajectory(
        self, name: str, episodes: Sequence[Stopping], *, seconds: float, keep_trace: bool = False
    ) -> Trajectory:
        shape = len(episodes), self.instance.slots
        reward, broken, asked = np.zeros(shape), np.zeros(shape, int), np.zeros(shape, int)
        for run, episode in enumerate(episodes):
            asked[run, : episode.slot] = 1
            for slot in episode.taken:
                reward[run, slot] = episode.scenario[slot]
                broken[run, slot] = episode.scenario[slot] < self.instance.floor
        return Trajectory(name, reward, broken, asked, seconds, False)


@dataclass(frozen=True)
class Threshold:
    """Take the first offer that is at least `level`."""

    level: float

    @property
    def name(self) -> str:
        return f"threshold {self.level:g}"

    def start(self, instance: Offers) -> None:
        return None

    def decide(self, state: None, observation: tuple[int, float], rng: Any) -> tuple[bool, None]:
        return observation[1] >= self.level, None

    def learn(self, state: None, observation: Any, decision: bool, feedback: None) -> None:
        return None


def prophet(instance: Offers) -> Benchmark:
    value = instance.slots / (instance.slots + 1)
    return Benchmark(value, value, 0.0, 0.0, "algebra", "exact")


def _fixed(level: float, name: str, **options: Any) -> PolicyEntry:
    def make(_instance: Offers, _benchmarks: Mapping[str, Benchmark]) -> Threshold:
        return Threshold(level)

    return PolicyEntry(name, name.capitalize(), make, **options)


def _patience(instance: Offers, trajectory: Trajectory) -> np.ndarray:
    return trajectory.decisions.sum(axis=1).astype(float)


def _every_slot(case: Case, policy: str) -> pd.DataFrame:
    import pandas as pd

    trajectory = case.trajectories[policy]
    return pd.DataFrame(
        {
            "slot": np.arange(trajectory.horizon),
            "reward": trajectory.reward.mean(axis=0),
            "broken": trajectory.violations.mean(axis=0),
        }
    )


def _over_instances(study: Study) -> pd.DataFrame:
    return over_instances(study, ["value", "violated_share"], paired=["value"])


class LevelLearner:
    """Learns the least offer to take of ten, by trying a nearby one at each update."""

    system, learner, figure, sense = "stopping", "threshold", "reward", "max"

    def __init__(self, seed: int, updates: int, start: str = "low") -> None:
        self.seed, self.updates, self.start = seed, updates, start
        self.rng = np.random.default_rng(seed)
        self.level = {"low": 0.1, "high": 0.95}[start]

    def _mean(self, level: float, rng: np.random.Generator) -> float:
        offers = rng.random((2000, 10))
        taken = np.where((offers >= level).any(1), (offers >= level).argmax(1), 9)
        return float(offers[np.arange(2000), taken].mean())

    def update(self) -> None:
        other = float(np.clip(self.level + self.rng.normal(0.0, 0.1), 0.0, 1.0))
        if self._mean(other, self.rng) > self._mean(self.level, self.rng):
            self.level = other

    def evaluate(self) -> dict[str, float]:
        return {"reward": self._mean(self.level, np.random.default_rng(99)), "level": self.level}

    def weights(self) -> dict[str, np.ndarray]:
        return {"level": np.array([self.level])}

    def about(self) -> dict[str, Any]:
        settings = {"start": self.start, "updates": self.updates}
        return {"settings": settings, "seeds": {"training": [self.seed], "validation": [99]}}

    def state(self) -> dict[str, Any]:
        return {"generator": self.rng.bit_generator.state, "level": self.level}

    def restore(self, state: Any) -> None:
        self.rng.bit_generator.state = state["generator"]
        self.level = state["level"]


SYSTEM = System(
    name="stopping",
    title="Stop once, on the best offer",
    instances=Instances(
        Offers,
        sources={"ten": Source(Offers, "ten offers")},
        load=Offers.load,
        generate=Offers.generate,
    ),
    objective=Objective("reward"),
    constraint=Constraint("floor", count=lambda instance: 1, verb=("fails", "failed")),
    offline=Offline({"prophet": BenchmarkEntry("E[max]", prophet)}),
    policies=Policies(
        (
            _fixed(0.0, "first"),
            _fixed(0.8, "choosy"),
            _fixed(0.5, "half", guarantee=0.5),
            _fixed(2.0, "never", default=False),
        ),
        environment=Offering,
    ),
    learners=(
        LearnerEntry(
            "threshold",
            "Learned level",
            LevelLearner,
            updates=60,
            every=10,
            heading="Mean reward",
            options={"start": ("low", "high")},
            references=lambda _: {"Level one half": 0.75, "E[max]": 10 / 11},
        ),
    ),
    reporting=Reporting(
        metrics=(Metric("patience", "Slots waited", _patience),),
        pictures=(VALUE_OVER_TIME,),
        logs=(Log("slots", "Every slot", _every_slot, bad=("broken",), caption="Means."),),
        comparisons=(
            Comparison(
                "over_all",
                "Over all instances",
                _over_instances,
                {
                    "value": "Reward",
                    "value_relative": "Against the reference policy",
                    "violated_share": "Broken",
                },
                percent=("violated_share",),
                caption="Offers of all lengths.",
            ),
        ),
    ),
)


def bounding(above: float, record: System = SYSTEM) -> System:
    """Return the system with a bound for thresholds above one alone."""
    check = Check("patient", None, declared=lambda policy: policy.level > above)
    bounds = {name: replace(one, checks=(check,)) for name, one in record.offline.bounds.items()}
    return replace(record, offline=replace(record.offline, bounds=bounds))


EXTRA = PolicyEntry(
    "greedy",
    "Greedy",
    lambda _instance, _benchmarks: Threshold(0.9),
    system="stopping",
)
