"""Random instances in the setting of the paper's evaluation, and the radio links behind them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.radio import (
    dbm_to_watt,
    decibel_to_ratio,
    path_loss_decibel,
    shannon_rate,
    transmission_seconds,
)
from edgeopt.instances.rescue.instance import RescueInstance, ReservedTasks
from edgeopt.instances.rescue.profit_models import LogProfit
from edgeopt.instances.validate import check_sizes
from edgeopt.options import check_choice, check_real, check_room, check_whole
from edgeopt.options import generator as source

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from edgeopt.arrays import Floats, Ints

BANDWIDTH: Final = 3e6  # bandwidth of a link, Hz
TRANSMIT_DBM: Final = 20.0  # transmission power of a device, dBm (100 mW)
THERMAL_DBM: Final = -109.2  # thermal noise within `BANDWIDTH`, dBm
LITERAL_NOISE_DBM: Final = -40.0  # noise power that the paper prints, dBm

_NEGLIGIBLE = 1e-9  # mass, relative to the largest of its row, that is dropped
_TAIL = 2.1  # exponent of the Pareto distribution: finite variance, barely


def _normal(slots: Floats, mean: float) -> Floats:
    spread = 0.25 * mean
    mass = np.exp(-0.5 * ((slots - mean) / spread) ** 2)
    return np.where(slots <= 2 * mean, mass, 0.0)


def _bimodal(slots: Floats, mean: float) -> Floats:
    spread = 0.1 * mean
    low = np.exp(-0.5 * ((slots - 0.6 * mean) / spread) ** 2)
    high = np.exp(-0.5 * ((slots - 1.4 * mean) / spread) ** 2)
    return np.where(slots <= 2 * mean, low + high, 0.0)


def _uniform(slots: Floats, mean: float) -> Floats:
    inside = (slots >= np.ceil(0.5 * mean)) & (slots <= np.floor(1.5 * mean))
    return np.where(inside, 1.0, 0.0)


def _heavy(slots: Floats, mean: float) -> Floats:
    smallest = mean * (_TAIL - 1) / _TAIL
    edges = np.concatenate((slots - 0.5, slots[-1:] + 0.5))
    above = (smallest / np.maximum(edges, smallest)) ** _TAIL
    return np.where(slots <= 3 * mean, -np.diff(above), 0.0)


DISTRIBUTIONS: Final[dict[str, tuple[Callable[[Floats, float], Floats], int]]] = {
    "normal": (_normal, 2),
    "bimodal": (_bimodal, 2),
    "uniform": (_uniform, 2),
    "heavy": (_heavy, 3),
}
"""Mass function by whole slots and mean, and the longest duration as a multiple of the longest
mean. A standard deviation of a quarter of the mean (normal), two bells of a tenth of the mean at
0.6 and 1.4 means (bimodal), half to one and a half means (uniform), a Pareto distribution of
exponent 2.1
(heavy)."""


def duration_table(distribution: str, profiles: int, shortest: float, longest: float) -> Floats:
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
    normalised: Floats = table / table.sum(axis=1, keepdims=True)
    return normalised


def generate(
    *,
    servers: int = 4,
    devices: int = 14,
    profiles: int = 5,
    horizon: int = 100,
    arrival: float = 0.5,
    reserved: int = 16,
    density: float = 0.4,
    demand: float = 0.15,
    sla: float = 23,
    distribution: Literal["normal", "bimodal", "uniform", "heavy"] = "normal",
    rng: int | np.random.Generator = 0,
    shortest: float = 4,
    longest: float = 20,
    slot_seconds: float = 10,
    radio: Literal["thermal", "literal"] = "thermal",
    beyond: Literal["hold", "drop"] = "hold",
) -> RescueInstance:
    """Draw a random instance in the paper's setting.

    The profit is a `LogProfit`: nothing of the size of the LP is stored, whatever the sizes.

    Parameters
    ----------
    servers, devices, profiles, horizon
        Sizes K, J, L, T. The paper uses 2-7, 10-18 and 3-8, and does not print T.
    arrival
        Mean probability that any task arrives in a slot (0.2-0.7 in the paper); it swings by 40 %
        as a sine of one period over the horizon.
    reserved
        Number of reserved tasks (6-36), spread evenly over the servers.
    density
        Share of slots that lie in a reserved window (0.1-0.6).
    demand
        Share of all capacity that reserved tasks need (0.05-0.3), clipped where windows offer less.
    sla
        Mean deadline, slots (18-28); each device's own lies within 2 slots of it.
    distribution
        Distribution of the retraining durations.
    rng
        Seed or generator; equal seeds give equal instances on one kind of processor only; see
        `Instance.rounded`.
    shortest, longest
        Mean duration of the first and the last profile, slots (not printed in the paper).
    slot_seconds
        Length of a slot, seconds (not printed in the paper).
    radio
        Link model, see `link_rate`.
    beyond
        Whether a run that lasts beyond the horizon earns its profit.

    Returns
    -------
    A validated instance with exclusive arrivals.

    Raises
    ------
    OptionError
        If an option is out of range.
    InstanceError
        If the discretised mean durations do not increase with the profile.

    Notes
    -----
    Printed in section VI-A of Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model
    Retraining on Underutilized Edges: capacity 5-10 TMAC per slot, 3 MHz, 100 mW, 0.15-0.45 km,
    8-32 MB up and 1-4 MB down, weights 0.5-10, and the ranges above. Chosen here: accuracy model,
    profit curves, path loss, noise, mean durations and their spreads, placement of windows.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> generate(servers=2, devices=4, horizon=20, rng=7)
    RescueInstance(servers=2, devices=4, profiles=5, horizon=20, max_duration=40, reserved=16,
    arrivals='exclusive', beyond='hold')
    """
    check_sizes(servers=servers, devices=devices, profiles=profiles, horizon=horizon)
    check_room("horizon * devices", horizon, devices)
    check_room("devices * servers", devices, servers)
    check_deadlines(sla, slot_seconds)
    generator = source(rng)
    capacity = draw_capacity(generator, servers, horizon)
    tasks = draw_reserved(generator, capacity, reserved, density, demand)
    probability = draw_arrival(generator, horizon, devices, arrival)
    duration = duration_table(distribution, profiles, shortest, longest)

    distance = generator.uniform(0.15, 0.45, (devices, servers))
    upload = generator.uniform(8, 32, devices)
    download = generator.uniform(1, 4, devices)
    deadline = np.round(sla + generator.uniform(-2, 2, devices))
    budget = retraining_budget(
        deadline, upload + download, link_rate(distance, radio), slot_seconds
    )
    profit = LogProfit(
        weight=generator.uniform(0.5, 10, devices),
        best_accuracy=0.95,
        accuracy=generator.uniform(0.75, 0.9, devices),
        decay=generator.uniform(0.002, 0.01, devices),
        trained=np.full(devices, -1),
        gain=generator.uniform(0.05, 0.25, devices),
        curvature=generator.uniform(0.02, 0.2, devices),
        capacity=capacity,
        budget=budget,
        max_duration=duration.shape[1],
    )
    return RescueInstance(probability, duration, capacity, tasks, profit, beyond=beyond)


def check_deadlines(sla: float, slot_seconds: float) -> None:
    """Check what the deadlines of runs follow from."""
    check_real("sla", sla, "[0, 1e9]")
    check_real("slot_seconds", slot_seconds, "(0, inf)")


def draw_capacity(generator: np.random.Generator, servers: int, horizon: int) -> Floats:
    """Draw capacities of 5-10 TMAC per slot, shape [K, T]: a level per server, 10 % noise."""
    check_room("servers * horizon", servers, horizon)
    level = generator.uniform(5, 10, servers)
    noise = generator.uniform(0.9, 1.1, (servers, horizon))
    return np.clip(level[:, None] * noise, 5, 10)


def draw_reserved(
    generator: np.random.Generator, capacity: Floats, reserved: int, density: float, demand: float
) -> ReservedTasks:
    """Draw reserved tasks with disjoint windows, so that they fit together by construction."""
    servers, horizon = capacity.shape
    check_whole("reserved", reserved)
    check_real("density", density, "[0, 1]")
    check_real("demand", demand, "(0, inf)" if reserved else "(-inf, inf)")
    counts = [reserved // servers + (k < reserved % servers) for k in range(servers)]
    if max(counts) > horizon:
        raise OptionError(
            f"{max(counts)} reserved tasks of a server need more than {horizon} slots"
        )
    rows: list[tuple[int, int, int, float]] = []
    for k, n in enumerate(counts):
        if n == 0:
            continue
        total = max(n, round(density * horizon))
        length = 1 + generator.multinomial(total - n, generator.dirichlet(np.full(n, 5.0)))
        gap = generator.multinomial(horizon - total, generator.dirichlet(np.ones(n + 1)))
        start = np.cumsum(gap[:n]) + np.concatenate(([0], np.cumsum(length[:-1])))
        end = start + length - 1
        offer = np.array([capacity[k, a : b + 1].sum() for a, b in zip(start, end, strict=True)])
        share = min(1.0, demand * capacity[k].sum() / offer.sum())
        rows += zip([k] * n, start.tolist(), end.tolist(), (share * offer).tolist(), strict=True)
    if not rows:
        return ReservedTasks.none()
    server, first, last, work = zip(*rows, strict=True)
    return ReservedTasks(np.array(server), np.array(first), np.array(last), np.array(work))


def draw_arrival(
    generator: np.random.Generator, horizon: int, devices: int, arrival: float
) -> Floats:
    """Draw arrival probabilities, a sine over the horizon shared by devices, shape [T, J]."""
    check_real("arrival", arrival, "[0, 1]")
    phase = 2 * np.pi * np.arange(1, horizon + 1) / horizon
    total = np.clip(arrival * (1 + 0.4 * np.sin(phase)), 0, 1)
    share = generator.dirichlet(np.full(devices, 5.0))
    return total[:, None] * share


def link_rate(kilometres: ArrayLike, radio: Literal["thermal", "literal"] = "thermal") -> Floats:
    """Return the rate of a link over a distance."""
    check_choice("radio", radio, ("thermal", "literal"))
    distance = np.asarray(kilometres, dtype=np.float64)
    if radio == "thermal":
        ratio = decibel_to_ratio(TRANSMIT_DBM - path_loss_decibel(distance) - THERMAL_DBM)
    else:
        ratio = dbm_to_watt(TRANSMIT_DBM) * distance**-3.0 / dbm_to_watt(LITERAL_NOISE_DBM)
    return shannon_rate(BANDWIDTH, ratio)


def retraining_budget(
    deadline: ArrayLike, megabytes: ArrayLike, rate: ArrayLike, slot_seconds: float
) -> Ints:
    r"""Return the slots left for retraining once data and model have been transmitted.

    :math:`\bar d_{jk} = \lfloor d^{\max}_j - (\varphi_j + \varphi'_j) / r_{jk} \rfloor^+`. The
    transmission shortens the budget; it does not delay the start of the run.
    """
    seconds = transmission_seconds(np.asarray(megabytes)[:, None], rate)
    left = np.floor(np.asarray(deadline)[:, None] - seconds / slot_seconds)
    return np.maximum(left, 0).astype(np.int64)
