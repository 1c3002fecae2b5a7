"""Retraining jobs: five models, their work, when they arrive and when they are due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.instances.validate import check_span
from edgeopt.options import check_real, check_room, check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
ARRIVING: Final = 0.6  # share of the slots in which jobs arrive, from the first
EXPECTED_SHARE: Final = 0.5
"""Share of an average site under which the length of a job is reckoned for its deadline."""


class JobSettings(NamedTuple):
    """What the work and the deadlines of jobs follow from."""

    speed: NDArray[np.float64]  # CPU of the sites, Gcycle/s, shape [J]
    job_scale: float = 1.0  # pictures to retrain on, in terms of 1024; work is proportional to them
    patience: tuple[float, float] = (1.5, 3.0)  # range of the multiple in `deadlines`
    # factors on the work of a job, each as likely, shape [F]; None: uniform in 0.9 to 1.1
    factors: NDArray[np.float64] | None = None


def draw_jobs(
    generator: np.random.Generator, jobs: int, slots: int, settings: JobSettings
) -> dict[str, Any]:
    """Draw jobs in the order of their arrival, uniform over the first 60 % of the slots.

    Each job draws arrival, model, work and patience on its own, and is put in order afterwards:
    fewer jobs are some of the same jobs.
    """
    check_whole("jobs", jobs)
    check_room("4 * jobs", 4, jobs)
    uniform = generator.random((jobs, 4))
    arrival = np.floor(uniform[:, 0] * max(1, int(ARRIVING * slots))).astype(np.int64)
    order = np.argsort(arrival, kind="stable")
    kind = np.floor(uniform[order, 1] * len(MODELS)).astype(np.int64)
    return _fields(arrival[order], kind, uniform[order, 2:], settings)


def drift_jobs(
    generator: np.random.Generator, alarm: NDArray[np.bool_], settings: JobSettings
) -> dict[str, Any]:
    """Turn alarms into jobs: in the slot after an alarm the device's model is to be retrained."""
    slot, device = np.nonzero(alarm[:-1])
    owned, drawn = generator.spawn(2)
    kind = np.floor(owned.random(alarm.shape[1]) * len(MODELS)).astype(np.int64)[device]
    uniform = drawn.random((slot.size, 2))
    return _fields(slot + 1, kind, uniform, settings)


def _fields(
    arrival: NDArray[np.int64],
    kind: NDArray[np.int64],
    uniform: NDArray[np.float64],
    settings: JobSettings,
) -> dict[str, Any]:
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


def model_work(job_scale: float = 1.0) -> NDArray[np.float64]:
    """Return the work of retraining each of `MODELS` for one epoch.

    Zeng et al. have batches of 8 and 1024 pictures; epochs, operations and cycles are chosen here.
    """
    check_real("job_scale", job_scale, "(0, inf)")
    per_sample = FLOP_PER_MAC * STEP_FACTOR / FLOP_PER_CYCLE
    return np.array(list(MODELS.values())) * per_sample * SAMPLES * job_scale


def deadlines(
    arrival: NDArray[np.int64],
    work: NDArray[np.float64],
    speed: NDArray[np.float64],
    uniform: NDArray[np.float64],
    patience: tuple[float, float] = (1.5, 3.0),
) -> NDArray[np.float64]:
    """Give each job a multiple of the time that it takes alone on half of an average site."""
    check_span("patience", patience)
    least, most = patience
    alone = work / (EXPECTED_SHARE * speed.mean())
    multiple = least + (most - least) * uniform
    # A job of hardly any work is due at the end of its slot, not as it arrives.
    return np.asarray(np.maximum(np.ceil(arrival + multiple * alone), arrival + 1.0))
