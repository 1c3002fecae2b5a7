"""The offline optimum: what a plan that knows everything costs at least."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import OptionError
from edgeopt.models.edr.matrix import colocation_matrix
from edgeopt.models.edr.penalties import check_cap, late_price, served_cap, unserved_price
from edgeopt.models.edr.programs import colocation
from edgeopt.models.edr.recourse import FrameRecourse, RoundsMaster, Served
from edgeopt.models.plan import ProgramPlan, array_of, solved, values_of
from edgeopt.solvers import Quality, solve
from edgeopt.solvers.tolerance import relative_gap
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.arrays import Floats
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.models.tabular import Labels
    from edgeopt.solvers import Solution


METHODS = ("benders", "highs")
GAP, WHOLE_GAP = 1e-6, 1e-4
"""Default gap with parts of rounds, and with whole ones."""
PATIENCE = 20
"""Plans in a row that may leave the gap as it is: then it is below what solvers can tell."""


@in_html
@dataclass(frozen=True, eq=False)
class OfflinePlan(ProgramPlan):
    """A plan over all frames, with a proven lower bound on the penalised cost of every other.

    Parameters
    ----------
    objective
        Penalised cost, recomputed from the data.
    bound
        Proven lower bound on the penalised cost of every plan within `cap`, with whole rounds or
        with parts of them as was asked for.
    rounds
        Rounds by frame and task, shape [T, I].
    missing
        Rounds of each task that are not done, shape [I].
    cap
        Energy that was allowed in each frame, Wh, infinity where there is no cap, shape [T].
    energy, training_energy
        Energy of each frame, and the part of it that trains, Wh, shape [T].
    training_cost, request_cost
        Cost of each frame, without penalties, shape [T].
    type_cost
        Cost of the served requests of each type, without penalties, shape [T, N].
    unserved
        Requests not served by frame and type, shape [T, N].
    accurate
        Requests served in each frame, each weighted by the accuracy of its site, shape [T].
    method
        How it was found.
    iterations
        How often the rounds were planned.
    seconds
        Time it took.
    target
        The requested gap.
    route, amount
        Frame, slot, origin, site and type of what is served, shape [A, 5], and how many requests,
        shape [A]; None where only rounds were planned.
    solution
        Of the program of one's own, see `of`; else None.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.models.edr import OfflinePlan, solve_offline
    >>> plan = solve_offline(small(1))
    >>> plan.rounds.shape
    (2, 3)
    """

    system: ClassVar[str] = "edr"

    objective: float
    bound: float
    rounds: NDArray[np.float64] = field(repr=False)
    missing: NDArray[np.float64] = field(repr=False)
    cap: NDArray[np.float64] = field(repr=False)
    energy: NDArray[np.float64] = field(repr=False)
    training_energy: NDArray[np.float64] = field(repr=False)
    training_cost: NDArray[np.float64] = field(repr=False)
    request_cost: NDArray[np.float64] = field(repr=False)
    type_cost: NDArray[np.float64] = field(repr=False)
    unserved: NDArray[np.float64] = field(repr=False)
    accurate: NDArray[np.float64] = field(repr=False)
    method: str
    iterations: int
    seconds: float
    target: float
    route: NDArray[np.int64] | None = field(default=None, repr=False)
    amount: NDArray[np.float64] | None = field(default=None, repr=False)
    solution: Solution | None = field(default=None, repr=False)

    def _rows(self) -> dict[str, Any]:
        frame, task = np.nonzero(self.rounds)
        return {"frame": frame, "task": task, "rounds": np.asarray(self.rounds)[frame, task]}

    def _arrays(self, _labels: Labels) -> dict[str, Any]:
        energy = {"long_name": "energy of the frame", "units": "Wh"}
        training = {"long_name": "energy of training", "units": "Wh"}
        return {
            "rounds": (
                ("frame", "task"), self.rounds, {"long_name": "training rounds", "units": "1"},
            ),
            "missing": (("task",), self.missing, {"units": "1"}),
            "energy": (("frame",), self.energy, energy),
            "training_energy": (("frame",), self.training_energy, training),
            "cap": (("frame",), self.cap, {"units": "Wh"}),
            "unserved": (("frame", "type"), self.unserved, {"units": "1"}),
        }  # fmt: skip

    @classmethod
    def of(
        cls, program: Any, instance: EdrInstance, *, cap: ArrayLike | None = None, **solver: Any
    ) -> Self:
        """Solve a program of one's own: `colocation` of the instance, and what was added to it.

        Parameters
        ----------
        program
            The Pyomo model, with whole rounds or parts of them; or its `Solution`.
        instance, cap
            What it was built from.
        **solver
            Options for `edgeopt.solve`.

        Returns
        -------
        OfflinePlan
            With its cost recomputed from the instance. `program` says what became of the
            constraints of `colocation`, which is built anew: where one is missing or weaker,
            bounds are wider or the objective is another one, the bound is NaN.

        Raises
        ------
        OptionError
            If it is no Pyomo model or was changed since it was solved.
        InputError
            If a cap is refused, or the model has other variables than the instance.
        SolverError
            If no usable point was found.

        Examples
        --------
        Site 0 serves no more than 40 requests in all:

        >>> import pyomo.environ as pyo
        >>> from edgeopt.instances.edr import generate
        >>> from edgeopt.models.edr import OfflinePlan, colocation
        >>> instance = generate(sites=2, tasks=1, frames=2, slots=2, rng=0)
        >>> model = colocation(instance, relax=True)
        >>> here = [model.y[key] for key in model.y if key[3] == 0]
        >>> model.most = pyo.Constraint(expr=pyo.quicksum(here) <= 40)
        >>> plan = OfflinePlan.of(model, instance)
        >>> plan.program, bool(plan.duals_of("most")["most"] <= 0)
        ('extended', True)
        """
        limit = check_cap(instance, cap)
        rounds_of = getattr(getattr(program, "problem", program), "x", None)
        relaxed = rounds_of is not None and all(x.is_continuous() for x in rounds_of.values())
        solution, extension = solved(
            program, lambda: colocation(instance, cap=cap, relax=relaxed), solver
        )
        rounds = np.maximum(array_of(solution, "x", (instance.frames, instance.tasks)), 0.0)
        rounds = rounds if relaxed else np.rint(rounds)
        flows = [key for key in values_of(solution, "y").items() if key[1] > 0.0]
        route = np.array([key for key, _ in flows], dtype=np.int64).reshape(-1, 5)
        amount = np.array([value for _, value in flows])
        frame, slot, origin, site, kind = route.T
        asked = instance.requests.astype(np.float64)
        served = np.zeros(asked.shape)
        np.add.at(served, (frame, slot, origin, kind), amount)
        part = np.minimum(1.0, asked / np.where(served > 0.0, served, 1.0))
        amount *= part[frame, slot, origin, kind]
        unserved = (asked - np.minimum(served, asked)).sum(axis=(1, 2))
        delay = cache(instance.request_seconds)  # of a whole slot, which many routes share
        seconds = np.array([delay(t, s)[j, k, n] for t, s, j, k, n in route.tolist()])
        each = amount * instance.request_energy[site, kind]
        unit = instance.energy_weight * instance.price[frame] * each
        unit = unit + instance.delay_weight * seconds * amount

        def per(values: Floats, *places: Any) -> Floats:
            out = np.zeros((instance.frames, instance.types)[: len(places)])
            np.add.at(out, places, values)
            return out

        missing = np.maximum(instance.rounds - rounds.sum(axis=0), 0.0)
        training = (instance.round_energy * rounds).sum(axis=1)
        paid = (instance.round_cost * rounds).sum(axis=1)
        costs = per(unit, frame, kind)
        lost = late_price(instance) @ missing + (unserved @ unserved_price(instance)).sum()
        objective = float(paid.sum() + costs.sum() + lost)
        return cls(
            objective=objective,
            bound=solution.bound if extension.program != "other" else np.nan,
            rounds=rounds,
            missing=missing,
            cap=limit,
            energy=training + per(each, frame),
            training_energy=training,
            training_cost=paid,
            request_cost=costs.sum(axis=1),
            type_cost=costs,
            unserved=unserved,
            accurate=per(amount * instance.accuracy[site, kind], frame),
            method=solution.solver,
            iterations=1,
            seconds=solution.seconds.total,
            target=solution.options.get("gap") or (GAP if relaxed else WHOLE_GAP),
            route=route,
            amount=amount,
            solution=solution,
            instance=instance,
            extension=extension,
        )

    @property
    def gap(self) -> float:
        """Proven relative gap ``(objective - bound) / max(|objective|, |bound|)``.

        It is 0 where the difference is within the rounding of the sums.
        """
        parts = np.abs(self.training_cost).sum() + np.abs(self.request_cost).sum()
        size = float(parts) + abs(self.objective - self.cost)
        return relative_gap(self.objective, self.bound, objective_size=size, bound_size=size)

    @property
    def certified(self) -> bool:
        """Whether the gap is at most the requested one."""
        return self.gap <= self.target

    @property
    def cost(self) -> float:
        """Cost without penalties."""
        return float(self.training_cost.sum() + self.request_cost.sum())


@checked()
def solve_offline(
    instance: EdrInstance,
    *,
    relax: bool = True,
    cap: ArrayLike | None = None,
    method: Literal["benders", "highs"] = "benders",
    gap: float | None = None,
    time_limit: float | None = None,
    **solver: Any,
) -> OfflinePlan:
    r"""Find rounds and routes for all frames at once, knowing all of them.

    Parameters
    ----------
    instance
        What is given.
    relax
        Allow parts of rounds: the lower bound named OFFLINE.
    cap
        Energy of each frame, Wh, infinity where there is no cap, shape [T]; by default
        `served_cap`, the instance's raised to what serving alone needs.
    method
        ``"benders"``: plan rounds against lower bounds on the cost of requests, route the requests
        of each frame, and let the prices of energy and computation improve the bounds.
        ``"highs"``: the whole program at once.
    gap
        Relative gap to be proven, 1e-6 by default, 1e-4 with whole rounds.
    time_limit
        Seconds after which the best plan so far is returned with its bound.
    **solver
        Options for `edgeopt.solve`.

    Returns
    -------
    A plan within the caps, recomputed from the data, and a proven bound.

    Raises
    ------
    InputError
        If a cap is negative or no number, or there is not one per frame.
    OptionError
        If there is no such method, or the gap is not positive.
    SolverError
        If the solver ends without a point.

    Notes
    -----
    Zhu et al., problem P, with penalties for missing rounds and unserved requests.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.models.edr import solve_offline
    >>> plan = solve_offline(small(1))
    >>> plan.bound <= plan.objective * (1 + 1e-9)
    True
    """
    if method not in METHODS:
        raise OptionError(f"method = {method!r}: must be one of {', '.join(METHODS)}")
    target = (GAP if relax else WHOLE_GAP) if gap is None else float(gap)
    if not target > 0:
        raise OptionError(f"gap = {gap!r}: must be positive")
    began = time.perf_counter()
    deadline = np.inf if time_limit is None else began + time_limit
    limit = served_cap(instance) if cap is None else check_cap(instance, cap)
    search = _Search(instance, limit, began)
    if method == "highs":
        search.whole(relax, target, deadline, solver)
    else:
        search.decomposed(True, target if relax else target / 10.0, deadline, solver)
        if not relax:
            search.forget()
            search.decomposed(False, target, deadline, solver)
    return search.plan(method, target)


class _Search:
    """The best plan so far, and the best bound."""

    def __init__(self, instance: EdrInstance, cap: Floats, began: float) -> None:
        self.began = began
        self.instance, self.cap = instance, cap
        self.frames = [FrameRecourse(instance, t, float(r)) for t, r in enumerate(cap)]
        self.late = late_price(instance)
        alone = np.array([frame.alone.cut.constant for frame in self.frames])
        worst = np.array([frame.worst for frame in self.frames])
        self.master = RoundsMaster(instance, cap, alone, worst)
        for t, frame in enumerate(self.frames):
            if frame.alone.cut.slope.any():
                self.master.cuts.append((t, frame.alone.cut))
        # Each round where it is cheapest by itself, or missing.
        unit = np.where(instance.active, instance.round_cost, np.inf).min(axis=0)
        self.bound = float(alone.sum() + np.minimum(unit, self.late) @ instance.rounds)
        self.iterations = 0
        self.forget()

    def forget(self) -> None:
        """Go back to the plan without training; keep the bounds on the cost of requests."""
        self.objective = np.inf
        self.rounds: Floats = np.zeros((self.instance.frames, self.instance.tasks))
        self.served: Sequence[Served] = []
        self.consider(self.rounds)

    def gap(self) -> float:
        return relative_gap(self.objective, min(self.bound, self.objective))

    def consider(self, rounds: Floats) -> float:
        """Route given some rounds, add the cuts, and return the cost."""
        served = [frame.at(row) for frame, row in zip(self.frames, rounds, strict=True)]
        missing = np.maximum(self.instance.rounds - rounds.sum(axis=0), 0.0)
        objective = float((self.instance.round_cost * rounds).sum() + self.late @ missing)
        objective += sum(one.value for one in served)
        if objective < self.objective:
            self.objective, self.rounds, self.served = objective, rounds, served
        for t, one in enumerate(served):
            if one is not self.frames[t].alone:
                self.master.cuts.append((t, one.cut))
        return objective

    def decomposed(
        self, relax: bool, target: float, deadline: float, options: dict[str, Any]
    ) -> None:
        """Plan, route and cut until the gap is proven, the time is over, or nothing moves."""
        idle = 0
        # Benders decomposition (1962) with a cut per frame (Birge and Louveaux 1988).
        while idle < PATIENCE:
            left = deadline - time.perf_counter()
            if left <= 0:
                return
            limit = None if np.isinf(left) else left
            own = {"time_limit": limit} | ({} if relax else {"gap": target / 4.0}) | options
            solution = self.master.solve(relax=relax, raises=False, **own)
            open_gap = self.gap()
            self.bound = max(self.bound, solution.bound)
            self.iterations += 1
            if solution.values is None or solution.quality is Quality.INFEASIBLE:
                return
            before = len(self.master.cuts)
            self.consider(self._within(self.master.rounds(solution.values), whole=not relax))
            if self.gap() <= target or len(self.master.cuts) == before:
                return
            idle = 0 if self.gap() < open_gap else idle + 1

    def whole(self, relax: bool, target: float, deadline: float, options: dict[str, Any]) -> None:
        """Solve the whole program at once."""
        program = colocation_matrix(self.instance, cap=self.cap, relax=relax)
        if program.shape[1] == 0:
            self.bound = self.objective
            return
        unit = self.master.unit
        left = deadline - time.perf_counter()
        limit = None if np.isinf(left) else max(left, 0.0)
        own = {"time_limit": limit, "gap": None if relax else target} | options
        solution = solve(program.replace(cost=program.cost / unit), raises=False, **own)
        self.iterations += 1
        self.bound = max(self.bound, solution.bound * unit)
        if solution.values is not None and solution.quality.usable:
            self.consider(self._within(self.master.rounds(solution.values), whole=not relax))

    def _within(self, rounds: Floats, *, whole: bool) -> Floats:
        """Take back what exceeds a limit by the tolerance of a solver."""
        instance = self.instance
        rounds = np.where(instance.active, np.clip(rounds, 0.0, instance.rounds), 0.0)
        if whole:
            return np.rint(rounds)
        done = rounds.sum(axis=0)
        rounds *= np.minimum(1.0, instance.rounds / np.maximum(done, 1e-300))
        room = instance.slots * instance.capacity
        for row, energy, cap in zip(rounds, instance.round_energy, self.cap, strict=True):
            used, load = float(energy @ row), row @ instance.round_work
            over = float(np.max(load / np.maximum(room, 1e-300), initial=0.0))
            row *= min(1.0, cap / used if used > 0 else 1.0, 1.0 / over if over > 0 else 1.0)
        return rounds

    def plan(self, method: str, target: float) -> OfflinePlan:
        instance, rounds, served = self.instance, self.rounds, self.served
        training = (instance.round_energy * rounds).sum(axis=1)
        unserved = np.array([one.unserved for one in served])
        lost = unserved @ unserved_price(instance)
        return OfflinePlan(
            objective=self.objective,
            # Rounding alone may put the bound above a point in hand.
            bound=min(self.bound, self.objective),
            rounds=rounds,
            missing=np.maximum(instance.rounds - rounds.sum(axis=0), 0.0),
            cap=self.cap,
            energy=training + np.array([one.energy for one in served]),
            training_energy=training,
            training_cost=(instance.round_cost * rounds).sum(axis=1),
            request_cost=np.array([one.value for one in served]) - lost,
            type_cost=np.array([one.type_cost for one in served]),
            unserved=unserved,
            accurate=np.array([one.accurate for one in served]),
            method=method,
            iterations=self.iterations,
            seconds=time.perf_counter() - self.began,
            target=target,
        )
