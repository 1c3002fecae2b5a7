"""A mean of independent figures as columns of a table: itself and the ends of its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.ratio import mean_with_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["mean_columns"]


def mean_columns(
    name: str, series: NDArray[np.float64], confidence: float = 0.95, *, share: bool = False
) -> dict[str, float]:
    """Average independent figures, such as those of several instances."""
    mean = float(series.mean())
    low = high = np.nan
    if series.size > 1 and np.isfinite(mean):
        reach = mean_with_interval(series, confidence)[2]
        low, high = mean - reach, mean + reach
    if share:
        low, high = np.clip([low, high], 0.0, 1.0).tolist()
    return {name: mean, f"{name}_low": low, f"{name}_high": high}
