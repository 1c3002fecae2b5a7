"""What price a frame is expected to have, from those of the frames before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.options import check_choice

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeopt.online.edr.events import Frame

__all__ = ["GivenPrices", "PriceForecast", "check_forecast", "expected_price"]

DAY = 24
"""Frames of a day."""

_NAMES = ("last", "mean", "day")


@dataclass(frozen=True, eq=False)
class GivenPrices:
    """A forecast made elsewhere, such as the prices of a day-ahead market.

    Parameters
    ----------
    prices
        Price expected in every frame, $/Wh, shape [T].
    title
        How names of policies call it.

    Raises
    ------
    OptionError
        If a price is not finite, or there is none.
    """

    prices: ArrayLike
    title: str = "given"

    def __post_init__(self) -> None:
        prices = np.array(self.prices, dtype=np.float64)
        if prices.ndim != 1 or prices.size == 0 or not np.isfinite(prices).all():
            raise OptionError("prices: must be finite numbers, one for each frame")
        prices.flags.writeable = False
        object.__setattr__(self, "prices", prices)

    def __repr__(self) -> str:
        return self.title


PriceForecast: TypeAlias = Literal["last", "mean", "day"] | GivenPrices
"""The last price known, the mean of all known, that of a day ago, or a forecast of one's own."""


def check_forecast(forecast: PriceForecast) -> None:
    """Refuse what is no forecast."""
    if not isinstance(forecast, GivenPrices):
        check_choice("price_forecast", forecast, _NAMES, otherwise="GivenPrices(...)")


def expected_price(forecast: PriceForecast, frame: Frame) -> float:
    """Return the price that a frame is expected to have, $/Wh."""
    if isinstance(forecast, GivenPrices):
        prices = np.asarray(forecast.prices)
        if frame.frame >= prices.size:
            raise OptionError(f"price_forecast: gives {prices.size} frames, not {frame.frame + 1}")
        return float(prices[frame.frame])
    if forecast == "mean" and frame.prices.size:
        return float(frame.prices.mean())
    if forecast == "day" and frame.prices.size >= DAY:
        return float(frame.prices[-DAY])
    return frame.price
