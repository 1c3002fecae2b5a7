"""Placements that never change: any, the greedy one, and what INFIDA learns in hindsight."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.online.idn.environment import ORDERS, Order, Outcome, Slot, serve
from edgeopt.online.idn.policies.infida import Infida
from edgeopt.online.simulate import IgnoresFeedback
from edgeopt.options import check_choice, check_text, check_whole, generator, plain_array
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.models.idn import PlacementSolution
    from edgeopt.models.idn.demand import Demand


@compact_repr
@dataclass(frozen=True, eq=False)
class FixedPlacement(IgnoresFeedback):
    """Deploy the same models in every slot.

    Parameters
    ----------
    allocation
        Which models are deployed where, truth values, shape [V, M]; repositories included.
    name
        Name in tables.

    Notes
    -----
    With the placement of most gain, it is the comparator of the regret of Si Salem et al., equation
    (20).

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.models.idn import solve_placement
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.idn import FixedPlacement, IdnEnvironment
    >>> instance = small(1)
    >>> policy = FixedPlacement(solve_placement(instance).allocation)
    >>> simulate(IdnEnvironment(instance), policy, runs=1)
    IdnTrajectory(Fixed, 1 scenario, 4 slots, mean reward 1.80823)
    """

    allocation: NDArray[np.bool_]
    name: str = "Fixed"
    static: ClassVar[bool] = True
    """It places the same models in all slots."""

    def __post_init__(self) -> None:
        check_text("name", self.name)

    def start(self, instance: IdnInstance) -> NDArray[np.bool_]:
        """Check the allocation; the state is a read-only copy of it."""
        allocation = plain_array("allocation", self.allocation)
        if allocation.dtype != np.bool_ or allocation.shape != instance.size.shape:
            raise OptionError(
                f"allocation: must be a bool array of shape {instance.size.shape}, got "
                f"{allocation.dtype} of shape {allocation.shape}"
            )
        allocation = allocation.copy()
        changed = (allocation != instance.repository).any(axis=1) & instance.pinned
        if changed.any():
            raise OptionError(
                f"allocation: node {int(np.argmax(changed))} is a repository, its models are fixed"
            )
        allocation.flags.writeable = False
        return allocation

    def decide(
        self, state: NDArray[np.bool_], observation: Slot, rng: np.random.Generator
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the allocation."""
        return state, state

    def carry(self, state: NDArray[np.bool_], instance: IdnInstance) -> NDArray[np.bool_]:
        """Deploy the same in a network that has changed, but for nodes without any memory."""
        return self.start(instance) & (instance.active | instance.pinned)[:, np.newaxis]


@compact_repr
@dataclass(frozen=True, eq=False)
class PlannedPlacement(FixedPlacement):
    """Deploy what a solved program hosts, which knows the demand of all slots, in every slot."""

    hindsight: ClassVar[bool] = True
    name: str = "Plan"

    @classmethod
    def following(cls, plan: PlacementSolution, **options: Any) -> Self:
        """Return the policy that follows a plan of whole placements."""
        if plan.allocation.dtype != np.bool_:
            raise OptionError(
                "policy: the plan hosts models in part; build its program with relax=False"
            )
        return cls(plan.allocation, **options)


@compact_repr
@dataclass(frozen=True, eq=False)
class StaticGreedy(FixedPlacement):
    """Deploy what the greedy algorithm chose, in every slot.

    It knows the demand of all slots beforehand, which no online policy does.

    Parameters
    ----------
    allocation
        From :func:`edgeopt.models.idn.greedy`, or from `plan`; shape [V, M].
    name
        Name in tables.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, section VI: SG. It has no constant
    guarantee: a small model that earns most per MB can keep a large one out.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.models.idn import Demand, greedy
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.idn import IdnEnvironment, StaticGreedy
    >>> instance = small(1)
    >>> policy = StaticGreedy(greedy(instance, Demand.of(instance)))
    >>> simulate(IdnEnvironment(instance), policy, runs=1)
    IdnTrajectory(Static greedy, 1 scenario, 4 slots, mean reward 1.80823)
    """

    hindsight: ClassVar[bool] = True
    name: str = "Static greedy"

    @classmethod
    def plan(
        cls,
        instance: IdnInstance,
        demand: Demand | None = None,
        *,
        plan: Plan = "slots",
        stop: Literal["gain", "served"] = "gain",
    ) -> Self:
        """Run the greedy algorithm.

        Parameters
        ----------
        instance
            The network with its requests.
        demand
            Slots and weights to plan for; by default those of the instance, so that the gain is
            the mean gain per request.
        plan
            Without a demand: ``"slots"`` plans for all slots of the instance, ``"mean"`` for a
            single slot with the mean requests of every type.
        stop
            ``"gain"``: it goes on while anything that fits adds gain. ``"served"``: it stops, as
            printed, as soon as its models serve all requests planned for, so that no repository is
            used; small models serve everything long before nothing is left to gain.

        Returns
        -------
        StaticGreedy
            The policy.

        Raises
        ------
        OptionError
            If an option is unknown, or a plan is given besides a demand.
        """
        from edgeopt.models.idn import Demand, greedy
        from edgeopt.models.idn.solve import picks

        check_choice("plan", plan, PLANS)
        check_choice("stop", stop, ("gain", "served"))
        if demand is None and plan == "mean":
            requests = instance.requests.mean(axis=0, keepdims=True)
            demand = Demand(requests, instance.ranking.potential(requests), np.ones(1))
        elif demand is None:
            demand = Demand.of(instance, normalised=True)
        elif plan != "slots":
            raise OptionError("plan: a demand is planned for as it is; leave plan='slots'")
        if stop == "gain":
            return cls(greedy(instance, demand))
        name = ", ".join([cls.name, *([plan] if plan == "mean" else []), stop])
        return cls(_until_served(instance, demand, picks(instance, demand)), name)


