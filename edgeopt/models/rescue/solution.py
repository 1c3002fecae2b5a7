"""Solutions of P1-LP, their residuals, and bounds proven from the instance."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from scipy import sparse

from edgeopt.models.plan import ProgramPlan, array_of, solved
from edgeopt.models.rescue import kernels
from edgeopt.models.rescue.matrix import critical_slots, over_runs, reserved_pairs, unsafe_pairs
from edgeopt.models.tabular import named
from edgeopt.options import check_fields, check_whole
from edgeopt.representation import compact_repr
from edgeopt.solvers.tolerance import Sum
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from numpy.typing import NDArray

    from edgeopt.arrays import Floats
    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.models.tabular import Labels
    from edgeopt.solvers import Certificate, Solution


Allocation: TypeAlias = Any
"""y as an array of shape [T, J, K, L], or as a `scipy.sparse.csr_array` of shape [T*J, K*L]."""


@in_html
@compact_repr
@dataclass(frozen=True)
class P1Duals:
    r"""Derivatives of OPT(LP) by the right-hand sides.

    Parameters
    ----------
    arrival
        By :math:`p_j(t)` in (3a), nonnegative, shape [T, J].
    occupancy
        By the server's time in (3b), nonnegative, shape [K, T].
    reserved
        By the demand :math:`\phi_i` in (2d), nonpositive, profit per TMAC, shape [H].

    Examples
    --------
    >>> from edgeopt.instances.rescue import small
    >>> from edgeopt.models.rescue import P1Duals, solve_p1_lp
    >>> duals = solve_p1_lp(small(1)).duals
    >>> duals.arrival.shape, duals.occupancy.shape, duals.reserved.shape
    ((4, 2), (1, 4), (2,))
    """

    arrival: NDArray[np.float64]
    occupancy: NDArray[np.float64]
    reserved: NDArray[np.float64]


@in_html
@compact_repr
@dataclass(frozen=True, eq=False)
class P1Solution(ProgramPlan):
    r"""A feasible point of P1-LP with a proven upper bound on OPT(LP).

    Parameters
    ----------
    x
        Share of the server's slot that serves a task of `promised`, shape [H, T].
    y
        Probability that device j arrives in slot t and is routed to server k under profile l: shape
        [T, J, K, L], or beyond `DENSE_COLUMNS` a `csr_array` of shape [T*J, K*L].
    objective
        Expected profit of y in the relaxation.
    bound
        Proven upper bound on OPT(LP), from `duals` by weak duality.
    duals
        A dual feasible point.
    solution
        Status, residuals, timings and solver.

    Examples
    --------
    A program of one's own, with a row per device, its bound and what a policy makes of it:

    >>> import pyomo.environ as pyo
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.models.rescue import P1Solution, p1_lp
    >>> from edgeopt.online.rescue import policy_value
    >>> instance = generate(servers=2, devices=3, profiles=2, horizon=10, rng=0)
    >>> model = p1_lp(instance)
    >>> model.few = pyo.Constraint(
    ...     model.devices,
    ...     rule=lambda m, j: pyo.quicksum(m.y[k] for k in m.y if k[1] == j) <= 0.25,
    ... )
    >>> plan = P1Solution.of(model, instance)
    >>> plan.program, plan.added
    ('extended', ('few',))
    >>> bool(policy_value(instance, plan.policy()) <= plan.bound)
    True
    """

    system: ClassVar[str] = "rescue"

    x: NDArray[np.float64]
    y: Allocation = field(repr=False)
    objective: float
    bound: float
    duals: P1Duals = field(repr=False)
    solution: Solution = field(repr=False)

    @classmethod
    def of(cls, program: Any, instance: RescueInstance, **solver: Any) -> Self:
        """Solve a program of one's own: `p1_lp` of the instance, and what was added to it.

        Parameters
        ----------
        program
            The Pyomo model, or its `Solution`.
        instance
            What it was built from.
        **solver
            Options for `edgeopt.solve`.

        Returns
        -------
        P1Solution
            With the arrivals used up to rounding at most, the objective recomputed from the
            instance, and duals by the tags of the paper; those of other constraints have
            `duals_of`. `program` says what became of the constraints of `p1_lp`, which is built
            anew: where one is missing or weaker, bounds are wider or the objective is another one,
            the bound is NaN. `certificate` is about all rows.

        Raises
        ------
        OptionError
            If it is no Pyomo model or was changed since it was solved.
        InputError
            If it has other variables than the instance.
        SolverError
            If no usable point was found.
        """
        from edgeopt.models.rescue.programs import p1_lp

        solution, extension = solved(program, lambda: p1_lp(instance), solver)
        y = np.maximum(array_of(solution, "y", instance.shape[:4]), 0.0)
        used = y.sum(axis=(2, 3))
        y *= np.minimum(1.0, instance.arrival / np.where(used > 0.0, used, 1.0))[..., None, None]
        x = array_of(solution, "x", (len(instance.promised), instance.horizon))
        found = solution.duals if solution.duals is not None else {}

        def duals(tag: str, *shape: int) -> Floats:
            each = [found.get(f"{tag}[{','.join(map(str, i))}]", 0.0) for i in np.ndindex(*shape)]
            return np.reshape(np.array(each) if found else np.full(len(each), np.nan), shape)

        return cls(
            np.clip(x, 0.0, 1.0),
            y,
            float(np.vdot(instance.expected_profit, y)),
            solution.bound if extension.program != "other" else math.nan,
            P1Duals(
                duals("eq_3a", *instance.arrival.shape),
                duals("eq_3b", *instance.capacity.shape),
                duals("eq_2d", len(instance.promised)),
            ),
            solution,
            instance=instance,
            extension=extension,
        )

    @classmethod
    def keeping(
        cls,
        program: Any,
        instance: RescueInstance,
        constraint: Any,
        *,
        guarded: bool = False,
        rounds: int = 20,
        **solver: Any,
    ) -> Self:
        """Ask the program for more until the policy that follows it keeps floors in expectation.

        A program in expectation lets a run begin wherever its server is idle on average, so that a
        policy begins less than is planned, and less than a floor may ask for. The floors that the
        program is asked for grow, by half at most in a round, until `edgeopt.online.rescue.Rescue`
        keeps the real ones exactly.

        Parameters
        ----------
        program
            The Pyomo model, which is as it was afterwards.
        instance
            What it was built from.
        constraint
            Component of the model with lower sides and coefficients of ``y`` that are not negative.
        guarded
            Of the policy.
        rounds
            How often to solve at most.
        **solver
            Options for `edgeopt.solve`.

        Returns
        -------
        P1Solution
            What the policy follows, with the bound, the duals and the proof of the program as it
            was given: it bounds all policies that keep the floors.

        Raises
        ------
        OptionError
            If the constraint is of another kind.
        SolverError
            If no floors are found that are kept; the text says which row is broken, and by how
            much. There may be none.

        Examples
        --------
        >>> import pyomo.environ as pyo
        >>> from edgeopt.instances.rescue import generate
        >>> from edgeopt.models.rescue import P1Solution, p1_lp
        >>> from edgeopt.online.rescue import occupation
        >>> instance = generate(servers=2, devices=4, profiles=2, horizon=20, reserved=3, rng=3)
        >>> floor = 0.3 * instance.arrival.sum(axis=0)
        >>> model = p1_lp(instance)
        >>> model.fair = pyo.Constraint(
        ...     model.devices,
        ...     rule=lambda m, j: pyo.quicksum(m.y[k] for k in m.y if k[1] == j) >= floor[j],
        ... )
        >>> plan = P1Solution.keeping(model, instance, model.fair)
        >>> begun = occupation(instance, plan.policy()).sum(axis=(0, 2, 3))
        >>> bool((begun >= floor - 1e-6).all())
        True
        """
        from edgeopt.models.rescue.floors import raised

        check_whole("rounds", rounds, 1)
        return raised(cls, program, instance, constraint, guarded, rounds, solver)

    @property
    def gap(self) -> float:
        """Proven relative gap ``(bound - objective) / bound``; 0 where that is rounding."""
        return replace(self.solution, objective=self.objective, bound=self.bound).gap

    def _rows(self) -> dict[str, Any]:
        T, J = self.duals.arrival.shape
        K = self.duals.occupancy.shape[0]
        dense = None if sparse.issparse(self.y) else self.y.reshape(T * J, -1)
        entries = sparse.coo_array(self.y if dense is None else dense)
        row, column = (np.asarray(index) for index in entries.coords)
        server, profile = np.divmod(column, entries.shape[1] // K)
        return {
            "slot": row // J, "device": row % J, "server": server, "profile": profile,
            "probability": entries.data,
        }  # fmt: skip

    def _arrays(self, labels: Labels) -> dict[str, Any]:
        if sparse.issparse(self.y):
            rows = self._rows()
            planned: dict[str, Any] = {"probability": ("entry", rows.pop("probability"))}
            # An array that is named like an axis would have to be along it.
            for axis, places in rows.items():
                planned[f"entry_{axis}"] = "entry", named(labels.get(axis), places)
        else:
            planned = {"probability": (("slot", "device", "server", "profile"), self.y)}
        share = {"long_name": "share of a slot's capacity"}
        # Rows of outages, which follow, have no names.
        tasks = slice(len(labels.get("task", self.duals.reserved)))
        return {
            **planned,
            "service": (("task", "slot"), self.x[tasks], share),
            "arrival_dual": (("slot", "device"), self.duals.arrival),
            "occupancy_dual": (("server", "slot"), self.duals.occupancy),
            "reserved_dual": (("task",), self.duals.reserved[tasks]),
        }

    def certificate(
        self, *, name: str = "", point: bool = True, repair: bool = True
    ) -> Certificate:
        """Return the bound with its proof, which others can check without edgeopt.

        Parameters
        ----------
        name
            Of the instance, for readers.
        point
            Whether to include y and x; without them only the bound is certified, in a shorter file.
        repair
            Whether to move the point until it violates no constraint, not even by rounding.
        """
        return self.solution.certificate(name=name, point=point, repair=repair)


@in_html
@compact_repr
@dataclass(frozen=True)
class PricedBound:
    """A proven upper bound on OPT(LP) and the dual feasible point behind it.

    Parameters
    ----------
    value
        The bound.
    size
        Sum of the absolute values of the terms that it is added up from.
    duals
        The dual feasible point.
    """

    value: float
    size: float
    duals: P1Duals


DENSE_COLUMNS = 10_000_000  # up to this many columns T*J*K*L an allocation is a dense array
# Entries of expected profit that are held at a time, 64 MB, or kept if there are no more: 320 MB.
BLOCK_ENTRIES, KEPT_ENTRIES = 8_000_000, 40_000_000


@dataclass(frozen=True, eq=False)
class P1Relaxation:
    """P1-LP of an instance as a problem that is never written out.

    Parameters
    ----------
    instance
        What is given.
    forbid_unsafe
        Whether y is 0 on `unsafe_pairs`.
    overlap
        Of `unsafe_pairs`.
    """

    instance: RescueInstance
    forbid_unsafe: bool = False
    overlap: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self)

    @cached_property
    def allowed(self) -> NDArray[np.bool_]:
        """Pairs (server, profile) that may be used, shape [T, K, L]."""
        if self.forbid_unsafe:
            return ~unsafe_pairs(self.instance, self.overlap)
        instance = self.instance
        return np.ones((instance.horizon, instance.servers, instance.profiles), dtype=np.bool_)

    @cached_property
    def critical(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Slots that reserved tasks fill completely, shape [K, T], and those tasks, shape [H]."""
        return critical_slots(self.instance)

    @cached_property
    def usable(self) -> NDArray[np.bool_]:
        """Pairs that are allowed and touch no critical slot: y is 0 on all others, [T, K, L]."""
        slots, _ = self.critical
        if not slots.any():
            return self.allowed
        usable: NDArray[np.bool_] = self.allowed & ~over_runs(self.instance, slots, np.any, False)
        return usable

    @cached_property
    def _repelling(self) -> Floats:
        """Price per unit of capacity that keeps every run off critical slots, shape [K]."""
        slots, _ = self.critical
        needed = np.zeros(self.instance.servers)
        if not slots.any():
            return needed
        run = self.run_price(np.where(slots, self.instance.capacity, 0.0))
        excluded = self.allowed & ~self.usable
        for part, profit in self.profit_blocks():
            worth = np.where(excluded[part], profit.max(axis=1), 0.0)
            ratio = worth / np.where(excluded[part], run[part], 1.0)
            needed = np.maximum(needed, ratio.max(axis=(0, 2)))
        return needed

    def with_critical_price(self, occupancy_price: Floats) -> Floats:
        """Return prices of busy slots [K, T] with those of critical slots high enough.

        There they are proportional to the capacity, which adds to the bound just what the demand of
        the tasks that fill the slots takes off again; so they may be as high as it takes to keep
        off all runs and all other reserved tasks.
        """
        slots, _ = self.critical
        capacity = self.instance.capacity
        open_price = np.where(slots, 0.0, occupancy_price / capacity).max(axis=1)
        high = np.maximum(self._repelling, open_price)
        return np.where(slots, capacity * high[:, None], occupancy_price)

    @cached_property
    def idle(self) -> PricedBound:
        """The bound at prices 0, what the best usable pairs would earn with servers without end.

        Its multipliers of (3a) are the largest profits of each arrival.
        """
        return self.bound(self.with_critical_price(np.zeros(self.instance.capacity.shape)))

    @cached_property
    def reserved_pairs(self) -> NDArray[np.int64]:
        """The (task, slot) pairs of the x variables, shape [n, 2]."""
        return reserved_pairs(self.instance)

    @property
    def holds_profits(self) -> bool:
        """Whether expected profits are few enough to be kept."""
        return math.prod(self.instance.shape[:4]) <= KEPT_ENTRIES

    def profit_blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Yield expected profits [n, J, K, L] of successive ranges of slots that fit in memory."""
        instance = self.instance
        entries = math.prod(instance.shape[:4])
        if entries <= DENSE_COLUMNS:
            yield slice(0, instance.horizon), instance.expected_profit
            return
        # What is kept is computed once, and every block is a view of it.
        source = instance.expected_profit if self.holds_profits else None
        per_slot = instance.devices * instance.servers * instance.profiles
        length = max(1, BLOCK_ENTRIES // per_slot)
        for first in range(0, instance.horizon, length):
            slots = slice(first, min(first + length, instance.horizon))
            yield slots, instance.expected_profit_block(slots) if source is None else source[slots]

    def run_price(self, occupancy_price: Floats) -> Floats:
        """Return the expected price of a run of every pair, shape [T, K, L], for prices [K, T]."""
        instance = self.instance
        out = np.empty((instance.horizon, instance.profiles * instance.servers))
        kernels.price_runs(np.ascontiguousarray(occupancy_price.T), instance.survival, out)
        shaped = out.reshape(instance.horizon, instance.profiles, instance.servers)
        return np.ascontiguousarray(shaped.transpose(0, 2, 1))

    def bound(self, occupancy_price: Floats) -> PricedBound:
        """Return the bound that prices of busy slots [K, T] prove; negative ones count as 0."""
        instance = self.instance
        price = np.maximum(occupancy_price, 0.0)
        run = self.run_price(price)
        arrival = np.empty(instance.arrival.shape)
        for slots, profit in self.profit_blocks():
            n = profit.shape[0]
            kernels.best_reduced_profit(
                profit.reshape(n, instance.devices, -1),
                run[slots].reshape(n, -1),
                self.allowed[slots].reshape(n, -1),
                arrival[slots],
            )
        return self.bound_from(price, arrival)

    def bound_from(self, occupancy_price: Floats, arrival_price: Floats) -> PricedBound:
        """Assemble the bound from nonnegative prices that are known to be dual feasible.

        ``arrival_price`` is the largest reduced profit of each arrival under the prices of busy
        slots, at least 0, shape [T, J].
        """
        instance = self.instance
        reserved = self.reserved_price(occupancy_price)
        runs = float((instance.arrival * arrival_price).sum()) + float(occupancy_price.sum())
        promised = float(instance.promised.demand @ reserved)
        duals = P1Duals(arrival_price, occupancy_price, reserved)
        return PricedBound(runs + promised, runs - promised, duals)

    def prices_of_rows(self, row_duals: Floats) -> Floats:
        """Read prices of busy slots [K, T] off the row duals of `p1_lp_matrix`, shape [m].

        A solver may leave part of a slot's price on the bound x <= 1, which (3b) implies: it is
        moved there, or `bound` would be weaker than the duals are.
        """
        instance = self.instance
        rows, count = instance.arrival.size, instance.capacity.size
        price = np.maximum(row_duals[rows : rows + count], 0.0).reshape(instance.capacity.shape)
        demand_price = -row_duals[rows + count :][: len(instance.promised)]
        tasks, slots = self.reserved_pairs[:, 0], self.reserved_pairs[:, 1]
        server = instance.promised.server[tasks]
        worth = demand_price[tasks] * instance.capacity[server, slots]
        np.maximum.at(price, (server, slots), worth)
        return price

    def reserved_price(self, occupancy_price: Floats) -> Floats:
        """Return the best multipliers of (2d) for given prices of busy slots, nonpositive, [H]."""
        tasks, slots = self.reserved_pairs[:, 0], self.reserved_pairs[:, 1]
        server = self.instance.promised.server[tasks]
        ratio = occupancy_price[server, slots] / self.instance.capacity[server, slots]
        least = np.full(len(self.instance.promised), np.inf)
        np.minimum.at(least, tasks, ratio)
        return -least

    def occupation(self, y: Allocation) -> Floats:
        """Return the expected share of each server that retraining takes, shape [K, T]."""
        instance = self.instance
        if sparse.issparse(y):
            load = np.empty((instance.horizon, instance.servers * instance.profiles))
            kernels.load_by_pair(
                y.indptr, y.indices, y.data, instance.devices, np.empty(y.shape[0]), load
            )
        else:
            load = y.sum(axis=1).reshape(instance.horizon, -1)
        by_server = load.reshape(instance.horizon, instance.servers, instance.profiles)
        by_profile = np.ascontiguousarray(by_server.transpose(0, 2, 1)).reshape(load.shape)
        out = np.empty((instance.horizon, instance.servers))
        kernels.occupancy(by_profile, instance.survival, out)
        return out.T.copy()

    def no_runs(self) -> Allocation:
        """Return the allocation that accepts nothing."""
        shape = self.instance.shape[:4]
        if math.prod(shape) > DENSE_COLUMNS:
            return sparse.csr_array((shape[0] * shape[1], shape[2] * shape[3]))
        return np.zeros(shape)

    def arrivals_used(self, y: Allocation) -> Floats:
        """Return the left side of (3a), shape [T, J]."""
        if sparse.issparse(y):
            return np.asarray(y.sum(axis=1)).reshape(self.instance.arrival.shape)
        used: Floats = y.sum(axis=(2, 3))
        return used

    def value(self, y: Allocation) -> float:
        """Return the objective of an allocation."""
        if not sparse.issparse(y):
            return float(np.vdot(self.instance.expected_profit, y))
        devices, total = self.instance.devices, 0.0
        for slots, profit in self.profit_blocks():
            part = y[slots.start * devices : slots.stop * devices]
            total += float(part.multiply(profit.reshape(part.shape)).sum())
        return total

    # --- the interface of problems for `Solution` --------------------------------------------

    def primal_residual(self, solution: Solution) -> float:
        """Return the largest violation of a row or a bound.

        Of (3a) and y >= 0 relative to the arrival's probability, of (2d) to the task's demand; (3b)
        and (2e) are shares of a slot.
        """
        y, x = solution.values["y"], solution.values["x"]
        instance = self.instance
        tasks, slots = self.reserved_pairs[:, 0], self.reserved_pairs[:, 1]
        served = x[tasks, slots]
        server = instance.promised.server[tasks]
        busy = self.occupation(y)
        np.add.at(busy, (server, slots), served)
        done = np.zeros(len(instance.promised))
        np.add.at(done, tasks, served * instance.capacity[server, slots])
        demand = instance.promised.demand
        missing = -y.min(axis=1).toarray() if sparse.issparse(y) else -y.min(axis=(2, 3))
        return max(
            _largest_share(self.arrivals_used(y) - instance.arrival, instance.arrival),
            _largest_share(missing.reshape(instance.arrival.shape), instance.arrival),
            _largest_share(demand - done, demand),
            *(float(v.max(initial=0.0)) for v in (busy - 1.0, -served, served - 1.0)),
        )

    def dual_residual(self, solution: Solution) -> float:
        """Return the largest dual infeasibility, relative to the largest profit of a usable pair.

        By that much a reduced profit exceeds the multiplier of its arrival, the price of a reserved
        slot that of the slot, or a multiplier has the wrong sign.
        """
        duals: P1Duals = solution.duals
        needed = self.bound(duals.occupancy).duals
        tasks, slots = self.reserved_pairs[:, 0], self.reserved_pairs[:, 1]
        server = self.instance.promised.server[tasks]
        worth = -duals.reserved[tasks] * self.instance.capacity[server, slots]
        excess = (
            needed.arrival - duals.arrival,
            -duals.arrival,
            -duals.occupancy,
            -worth,
            worth - needed.occupancy[server, slots],
        )
        largest = max(float(each.max(initial=0.0)) for each in excess)
        most = self.idle.duals.arrival.max(initial=0.0)
        return _largest_share(np.array([largest]), np.array([most]))

    def dual_bound(self, solution: Solution) -> Sum:
        """Return the bound proven by the multipliers of (3b)."""
        proven = self.bound(solution.duals.occupancy)
        return Sum(proven.value, proven.size)

    def objective(self, solution: Solution) -> Sum:
        """Return the expected profit of the allocation, none of whose terms is negative."""
        value = self.value(solution.values["y"])
        return Sum(value, value)

    def certificate(self, solution: Solution, **how: Any) -> Certificate:
        """Return the bound of a solution with its proof, as `Solution.certificate` does.

        What writes it down is imported when called: it reads this class.
        """
        from edgeopt.models.rescue.certificates import certificate_of

        return certificate_of(self, solution, **how)


def _largest_share(excess: Floats, side: Floats) -> float:
    """Return the largest excess as a share of its side; any excess over 0 is infinite."""
    broken = excess > 0.0
    with np.errstate(divide="ignore"):
        return float((excess[broken] / side[broken]).max(initial=0.0))
