"""Retraining jobs: data drift and its detection, five models, arrivals and deadlines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.validate import check_sizes, check_span, real_numbers
from edgeopt.options import check_choice, check_real, check_room, check_whole
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from edgeopt.arrays import Flags, Floats, Ints


LEVELS: Final = (0.95, *(0.4 + 0.05 * k for k in range(11)))
"""Accuracy of a fresh model, and those that it may fall to: made up."""

PICTURES: Final = 32  # labelled pictures per device and slot on which accuracy is observed


class Evidence(NamedTuple):
    """What a test has seen of each stream since it began anew, shapes [I]."""

    seen: Floats  # number of values
    mean: Floats  # their mean
    fall: Floats  # sum of how far they lay below the mean of that time, less the tolerance
    least: Floats  # least such sum so far, at most 0


@dataclass(frozen=True)
class PageHinkley:
    r"""A test that detects a fall in the mean of a stream, for many streams at once.

    With the mean :math:`\bar x_t` of what has been seen, the sum
    :math:`m_t = \sum_{s \le t} (\bar x_s - x_s - \delta)` wanders down while nothing happens; the
    alarm is raised when it has risen by more than :math:`\lambda` above its least value.

    Parameters
    ----------
    tolerance
        Tolerated fall :math:`\delta`.
    threshold
        Rise :math:`\lambda` at which the alarm is raised.

    Raises
    ------
    OptionError
        If the tolerance is negative or the threshold is not positive.

    Notes
    -----
    E. S. Page, "Continuous inspection schemes", Biometrika 1954; D. V. Hinkley, "Inference about
    the change-point from cumulative sum tests", Biometrika 1971; the form for streams follows
    J. Gama et al., "A survey on concept drift adaptation", ACM Computing Surveys 2014.
    """

    tolerance: float = 0.02
    threshold: float = 0.5

    def __post_init__(self) -> None:
        check_real("tolerance", self.tolerance, "[0, inf)")
        check_real("threshold", self.threshold, "(0, inf)")

    def start(self, streams: int) -> Evidence:
        """Return the evidence of streams of which nothing has been seen."""
        return Evidence(*(np.zeros(streams) for _ in Evidence._fields))

    def step(self, evidence: Evidence, values: Floats) -> tuple[Flags, Evidence]:
        """Take the next value of each stream; return which raise the alarm, and the evidence.

        After an alarm, the test of that stream begins anew.
        """
        seen = evidence.seen + 1
        mean = evidence.mean + (values - evidence.mean) / seen
        fall = evidence.fall + mean - values - self.tolerance
        least = np.minimum(evidence.least, fall)
        alarm = fall - least > self.threshold
        kept = (np.where(alarm, 0.0, field) for field in (seen, mean, fall, least))
        return alarm, Evidence(*kept)


@compact_repr
class Drift(NamedTuple):
    """Accuracy of the models of devices, and when its fall is detected.

    Attributes
    ----------
    accuracy
        Accuracy in a slot, shape [T, I].
    observed
        Share of the labelled pictures of the slot that were classified correctly, shape [T, I].
    alarm
        Whether the test raises the alarm at the end of the slot, shape [T, I].
    """

    accuracy: Floats
    observed: Floats
    alarm: Flags


def draw_drift(
    generator: np.random.Generator,
    slots: int,
    devices: int,
    changes: float,
    *,
    fresh: float = LEVELS[0],
    levels: Floats | None = None,
    pictures: int = PICTURES,
    test: PageHinkley | None = None,
) -> Drift:
    """Draw streams of accuracies that are constant piece by piece.

    In every slot the data of a device change with the same probability; the accuracy of its model
    then becomes one of the levels, each as likely. When the test raises the alarm, the model is
    fresh again from the next slot on, as if retraining took no time: so the jobs do not depend on
    who serves them. Devices do not depend on how many there are.
    """
    check_sizes(slots=slots, devices=devices, pictures=pictures)
    check_room("devices * slots * pictures", devices, slots, 2 + pictures)
    check_real("changes", changes)
    check_real("fresh", fresh)
    pool = np.array(LEVELS[1:]) if levels is None else real_numbers("levels", levels)
    if pool.ndim != 1 or not pool.size or not all(0 <= x <= 1 for x in (fresh, *pool.tolist())):
        raise OptionError("accuracies must lie in [0, 1], at least one after a change")
    chance = changes / (slots * devices)
    if not 0 <= chance <= 1:
        raise OptionError(
            f"changes must lie in [0, slots * devices = {slots * devices}], got {changes}"
        )
    rule = PageHinkley() if test is None else test
    uniform = generator.random((devices, slots, 2 + pictures)).swapaxes(0, 1)
    changed = uniform[:, :, 0] < chance
    after = pool[np.floor(uniform[:, :, 1] * pool.size).astype(np.int64)]
    accuracy, observed = np.empty((slots, devices)), np.empty((slots, devices))
    alarm = np.empty((slots, devices), dtype=np.bool_)
    level, evidence = np.full(devices, fresh), rule.start(devices)
    for t in range(slots):
        level = np.where(changed[t], after[t], level)
        accuracy[t] = level
        observed[t] = (uniform[t, :, 2:] < level[:, None]).mean(axis=1)
        alarm[t], evidence = rule.step(evidence, observed[t])
        level = np.where(alarm[t], fresh, level)
    return Drift(accuracy, observed, alarm)


MODELS: Final = {
    "ResNet18": 1.82,
    "MobileNetV2": 0.30,
    "ShuffleNet": 0.146,
    "TinyYOLOv2": 3.49,
    "AlexNet": 0.71,
}
"""Multiply-adds of one forward pass of each model, in units of 10^9."""

MODEL_NAMES: Final = tuple(MODELS)  # names of the models; the kind of a job is a place among them
SAMPLES: Final = 1024  # pictures in a retraining set
FLOP_PER_MAC: Final = 2  # operations in a multiply-add
STEP_FACTOR: Final = 3  # training on a picture takes a forward pass and twice that backward
FLOP_PER_CYCLE: Final = 32  # operations that a CPU does in a cycle
SPREAD: Final = (0.9, 1.1)  # range of the factor on the work of a job
EXPECTED_SHARE: Final = 0.5
"""Share of an average site under which the length of a job is reckoned for its deadline."""


ArrivalDistribution = Literal["uniform", "stratified"]
"""Arrivals independent of each other, or one in each of as many equal parts of the time."""


class JobSettings(NamedTuple):
    """What the work and the deadlines of jobs follow from."""

    speed: Floats  # CPU of the sites, Gcycle/s, shape [J]
    job_scale: float = 1.0  # pictures to retrain on, in terms of 1024; work is proportional to them
    patience: tuple[float, float] = (1.5, 3.0)  # range of the multiple in `deadlines`
    # factors on the work of a job, each as likely, shape [F]; None: uniform in 0.9 to 1.1
    factors: Floats | None = None


def draw_jobs(
    generator: np.random.Generator,
    jobs: int,
    slots: int,
    settings: JobSettings,
    arriving: float = 0.6,
    arrival_distribution: ArrivalDistribution = "uniform",
) -> dict[str, Any]:
    """Draw jobs in the order of their arrival, over the first part of the slots.

    Each job draws arrival, model, work and patience on its own, and is put in order afterwards:
    where arrivals are uniform, fewer jobs are some of the same jobs.
    """
    check_whole("jobs", jobs)
    check_room("4 * jobs", 4, jobs)
    check_real("arriving", arriving, "(0, 1]")
    check_choice("arrival_distribution", arrival_distribution, get_args(ArrivalDistribution))
    uniform = generator.random((jobs, 4))
    place = uniform[:, 0]
    if arrival_distribution == "stratified":
        place = (np.arange(jobs) + place) / max(1, jobs)
    arrival = np.floor(place * max(1, int(arriving * slots))).astype(np.int64)
    order = np.argsort(arrival, kind="stable")
    kind = np.floor(uniform[order, 1] * len(MODELS)).astype(np.int64)
    return _fields(arrival[order], kind, uniform[order, 2:], settings)


def drift_jobs(
    generator: np.random.Generator, alarm: Flags, settings: JobSettings
) -> dict[str, Any]:
    """Turn alarms into jobs: in the slot after an alarm the device's model is to be retrained."""
    slot, device = np.nonzero(alarm[:-1])
    owned, drawn = generator.spawn(2)
    kind = np.floor(owned.random(alarm.shape[1]) * len(MODELS)).astype(np.int64)[device]
    uniform = drawn.random((slot.size, 2))
    return _fields(slot + 1, kind, uniform, settings)


