"""Retraining durations: four families of distributions, discretised to whole slots."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.options import check_choice, check_real, check_room

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["DISTRIBUTIONS", "duration_table"]

_NEGLIGIBLE = 1e-9  # mass, relative to the largest of its row, that is dropped
_TAIL = 2.1  # exponent of the Pareto distribution: finite variance, barely


def _normal(slots: NDArray[np.float64], mean: float) -> NDArray[np.float64]:
    spread = 0.25 * mean
    mass = np.exp(-0.5 * ((slots - mean) / spread) ** 2)
    return np.where(slots <= 2 * mean, mass, 0.0)


def _bimodal(slots: NDArray[np.float64], mean: float) -> NDArray[np.float64]:
    spread = 0.1 * mean
    low = np.exp(-0.5 * ((slots - 0.6 * mean) / spread) ** 2)
    high = np.exp(-0.5 * ((slots - 1.4 * mean) / spread) ** 2)
    return np.where(slots <= 2 * mean, low + high, 0.0)


def _uniform(slots: NDArray[np.float64], mean: float) -> NDArray[np.float64]:
    inside = (slots >= np.ceil(0.5 * mean)) & (slots <= np.floor(1.5 * mean))
    return np.where(inside, 1.0, 0.0)


def _heavy(slots: NDArray[np.float64], mean: float) -> NDArray[np.float64]:
    smallest = mean * (_TAIL - 1) / _TAIL
    edges = np.concatenate((slots - 0.5, slots[-1:] + 0.5))
    above = (smallest / np.maximum(edges, smallest)) ** _TAIL
    return np.where(slots <= 3 * mean, -np.diff(above), 0.0)


DISTRIBUTIONS: Final[
    dict[str, tuple[Callable[[NDArray[np.float64], float], NDArray[np.float64]], int]]
] = {
    "normal": (_normal, 2),
    "bimodal": (_bimodal, 2),
    "uniform": (_uniform, 2),
    "heavy": (_heavy, 3),
}
"""Mass function by whole slots and mean, and the longest duration as a multiple of the longest
mean. A standard deviation of a quarter of the mean (normal), two bells of a tenth of the mean at
0.6 and 1.4 means (bimodal), half to one and a half means (uniform), a Pareto law of exponent 2.1
(heavy)."""


def duration_table(
    distribution: str, profiles: int, shortest: float, longest: float
) -> NDArray[np.float64]:
    """Tabulate the duration of each profile."""
    check_choice("distribution", distribution, DISTRIBUTIONS)
    for name, value in (("shortest", shortest), ("longest", longest)):
        check_real(name, value)
    if not 1 <= shortest <= longest:
        raise OptionError(f"needs 1 <= shortest <= longest mean, got {shortest} and {longest}")
    mass, reach = DISTRIBUTIONS[distribution]
    check_room("profiles * longest", profiles, math.ceil(reach * longest))
    slots = np.arange(1.0, np.ceil(reach * longest) + 1)
    rows = [mass(slots, mean) for mean in np.linspace(shortest, longest, profiles)]
    table = np.array([row / row.sum() for row in rows])
    table[table < _NEGLIGIBLE * table.max(axis=1, keepdims=True)] = 0.0
    normalised: NDArray[np.float64] = table / table.sum(axis=1, keepdims=True)
    return normalised
