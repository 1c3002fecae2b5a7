"""A user's constraints on the inference of every slot: what they cost at least, slot by slot."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from edgeopt import registry
from edgeopt.errors import OptionError, PolicyError, ProblemTypeError, SolverError
from edgeopt.models.oinc.bounds import WeightedSumBound, weighted_sum_bound
from edgeopt.models.oinc.programs import slot_misocp
from edgeopt.models.oinc.slot import SlotPlan, slot_problem
from edgeopt.models.oinc.slot.resource_shares import allocate
from edgeopt.models.plan import ProgramPlan
from edgeopt.models.rows import Extension, Row, Rows, rows_of, split_name
from edgeopt.options import check_able, check_text
from edgeopt.solvers import solve
from edgeopt.solvers.registry import LeftBehind, portable
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Self

    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc.slot import SlotProblem
    from edgeopt.models.tabular import Labels

    Extend = Callable[[Mapping[str, Any]], Iterable[Any]]
    """Takes the variables of a slot by name, and returns constraints on them."""

SLACK: Final = 1e-9
"""Violation that is rounding."""

JOINT: Final = {"y": "y", "band": "v", "cpu": "z"}
"""What `joint` calls the variables of a slot, by slot, device and site."""


@in_html
@dataclass(frozen=True, eq=False)
class SlotProgram(ProgramPlan):
    """The inference of every slot with constraints of one's own, and a bound under them.

    Parameters
    ----------
    name
        Of the constraints.
    extend
        What makes them, see `of`.
    bound
        Proven lower bound on the weighted scaled sum of every policy that answers all requests,
        completes all jobs and keeps the constraints.
    base
        The bound without constraints, and its parts.
    latency
        Least sum of the latencies of each slot, s, shape [T].
    duals
        Of all constraints by name and slot, such as ``eq_3a[2,0]`` for site 0 in slot 2.
    solver
        Options of `edgeopt.solve`.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc import SlotProgram
    >>> def little_band(variables):
    ...     return [variables["band"] <= 0.7]
    ...
    >>> plan = SlotProgram.of(small(1), little_band)
    >>> bool(plan.bound >= sum(plan.base.scaled_parts)), plan.latency.round(3)
    (True, array([0.264, 0.516]))
    """

    system: ClassVar[str] = "oinc"
    objective: ClassVar[float] = math.nan
    """Not known before the jobs are dispatched: simulate the policy."""

    gap: ClassVar[float] = math.nan
    """As the objective."""

    name: str
    extend: Extend = field(repr=False)
    bound: float
    base: WeightedSumBound = field(repr=False)
    latency: NDArray[np.float64] = field(repr=False)
    duals: Mapping[str, float] = field(repr=False)
    solver: Mapping[str, Any] = field(repr=False)

    def _rows(self) -> dict[str, Any]:
        return {"slot": np.arange(self.latency.size), "latency": self.latency}

    def _arrays(self, _labels: Labels) -> dict[str, Any]:
        return {"latency": (("slot",), self.latency, {"units": "s"})}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "extend": portable(self.extend)}

    @classmethod
    def of(
        cls, instance: OincInstance, extend: Extend, *, name: str | None = None, **solver: Any
    ) -> Self:
        """Bound each slot under constraints of one's own.

        Parameters
        ----------
        instance
            The instance.
        extend
            ``extend(variables)`` returns constraints of CVXPY for a slot. `variables` are those of
            `slot_misocp` by name: ``y``, ``band`` and ``cpu``, shape [requests, sites].
        name
            Of the constraints that have no label; the function's by default.
        **solver
            Options for `edgeopt.solve`.

        Returns
        -------
        SlotProgram
            With the relaxation of each slot as its bound, and never less than without constraints.
            No request may be refused, since the program has no variable for it. The policy solves
            the relaxation of a slot, sends each request where most of it goes, and moves those
            that lose least while a constraint on ``y`` is broken.

        Raises
        ------
        OptionError
            If `extend` is no function, or does not return constraints.
        SolverError
            If a slot has no point within the constraints.

        Examples
        --------
        The first site may answer half of the requests:

        >>> import cvxpy as cp
        >>> from edgeopt.instances.oinc import generate
        >>> from edgeopt.models.oinc import SlotProgram
        >>> def half(v):
        ...     return [cp.sum(v["y"][:, 0]) <= 0.5 * v["y"].shape[0]]
        >>> plan = SlotProgram.of(generate(slots=2, jobs=1, devices=3, sites=2, rng=0), half)
        >>> plan.program, plan.added, bool(plan.bound >= sum(plan.base.scaled_parts))
        ('extended', ('half',), True)
        """
        check_able("extend", extend, "__call__")
        if name is None:
            name = str(getattr(extend, "__name__", "added")).replace("<lambda>", "added")
        check_text("name", name)
        base = weighted_sum_bound(instance)
        latency, duals = base.latency.copy(), dict[str, float]()
        rows: dict[str, list[Rows]] = {}
        own: set[str] = set()
        for slot in range(instance.slots):
            problem = slot_problem(instance, slot)
            if not problem.requests:
                continue
            program, added = extended(problem, extend, name)
            solution = solve(program, **solver)
            if not solution.quality.usable:
                raise SolverError(
                    f"slot {slot}: no usable point is in hand ({solution.status.value})", solution
                )
            if added:
                latency[slot] = max(latency[slot], solution.bound)
            for label, dual in (solution.duals or {}).items():
                for index, each in np.ndenumerate(np.asarray(dual)):
                    duals[f"{label}[{','.join(map(str, (slot, *index)))}]"] = float(each)
            for constraint in added:
                found = _of_slot(constraint, slot, problem)
                rows.setdefault(constraint.label, []).append(found)
                own |= {one for one in found.variables if one.partition("[")[0] not in "yvz"}
        added_rows = tuple(
            Rows(
                label,
                tuple(row for one in each for row in one.rows),
                tuple(row for one in each for row in one.nonlinear),
            )
            for label, each in rows.items()
        )
        return cls(
            name,
            extend,
            float(sum(replace(base, latency=latency).scaled_parts)),
            base,
            latency,
            duals,
            solver,
            instance=instance,
            extension=Extension(added_rows, own=frozenset(own)),
        )

    @property
    def checks(self) -> tuple[Any, ...]:
        """What runs have to keep: the constraints, and that they answer all requests."""
        if self.program == "as it is":
            return ()
        answered = registry.CHECK.load()(
            "no request refused",
            _refused,
            high=0.0,
            sentence="answers all requests",
        )
        return (*super().checks, answered)

    @property
    def _named_duals(self) -> Mapping[str, float] | None:
        return self.duals


def _refused(_: OincInstance, log: Iterable[Any]) -> int:
    return sum(int((step.decision.plan.site < 0).sum()) for step in log)


def extended(problem: SlotProblem, extend: Extend, name: str = "added") -> tuple[Any, list[Any]]:
    """Return the relaxation of a slot with the user's constraints, and these, all with labels."""
    import cvxpy

    cp: Any = cvxpy
    if isinstance(extend, LeftBehind):
        raise OptionError(f"extend: {extend!r}")
    base = slot_misocp(problem, objectives=False, relax=True)
    variables = {one.name(): one for one in base.variables()}
    try:
        added = list(extend(variables))
    except Exception as error:
        raise PolicyError(f"extend raised {type(error).__name__}: {error}") from error
    for place, one in enumerate(added):
        if not isinstance(one, cp.constraints.constraint.Constraint):
            raise OptionError(
                f"extend: returned a {type(one).__name__}; it must return constraints of CVXPY"
            )
        if not one.label:
            one.set_label(name if len(added) == 1 else f"{name}_{place}")
    return cp.Problem(base.objective, [*base.constraints, *added]), added


