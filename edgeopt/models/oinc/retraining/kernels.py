r"""Compiled pricing of slots: the best assignment of jobs to sites, and prices that prove it.

With a price :math:`\theta_k` on every job the relaxation falls apart into slots. In slot t serving
job k at site j gains :math:`g_{kj} = \theta_k / h_{kj} - l_k ((t - a_k) / h_{kj} + 1/2)`, and the
best that a slot can do is an assignment of largest gain. Its dual prices are what the slot adds to
the certificate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@compiled(writes="eta zeta served")
def price_slots(
    theta: Floats,
    weight: Floats,
    arrival: Ints,
    rate: Floats,
    offset: float,
    one_site: bool,
    eta: Floats,
    zeta: Floats,
    served: Ints,
) -> None:
    """Fill in prices and best services of all slots."""
    jobs, sites = rate.shape
    slots = eta.shape[1]
    gain = np.zeros((jobs, sites), dtype=np.float64)
    wanted = np.zeros(jobs, dtype=np.int64)
    wide = max(jobs, sites) + 2
    narrow = min(jobs, sites) + 1
    price_row, price_column = np.zeros(narrow, dtype=np.float64), np.zeros(wide, dtype=np.float64)
    row_of, before = np.zeros(wide, dtype=np.int64), np.zeros(wide, dtype=np.int64)
    slack, done = np.zeros(wide, dtype=np.float64), np.zeros(wide, dtype=np.bool_)
    cost = np.zeros((narrow, wide), dtype=np.float64)
    for t in range(slots):
        eta[:, t] = 0.0
        zeta[:, t] = 0.0
        served[:, t] = -1
        count = 0
        for k in range(jobs):
            if arrival[k] > t:
                break
            pays = False
            value = theta[k] - weight[k] * (t - arrival[k] + offset)
            for j in range(sites):
                gain[count, j] = 0.0
                if rate[k, j] > 0.0:
                    gain[count, j] = max(value * rate[k, j] - 0.5 * weight[k], 0.0)
                pays = pays or gain[count, j] > 0.0
            if pays:
                wanted[count] = k
                count += 1
        if count == 0:
            continue
        if not one_site:
            for j in range(sites):
                best = 0
                for other in range(1, count):
                    best = other if gain[other, j] > gain[best, j] else best
                if gain[best, j] > 0.0:
                    eta[j, t] = gain[best, j]
                    served[j, t] = wanted[best]
            continue
        turned = count < sites
        rows, columns = (count, sites) if turned else (sites, count)
        for i in range(rows):
            for j in range(columns):
                cost[i, j] = -(gain[i, j] if turned else gain[j, i])
        _assign(rows, columns, cost, price_row, price_column, row_of, before, slack, done)
        for i in range(rows):
            price = max(-price_row[i + 1], 0.0)
            if turned:
                zeta[wanted[i], t] = price
            else:
                eta[i, t] = price
        for j in range(columns):
            price = max(-price_column[j + 1], 0.0)
            if turned:
                eta[j, t] = price
            else:
                zeta[wanted[j], t] = price
            i = row_of[j + 1] - 1
            if i >= 0 and cost[i, j] < 0.0:
                if turned:
                    served[j, t] = wanted[i]
                else:
                    served[i, t] = wanted[j]


@compiled(writes="price_row price_column row_of before slack done")
def _assign(
    rows: int,
    columns: int,
    cost: Floats,
    price_row: Floats,
    price_column: Floats,
    row_of: Ints,
    before: Ints,
    slack: Floats,
    done: NDArray[np.bool_],
) -> None:
    """Assign every row to a column of its own at least cost, by shortest augmenting paths.

    Rows and columns count from 1, and 0 stands for none. On return the prices of a row and a column
    never sum to more than their cost, and to their cost where they are assigned; prices of columns
    are not positive, and 0 where the column is free or was assigned last. So prices of rows are not
    positive either if no cost is.
    """
    price_row[: rows + 1] = 0.0
    price_column[: columns + 1] = 0.0
    row_of[: columns + 1] = 0
    for start in range(1, rows + 1):
        row_of[0] = start
        column = 0
        slack[: columns + 1] = np.inf
        done[: columns + 1] = False
        while True:
            done[column] = True
            row = row_of[column]
            least, following = np.inf, 0
            for j in range(1, columns + 1):
                if done[j]:
                    continue
                reduced = cost[row - 1, j - 1] - price_row[row] - price_column[j]
                if reduced < slack[j]:
                    slack[j] = reduced
                    before[j] = column
                if slack[j] < least:
                    least = slack[j]
                    following = j
            for j in range(columns + 1):
                if done[j]:
                    price_row[row_of[j]] += least
                    price_column[j] -= least
                else:
                    slack[j] -= least
            column = following
            if row_of[column] == 0:
                break
        while column != 0:
            earlier = before[column]
            row_of[column] = row_of[earlier]
            column = earlier
