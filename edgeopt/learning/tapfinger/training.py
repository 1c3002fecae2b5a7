"""Learners by name, ready for :func:`edgeopt.learning.train`; needs the extra ``rl``."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger import from_bundled, generate
from edgeopt.learning.tapfinger.network import PRESETS
from edgeopt.learning.tapfinger.scheduler import SHIPPED, LearnedScheduler
from edgeopt.online.simulate import simulate
from edgeopt.online.tapfinger.environment import TapFingerEnvironment
from edgeopt.online.tapfinger.policies.learned_durations import LearntReservation
from edgeopt.online.tapfinger.policies.reservation import ReservationSpt
from edgeopt.options import check_choice, check_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.learning.tapfinger.imitation import Common
    from edgeopt.learning.tapfinger.tensors import Device

Starts = Literal["several", "single"]
Teacher = Literal["known", "unknown"]
Begin = Literal["scratch", "imitation"]

SETTINGS: Final[Mapping[str, Callable[..., TapFingerInstance]]] = {
    "several": generate,
    "single": partial(generate, single_start=True),
    "pointer": partial(generate, workload="pointer"),
    "testbed": partial(from_bundled, figures="testbed", tasks=192),
    "containers": partial(from_bundled, containers="measured"),
}
"""Settings of the paper with networks of their own: two of simulations, by the number of starts in
a slot, tasks that larger bundles do not speed up, and measured tasks on servers and containers."""

TRAINING: Final = range(1000, 1200)
"""Seeds of training instances."""

VALIDATION: Final = range(3000, 3016)
"""Seeds of the instances by which the best weights are chosen."""

BOOK: Final = range(900, 908)
"""Seeds of the instances from which the teacher without known durations has learnt them."""


FEWEST: Final = 24
"""Tasks of the shortest of the runs with which policy optimisation begins."""

PAPER: Final[Mapping[str, Any]] = {
    "decay": 0.95, "per_slot": False, "credit": "own", "told": False, "rate": 1e-4,
    "critic_rate": 1e-4, "entropy": 0.01, "gradient": 1e6, "far": 1e6, "epochs": 2, "batch": 256,
}  # fmt: skip
"""Options of the updates in the authors' program, beside a discount of 1, or 0.99 with one start.

Here the critic is a perceptron over sums with the Huber loss, and the weight of the entropy falls;
gradients are in effect not clipped."""


def instances(seeds: range, setting: str) -> list[TapFingerInstance]:
    """Draw instances in a setting of the paper."""
    return [SETTINGS[setting](rng=seed) for seed in seeds]


def teacher_of(name: Teacher, setting: str) -> Any:
    """Return the scheduler that knows durations, or one that has kept a book of earlier runs."""
    if name == "known":
        return ReservationSpt()
    policy = LearntReservation(memory="kept")
    for instance in instances(BOOK, setting):
        environment = TapFingerEnvironment(instance)
        policy = policy.after(simulate(environment, policy, rng=0, runs=1, keep_trace=True))
    return policy


def learner(
    name: str,
    *,
    seed: int = 0,
    starts: Starts | None = None,
    setting: str | None = None,
    teacher: Teacher = "known",
    preset: str = "small",
    updates: int = 28,
    begin: Begin = "scratch",
    device: Device = "cpu",
    **options: Any,
) -> Common:
    """Return a learner before its first update, ``"imitation"`` or ``"mappo"``.

    `setting` is one of `SETTINGS`, by default that of simulations with so many `starts` in a slot,
    ``"several"`` or ``"single"``; at most one of both may be given.
    `teacher` knows durations, or has learnt them from earlier runs; `begin` says whether policy
    optimisation begins with drawn weights, or with those of the imitation that comes with the
    package, near which it stays; `device` is that of the network; further options are those of
    `Options`, by default `PAPER` with the network of the paper.
    """
    import_module("edgeopt.learning.networks")  # says what to install if there is no PyTorch
    from edgeopt.learning.tapfinger.imitation import Imitation
    from edgeopt.learning.tapfinger.mappo import Mappo, Options
    from edgeopt.learning.tapfinger.tensors import check_device

    check_choice("name", name, ("imitation", "mappo"))
    if starts is not None and setting is not None:
        raise OptionError("starts and setting cannot be given together; a setting has its starts")
    check_choice("starts", starts or "several", get_args(Starts))
    drawn: str = setting or starts or "several"
    check_choice("setting", drawn, SETTINGS)
    check_choice("teacher", teacher, get_args(Teacher))
    check_choice("preset", preset, PRESETS)
    check_choice("begin", begin, get_args(Begin))
    check_device(device)
    check_whole("seed", seed)
    check_whole("updates", updates, 1)
    pool, validation = instances(TRAINING, drawn), instances(VALIDATION, drawn)
    parts: dict[str, Any] = {"seed": seed, "updates": updates, "device": device}
    made: Common
    if name == "imitation":
        scheduler = teacher_of(teacher, drawn)
        made = Imitation(scheduler, PRESETS[preset], pool, validation, **parts)
    else:
        shipped = drawn if teacher == "known" else "unknown"
        if preset == "paper":
            discount = 0.99 if pool[0].single_start else 1.0
            options = {"discount": discount, **PAPER, **options}
        if begin == "imitation":
            check_choice("setting", shipped, SHIPPED)
        known = LearnedScheduler(shipped).trained.weights if begin == "imitation" else None
        lengths = np.linspace(FEWEST, pool[0].tasks, len(pool)).astype(int).tolist()
        first = [
            SETTINGS[drawn](rng=one, tasks=tasks)
            for one, tasks in zip(TRAINING, lengths, strict=True)
        ]
        made = Mappo(
            PRESETS[preset], pool, validation, options=Options(**options), begin=known,
            anchor=known, first=first, **parts,
        )  # fmt: skip
    made.seeds |= {"training": list(TRAINING), "validation": list(VALIDATION)}
    return made
