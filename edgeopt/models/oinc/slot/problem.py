"""The requests of one slot, waiting for a site, a band share and a CPU share; and their plan."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import InputError
from edgeopt.instances.fields import Floats, Integers, field
from edgeopt.instances.records import Record, Size
from edgeopt.instances.validate import frozen, require
from edgeopt.options import real_array
from edgeopt.representation import compact_repr
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.arrays import Flags, Ints
    from edgeopt.instances.oinc import OincInstance


def _positive(name: str, values: NDArray[np.float64]) -> None:
    require(name, values > 0, values, "must be positive")


def _shares(name: str, values: NDArray[np.float64]) -> None:
    require(name, (values > 0) & (values <= 1), values, "must lie in (0, 1]")


class SlotProblem(Record, axes={"request": "n", "site": "J"}, empty=("request",)):
    r"""Inference of one slot: each request goes to one site and is given band and CPU there.

    Request i on site j takes :math:`A_{ij} / v_{ij} + E_{ij} / z_{ij}` seconds with the band share
    v and the CPU share z. The band shares of a site sum to at most 1, its CPU shares to at most
    what retraining leaves.

    Notes
    -----
    Zeng et al., problem (3). There constraints sum over requests where they mean one.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.slot import SlotProblem, slot_problem
    >>> problem = slot_problem(small(1), 0)
    >>> problem.requests, problem.sites
    (1, 3)
    """

    transmission: Floats = field(
        "request", "site", unit="s", symbol="A", least=0, infinite=True,
        doc="Time to send each request with the whole band. Infinite where there is no link.",
    )  # fmt: skip
    computation: Floats = field(
        "request", "site", unit="s", symbol="E", least=0,
        doc="Time to compute it with the whole CPU.",
    )  # fmt: skip
    slo: Floats = field(
        "request", unit="s", infinite=True, first=True, check=_positive,
        doc="Longest latency that a request should have. Positive, infinity for none.",
    )  # fmt: skip
    room: Floats = field(
        "site", symbol=r"\varphi_j", first=True, check=_shares,
        doc="Share of the CPU of each site that requests may use. In (0, 1].",
    )  # fmt: skip
    weight: Floats = field(
        "request", default=None, fill=1.0, check=_positive,
        doc="Weight of the latency of each request. Positive.",
    )  # fmt: skip
    device: Integers = field(
        "request", default=None, fill=lambda slot: np.arange(slot.requests),
        doc="Device of each request. Counted through by default.",
    )  # fmt: skip

    requests = Size("request", "Number of requests n.")
    sites = Size("site", "Number of sites J.")

    @cached_property
    def linked(self) -> Flags:
        """Whether each request can reach a site at all, shape [n]; the others are refused."""
        return frozen(np.asarray(np.isfinite(self.transmission).any(axis=1)))

    @cached_property
    def largest_first(self) -> Ints:
        """The requests by their least times, wherever they go, the longest first, shape [n]."""
        nearest = self.transmission.min(axis=1) + self.computation.min(axis=1)
        return frozen(np.argsort(-nearest, kind="stable"))

    def of(self, some: Flags) -> SlotProblem:
        """Return some of the requests, shape [n]."""
        if some.all():
            return self
        names = "transmission", "computation", "slo", "weight", "device"
        return dataclasses.replace(self, **{name: getattr(self, name)[some] for name in names})

    def with_reserved(self, reserved: ArrayLike) -> SlotProblem:
        """Return the same requests with other reserved shares, in [0, 1), shape [J]."""
        shares = real_array("reserved", reserved)
        if shares.shape != self.room.shape:
            shares = np.broadcast_to(shares, self.room.shape)
        right = (shares >= 0) & (shares < 1)
        if not right.all():
            require("reserved", right, shares, "must lie in [0, 1)")
        # All else has been checked already.
        made = self._known(self._sizes, **self._values | {"room": frozen(1.0 - shares)})
        vars(made).update(linked=self.linked, largest_first=self.largest_first)
        return made

    @cached_property
    def _values(self) -> dict[str, Any]:
        """The fields."""
        return {one.name: getattr(self, one.name) for one in self._fields}


def slot_problem(instance: OincInstance, slot: int, reserved: ArrayLike = 0.0) -> SlotProblem:
    """Return the requests of a slot, with some CPU reserved for jobs.

    Parameters
    ----------
    instance
        The instance.
    slot
        Slot, counted from 0.
    reserved
        Share of the CPU of each site that is kept for jobs, in [0, 1), a number or shape [J].

    Returns
    -------
    The problem of the slot; weights are 1, since the weight of a slot scales all its latencies.

    Raises
    ------
    InputError
        If there is no such slot, or a share lies outside [0, 1).

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.slot import slot_problem
    >>> slot_problem(small(1), 0)
    SlotProblem(requests=1, sites=3)
    """
    whole = isinstance(slot, int | np.integer) and not isinstance(slot, bool)
    if not whole or not 0 <= slot < instance.slots:
        raise InputError("slot", f"must be one of the {instance.slots} slots", value=slot)
    # All policies are shown the same problem.
    known: dict[int, SlotProblem] = vars(instance).setdefault("_slot_problems", {})
    if slot not in known:
        known[slot] = _slot_problem(instance, slot)
    problem = known[slot]
    untouched = np.ndim(reserved) == 0 and reserved == 0.0
    return problem if untouched else problem.with_reserved(reserved)


def _slot_problem(instance: OincInstance, slot: int) -> SlotProblem:
    """Return the requests of a slot; what the instance has checked needs no second check."""
    device = np.flatnonzero(instance.active[slot])
    return SlotProblem._known(
        {"request": device.size, "site": instance.sites},
        transmission=frozen(instance.transmission_seconds[slot, device]),
        computation=frozen(instance.computation_seconds[slot, device]),
        slo=frozen(instance.slo[slot, device]),
        room=frozen(np.ones(instance.sites)),
        weight=frozen(np.ones(device.size)),
        device=frozen(device),
    )


@in_html
@compact_repr
@dataclass(frozen=True, eq=False)
class SlotPlan:
    """Site, band share and CPU share of every request of a slot.

    Parameters
    ----------
    problem
        The requests.
    site
        Site of each request, -1 where it is refused, shape [n].
    band, cpu
        Shares of the band and of the whole CPU of its site, shape [n]; 0 where refused.
    bound
        Lower bound on the objective of any plan that answers the same requests and meets the
        objectives that are met here, s; NaN where none is known.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.slot import SlotPlan, slot_problem, solve_slot
    >>> plan = solve_slot(slot_problem(small(1), 0))
    >>> plan.site, plan.met
    (array([1]), array([ True]))
    """

    problem: SlotProblem
    site: NDArray[np.int64]
    band: NDArray[np.float64]
    cpu: NDArray[np.float64]
    bound: float = math.nan

    @cached_property
    def latency(self) -> NDArray[np.float64]:
        """Latency of each request, s, shape [n]; NaN where refused, infinite without a share."""
        problem, served = self.problem, self.site >= 0
        latency = np.full(problem.requests, np.nan)
        request, site = np.flatnonzero(served), self.site[served]
        latency[served] = _quotient(problem.transmission[request, site], self.band[served])
        latency[served] += _quotient(problem.computation[request, site], self.cpu[served])
        return frozen(latency)

    @cached_property
    def met(self) -> NDArray[np.bool_]:
        """Whether each request is answered within its objective, shape [n]."""
        with np.errstate(invalid="ignore"):
            return frozen(self.latency <= self.problem.slo * (1.0 + 1e-9))

    @property
    def objective(self) -> float:
        """Weighted sum of the latencies of answered requests, s."""
        served = self.site >= 0
        return float(self.problem.weight[served] @ self.latency[served])


def _quotient(amount: NDArray[np.float64], share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide; nothing takes no time even without a share."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(amount > 0, amount / share, 0.0)
