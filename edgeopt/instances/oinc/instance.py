"""The instance of OINC: sites that answer requests every second and retrain models."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.fields import Flags, Floats, Integers, Names, field
from edgeopt.instances.instance import Instance
from edgeopt.instances.plausibility import first_places
from edgeopt.instances.records import Size, rule
from edgeopt.instances.validate import (
    NO_LINK,
    check_rates,
    frozen,
    frozen_array,
    real_numbers,
    require,
    upload_seconds,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import ArrayLike


SLOT_SECONDS: Final = 1.0
"""Length of a slot, s: latencies and completion times are given in this unit."""

_REQUEST: Final = ("slot", "device")
_AXES: Final = {"slot": "T", "device": "I", "site": "J", "job": "K", "kind": "M"}
_AT_MOST_A_SLOT: Final = f"must be at most a slot, {SLOT_SECONDS:g} s"


def _in_all_slots(instance: OincInstance, values: ArrayLike) -> Floats:
    rate = real_numbers("rate", values)
    if rate.ndim != 2:
        return rate
    sizes = {"device": instance.devices, "site": instance.sites}
    rate = frozen_array("rate", rate, ("device", "site"), sizes)
    check_rates("rate", rate)
    return np.broadcast_to(rate, (instance.slots, *rate.shape))


class OincInstance(Instance, kind="oinc", axes=_AXES, empty=("job", "kind")):
    r"""The data of inference every second and of retraining on the same sites, read-only.

    Slots (a second each), devices, sites and jobs count from 0. A *request* is one inference that
    an active device asks for in a slot; it is sent to one site and answered there. A *job* retrains
    one model; it is served at one site, over as many slots as it takes.

    Notes
    -----
    The paper's constraint on deadlines stands in its text alone; here deadlines, and objectives of
    requests, are soft: violations are counted, never forbidden. Entries of inactive devices must
    obey the rules, but have no effect.

    Examples
    --------
    >>> from edgeopt.instances.oinc import OincInstance, small
    >>> small(1).slots
    2
    """

    speed: Floats = field("site", unit="Gcycle/s", symbol="f_j", above=0, doc="CPU of a site.")
    rate: Floats = field(
        *_REQUEST, "site", unit="Mbit/s", symbol="R_{ij}^t", least=0, message=NO_LINK,
        prepare=_in_all_slots, broadcastable=("slot",),
        doc="Rate with the whole band. Shape [I, J] if it never changes. 0: no link, so that the "
        "site cannot answer the device in the slot.",
    )  # fmt: skip
    active: Flags = field(*_REQUEST, first=True, doc="Whether a device has a request.")
    request_size: Floats = field(
        *_REQUEST, unit="Mbit", symbol="d_i^t", least=0, rounds="down", doc="Data of a request."
    )
    request_work: Floats = field(
        *_REQUEST, unit="Gcycle", symbol="c_i^t", least=0, rounds="down",
        doc="Computation of a request.",
    )  # fmt: skip
    slo: Floats = field(
        *_REQUEST, unit="s", symbol="S_i^t", above=0,
        doc="Longest latency of a request. At most a slot.",
    )  # fmt: skip
    arrival: Integers = field(
        "job", symbol="a_k", of="slot", ascending=True,
        doc="Slot in which a job arrives. Ascending.",
    )  # fmt: skip
    work: Floats = field(
        "job", unit="Gcycle", symbol="w_k", above=0, rounds="down",
        message="must be positive: there is nothing to do", doc="Computation of a job.",
    )  # fmt: skip
    deadline: Floats = field(
        "job", unit="s", symbol="D_k", rounds="up",
        doc="Time by which a job should be complete. It may lie after the last slot.",
    )  # fmt: skip
    weight: Floats = field(
        "job", symbol=r"\beta_k", least=0, default=None, fill=1.0, always=True,
        doc="Weight of a completion time.",
    )  # fmt: skip
    request_weight: Floats = field(
        "slot", symbol=r"\alpha_t", least=0, default=None, fill=1.0, always=True,
        doc="Weight of the latencies in a slot.",
    )  # fmt: skip
    latency_scale: float = field(
        unit="s", symbol=r"N_\mathrm{inf}", above=0, default=0.25, always=True,
        doc="Latency that counts as 1.",
    )  # fmt: skip
    completion_scale: float = field(
        unit="s", symbol=r"N_\mathrm{ret}", above=0, default=100.0, always=True,
        doc="Completion time that counts as 1.",
    )  # fmt: skip
    refusal_latency: float = field(
        unit="s", least=SLOT_SECONDS, message=f"must be at least a slot, {SLOT_SECONDS:g} s",
        default=3.0, always=True, doc="Latency that a refused request counts with.",
    )  # fmt: skip
    job_kind: Integers | None = field(
        "job", least=0, default=None, of="kind",
        doc="Kind of a job. Such as which model it retrains; counted from 0, for tables.",
    )  # fmt: skip
    names: Names | None = field("site", default=None, doc="Name of a site.")
    kinds: Names | None = field("kind", default=None, doc="Name of a kind of job.")
    origin: str = field(
        default="", always=True,
        doc="Where the data come from. In sentences that a study shows.",
    )  # fmt: skip

    slots = Size("slot", "Number of slots T.")
    devices = Size("device", "Number of devices I.")
    sites = Size("site", "Number of sites J.")
    jobs = Size("job", "Number of jobs K.")

    def _seconds(self, axis: str, lengths: Mapping[str, int]) -> float | None:
        return SLOT_SECONDS if axis == "slot" else None

    # --- what joins fields -----------------------------------------------------------------

    @rule
    def _check_requests(self) -> None:
        """Check that objectives of requests are at most a slot."""
        require("slo", self.slo <= SLOT_SECONDS, self.slo, _AT_MOST_A_SLOT)

    @rule
    def _check_links(self) -> None:
        """Check that some request reaches a site, if there are any."""
        check_rates("rate", self.rate)
        asked = np.argwhere(self.active)
        if asked.size and not (self.rate[self.active] > 0).any():
            rule = "no link is left to any device that has a request"
            raise InstanceError("rate", rule, index=(*asked[0].tolist(), 0), value=0.0)

    @rule
    def _check_jobs(self) -> None:
        """Check that deadlines of jobs come after their arrival."""
        deadline = self.deadline
        require("deadline", deadline > self.arrival, deadline, "must come after the arrival")

    @rule
    def _check_kinds(self) -> None:
        """Check that kinds of jobs are among those that have a name, where they have."""
        if self.job_kind is not None and self.kinds is not None:
            kind, kinds = self.job_kind, len(self.kinds)
            require("job_kind", kind < kinds, kind, f"must be one of the {kinds} kinds")

    def _remarks(self) -> Iterator[str]:
        """Say which sites devices do not reach, and which requests are refused for it."""
        down = (self.rate == 0) & self.active[:, :, None]
        for t, d, s in first_places(down):
            device, site = self._ends(d, s)
            yield (
                f"rate[{t}, {d}, {s}] = 0 means no link: {device} cannot reach {site} in slot {t}"
            )
        for t, d in first_places(down.all(axis=2)):
            device, _ = self._ends(d, 0)
            yield (
                f"rate[{t}, {d}] = 0: no site can be reached: the request of {device} in slot {t} "
                "is refused"
            )

    def _ends(self, device: int, site: int) -> tuple[str, str]:
        """Return what notes call a device and a site."""
        return self.name_of("device", device), self.name_of("site", site)

    # --- what follows from the data --------------------------------------------------------

    @cached_property
    def transmission_seconds(self) -> Floats:
        """Time to send a request with the whole band, A = d / R, s, shape [T, I, J].

        Infinite where there is no link, also for a request that has nothing to send.
        """
        return frozen(upload_seconds(self.request_size[:, :, None], self.rate))

    @cached_property
    def computation_seconds(self) -> Floats:
        """Time to compute a request with the whole CPU, E = c / f, s, shape [T, I, J]."""
        return frozen(self.request_work[:, :, None] / self.speed)

    @cached_property
    def scaled_units(self) -> tuple[float, float]:
        """What counts as 1 in the weighted scaled sum, s: of weighted latencies, of completions.

        Each is a scale times the weights of all requests or jobs, infinite where nothing has any.
        """
        requests = float(self.request_weight @ self.active.sum(axis=1))
        jobs = float(self.weight.sum())
        return (
            self.latency_scale * requests if requests > 0 else np.inf,
            self.completion_scale * jobs if jobs > 0 else np.inf,
        )

    def job_seconds(self, share: ArrayLike = 1.0) -> Floats:
        """Return h = w / (p f), the time of each job on each site, s, shape [K, J].

        ``share`` is the share of the CPU reserved for jobs, in [0, 1], a number or shape [J]; the
        time is infinite where it is 0.
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
