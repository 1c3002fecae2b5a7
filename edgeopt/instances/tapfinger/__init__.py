"""Tasks that need CPU cores and GPUs of edge clusters: the data of TapFinger.

Source: Li, Zeng, Zhang, Duan, Wu: TapFinger: Task Placement and Fine-Grained Resource Allocation
for Edge Machine Learning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.instances.tapfinger.data import from_bundled, from_raw
from edgeopt.instances.tapfinger.durations import (
    expected_durations,
    scenario_durations,
    shortest_durations,
)
from edgeopt.instances.tapfinger.from_durations import from_durations
from edgeopt.instances.tapfinger.generate import generate, small
from edgeopt.instances.tapfinger.instance import TapFingerInstance
from edgeopt.later import loaded_later

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger.job_list import from_jobs

__all__ = [
    "TapFingerInstance",
    "expected_durations",
    "from_bundled",
    "from_durations",
    "from_jobs",
    "from_raw",
    "generate",
    "scenario_durations",
    "shortest_durations",
    "small",
]

__getattr__ = loaded_later(__name__, {"from_jobs": "job_list"})
