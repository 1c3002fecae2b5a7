"""Ways to answer the requests of a slot: near-optimal, greedy, and after Liu."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.models.oinc.slot import SlotPlan
from edgeopt.models.oinc.slot.resource_shares import SLACK, share_out, stretch
from edgeopt.models.oinc.slot.solve import Unfit, solve_slot, spread
from edgeopt.models.oinc.slot_program import plan_slot
from edgeopt.online.oinc.components import Part
from edgeopt.options import check_choice, check_flag, check_real
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc import SlotProgram
    from edgeopt.models.oinc.slot import SlotProblem


@dataclass(frozen=True, eq=False, kw_only=True)
class NearOptimalInference(Part):
    """Plan every slot by `solve_slot`: greedy, local search, exact shares, admission.

    Parameters
    ----------
    objectives
        Whether objectives count; without them the sum of latencies alone does.
    unfit
        What becomes of requests whose objectives do not fit: answered ``"late"``, or ``"refuse"``.
    certify
        Whether every plan carries a proven lower bound on the latencies of any plan that answers
        the same requests and meets the objectives that are met here; `OincTrajectory.gap` tells
        how far each slot lies above. That takes far longer than the plan itself.
    tolerance
        Share of the latencies that a last move or swap has to save, see `solve_slot`.
    gap
        Relative gap at which the search for a bound stops.
    time_limit
        Seconds per slot after which it stops in any case, with what it has proved; none by default.

    Raises
    ------
    OptionError
        If an option is unknown or out of range.

    Notes
    -----
    Stands in place of the learned actor of Zeng et al., algorithm 3: the next slot does not depend
    on what is decided in this one, so that the best plan of every slot is the best policy.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.oinc import NearOptimalInference, Oinc, OincEnvironment
    >>> simulate(OincEnvironment(small(1)), Oinc(inference=NearOptimalInference()), runs=1)
    OincTrajectory(OINC, 1 scenario, 2 slots, mean reward 4.94191)
    """

    title: ClassVar[str] = "NearOptimal"

    objectives: bool = True
    unfit: Unfit = "late"
    certify: bool = False
    tolerance: float = 1e-4
    gap: float = 1e-4
    time_limit: float | None = None

    def __post_init__(self) -> None:
        check_flag("objectives", self.objectives)
        check_choice("unfit", self.unfit, get_args(Unfit))
        check_flag("certify", self.certify)
        check_real("tolerance", self.tolerance, "[0, 1)")
        check_real("gap", self.gap, "(0, inf)")
        check_real("time_limit", self.time_limit, "(0, inf]", none=True)

    def start(self, instance: OincInstance) -> float:
        """Remember the latency that a refused request counts with, s."""
        return instance.refusal_latency

    def answer(
        self, memory: float, problem: SlotProblem, rng: np.random.Generator | None = None
    ) -> tuple[SlotPlan, float]:
        """Plan the requests of a slot."""
        plan = solve_slot(
            problem,
            objectives=self.objectives,
            unfit=self.unfit,
            late=memory,
            tolerance=self.tolerance,
        )
        return (self._certified(plan) if self.certify else plan), memory

    def _certified(self, plan: SlotPlan) -> SlotPlan:
        """Add a bound on all plans that answer and meet what this one does."""
        from edgeopt.models.oinc.slot.columns import slot_bound

        whole, here = plan.problem, plan.site >= 0
        # What is met but for rounding can be met, so that the bound is finite.
        slo = np.where(plan.met, whole.slo * (1.0 + 2.0 * TIGHT), np.inf)
        answered = replace(whole, slo=slo).of(here)
        found = slot_bound(
            answered,
            objectives=self.objectives,
            gap=self.gap,
            site=plan.site[here],
            time_limit=self.time_limit,
        )
        return replace(plan, bound=found.value)


@dataclass(frozen=True, eq=False)
class PlannedInference(Part):
    """Answer every slot by a program with constraints of one's own, relaxed and rounded.

    Parameters
    ----------
    plan
        The program.
    """

    plan: SlotProgram = field(repr=False)

    @property
    def name(self) -> str:
        """The name of the constraints."""
        return self.plan.name

    def start(self, instance: OincInstance) -> None:
        """Remember nothing."""

    def answer(
        self, memory: None, problem: SlotProblem, rng: np.random.Generator | None = None
    ) -> tuple[SlotPlan, None]:
        """Plan the requests of a slot on what jobs leave."""
        return plan_slot(problem, self.plan), None


Rule = Literal["least", "first-fit"]
"""How Greedy chooses a site: where a request adds least latency, or the first where all fit."""

Fits = Literal["equal", "closed", "exact"]
"""Shares under which all requests of a site have to keep their objectives."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GreedyConvex(Part):
    """Place requests by objective, one after the other, then solve each site exactly.

    The shortest objective is placed first, of equal ones the lower number. Then every site gives
    its requests the shares of least total latency: with their objectives if all can be met
    together, else without any.

    Parameters
    ----------
    rule
        ``"least"``: a request goes where it adds least latency, its own and that of the requests
        already there, estimated with equal shares; of equal sites to the lower number.
        ``"first-fit"``: it goes to the first site where it and all requests already there keep
        their objectives; if there is none, where the time that it needs alone, times the number of
        requests there with it, is least.
    fit
        Shares under which they have to keep them: ``"equal"`` ones; ``"closed"``, those of least
        latency without objectives; ``"exact"``, any.

    Raises
    ------
    OptionError
        If an option is unknown.

    Notes
    -----
    The baseline "Greedy" of Zeng et al., section V, is described in one line: requests by
    objective, each given a site greedily, then convex optimisation. The latency of 0.479 s that
    the paper prints fits ``rule="first-fit"`` and no site by least latency, and lies between the
    tests ``"closed"`` and ``"exact"``; to prefer the former is a fit to that number.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.oinc import GreedyConvex, Oinc, OincEnvironment
    >>> simulate(OincEnvironment(small(1)), Oinc(inference=GreedyConvex()), runs=1)
    OincTrajectory(OINC with Greedy, 1 scenario, 2 slots, mean reward 4.94191)
    """

    title: ClassVar[str] = "Greedy"

    rule: Rule = "least"
    fit: Fits = "closed"

    def __post_init__(self) -> None:
        check_choice("rule", self.rule, get_args(Rule))
        check_choice("fit", self.fit, get_args(Fits))

    def start(self, instance: OincInstance) -> None:
        """Remember nothing."""

    def answer(
        self, memory: None, problem: SlotProblem, rng: np.random.Generator | None = None
    ) -> tuple[SlotPlan, None]:
        """Place the requests of a slot and share out band and CPU."""
        whole, problem = problem, problem.of(problem.linked)
        order = np.argsort(problem.slo, kind="stable")
        times = problem.transmission, problem.computation
        if self.rule == "least":
            site = _place(order, *times, problem.room, problem.weight)
        else:
            test = get_args(Fits).index(self.fit)
            site = _first_fit(order, *times, problem.slo, problem.room, problem.weight, test)
        band, cpu = np.zeros((2, problem.requests))
        _share(*times, problem.slo, problem.weight, problem.room, site, band, cpu)
        return spread(SlotPlan(problem, site, band, cpu), whole), None


