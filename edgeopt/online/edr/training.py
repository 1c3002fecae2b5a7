"""Training in a frame with fractions of rounds, what price a frame may have, and past prices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.edr.channel import away_from, exchange_joules, exchange_seconds
from edgeopt.instances.edr.distribution import DAY
from edgeopt.instances.edr.instance import JOULES_PER_WATT_HOUR
from edgeopt.models.edr.training import take_step
from edgeopt.options import check_choice

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.events import Frame, Slot


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
    window: float  # frames in which a task may train


def trainable(frame: Frame) -> NDArray[np.bool_]:
    """Return whether a task may train and is not finished, shape [I]."""
    return frame.active & (frame.remaining > 0)


def round_costs(
    instance: EdrInstance, price: float | Floats, energy: Floats, seconds: Floats
) -> Floats:
    """Return the costs of rounds at prices, $/Wh, that fit their energies.

    Where the energy is infinite there is no link, and the cost is infinite too.
    """
    up = np.isfinite(energy)
    energy, seconds = np.where(up, energy, 0.0), np.where(up, seconds, 0.0)
    cost = instance.energy_weight * price * energy + instance.delay_weight * seconds
    return np.where(up, cost, np.inf)


def unit_cost(instance: EdrInstance, frame: Frame, price: float) -> Floats:
    """Return the cost of a round at a price in $/Wh, 0 where a task may not train, shape [I]."""
    return round_costs(instance, price, frame.round_energy, frame.round_seconds)


def busiest_share(work: Floats, room: Floats) -> Floats:
    """Return the share of a frame that a round takes on its busiest site, shape [I]."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(work > 0, work / room, 0.0)
    return np.asarray(shares.max(axis=1, initial=0.0))


def typical(frame: Frame, cost: Floats) -> Scale | None:
    """Return means over the tasks of a frame that can train, None while there are none.

    Negative prices count by their size; costs that are all 0 have no scale, 1 stands for it.
    """
    tasks = trainable(frame)
    if not tasks.any():
        return None
    window = (frame.deadline - frame.arrival + 1)[tasks].mean()
    usual = float(np.abs(cost[tasks]).mean()) or 1.0
    return Scale(float(frame.even_rate[tasks].mean()), usual, float(window))


def fill_cap(worth: Floats, energy: Floats, upper: Floats, cap: float) -> Floats:
    r"""Return the rounds of most worth within a cap, :math:`\arg\max_x w \cdot x`, shape [I]."""
    rounds = np.where(worth > 0.0, upper, 0.0).astype(np.float64)
    # Continuous knapsack by worth per energy (Dantzig 1957).
    spending = np.flatnonzero((rounds > 0.0) & (energy > 0.0))
    order = spending[np.argsort(-worth[spending] / energy[spending], kind="stable")]
    before = np.concatenate([[0.0], np.cumsum(rounds[order] * energy[order])])[:-1]
    rounds[order] = np.clip((cap - before) / energy[order], 0.0, rounds[order])
    return rounds


NEAR = 2
"""Hours of the day around one whose prices say what its own may be."""
QUARTER = DAY // 4
"""Hours of a day that must be known to tell its wave."""
STIFF = 0.1
"""Weight of the swing of a day, in the fit to a part of it, next to the hours that are known."""


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

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.edr import EdrEnvironment, GivenPrices, Scenario
    >>> instance = small(1)
    >>> policy = Scenario(price_forecast=GivenPrices(instance.price))
    >>> simulate(EdrEnvironment(instance), policy, runs=5)
    EdrTrajectory(Scenario control, price_forecast=given, 5 scenarios, 2 slots, mean reward
    4208.19)
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


PriceForecast: TypeAlias = Literal["last", "hour"] | GivenPrices
"""The last price known, the median of all known around that hour, continued by a wave while only a
part of a day is known, or a forecast of one's own."""


def check_forecast(forecast: PriceForecast) -> None:
    """Refuse what is no forecast."""
    if not isinstance(forecast, GivenPrices):
        check_choice("price_forecast", forecast, ("last", "hour"), otherwise="GivenPrices(...)")


def expected_price(forecast: PriceForecast, frame: Frame, before: Floats | None = None) -> float:
    """Return the price that a frame is expected to have, $/Wh."""
    return float(expected_prices(forecast, frame, np.array([frame.frame]), before)[0])


def expected_prices(
    forecast: PriceForecast, frame: Frame, frames: Ints, before: Floats | None = None
) -> Floats:
    """Return the prices that this or coming frames are expected to have, $/Wh, shape [H].

    ``before`` are prices of the day before the first frame, shape [24].
    """
    if isinstance(forecast, GivenPrices):
        prices = np.asarray(forecast.prices)
        if (last := int(frames.max(initial=-1))) >= prices.size:
            raise OptionError(f"price_forecast: gives {prices.size} frames, not {last + 1}")
        return prices[frames]
    known = frame.prices if before is None else np.concatenate([before, frame.prices])
    if known.size == 0:
        return np.full(frames.size, frame.price)
    if forecast == "last":
        return np.full(frames.size, known[-1])
    hours = np.arange(frame.frame - known.size, frame.frame) % DAY
    return _hourly(known, hours)[frames % DAY]


