"""TapFinger for learners: its rounds in Gymnasium's and PettingZoo's terms.

Their packages are imported when an environment is made; the extra ``gym`` brings them.
Arrays for a learner, and decisions from its actions, need neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.later import loaded_later
from edgeopt.learning.tapfinger.adapters.encoding import (
    Observation,
    action_of,
    decision_of,
    features,
)
from edgeopt.learning.tapfinger.adapters.session import Session, Step

if TYPE_CHECKING:
    from edgeopt.learning.tapfinger.adapters.gymnasium_env import TapFingerEnv, TapFingerVectorEnv
    from edgeopt.learning.tapfinger.adapters.pettingzoo_env import TapFingerParallelEnv

__all__ = [
    "Observation",
    "Session",
    "Step",
    "TapFingerEnv",
    "TapFingerParallelEnv",
    "TapFingerVectorEnv",
    "action_of",
    "decision_of",
    "features",
]

__getattr__ = loaded_later(
    __name__,
    {
        "TapFingerEnv": "gymnasium_env",
        "TapFingerVectorEnv": "gymnasium_env",
        "TapFingerParallelEnv": "pettingzoo_env",
    },
)