PLANS: Final = ("slots", "mean")
Plan: TypeAlias = Literal["slots", "mean"]
"""What an offline policy plans for: every slot, or a single one with the mean requests."""


def _until_served(
    instance: IdnInstance, demand: Demand, pairs: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return the first of the growing allocations that leaves no request to a repository."""
    slots = np.rint(demand.requests).astype(np.int64)
    permanent = instance.ranking.permanent

    def first(count: int) -> NDArray[np.bool_]:
        allocation = np.array(instance.empty)
        allocation.flat[pairs[:count]] = True
        return allocation

    def is_served(count: int) -> bool:
        allocation = first(count)
        return all(not serve(instance, slot, allocation).load[permanent].any() for slot in slots)

    # Whatever is added, no request is served at a higher cost: halving finds the first.
    low, high = 0, pairs.size
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_served(middle) else (middle + 1, high)
    return first(low)


@compact_repr
@dataclass(frozen=True, eq=False)
class OfflineInfida(FixedPlacement):
    """A placement that INFIDA has learnt in hindsight; deployed in every slot.

    Parameters
    ----------
    allocation
        Which models are deployed where, drawn once from `fractional`, shape [V, M].
    name
        Name in tables.
    fractional
        Mean of the fractional allocations of all iterations, shape [V, M].

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, section VI: INFIDA offline; see
    `offline_infida`.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.online.idn import OfflineInfida, offline_infida
    >>> offline_infida(small(1), iterations=20).allocation.shape
    (3, 2)
    """

    hindsight: ClassVar[bool] = True
    name: str = "INFIDA offline"
    fractional: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))


def offline_infida(
    instance: IdnInstance,
    policy: Infida | None = None,
    *,
    iterations: int = 300,
    order: Order = "sequential",
    plan: Plan = "slots",
    rng: int | np.random.Generator = 0,
) -> OfflineInfida:
    r"""Learn one placement from the demand of all slots.

    Every iteration deploys a rounding of the current fractional allocation, serves every slot with
    it, and moves along the mean of the slots' supergradients. The placement is a rounding of

    .. math:: \bar y = \frac{1}{\tilde T} \sum_{t=1}^{\tilde T} y_t.

    Parameters
    ----------
    instance
        The network with its requests.
    policy
        Step, rounding, credit and ascent; of its refresh period nothing is used. `Infida()` if
        None.
    iterations
        Number of iterations :math:`\tilde T`. Each serves the distinct slots of the demand once;
        slots of equal requests count as one, with their share as weight.
    order
        How requests arrive within a slot, see :func:`edgeopt.online.idn.serve`.
    plan
        ``"slots"``: an iteration serves every distinct slot. ``"mean"``: it serves a single slot
        with the mean requests of every type, rounded to whole numbers.
    rng
        Seed or generator of coins and arrival orders.

    Returns
    -------
    OfflineInfida
        A policy that deploys the placement, with the mean fractional allocation.

    Raises
    ------
    OptionError
        If there is no iteration, or the order or plan is unknown.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, Proposition V.1.1, with the mean over the
    iterations (not over the slots), and INFIDA offline of section VI. There potential capacities
    are those of serving, which depend on what is deployed; the proposition asks for given ones.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.online.idn import offline_infida
    >>> offline_infida(small(1), iterations=20).allocation.shape
    (3, 2)
    """
    check_whole("iterations", iterations, 1)
    check_choice("order", order, ORDERS)
    check_choice("plan", plan, PLANS)
    learner = replace(policy if policy is not None else Infida(), refresh=1)
    coins, arrivals = generator(rng).spawn(2)
    slots, count = np.unique(instance.requests, axis=0, return_counts=True)
    if plan == "mean":
        mean = np.rint(instance.requests.mean(axis=0, keepdims=True))
        slots, count = mean.astype(np.int64), np.array([instance.horizon])
    # Steps that depend on the horizon mean the number of steps to come.
    known = instance.replace(requests=np.zeros((iterations, instance.types), dtype=np.int64))
    state = learner.start(known)
    total = np.zeros_like(state.climbing.point)
    for iteration in range(iterations):
        total += state.climbing.point
        allocation, state = learner.decide(state, Slot(iteration), coins)
        gradient = np.zeros_like(total)
        for requests, times in zip(slots, count, strict=True):
            served = serve(
                known, requests, allocation, order=order, draw=_draw(order, arrivals, known.types)
            )
            outcome = Outcome(requests, *served)
            gradient += times / instance.horizon * learner.gradient(state, allocation, outcome)
        state = learner.climb(state, gradient)
    point = np.clip(total / iterations, 0.0, 1.0)
    found = replace(state, climbing=replace(state.climbing, point=point))
    allocation, _ = learner.decide(found, Slot(0), coins)
    return OfflineInfida(allocation, fractional=found.fractional)


def _draw(order: Order, rng: np.random.Generator, types: int) -> NDArray[np.int64] | int | None:
    if order == "sequential":
        return rng.permutation(types)
    return int(rng.integers(2**63 - 1)) if order == "random" else None
