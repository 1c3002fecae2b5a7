"""Training and routing over all frames as arrays: the compiled twin of the Pyomo model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from edgeopt.checked import checked
from edgeopt.models.edr.matrix_rows import (
    Columns,
    Places,
    all_rounds,
    all_served,
    spread_out,
    training,
    within_caps,
    within_frames,
    within_slots,
)
from edgeopt.models.edr.penalties import late_price, unserved_price
from edgeopt.models.edr.routing import conditions, find_routes
from edgeopt.models.edr.served import check_cap
from edgeopt.solvers import LabelBlock, LinearProgram

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.edr import EdrInstance

    Floats = NDArray[np.float64]

__all__ = ["colocation_columns", "colocation_matrix"]


def colocation_columns(instance: EdrInstance) -> Columns:
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
    return Columns(np.argwhere(instance.active), route, np.concatenate(seconds), asked, row)


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
    Zhu et al., problem P; `colocation` is its twin in Pyomo, row by row without `eliminate`.
    Routes that (1c) or (1e) rule out have no columns. Rounds are done and requests are served once,
    neither less nor more: with negative prices more would pay.
    """
    limit = check_cap(instance, cap)
    columns = colocation_columns(instance)
    place = Places.of(instance, columns, eliminate=eliminate)
    blocks = [
        all_rounds(instance, columns, place),
        within_caps(instance, columns, place, limit),
        all_served(instance, columns, place),
        within_slots(instance, columns, place),
    ]
    if eliminate:
        blocks.append(within_frames(instance, columns, place))
    else:
        blocks += [spread_out(place), training(instance, columns, place)]
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
        row_names=[block.labels for block in blocks],
        column_names=names,
    )


def _cost(instance: EdrInstance, columns: Columns, place: Places) -> Floats:
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
