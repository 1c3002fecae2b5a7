"""Batches in growing windows: jobs wait for a window to end, the best of them run in the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from edgeopt.online.naming import named
from edgeopt.online.oinc.retraining.fixed_order import (
    no_orders,
    places_in,
    sites_of,
    unfinished,
)
from edgeopt.online.oinc.retraining.service import Service, check_service, run_in_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc.events import Runs
    from edgeopt.online.oinc.policies.parts import Queues
    from edgeopt.online.oinc.retraining.fixed_order import Orders

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["Zhang"]


class Windows(NamedTuple):
    """What batches in windows remember.

    Attributes
    ----------
    orders
        Jobs of the sites, batch after batch.
    next
        Slot in which the next window begins: a power of 2.
    """

    orders: Orders
    next: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Zhang:
    r"""Collect jobs over windows that double, and start a batch of them with each window.

    Windows are the slots :math:`[2^q, 2^{q+1})`, and slot 0 before them. When one begins, the jobs
    that arrived before it and wait make up its batch, as far as their work fits into the window at
    the speed of all sites together: in descending order of profit per work each that still fits,
    or the single job of most profit that fits if it has more than these together. The profit is
    :math:`\beta_k / D_k`. The batch is scheduled as a list, again by profit per work, each job at
    the site where it would be complete first, behind what waits there. Sites serve their jobs in
    this order without interruption; what does not fit waits for a longer window.

    Parameters
    ----------
    service
        ``"fluid"``: the next job uses what the one before leaves of a slot. ``"slot"``: the rest
        of the slot is wasted.

    Raises
    ------
    OptionError
        If the service is unknown.

    Notes
    -----
    The baseline "Zhang" of Zeng et al., section V: a reading of a description of one line, with
    list scheduling where a rounded linear programme may have been meant. Of equal jobs the lower
    number comes first, of equal sites the lower number is taken. Where no site serves jobs as a
    window begins, its batch starts with the first slot in which one does.
    """

    title: ClassVar[str] = "Zhang"

    service: Service = "fluid"

    def __post_init__(self) -> None:
        check_service(self.service)

    @property
    def name(self) -> str:
        """Title, and the options that are not default."""
        return named(self.title, self)

    def start(self, instance: OincInstance) -> Windows:
        """Begin with empty orders; the window after slot 0 begins in slot 1."""
        return Windows(no_orders(instance.sites), 1)

    def dispatch(self, memory: Windows, queues: Queues) -> tuple[Ints, Windows]:
        """Dispatch a batch if a window begins.

        Parameters
        ----------
        memory
            Orders of the sites and the next window.
        queues
            The jobs and the sites. Where nothing is kept for jobs none is sent.

        Returns
        -------
        Site of each job, -1 for one that waits for its batch, shape [q]; and the memory after it.
        """
        jobs, slot = queues.jobs, queues.slot
        orders = unfinished(memory.orders, jobs)
        if slot < memory.next or not (queues.speed > 0).any():
            return sites_of(orders, jobs), memory._replace(orders=orders)
        begin = 1 << (slot.bit_length() - 1)
        waiting = np.flatnonzero((sites_of(orders, jobs) < 0) & (jobs.arrival < begin))
        profit = jobs.weight / jobs.deadline
        fits = begin * float(queues.speed.sum())
        batch = waiting[_knapsack(profit[waiting], jobs.work[waiting], fits)]
        orders = _listed(orders, batch, profit, queues)
        return sites_of(orders, jobs), Windows(orders, 2 * begin)

    def serve(self, memory: Windows, queues: Queues) -> tuple[Runs, Windows]:
        """Serve every site in its order.

        Parameters
        ----------
        memory
            Orders of the sites and the next window.
        queues
            The jobs, where `dispatch` sent them, and the sites.

        Returns
        -------
        What runs when, and the memory as it is.
        """
        return run_in_order(queues, places_in(memory.orders, queues.jobs), self.service), memory


def _knapsack(profit: Floats, size: Floats, room: float) -> Ints:
    """Return which items to pack: at least half the profit that fits."""
    fitting = np.flatnonzero(size <= room)
    if fitting.size == 0:
        return fitting
    packed, used = [], 0.0
    for item in fitting[np.argsort(-profit[fitting] / size[fitting], kind="stable")]:
        if used + size[item] <= room:
            packed.append(item)
            used += size[item]
    single = fitting[np.argmax(profit[fitting])]
    if profit[single] > profit[packed].sum():
        packed = [single]
    return np.sort(np.array(packed, dtype=np.int64))


def _listed(orders: Orders, batch: Ints, profit: Floats, queues: Queues) -> Orders:
    """Return the orders with a batch behind them, scheduled as a list."""
    jobs, speed = queues.jobs, queues.speed
    able = np.flatnonzero(speed > 0)
    free = np.array([jobs.remaining[places_in((orders[j],), jobs)].sum() for j in able])
    free /= speed[able]
    grown = [list(order) for order in orders]
    for place in batch[np.argsort(-profit[batch] / jobs.work[batch], kind="stable")]:
        complete = free + jobs.remaining[place] / speed[able]
        first = int(np.argmin(complete))
        free[first] = complete[first]
        grown[able[first]].append(int(jobs.job[place]))
    return tuple(tuple(order) for order in grown)
