"""Learners by name, ready for :func:`edgeopt.learning.train`; needs the extra ``rl``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from edgeopt.instances.tapfinger import generate
from edgeopt.online.simulate import simulate
from edgeopt.online.tapfinger.environment import TapFingerEnvironment
from edgeopt.online.tapfinger.learning.architecture import PRESETS
from edgeopt.online.tapfinger.learning.scheduler import LearnedScheduler
from edgeopt.online.tapfinger.policies.learnt import LearntReservation
from edgeopt.online.tapfinger.policies.reservation import ReservationSpt
from edgeopt.options import check_choice, check_whole

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.learning.imitation import Common

Starts = Literal["several", "single"]
Told = Literal["told", "untold"]
Begin = Literal["scratch", "imitation"]

TRAINING: Final = range(1000, 1200)
"""Seeds of training instances."""

VALIDATION: Final = range(3000, 3016)
"""Seeds of the instances by which the best weights are chosen."""

BOOK: Final = range(900, 908)
"""Seeds of the instances from which the teacher that is told nothing has learnt durations."""


def instances(seeds: range, starts: Starts) -> list[TapFingerInstance]:
    """Draw instances in the setting of the paper's simulations."""
    return [generate(rng=seed, single_start=starts == "single") for seed in seeds]


def teacher_of(name: Told, starts: Starts) -> Any:
    """Return the scheduler that is told durations, or one that has kept a book of earlier runs."""
    if name == "told":
        return ReservationSpt()
    policy = LearntReservation(memory="kept")
    for instance in instances(BOOK, starts):
        environment = TapFingerEnvironment(instance)
        policy = policy.after(simulate(environment, policy, rng=0, runs=1, record=True))
    return policy


def learner(
    name: str,
    *,
    seed: int = 0,
    starts: Starts = "several",
    teacher: Told = "told",
    preset: str = "small",
    updates: int = 28,
    begin: Begin = "scratch",
    **options: Any,
) -> Common:
    """Return a learner before its first update, ``"imitation"`` or ``"mappo"``.

    `teacher` is told durations, or has learnt them from earlier runs; `begin` says whether policy
    optimisation begins with drawn weights, or with those of the imitation that comes with the
    package, near which it stays; further options are those of `Options`.
    """
    import_module("edgeopt.learning.networks")  # says what to install if there is no PyTorch
    from edgeopt.online.tapfinger.learning.imitation import Imitation
    from edgeopt.online.tapfinger.learning.mappo import Mappo, Options

    check_choice("name", name, ("imitation", "mappo"))
    check_choice("starts", starts, get_args(Starts))
    check_choice("teacher", teacher, get_args(Told))
    check_choice("preset", preset, PRESETS)
    check_choice("begin", begin, get_args(Begin))
    check_whole("seed", seed)
    check_whole("updates", updates, 1)
    pool, validation = instances(TRAINING, starts), instances(VALIDATION, starts)
    parts: dict[str, Any] = {"seed": seed, "updates": updates}
    made: Common
    if name == "imitation":
        scheduler = teacher_of(teacher, starts)
        made = Imitation(scheduler, PRESETS[preset], pool, validation, **parts)
    else:
        shipped: str = starts if teacher == "told" else "untold"
        known = LearnedScheduler(shipped).trained.weights if begin == "imitation" else None
        made = Mappo(
            PRESETS[preset], pool, validation, options=Options(**options), begin=known,
            anchor=known, **parts,
        )  # fmt: skip
    made.seeds |= {"training": list(TRAINING), "validation": list(VALIDATION)}
    return made
