"""The instance of RESCUE: who may arrive, how long runs last, what is reserved, what is earned."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, cast

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.csv_tables import holds_tables
from edgeopt.instances.edf import demand_criterion, edf_feasible, edf_order, interval_loads
from edgeopt.instances.fields import Flags, Floats, Integers, field
from edgeopt.instances.instance import Instance
from edgeopt.instances.labels import Given, counted
from edgeopt.instances.netcdf import Labelled, Variable, read
from edgeopt.instances.plausibility import first_places
from edgeopt.instances.records import Record, Size, rule
from edgeopt.instances.rescue.profit_models import (
    LogProfit,
    ProfitModel,
    check_block,
    check_broadcastable,
    slot_range,
)
from edgeopt.instances.validate import (
    check_probabilities,
    frozen,
    frozen_array,
    require,
    require_positive,
)
from edgeopt.options import check_real, check_whole

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from typing import Self


class ReservedTasks(Record, prefix="reserved.", axes={"task": "H"}, empty=("task",)):
    """Reserved tasks of all servers, one entry per task; windows include both of their slots.

    Examples
    --------
    >>> from edgeopt.instances.rescue import ReservedTasks
    >>> ReservedTasks(server=[0, 1], start=[2, 0], end=[6, 3], demand=[8.0, 2.0])
    ReservedTasks(tasks=2)
    """

    server: Integers = field(
        "task", symbol="k_i", least=0, message="must be a server, counted from 0", of="server",
        doc="Server of a reserved task.",
    )  # fmt: skip
    start: Integers = field(
        "task", unit="slot", symbol="s_i", least=0, message="must be a slot, counted from 0",
        of="slot", doc="First slot of its window.",
    )  # fmt: skip
    end: Integers = field(
        "task", unit="slot", symbol="e_i", of="slot", doc="Last slot of its window."
    )
    demand: Floats = field(
        "task", unit="TMAC", symbol=r"\phi_i", above=0, rounds="less",
        message="must be positive (leave empty tasks out)", doc="Work it needs.",
    )  # fmt: skip

    tasks = Size("task", "Number of tasks H.")

    @rule
    def _check_windows(self) -> None:
        """Check that a window does not end before it begins."""
        says = "must not lie before the start of the window"
        require("reserved.end", self.end >= self.start, self.end, says)

    @classmethod
    def none(cls) -> Self:
        """Return the empty set of reserved tasks."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, nothing, nothing, np.zeros(0))

    def __len__(self) -> int:
        return self.server.size

    def of_server(self, k: int) -> Integers:
        """Return the indices of the tasks of server ``k``, in order of index."""
        return np.flatnonzero(self.server == k).astype(np.int64)

    def check(
        self,
        capacity: Floats,
        names: Sequence[str] | None = None,
        tasks: Sequence[str] | None = None,
    ) -> None:
        """Check that the tasks fit on servers that do nothing else.

        Parameters
        ----------
        capacity
            Work that each server does per slot, TMAC, shape [K, T].
        names
            What errors call the servers; by default their numbers.
        tasks
            What errors call the tasks; by default their numbers.

        Raises
        ------
        InstanceError
            If a task names a server that does not exist, a window reaches beyond the horizon, or
            the tasks of a server cannot all be finished in time even by earliest deadline first on
            the empty server; the conflicting tasks are named.
        """
        servers, horizon = capacity.shape
        require(
            "reserved.server",
            self.server < servers,
            self.server,
            f"must be one of the {servers} servers, counted from 0",
        )
        require(
            "reserved.end",
            self.end < horizon,
            self.end,
            f"must lie within the horizon of {horizon} slots, counted from 0",
        )
        order, offset = edf_order(self.server, self.end, servers)
        for k in range(servers):
            mine = order[offset[k] : offset[k + 1]]
            work = self.demand
            if not edf_feasible(mine, self.start, self.end, work, work, capacity[k], 0, 0):
                name = f"server {k}" if names is None else names[k]
                self._raise_conflict(k, capacity[k], name, tasks)

    def _raise_conflict(
        self, k: int, capacity: Floats, name: str, called: Sequence[str] | None
    ) -> None:
        mine = self.of_server(k)
        load = self.start[mine], self.end[mine], self.demand[mine], capacity
        # A task much smaller than its neighbours may fail by their rounding alone.
        conflict = demand_criterion(*load) or max(
            interval_loads(*load), key=lambda one: one.demand / one.offer
        )
        tasks = [int(mine[i]) for i in conflict.tasks]
        those = ", ".join(str(i) if called is None else called[i] for i in tasks)
        one = len(tasks) == 1
        raise InstanceError(
            "reserved.demand",
            f"{'task' if one else 'tasks'} {those} of {name} cannot {'' if one else 'all '}be "
            f"finished: {'it needs' if one else 'together they need'} {conflict.demand:g} TMAC "
            f"within slots {conflict.first}..{conflict.last}, which offer {conflict.offer:g}",
        )


