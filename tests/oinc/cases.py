"""Instances of OINC for tests from a seed, and policies stepped through their slots."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.instances.oinc import OincInstance
from edgeopt.models.oinc.retraining import RetrainingProblem
from edgeopt.models.oinc.slot import SlotProblem
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
from tests.oinc.scenarios import Wild

if TYPE_CHECKING:
    from edgeopt.online.oinc import Decision, OincTrajectory, Outcome, Slot


def draw_slot(
    seed: int, *, requests: int = 4, sites: int = 3, slack: float | None = None
) -> SlotProblem:
    """Draw the requests of a slot; the integers are the largest sizes.

    Half have few sizes and many ties, half any numbers; some requests send or compute nothing.
    Objectives are multiples between 0.4 and 2.5 of what a request would take with an equal part of
    its best site, some infinite; with `slack` they are that multiple of it for all.
    """
    rng = np.random.default_rng(seed)
    n, J = int(rng.integers(1, requests + 1)), int(rng.integers(1, sites + 1))
    tied = bool(rng.integers(2))

    def among(shape: tuple[int, ...], *values: float) -> np.ndarray:
        chosen = rng.choice(np.array(values, dtype=float), shape)
        return chosen if tied else chosen * rng.uniform(0.6, 1.4, shape)

    A, E = among((n, J), 0.02, 0.05, 0.1, 0.2), among((n, J), 0.02, 0.05, 0.1)
    if rng.random() < 0.3:
        A[rng.random((n, J)) < 0.3] = 0.0
        E[rng.random((n, J)) < 0.3] = 0.0
    room = rng.choice([1.0, 0.9, 0.5, 0.2], J)
    crowd = max(1.0, n / J)
    alone = ((A + E / room) * crowd).min(axis=1) + 0.01
    factor = rng.uniform(0.4, 2.5, n) if slack is None else np.full(n, slack)
    # no objective is met exactly
    slo = alone * factor * (1.0 + 1e-3 * rng.random(n))
    if slack is None:
        slo[rng.random(n) < 0.15] = np.inf
    weight = None if rng.random() < 0.6 else among((n,), 1.0, 2.0, 0.5)
    return SlotProblem(A, E, slo, room, weight)


def draw_jobs(
    seed: int,
    *,
    jobs: int = 5,
    sites: int = 3,
    grain: str | None = None,
    infinite: bool = True,
) -> RetrainingProblem:
    """Draw jobs; the integers are the largest sizes.

    ``grain``: durations are ``"whole"`` slots, ``"quarters"`` of slots, or ``"any"`` numbers.
    """
    rng = np.random.default_rng(seed)
    K, J = int(rng.integers(1, jobs + 1)), int(rng.integers(1, sites + 1))
    grain = str(rng.choice(["whole", "quarters", "any"])) if grain is None else grain
    lengths = {"whole": [1, 1, 2, 3, 5], "quarters": [0.25, 0.5, 1.0, 1.25, 2.75, 4.0]}
    if grain == "any":
        h, weight = rng.uniform(0.1, 4.0, (K, J)), rng.uniform(0.1, 3.0, K)
    else:
        h = rng.choice(np.array(lengths[grain], dtype=float), (K, J))
        weight = rng.choice([0.5, 1.0, 1.0, 2.0, 4.0], K)
    if infinite and rng.random() < 0.3:
        closed = rng.random((K, J)) < 0.3
        closed[np.arange(K), rng.integers(0, J, K)] = False
        h[closed] = np.inf
    if rng.random() < 0.15:
        weight[rng.integers(K)] = 0.0
    arrival = np.sort(rng.choice([0, 0, 0, 1, 1, 2, 3, 5], K))
    return RetrainingProblem(arrival, h, weight)


def draw_rational_site(
    seed: int, *, requests: int = 5
) -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
    """Draw square roots of times to send and to compute, and objectives, all rational."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, requests + 1))

    def some(low: int, high: int) -> list[Fraction]:
        return [Fraction(int(v), 16) for v in rng.integers(low, high, n)]

    return some(0, 9), some(0, 9), some(4, 64)


