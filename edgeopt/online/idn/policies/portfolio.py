"""A portfolio: several policies propose placements, and the best for the last demand is hosted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.online.idn.environment import Outcome, serve
from edgeopt.online.idn.policies.infida import Infida
from edgeopt.online.idn.policies.olag import Olag
from edgeopt.options import check_text, check_whole, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeopt.arrays import Flags as Bools
    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.idn import IdnInstance
    from edgeopt.online.idn.environment import Slot


@compiled(writes="out")
def _fill(size: Floats, budget: Floats, active: Bools, others: Bools, out: Bools) -> None:
    """Add what fits of other placements [N, V, M] to a placement [V, M], the first ones first."""
    for v in range(size.shape[0]):
        if active[v]:
            room = budget[v]
            for m in range(size.shape[1]):
                room -= size[v, m] if out[v, m] else 0.0
            for n in range(others.shape[0]):
                for m in range(size.shape[1]):
                    if others[n, v, m] and not out[v, m] and size[v, m] <= room:
                        out[v, m] = True
                        room -= size[v, m]


def _proposers() -> tuple[Any, ...]:
    return Infida(pairs="useful", residual="fill"), Olag(), Infida.recommended()


@dataclass(frozen=True, eq=False)
class PortfolioState:
    """What a portfolio remembers.

    Attributes
    ----------
    instance
        The network.
    states
        Of its policies.
    proposed
        What they propose for the slot, shape [N, V, M].
    allocation
        What is deployed, shape [V, M]; None before the first slot.
    requests
        Of the last slot, shape [R]; None before the first.
    order
        In which requests arrive where each policy is alone, a permutation of the types.
    """

    instance: IdnInstance
    states: tuple[Any, ...]
    proposed: Bools
    allocation: Bools | None = None
    requests: Ints | None = None
    order: Ints | None = None


@dataclass(frozen=True)
class Portfolio:
    """Deploy, of what several policies propose, what would have served the last slot best.

    Every policy learns as if it were alone: its own placement serves the requests of the slot on
    paper. Before a slot, the placements that they propose and the one that is deployed serve the
    requests of the last slot in random orders, again on paper; the one of least cost is deployed.
    What is left of the budgets is filled, by what is there already and then by what the others
    propose, which never raises the cost of a slot. All budgets are kept if the policies keep them.

    It must see the requests of all types in one place, where INFIDA and OLAG send messages along
    the paths, and takes the time of all its policies.

    Parameters
    ----------
    policies
        The policies; by default INFIDA within the budgets on useful models, OLAG, and
        `Infida.recommended`.
    orders
        Orders of arrival over which placements are compared. With a single one for all slots, the
        placement that happens to suit that order would stay.
    label
        Name in tables.

    Raises
    ------
    OptionError
        If there is no policy, or fewer than one order.

    Notes
    -----
    Ours.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.idn import IdnEnvironment, Portfolio
    >>> simulate(IdnEnvironment(small(1)), Portfolio(), runs=5)
    IdnTrajectory(Portfolio, 5 scenarios, 4 slots, mean reward 1.80823)
    """

    policies: Sequence[Any] = field(default_factory=_proposers)
    orders: int = 3
    label: str = "Portfolio"

    def __post_init__(self) -> None:
        object.__setattr__(self, "policies", tuple(listed("policies", self.policies)))
        check_whole("policies: how many", len(self.policies), 1)
        check_whole("orders", self.orders, 1)
        check_text("label", self.label)

    @property
    def name(self) -> str:
        """Name in tables."""
        return self.label

    def start(self, instance: IdnInstance) -> PortfolioState:
        """Start all policies."""
        states = tuple(policy.start(instance) for policy in self.policies)
        return PortfolioState(instance, states, np.array([instance.empty] * len(states)))

    def decide(
        self, state: PortfolioState, observation: Slot, rng: np.random.Generator
    ) -> tuple[Bools, PortfolioState]:
        """Ask all policies, and choose by the requests of the last slot."""
        instance = state.instance
        answers = [
            policy.decide(own, observation, rng)
            for policy, own in zip(self.policies, state.states, strict=True)
        ]
        proposed = np.array([allocation for allocation, _ in answers])
        here = proposed if state.allocation is None else np.array([state.allocation, *proposed])
        best = 0
        if state.requests is not None:
            cost = np.zeros(len(here))
            for _ in range(self.orders):
                draw = rng.permutation(instance.types)
                cost += [serve(instance, state.requests, one, draw=draw).cost for one in here]
            best = int(np.argmin(cost))
        allocation = here[best].copy()
        _fill(instance.size, instance.budget, instance.active, here, allocation)
        states, order = tuple(own for _, own in answers), rng.permutation(instance.types)
        return allocation, replace(
            state, states=states, proposed=proposed, allocation=allocation, order=order
        )

    def learn(
        self, state: PortfolioState, observation: Slot, decision: Bools, feedback: Outcome
    ) -> PortfolioState:
        """Let every policy learn from what its own placement would have come to."""
        requests = feedback.requests
        states = []
        for policy, own, mine in zip(self.policies, state.states, state.proposed, strict=True):
            served = serve(state.instance, requests, mine, draw=state.order)
            states.append(policy.learn(own, observation, mine, Outcome(requests, *served)))
        return replace(state, states=tuple(states), requests=requests)

    def carry(self, state: PortfolioState, instance: IdnInstance) -> PortfolioState:
        """Go on in a network that has changed, with what the policies carry over."""
        states = tuple(
            policy.carry(own, instance) if hasattr(policy, "carry") else policy.start(instance)
            for policy, own in zip(self.policies, state.states, strict=True)
        )
        return replace(state, instance=instance, states=states, allocation=None)
