"""Scenarios of OINC for tests: by hand, by coins, with jobs alone, and futures that differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.instances.oinc import OincInstance
from edgeopt.models.oinc.slot import SlotPlan
from edgeopt.online.oinc.components import Queues
from edgeopt.online.oinc.environment import OincEnvironment
from edgeopt.online.oinc.events import Decision, Jobs, Outcome, Runs, Slot

if TYPE_CHECKING:
    from edgeopt.online.oinc.components import Retraining
    from edgeopt.online.oinc.environment import OincEpisode


def two_sites(**changes: Any) -> OincInstance:
    """Return two slots, two devices, and two jobs: one from the start, one from the second slot.

    Site 0 computes 4 Gcycle/s, site 1 does 2. A request sends for 1/4 s with a whole band and
    computes for 1/8 s on site 0, 1/4 s on site 1. Device 0 has a request in both slots, device 1
    in the second. Job 0 has 3 Gcycle and should be complete by 2, job 1 has 2 and a deadline of 3.
    """
    data: dict[str, Any] = {
        "speed": [4.0, 2.0],
        "rate": np.full((2, 2), 8.0),
        "active": [[1, 0], [1, 1]],
        "request_size": np.full((2, 2), 2.0),
        "request_work": np.full((2, 2), 0.5),
        "slo": np.full((2, 2), 0.75),
        "arrival": [0, 1],
        "work": [3.0, 2.0],
        "deadline": [2.0, 3.0],
        "weight": [1.0, 2.0],
        "request_weight": [1.0, 3.0],
        "latency_scale": 0.25,
        "completion_scale": 4.0,
        "refusal_latency": 2.0,
    }
    return OincInstance(**data | changes)


def unit_sites(
    active: Any, arrival: Any, work: Any, sites: int = 1, **changes: Any
) -> OincInstance:
    """Return sites of 1 Gcycle/s and requests of 1/10 s of a whole band and of a whole CPU."""
    flags = np.array(active)
    data: dict[str, Any] = {
        "speed": np.ones(sites),
        "rate": np.ones((flags.shape[1], sites)),
        "active": flags,
        "request_size": np.full(flags.shape, 0.1),
        "request_work": np.full(flags.shape, 0.1),
        "slo": np.full(flags.shape, 0.5),
        "arrival": np.array(arrival, dtype=int),
        "work": np.array(work),
        "deadline": np.array(arrival) + 9.0,
    }
    return OincInstance(**data | changes)


def runs(*rows: tuple[int, float, float, float]) -> Runs:
    """Write runs as rows: job, share, begin, end."""
    if not rows:
        return Runs.none()
    job, share, begin, end = zip(*rows, strict=True)
    return Runs(np.array(job), np.array(share), np.array(begin), np.array(end))


def decision(
    slot: Slot,
    site: list[int] | None = None,
    *,
    band: list[float] | None = None,
    cpu: list[float] | None = None,
    jobs: list[int] | None = None,
    reserved: tuple[float, float] = (0.5, 0.5),
    run: Runs | None = None,
) -> Decision:
    """Write a decision; by default requests are refused and jobs stay where they are."""
    n = slot.requests.requests
    here = np.full(n, -1) if site is None else np.array(site, dtype=int)
    plan = SlotPlan(
        slot.requests.with_reserved(np.clip(np.array(reserved), 0.0, 0.5)),
        here,
        np.zeros(n) if band is None else np.array(band, dtype=float),
        np.zeros(n) if cpu is None else np.array(cpu, dtype=float),
    )
    where = slot.jobs.site if jobs is None else np.array(jobs, dtype=int)
    return Decision(plan, where, np.array(reserved, dtype=float), run or Runs.none())


@dataclass(frozen=True)
class Wild:
    """Decide by coins, within the rules: equal shares, one job at a time or two side by side."""

    name: str = "wild"
    shy: float = 0.3

    def start(self, instance: OincInstance) -> OincInstance:
        return instance

    def decide(
        self, state: OincInstance, observation: Slot, rng: np.random.Generator
    ) -> tuple[Decision, OincInstance]:
        requests, jobs = observation.requests, observation.jobs
        sites = requests.sites
        reserved = rng.choice([0.0, 0.25, 0.5, 0.9], sites)
        reserved = np.where(rng.random() < 0.2, 0.0, reserved)
        site = rng.integers(-1, sites, requests.requests)
        others = np.bincount(site[site >= 0], minlength=sites)
        share = np.where(site >= 0, 1.0 / np.maximum(others[site], 1), 0.0)
        plan = SlotPlan(
            requests.with_reserved(reserved), site, share, share * (1.0 - reserved[site])
        )
        where = jobs.site.copy()
        for q in np.flatnonzero(~jobs.started):
            usable = np.flatnonzero(reserved > 0)
            where[q] = rng.choice([-1, *usable]) if rng.random() > self.shy else where[q]
        return Decision(plan, where, reserved, self._runs(jobs, where, reserved, rng)), state

    def _runs(
        self, jobs: Any, where: np.ndarray, reserved: np.ndarray, rng: np.random.Generator
    ) -> Runs:
        rows = []
        for j in np.flatnonzero(reserved > 0):
            mine = rng.permutation(jobs.job[where == j])
            if mine.size == 0 or rng.random() < self.shy:
                continue
            if mine.size > 1 and rng.random() < 0.5:
                rows += [(mine[0], reserved[j] / 2, 0.0, 1.0), (mine[1], reserved[j] / 2, 0.0, 1.0)]
                continue
            ends = np.append(np.sort(rng.choice([0.125, 0.25, 0.5, 0.75], mine.size - 1)), 1.0)
            begin = 0.0
            for job, end in zip(mine, ends, strict=True):
                if end > begin:
                    rows.append((job, reserved[j], begin, end))
                begin = end
        # Runs may be listed in any order.
        return runs(*[rows[r] for r in rng.permutation(len(rows))])

    def learn(self, state: Any, observation: Any, decision: Any, feedback: Any) -> Any:
        return state


class Step(NamedTuple):
    """One slot of a run."""

    seen: Slot
    decision: Decision
    outcome: Outcome


def step_through(
    environment: OincEnvironment, policy: Any, seed: int = 0
) -> tuple[list[Step], OincEpisode]:
    """Run a policy through one scenario and keep everything."""
    rng = np.random.default_rng(seed)
    episode = environment.episode(0, keep_trace=True)
    state = policy.start(environment.instance)
    steps = []
    while (seen := episode.observe()) is not None:
        answer, state = policy.decide(state, seen, rng)
        outcome = episode.act(answer)
        state = policy.learn(state, seen, answer, outcome)
        steps.append(Step(seen, answer, outcome))
    return steps, episode


def decisions(instance: OincInstance, policy: Any) -> list[Decision]:
    """Run a policy through the one scenario of an instance and keep its decisions."""
    steps, _ = step_through(OincEnvironment(instance), policy)
    return [step.decision for step in steps]


def same(one: Decision, two: Decision) -> bool:
    """Tell whether two decisions are the same to the last bit."""
    pairs = [(getattr(one.plan, name), getattr(two.plan, name)) for name in ("site", "band", "cpu")]
    pairs += [(one.job_site, two.job_site), (one.reserved, two.reserved)]
    pairs += list(zip(one.runs, two.runs, strict=True))
    return all(np.array_equal(left, right) for left, right in pairs)


class ServedSlot(NamedTuple):
    """A slot as a part simulated it."""

    queues: Queues
    site: np.ndarray
    runs: Runs
    memory: Any


class Record(NamedTuple):
    """All slots, and what became of the jobs."""

    steps: list[ServedSlot]
    site: list[int]
    completion: list[float]


def waiting(
    work: list[float],
    deadline: list[float],
    *,
    arrival: list[int] | None = None,
    weight: list[float] | None = None,
    speed: tuple[float, ...] = (1.0,),
    slots: int = 32,
) -> OincInstance:
    """Return jobs and sites; the one device is silent."""
    first = arrival or [0] * len(work)
    return unit_sites(
        np.zeros((slots, 1)), first, work, len(speed),
        speed=speed, deadline=deadline, weight=weight,
    )  # fmt: skip


def serve_alone(
    part: Retraining, instance: OincInstance, share: Any = 0.5, *, slots: int = 200
) -> Record:
    """Let a part serve the jobs of an instance, run after run as it says, until all are complete.

    Every slot is checked: no job runs before it is dispatched, moves once it has started, or runs
    beside another of its site.
    """
    shares = np.broadcast_to(np.asarray(share, dtype=float), (instance.sites,)).copy()
    speed = shares * instance.speed
    left, started = instance.work.copy(), np.zeros(instance.jobs, dtype=bool)
    site, completion = np.full(instance.jobs, -1), np.full(instance.jobs, np.inf)
    memory, steps = part.start(instance), []
    assert instance.weight is not None
    for t in range(slots):
        seen = np.flatnonzero((instance.arrival <= t) & np.isinf(completion))
        if t >= instance.slots and seen.size == 0:
            break
        jobs = Jobs(
            seen, site[seen], started[seen], left[seen], instance.work[seen],
            instance.arrival[seen], instance.deadline[seen], instance.weight[seen],
        )  # fmt: skip
        queues = Queues(t, jobs, shares, speed)
        sent, memory = part.dispatch(memory, queues)
        assert sent.shape == seen.shape
        assert ((sent == site[seen]) | ~started[seen]).all()
        assert (speed[sent[sent >= 0]] > 0).all()
        site[seen] = sent
        runs, memory = part.serve(memory, queues._replace(jobs=jobs._replace(site=sent)))
        busy = [0.0] * instance.sites
        for r in np.argsort(runs.begin, kind="stable"):
            k, j = int(runs.job[r]), int(site[runs.job[r]])
            assert k in seen
            assert runs.share[r] == shares[j]
            assert busy[j] <= runs.begin[r] < runs.end[r] <= 1.0
            busy[j] = float(runs.end[r])
            left[k] -= speed[j] * (runs.end[r] - runs.begin[r])
            started[k] = True
            if left[k] <= 1e-9 * instance.work[k]:
                left[k], completion[k] = 0.0, t + float(runs.end[r])
        steps.append(ServedSlot(queues, sent, runs, memory))
    return Record(steps, site.tolist(), completion.tolist())
