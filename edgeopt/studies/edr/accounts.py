"""Every frame and every task of a policy in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.edr.ledger import plays
from edgeopt.studies.entries import Account

if TYPE_CHECKING:
    import pandas as pd

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.studies.result import Case

__all__ = ["FRAMES_ACCOUNT", "TASKS_ACCOUNT"]

_PER_MEGAWATT_HOUR = 1e6
_EXCESS, _UNSERVED, _MISSING = "excess (Wh)", "unserved requests", "rounds missed"


def _frames(case: Case, policy: str) -> pd.DataFrame:
    import pandas as pd

    instance: EdrInstance = case.instance
    trajectory = plays(case)[policy]
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
            case.system.value: trajectory.reward.mean(axis=0),
        }
    )


def _tasks(case: Case, policy: str) -> pd.DataFrame:
    import pandas as pd

    instance: EdrInstance = case.instance
    trajectory = plays(case)[policy]
    return pd.DataFrame(
        {
            "task": np.arange(instance.tasks),
            "first frame": instance.arrival,
            "last frame": instance.deadline,
            "rounds needed": instance.rounds,
            "rounds done": trajectory.rounds.sum(axis=1).mean(axis=0),
            _MISSING: trajectory.missing.mean(axis=0),
            "server": instance.server,
            "clients": instance.client.sum(axis=1),
        }
    )


FRAMES_ACCOUNT = Account(
    "frames",
    "Every frame",
    _frames,
    bad=(_EXCESS, _UNSERVED, _MISSING),
    caption="Means over the runs. A cap of infinity is none. Rounds are missed in the frame in "
    "which the window of their task ends.",
)
"""One row per frame: cap, energy, excess, price, requests, rounds, cost."""

TASKS_ACCOUNT = Account(
    "tasks",
    "Every task",
    _tasks,
    bad=(_MISSING,),
    caption="Means over the runs. A task may train from its first to its last frame.",
)
"""One row per task: its window, the rounds it needs, does and misses."""
