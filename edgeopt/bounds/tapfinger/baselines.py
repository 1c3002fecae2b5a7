"""What the paper says of the policies that it compares with, and what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.bounds.tapfinger import counterexamples as named
from edgeopt.bounds.tapfinger.statement import claim
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.online.tapfinger import Optimus

if TYPE_CHECKING:
    from edgeopt.online.tapfinger.policies.speed_fit import Fit

__all__ = [
    "CLAIMS",
]


def _expects(instance: TapFingerInstance, fit: Fit) -> Measurement:
    """Measure how many slots a GPU more is expected to save, less what a CPU core more is.

    The average over all bundles of all kinds whose speed depends on GPUs alone.
    """
    slots = Optimus(fit=fit).start(instance).slots
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


_GPUS = {"sensitive_task()": named.sensitive_task}

CLAIMS = (
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
