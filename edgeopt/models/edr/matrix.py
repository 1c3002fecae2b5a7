"""Training and routing over all frames as arrays: the compiled form of the Pyomo model."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from edgeopt.checked import checked
from edgeopt.models.edr.penalties import check_cap, late_price, unserved_price
from edgeopt.models.edr.routing import conditions, routing_problem
from edgeopt.solvers import LabelBlock, LinearProgram
from edgeopt.solvers.labels import axis_names

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.arrays import Floats
    from edgeopt.arrays import Ints as Integers
    from edgeopt.instances.edr import EdrInstance


class _Columns(NamedTuple):
    """Which columns a program over all frames has, in the order of the program."""

    # frame and task of each x, shape [X, 2]; then one column per task for missing rounds
    rounds: Integers
    route: Integers  # frame, slot, origin, site and type of each y, shape [A, 5]
    seconds: Floats  # delay of each route, s, shape [A]
    # frame, slot, origin and type of each number of unserved requests, shape [U, 4]
    asked: Integers
    row: Integers  # place in `asked` of what each route serves, shape [A]


def colocation_columns(instance: EdrInstance) -> _Columns:
    """List what can be decided: rounds in windows, and requests on routes within the objectives."""
    asked = np.argwhere(instance.requests > 0)
    counts, sites, seconds = [], [], []
    for t in range(instance.frames):
        shown = [conditions(instance, t, s) for s in range(instance.slots)]
        found = routing_problem(instance, shown, price=0.0)
        counts.append(np.diff(found.first))
        sites.append(found.site)
        seconds.append(found.seconds)
    each = np.concatenate(counts)[instance.requests.ravel() > 0]
    row = np.repeat(np.arange(len(asked)), each)
    site = np.concatenate(sites).astype(np.int64)
    route = np.column_stack([asked[row, :3], site, asked[row, 3]])
    return _Columns(np.argwhere(instance.active), route, np.concatenate(seconds), asked, row)


def _numbers(shape: int | tuple[int, ...], where: NDArray[Any], first: int) -> Integers:
    """Count the places named from a first number on, -1 elsewhere."""
    numbers = np.full(shape, -1)
    numbers[where] = first + np.arange(numbers[where].size)
    return numbers


@checked()
def colocation_matrix(
    instance: EdrInstance,
    *,
    cap: ArrayLike | None = None,
    relax: bool = False,
) -> LinearProgram:
    r"""Build problem P by array operations.

    Columns are x by frame and task, the missing rounds by task, y, and the unserved requests. Rows
    are (1a) by task, (1b) by capped frame, (1d), (1h), and (1g) by frame and site with training.

    How training is spread over the slots of a frame is left out. It can be spread within the
    capacities if and only if requests leave enough of them, slot by slot and in all slots
    together: then (1g) reads :math:`\sum_i \zeta_{ik} x_i^t + \sum_{\tau j n} S_n y \le D C_k`.

    Parameters
    ----------
    instance
        What is given.
    cap
        Energy of each frame, Wh, infinity where there is no cap, shape [T]; the instance's by
        default.
    relax
        Allow parts of rounds.

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
    Zhu et al., problem P, declared in Pyomo by `colocation`.
    Routes that (1c) or (1e) rule out have no columns. Rounds are done and requests are served once,
    neither less nor more: with negative prices more would pay.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.models.edr import colocation_matrix
    >>> from edgeopt.solvers import solve
    >>> solve(colocation_matrix(small(1))).quality.value
    'optimal'
    """
    limit = check_cap(instance, cap)
    columns = colocation_columns(instance)
    (frame, task), (t, s, _, k, n) = columns.rounds.T, columns.route.T
    asked, frames = instance.requests[tuple(columns.asked.T)], instance.frames
    sizes = [frame.size, instance.tasks, t.size, asked.size]
    ends = np.cumsum([0, *sizes]).tolist()
    x, missing, y, unserved = (np.arange(first, end) for first, end in pairwise(ends))

    # A cap on nothing is no row.
    busy = np.isin(np.arange(frames), np.concatenate([frame, t]))
    capped = np.flatnonzero(np.isfinite(limit) & busy)
    serves = np.zeros((frames, instance.slots, instance.sites), dtype=bool)
    serves[t, s, k] = True
    trains = np.zeros((frames, instance.sites), dtype=bool)
    np.logical_or.at(trains, frame, instance.round_work[task] > 0)
    within, held = np.argwhere(serves), np.argwhere(trains)
    heights = [instance.tasks, capped.size, asked.size, len(within), len(held)]
    first = np.cumsum([0, *heights]).tolist()
    cap_row = _numbers(frames, capped, first[1])
    slot_row = _numbers(serves.shape, serves, first[3])
    frame_row = _numbers(trains.shape, trains, first[4])

    trained, served = np.flatnonzero(cap_row[frame] >= 0), np.flatnonzero(cap_row[t] >= 0)
    shared = np.flatnonzero(trains[t, k])
    work = instance.round_work[task]
    which, site = np.nonzero(work)
    energy = instance.request_energy[k, n]
    entries = [
        (task, x, np.ones(x.size)),
        (np.arange(instance.tasks), missing, np.ones(missing.size)),
        (cap_row[frame[trained]], x[trained], instance.round_energy[frame, task][trained]),
        (cap_row[t[served]], y[served], energy[served]),
        (first[2] + columns.row, y, np.ones(y.size)),
        (first[2] + np.arange(asked.size), unserved, np.ones(asked.size)),
        (slot_row[t, s, k], y, instance.request_work[n]),
        (frame_row[frame[which], site], x[which], work[which, site]),
        (frame_row[t[shared], k[shared]], y[shared], instance.request_work[n[shared]]),
    ]
    rows, numbers, values = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    matrix = sparse.csc_array((values, (rows, numbers)), shape=(first[-1], ends[-1]))
    matrix.eliminate_zeros()
    row_names = [
        LabelBlock("eq_1a", ("task",), (instance.tasks,)),
        LabelBlock("eq_1b", ("frame",), capped[:, np.newaxis]),
        LabelBlock("eq_1d", ("frame", "slot", "origin", "type"), columns.asked),
        LabelBlock("eq_1h", ("frame", "slot", "site"), within),
        LabelBlock("eq_1g", ("frame", "site"), held),
    ]
    names = [
        LabelBlock("x", ("frame", "task"), columns.rounds),
        LabelBlock("missing", ("task",), (instance.tasks,)),
        LabelBlock("y", ("frame", "slot", "origin", "site", "type"), columns.route),
        LabelBlock("unserved", ("frame", "slot", "origin", "type"), columns.asked),
    ]
    unit = instance.energy_weight * instance.price[t] * energy
    room = instance.slots * instance.capacity[held[:, 1]]
    limits = [limit[capped], asked, instance.capacity[within[:, 2]], room]
    low = [np.full(capped.size, -np.inf), asked, np.full(len(within) + len(held), -np.inf)]
    return LinearProgram(
        np.concatenate([
            instance.round_cost[frame, task], late_price(instance),
            unit + instance.delay_weight * columns.seconds,
            unserved_price(instance)[columns.asked[:, 3]],
        ]),
        matrix,
        np.concatenate([instance.rounds, *low]),
        np.concatenate([instance.rounds, *limits]),
        upper=np.concatenate(
            [instance.rounds[task], instance.rounds, np.full(y.size, np.inf), asked]
        ),
        integer=False if relax else np.arange(ends[-1]) < x.size,
        row_names=row_names,
        column_names=names,
        labels=axis_names(instance.called, row_names, names),
    )  # fmt: skip
