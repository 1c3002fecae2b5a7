"""Training in a frame with fractions of rounds allowed, and what price a frame may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.models.edr.training import take_step
from edgeopt.options import check_choice

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.events import Frame

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RelaxedFrame:
    """Cost and progress of training in a frame; a `RevealedSlot` of the driver."""

    cost: Floats  # cost of a round of each task, [I]
    wanted: Floats  # rounds that each task is to do on average, 0 where it may not train, [I]
    trainable: NDArray[np.bool_]  # whether a task may train and is not finished, [I]

    def gradient(self, point: Floats) -> Floats:
        """Return the cost of a round, shape [I]."""
        return self.cost

    def constraints(self, point: Floats) -> Floats:
        """Return what each of these tasks lacks of its average, shape [I]."""
        return np.where(self.trainable, self.wanted - point, 0.0)

    def pull(self, point: Floats, multipliers: Floats) -> Floats:
        """Return what a round is worth to the averages, with a minus, shape [I]."""
        return np.where(self.trainable, -multipliers, 0.0)


class TrainingSet(NamedTuple):
    """Rounds, in fractions, that may be trained in a frame; a `FeasibleSet` of the driver."""

    energy: Floats  # energy of a round, Wh, [I]
    cap: float  # energy that training may use, Wh, possibly infinite
    upper: Floats  # most rounds of each task, [I]

    def step(self, point: Floats, direction: Floats, size: float) -> Floats:
        """Return the proximal step within the cap, shape [I]; see `take_step`."""
        return take_step(point, direction, self.energy, self.cap, self.upper, size).rounds

    def shrink(self, point: Floats) -> Floats:
        """Return a point cut to the upper bounds and then scaled into the cap, shape [I]."""
        cut = np.minimum(point, self.upper)
        used = float(self.energy @ cut)
        return cut * (self.cap / used) if used > self.cap else cut


class Scale(NamedTuple):
    """Typical numbers, from which step sizes and weights of queues get their units."""

    rate: float  # rounds of a task in a frame
    cost: float  # of a round


def trainable(frame: Frame) -> NDArray[np.bool_]:
    """Return whether a task may train and is not finished, shape [I]."""
    return frame.active & (frame.remaining > 0)


def unit_cost(instance: EdrInstance, frame: Frame, price: float) -> Floats:
    """Return the cost of a round at a price in $/Wh, 0 where a task may not train, shape [I]."""
    energy = instance.energy_weight * price * frame.round_energy
    return np.asarray(energy + instance.delay_weight * frame.round_seconds)


def typical(frame: Frame, cost: Floats) -> Scale | None:
    """Return means over the tasks of a frame that can train, None while there are none.

    Negative prices count by their size; costs that are all 0 have no scale, 1 stands for it.
    """
    tasks = trainable(frame)
    if not tasks.any():
        return None
    return Scale(float(frame.even_rate[tasks].mean()), float(np.abs(cost[tasks]).mean()) or 1.0)


def fill_cap(worth: Floats, energy: Floats, upper: Floats, cap: float) -> Floats:
    r"""Return the rounds of most worth within a cap, :math:`\arg\max_x w \cdot x`, shape [I]."""
    rounds = np.where(worth > 0.0, upper, 0.0).astype(np.float64)
    spending = np.flatnonzero((rounds > 0.0) & (energy > 0.0))
    order = spending[np.argsort(-worth[spending] / energy[spending], kind="stable")]
    before = np.concatenate([[0.0], np.cumsum(rounds[order] * energy[order])])[:-1]
    rounds[order] = np.clip((cap - before) / energy[order], 0.0, rounds[order])
    return rounds


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
