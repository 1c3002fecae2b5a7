"""Training and routing over all frames as arrays: the compiled twin of the Pyomo model."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from edgeopt.models.edr.penalties import late_price, unserved_price
from edgeopt.models.edr.routing import conditions, find_routes
from edgeopt.models.edr.served import check_cap
from edgeopt.solvers import LabelBlock, LinearProgram

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.edr import EdrInstance

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = ["Columns", "colocation_columns", "colocation_matrix"]


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


def colocation_columns(instance: EdrInstance) -> Columns:
    """List what can be decided: rounds in windows, and requests on routes within the objectives.

    Parameters
    ----------
    instance
        What is given.

    Returns
    -------
    The columns; x by frame and task, y by frame, slot, origin, type, then site.
    """
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
    return Columns(np.argwhere(instance.active), route, np.concatenate(seconds), asked, row)


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
    Zhu et al., problem P; `colocation` is its twin in Pyomo, row by row without `eliminate`.
    Routes that (1c) or (1e) rule out have no columns. Rounds are done and requests are served once,
    neither less nor more: with negative prices more would pay.
    """
    limit = check_cap(instance, cap)
    columns = colocation_columns(instance)
    frame, task = columns.rounds.T
    slots, sites, tasks = instance.slots, instance.sites, instance.tasks
    x, count = np.arange(frame.size), frame.size
    missing = count + np.arange(tasks)
    y = count + tasks + np.arange(len(columns.route))
    lost = count + tasks + y.size + np.arange(len(columns.asked))
    width = count + tasks + y.size + lost.size
    t, s, _, k, n = columns.route.T

    # A cap on nothing is no row.
    active = np.isin(np.arange(instance.frames), np.concatenate([frame, t]))
    capped = np.flatnonzero(np.isfinite(limit) & active)
    cap_row = np.full(instance.frames, -1)
    cap_row[capped] = tasks + np.arange(capped.size)
    height = tasks + capped.size
    energy = instance.round_energy[frame, task]
    mine, theirs = np.flatnonzero(cap_row[frame] >= 0), np.flatnonzero(cap_row[t] >= 0)
    entries = [
        (task, x, np.ones(count)),
        (np.arange(tasks), missing, np.ones(tasks)),
        (cap_row[frame[mine]], x[mine], energy[mine]),
        (cap_row[t[theirs]], y[theirs], instance.request_energy[k, n][theirs]),
        (height + columns.row, y, np.ones(y.size)),
        (height + np.arange(lost.size), lost, np.ones(lost.size)),
    ]
    height += lost.size

    # Sites with training in a frame, and where requests or training may use a slot.
    work = instance.round_work[task]
    trains = np.zeros((instance.frames, sites), dtype=bool)
    np.logical_or.at(trains, frame, work > 0)
    held = np.argwhere(trains)
    used = np.zeros((instance.frames, slots, sites), dtype=bool)
    used[t, s, k] = True
    if not eliminate:
        used |= trains[:, np.newaxis]
    busy = np.argwhere(used)
    slot_row = np.full(used.shape, -1)
    slot_row[used] = height + np.arange(len(busy))
    height += len(busy)
    load = instance.request_work[n]
    entries.append((slot_row[t, s, k], y, load))
    site_row = np.full(trains.shape, -1)
    site_row[trains] = height + np.arange(len(held))
    height += len(held)
    pair, at = np.nonzero(work)
    zeta = work[pair, at]
    blocks = [
        LabelBlock("eq_1a", ("task",), (tasks,)),
        LabelBlock("eq_1b", ("frame",), capped[:, np.newaxis]),
        LabelBlock("eq_1d", ("frame", "slot", "origin", "type"), columns.asked),
        LabelBlock("eq_1h", ("frame", "slot", "site"), busy),
        LabelBlock("eq_1g", ("frame", "site"), held),
    ]
    names = [
        LabelBlock("x", ("frame", "task"), columns.rounds),
        LabelBlock("missing", ("task",), (tasks,)),
        LabelBlock("y", ("frame", "slot", "origin", "site", "type"), columns.route),
        LabelBlock("unserved", ("frame", "slot", "origin", "type"), columns.asked),
    ]
    if eliminate:
        shared = np.flatnonzero(trains[t, k])
        entries += [
            (site_row[frame[pair], at], x[pair], zeta),
            (site_row[t[shared], k[shared]], y[shared], load[shared]),
        ]
        room = slots * instance.capacity[held[:, 1]]
        sides = [np.full(len(held), -np.inf), room]
    else:
        z = width + np.arange(len(held))
        spread = np.repeat(held, slots, axis=0)
        spread = np.insert(spread, 1, np.tile(np.arange(slots), len(held)), axis=1)
        zs = width + len(held) + np.arange(len(spread))
        width += len(held) + len(spread)
        work_row = height + np.arange(len(held))
        of_site = np.full(trains.shape, -1)
        of_site[trains] = work_row
        height += len(held)
        minus = -np.ones(len(spread))
        entries += [
            (slot_row[tuple(spread.T)], zs, -minus),
            (site_row[trains], z, np.ones(len(held))),
            (np.repeat(site_row[trains], slots), zs, minus),
            (work_row, z, np.ones(len(held))),
            (of_site[frame[pair], at], x[pair], -zeta),
        ]
        blocks.append(LabelBlock("eq_1f", ("frame", "site"), held))
        names += [
            LabelBlock("z", ("frame", "site"), held),
            LabelBlock("z_slot", ("frame", "slot", "site"), spread),
        ]
        sides = [np.zeros(2 * len(held)), np.zeros(2 * len(held))]

    rows, places, values = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    matrix = sparse.csc_array((values, (rows, places)), shape=(height, width))
    matrix.eliminate_zeros()
    asked = instance.requests[tuple(columns.asked.T)]
    free = np.full(capped.size, -np.inf), np.full(len(busy), -np.inf)
    return LinearProgram(
        _cost(instance, columns, width),
        matrix,
        np.concatenate([instance.rounds, free[0], asked, free[1], sides[0]]),
        np.concatenate(
            [instance.rounds, limit[capped], asked, instance.capacity[busy[:, 2]], sides[1]]
        ),
        upper=np.concatenate(
            [
                instance.rounds[task],
                instance.rounds,
                np.full(y.size, np.inf),
                asked,
                np.full(width - count - tasks - y.size - lost.size, np.inf),
            ]
        ),
        integer=False if relax else np.arange(width) < count,
        row_names=blocks,
        column_names=names,
    )


def _cost(instance: EdrInstance, columns: Columns, width: int) -> Floats:
    frame, task = columns.rounds.T
    t, _, _, k, n = columns.route.T
    each = instance.energy_weight * instance.price[t] * instance.request_energy[k, n]
    cost = [
        instance.round_cost[frame, task],
        late_price(instance),
        each + instance.delay_weight * columns.seconds,
        unserved_price(instance)[columns.asked[:, 3]],
    ]
    known = np.concatenate(cost)
    return np.pad(known, (0, width - known.size))
