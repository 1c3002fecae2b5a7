"""The best lower bound on flow times that is valid for a kind of policy."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger.durations import shortest_durations
from edgeopt.models.tapfinger.lagrangian import pooled_bound, pooled_preemptive_bound
from edgeopt.models.tapfinger.list_scheduling import quick_list
from edgeopt.models.tapfinger.problem import scheduling_problem
from edgeopt.models.tapfinger.volume_bound import mixed_volume_bound, trivial_bound, volume_bound
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.models.tapfinger.lagrangian import PooledBound
    from edgeopt.solvers import Certificate

Method = Literal["trivial", "volume", "pooled", "relaxation"]
Methods = Literal["best", "trivial", "volume", "pooled", "relaxation"]
METHODS: Final[tuple[Method, ...]] = ("trivial", "volume", "pooled", "relaxation")

GAP: Final = 1e-3  # relative gap to the optima of relaxations
POOLED: Final = 40_000
"""Flow time of a known plan, all tasks together, up to which all clusters as one are affordable."""

APART: Final = 12_000  # flow time times clusters up to which each cluster by itself is


@in_html
@dataclass(frozen=True, eq=False)
class FlowBound:
    """What no policy of a kind can fall below, on an instance and whatever the noise.

    Attributes
    ----------
    instance
        The instance.
    value
        Lower bound on the weighted sum of flow times, slots.
    method
        Which method proved it: ``"trivial"``, ``"volume"``, ``"pooled"`` or ``"relaxation"``.
    preemptive
        Whether it holds for policies that change the bundles of running tasks; if not, it holds
        for the others alone.
    noisy
        Whether it had to be proven for the most favourable noise.
    values
        The bound of every method that was tried.
    proof
        Prices that prove it; None for the first two methods, which need none.
    seconds
        Time it took, all methods together.
    """

    instance: TapFingerInstance = field(repr=False)
    value: float
    method: Method
    preemptive: bool
    noisy: bool
    values: Mapping[str, float] = field(repr=False)
    proof: PooledBound | None = field(repr=False)
    seconds: float

    @property
    def mean(self) -> float:
        """The bound per task, slots; NaN without tasks."""
        return self.value / self.instance.tasks if self.instance.tasks else float("nan")

    def certificate(self, *, name: str = "") -> Certificate:
        """Return the bound with its proof, which others can check without edgeopt.

        Parameters
        ----------
        name
            Of the instance, for readers.

        Raises
        ------
        CertificateError
            If there is none, as for a bound without prices; the text says why.
        """
        from edgeopt.models.tapfinger.certificates import certificate_of

        return certificate_of(self.proof, name, self.instance)


@checked()
def flow_bound(
    instance: TapFingerInstance,
    *,
    preemptive: bool = False,
    method: Methods = "best",
    time_limit: float | None = None,
) -> FlowBound:
    """Bound the weighted sum of flow times of every policy that completes all tasks.

    Parameters
    ----------
    instance
        The instance. With noise the bound holds for every noise, from the fewest slots in which a
        task can be complete.
    preemptive
        Whether to bound policies that change the bundles of running tasks or pause them.
    method
        ``"trivial"``: every task as if alone; ``"volume"``: all clusters as one fluid machine of
        one resource; ``"pooled"``: the relaxation with all clusters as one; ``"relaxation"``: that
        with each cluster by itself. By default the best of those that the size allows.
    time_limit
        Seconds for each search for prices; what is proven by then is taken.

    Returns
    -------
    The bound and its proof.

    Raises
    ------
    OptionError
        If the method is unknown.
    SolverError
        If HiGHS fails.
    """
    began = time.perf_counter()
    known_method(method)
    tried = affordable(instance) if method == "best" else (method,)
    values: dict[str, float] = {}
    proofs: dict[Method, PooledBound] = {}
    for one in tried:
        found = _prove(instance, one, preemptive, time_limit)
        values[one] = found if isinstance(found, float) else found.value
        if not isinstance(found, float):
            proofs[one] = found
    best = max(tried, key=values.__getitem__)
    return FlowBound(
        instance=instance,
        value=values[best],
        method=best,
        preemptive=preemptive,
        noisy=instance.noise > 0.0,
        values=values,
        proof=proofs.get(best),
        seconds=time.perf_counter() - began,
    )


def known_method(method: str) -> None:
    """Check the name of a method."""
    if method != "best" and method not in METHODS:
        raise OptionError(f"method = {method!r}: must be 'best' or one of {METHODS}")


def affordable(instance: TapFingerInstance) -> tuple[Method, ...]:
    """Return the methods that take seconds: columns grow with the slots that tasks are there."""
    problem = scheduling_problem(instance)
    plan = quick_list(problem)
    flow = int((plan.completion(problem) - problem.arrival).sum())
    if flow > POOLED or not flow:
        return METHODS[:2]
    return METHODS if flow * instance.clusters <= APART else METHODS[:3]


def _prove(
    instance: TapFingerInstance, method: Method, preemptive: bool, time_limit: float | None
) -> float | PooledBound:
    problem = scheduling_problem(instance, duration=shortest_durations(instance))
    if method == "trivial":
        return trivial_bound(problem)
    if method == "volume":
        return mixed_volume_bound(instance) if preemptive else volume_bound(problem)
    pools = np.arange(instance.clusters) * (method == "relaxation")
    if preemptive:
        return pooled_preemptive_bound(instance, pools, gap=GAP, time_limit=time_limit)
    return pooled_bound(problem, pools, gap=GAP, time_limit=time_limit)
