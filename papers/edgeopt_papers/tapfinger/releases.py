"""What training leaves of TapFinger's learners: networks, and curves of imitation over rounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import edgeopt
from edgeopt_papers.releases import Release, weights
from edgeopt_papers.tapfinger.from_scratch import SCRATCH
from edgeopt_papers.tapfinger.held_out import FRESH
from edgeopt_papers.tapfinger.imitation_runs import SHOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd


_NETWORKS: Final = Path(edgeopt.__file__).parent / "learning" / "tapfinger"

_BY_OPTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "several": {"starts": "several"},
    "single": {"starts": "single"},
    "unknown": {"teacher": "unknown"},
}


class Point(NamedTuple):
    """An evaluation: of what, learnt from which seed, after how long, with which result.

    `course` is the key of a `Course`, or the name of a policy that does not learn, or ``"bound"``;
    those have no rounds. `setting` is that of training and validation. `rounds` and gradient
    `steps` are those of the training before. `flow` is the mean flow time on the validation seeds,
    slots.
    """

    course: str
    setting: str
    seed: int
    rounds: int
    steps: int
    flow: float


@dataclass(frozen=True)
class Course:
    """An imitation of which the curve is kept.

    Parameters
    ----------
    title
        What it is, for people.
    setting
        Of training and validation, by the number of starts in a slot or by the tasks.
    updates
        Of its schedule, of 1,024 rounds each.
    beside
        Key of the training from which it differs in one thing, if it is an ablation.
    options
        Of the learner, beyond its defaults.
    seeds
        From which it is trained.
    """

    title: str
    setting: str = "several"
    updates: int = 28
    beside: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    seeds: Sequence[int] = range(3)


_WHOLE: Final = 28
"""Updates of an imitation that comes with the package."""

_SHORT: Final = 16
"""Updates of all ablations."""


def _shipped(title: str, name: str) -> Course:
    """Return the training of a network that comes with the package."""
    setting = "single" if name == "single" else "several"
    options = {key: value for key, value in _BY_OPTIONS[name].items() if key != "starts"}
    return Course(title, setting, _WHOLE, options=options)


def _imitated(title: str, preset: str = "small", setting: str = "several") -> Course:
    beside = "imitated" if preset != "small" and setting == "several" else ""
    return Course(title, setting, _SHORT, beside, {"preset": preset})


COURSES: Final[Mapping[str, Course]] = {
    "imitation-several": _shipped("imitation", "several"),
    "imitation-single": _shipped("imitation", "single"),
    "imitation-unknown": _shipped("imitation, durations unknown", "unknown"),
    "imitated": _imitated("as it is"),
    "imitated-no_han": _imitated("no attention over the graph", "no_han"),
    "imitated-no_pointer": _imitated("no pointer", "no_pointer"),
    "imitated-vanilla": _imitated("neither (vanilla)", "vanilla"),
    "imitated-vanilla-single": _imitated("vanilla, figure 8", "vanilla", "single"),
    "imitated-no_pointer-pointer": _imitated("no pointer, figure 14", "no_pointer", "pointer"),
    "imitated-no_self_loops": _imitated("nodes do not hear themselves", "no_self_loops"),
    "imitated-no_void_place": _imitated("no place that names nobody", "no_void_place"),
}  # fmt: skip
"""Trainings by key; ablations leave out parts of the network."""


def curve(key: str, seed: int, folder: Path) -> Iterator[Point]:
    """Yield evaluations of a training from a seed; the package has those of its own networks."""
    from edgeopt.learning import Checkpoint, train
    from edgeopt.learning.tapfinger.imitation import PASSES, ROUNDS, RUNS
    from edgeopt.learning.tapfinger.training import learner

    course = COURSES[key]
    if course.updates == _WHOLE and seed == 0:
        path = _NETWORKS / f"{key.removeprefix('imitation-')}.safetensors"
        rows = Checkpoint.load(path, system="tapfinger").curve
    else:
        made: Any = learner(
            "imitation", seed=seed, updates=course.updates, setting=course.setting,
            **course.options,
        )  # fmt: skip
        out = folder / f"{key}-{seed}"
        rows = train(made, out, updates=course.updates, every=course.updates // 4).rows
    for row in rows:
        updates, flow = int(row["updates"] or 0), row["flow"]
        yield Point(
            key, course.setting, seed, RUNS * ROUNDS * updates, PASSES * updates,
            np.inf if flow is None else float(flow),
        )  # fmt: skip


def references() -> Iterator[Point]:
    """Evaluate schedulers that do not learn, and the bound, on the validation seeds."""
    from edgeopt.learning.tapfinger.training import VALIDATION, instances, teacher_of
    from edgeopt.models.tapfinger import scenario_bound
    from edgeopt.online import simulate
    from edgeopt.online.tapfinger import Min, RandomAllocation, ReservationSpt, TapFingerEnvironment

    for setting in ("several", "single"):
        drawn = instances(VALIDATION, setting)
        policies = {
            "reservation": ReservationSpt(), "learnt": teacher_of("unknown", setting),
            "random": RandomAllocation(), "min": Min(),
        }  # fmt: skip
        runs: Any = []
        for name, policy in policies.items():
            runs = [simulate(TapFingerEnvironment(one), policy, rng=0, runs=1) for one in drawn]
            flows = [one.mean_flow_time()[0] for one in runs]
            yield Point(name, setting, 0, 0, 0, float(np.mean(flows)))
        least = [
            scenario_bound(one, run.scenarios).value / one.tasks
            for one, run in zip(drawn, runs, strict=True)
        ]
        yield Point("bound", setting, 0, 0, 0, float(np.mean(least)))


def points(folder: Path) -> pd.DataFrame:
    """Train all courses from all seeds, with their checkpoints in a folder."""
    import pandas as pd

    found = list(references())
    for key, course in COURSES.items():
        for seed in course.seeds:
            found += curve(key, seed, folder)
    return pd.DataFrame(found).round({"flow": 6})


TRAINING: Final = Release(
    name="tapfinger-training",
    path=Path(__file__).with_name("training.csv"),
    command="make learners NAMES=tapfinger-training",
    make=points,
)
"""The curves; the networks that come with the package are those of seed 0."""


def summary(table: pd.DataFrame, *, last: bool = True) -> pd.DataFrame:
    """Summarise the seeds of every course, after its `last` rounds or at every evaluation.

    The columns are course, setting, rounds, seeds, and of the mean flow times on the validation
    seeds, in slots, ``flow``, the median, ``least`` and ``most``; and medians of ``steps`` and
    ``seconds``, if there are such columns.
    """
    also: Any = {name: (name, "median") for name in ("steps", "seconds") if name in table}
    ends = table.groupby("course")["rounds"].transform("max")
    kept = table[table["rounds"] == ends] if last else table
    by = kept.groupby(["course", "setting", "rounds"], sort=False)
    found: pd.DataFrame = by.agg(
        seeds=("seed", "size"), flow=("flow", "median"), least=("flow", "min"),
        most=("flow", "max"), **also,
    ).reset_index()  # fmt: skip
    return found


RELEASES: Final = (
    *(
        weights(_NETWORKS / f"{name}.safetensors", "tapfinger", "imitation", **options)
        for name, options in _BY_OPTIONS.items()
    ),
    SHOWN,
    FRESH,
    TRAINING,
    SCRATCH,
)
"""All of TapFinger's."""
