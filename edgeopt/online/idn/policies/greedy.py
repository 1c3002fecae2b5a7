"""Static greedy: the best known placement by hand, made once from the demand of all slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgeopt.online.idn.policies.fixed import FixedPlacement

if TYPE_CHECKING:
    from typing import Self

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.models.idn.demand import Demand

__all__ = ["StaticGreedy"]


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
    """

    name: str = "Static greedy"

    @classmethod
    def plan(cls, instance: IdnInstance, demand: Demand | None = None) -> Self:
        """Run the greedy algorithm.

        Parameters
        ----------
        instance
            The network with its requests.
        demand
            Slots and weights to plan for; by default those of the instance, so that the gain is
            the mean gain per request.

        Returns
        -------
        StaticGreedy
            The policy.
        """
        from edgeopt.models.idn import Demand, greedy

        if demand is None:
            demand = Demand.of(instance, normalised=True)
        return cls(greedy(instance, demand))