def _hourly(prices: Floats, hours: Ints) -> Floats:
    """Return the price expected in every hour of a day, from prices at some hours, shape [24]."""
    usual = np.array([_near(prices, hours, hour) for hour in range(DAY)])
    seen = np.unique(hours)
    if not QUARTER <= seen.size < DAY:
        return usual
    # A level and a wave whose size counts as an error (ridge regression, Hoerl and Kennard 1970).
    angle = 2.0 * np.pi * np.arange(DAY) / DAY
    wave = np.column_stack([np.ones(DAY), np.cos(angle), np.sin(angle)])
    rows = np.vstack([wave[seen], np.sqrt(STIFF) * np.eye(3)[1:]])
    return np.asarray(wave @ np.linalg.lstsq(rows, np.append(usual[seen], [0.0, 0.0]))[0])


def _near(prices: Floats, hours: Ints, hour: int) -> float:
    """Return the median of the prices around an hour, whose own count twice; else that of all."""
    # Weighted median: an hour's own prices are listed twice.
    apart = (hours - hour) % DAY
    apart = np.minimum(apart, DAY - apart)
    weight = np.where(apart <= NEAR, 1 + (apart == 0), 0)
    weight = weight if weight.any() else np.ones_like(weight)
    listed = np.sort(np.repeat(prices, weight))
    return float(listed[(listed.size - 1) // 2] + listed[listed.size // 2]) / 2


@dataclass(frozen=True, eq=False)
class Replay:
    """Energy and delay of a round in all frames seen, whether the task was there or not.

    Rows are the hours of the day before, if its rates are known, then frames up to the present one;
    columns are tasks. Rows are joint: one row is the same channel for all tasks. Columns of tasks
    that have not arrived, or whose window is over, mean nothing. Entries are infinite where a link
    of the task was missing.
    """

    instance: EdrInstance
    energy: Floats  # Wh, [S, I]
    seconds: Floats  # s, [S, I]
    known: NDArray[np.bool_]  # which tasks have arrived, [I]
    rates: tuple[Floats, ...]  # of all rows, each [J, J]
    powers: tuple[Floats, ...] = ()  # of the frames seen, each [J]
    travels: tuple[Floats, ...] = ()  # mean propagation of the frames that are over, each [J, J]
    travel: Floats | float = 0.0  # sum over the slots so far of the frame that goes on, [J, J]
    slots: int = 0  # how many they are

    @classmethod
    def of(cls, instance: EdrInstance, *, history: bool) -> Self:
        """Begin with the channel of the day before, where it is to be used and known."""
        past = instance.history.rate if history and instance.history is not None else None
        rates = () if past is None else tuple(past)
        nothing = np.zeros((len(rates), instance.tasks))
        return cls(instance, nothing, nothing, np.zeros(instance.tasks, dtype=np.bool_), rates)

    def with_frame(self, frame: Frame) -> Self:
        """Add a frame, and for tasks that arrive in it all frames before."""
        known = frame.arrival >= 0
        down = known & (frame.frame <= frame.deadline) & ~frame.active
        energy = np.vstack([self.energy, np.where(down, np.inf, frame.round_energy)])
        seconds = np.vstack([self.seconds, np.where(down, np.inf, frame.round_seconds)])
        powers = (*self.powers, frame.power)
        new = np.flatnonzero(known & ~self.known).tolist()
        if new and self.rates:
            work = frame.round_work @ self.instance.energy_per_work
            rate, travel = np.stack(self.rates), self._travel()
            # The day before counts as the first frame.
            power = np.stack([powers[0]] * (len(rate) - len(self.powers)) + [*self.powers])
            for i in new:
                size, server = frame.model_size[i], int(frame.server[i])
                away = away_from(server, frame.client[i])
                joules = exchange_joules(size, away, server, power, rate)
                energy[:-1, i] = joules / JOULES_PER_WATT_HOUR + work[i]
                seconds[:-1, i] = exchange_seconds(
                    size, away, server, rate, travel, self.instance.round_delay
                )
        rates = (*self.rates, frame.rate)
        return replace(
            self, energy=energy, seconds=seconds, known=known, rates=rates, powers=powers
        )

    def with_slot(self, slot: Slot) -> Self:
        """Add the propagation of a slot."""
        travel = self.travel + slot.conditions.propagation
        return replace(self, travel=travel, slots=self.slots + 1)

    def closed(self) -> Self:
        """End the frame."""
        mean = self.travel / max(self.slots, 1) + np.zeros_like(self.rates[-1])
        return replace(self, travels=(*self.travels, mean), travel=0.0, slots=0)

    def _travel(self) -> Floats:
        """Return the mean propagation of every row; that of the day before counts as usual."""
        seen = np.zeros((len(self.rates), *self.rates[0].shape))
        if self.travels:
            first = len(self.rates) - len(self.travels)
            seen[first:] = self.travels
            seen[:first] = seen[first:].mean(axis=0)
        return seen
