"""A policy of your own, kept from runs that could make a reserved task fail."""

from __future__ import annotations

import dataclasses
from typing import Any

from own_policy import Selective

import edgeopt
from edgeopt.instances.rescue import generate
from edgeopt.online.rescue import Guard


@dataclasses.dataclass(frozen=True)
class Guarded:
    """Hand every arrival on to a policy, and decline what the guard does not call safe."""

    policy: Any
    guarded: bool = True  # so that a study compares it with the bound for safe policies

    @property
    def name(self):
        return f"{self.policy.name}, guarded"

    def start(self, instance):
        return Guard.of(instance), self.policy.start(instance)

    def decide(self, state, arrival, rng):
        guard, inner = state
        run, inner = self.policy.decide(inner, arrival, rng)
        if run and not guard.safe(run.server, run.profile, arrival.slot, arrival.remaining):
            run = None
        return run, (guard, inner)

    def learn(self, state, arrival, run, finished):
        guard, inner = state
        return guard, self.policy.learn(inner, arrival, run, finished)


def main() -> None:
    instance = generate(horizon=50, rng=7)
    study = edgeopt.study(instance, [Selective(), Guarded(Selective())], runs=100)
    print(study.table[["policy", "value", "ratio", "bound", "violated"]].to_string(index=False))


if __name__ == "__main__":
    main()
