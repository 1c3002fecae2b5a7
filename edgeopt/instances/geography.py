"""Distances on the ground."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["great_circle_kilometres", "plane_kilometres"]

EARTH_RADIUS_KM: Final = 6371.0088
"""Mean radius of the Earth (IUGG), km."""


def great_circle_kilometres(
    first: NDArray[np.float64], second: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the distance between every point of one set and every point of another."""
    a, b = np.radians(first)[:, None, :], np.radians(second)[None, :, :]
    half = np.sin((a - b) / 2) ** 2
    chord = half[..., 0] + np.cos(a[..., 0]) * np.cos(b[..., 0]) * half[..., 1]
    distance: NDArray[np.float64] = 2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(np.minimum(chord, 1)))
    return distance


def plane_kilometres(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return positions on a plane that touches the Earth at their mean, for maps of a city."""
    mean = points.mean(axis=0)
    north, east = np.radians(points - mean).T * EARTH_RADIUS_KM
    return np.column_stack((east * np.cos(np.radians(mean[0])), north))