def _fields(arrival: Ints, kind: Ints, uniform: Floats, settings: JobSettings) -> dict[str, Any]:
    """Give jobs their work and deadlines, by two numbers in [0, 1) each, shape [K, 2]."""
    speed, job_scale, patience, factors = settings
    low, high = SPREAD
    factor = low + (high - low) * uniform[:, 0]
    if factors is not None:
        factor = factors[np.floor(uniform[:, 0] * factors.size).astype(np.int64)]
    work = model_work(job_scale)[kind] * factor
    return {
        "arrival": arrival,
        "work": work,
        "deadline": deadlines(arrival, work, speed, uniform[:, 1], patience),
        "job_kind": kind,
        "kinds": MODEL_NAMES,
    }


def model_work(job_scale: float = 1.0) -> Floats:
    """Return the work of retraining each of `MODELS` for one epoch.

    Zeng et al. have batches of 8 and 1024 pictures; epochs, operations and cycles are chosen here.
    """
    check_real("job_scale", job_scale, "(0, inf)")
    per_sample = FLOP_PER_MAC * STEP_FACTOR / FLOP_PER_CYCLE
    return np.array(list(MODELS.values())) * per_sample * SAMPLES * job_scale


def deadlines(
    arrival: Ints,
    work: Floats,
    speed: Floats,
    uniform: Floats,
    patience: tuple[float, float] = (1.5, 3.0),
) -> Floats:
    """Give each job a multiple of the time that it takes alone on half of an average site."""
    check_span("patience", patience)
    least, most = patience
    alone = work / (EXPECTED_SHARE * speed.mean())
    multiple = least + (most - least) * uniform
    # A job of hardly any work is due at the end of its slot, not as it arrives.
    return np.asarray(np.maximum(np.ceil(arrival + multiple * alone), arrival + 1.0))
