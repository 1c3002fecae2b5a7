"""Retraining jobs: five models, their work, when they arrive and when they are due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MODELS", "MODEL_NAMES", "deadlines", "draw_jobs", "model_work"]

MODELS: Final = {
    "ResNet18": 1.82,
    "MobileNetV2": 0.30,
    "ShuffleNet": 0.146,
    "TinyYOLOv2": 3.49,
    "AlexNet": 0.71,
}
"""Multiply-adds of one forward pass of each model, in units of 10^9."""

MODEL_NAMES: Final = tuple(MODELS)
"""Names of the models; the kind of a job is a place among them."""

SAMPLES: Final = 1024
"""Pictures in a retraining set."""

FLOP_PER_MAC: Final = 2
"""Operations in a multiply-add."""

STEP_FACTOR: Final = 3
"""Training on a picture takes a forward pass and twice that backward."""

FLOP_PER_CYCLE: Final = 32
"""Operations that a CPU does in a cycle."""

SPREAD: Final = (0.9, 1.1)
"""Range of the factor on the work of a job."""

ARRIVING: Final = 0.6
"""Share of the slots in which jobs arrive, from the first."""

EXPECTED_SHARE: Final = 0.5
"""Share of an average site under which the length of a job is reckoned for its deadline."""


def draw_jobs(
    generator: np.random.Generator,
    jobs: int,
    *,
    slots: int,
    speed: NDArray[np.float64],
    job_scale: float = 1.0,
    patience: tuple[float, float] = (1.5, 3.0),
) -> dict[str, Any]:
    """Draw jobs in the order of their arrival, uniform over the first 60 % of the slots.

    Each job draws arrival, model, work and patience on its own, and is put in order afterwards:
    fewer jobs are some of the same jobs.

    Parameters
    ----------
    generator
        Source of randomness.
    jobs
        Number K, may be 0.
    slots
        Number of slots T.
    speed
        CPU of the sites, Gcycle/s, shape [J].
    job_scale
        Pictures to retrain on, in terms of 1024; work is proportional to them.
    patience
        Range of the factor in `deadlines`.

    Returns
    -------
    Those fields of an instance that describe jobs.

    Raises
    ------
    OptionError
        If a number is out of range.
    """
    if jobs < 0:
        raise OptionError(f"jobs must be at least 0, got {jobs}")
    uniform = generator.random((jobs, 4))
    arrival = np.floor(uniform[:, 0] * max(1, int(ARRIVING * slots))).astype(np.int64)
    order = np.argsort(arrival, kind="stable")
    arrival, uniform = arrival[order], uniform[order]
    kind = np.floor(uniform[:, 1] * len(MODELS)).astype(np.int64)
    low, high = SPREAD
    work = model_work(job_scale)[kind] * (low + (high - low) * uniform[:, 2])
    return {
        "arrival": arrival,
        "work": work,
        "deadline": deadlines(arrival, work, speed, uniform[:, 3], patience),
        "job_kind": kind,
        "kinds": MODEL_NAMES,
    }


def model_work(job_scale: float = 1.0) -> NDArray[np.float64]:
    """Return the work of retraining each of `MODELS` for one epoch.

    Parameters
    ----------
    job_scale
        Pictures to retrain on, in terms of 1024.

    Returns
    -------
    Gcycle, shape [5]; 349 for ResNet18.

    Raises
    ------
    OptionError
        If the factor is not positive.

    Notes
    -----
    Zeng et al. have batches of 8 and 1024 pictures; epochs, operations and cycles are chosen here.
    """
    if not 0 < job_scale < np.inf:
        raise OptionError(f"job_scale must be a positive factor, got {job_scale}")
    per_sample = FLOP_PER_MAC * STEP_FACTOR / FLOP_PER_CYCLE
    return np.array(list(MODELS.values())) * per_sample * SAMPLES * job_scale


def deadlines(
    arrival: NDArray[np.int64],
    work: NDArray[np.float64],
    speed: NDArray[np.float64],
    uniform: NDArray[np.float64],
    patience: tuple[float, float] = (1.5, 3.0),
) -> NDArray[np.float64]:
    """Give each job a multiple of the time that it takes alone on half of an average site.

    Parameters
    ----------
    arrival
        Slots of arrival, shape [K].
    work
        Gcycle, shape [K].
    speed
        CPU of the sites, Gcycle/s, shape [J].
    uniform
        Numbers in [0, 1) that place the multiple in its range, shape [K].
    patience
        Range of the multiple.

    Returns
    -------
    Ends of slots, shape [K].

    Raises
    ------
    OptionError
        If the range is not positive and ordered.
    """
    least, most = patience
    if not 0 < least <= most < np.inf:
        raise OptionError(f"patience must be a positive range, got {patience}")
    alone = work / (EXPECTED_SHARE * speed.mean())
    multiple = least + (most - least) * uniform
    # A job of hardly any work is due at the end of its slot, not as it arrives.
    return np.asarray(np.maximum(np.ceil(arrival + multiple * alone), arrival + 1.0))
