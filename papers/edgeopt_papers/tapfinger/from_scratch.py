"""Policy optimisation without a teacher: curves, and runs on seeds that chose nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt_papers.releases import Release

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from edgeopt.learning import Training

FRESH: Final = range(9200, 9212)
"""Seeds of instances of no training, validation, book or choice."""

PLACES: Final[Mapping[str, Mapping[str, Any]]] = {
    "fresh": {},
    "six clusters": {"clusters": 6},
    "pointer": {"workload": "pointer"},
}
"""Where policies run on the seeds of `FRESH`: in the setting of their training, and on two others,
of which they have seen nothing; there only those run that did best on the validation seeds."""


class Point(NamedTuple):
    """An evaluation: of what, learnt from which seed, after how long, with which result.

    `course` is the key of a `Course`, or the name of a policy that does not learn, which has no
    rounds. `setting` is that of training and validation. `rounds` and `steps` are those of the
    training before, the latter of gradients of the actor; `seconds` of processor time include
    evaluations. `flow` is the mean flow time, slots: on the validation seeds, or where `place` is
    one of `PLACES`, of a run on the instance of seed `instance`.
    """

    course: str
    setting: str
    seed: int
    rounds: int
    steps: int
    seconds: float
    flow: float
    place: str = "validation"
    instance: int = -1


SCHEDULE: Final = 112
"""Updates of a whole training, of 2,048 rounds each, along which rates fall."""

EVERY: Final = 16
"""Updates between two evaluations."""


@dataclass(frozen=True)
class Course:
    """A training by policy optimisation of which the curve is kept.

    Parameters
    ----------
    title
        What it is, for people.
    setting
        Of training and validation, by the number of starts in a slot.
    options
        Of the learner, beyond its defaults.
    updates, schedule
        After which it ends, and along which its rates fall.
    seeds
        From which it is trained.
    """

    title: str
    setting: str
    options: Mapping[str, Any] = field(default_factory=dict)
    updates: int = 32
    schedule: int = SCHEDULE
    seeds: Sequence[int] = range(3)


def _ablation(title: str, setting: str, **options: Any) -> Course:
    return Course(title, setting, options)


_OWN: Final = "reward and value of each cluster (paper)"
_AFTER: Final = {"begin": "imitation", "entropy": 0.0, "rate": 3e-4}

COURSES: Final[Mapping[str, Course]] = {
    "mappo-several": Course("as it is", "several", updates=SCHEDULE),
    "mappo-single": Course("as it is", "single", updates=SCHEDULE),
    "ablation-no-future-several": _ablation("critic not told the future", "several", told=False),
    "ablation-no-future-single": _ablation("critic not told the future", "single", told=False),
    "ablation-own-reward-several": _ablation(_OWN, "several", credit="own"),
    "ablation-own-reward-single": _ablation(_OWN, "single", credit="own"),
    "ablation-decay": _ablation("decay .95 for .8", "several", decay=0.95),
    "ablation-no-entropy": _ablation("no entropy", "several", entropy=0.0),
    "mappo-after": Course("after imitation, near it", "several", _AFTER, schedule=32),
}
"""Trainings by key; ablations differ in one thing, and end after 65,536 rounds."""


def trained(key: str, seed: int, folder: Path) -> Training:
    """Train a course from a seed, or take up what is in the folder."""
    from edgeopt.learning import train
    from edgeopt.learning.tapfinger.training import learner

    course = COURSES[key]
    made: Any = learner(
        "mappo", seed=seed, updates=course.schedule, setting=course.setting, **course.options
    )
    return train(made, folder / f"{key}-{seed}", updates=course.updates, every=EVERY)


def curve(key: str, seed: int, rows: Sequence[Mapping[str, float | None]]) -> Iterator[Point]:
    """Yield the evaluations of a training."""
    for row in rows:
        flow = row["flow"]
        yield Point(
            key, COURSES[key].setting, seed, int(row["rounds"] or 0), int(row["steps"] or 0),
            round(row["seconds"] or 0.0, 1), np.inf if flow is None else flow,
        )  # fmt: skip


def others(setting: str) -> dict[str, Any]:
    """Return policies that do not learn, with the targets of Tiresias of the paper's figures."""
    from edgeopt.online.tapfinger import Optimus, RandomAllocation, ReservationSpt, Tiresias

    return {
        "reservation": ReservationSpt(), "optimus": Optimus(),
        "tiresias": Tiresias(target="minimum" if setting == "single" else "elastic"),
        "random": RandomAllocation(),
    }  # fmt: skip


