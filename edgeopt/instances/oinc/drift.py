"""Data drift: a model's accuracy falls, a Page-Hinkley test detects it, a job arrives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.validate import check_sizes, real_numbers
from edgeopt.options import check_real, check_room

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

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

    Parameters
    ----------
    generator
        Source of randomness.
    slots, devices
        Numbers T and I.
    changes
        Changes that are expected among all devices over all slots.
    fresh
        Accuracy of a fresh model, in [0, 1].
    levels
        Accuracies after a change, in [0, 1], shape [L]; made up by default.
    pictures
        Labelled pictures per device and slot.
    test
        The test, by default `PageHinkley` as it comes.

    Raises
    ------
    OptionError
        If a number is out of range.
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
