"""What observations and actions of TapFinger look like to Gymnasium and PettingZoo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import MissingDependencyError, OptionError
from edgeopt.online.tapfinger.adapters.encoding import most_running

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gymnasium import spaces
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.adapters.encoding import Observation


def missing(package: str, error: ImportError) -> MissingDependencyError:
    """Say which extra brings a package."""
    return MissingDependencyError(
        f"{package} is needed and cannot be imported ({error}): pip install 'edgeopt[gym]'"
    )


def check_reward(reward: str) -> None:
    """Refuse a reward of another name."""
    if reward not in ("shared", "local"):
        raise OptionError(f"reward = {reward!r}: must be 'shared' or 'local'")


def observation_space(instance: TapFingerInstance, *lead: int) -> spaces.Dict:
    """Return the space of what `shown` returns."""
    from gymnasium import spaces

    P, K, most = instance.pending, instance.task_kinds, most_running(instance)
    largest = instance.clusters * P - 1
    return spaces.Dict(
        {
            "cluster": _shares((*lead, 3)),
            "pending": spaces.Box(0.0, 1.0, (*lead, P, 3 + K), np.float32),
            "running": _shares((*lead, most, 4 + K)),
            "node": spaces.Box(-1, largest, (*lead, P), np.int64),
            "mask": spaces.MultiBinary((*lead, P + 1, *instance.speed.shape[2:])),
        }
    )


def _shares(shape: tuple[int, ...]) -> spaces.Box:
    """Return shares, and a number without a bound in the last column."""
    from gymnasium import spaces

    high = np.ones(shape, dtype=np.float32)
    high[..., -1] = np.inf
    return spaces.Box(np.zeros_like(high), high, dtype=np.float32)


def action_space(instance: TapFingerInstance, *lead: int, scored: bool) -> spaces.Space[Any]:
    """Return the space of actions: place, CPU cores and GPUs, and a score on request."""
    from gymnasium import spaces

    sizes = np.array([instance.pending + 1, *instance.speed.shape[2:]])
    choice = spaces.MultiDiscrete(np.broadcast_to(sizes, (*lead, 3)).copy())
    if not scored:
        return choice
    return spaces.Dict({"choice": choice, "score": spaces.Box(0.0, 1.0, lead, np.float64)})


def shown(observation: Observation, cluster: int | None = None) -> Mapping[str, NDArray[Any]]:
    """Return an observation as the packages want it."""
    rows = slice(None) if cluster is None else cluster
    named = {name: part[rows] for name, part in observation._asdict().items()}
    named["mask"] = named["mask"].astype(np.int8)
    return named
