"""Training and routing over all frames as arrays: the compiled form of the Pyomo model."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from edgeopt.checked import checked
from edgeopt.models.edr.penalties import check_cap, late_price, unserved_price
from edgeopt.models.edr.routing import conditions, find_routes
from edgeopt.solvers import LabelBlock, LinearProgram
from edgeopt.solvers.labels import axis_names

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.edr import EdrInstance

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


class _Block(NamedTuple):
    """Rows of one equation."""

    labels: LabelBlock  # their labels
    # lower, upper: their sides
    lower: Floats | float
    upper: Floats | float
    # rows counted within the block, columns, and coefficients
    entries: list[tuple[Integers, Integers, Floats]]


class _Columns(NamedTuple):
    """Which columns a program over all frames has, in the order of the program."""

    # frame and task of each x, shape [X, 2]; then one column per task for missing rounds
    rounds: Integers
    route: Integers  # frame, slot, origin, site and type of each y, shape [A, 5]
    seconds: Floats  # delay of each route, s, shape [A]
    # frame, slot, origin and type of each number of unserved requests, shape [U, 4]
    asked: Integers
    row: Integers  # place in `asked` of what each route serves, shape [A]


class _Places(NamedTuple):
    """Where columns are, and which frames, slots and sites training or requests use."""

    # x, missing, y, unserved, z, z_slot: numbers of the columns; no z where training is eliminated
    x: Integers
    missing: Integers
    y: Integers
    unserved: Integers
    z: Integers
    z_slot: Integers
    width: int  # number of all columns
    trains: NDArray[np.bool_]  # whether a frame may train on a site, shape [T, J]
    # held, spread: these frames and sites, shape [H, 2], and each with every slot, shape [H D, 3]
    held: Integers
    spread: Integers
    used: NDArray[np.bool_]  # whether requests, or z, may use a site in a slot, shape [T, D, J]

    @classmethod
    def of(cls, instance: EdrInstance, columns: _Columns, *, eliminate: bool) -> _Places:
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


def _all_rounds(instance: EdrInstance, columns: _Columns, place: _Places) -> _Block:
    """Return (1a): rounds of all frames, and those that are missing, are what a task needs."""
    labels = LabelBlock("eq_1a", ("task",), (instance.tasks,))
    entries = [
        (columns.rounds[:, 1], place.x, np.ones(place.x.size)),
        (np.arange(instance.tasks), place.missing, np.ones(instance.tasks)),
    ]
    needed = instance.rounds.astype(np.float64)
    return _Block(labels, needed, needed, entries)


def _within_caps(instance: EdrInstance, columns: _Columns, place: _Places, limit: Floats) -> _Block:
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
    return _Block(labels, -np.inf, limit[capped], entries)


def _all_served(instance: EdrInstance, columns: _Columns, place: _Places) -> _Block:
    """Return (1d): requests are served or counted as unserved."""
    labels = LabelBlock("eq_1d", ("frame", "slot", "origin", "type"), columns.asked)
    entries = [
        (columns.row, place.y, np.ones(place.y.size)),
        (np.arange(place.unserved.size), place.unserved, np.ones(place.unserved.size)),
    ]
    asked = instance.requests[tuple(columns.asked.T)]
    return _Block(labels, asked, asked, entries)


def _within_slots(instance: EdrInstance, columns: _Columns, place: _Places) -> _Block:
    """Return (1h): a site has the capacity for what it does in a slot."""
    t, s, _, k, n = columns.route.T
    busy = np.argwhere(place.used)
    row = _numbers(place.used.shape, place.used)
    entries = [(row[t, s, k], place.y, instance.request_work[n])]
    if place.z_slot.size:
        entries.append((row[tuple(place.spread.T)], place.z_slot, np.ones(place.z_slot.size)))
    labels = LabelBlock("eq_1h", ("frame", "slot", "site"), busy)
    return _Block(labels, -np.inf, instance.capacity[busy[:, 2]], entries)


def _within_frames(instance: EdrInstance, columns: _Columns, place: _Places) -> _Block:
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
    return _Block(labels, -np.inf, instance.slots * instance.capacity[place.held[:, 1]], entries)


def _spread_out(place: _Places) -> _Block:
    """Return (1g): the training of a frame is that of its slots."""
    row = np.arange(place.z.size)
    slots = place.used.shape[1]
    entries = [
        (row, place.z, np.ones(row.size)),
        (np.repeat(row, slots), place.z_slot, -np.ones(place.z_slot.size)),
    ]
    return _Block(LabelBlock("eq_1g", ("frame", "site"), place.held), 0.0, 0.0, entries)


def _training(instance: EdrInstance, columns: _Columns, place: _Places) -> _Block:
    """Return (1f): the training on a site is that of its rounds."""
    frame, task = columns.rounds.T
    row = _numbers(place.trains.shape, place.trains)
    work = instance.round_work[task]
    which, site = np.nonzero(work)
    entries = [
        (np.arange(place.z.size), place.z, np.ones(place.z.size)),
        (row[frame[which], site], place.x[which], -work[which, site]),
    ]
    return _Block(LabelBlock("eq_1f", ("frame", "site"), place.held), 0.0, 0.0, entries)


def _numbers(shape: int | tuple[int, ...], where: NDArray[Any]) -> Integers:
    """Count the places named, -1 elsewhere."""
    numbers = np.full(shape, -1)
    numbers[where] = np.arange(numbers[where].size)
    return numbers


def colocation_columns(instance: EdrInstance) -> _Columns:
    """List what can be decided: rounds in windows, and requests on routes within the objectives."""
    asked = np.argwhere(instance.requests > 0)
    counts, sites, seconds = [], [], []
    for t in range(instance.frames):
        found = find_routes(instance, [conditions(instance, t, s) for s in range(instance.slots)])
        counts.append(np.diff(found.first))
        sites.append(found.site)
        seconds.append(found.seconds)
    each = np.concatenate(counts)[instance.requests.ravel() > 0]
    row = np.repeat(np.arange(len(asked)), each)
    site = np.concatenate(sites).astype(np.int64)
    route = np.column_stack([asked[row, :3], site, asked[row, 3]])
    return _Columns(np.argwhere(instance.active), route, np.concatenate(seconds), asked, row)


@checked()
def colocation_matrix(
    instance: EdrInstance,
    *,
    cap: ArrayLike | None = None,
    relax: bool = False,
    eliminate: bool = True,
) -> LinearProgram:
    r"""Build problem P by array operations.

    Columns are x by frame and task, the missing rounds by task, y, the unserved requests, and
    without `eliminate` z by frame and site and z by frame, slot and site. Rows are (1a) by task,
    (1b) by capped frame, (1d), (1h), then (1g) by frame and site with training, and without
    `eliminate` (1f).

    Parameters
    ----------
    instance
        What is given.
    cap
        Energy of each frame, Wh, infinity where there is no cap, shape [T]; the instance's by
        default.
    relax
        Allow parts of rounds.
    eliminate
        Leave out how training is spread over the slots of a frame. It can be spread within the
        capacities if and only if requests leave enough of them, slot by slot and in all slots
        together: then (1g) reads :math:`\sum_i \zeta_{ik} x_i^t + \sum_{\tau j n} S_n y \le D C_k`.

    Returns
    -------
    A minimisation problem whose value is the penalised cost: missing rounds and unserved requests
    are priced by `late_price` and `unserved_price`, so that there always is a solution.

    Raises
    ------
    InputError
        If a cap is negative or no number, or there is not one per frame.

    Notes
    -----
    Zhu et al., problem P, declared in Pyomo by `colocation`, with equal rows without `eliminate`.
    Routes that (1c) or (1e) rule out have no columns. Rounds are done and requests are served once,
    neither less nor more: with negative prices more would pay.
    """
    limit = check_cap(instance, cap)
    columns = colocation_columns(instance)
    place = _Places.of(instance, columns, eliminate=eliminate)
    blocks = [
        _all_rounds(instance, columns, place),
        _within_caps(instance, columns, place, limit),
        _all_served(instance, columns, place),
        _within_slots(instance, columns, place),
    ]
    if eliminate:
        blocks.append(_within_frames(instance, columns, place))
    else:
        blocks += [_spread_out(place), _training(instance, columns, place)]
    heights = [len(block.labels) for block in blocks]
    entries = [
        (first + row, column, value)
        for first, block in zip(np.cumsum([0, *heights]).tolist(), blocks, strict=False)
        for row, column, value in block.entries
    ]
    rows, numbers, values = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    matrix = sparse.csc_array((values, (rows, numbers)), shape=(sum(heights), place.width))
    matrix.eliminate_zeros()
    names = [
        LabelBlock("x", ("frame", "task"), columns.rounds),
        LabelBlock("missing", ("task",), (instance.tasks,)),
        LabelBlock("y", ("frame", "slot", "origin", "site", "type"), columns.route),
        LabelBlock("unserved", ("frame", "slot", "origin", "type"), columns.asked),
    ]
    if not eliminate:
        names += [
            LabelBlock("z", ("frame", "site"), place.held),
            LabelBlock("z_slot", ("frame", "slot", "site"), place.spread),
        ]
    row_names = [block.labels for block in blocks]
    upper = np.full(place.width, np.inf)
    upper[place.x] = instance.rounds[columns.rounds[:, 1]]
    upper[place.missing] = instance.rounds
    upper[place.unserved] = instance.requests[tuple(columns.asked.T)]
    return LinearProgram(
        _cost(instance, columns, place),
        matrix,
        np.concatenate([np.broadcast_to(b.lower, len(b.labels)) for b in blocks]),
        np.concatenate([np.broadcast_to(b.upper, len(b.labels)) for b in blocks]),
        upper=upper,
        integer=False if relax else np.arange(place.width) < place.x.size,
        row_names=row_names,
        column_names=names,
        labels=axis_names(instance.called, row_names, names),
    )


def _cost(instance: EdrInstance, columns: _Columns, place: _Places) -> Floats:
    frame, task = columns.rounds.T
    t, _, _, k, n = columns.route.T
    cost = np.zeros(place.width)
    cost[place.x] = instance.round_cost[frame, task]
    cost[place.missing] = late_price(instance)
    energy = instance.request_energy[k, n]
    cost[place.y] = instance.energy_weight * instance.price[t] * energy
    cost[place.y] += instance.delay_weight * columns.seconds
    cost[place.unserved] = unserved_price(instance)[columns.asked[:, 3]]
    return cost
