"""What a play of the horizon costs, recomputed from its rounds and its flows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.oracles.edr.data import Number, Plain

    Flows = Mapping[tuple[int, int, int, int, int], Number]


@dataclass
class Frame:
    """Sums of one frame; `seconds` and `asked` count requests, `energy` is in Wh."""

    training_energy: Number
    energy: Number
    energy_cost: Number
    delay_cost: Number
    training_delay_cost: Number
    excess: Number
    served: Number
    asked: Number
    load: list[list[Number]] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    @property
    def cost(self) -> Number:
        return self.energy_cost + self.delay_cost + self.training_delay_cost

    @property
    def unserved(self) -> Number:
        return self.asked - self.served


def frame(plain: Plain, t: int, rounds: Sequence[int], flows: Flows, tolerance: float = 0) -> Frame:
    """Charge one frame; flows are keyed (tau, origin, site, type, copy).

    What no operator can carry out is listed in `broken`.
    """
    zero = plain.number(0)
    training = sum((plain.e(t, i) * rounds[i] for i in range(plain.I)), zero)
    waiting = sum((plain.dl(t, i) * rounds[i] for i in range(plain.I)), zero)
    energy, seconds, served = training, zero, zero
    load = [[zero] * plain.J for _ in range(plain.D)]
    left = [[list(row) for row in slot] for slot in plain.requests[t]]
    broken = [
        f"rounds of task {i} outside its window"
        for i in range(plain.I)
        if rounds[i] and not plain.active(t, i)
    ]
    for (tau, j, k, n, *_), amount in flows.items():
        if amount < -tolerance:
            broken.append(f"negative flow {tau, j, k, n}")
        if amount <= tolerance:
            continue
        late = plain.delay(t, tau, j, k, n) > plain.slo[t][tau][n]
        if not plain.capable[k][n] or late:
            broken.append(f"no route {tau, j, k, n}")
        energy += plain.d(k, n) * amount
        seconds += plain.delay(t, tau, j, k, n) * amount
        served += amount
        load[tau][k] += plain.request_work[n] * amount
        left[tau][j][n] -= amount
    for tau in range(plain.D):
        for j in range(plain.J):
            broken += [
                f"more served than asked {tau, j, n}"
                for n in range(plain.N)
                if left[tau][j][n] < -tolerance
            ]
            if load[tau][j] > plain.capacity[j] + tolerance:
                broken.append(f"overload {tau, j}")
    z = plain.training(rounds)
    for k in range(plain.J):
        whole = z[k] + sum((load[tau][k] for tau in range(plain.D)), zero)
        if whole > plain.D * plain.capacity[k] + tolerance:
            broken.append(f"training and serving overload {k}")
    return Frame(
        training_energy=training,
        energy=energy,
        energy_cost=plain.energy_weight * plain.price[t] * energy,
        delay_cost=plain.delay_weight * seconds,
        training_delay_cost=plain.delay_weight * waiting,
        excess=max(zero, energy - plain.cap[t]) if plain.cap[t] != float("inf") else zero,
        served=served,
        asked=sum((w for slot in plain.requests[t] for row in slot for w in row), zero),
        load=load,
        broken=broken,
    )


def missing(plain: Plain, rounds: Sequence[Sequence[int]]) -> list[int]:
    """Return the rounds that each task lacks after its deadline."""
    return [plain.rounds[i] - sum(row[i] for row in rounds) for i in range(plain.I)]


def late_price(plain: Plain) -> list[Number]:
    """Price a missing round at twice the mean cost of a round over the window, at least 0."""
    prices = []
    for i in range(plain.I):
        window = range(plain.arrival[i], plain.deadline[i] + 1)
        mean = sum((plain.c(t, i) for t in window), plain.number(0)) / len(window)
        prices.append(max(plain.number(0), 2 * mean))
    return prices


def unserved_price(plain: Plain) -> list[Number]:
    """Price an unserved request at twice the dearest energy and the longest delay there can be."""
    dearest = max(plain.number(0), *plain.price)
    prices = []
    for n in range(plain.N):
        energy = max(plain.d(k, n) for k in range(plain.J) if plain.capable[k][n])
        longest = max(plain.slo[t][tau][n] for t in range(plain.T) for tau in range(plain.D))
        prices.append(2 * (plain.energy_weight * dearest * energy + plain.delay_weight * longest))
    return prices
