"""RESCUE on real measurements: step times of training jobs, edge sites, accuracy under drift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.geography import great_circle_kilometres
from edgeopt.instances.options import check_sizes
from edgeopt.instances.rescue.generate import (
    check_deadlines,
    draw_arrival,
    draw_capacity,
    draw_reserved,
)
from edgeopt.instances.rescue.instance import RescueInstance
from edgeopt.instances.rescue.measurements import LONGEST_WORK, measure, read_tables
from edgeopt.instances.rescue.physical import link_rate, retraining_budget
from edgeopt.instances.rescue.profit import LogProfit
from edgeopt.instances.tables import FOLDER
from edgeopt.options import check_room, check_text, check_whole
from edgeopt.options import generator as source

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from edgeopt.instances.rescue.measurements import Measured

__all__ = ["build", "from_data", "from_tables"]

NEAREST_KM: Final = 0.035
"""Shortest distance to an antenna that the path-loss model is meant for, km."""


def from_tables(**options: Any) -> RescueInstance:
    """Build an instance from the small tables that come with the package.

    Parameters
    ----------
    **options
        Sizes and settings of `build`; without any, the same default instance every time.

    Returns
    -------
    An instance equal to what `from_data` builds from the raw files with the same options.

    Raises
    ------
    OptionError, InstanceError
        As in `build`.
    """
    return build(read_tables(FOLDER), **options)


def from_data(directory: str | os.PathLike[str], **options: Any) -> RescueInstance:
    """Build an instance from the raw measurement files.

    Parameters
    ----------
    directory
        Folder with the sources as `measure` expects them.
    **options
        Sizes and settings of `build`.

    Raises
    ------
    InstanceError
        If a file is missing or has a bad entry, named by file, column and line.
    OptionError
        As in `build`.
    """
    return build(measure(directory), **options)


def build(
    measured: Measured,
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
    rng: int | np.random.Generator = 0,
    shortest: int = 4,
    longest: int = 20,
    slot_seconds: float = 10,
    model: str = "Standard",
    beyond: Literal["hold", "drop"] = "hold",
) -> RescueInstance:
    """Build an instance on measured durations, distances and accuracies.

    Measured: how the length of a training run varies (four production jobs of the Alibaba PAI
    trace, equally weighted); where base stations stand (Optus sites in central Melbourne); what
    accuracy a classifier keeps under 15 kinds of drift in 5 severities, and the best that any
    listed classifier reaches (CIFAR-10-C). Synthetic at their source: the positions of users.
    Assumed, as in `generate`: arrivals, capacities, reserved tasks, link budget, amounts of data,
    deadlines, weights, decay of accuracy, the curves from work to accuracy (no public measurement
    is known), and how many steps fill a slot.
    """
    _check(measured, servers, devices, model)
    check_sizes(horizon=horizon)
    check_room("horizon * devices", horizon, devices)
    check_deadlines(sla, slot_seconds)
    duration = _durations(measured.windows, profiles, shortest, longest)
    generator = source(rng)
    capacity = draw_capacity(generator, servers, horizon)
    tasks = draw_reserved(generator, capacity, reserved, density, demand)
    probability = draw_arrival(generator, horizon, devices, arrival)

    sites = measured.sites[generator.choice(len(measured.sites), servers, replace=False)]
    users = measured.users[generator.choice(len(measured.users), devices, replace=False)]
    distance = np.maximum(great_circle_kilometres(users, sites), NEAREST_KM)
    megabytes = generator.uniform(8, 32, devices) + generator.uniform(1, 4, devices)
    deadline = np.round(sla + generator.uniform(-2, 2, devices))

    accuracy = measured.drift.accuracy
    drifted = accuracy[measured.drift.models.index(model)]
    setting = generator.choice(drifted.size, devices, replace=devices > drifted.size)
    # Python evaluates arguments from left to right: their order is the order of the draws.
    profit = LogProfit(
        weight=generator.uniform(0.5, 10, devices),
        accuracy=drifted[setting],
        best_accuracy=float(accuracy.max()),
        decay=generator.uniform(0.002, 0.01, devices),
        trained=np.full(devices, -1),
        gain=generator.uniform(0.05, 0.25, devices),
        curvature=generator.uniform(0.02, 0.2, devices),
        capacity=capacity,
        budget=retraining_budget(deadline, megabytes, link_rate(distance), slot_seconds),
        max_duration=duration.shape[1],
    )
    return RescueInstance(probability, duration, capacity, tasks, profit, beyond=beyond)


def _check(measured: Measured, servers: int, devices: int, model: str) -> None:
    for name, value, available in (
        ("servers", servers, len(measured.sites)),
        ("devices", devices, len(measured.users)),
    ):
        check_whole(name, value)
        if not 1 <= value <= available:
            raise OptionError(f"{name} must lie in 1..{available}, got {value}")
    check_text("model", model)
    if model not in measured.drift.models:
        raise OptionError(f"no model {model!r}; known: {', '.join(measured.drift.models)}")


def _durations(
    windows: NDArray[np.int64], profiles: int, shortest: int, longest: int
) -> NDArray[np.float64]:
    """Mix the jobs in equal parts, shape [L, D]."""
    for name, value in (("profiles", profiles), ("shortest", shortest), ("longest", longest)):
        check_whole(name, value)
    if not 1 <= shortest <= longest <= LONGEST_WORK:
        raise OptionError(
            f"needs 1 <= shortest <= longest <= {LONGEST_WORK}, got {shortest} and {longest}"
        )
    work = np.round(np.linspace(shortest, longest, min(profiles, LONGEST_WORK))).astype(np.int64)
    if not 1 <= profiles <= work.size or np.unique(work).size < profiles:
        raise OptionError(
            f"{profiles} profiles do not fit between {shortest} and {longest} whole slots"
        )
    counts = windows[work - 1].astype(np.float64)
    share = (counts / counts.sum(axis=1, keepdims=True)).mean(axis=2)
    reach = int(np.flatnonzero(share.any(axis=0))[-1]) + 1
    duration: NDArray[np.float64] = share[:, :reach]
    return duration
