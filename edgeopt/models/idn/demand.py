r"""Demand over many slots: requests, and potential capacities, slot by slot."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import InputError
from edgeopt.kernels import compiled
from edgeopt.models.idn.gain import checked_allocation, checked_amounts, gain_kernel
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.arrays import Floats
    from edgeopt.instances.idn import IdnInstance
    from edgeopt.instances.idn.instance import Columns


@compact_repr
@dataclass(frozen=True, eq=False)
class Demand:
    """Distinct slots with weights.

    Parameters
    ----------
    requests
        Requests of each type, shape [S, R].
    potential
        Potential capacity of each option of the ranking, requests, shape [S, P]. Of a repository
        model it equals the requests.
    weight
        Of each slot, nonnegative, shape [S]; they sum up to 1 in an average over slots.

    Raises
    ------
    InputError
        If shapes do not fit, or a number is negative or not finite.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.models.idn import Demand
    >>> Demand.of(small(1)).weight
    array([0.25, 0.25, 0.25, 0.25])
    """

    requests: Floats
    potential: Floats
    weight: Floats

    def __post_init__(self) -> None:
        requests, potential = (np.asarray(each) for each in (self.requests, self.potential))
        if requests.ndim != 2:
            raise InputError("requests", "must have shape [S, R]", value=f"{requests.shape}")
        if potential.ndim != 2:
            raise InputError("potential", "must have shape [S, P]", value=f"{potential.shape}")
        slots = len(requests)
        for name, shape in (
            ("requests", requests.shape),
            ("potential", (slots, potential.shape[1])),
            ("weight", (slots,)),
        ):
            given = getattr(self, name)
            array = checked_amounts(name, given, shape)
            if array is given and array.flags.writeable:
                array = array.copy()
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.requests)

    def __reduce__(self) -> tuple[object, ...]:
        return Demand, (self.requests, self.potential, self.weight)

    @classmethod
    def of(
        cls,
        instance: IdnInstance,
        *,
        potential: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        normalised: bool = False,
    ) -> Demand:
        """Take the demand of an instance, equal slots merged.

        Parameters
        ----------
        instance
            The network and its requests.
        potential
            Potential capacity of each option in each slot, such as a simulation reported, shape
            [T, P]; by default that of a model with no other user.
        weight
            Of each slot, shape [T]; 1 / T by default.
        normalised
            Divide the weight of each slot by its requests, so that a weighted gain is the mean gain
            per request, ms. Slots without requests then weigh nothing.

        Returns
        -------
        Demand
            Distinct slots in the order of their first appearance.

        Raises
        ------
        InputError
            If an array has another shape or a number that is not allowed, or the potential capacity
            of a repository model differs from the requests.
        """
        ranking, horizon = instance.ranking, instance.horizon
        requests = instance.requests.astype(np.float64)
        if weight is None:
            weights = np.full(horizon, 1.0 / max(1, horizon))
        else:
            weights = checked_amounts("weight", weight, (horizon,))
        if normalised:
            total = instance.total_requests
            weights = np.divide(weights, total, out=np.zeros(horizon), where=total > 0)
        given = None
        if potential is not None:
            given = checked_amounts("potential", potential, (horizon, ranking.pair.size))
            _require_full_repositories(instance, requests, given)
        kept, slot_of = _distinct(requests if given is None else np.hstack([requests, given]))
        amounts = ranking.potential(instance.requests[kept]) if given is None else given[kept]
        merged = np.zeros(len(kept))
        np.add.at(merged, slot_of, weights)
        asked = requests[kept]
        for fresh in (asked, amounts, merged):
            fresh.flags.writeable = False  # there is no other reference: no copy is needed
        demand = cls(asked, amounts, merged)
        object.__setattr__(demand, "_fits", weakref.ref(instance))
        return demand

    def fitting(self, instance: IdnInstance) -> Demand:
        """Return this demand if it belongs to an instance, or raise an InputError."""
        known = getattr(self, "_fits", None)
        if known is not None and known() is instance:
            return self  # nothing has changed since: its arrays are read-only
        for name, length in (
            ("requests", instance.types),
            ("potential", instance.ranking.pair.size),
        ):
            array = getattr(self, name)
            if array.shape[1] != length:
                raise InputError(
                    name, f"must have shape [S, {length}]", value=f"shape {array.shape}"
                )
        _require_full_repositories(instance, self.requests, self.potential)
        object.__setattr__(self, "_fits", weakref.ref(instance))
        return self


def _require_full_repositories(instance: IdnInstance, requests: Floats, potential: Floats) -> None:
    ranking = instance.ranking
    at = np.flatnonzero(ranking.permanent)
    differs = potential[:, at] != requests[:, ranking.type[at]]
    if differs.any():
        slot, option = (int(i) for i in np.argwhere(differs)[0])
        raise InputError(
            "potential",
            "must equal the requests of its type at a repository model",
            index=(slot, int(at[option])),
            value=potential[slot, at[option]],
        )


def _distinct(rows: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First appearance of each distinct row, and which of them each row equals."""
    seen: dict[bytes, int] = {}
    slot_of = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows], dtype=np.int64)
    kept = np.unique(slot_of, return_index=True)[1]
    return kept, slot_of


def average_gain(instance: IdnInstance, demand: Demand, allocation: ArrayLike) -> float:
    r"""Return the weighted gain :math:`\sum_t w_t\, G(r_t, l_t, x)` of an allocation.

    Parameters
    ----------
    instance
        The network.
    demand
        Slots and weights.
    allocation
        What every node hosts, whole or fractional, shape [V, M].

    Returns
    -------
    The gain, ms; per request if the demand is normalised.

    Raises
    ------
    InputError
        If an array has another shape or a number that is not allowed.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, objective of (14).

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.models.idn import Demand, average_gain, greedy
    >>> instance = small(1)
    >>> demand = Demand.of(instance)
    >>> round(average_gain(instance, demand, greedy(instance, demand)), 3)
    10.0
    """
    demand = demand.fitting(instance)
    hosted = checked_allocation(instance, allocation).ravel().astype(np.float64)
    gains = np.empty(len(demand))
    _gains(instance.ranking.columns, demand.requests, demand.potential, hosted, gains)
    return float(demand.weight @ gains)


@compiled(writes="out")
def _gains(
    options: Columns, requests: Floats, potential: Floats, hosted: Floats, out: Floats
) -> None:
    for t in range(out.size):
        out[t] = gain_kernel(options, requests[t], potential[t], hosted)
