"""Geographical positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.instances.traces.columns import read_columns

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

__all__ = ["read_points"]


def read_points(
    path: str | os.PathLike[str], latitude: str = "LATITUDE", longitude: str = "LONGITUDE"
) -> NDArray[np.float64]:
    """Read geographical positions.

    Parameters
    ----------
    path
        CSV with a header.
    latitude, longitude
        Names of the columns, degrees.

    Returns
    -------
    Latitude and longitude in degrees, shape [N, 2].

    Raises
    ------
    InstanceError
        If the file cannot be read or a coordinate is outside its range.
    """
    columns = read_columns(
        path,
        {
            latitude: (lambda x: -90 <= x <= 90, "must be a latitude in -90..90 degrees"),
            longitude: (lambda x: -180 <= x <= 180, "must be a longitude in -180..180 degrees"),
        },
    )
    return np.column_stack((columns[latitude], columns[longitude]))