def flows(policy: Any, setting: str, place: str) -> Iterator[tuple[int, float]]:
    """Yield the seed and the mean flow time of a run on each fresh instance of a place."""
    from edgeopt.learning.tapfinger.training import SETTINGS
    from edgeopt.online import simulate
    from edgeopt.online.tapfinger import TapFingerEnvironment

    for seed in FRESH:
        drawn = SETTINGS[setting](rng=seed, **PLACES[place])
        run = simulate(TapFingerEnvironment(drawn), policy, rng=seed, runs=1)
        yield seed, float(run.mean_flow_time()[0])


def runs(key: str, by_seed: Mapping[int, Training]) -> Iterator[Point]:
    """Run what was trained, and policies beside it, on the fresh instances of all places."""
    from edgeopt.learning.tapfinger import LearnedScheduler

    setting = COURSES[key].setting
    best = min(by_seed, key=lambda seed: by_seed[seed].best["flow"] or np.inf)
    for place in PLACES:
        for name, policy in others(setting).items():
            for instance, flow in flows(policy, setting, place):
                yield Point(name, setting, 0, 0, 0, 0.0, flow, place, instance)
        for seed in by_seed if place == "fresh" else (best,):
            [kept] = curve(key, seed, [by_seed[seed].best])
            policy = LearnedScheduler(by_seed[seed].checkpoint)
            for instance, flow in flows(policy, setting, place):
                yield kept._replace(flow=flow, place=place, instance=instance)


def _points(folder: Path) -> pd.DataFrame:
    """Train all courses from all seeds, with their checkpoints in a folder, and run the whole."""
    import pandas as pd

    found: list[Point] = []
    for key, course in COURSES.items():
        made = {seed: trained(key, seed, folder) for seed in course.seeds}
        for seed, one in made.items():
            found += curve(key, seed, one.rows)
        if course.updates == SCHEDULE:
            found += runs(key, made)
    return pd.DataFrame(found).round({"flow": 6})


SCRATCH: Final = Release(
    name="tapfinger-scratch",
    path=Path(__file__).with_suffix(".csv"),
    command="make learners NAMES=tapfinger-scratch",
    make=_points,
)
"""The table of curves and runs."""


class Beside(NamedTuple):
    """A policy from scratch beside another one on the fresh instances of a place.

    `flow` and `its` are mean flow times, `ratio` is that of both, `ahead` on how many instances the
    policy from scratch has the shorter one.
    """

    place: str
    setting: str
    seed: int
    flow: float
    other: str
    its: float
    ratio: float
    ahead: int


def beside(table: pd.DataFrame) -> Iterator[Beside]:
    """Set every policy from scratch beside every policy that ran on the same instances."""
    apart = table[table["place"] != "validation"]
    for (place, setting), rows in apart.groupby(["place", "setting"], sort=False):
        by: dict[tuple[str, int], Any] = {
            (str(course), int(own["seed"].iloc[0])): own["flow"].to_numpy()  # in one order
            for (course, _), own in rows.groupby(["course", "seed"], sort=False)
        }
        for (course, seed), own in by.items():
            for (other, _), its in by.items():
                if course in COURSES and other not in COURSES:
                    yield Beside(
                        str(place), str(setting), seed, own.mean(), other, its.mean(),
                        own.mean() / its.mean(), int((own < its).sum()),
                    )  # fmt: skip
