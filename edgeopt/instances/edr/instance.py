"""The instance of EDR: sites that train by the hour and serve requests by the slot, under a cap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from edgeopt.instances.edr import derived, rules
from edgeopt.instances.identity import Identified
from edgeopt.instances.validate import (
    check_choice,
    frozen,
    frozen_array,
    frozen_flags,
    frozen_integers,
    frozen_number,
    require,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["EdrInstance"]


@dataclass(frozen=True, eq=False, repr=False)
class EdrInstance(Identified, files="edgeopt.instances.edr.files"):
    r"""Everything that training and inference under an energy cap are given, read-only.

    Frames (an hour), slots of a frame (five minutes), sites, tasks and request types count from 0.
    A *task* is a model that clients train together in rounds, a *request* asks for an inference.

    Parameters
    ----------
    cap
        Energy :math:`R^t \ge 0` that all sites together may use in a frame, Wh, infinity where
        nothing is asked, shape [T]; known when the frame begins.
    price
        Price of energy :math:`r^t`, $/Wh, may be negative, shape [T]; known when the frame ends.
    arrival
        First frame in which each task may train, shape [I].
    deadline
        Last frame in which it may train, inclusive, shape [I].
    rounds
        Training rounds :math:`Q_i \ge 1` that each task needs, shape [I].
    client
        Which sites hold data of a task, :math:`\delta_{ij}`, shape [I, J].
    server
        Site that aggregates each task, one of its clients, shape [I].
    local_steps
        Local steps :math:`E_i \ge 1` of each client in a round, shape [I].
    step_work
        Computation :math:`A_i \ge 0` of one local step on each client, GFLOP, shape [I, J].
    aggregation_work
        Computation :math:`B_i \ge 0` of one aggregation on the server, GFLOP, shape [I].
    model_size
        Size :math:`M_i \ge 0` of a model, bit, shape [I].
    request_size
        Size :math:`H_n \ge 0` of a request, bit, shape [N].
    request_work
        Computation :math:`S_n > 0` of a request, GFLOP, shape [N].
    energy_per_work
        Energy :math:`\gamma_j \ge 0` of a computation, Wh/GFLOP, shape [J].
    capacity
        Computation :math:`C_j \ge 0` that a site can do in a slot, GFLOP, shape [J].
    speed
        Speed :math:`f_j > 0` with which a site works on one request, GFLOP/s, shape [J].
    capable
        Whether a site can serve a type, :math:`\beta_{jn}`, shape [J, N]; some site can.
    requests
        Requests :math:`w \ge 0` that arrive at each site, shape [T, D, J, N].
    propagation
        One-way propagation delay :math:`q_{jk} \ge 0`, s, shape [T, D, J, J], 0 on the diagonal.
    slo
        Longest delay that a request may have, s, at most a slot, shape [T, D, N].
    rate
        Rate :math:`R_{jk} > 0` of the link from j to k, bit/s, shape [T, J, J], j unequal k.
    power
        Transmission power :math:`p_j \ge 0` of a site, W, shape [J].
    energy_weight
        Cost of a dollar :math:`w_E \ge 0`, 1/$.
    delay_weight
        Cost of a second of delay, per round or request, :math:`w_D \ge 0`, 1/s.
    price_prior
        Price to expect before the first one is known, $/Wh; by default the first price.
    slot_seconds
        Length of a slot, s.
    round_delay
        Delay of a round: the ``"sum"`` of the delays of its clients, as the paper has it, or their
        ``"max"``, which is when a synchronous round ends.
    task_kind
        Kind of each task, counted from 0, shape [I], for tables.
    position
        Kilometres east and north of each site, shape [J, 2], for maps and clusters.
    names
        Name of each site.
    origin
        Where the data come from, in sentences that a study shows.

    Raises
    ------
    InstanceError
        If a rule above is broken, a window ends before it begins or leaves the horizon, a server is
        no client of its task, no site can serve a type, or no site meets an objective that requests
        have; with field, index, value and rule.

    Notes
    -----
    Zhu et al., section II. There a window is one frame too short; here both of its ends count.
    """

    cap: NDArray[np.float64]
    price: NDArray[np.float64]
    arrival: NDArray[np.int64]
    deadline: NDArray[np.int64]
    rounds: NDArray[np.int64]
    client: NDArray[np.bool_]
    server: NDArray[np.int64]
    local_steps: NDArray[np.int64]
    step_work: NDArray[np.float64]
    aggregation_work: NDArray[np.float64]
    model_size: NDArray[np.float64]
    request_size: NDArray[np.float64]
    request_work: NDArray[np.float64]
    energy_per_work: NDArray[np.float64]
    capacity: NDArray[np.float64]
    speed: NDArray[np.float64]
    capable: NDArray[np.bool_]
    requests: NDArray[np.float64]
    propagation: NDArray[np.float64]
    slo: NDArray[np.float64]
    rate: NDArray[np.float64]
    power: NDArray[np.float64]
    energy_weight: float = 1.0
    delay_weight: float = 1.0
    price_prior: float | None = None
    slot_seconds: float = 300.0
    round_delay: Literal["sum", "max"] = "sum"
    task_kind: NDArray[np.int64] | None = None
    position: NDArray[np.float64] | None = None
    names: tuple[str, ...] | None = None
    origin: str = ""

    def __post_init__(self) -> None:
        self._set_demand()
        self._set_tasks()
        self._set_sites()
        self._set_numbers()
        rules.check_objectives(self)

    def _set(self, **fields: object) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def _sizes(self) -> dict[str, int]:
        frames, slots, sites, types = self.requests.shape
        return {
            "frame": frames, "slot": slots, "site": sites, "request_type": types,
            "origin": sites, "target": sites,
        }  # fmt: skip

    def _set_demand(self) -> None:
        axes = ("frame", "slot", "site", "request_type")
        self._set(requests=frozen_array("requests", self.requests, axes))
        require("requests", self.requests >= 0, self.requests, "must not be negative")
        sizes = self._sizes
        cap = frozen_array("cap", self.cap, ("frame",), sizes, infinite=True)
        require("cap", cap >= 0, cap, "must not be negative (0: no energy, infinity: no cap)")
        price = frozen_array("price", self.price, ("frame",), sizes)
        self._set(cap=cap, price=price)

    def _set_tasks(self) -> None:
        per_task = ("task",)
        arrival = frozen_integers("arrival", self.arrival, per_task, empty=True)
        sizes = {**self._sizes, "task": arrival.size}
        whole = {
            name: frozen_integers(name, getattr(self, name), per_task, sizes, empty=True)
            for name in ("deadline", "rounds", "server", "local_steps")
        }
        real = {
            name: frozen_array(name, getattr(self, name), per_task, sizes, empty=True)
            for name in ("aggregation_work", "model_size")
        }
        pair = ("task", "site")
        client = frozen_flags("client", self.client, pair, sizes, empty=True)
        work = frozen_array("step_work", self.step_work, pair, sizes, empty=True)
        self._set(arrival=arrival, client=client, step_work=work, **whole, **real)
        rules.check_tasks(self)

    def _set_sites(self) -> None:
        sizes = self._sizes
        for name in ("energy_per_work", "capacity", "speed", "power"):
            self._set(**{name: frozen_array(name, getattr(self, name), ("site",), sizes)})
        for name in ("request_size", "request_work"):
            self._set(**{name: frozen_array(name, getattr(self, name), ("request_type",), sizes)})
        axes, pair = ("frame", "slot", "origin", "target"), ("site", "request_type")
        self._set(
            capable=frozen_flags("capable", self.capable, pair, sizes, empty=True),
            propagation=frozen_array("propagation", self.propagation, axes, sizes),
            slo=frozen_array("slo", self.slo, ("frame", "slot", "request_type"), sizes),
            rate=rules.own_rates(self.rate, sizes),
        )

    def _set_numbers(self) -> None:
        if self.price_prior is None:
            self._set(price_prior=float(self.price[0]))
        for name in ("energy_weight", "delay_weight", "price_prior", "slot_seconds"):
            self._set(**{name: frozen_number(name, getattr(self, name))})
        check_choice("round_delay", self.round_delay, ("sum", "max"))
        rules.check_numbers(self)
        rules.check_sites(self)
        self._set(**rules.own_labels(self, {**self._sizes, "task": self.tasks}))

    # --- sizes -----------------------------------------------------------------------------

    @property
    def frames(self) -> int:
        """Number of frames T."""
        return int(self.requests.shape[0])

    @property
    def slots(self) -> int:
        """Number of slots D of a frame."""
        return int(self.requests.shape[1])

    @property
    def sites(self) -> int:
        """Number of sites J."""
        return int(self.requests.shape[2])

    @property
    def types(self) -> int:
        """Number of request types N."""
        return int(self.requests.shape[3])

    @property
    def tasks(self) -> int:
        """Number of training tasks I."""
        return int(self.arrival.size)

    # --- what follows from the data --------------------------------------------------------

    @cached_property
    def window(self) -> NDArray[np.int64]:
        """Number of frames in which each task may train, W, shape [I]."""
        return frozen(self.deadline - self.arrival + 1)

    @cached_property
    def even_rate(self) -> NDArray[np.float64]:
        """Rounds per frame that finish each task just in time, a = Q / W, shape [I]."""
        return frozen(self.rounds / self.window)

    @cached_property
    def active(self) -> NDArray[np.bool_]:
        """Whether a task may train in a frame, shape [T, I]."""
        return derived.active(self)

    @cached_property
    def round_energy(self) -> NDArray[np.float64]:
        """Energy of one round of a task in a frame, all clients together, Wh, shape [T, I]."""
        return derived.round_energy(self)

    @cached_property
    def round_seconds(self) -> NDArray[np.float64]:
        """Communication delay of one round of a task in a frame, s, shape [T, I]."""
        return derived.round_seconds(self)

    @cached_property
    def round_work(self) -> NDArray[np.float64]:
        """Computation of one round of a task on each site, GFLOP, shape [I, J]."""
        return derived.round_work(self)

    @cached_property
    def round_cost(self) -> NDArray[np.float64]:
        """Cost of one round of a task in a frame at the true price, shape [T, I]."""
        return derived.round_cost(self, self.price[:, None])

    @cached_property
    def request_energy(self) -> NDArray[np.float64]:
        """Energy of a request on each site, Wh, shape [J, N]."""
        return frozen(np.outer(self.energy_per_work, self.request_work))

    def request_seconds(self, frame: int, slot: int) -> NDArray[np.float64]:
        """Return the delay of a request by origin, serving site and type, s, shape [J, J, N]."""
        return derived.request_seconds(self, frame, slot)

    def __repr__(self) -> str:
        return (
            f"EdrInstance(frames={self.frames}, slots={self.slots}, sites={self.sites}, "
            f"tasks={self.tasks}, types={self.types})"
        )