_ROW_SUM: Final = 1e-12  # rounding allowed in sums of arrival probabilities
_UNIT_MASS: Final = 1e-9  # rounding allowed in sums of duration probabilities
_PROFIT: Final = ("slot", "device", "server", "profile", "duration")
_AXES: Final = dict(zip(_PROFIT, "TJKLD", strict=True))


def _array_or_model(_: RescueInstance, profit: Any) -> Any:
    if isinstance(profit, ProfitModel):
        return profit
    array = frozen_array("profit", profit, _PROFIT)
    require("profit", array >= 0, array, "must not be negative")
    return array


_NO_PROFITS: Final = {"reserved", "arrivals", "outage"}
"""Fields on which no expected profit depends."""


def _zero(place: Sequence[int]) -> str:
    """Say that a capacity of 0 is an outage."""
    server, slot = place
    return f"capacity[{server}, {slot}] = 0: server {server} is down in slot {slot}"


_IMPLIED: Final = {"profit_capacity": "capacity", "profit_max_duration": "duration"}
_ANY: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class RescueInstance(Instance, kind="rescue", axes=_AXES):
    r"""Everything that a RESCUE problem is given, validated and read-only.

    Slots, devices, servers, profiles and tasks count from 0; entry ``d - 1`` along the axis of
    durations stands for a run of d slots.

    Notes
    -----
    Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on Underutilized
    Edges, section III.

    Examples
    --------
    >>> from edgeopt.instances.rescue import RescueInstance, generate
    >>> instance = generate(servers=2, devices=4, horizon=20, rng=7)
    >>> instance.capacity.shape, instance.expected_profit.shape
    ((2, 20), (20, 4, 2, 5))
    """

    arrival: Floats = field(
        "slot", "device", symbol="p_j(t)", check=check_probabilities, rounds="down",
        doc="Arrival probability. That a retraining task of the device arrives in the slot.",
    )  # fmt: skip
    duration: Floats = field(
        "profile", "duration", symbol=r"\Pr(d_l = d)", check=check_probabilities,
        rounds="distribution",
        doc="Probability of 1, 2 and more slots. That a run of the profile lasts as long.",
    )  # fmt: skip
    capacity: Floats = field(
        "server", "slot", unit="TMAC/slot", symbol="c_k(t)", least=0,
        doc="Capacity. Work that a server does in a slot. A slot of capacity 0 is an outage.",
    )  # fmt: skip
    reserved: ReservedTasks = field(
        doc="Tasks promised in advance. Jointly feasible on servers that do nothing else."
    )
    profit: Floats | ProfitModel = field(
        *_PROFIT, unit="profit", prepare=_array_or_model, broadcastable=_PROFIT,
        doc="Profit of a run of that duration. What a run of a profile for a device on a server "
        "accepted in a slot earns if it lasts so long: an array whose axes may have size 1 (they "
        "stay unexpanded, in memory and in files) or a `ProfitModel`.",
    )  # fmt: skip
    arrivals: Literal["exclusive", "independent"] = field(
        default="exclusive", always=True,
        doc="Whether several tasks may arrive in a slot. ``'exclusive'``: at most one does, so "
        "that probabilities sum to at most 1 over devices, and the guarantees of the paper hold. "
        "``'independent'``: devices draw independently of each other.",
    )  # fmt: skip
    beyond: Literal["hold", "drop"] = field(
        default="hold", always=True,
        doc="What a run earns that lasts beyond the horizon. ``'hold'``: its full profit. "
        "``'drop'``: nothing.",
    )  # fmt: skip
    outage: Flags | None = field(
        "server", "slot", default=None,
        doc="Whether a server is down in a slot, known in advance. No run may meet an outage, and "
        "reserved tasks are not served in it. None: no server is ever down.",
    )  # fmt: skip

    _implied = frozenset(_IMPLIED)
    _usual: ClassVar = {"profit": LogProfit}

    servers = Size("server", "Number of servers K.")
    devices = Size("device", "Number of devices J.")
    profiles = Size("profile", "Number of profiles L.")
    horizon = Size("slot", "Number of slots T.")
    max_duration = Size("duration", "Length D of the axis of durations.")

    # --- what joins fields -----------------------------------------------------------------

    @rule
    def _check_arrivals(self) -> None:
        """Check that exclusive arrivals have probabilities that sum to at most 1 in a slot."""
        if self.arrivals == "exclusive":
            total = self.arrival.sum(axis=1)
            says = "probabilities of the slot must sum to at most 1 over devices "
            says += '(use arrivals="independent" if several tasks may arrive in a slot)'
            require("arrival", total <= 1 + _ROW_SUM, total, says)

    @rule
    def _check_durations(self) -> None:
        """Check that durations of a profile sum to 1, with means that increase strictly."""
        total = self.duration.sum(axis=1)
        unit = np.abs(total - 1) <= _UNIT_MASS
        require("duration", unit, total, "probabilities of the profile must sum to 1")
        mean = self.duration @ np.arange(1.0, self.max_duration + 1)
        increasing = np.concatenate(([True], np.diff(mean) > 0))
        says = "mean duration must exceed that of the profile before"
        require("duration", increasing, mean, says)

    @rule
    def _check_outages(self) -> None:
        """Check that capacities that are not 0 are large enough to divide by."""
        none = self.capacity == 0
        if not none.any():
            require_positive("capacity", self.capacity)
            if self.outage is not None and not self.outage.any():
                object.__setattr__(self, "outage", None)
            return
        down = none if self.outage is None else none | self.outage
        object.__setattr__(self, "outage", frozen(down))
        # What a server could do in an outage changes nothing, but numbers are divided by it.
        usual = np.where(none, 0.0, self.capacity).max(axis=1, keepdims=True)
        capacity = frozen(np.where(none, np.where(usual > 0, usual, 1.0), self.capacity))
        require_positive("capacity", capacity)
        object.__setattr__(self, "_notes", (*self._notes, *map(_zero, first_places(none))))
        if isinstance(self.profit, LogProfit) and np.array_equal(
            self.profit.capacity, self.capacity
        ):
            object.__setattr__(self, "profit", replace(self.profit, capacity=capacity))
        object.__setattr__(self, "capacity", capacity)

    @rule
    def _check_reserved(self) -> None:
        """Check that reserved tasks fit on servers that do nothing else."""
        names = self.called("server"), self.called("task")
        self.reserved.check(self.available, *names)

    @rule
    def _check_profit(self) -> None:
        """Check that profits spread over all runs."""
        profit = self.profit
        check_broadcastable(profit.shape, self.shape)
        if isinstance(profit, LogProfit):
            says = "must equal the capacity of the instance (replace both together)"
            same = profit.capacity == self.capacity
            require("profit.capacity", same, profit.capacity, says)
        elif isinstance(profit, ProfitModel):
            self.profit_block(slice(0, 1))

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """The sizes (T, J, K, L, D)."""
        return self.horizon, self.devices, self.servers, self.profiles, self.max_duration

    def with_capacity(self, *, scale: float) -> Self:
        """Return a copy whose servers do `scale` times the work, in the profit model too.

        Profits that are given as an array stay as they are.

        Raises
        ------
        OptionError
            If the scale is not positive and finite.
        InstanceError
            If the reserved tasks do not fit any more.
        """
        check_real("scale", scale, "(0, inf)")
        capacity, profit = scale * self.capacity, self.profit
        if isinstance(profit, ProfitModel) and "capacity" in profit.parameters():
            profit = replace(cast("Any", profit), capacity=capacity)
        return self.replace(capacity=capacity, profit=profit)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields replaced, validated anew.

        A profit model that depends on the capacity gets a new one too, with a note.
        """
        model = self.profit
        if (
            isinstance(model, ProfitModel)
            and "profit" not in changes
            and isinstance(changes.get("capacity"), np.ndarray | list | tuple)
            and "capacity" in model.parameters()
        ):
            profit = replace(cast("Any", model), capacity=np.array(changes["capacity"], float))
            note = "profit.capacity: replaced together with capacity"
            return super().replace(**changes, profit=profit)._noted([note])
        made = super().replace(**changes)
        if "expected_profit" in self.__dict__ and changes.keys() <= _NO_PROFITS:
            made.__dict__["expected_profit"] = self.expected_profit
        return made

    # --- outages ---------------------------------------------------------------------------

    def down(self, server: int, first: int, last: int) -> Self:
        """Return a copy in which a server is down in some slots more, both ends included.

        Raises
        ------
        OptionError
            If there is no such server or slot, or the last slot comes before the first.
        InstanceError
            If its reserved tasks do not fit any more.
        """
        check_whole("server", server, 0, self.servers - 1)
        check_whole("first", first, 0, self.horizon - 1)
        check_whole("last", last, first, self.horizon - 1)
        outage = np.zeros((self.servers, self.horizon), dtype=np.bool_)
        if self.outage is not None:
            outage |= self.outage
        outage[server, first : last + 1] = True
        return self.replace(outage=outage)

    @cached_property
    def available(self) -> Floats:
        """Capacity, 0 in outages, TMAC, shape [K, T]."""
        if self.outage is None:
            return self.capacity
        return frozen(np.where(self.outage, 0.0, self.capacity))

    @cached_property
    def promised(self) -> ReservedTasks:
        """Reserved tasks, then one task for each slot of an outage that asks for all of it.

        A run meets no outage if and only if it leaves these tasks their time.
        """
        if self.outage is None:
            return self.reserved
        server, slot = np.nonzero(self.outage)
        given, join = self.reserved, np.concatenate
        return ReservedTasks(
            join([given.server, server]),
            join([given.start, slot]),
            join([given.end, slot]),
            join([given.demand, self.capacity[server, slot]]),
        )

    # --- durations -------------------------------------------------------------------------

    @cached_property
    def survival(self) -> Floats:
        r"""Probability :math:`\Pr(d_l \ge a + 1)` of still running a slots on, shape [L, D].

        Exactly 1 at a = 0.
        """
        survival = np.cumsum(self.duration[:, ::-1], axis=1)[:, ::-1].copy()
        survival[:, 0] = 1.0
        return frozen(np.minimum(survival, 1.0))

    @cached_property
    def longest(self) -> Integers:
        """Longest duration of positive probability under each profile, slots, shape [L]."""
        reverse = np.argmax(self.duration[:, ::-1] > 0, axis=1)
        return frozen((self.max_duration - reverse).astype(np.int64))

    @cached_property
    def mean_duration(self) -> Floats:
        """Mean duration of each profile, slots, shape [L]."""
        return frozen(self.duration @ np.arange(1.0, self.max_duration + 1))

    # --- profits ---------------------------------------------------------------------------

    @cached_property
    def expected_profit(self) -> Floats:
        r"""Expected profit :math:`R_{jkl}(t)` of an accepted task, shape [T, J, K, L].

        Equation (1) of the paper.
        Computed once and kept: use `expected_profit_block` where that is too large.
        """
        return frozen(self._expected(0, self.horizon))

    def expected_profit_block(self, slots: slice) -> Floats:
        """Compute expected profits of a contiguous range of n slots, shape [n, J, K, L]."""
        first, stop = slot_range(slots, self.horizon)
        if "expected_profit" in self.__dict__:
            return self.expected_profit[first:stop]
        return self._expected(first, stop)

    def _expected(self, first: int, stop: int) -> Floats:
        drop = self.beyond == "drop"
        if isinstance(self.profit, ProfitModel):
            direct = self.profit.expected(slice(first, stop), self.duration, drop=drop)
            if direct is not None:
                return direct
        block = self.profit_block(slice(first, stop))
        wide = np.broadcast_to(block, (*block.shape[:3], *self.duration.shape))
        expected = np.einsum("tjkld,ld->tjkl", wide, self.duration)
        return np.ascontiguousarray(np.broadcast_to(expected, (stop - first, *self.shape[1:4])))

    def profit_block(self, slots: slice) -> Floats:
        """Return the profits of a contiguous range of n slots, by duration.

        The shape is broadcastable to [n, J, K, L, D]; with ``beyond="drop"``, runs that end beyond
        the horizon earn 0.
        """
        first, stop = slot_range(slots, self.horizon)
        if isinstance(self.profit, ProfitModel):
            block = np.asarray(self.profit.block(slice(first, stop)), dtype=np.float64)
            if not isinstance(self.profit, LogProfit):
                check_block(block, (stop - first, *self.shape[1:]), first)
        else:
            block = self.profit if self.profit.shape[0] == 1 else self.profit[first:stop]
        if self.beyond == "drop":
            end = np.arange(first, stop)[:, None] + np.arange(1, self.max_duration + 1)
            return block * (end <= self.horizon)[:, None, None, None, :]
        return block

    @cached_property
    def realised_profit(self) -> Floats:
        """Profits of all slots by duration, broadcastable to [T, J, K, L, D], kept after first use.

        Axes on which the profit does not depend keep size 1; ``beyond`` is applied.
        """
        block = self.profit_block(slice(0, self.horizon))
        return block if not block.flags.writeable else frozen(block)

    # --- files -----------------------------------------------------------------------------

    def _content(self) -> tuple[dict[str, Variable], dict[str, str]]:
        variables, texts = super()._content()
        profit = self.profit
        if not isinstance(profit, ProfitModel):
            dims = tuple(
                axis if n == whole else f"any_{axis}"
                for axis, n, whole in zip(_PROFIT, profit.shape, self.shape, strict=True)
            )
            title = "profit of a run of that duration"
            variables["profit"] = Variable(dims, profit, "profit", title)
            return variables, texts
        texts["profit_model"] = type(profit).__name__
        if not isinstance(profit, Record):
            _add_parameters(profit, variables, texts)
        return variables, texts

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, profit_models: tuple[type[ProfitModel], ...] = ()
    ) -> Self:
        """Read a saved instance, which may name profit models of the user's own."""
        if holds_tables(path):
            return cls.from_folder(path)
        data = read(path, cls._kind, cls._version)
        return cls._with(cls._all_of(data, profit_models), data.labels, data.notes)

    @classmethod
    def _all_of(
        cls, data: Labelled, profit_models: tuple[type[ProfitModel], ...] = ()
    ) -> dict[str, Any]:
        if isinstance(data.arrays.get("profit"), ProfitModel):
            return super()._all_of(data)
        if "profit_model" in data.attributes or "profit_weight" in data.arrays:
            profit: Any = _profit_model(data, profit_models)
        else:
            profit = data.array("profit")
        for place in (data.arrays, data.attributes):
            for name in [name for name in place if name.startswith("profit")]:
                del place[name]
        return super()._all_of(data) | {"profit": profit}

    def __repr__(self) -> str:
        more = f"reserved={len(self.reserved)}, arrivals={self.arrivals!r}, beyond={self.beyond!r}"
        return f"{super().__repr__()[:-1]}, {more})"


