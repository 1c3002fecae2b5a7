"""Value functions on profits less the price of reserved capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.bounds.rescue.evaluation import Evaluation

__all__ = ["priced_values", "reserved_price"]


def reserved_price(view: Evaluation) -> NDArray[np.float64]:
    r"""Return what a slot of a server is worth to its reserved tasks.

    :math:`\rho_k(t) = c_k(t) \max_i \pi_i` over the tasks i of server k whose window contains t,
    :math:`\pi_i` being what one TMAC less of demand would add to OPT(LP).
    """
    instance, tasks = view.instance, view.instance.reserved
    price = np.zeros((instance.servers, instance.horizon))
    saving = np.maximum(-view.plan.duals.reserved, 0)
    for k, start, end, worth in zip(tasks.server, tasks.start, tasks.end, saving, strict=True):
        window = price[k, start : end + 1]
        np.maximum(window, worth, out=window)
    return price * instance.capacity


def priced_values(
    view: Evaluation,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    r"""Run the recursion (4)-(6) on :math:`R_{jkl}(t) - \sum_a \Pr(d_l > a) \rho_k(t+a)`.

    Profits below zero count as zero: such a cell is rejected either way.
    """
    from edgeopt.online.rescue import value_functions

    instance = view.instance
    price = reserved_price(view)
    charge = np.zeros((instance.horizon, instance.servers, instance.profiles))
    for age in range(min(instance.max_duration, instance.horizon)):
        charge[: instance.horizon - age] += (
            price.T[age:, :, None] * instance.survival[None, None, :, age]
        )
    net = np.maximum(instance.expected_profit - charge[:, None], 0)
    priced = instance.replace(profit=net[..., None], beyond="hold")
    activation, baseline = value_functions(priced, view.routings)
    threshold = np.broadcast_to(
        baseline.T[1:, None, :], (*instance.arrival.shape, instance.servers)
    )
    return activation, threshold, price
