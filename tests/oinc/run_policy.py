"""How the tests let policies live through the slots of an instance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.online.oinc import (
    Dedas,
    Ekya,
    GreedyConvex,
    Kalmia,
    Liu,
    NearOptimalInference,
    Oinc,
    OincEnvironment,
    Reservation,
    ResidualDensity,
    StaticShares,
    Zhang,
)

if TYPE_CHECKING:
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc import Decision, Outcome, Slot

POLICIES = [
    Oinc(),
    Oinc(reservation=Reservation(optimise=True)),
    Oinc(reservation=Reservation(largest=0.8, span="busy")),
    Oinc(reservation=Reservation(optimise=True, span="busy", smallest=0.2)),
    Oinc(retraining=ResidualDensity(service="slot")),
    Oinc(retraining=ResidualDensity(late_binding=True)),
    Oinc(retraining=ResidualDensity(weights="deadline")),
    Oinc(inference=NearOptimalInference(unfit="refuse")),
    Oinc(inference=NearOptimalInference(objectives=False), reservation=StaticShares()),
    Oinc(inference=NearOptimalInference(certify=True), reservation=StaticShares(0.25)),
    Oinc(retraining=Dedas(), reservation=StaticShares()),
    Oinc(retraining=Zhang(), reservation=StaticShares()),
    Oinc(inference=GreedyConvex(), reservation=StaticShares()),
    Oinc(inference=GreedyConvex(), retraining=Dedas(service="slot"), reservation=StaticShares()),
    Oinc(inference=Liu(), reservation=StaticShares()),
    Oinc(inference=Liu(), retraining=Zhang(service="slot"), reservation=StaticShares(0.5)),
    Oinc(inference=Liu(step=0.0), retraining=Dedas()),
    Oinc(retraining=Zhang()),
    Ekya(),
    Ekya(step=0.2, largest=0.6),
    Kalmia(),
    Kalmia(spare=0.0, smallest=0.2, service="slot"),
]


def wastes(policy: Any) -> bool:
    """Tell whether the last slot of a job is its own to the end, whatever is left to do."""
    return getattr(getattr(policy, "retraining", policy), "service", "fluid") == "slot"


@dataclass
class Life:
    """What a policy saw, decided and was told, slot by slot."""

    slots: list[Slot] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    def chosen(self, slot: int) -> list[list]:
        """Return all that was decided in a slot."""
        decision = self.decisions[slot]
        plan = decision.plan
        rows = (plan.site, plan.band, plan.cpu, decision.job_site, decision.reserved)
        return [part.tolist() for part in (*rows, *decision.runs)]


def live(instance: OincInstance, policy: Any, *, seed: int, drain: bool = True) -> Life:
    """Step a policy through an instance by hand."""
    environment = OincEnvironment(instance, drain=drain)
    scenarios, coins = np.random.default_rng(seed).spawn(2)
    (coins,) = coins.spawn(1)
    episode = environment.episode(environment.scenarios(scenarios, 1)[0])
    state = policy.start(environment.instance)
    life = Life()
    while (seen := episode.observe()) is not None:
        decision, state = policy.decide(state, seen, coins)
        outcome = episode.act(decision)
        state = policy.learn(state, seen, decision, outcome)
        life.slots.append(seen)
        life.decisions.append(decision)
        life.outcomes.append(outcome)
    return life