def _add_parameters(
    model: ProfitModel, variables: dict[str, Variable], attributes: dict[str, str]
) -> None:
    for name, value in model.parameters().items():
        if isinstance(value, str):
            attributes[f"profit_{name}"] = value
            continue
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise InstanceError(
                f"profit.{name}",
                "parameters of a saved profit model must be numbers, texts or arrays of numbers",
                value=type(value).__name__,
            )
        own = tuple(f"profit_{name}_{axis}" for axis in range(array.ndim))
        dims = model.dimensions.get(name, own)
        unit = model.units.get(name, "1")
        variables[f"profit_{name}"] = Variable(dims, array, unit, f"profit model: {name}")


def _complete(data: Labelled) -> dict[str, str]:
    """Give the model of tables what the instance says; return which fields are from where."""
    added = {name: source for name, source in _IMPLIED.items() if name not in data.arrays}
    for name, source in added.items():
        table = data.array(source)
        if source == "duration":  # the longest one
            if isinstance(table, Given) and "duration" in table.axes:
                table = counted(source, table, table.axes.index("duration"), "duration").values
            table = np.asarray(np.shape(table)[-1])
        data.arrays[name] = table
    return added


def _profit_model(data: Labelled, profit_models: tuple[type[ProfitModel], ...]) -> ProfitModel:
    name = data.attributes.get("profit_model", LogProfit.__name__)
    known: tuple[type[ProfitModel], ...] = (LogProfit, *profit_models)
    models = {model.__name__: model for model in known}
    added = _complete(data) if name == LogProfit.__name__ and data.partial else {}
    if name not in models:
        raise InstanceError(
            "profit_model",
            f"is none of {', '.join(sorted(models))}; pass the class as load(path, "
            f"profit_models=({name},))",
            value=name,
        )
    prefix = "profit_"
    parameters: dict[str, Any] = {
        key.removeprefix(prefix): value.item() if getattr(value, "ndim", None) == 0 else value
        for key, value in data.arrays.items()
        if key.startswith(prefix)
    }
    for key, value in data.attributes.items():
        if key.startswith(prefix) and key != "profit_model":
            parameters[key.removeprefix(prefix)] = value
    needed = inspect.signature(models[name]).parameters.values()
    for one in needed:
        if one.default is one.empty and one.kind not in _ANY and one.name not in parameters:
            raise data.without(prefix + one.name)
    try:
        return models[name](**parameters)
    except InstanceError as error:
        field, rule = error.field, error.rule
        for own, source in added.items():
            dotted = own.replace("_", ".", 1)
            field = source if field == dotted else field
            rule = re.sub(rf"\b{re.escape(dotted)}\b", source, rule)
        raise InstanceError(field, rule, index=error.index, value=error.value) from None
    except TypeError as error:
        raise InstanceError("profit_model", f"cannot be rebuilt: {error}", value=name) from error
