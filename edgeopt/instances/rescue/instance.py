"""The instance of RESCUE: who may arrive, how long runs last, what is reserved, what is earned."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.identity import Identified
from edgeopt.instances.rescue.profit import (
    LogProfit,
    ProfitModel,
    expected_from_block,
    mask_beyond,
    slot_range,
)
from edgeopt.instances.rescue.reserved import ReservedTasks
from edgeopt.instances.rescue.rules import (
    check_arrival,
    check_block,
    check_broadcastable,
    check_duration,
)
from edgeopt.instances.validate import (
    check_choice,
    frozen,
    frozen_array,
    require,
    require_positive,
)

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray


__all__ = ["RescueInstance"]


@dataclass(frozen=True, eq=False, repr=False)
class RescueInstance(Identified, files="edgeopt.instances.rescue.files"):
    r"""Everything that a RESCUE problem is given, validated and read-only.

    Slots, devices, servers, profiles and tasks count from 0; entry ``d - 1`` along the axis of
    durations stands for a run of d slots.

    Parameters
    ----------
    arrival
        Probability :math:`p_j(t)` that a retraining task of device j arrives in slot t,
        shape [T, J].
    duration
        Probability :math:`\Pr(d_l = d)` that a run of profile l lasts d slots, shape [L, D]; rows
        sum to 1, means increase strictly with l.
    capacity
        Work :math:`c_k(t) > 0` that each server does per slot, TMAC, shape [K, T].
    reserved
        Tasks promised in advance, jointly feasible on servers that do nothing else.
    profit
        What a run of profile l for device j on server k accepted in slot t earns if it lasts d
        slots: an array broadcastable to [T, J, K, L, D] (axes of size 1 stay unexpanded, in memory
        and in files) or a `ProfitModel`.
    arrivals
        ``"exclusive"``: at most one task arrives per slot, so that probabilities sum to at most 1
        over devices, and the guarantees of the paper hold. ``"independent"``: devices draw
        independently of each other.
    beyond
        ``"hold"``: a run that lasts beyond the horizon earns its full profit. ``"drop"``: it earns
        nothing.

    Raises
    ------
    InstanceError
        If any rule above is broken, with field, index, value and rule.

    Notes
    -----
    Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on Underutilized
    Edges, section III.
    """

    arrival: NDArray[np.float64]
    duration: NDArray[np.float64]
    capacity: NDArray[np.float64]
    reserved: ReservedTasks
    profit: NDArray[np.float64] | ProfitModel
    arrivals: Literal["exclusive", "independent"] = "exclusive"
    beyond: Literal["hold", "drop"] = "hold"

    def __post_init__(self) -> None:
        check_choice("arrivals", self.arrivals, ("exclusive", "independent"))
        check_choice("beyond", self.beyond, ("hold", "drop"))
        arrival = frozen_array("arrival", self.arrival, ("slot", "device"))
        duration = frozen_array("duration", self.duration, ("profile", "duration"))
        capacity = frozen_array(
            "capacity", self.capacity, ("server", "slot"), {"slot": arrival.shape[0]}
        )
        object.__setattr__(self, "arrival", arrival)
        object.__setattr__(self, "duration", duration)
        object.__setattr__(self, "capacity", capacity)
        check_arrival(arrival, self.arrivals)
        check_duration(duration)
        require_positive("capacity", capacity)
        if not isinstance(self.reserved, ReservedTasks):
            raise InstanceError(
                "reserved", "must be a ReservedTasks", value=type(self.reserved).__name__
            )
        self.reserved.check(capacity)
        self._check_profit()

    def _check_profit(self) -> None:
        if isinstance(self.profit, ProfitModel):
            check_broadcastable(self.profit.shape, self.shape)
            if isinstance(self.profit, LogProfit):
                same = self.profit.capacity == self.capacity
                require(
                    "profit.capacity",
                    same,
                    self.profit.capacity,
                    "must equal the capacity of the instance (replace both together)",
                )
            else:
                self.profit_block(slice(0, 1))
            return
        axes = ("slot", "device", "server", "profile", "duration")
        profit = frozen_array("profit", self.profit, axes)
        check_broadcastable(profit.shape, self.shape)
        require("profit", profit >= 0, profit, "must not be negative")
        object.__setattr__(self, "profit", profit)

    # --- sizes -----------------------------------------------------------------------------

    @property
    def horizon(self) -> int:
        """Number of slots T."""
        return int(self.arrival.shape[0])

    @property
    def devices(self) -> int:
        """Number of devices J."""
        return int(self.arrival.shape[1])

    @property
    def servers(self) -> int:
        """Number of servers K."""
        return int(self.capacity.shape[0])

    @property
    def profiles(self) -> int:
        """Number of profiles L."""
        return int(self.duration.shape[0])

    @property
    def max_duration(self) -> int:
        """Length D of the axis of durations."""
        return int(self.duration.shape[1])

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """The sizes (T, J, K, L, D)."""
        return self.horizon, self.devices, self.servers, self.profiles, self.max_duration

    # --- durations -------------------------------------------------------------------------

    @cached_property
    def survival(self) -> NDArray[np.float64]:
        r"""Probability :math:`\Pr(d_l \ge a + 1)` of still running a slots on, shape [L, D].

        Exactly 1 at a = 0.
        """
        survival = np.cumsum(self.duration[:, ::-1], axis=1)[:, ::-1].copy()
        survival[:, 0] = 1.0
        return frozen(np.minimum(survival, 1.0))

    @cached_property
    def longest(self) -> NDArray[np.int64]:
        """Longest duration of positive probability under each profile, slots, shape [L]."""
        reverse = np.argmax(self.duration[:, ::-1] > 0, axis=1)
        return frozen((self.max_duration - reverse).astype(np.int64))

    @cached_property
    def mean_duration(self) -> NDArray[np.float64]:
        """Mean duration of each profile, slots, shape [L]."""
        return frozen(self.duration @ np.arange(1.0, self.max_duration + 1))

    # --- profits ---------------------------------------------------------------------------

    @cached_property
    def expected_profit(self) -> NDArray[np.float64]:
        r"""Expected profit :math:`R_{jkl}(t)` of an accepted task, shape [T, J, K, L].

        Equation (1) of the paper.
        Computed once and kept: use `expected_profit_block` where that is too large.
        """
        return frozen(self._expected(0, self.horizon))

    def expected_profit_block(self, slots: slice) -> NDArray[np.float64]:
        """Compute expected profits of a contiguous range of n slots, shape [n, J, K, L]."""
        first, stop = slot_range(slots, self.horizon)
        if "expected_profit" in self.__dict__:
            return self.expected_profit[first:stop]
        return self._expected(first, stop)

    def _expected(self, first: int, stop: int) -> NDArray[np.float64]:
        drop = self.beyond == "drop"
        if isinstance(self.profit, ProfitModel):
            direct = self.profit.expected(slice(first, stop), self.duration, drop=drop)
            if direct is not None:
                return direct
        block = self.profit_block(slice(first, stop))
        return expected_from_block(block, self.duration, (stop - first, *self.shape[1:4]))

    def profit_block(self, slots: slice) -> NDArray[np.float64]:
        """Return the profits of a contiguous range of n slots, by duration.

        Returns
        -------
        Broadcastable to [n, J, K, L, D], zero for runs beyond the horizon if ``beyond="drop"``.

        Raises
        ------
        InstanceError
            If a profit model yields a wrong shape, a negative or an infinite profit.
        """
        first, stop = slot_range(slots, self.horizon)
        if isinstance(self.profit, ProfitModel):
            block = np.asarray(self.profit.block(slice(first, stop)), dtype=np.float64)
            if not isinstance(self.profit, LogProfit):
                check_block(block, (stop - first, *self.shape[1:]), first)
        else:
            block = self.profit if self.profit.shape[0] == 1 else self.profit[first:stop]
        if self.beyond == "drop":
            return mask_beyond(block, first, stop, self.horizon, self.max_duration)
        return block

    @cached_property
    def realised_profit(self) -> NDArray[np.float64]:
        """Profits of all slots by duration, broadcastable to [T, J, K, L, D], kept after first use.

        Axes on which the profit does not depend keep size 1; ``beyond`` is applied.
        """
        block = self.profit_block(slice(0, self.horizon))
        return block if not block.flags.writeable else frozen(block)

    # --- files -----------------------------------------------------------------------------

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, profit_models: tuple[type[ProfitModel], ...] = ()
    ) -> RescueInstance:
        """Read what `save` has written.

        Parameters
        ----------
        path
            The file.
        profit_models
            Profit models of your own that the file may refer to by name.

        Raises
        ------
        InstanceError
            If the file is missing, unreadable, truncated, of another kind, newer than this
            version of the package, changed since it was written, or its data break a rule.
        """
        from edgeopt.instances.rescue import files

        return files.load(path, profit_models)

    def __repr__(self) -> str:
        return (
            f"RescueInstance(servers={self.servers}, devices={self.devices}, "
            f"profiles={self.profiles}, horizon={self.horizon}, "
            f"max_duration={self.max_duration}, reserved={len(self.reserved)}, "
            f"arrivals={self.arrivals!r}, beyond={self.beyond!r})"
        )
