"""What a plan from now on is made for: the rest of a horizon, or one that is repeated."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.edf import edf_feasible, edf_order, interval_loads
from edgeopt.instances.rescue import LogProfit, ProfitModel, RescueInstance, ReservedTasks

if TYPE_CHECKING:
    from edgeopt.arrays import Ints
    from edgeopt.online.session.rescue import RescueDesk, Window

_DONE: Final = 1e-9
"""Share of its demand up to which what is left of a reserved task is rounding."""


def rest(desk: RescueDesk) -> RescueInstance:
    """Return what is left of the instance of a desk, from the present slot to its horizon."""
    return planned(desk, np.arange(desk.slot, desk.opened.horizon))


def rolled(desk: RescueDesk) -> RescueInstance:
    """Return a horizon as long as that of the instance of a desk, from the present slot on.

    The instance is repeated without end. Accuracies of its profit model decay on within a plan, and
    are those of the instance again at the first plan of a new round.

    Parameters
    ----------
    desk
        The desk of a running session.

    Returns
    -------
    An instance whose first slot is the present one.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online.rescue import PickConfigs
    >>> from edgeopt.online.session import RescueDesk, Session, rolled
    >>> desk = RescueDesk(generate(horizon=20, rng=7), every=20, forecast=rolled)
    >>> session = Session(PickConfigs(), desk)
    >>> for slot in (3, 19, 30):
    ...     decision = session.take({"event": "task", "slot": slot, "device": 0})
    ...
    >>> desk.slot, desk.shift, desk.instance.horizon
    (30, 20, 20)
    """
    horizon = desk.opened.horizon
    return planned(desk, (desk.slot + np.arange(horizon)) % horizon)


def planned(desk: RescueDesk, slots: Ints) -> RescueInstance:
    """Return an instance whose next slots are like these of the instance of a desk.

    Its reserved tasks are what is left of those whose windows are open, and those whose windows end
    within the slots. If they cannot all be met, the desk gives some up.
    """
    opened = desk.opened
    fields = {one.name: getattr(opened, one.name) for one in type(opened)._fields}
    for one in type(opened)._fields:
        value = fields[one.name]
        if isinstance(value, np.ndarray) and "slot" in one.axes:
            axis = one.axes.index("slot")
            if value.shape[axis] == opened.horizon:
                fields[one.name] = np.take(value, slots, axis=axis)
    fields["profit"] = _profit(opened, fields["profit"], fields["capacity"], slots)
    up = np.take(opened.available, slots, axis=1)
    windows = _met(desk, desk.windows_until(desk.slot + slots.size), up)
    desk.windows = windows
    fields["reserved"] = ReservedTasks(
        np.array([one.server for one in windows], dtype=np.int64),
        np.array([max(one.start - desk.slot, 0) for one in windows], dtype=np.int64),
        np.array([one.end - desk.slot for one in windows], dtype=np.int64),
        np.array([one.left for one in windows], dtype=np.float64),
    )
    return RescueInstance(**fields)


def _profit(opened: RescueInstance, profit: Any, capacity: Any, slots: Ints) -> Any:
    """Return the profits of these slots; an array has been cut already."""
    if isinstance(profit, LogProfit):
        return replace(profit, capacity=capacity, trained=profit.trained - slots[0])
    if isinstance(profit, ProfitModel) and profit.shape[0] > 1:
        return np.asarray(profit.block(slice(0, opened.horizon)))[slots]
    return profit


def _met(desk: RescueDesk, windows: list[Window], capacity: Any) -> list[Window]:
    """Return the reserved tasks that can be met, giving up the largest of each conflict."""
    met = []
    for k in range(capacity.shape[0]):
        mine = [one for one in windows if one.server == k]
        while mine:
            start = np.array([max(one.start - desk.slot, 0) for one in mine])
            end = np.array([one.end - desk.slot for one in mine])
            left = np.array([one.left for one in mine])
            order, _ = edf_order(np.zeros(len(mine), dtype=np.int64), end, 1)
            if edf_feasible(order, start, end, left, left, capacity[k], 0, 0):
                break
            loads = interval_loads(start, end, left, capacity[k])
            conflict = max(loads, key=lambda one: one.demand / max(one.offer, 1e-300))
            dropped = max(conflict.tasks, key=lambda n: float(left[n]))
            del mine[dropped]
            desk.given_up += 1
        met += mine
    return met