def _of_slot(constraint: Any, slot: int, problem: SlotProblem) -> Rows:
    """Return the rows of a constraint in the names of `joint`."""
    try:
        found = rows_of(constraint)
    except ProblemTypeError:
        return Rows(constraint.label, (), (f"{constraint.label}[{slot}]",))

    def renamed(variable: str) -> str:
        own = variable.partition("[")[0]
        if own not in JOINT:
            return variable
        request, site = split_name(variable)[1]
        return f"{JOINT[own]}[{slot},{problem.device[request]},{site}]"

    return Rows(found.name, tuple(_in_slot(row, slot, renamed) for row in found.rows))


def _in_slot(row: Row, slot: int, renamed: Callable[[str], str]) -> Row:
    label, _, index = row.name.rstrip("]").partition("[")
    places = f"{slot},{index}" if index else f"{slot}"
    named = {renamed(variable): c for variable, c in row.coefficient.items()}
    return row._replace(name=f"{label}[{places}]", coefficient=named)


def plan_slot(problem: SlotProblem, plan: SlotProgram) -> SlotPlan:
    """Round the relaxation of a slot, and give each site its best shares."""
    site, band, cpu = np.zeros(problem.requests, dtype=np.int64), *np.zeros((2, problem.requests))
    if not problem.requests:
        return SlotPlan(problem, site, band, cpu, 0.0)
    program, added = extended(problem, plan.extend, plan.name)
    solution = solve(program, **plan.solver)
    y = next(one for one in program.variables() if one.name() == "y")
    on_sites = [one for one in added if {id(v) for v in one.variables()} <= {id(y)}]
    share = np.asarray(solution.values["y"], dtype=float)
    site = _rounded(share, lambda whole: _violation(y, whole, on_sites))
    if len(on_sites) < len(added):  # shares that other constraints allow, of convex programs
        whole = np.eye(problem.sites)[site]
        fixed = type(program)(program.objective, [*program.constraints, y == whole])
        found = solve(fixed, **plan.solver)
        for shares, name, most in (
            (band, "band", np.ones(problem.sites)),
            (cpu, "cpu", problem.room),
        ):
            shares[:] = np.maximum(found.values[name][np.arange(site.size), site], 0.0)
            given = np.bincount(site, shares, problem.sites)
            # What a solver gives beyond a site's room is rounding.
            shares *= np.minimum(1.0, most / np.where(given > 0.0, given, 1.0))[site]
        return SlotPlan(problem, site, band, cpu, solution.bound)
    for j in np.unique(site):
        here = np.flatnonzero(site == j)
        best = allocate(
            problem.transmission[here, j], problem.computation[here, j],
            room=float(problem.room[j]), weight=problem.weight[here],
        )  # fmt: skip
        band[here], cpu[here] = best.band, best.cpu
    return SlotPlan(problem, site, band, cpu, solution.bound)


def _violation(y: Any, whole: Floats, constraints: list[Any]) -> float:
    y.value = whole
    return max((float(np.max(one.violation())) for one in constraints), default=0.0)


def _rounded(share: Floats, violation: Callable[[Floats], float]) -> Ints:
    """Send each request where its share is largest, and move some while a constraint is broken.

    Of the moves that bring constraints nearer, that of the smallest loss of share is taken; where
    none does, they stay broken.
    """
    requests, sites = share.shape
    site: Ints = share.argmax(axis=1)
    each = np.arange(requests)
    broken = violation(np.eye(sites)[site])
    while broken > SLACK:
        loss = share[each, site][:, None] - share
        for i, j in zip(*np.unravel_index(np.argsort(loss, axis=None), loss.shape), strict=True):
            moved = np.where(each == i, j, site)
            now = violation(np.eye(sites)[moved])
            if now < broken - SLACK:
                site, broken = moved, now
                break
        else:
            break
    return site
