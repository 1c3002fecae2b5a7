"""How regret and fit grow with the horizon, on the same sites for fewer frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.growth import Growth, growth_exponent
from edgeopt.bounds.regret import dynamic_fit, dynamic_regret
from edgeopt.errors import OptionError
from edgeopt.solvers.tolerance import LOOSE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr import EdrTrajectory


def cut(instance: EdrInstance, frames: int) -> EdrInstance:
    """Return the first frames of an instance; tasks whose window is cut keep their even rate."""
    if frames >= instance.frames:
        return instance
    here = instance.arrival < frames
    deadline = np.minimum(instance.deadline[here], frames - 1)
    window = deadline - instance.arrival[here] + 1
    # Exact in whole numbers, where a rounded rate could need a round too many.
    rounds = -(-instance.rounds[here] * window // instance.window[here])
    per_task = ("arrival", "server", "local_steps", "step_work", "aggregation_work", "model_size")
    per_frame = ("cap", "price", "requests", "propagation", "slo", "rate")
    kind = None if instance.task_kind is None else instance.task_kind[here]
    return instance.replace(
        **{name: getattr(instance, name)[here] for name in (*per_task, "client")},
        **{name: getattr(instance, name)[:frames] for name in per_frame},
        power=instance.power[:frames],
        deadline=deadline,
        rounds=rounds,
        task_kind=kind,
    )


def lost(
    instance: EdrInstance, trajectory: EdrTrajectory, best: NDArray[np.float64]
) -> tuple[float, float]:
    """Return regret and fit of a policy over all frames of an instance."""
    paid = (trajectory.cost + trajectory.unserved_cost).mean(axis=0)
    rate = np.where(instance.active, instance.even_rate, 0.0)
    lag = rate - trajectory.rounds.mean(axis=0)
    fit = dynamic_fit(lag).value
    # Whole rounds less a sum of rates: what is left by rounding is no lag.
    return dynamic_regret(paid, best).value, fit if fit > LOOSE else 0.0


def exponent(
    lengths: NDArray[np.int64], values: NDArray[np.float64], confidence: float
) -> Growth | None:
    """Fit a power of the horizon to the positive values; None if there are fewer than three."""
    try:
        return growth_exponent(lengths, values, confidence=confidence, skip=True)
    except OptionError:
        return None