@compiled(writes="band cpu")
def _share(
    A: Floats,
    E: Floats,
    slo: Floats,
    weight: Floats,
    room: Floats,
    site: Ints,
    band: Floats,
    cpu: Floats,
) -> None:
    """Fill in the best shares of every site, late requests included if it must be."""
    for j in range(room.size):
        here = np.flatnonzero(site == j)
        a, e, s, w = A[here, j], E[here, j], slo[here], weight[here]
        v, z = np.empty(here.size, dtype=np.float64), np.empty(here.size, dtype=np.float64)
        met, _, _ = share_out(a, e, s, w, room[j], v, z)
        if not met:
            share_out(a, e, np.full(here.size, np.inf), w, room[j], v, z)
        for k in range(here.size):
            band[here[k]], cpu[here[k]] = v[k], z[k]


@compiled
def _place(order: Ints, A: Floats, E: Floats, room: Floats, weight: Floats) -> Ints:
    """Return the site of each request; with n equal shares a sum of latencies is n times as long.

    With the whole of a site the requests there would take a weighted sum of `whole`; n of them with
    equal shares take n times that.
    """
    requests, sites = A.shape
    site = np.empty(requests, dtype=np.int64)
    count, whole = np.zeros(sites, dtype=np.float64), np.zeros(sites, dtype=np.float64)
    for i in order:
        best, least = -1, np.inf
        for j in range(sites):
            alone = weight[i] * (A[i, j] + E[i, j] / room[j])
            added = whole[j] + (count[j] + 1.0) * alone
            if added < least:
                best, least = j, added
        site[i] = best
        count[best] += 1.0
        whole[best] += weight[i] * (A[i, best] + E[i, best] / room[best])
    return site


@compiled
def _first_fit(
    order: Ints, A: Floats, E: Floats, slo: Floats, room: Floats, weight: Floats, test: int
) -> Ints:
    """Return the site of each request, the first where all keep their objectives, if any."""
    requests, sites = A.shape
    site = np.full(requests, -1)
    count = np.zeros(sites, dtype=np.float64)
    for i in order:
        for j in range(sites):
            if A[i, j] == np.inf:  # no link
                continue
            site[i] = j
            if _keeps(A[:, j], E[:, j] / room[j], slo, weight, site, j, test):
                break
            site[i] = -1
        if site[i] < 0:
            site[i] = np.argmin((count + 1.0) * (A[i] + E[i] / room))
        count[site[i]] += 1.0
    return site


