"""The data of one instance as nested tuples of plain numbers, and what one unit of it costs."""

# ruff: noqa: N802 - T, D, J, N, I as in the mathematics

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Number = Fraction | float
INFINITY = float("inf")
REAL = (
    *("cap", "price", "step_work", "aggregation_work", "model_size", "request_size"),
    *("request_work", "energy_per_work", "capacity", "speed", "requests", "propagation"),
    *("slo", "rate", "power"),
)
WHOLE = ("arrival", "deadline", "rounds", "server", "local_steps")
FLAGS = ("client", "capable")


@dataclass(frozen=True)
class Plain:
    """An instance: every table indexed as in the mathematics: frame, slot, sites."""

    cap: tuple
    price: tuple
    arrival: tuple[int, ...]
    deadline: tuple[int, ...]
    rounds: tuple[int, ...]
    client: tuple
    server: tuple[int, ...]
    local_steps: tuple[int, ...]
    step_work: tuple
    aggregation_work: tuple
    model_size: tuple
    request_size: tuple
    request_work: tuple
    energy_per_work: tuple
    capacity: tuple
    speed: tuple
    capable: tuple
    requests: tuple
    propagation: tuple
    slo: tuple
    rate: tuple
    power: tuple
    energy_weight: Number
    delay_weight: Number
    price_prior: Number
    round_delay: str
    number: Callable[[Any], Number]

    @property
    def T(self) -> int:
        return len(self.requests)

    @property
    def D(self) -> int:
        return len(self.requests[0])

    @property
    def J(self) -> int:
        return len(self.speed)

    @property
    def N(self) -> int:
        return len(self.request_work)

    @property
    def I(self) -> int:  # noqa: E743
        return len(self.arrival)

    def sent(self, bits: Number, t: int, j: int, k: int) -> Number:
        """Return how long it takes to send bits, s; nothing within a site."""
        rate = self.rate[t][j][k]
        return self.number(0) if j == k or rate == INFINITY else bits / rate

    # --- tasks -----------------------------------------------------------------------------

    def active(self, t: int, i: int) -> bool:
        return self.arrival[i] <= t <= self.deadline[i]

    def a(self, i: int) -> Fraction:
        """Return the rounds per frame that finish a task just in time; both ends count."""
        return Fraction(self.rounds[i], self.deadline[i] - self.arrival[i] + 1)

    def away(self, i: int) -> list[int]:
        """Return the clients of a task that are not its server."""
        return [j for j in range(self.J) if self.client[i][j] and j != self.server[i]]

    def e(self, t: int, i: int) -> Number:
        """Sum the energy of a round over the clients: aggregate, exchange, train; Wh."""
        s = self.server[i]
        total = self.aggregation_work[i] * self.energy_per_work[s]
        for j in range(self.J):
            if self.client[i][j]:
                total += self.local_steps[i] * self.step_work[i][j] * self.energy_per_work[j]
        for j in self.away(i):
            power = self.power[t if len(self.power) > 1 else 0]
            up = power[j] * self.sent(self.model_size[i], t, j, s)
            down = power[s] * self.sent(self.model_size[i], t, s, j)
            total += (up + down) / 3600
        return total

    def travel(self, t: int, j: int, k: int) -> Number:
        """Return the mean propagation delay of a frame, s."""
        total = sum((self.propagation[t][tau][j][k] for tau in range(self.D)), self.number(0))
        return total / self.D

    def dl(self, t: int, i: int) -> Number:
        """Return the communication delay of a round, s."""
        s = self.server[i]
        legs = [
            self.sent(self.model_size[i], t, j, s)
            + self.sent(self.model_size[i], t, s, j)
            + self.travel(t, j, s)
            + self.travel(t, s, j)
            for j in self.away(i)
        ]
        if self.round_delay == "max":
            return max(legs, default=self.number(0))
        return sum(legs, self.number(0))

    def zc(self, i: int, k: int) -> Number:
        """Return the computation of a round on site k, GFLOP."""
        local = self.local_steps[i] * self.step_work[i][k] if self.client[i][k] else 0
        return self.number(0) + local + (self.aggregation_work[i] if self.server[i] == k else 0)

    def c(self, t: int, i: int, price: Number | None = None) -> Number:
        """Return the cost of a round, at the true price unless another is given."""
        r = self.price[t] if price is None else price
        return self.energy_weight * r * self.e(t, i) + self.delay_weight * self.dl(t, i)

    def training(self, rounds: Any) -> list[Number]:
        """Return the training computation that rounds of one frame bring to each site."""
        return [
            sum((self.zc(i, k) * rounds[i] for i in range(self.I)), self.number(0))
            for k in range(self.J)
        ]

    # --- requests --------------------------------------------------------------------------

    def d(self, k: int, n: int) -> Number:
        return self.energy_per_work[k] * self.request_work[n]

    def delay(self, t: int, tau: int, j: int, k: int, n: int) -> Number:
        q = self.propagation[t][tau]
        sent = self.sent(self.request_size[n], t, j, k)
        return q[j][k] + q[k][j] + self.request_work[n] / self.speed[k] + sent

    def unit(self, t: int, tau: int, j: int, k: int, n: int, price: Number) -> Number:
        """Return the cost of serving one request."""
        energy = self.energy_weight * price * self.d(k, n)
        return energy + self.delay_weight * self.delay(t, tau, j, k, n)

    def routes(self, t: int, tau: int) -> list[tuple[int, int, int]]:
        """Return every (origin, site, type) that is capable and fast enough."""
        return [
            (j, k, n)
            for j in range(self.J)
            for n in range(self.N)
            for k in range(self.J)
            if self.capable[k][n] and self.delay(t, tau, j, k, n) <= self.slo[t][tau][n]
        ]


def plain(instance: Any, number: Callable[[Any], Number] = Fraction) -> Plain:
    """Read an EdrInstance through its public fields only."""

    def convert(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(convert(v) for v in value)
        return INFINITY if value == INFINITY else number(value)

    return Plain(
        **{name: convert(getattr(instance, name).tolist()) for name in REAL},
        **{name: tuple(int(v) for v in getattr(instance, name)) for name in WHOLE},
        **{name: tuple(map(tuple, getattr(instance, name).tolist())) for name in FLAGS},
        energy_weight=number(instance.energy_weight),
        delay_weight=number(instance.delay_weight),
        price_prior=number(instance.price_prior),
        round_delay=instance.round_delay,
        number=number,
    )
