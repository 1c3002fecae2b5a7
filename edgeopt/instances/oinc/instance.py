"""The instance of OINC: sites that answer requests each second and retrain models beside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.identity import Identified
from edgeopt.instances.oinc import rules
from edgeopt.instances.validate import (
    frozen,
    frozen_array,
    frozen_flags,
    frozen_integers,
    frozen_number,
    real_numbers,
    require,
    require_positive,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


__all__ = ["OincInstance"]

_PER_REQUEST = ("slot", "device")


@dataclass(frozen=True, eq=False, repr=False)
class OincInstance(Identified, files="edgeopt.instances.oinc.files"):
    r"""Everything that inference each second and retraining beside it are given, read-only.

    Slots (a second each), devices, sites and jobs count from 0. A *request* is one inference that
    an active device asks for in a slot; it is sent to one site and answered there. A *job* retrains
    one model; it is served at one site, over as many slots as it takes.

    Parameters
    ----------
    speed
        CPU of each site, :math:`f_j > 0`, Gcycle/s, shape [J].
    rate
        Rate :math:`R_{ij}^t > 0` from a device to a site with the whole band, Mbit/s, shape
        [T, I, J], or [I, J] if it never changes.
    active
        Whether a device has a request in a slot, shape [T, I].
    request_size
        Data :math:`d_i^t \ge 0` that a request sends, Mbit, shape [T, I].
    request_work
        Computation :math:`c_i^t \ge 0` of a request, Gcycle, shape [T, I].
    slo
        Longest latency that a request should have, :math:`S_i^t > 0`, s, at most a slot, shape
        [T, I].
    arrival
        Slot :math:`a_k` at whose beginning each job becomes known, ascending, shape [K].
    work
        Computation :math:`w_k > 0` of each job, Gcycle, shape [K].
    deadline
        Time :math:`D_k > a_k` by which a job should be complete, slots since the start, shape [K];
        may lie after the last slot.
    weight
        Weight :math:`\beta_k \ge 0` of the completion time of a job, shape [K]; 1 by default.
    request_weight
        Weight :math:`\alpha_t \ge 0` of the latencies in a slot, shape [T]; 1 by default.
    latency_scale
        Latency :math:`N_\mathrm{inf} > 0` that counts as 1 in the weighted sum, s.
    completion_scale
        Completion time :math:`N_\mathrm{ret} > 0` that counts as 1 in the weighted sum, s.
    refusal_latency
        Latency that a request counts with which is not answered, s, at least a slot.
    job_kind
        Kind of each job, such as which model it retrains, counted from 0, shape [K], for tables.
    names
        Name of each site.
    kinds
        Name of each kind of job.
    origin
        Where the data come from, in sentences that a study shows.

    Raises
    ------
    InstanceError
        If a rule above is broken, with field, index, value and rule.

    Notes
    -----
    The paper's constraint on deadlines stands in its text alone; here deadlines, and objectives of
    requests, are wishes: breaking them is counted, never forbidden. Entries of devices that are not
    active have to obey the rules and mean nothing.
    """

    speed: NDArray[np.float64]
    rate: NDArray[np.float64]
    active: NDArray[np.bool_]
    request_size: NDArray[np.float64]
    request_work: NDArray[np.float64]
    slo: NDArray[np.float64]
    arrival: NDArray[np.int64]
    work: NDArray[np.float64]
    deadline: NDArray[np.float64]
    weight: NDArray[np.float64] | None = None
    request_weight: NDArray[np.float64] | None = None
    latency_scale: float = 0.25
    completion_scale: float = 100.0
    refusal_latency: float = 3.0
    job_kind: NDArray[np.int64] | None = None
    names: tuple[str, ...] | None = None
    kinds: tuple[str, ...] | None = None
    origin: str = ""

    def __post_init__(self) -> None:
        self._set_sites()
        self._set_requests()
        self._set_jobs()
        for name in ("latency_scale", "completion_scale", "refusal_latency"):
            self._set(**{name: frozen_number(name, getattr(self, name))})
        rules.check_numbers(self)
        self._set(**rules.own_labels(self))

    def _set(self, **fields: object) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _set_sites(self) -> None:
        active = frozen_flags("active", self.active, _PER_REQUEST)
        speed = frozen_array("speed", self.speed, ("site",))
        require_positive("speed", speed)
        sizes = {"slot": active.shape[0], "device": active.shape[1], "site": speed.size}
        rate = rules.own_rates(self.rate, sizes)
        self._set(active=active, speed=speed, rate=rate)

    def _set_requests(self) -> None:
        sizes = {"slot": self.slots, "device": self.devices}
        for name in ("request_size", "request_work", "slo"):
            self._set(**{name: frozen_array(name, getattr(self, name), _PER_REQUEST, sizes)})
        weight = np.ones(self.slots) if self.request_weight is None else self.request_weight
        self._set(request_weight=frozen_array("request_weight", weight, ("slot",), sizes))
        rules.check_requests(self)

    def _set_jobs(self) -> None:
        per_job = ("job",)
        arrival = frozen_integers("arrival", self.arrival, per_job, empty=True)
        sizes = {"job": arrival.size}
        weight = np.ones(arrival.size) if self.weight is None else self.weight
        values = {"work": self.work, "deadline": self.deadline, "weight": weight}
        real = {
            name: frozen_array(name, value, per_job, sizes, empty=True)
            for name, value in values.items()
        }
        self._set(arrival=arrival, **real)
        rules.check_jobs(self)

    # --- sizes -----------------------------------------------------------------------------

    @property
    def slots(self) -> int:
        """Number of slots T."""
        return int(self.active.shape[0])

    @property
    def devices(self) -> int:
        """Number of devices I."""
        return int(self.active.shape[1])

    @property
    def sites(self) -> int:
        """Number of sites J."""
        return int(self.speed.size)

    @property
    def jobs(self) -> int:
        """Number of jobs K."""
        return int(self.arrival.size)

    # --- what follows from the data --------------------------------------------------------

    @cached_property
    def transmission_seconds(self) -> NDArray[np.float64]:
        """Time to send a request with the whole band, A = d / R, s, shape [T, I, J]."""
        return frozen(self.request_size[:, :, None] / self.rate)

    @cached_property
    def computation_seconds(self) -> NDArray[np.float64]:
        """Time to compute a request with the whole CPU, E = c / f, s, shape [T, I, J]."""
        return frozen(self.request_work[:, :, None] / self.speed)

    def job_seconds(self, share: ArrayLike = 1.0) -> NDArray[np.float64]:
        """Return how long each job takes on each site with a share of its CPU.

        Parameters
        ----------
        share
            Share of the CPU that is reserved for jobs, in [0, 1], a number or shape [J].

        Returns
        -------
        h = w / (p f), s, shape [K, J]; infinite where the share is 0.

        Raises
        ------
        InstanceError
            If a share lies outside [0, 1].
        """
        shares = real_numbers("share", share)
        if shares.shape not in ((), self.speed.shape):
            rule = f"must be a number or have {self.sites} entries, one per site"
            raise InstanceError("share", rule, value=f"array of shape {shares.shape}")
        shares = np.array(np.broadcast_to(shares, self.speed.shape))
        good = (shares >= 0) & (shares <= 1)
        require("share", good, shares, "must lie in [0, 1]")
        with np.errstate(divide="ignore"):
            return np.asarray(self.work[:, None] / (shares * self.speed))

    def __repr__(self) -> str:
        return (
            f"OincInstance(slots={self.slots}, devices={self.devices}, sites={self.sites}, "
            f"jobs={self.jobs})"
        )
