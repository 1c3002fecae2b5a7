"""Columns and rows of problem P, one equation at a time."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.solvers import LabelBlock

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = [
    "Block",
    "Columns",
    "Places",
    "all_rounds",
    "all_served",
    "spread_out",
    "training",
    "within_caps",
    "within_frames",
    "within_slots",
]


class Block(NamedTuple):
    """Rows of one equation.

    Parameters
    ----------
    labels
        Their labels.
    lower, upper
        Their sides.
    entries
        Rows counted within the block, columns, and coefficients.
    """

    labels: LabelBlock
    lower: Floats | float
    upper: Floats | float
    entries: list[tuple[Integers, Integers, Floats]]


class Columns(NamedTuple):
    """Which columns a program over all frames has, in the order of the program.

    Parameters
    ----------
    rounds
        Frame and task of each x, shape [X, 2]; then one column per task for missing rounds.
    route
        Frame, slot, origin, site and type of each y, shape [A, 5].
    seconds
        Delay of each route, s, shape [A].
    asked
        Frame, slot, origin and type of each number of unserved requests, shape [U, 4].
    row
        Place in `asked` of what each route serves, shape [A].
    """

    rounds: Integers
    route: Integers
    seconds: Floats
    asked: Integers
    row: Integers


class Places(NamedTuple):
    """Where columns are, and which frames, slots and sites training or requests use.

    Parameters
    ----------
    x, missing, y, unserved, z, z_slot
        Numbers of the columns; no z where training is eliminated.
    width
        Number of all columns.
    trains
        Whether a frame may train on a site, shape [T, J].
    held, spread
        These frames and sites, shape [H, 2], and each with every slot, shape [H D, 3].
    used
        Whether requests, or z, may use a site in a slot, shape [T, D, J].
    """

    x: Integers
    missing: Integers
    y: Integers
    unserved: Integers
    z: Integers
    z_slot: Integers
    width: int
    trains: NDArray[np.bool_]
    held: Integers
    spread: Integers
    used: NDArray[np.bool_]

    @classmethod
    def of(cls, instance: EdrInstance, columns: Columns, *, eliminate: bool) -> Places:
        """Count the columns; training has some of its own unless it is eliminated."""
        frame, task = columns.rounds.T
        trains = np.zeros((instance.frames, instance.sites), dtype=bool)
        np.logical_or.at(trains, frame, instance.round_work[task] > 0)
        held = np.argwhere(trains)
        used = np.zeros((instance.frames, instance.slots, instance.sites), dtype=bool)
        t, s, _, k, _ = columns.route.T
        used[t, s, k] = True
        spread = np.repeat(held, instance.slots, axis=0)
        spread = np.insert(spread, 1, np.tile(np.arange(instance.slots), len(held)), axis=1)
        sizes = [frame.size, instance.tasks, len(columns.route), len(columns.asked), 0, 0]
        if not eliminate:
            used |= trains[:, np.newaxis]
            sizes[4:] = [len(held), len(spread)]
        ends = np.cumsum([0, *sizes]).tolist()
        x, missing, y, unserved, z, z_slot = (np.arange(a, b) for a, b in pairwise(ends))
        return cls(x, missing, y, unserved, z, z_slot, ends[-1], trains, held, spread, used)


def all_rounds(instance: EdrInstance, columns: Columns, place: Places) -> Block:
    """Return (1a): rounds of all frames, and those that are missing, are what a task needs."""
    labels = LabelBlock("eq_1a", ("task",), (instance.tasks,))
    entries = [
        (columns.rounds[:, 1], place.x, np.ones(place.x.size)),
        (np.arange(instance.tasks), place.missing, np.ones(instance.tasks)),
    ]
    needed = instance.rounds.astype(np.float64)
    return Block(labels, needed, needed, entries)


def within_caps(instance: EdrInstance, columns: Columns, place: Places, limit: Floats) -> Block:
    """Return (1b): the energy of requests and training is within the cap of a frame."""
    frame, task = columns.rounds.T
    t, _, _, k, n = columns.route.T
    # A cap on nothing is no row.
    busy = np.isin(np.arange(instance.frames), np.concatenate([frame, t]))
    capped = np.flatnonzero(np.isfinite(limit) & busy)
    row = _numbers(instance.frames, capped)
    trained, served = np.flatnonzero(row[frame] >= 0), np.flatnonzero(row[t] >= 0)
    energy = instance.round_energy[frame, task], instance.request_energy[k, n]
    entries = [
        (row[frame[trained]], place.x[trained], energy[0][trained]),
        (row[t[served]], place.y[served], energy[1][served]),
    ]
    labels = LabelBlock("eq_1b", ("frame",), capped[:, np.newaxis])
    return Block(labels, -np.inf, limit[capped], entries)


def all_served(instance: EdrInstance, columns: Columns, place: Places) -> Block:
    """Return (1d): requests are served or counted as unserved."""
    labels = LabelBlock("eq_1d", ("frame", "slot", "origin", "type"), columns.asked)
    entries = [
        (columns.row, place.y, np.ones(place.y.size)),
        (np.arange(place.unserved.size), place.unserved, np.ones(place.unserved.size)),
    ]
    asked = instance.requests[tuple(columns.asked.T)]
    return Block(labels, asked, asked, entries)


def within_slots(instance: EdrInstance, columns: Columns, place: Places) -> Block:
    """Return (1h): a site has the capacity for what it does in a slot."""
    t, s, _, k, n = columns.route.T
    busy = np.argwhere(place.used)
    row = _numbers(place.used.shape, place.used)
    entries = [(row[t, s, k], place.y, instance.request_work[n])]
    if place.z_slot.size:
        entries.append((row[tuple(place.spread.T)], place.z_slot, np.ones(place.z_slot.size)))
    labels = LabelBlock("eq_1h", ("frame", "slot", "site"), busy)
    return Block(labels, -np.inf, instance.capacity[busy[:, 2]], entries)


def within_frames(instance: EdrInstance, columns: Columns, place: Places) -> Block:
    """Return (1g) without z: training and requests of a frame fit into a site."""
    frame, task = columns.rounds.T
    t, _, _, k, n = columns.route.T
    row = _numbers(place.trains.shape, place.trains)
    work = instance.round_work[task]
    which, site = np.nonzero(work)
    shared = np.flatnonzero(place.trains[t, k])
    entries = [
        (row[frame[which], site], place.x[which], work[which, site]),
        (row[t[shared], k[shared]], place.y[shared], instance.request_work[n[shared]]),
    ]
    labels = LabelBlock("eq_1g", ("frame", "site"), place.held)
    return Block(labels, -np.inf, instance.slots * instance.capacity[place.held[:, 1]], entries)


def spread_out(place: Places) -> Block:
    """Return (1g): the training of a frame is that of its slots."""
    row = np.arange(place.z.size)
    slots = place.used.shape[1]
    entries = [
        (row, place.z, np.ones(row.size)),
        (np.repeat(row, slots), place.z_slot, -np.ones(place.z_slot.size)),
    ]
    return Block(LabelBlock("eq_1g", ("frame", "site"), place.held), 0.0, 0.0, entries)


def training(instance: EdrInstance, columns: Columns, place: Places) -> Block:
    """Return (1f): the training on a site is that of its rounds."""
    frame, task = columns.rounds.T
    row = _numbers(place.trains.shape, place.trains)
    work = instance.round_work[task]
    which, site = np.nonzero(work)
    entries = [
        (np.arange(place.z.size), place.z, np.ones(place.z.size)),
        (row[frame[which], site], place.x[which], -work[which, site]),
    ]
    return Block(LabelBlock("eq_1f", ("frame", "site"), place.held), 0.0, 0.0, entries)


def _numbers(shape: int | tuple[int, ...], where: NDArray[Any]) -> Integers:
    """Count the places named, -1 elsewhere."""
    numbers = np.full(shape, -1)
    numbers[where] = np.arange(numbers[where].size)
    return numbers
