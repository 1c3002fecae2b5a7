"""Parts of the cost of a run, metrics and logs of an EDR study."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from edgeopt.models.tabular import named
from edgeopt.studies.entries import Log, Metric

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr import EdrTrajectory
    from edgeopt.studies.results import Case

PENALTIES = ("late training", "unserved requests")
"""The parts of the penalised cost that are neither energy nor delay."""


def simulated(case: Case) -> dict[str, EdrTrajectory]:
    """Return the trajectories of a study of EDR by the name of the policy."""
    return {name: cast("EdrTrajectory", runs) for name, runs in case.trajectories.items()}


def cost_parts(instance: EdrInstance, trajectory: EdrTrajectory) -> dict[str, NDArray[np.float64]]:
    """Split the penalised cost of every run; the parts add up to it, each of shape [runs]."""
    training = trajectory.training_energy @ (instance.energy_weight * instance.price)
    return {
        "inference energy": trajectory.energy_cost.sum(axis=1) - training,
        "training energy": training,
        "inference delay": trajectory.delay_cost.sum(axis=1),
        "training exchange": trajectory.training_delay_cost.sum(axis=1),
        "late training": trajectory.late_cost.sum(axis=1),
        "unserved requests": trajectory.unserved_cost.sum(axis=1),
    }


def efficiency(instance: EdrInstance, trajectory: EdrTrajectory) -> NDArray[np.float64]:
    """Return the served requests, weighted by accuracy, per point that they cost, shape [runs]."""
    parts = cost_parts(instance, trajectory)
    paid = parts["inference energy"] + parts["inference delay"]
    return np.asarray(trajectory.accurate.sum(axis=1) / paid)


def capped(instance: EdrInstance) -> NDArray[np.int64]:
    """Return the frames that have a cap."""
    return np.flatnonzero(np.isfinite(instance.cap))


METRICS = (
    Metric("energy_cost", "Energy cost", lambda _, runs: runs.energy_cost.sum(axis=1)),
    Metric(
        "delay_cost",
        "Delay cost",
        lambda _, runs: (runs.delay_cost + runs.training_delay_cost).sum(axis=1),
    ),
    Metric("excess", "Excess energy", lambda _, runs: runs.excess_share(), percent=True),
    Metric("completion", "Rounds trained", lambda _, runs: runs.completion(), percent=True),
    Metric("late", "Late tasks", lambda _, runs: runs.late().sum(axis=1).astype(float)),
    Metric("unserved", "Unserved requests", lambda _, runs: runs.unserved.sum(axis=1)),
)
"""Costs at the true prices, energy above caps, training, and unserved requests."""


_PER_MEGAWATT_HOUR = 1e6
_EXCESS, _UNSERVED, _MISSING = "excess (Wh)", "unserved requests", "rounds missed"


def _frames(case: Case, policy: str) -> pd.DataFrame:
    import pandas as pd

    instance: EdrInstance = case.instance
    trajectory = simulated(case)[policy]
    late = np.bincount(
        instance.deadline, trajectory.missing.mean(axis=0), minlength=instance.frames
    )
    return pd.DataFrame(
        {
            "frame": np.arange(instance.frames),
            "cap (Wh)": instance.cap,
            "energy (Wh)": trajectory.energy.mean(axis=0),
            "of it training (Wh)": trajectory.training_energy.mean(axis=0),
            _EXCESS: trajectory.excess.mean(axis=0),
            "price ($/MWh)": _PER_MEGAWATT_HOUR * instance.price,
            "requests": trajectory.asked.mean(axis=0),
            _UNSERVED: trajectory.unserved.mean(axis=0),
            "rounds done": trajectory.rounds.sum(axis=2).mean(axis=0),
            _MISSING: late,
            case.objective.name: trajectory.reward.mean(axis=0),
        }
    )


def _tasks(case: Case, policy: str) -> pd.DataFrame:
    import pandas as pd

    instance: EdrInstance = case.instance
    trajectory = simulated(case)[policy]
    return pd.DataFrame(
        {
            "task": named(instance.called("task"), np.arange(instance.tasks)),
            "first frame": instance.arrival,
            "last frame": instance.deadline,
            "rounds needed": instance.rounds,
            "rounds done": trajectory.rounds.sum(axis=1).mean(axis=0),
            _MISSING: trajectory.missing.mean(axis=0),
            "server": named(instance.called("site"), instance.server),
            "clients": instance.client.sum(axis=1),
        }
    )


FRAMES_LOG = Log(
    "frames",
    "Every frame",
    _frames,
    bad=(_EXCESS, _UNSERVED, _MISSING),
    caption="Means over the runs. A cap of infinity means that there is none. Missed rounds are "
    "counted in the frame in which the window of their task ends.",
)
"""One row per frame: cap, energy, excess, price, requests, rounds, cost."""

TASKS_LOG = Log(
    "tasks",
    "Every task",
    _tasks,
    bad=(_MISSING,),
    caption="Means over the runs. A task may train from its first to its last frame.",
)
"""One row per task: its window, the rounds it needs, does and misses."""