@compiled
def _keeps(
    A: Floats, E: Floats, slo: Floats, weight: Floats, site: Ints, here: int, test: int
) -> bool:
    """Return whether the requests of a site keep their objectives under the shares of a test."""
    n, root_a, root_e, a, c, e = 0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(site.size):
        if site[i] == here:
            n += 1
            root_a += math.sqrt(weight[i] * A[i])
            root_e += math.sqrt(weight[i] * E[i])
            a += A[i] / slo[i]
            c += math.sqrt(A[i] * E[i]) / slo[i]
            e += E[i] / slo[i]
    if test == 2:
        return bool(stretch(a, c, e, 1.0) <= 1.0 + SLACK)
    for i in range(site.size):
        if site[i] == here:
            latency = n * (A[i] + E[i])
            if test == 1:
                latency = (
                    math.sqrt(A[i] / weight[i]) * root_a + math.sqrt(E[i] / weight[i]) * root_e
                )
            if latency > slo[i] * (1.0 + SLACK):
                return False
    return True


@dataclass(frozen=True, eq=False, kw_only=True)
class Liu(Part):
    r"""Send each request where marginal cost and price are least, then share out in closed form.

    Requests come one by one, by number. A request on a site takes up a load of
    :math:`A_{ij} + E_{ij} / \varphi_j` seconds of the slot, and adds to the least weighted sum of
    latencies there, objectives aside,

    .. math:: 2 a_{ij} \sum a + a_{ij}^2 + 2 e_{ij} \sum e + e_{ij}^2, \qquad
        a = \sqrt{w A},\ e = \sqrt{w E / \varphi},

    with sums over the requests already there. It goes where this and the price of its load together
    are least, of equal sites to the lower number; then the price of the site becomes
    :math:`\pi (1 + \mathrm{load}) + \mathrm{step} \cdot \mathrm{load}`. Prices start from 0 in
    every slot, whose capacity is new. Shares are the closed form, proportional to :math:`a` and
    :math:`e`, whatever becomes of objectives.

    Parameters
    ----------
    step
        Growth of a price that is 0, in seconds of latency per second of load; 0 for no prices.

    Raises
    ------
    OptionError
        If the step is negative or not finite.

    Notes
    -----
    The baseline "Liu" of Zeng et al., section V: an interpretation of a description of one line,
    which names a primal-dual method and Lagrangian shares. The step is not given.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.oinc import Liu, Oinc, OincEnvironment
    >>> simulate(OincEnvironment(small(1)), Oinc(inference=Liu()), runs=1)
    OincTrajectory(OINC with Liu, 1 scenario, 2 slots, mean reward 5.10823)
    """

    title: ClassVar[str] = "Liu"

    step: float = 0.1

    def __post_init__(self) -> None:
        check_real("step", self.step, "[0, inf)")

    def start(self, instance: OincInstance) -> None:
        """Remember nothing: prices start anew in every slot."""

    def answer(
        self, memory: None, problem: SlotProblem, rng: np.random.Generator | None = None
    ) -> tuple[SlotPlan, None]:
        """Place the requests of a slot and share out band and CPU."""
        whole, problem = problem, problem.of(problem.linked)
        weight = problem.weight
        A, E, room = problem.transmission, problem.computation, problem.room
        site = _assign(A, E, room, weight, self.step)
        request = np.arange(problem.requests)
        # Shares by square roots of weighted work: where Cauchy and Schwarz hold with equality.
        band = _proportional(np.sqrt(weight * A[request, site]), site, problem.sites)
        cpu = _proportional(np.sqrt(weight * E[request, site]), site, problem.sites)
        return spread(SlotPlan(problem, site, band, room[site] * cpu), whole), None


def _proportional(part: Floats, site: Ints, sites: int) -> Floats:
    """Return the share that each part is of the sum of parts at its site, 0 of nothing."""
    together = np.bincount(site, weights=part, minlength=sites)[site]
    return np.divide(part, together, out=np.zeros_like(part), where=together > 0)


@compiled
def _assign(A: Floats, E: Floats, room: Floats, weight: Floats, step: float) -> Ints:
    """Return the site of each request, one after the other at prices that grow."""
    requests, sites = A.shape
    site = np.empty(requests, dtype=np.int64)
    sent, computed, price = (
        np.zeros(sites, dtype=np.float64),
        np.zeros(sites, dtype=np.float64),
        np.zeros(sites, dtype=np.float64),
    )
    for i in range(requests):
        best, least = -1, np.inf
        for j in range(sites):
            a = np.sqrt(weight[i] * A[i, j])
            e = np.sqrt(weight[i] * E[i, j] / room[j])
            load = A[i, j] + E[i, j] / room[j]
            cost = a * (2.0 * sent[j] + a) + e * (2.0 * computed[j] + e) + price[j] * load
            if cost < least:
                best, least = j, cost
        site[i] = best
        load = A[i, best] + E[i, best] / room[best]
        sent[best] += np.sqrt(weight[i] * A[i, best])
        computed[best] += np.sqrt(weight[i] * E[i, best] / room[best])
        price[best] = price[best] * (1.0 + load) + step * load
    return site
