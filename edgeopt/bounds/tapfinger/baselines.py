"""What the paper says of the policies that it compares with, and what they are."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.bounds.tapfinger import counterexamples as named
from edgeopt.bounds.tapfinger.statement import claim
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.online.tapfinger.policies.optimus import fitted_slots

if TYPE_CHECKING:
    from edgeopt.online.tapfinger.policies.optimus import Fit

__all__ = ["CLAIMS", "InTurn"]


@dataclass(frozen=True)
class InTurn:
    """Tasks that are all there at first and run one at a time, in an order that is drawn.

    Parameters
    ----------
    slots
        Slots that each of them takes.
    """

    slots: tuple[int, ...]

    def flows(self) -> list[int]:
        """Return the sum of flow times in every order."""
        return [sum(itertools.accumulate(order)) for order in itertools.permutations(self.slots)]


def _worst_luck(tasks: InTurn) -> Measurement:
    """Compare Min out of luck with another random selection in luck."""
    return Measurement(float(max(tasks.flows())), float(min(tasks.flows())))


def _mean_luck(tasks: InTurn) -> Measurement:
    middle = sum(tasks.slots) * (len(tasks.slots) + 1) / 2.0
    return Measurement(float(np.mean(tasks.flows())), middle)


def _expects(instance: TapFingerInstance, fit: Fit) -> Measurement:
    """Measure how many slots a GPU more is expected to save, less what a CPU core more is.

    The average over all bundles of all kinds whose speed depends on GPUs alone.
    """
    slots = fitted_slots(instance, fit)
    saved = []
    for n, k in np.ndindex(slots.shape[:2]):
        least, speed = instance.minimum[k], instance.speed[n, k]
        inside = (slice(max(least[0], 1), None), slice(max(least[1], 1), None))
        by_gpus = speed[inside]
        if min(by_gpus.shape) > 1 and (by_gpus == by_gpus[:1]).all() and np.ptp(by_gpus) > 0:
            expected = slots[n, k][inside]
            saved.append(-np.diff(expected, axis=1).mean() + np.diff(expected, axis=0).mean())
    if not saved:
        raise NotApplicableError("no kind of task depends on GPUs alone")
    return Measurement(float(min(saved)), 0.0)


_IN_TURN = {"instance_type": InTurn, "view": lambda tasks: tasks}
_TASKS = {
    f"InTurn({slots})": lambda slots=slots: InTurn(slots)
    for slots in ((1, 10), (4,), (3, 1, 2), (1, 10, 10, 1))
}
_GPUS = {"sensitive_task()": named.sensitive_task}

CLAIMS = (
    claim(
        "min",
        r"If tasks are selected at random, run one at a time and gain nothing from more than the "
        r"smallest bundle, their flow times sum to $\frac{J + 1}{2} \sum_j d_j$ on average.",
        "Section V-D, Min, corrected",
        _mean_luck,
        Relation.EQUAL,
        _TASKS,
        **_IN_TURN,
    ),
    claim(
        "min.printed",
        "Min flows for no longer than any random task selection policy. It does on average, not "
        "run by run.",
        "Section V-D, Min",
        _worst_luck,
        Relation.AT_MOST,
        {"InTurn((1, 10))": _TASKS["InTurn((1, 10))"]},
        counterexample="InTurn((1, 10))",
        corrected_by=("tapfinger.min",),
        **_IN_TURN,
    ),
    claim(
        "optimus",
        "Of tasks whose speed depends on GPUs alone, the curve of Optimus expects a GPU more to "
        "save more slots than a CPU core more.",
        "Section V-A, Optimus",
        lambda instance: _expects(instance, "correct"),
        Relation.AT_LEAST,
        _GPUS,
        instance_type=TapFingerInstance,
        view=lambda instance: instance,
    ),
    claim(
        "optimus.printed",
        "It does if it is fitted as in the program behind the paper's figures, which takes the "
        "speeds of GPUs for those of CPU cores.",
        "Section V-A, Optimus",
        lambda instance: _expects(instance, "printed"),
        Relation.AT_LEAST,
        _GPUS,
        counterexample="sensitive_task()",
        corrected_by=("tapfinger.optimus",),
        instance_type=TapFingerInstance,
        view=lambda instance: instance,
    ),
)
