"""Named instances on which the claims are checked when the caller brings none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Assumption
from edgeopt.bounds.edr.evaluation import Planned
from edgeopt.bounds.edr.relaxed import Relaxed
from edgeopt.bounds.named import ParameterSpace, kept
from edgeopt.instances.edr import EdrInstance
from edgeopt.instances.edr.named_instances import small

if TYPE_CHECKING:
    from collections.abc import Callable

Given = EdrInstance | Planned | Relaxed


def whole(given: Given) -> EdrInstance | Relaxed:
    """Return the instance itself, with or without rounds that are fixed."""
    return given.instance if isinstance(given, Planned) else given


def _of_problem(test: Callable[[Relaxed], bool]) -> Callable[[Given], bool]:
    return lambda given: test(Relaxed.of(whole(given)))


TASKS = Assumption("something to train", "there is a task", _of_problem(lambda one: one.tasks > 0))

ALWAYS = Assumption(
    "windows of all frames",
    "all tasks may train in all frames",
    _of_problem(lambda one: one.steady),
)

NONNEGATIVE = Assumption(
    "no round earns money",
    r"$c^t_i \ge 0$ for all tasks and frames, which no negative price is needed for",
    _of_problem(lambda one: bool((one.cost >= 0).all())),
)


def _priced(given: Given) -> bool:
    instance = whole(given)
    return isinstance(instance, EdrInstance) and bool((instance.price >= 0).all())


PRICED = Assumption("no negative price", r"$r^t \ge 0$ for all $t$", _priced)

AFFORDABLE = Assumption(
    "the even rates keep every cap",
    r"$e^t \cdot a^t \le R^t$, without which a frame has no comparator",
    _of_problem(lambda one: bool(one.affordable.all())),
)

INTERIOR = Assumption(
    "Assumptions 2 and 3",
    r"all tasks may train in all frames, and one point has $g^t \le -\epsilon$ in every frame with "
    r"$\epsilon$ larger than $\max_t \|[a^{t+1} - a^t]^+\|$",
    _of_problem(
        lambda one: one.steady and np.isfinite(one.diameter)
        and one.slack > float(one.drift.max(initial=0.0))
    ),
)  # fmt: skip

CAPPED = Assumption(
    "a cap in every frame",
    r"$R^t < \infty$ for all $t$",
    _of_problem(lambda one: bool(np.isfinite(one.cap).all())),
)


def tiled(instance: EdrInstance, times: int, *, keep_rate: bool = False) -> EdrInstance:
    """Repeat all frames; tasks may train until the end of the longer horizon."""
    frames = instance.frames * times
    order = np.arange(frames) % instance.frames
    series = ("cap", "price", "requests", "propagation", "slo", "rate")
    return instance.replace(
        **{name: getattr(instance, name)[order] for name in series},
        deadline=np.full(instance.tasks, frames - 1),
        rounds=instance.rounds * (times if keep_rate else 1),
    )


def steady(seed: int) -> EdrInstance:
    """Draw an instance whose tasks train all the time, with caps that leave some room.

    Sites are those of `edgeopt.instances.edr.named_instances.small`, with room for everything; over
    a dozen frames the price changes from frame to frame.
    """
    draw = np.random.default_rng(seed)
    base = small(draw)
    while base.tasks == 0:
        base = small(draw)
    long = tiled(base, -(-12 // base.frames)).replace(arrival=np.zeros(base.tasks, dtype=int))
    rounds = np.maximum(1, np.round(long.frames * draw.uniform(0.2, 2, long.tasks)))
    long = long.replace(
        rounds=rounds.astype(int),
        price=draw.uniform(0.2, 2, long.frames),
        capacity=long.capacity + 4 * (rounds @ long.round_work) / long.frames,
    )
    most = long.request_energy.max(axis=0) * long.requests.sum(axis=(1, 2))
    training = (long.round_energy * long.even_rate).sum(axis=1)
    cap = training * draw.uniform(1.2, 3, long.frames) + most.sum(axis=1)
    return long.replace(cap=np.where(draw.random(long.frames) < 0.8, cap, cap.max()))


def moving(seed: int) -> Relaxed:
    """Draw a training problem whose wanted rates change a little from frame to frame."""
    draw = np.random.default_rng(seed)
    frames, tasks = 30, int(draw.integers(1, 5))
    energy = draw.uniform(0.5, 2, (frames, tasks))
    rate = draw.uniform(0.5, 2, tasks) + draw.uniform(0, 0.2, (frames, tasks))
    cap = energy @ rate.max(axis=0) + energy.sum(axis=1) * draw.uniform(0.8, 2, frames)
    return Relaxed(
        cost=draw.uniform(0.1, 2, (frames, tasks)),
        energy=energy,
        cap=cap,
        rate=rate,
        active=np.ones((frames, tasks), dtype=bool),
        upper=np.full(tasks, 10.0),
    )


DRAWN: ParameterSpace = {f"small({seed})": kept(small, seed) for seed in range(8)}
"""Random instances that can be enumerated."""

STEADY: ParameterSpace = {f"steady({seed})": kept(steady, seed) for seed in range(6)}
"""Random instances in which the assumptions of the theory hold."""

MOVING: ParameterSpace = {f"moving({seed})": kept(moving, seed) for seed in range(6)}
"""Random training problems in which the assumptions hold and the comparators move."""