def draw_instance(seed: int, *, busy: bool = False) -> OincInstance:
    """Draw an instance of a few slots, half with many ties; with jobs that count if `busy`.

    Some objectives are out of reach, some deadlines too; jobs take up to 6 slots of a whole site.
    """
    rng = np.random.default_rng(seed)
    T, I, J = (int(rng.integers(1, top + 1)) for top in (5, 4, 3))  # noqa: E741
    K = int(rng.integers(busy, 5))
    tied = bool(rng.integers(2))

    def among(shape: tuple[int, ...], *values: float) -> np.ndarray:
        chosen = rng.choice(np.array(values, dtype=float), shape)
        return chosen if tied else chosen * rng.uniform(0.7, 1.3, shape)

    arrival = np.sort(rng.integers(0, T, K))
    speed, work = among((J,), 1, 2, 4), among((K,), 0.5, 1, 2, 4)
    return OincInstance(
        speed=speed,
        rate=among((T, I, J), 4, 8, 16),
        active=rng.random((T, I)) < (0.8 if busy else rng.choice([0.0, 0.3, 0.8])),
        request_size=among((T, I), 0, 0.5, 1, 2),
        request_work=among((T, I), 0, 0.0625, 0.125, 0.25),
        slo=rng.uniform(0.05, 1.0, (T, I)),
        arrival=arrival,
        work=work,
        deadline=arrival + among((K,), 0.5, 1, 2, 4, 20),
        weight=among((K,), float(busy), 1, 1, 2) if rng.random() < 0.5 else None,
        request_weight=among((T,), 0, 1, 2) if rng.random() < 0.5 else None,
        latency_scale=float(rng.choice([1.0, 0.25])),
        completion_scale=float(rng.choice([1.0, 4.0])),
        refusal_latency=float(rng.choice([3.0, 1.0])),
    )


POLICIES = [
    Oinc(),
    Oinc(reservation=Reservation(optimise=True)),
    Oinc(reservation=Reservation(largest=0.8, span="busy")),
    Oinc(reservation=Reservation(optimise=True, span="busy", smallest=0.2)),
    Oinc(retraining=ResidualDensity(service="slot")),
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
    Oinc(inference=GreedyConvex(), retraining=Zhang()),
    Oinc(
        inference=NearOptimalInference(unfit="refuse"), retraining=ResidualDensity(service="slot")
    ),
    Oinc(retraining=ResidualDensity(service="slot", weights="deadline")),
    Oinc(retraining=Zhang()),
    Ekya(),
    Ekya(step=0.2, largest=0.6),
    Kalmia(),
    Kalmia(spare=0.0, smallest=0.2, service="slot"),
]


def wastes(policy: Any) -> bool:
    """Tell whether the last slot of a job is its own to the end, whatever is left to do."""
    service = getattr(getattr(policy, "retraining", policy), "service", "fluid")
    return service == "slot" or isinstance(policy, Wild)


@dataclass
class Record:
    """What a policy saw, decided and was told, slot by slot, and its trajectory."""

    run: OincTrajectory
    slots: list[Slot]
    decisions: list[Decision]
    outcomes: list[Outcome]

    def chosen(self, slot: int) -> list[list]:
        """Return all that was decided in a slot."""
        decision = self.decisions[slot]
        plan = decision.plan
        rows = (plan.site, plan.band, plan.cpu, decision.job_site, decision.reserved)
        return [part.tolist() for part in (*rows, *decision.runs)]


def step_through(instance: OincInstance, policy: Any, *, seed: int, drain: bool = True) -> Record:
    """Step a policy through an instance by hand."""
    environment = OincEnvironment(instance, drain=drain)
    scenarios, coins = np.random.default_rng(seed).spawn(2)
    (coins,) = coins.spawn(1)
    episode = environment.episode(environment.scenarios(scenarios, 1)[0], keep_trace=True)
    state = policy.start(environment.instance)
    slots, decisions, outcomes = [], [], []
    while (seen := episode.observe()) is not None:
        decision, state = policy.decide(state, seen, coins)
        outcome = episode.act(decision)
        state = policy.learn(state, seen, decision, outcome)
        slots.append(seen)
        decisions.append(decision)
        outcomes.append(outcome)
    run = environment.trajectory(policy.name, [episode], seconds=0.0, keep_trace=True)
    return Record(run, slots, decisions, outcomes)
