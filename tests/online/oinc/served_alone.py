"""Retraining with no requests beside it: slots by hand, one part, shares that stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.instances.oinc import OincInstance
from edgeopt.online.oinc.events import Jobs
from edgeopt.online.oinc.parts import Queues

if TYPE_CHECKING:
    from edgeopt.online.oinc.events import Runs
    from edgeopt.online.oinc.parts import Retraining


class Step(NamedTuple):
    """A slot as a part simulated it."""

    queues: Queues
    site: np.ndarray
    runs: Runs
    memory: Any


class Life(NamedTuple):
    """All slots, and what became of the jobs."""

    steps: list[Step]
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
    nothing = np.zeros((slots, 1))
    return OincInstance(
        speed=np.array(speed),
        rate=np.ones((1, len(speed))),
        active=nothing.astype(bool),
        request_size=nothing,
        request_work=nothing,
        slo=nothing + 1.0,
        arrival=np.array(arrival or [0] * len(work), dtype=int),
        work=np.array(work),
        deadline=np.array(deadline),
        weight=None if weight is None else np.array(weight),
    )


def serve_alone(
    part: Retraining, instance: OincInstance, share: Any = 0.5, *, slots: int = 200
) -> Life:
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
        steps.append(Step(queues, sent, runs, memory))
    return Life(steps, site.tolist(), completion.tolist())
