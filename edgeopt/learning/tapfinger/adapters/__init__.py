"""TapFinger for learners: its rounds in Gymnasium's and PettingZoo's terms.

Their packages are imported when an environment is made; the extra ``gym`` brings them.
Arrays for a learner, and decisions from its actions, need neither.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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

_LATER = {
    "TapFingerEnv": "edgeopt.learning.tapfinger.adapters.gymnasium_env",
    "TapFingerVectorEnv": "edgeopt.learning.tapfinger.adapters.gymnasium_env",
    "TapFingerParallelEnv": "edgeopt.learning.tapfinger.adapters.pettingzoo_env",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
