"""The instance of EDR: sites that train by the hour and serve requests by the slot, under a cap."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.edr.channel import (
    away_from,
    exchange_joules,
    exchange_seconds,
    infinite_within_sites,
    linked,
)
from edgeopt.instances.edr.distribution import (
    PRICES,
    EdrDistribution,
    EdrHistory,
    known_or_none,
)
from edgeopt.instances.fields import Flags, Floats, Integers, Names, field
from edgeopt.instances.instance import Instance
from edgeopt.instances.labels import label_of, seconds_of
from edgeopt.instances.plausibility import first_places
from edgeopt.instances.records import Size, rule
from edgeopt.instances.validate import NO_LINK, check_rates, frozen, require, upload_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


JOULES_PER_WATT_HOUR: Final = 3600.0

_SLOT: Final = ("frame", "slot")
_LINK: Final = ("origin", "target")
_AXES: Final = {
    "frame": "T", "slot": "D", "site": "J", "task": "I", "type": "N", "origin": "J",
    "target": "J", "coordinate": 2,
}  # fmt: skip


class EdrInstance(Instance, kind="edr", axes=_AXES, empty=("task",)):
    r"""Everything that training and inference under an energy cap are given, read-only.

    Frames (an hour), slots of a frame (five minutes), sites, tasks and request types count from 0.
    A *task* is a model that clients train together in rounds, a *request* asks for an inference.

    Notes
    -----
    Zhu et al., section II. There a window is one frame too short; here both of its ends count.

    Examples
    --------
    >>> from edgeopt.instances.edr import EdrInstance, small
    >>> instance = small(1)
    >>> instance.cap.shape, instance.price.shape
    ((2,), (2,))
    """

    cap: Floats = field(
        "frame", unit="Wh", symbol="R^t", least=0, infinite=True,
        message="must not be negative (0: no energy, infinity: no cap)",
        doc="Energy that all sites may use in a frame. Known when the frame begins.",
    )  # fmt: skip
    price: Floats = field(
        "frame", unit="$/Wh", symbol="r^t", usual=PRICES,
        doc="Price of energy. May be negative; known when the frame ends.",
    )  # fmt: skip
    arrival: Integers = field(
        "task",
        least=0,
        message="must be a frame, counted from 0",
        of="frame",
        doc="First frame of a task.",
    )
    deadline: Integers = field("task", of="frame", doc="Last frame of a task, inclusive.")
    rounds: Integers = field("task", symbol="Q_i", least=1, doc="Training rounds needed.")
    client: Flags = field(
        "task", "site", symbol=r"\delta_{ij}", doc="Whether a site holds data of a task."
    )
    server: Integers = field("task", of="site", doc="Site that aggregates, one of the clients.")
    local_steps: Integers = field("task", symbol="E_i", least=1, doc="Local steps in a round.")
    step_work: Floats = field(
        "task", "site", unit="GFLOP", symbol="A_i", least=0, rounds="down",
        doc="Computation of a local step.",
    )  # fmt: skip
    aggregation_work: Floats = field(
        "task", unit="GFLOP", symbol="B_i", least=0, rounds="down",
        doc="Computation of an aggregation.",
    )  # fmt: skip
    model_size: Floats = field(
        "task", unit="bit", symbol="M_i", least=0, rounds="down", doc="Size of a model."
    )
    request_size: Floats = field(
        "type", unit="bit", symbol="H_n", least=0, rounds="down", doc="Size of a request."
    )
    request_work: Floats = field(
        "type", unit="GFLOP", symbol="S_n", above=0, rounds="down",
        doc="Computation of a request.",
    )  # fmt: skip
    energy_per_work: Floats = field(
        "site", unit="Wh/GFLOP", symbol=r"\gamma_j", least=0, doc="Energy of a computation."
    )
    capacity: Floats = field(
        "site", unit="GFLOP", symbol="C_j", least=0, doc="Computation of a slot."
    )
    speed: Floats = field(
        "site", unit="GFLOP/s", symbol="f_j", above=0, rounds="up",
        doc="Speed of serving a request.",
    )  # fmt: skip
    capable: Flags = field(
        "site", "type", symbol=r"\beta_{jn}", doc="Whether a site can serve a type."
    )
    requests: Floats = field(
        *_SLOT, "site", "type", symbol="w", least=0, first=True, rounds="down",
        doc="Requests that arrive at a site.",
    )  # fmt: skip
    propagation: Floats = field(
        *_SLOT, *_LINK, unit="s", symbol="q_{jk}", least=0, rounds="down",
        doc="One-way propagation delay. It is 0 from a site to itself.",
    )  # fmt: skip
    slo: Floats = field(
        *_SLOT, "type", unit="s", above=0, rounds="up",
        doc="Longest delay of a request. At most a slot.",
    )  # fmt: skip
    rate: Floats = field(
        "frame", *_LINK, unit="bit/s", symbol="R_{jk}", least=0, infinite=True,
        message=NO_LINK, prepare=infinite_within_sites, missing=np.nan, rounds="up",
        doc="Rate of a link, 0 where there is none. Entries from a site to itself mean nothing and "
        "become infinite.",
    )  # fmt: skip
    power: Floats = field(
        "frame", "site", unit="W", symbol="p_j", least=0, singleton=True,
        doc="Transmission power. An array of shape [J] holds in all frames.",
    )  # fmt: skip
    energy_weight: float = field(
        unit="1/$", symbol="w_E", least=0, default=1.0, always=True, doc="Cost of a dollar."
    )
    delay_weight: float = field(
        unit="1/s", symbol="w_D", least=0, default=1.0, always=True,
        doc="Cost of a second of delay, per round or request.",
    )  # fmt: skip
    price_prior: float = field(
        unit="$/Wh", usual=PRICES, default=None, fill=lambda day: float(day.price[0]), always=True,
        doc="Price expected before the first one is known. By default the first price.",
    )  # fmt: skip
    slot_seconds: float = field(
        unit="s", above=0, default=300.0, always=True, rounds="up", doc="Length of a slot."
    )
    round_delay: Literal["sum", "max"] = field(
        default="sum", always=True,
        doc="Delay of a round. The ``'sum'`` of the delays of its clients, as the paper has it, or "
        "their ``'max'``, which is when a synchronous round ends.",
    )  # fmt: skip
    task_kind: Integers | None = field(
        "task", least=0, message="must be a kind, counted from 0", default=None,
        doc="Kind of a task. Counted from 0, for tables.",
    )  # fmt: skip
    distribution: EdrDistribution | None = field(
        default=None, doc="How channels and prices are drawn. None: that is not known."
    )
    position: Floats | None = field(
        "site", "coordinate", unit="km", default=None,
        doc="East and north of a site. For maps and clusters.",
    )  # fmt: skip
    names: Names | None = field("site", default=None, doc="Name of a site.")
    accuracy: Floats = field(
        "site", "type", symbol=r"\eta_{jn}", least=0, most=1, default=None, fill=1.0,
        doc="Accuracy of inference. It weighs served requests in the efficiency, and nothing else.",
    )  # fmt: skip
    history: EdrHistory | None = field(
        default=None,
        prepare=known_or_none,
        doc="The day before the first frame. None: nothing is known of it.",
    )
    origin: str = field(
        default="", always=True,
        doc="Where the data come from. In sentences that a study shows.",
    )  # fmt: skip

    frames = Size("frame", "Number of frames T.")
    slots = Size("slot", "Number of slots D of a frame.")
    sites = Size("site", "Number of sites J.")
    tasks = Size("task", "Number of training tasks I.")
    types = Size("type", "Number of request types N.")

    def _seconds(self, axis: str, lengths: Mapping[str, int]) -> float | None:
        length = seconds_of("slot_seconds", self.slot_seconds)
        if length is None or axis == "slot":
            return length
        return length * lengths["slot"] if axis == "frame" and "slot" in lengths else None

    # --- what joins fields -----------------------------------------------------------------

    @rule
    def _check_windows(self) -> None:
        """Check that a window ends within the horizon, and not before it begins."""
        first, last, frames = self.arrival, self.deadline, self.frames
        says = "must not come before the arrival: the window would have no frame"
        require("deadline", last >= first, last, says)
        require("deadline", last < frames, last, f"must be one of the {frames} frames")

    @rule
    def _check_servers(self) -> None:
        """Check that a server is a client of its task."""
        served = self.client[np.arange(self.tasks), self.server]
        require("server", served, self.server, "must be a client of its task")

    @rule
    def _check_network(self) -> None:
        """Check that a site reaches itself at once, and objectives fit into a slot."""
        require("slo", self.slo <= self.slot_seconds, self.slo, "must fit into a slot")
        own = np.einsum("tdjj->tdj", self.propagation)
        require("propagation", own == 0, own, "must be 0 from a site to itself")

    @rule
    def _check_links(self) -> None:
        """Check that the links of each task are up in some frame of its window."""
        check_rates("rate", self.rate)
        for i in np.flatnonzero(~self.active.any(axis=0)).tolist():
            frame = int(self.arrival[i])
            rule = f"no frame is left to task {self._label('task', i)!r}: {self._missing(frame, i)}"
            raise InstanceError("rate", rule, index=(frame, *self._down(frame, i)), value=0.0)

    @rule
    def _check_history(self) -> None:
        """Check that the day before has rates between these sites."""
        past = None if self.history is None else self.history.rate
        if past is not None and past.shape[1] != self.sites:
            rule = f"must have rates between {self.sites} sites"
            raise InstanceError("history.rate", rule, value=f"shape {past.shape}")

    @rule
    def _check_types(self) -> None:
        """Check that some site can serve each type."""
        for n in np.flatnonzero(~self.capable.any(axis=0)).tolist():
            says = "some site must be able to serve the request type"
            raise InstanceError(f"capable[:, {n}]", says)

    @rule
    def _check_objectives(self) -> None:
        """Check that some site meets the objective of every type that is asked for in a slot.

        Requests of single sites may still be out of reach; they stay unserved, and are reported.
        So are all requests of a type where links are missing.
        """
        for frame, slot in np.ndindex(self.frames, self.slots):
            asked = (self.requests[frame, slot] > 0).any(axis=0)
            lost, cut_off = self._out_of_reach(frame, slot)
            served = ((self.requests[frame, slot] > 0) & ~lost).any(axis=0)
            for n in np.flatnonzero(asked & ~served & ~cut_off.any(axis=0)).tolist():
                says = "no site meets it for any of the requests"
                value = float(self.slo[frame, slot, n])
                raise InstanceError("slo", says, index=(frame, slot, n), value=value)

    def _out_of_reach(self, frame: int, slot: int) -> tuple[Flags, Flags]:
        """Return which requests no site serves in time, and whether a missing link is why, [J, N].

        Links are why where a capable site has none.
        """
        seconds = self.request_seconds(frame, slot)
        met = ((seconds <= self.slo[frame, slot]) & self.capable).any(axis=1)
        lost = (self.requests[frame, slot] > 0) & ~met
        return lost, lost & ((self.rate[frame] == 0) @ self.capable)

    def _remarks(self) -> Iterator[str]:
        """Say which tasks cannot train, and which requests stay unserved, for want of links."""
        frame = np.arange(self.frames)[:, None]
        window = (frame >= self.arrival) & (frame <= self.deadline)
        for t, i in first_places(window & ~self.linked):
            j, k = self._down(t, i)
            yield (
                f"rate[{t}, {j}, {k}] = 0 means no link: task {self._label('task', i)!r} cannot "
                f"train in frame {t} ({self._missing(t, i)})"
            )
        for t in np.flatnonzero((self.rate == 0).any(axis=(1, 2))).tolist():
            cut_off = np.stack([self._out_of_reach(t, d)[1] for d in range(self.slots)])
            for d, j, n in first_places(cut_off):
                many = float(self.requests[t, d, j, n])
                yield (
                    f"requests[{t}, {d}, {j}, {n}] = {many:g}: no site can be reached: {many:g} "
                    f"requests of type {self._label('type', n)!r} stay unserved"
                )

    def _label(self, axis: str, place: int) -> str | int:
        """Return how an entry of an axis is called."""
        return label_of(axis, place, self.labels.get(axis))

    def _down(self, frame: int, task: int) -> tuple[int, int]:
        """Return the ends of the first link of a task that is missing in a frame."""
        away, server = self._away(task)
        links = [*((j, server) for j in away.tolist()), *((server, j) for j in away.tolist())]
        return next(link for link in links if self.rate[frame, *link] == 0)

    def _missing(self, frame: int, task: int) -> str:
        """Say which client and server of a task do not reach each other in a frame."""
        ends = self._down(frame, task)
        called = [
            f"its {'server' if end == self.server[task] else 'client'} {self._label('site', end)!r}"
            for end in ends
        ]
        return " does not reach ".join(called)

    # --- what follows from the data --------------------------------------------------------

    @cached_property
    def window(self) -> Integers:
        """Number of frames in which each task may train, W, shape [I]."""
        return frozen(self.deadline - self.arrival + 1)

    @cached_property
    def even_rate(self) -> Floats:
        """Rounds per frame that finish each task just in time, a = Q / W, shape [I]."""
        return frozen(self.rounds / self.window)

    @cached_property
    def active(self) -> Flags:
        """Whether a task may train in a frame: in its window, if it is linked, shape [T, I]."""
        frame = np.arange(self.frames)[:, None]
        return frozen((frame >= self.arrival) & (frame <= self.deadline) & self.linked)

    @cached_property
    def linked(self) -> Flags:
        """Whether all clients of a task and its server reach each other in a frame, [T, I]."""
        up = np.ones((self.frames, self.tasks), dtype=np.bool_)
        for i in range(self.tasks):
            up[:, i] = linked(*self._away(i), self.rate)
        return frozen(up)

    @cached_property
    def round_energy(self) -> Floats:
        """Energy of one round of a task in a frame, all clients together, Wh, shape [T, I].

        Zhu et al., the energy of an iteration summed over its clients. Without links, where there
        is no round, that of the computation alone.
        """
        energy = np.empty((self.frames, self.tasks))
        for i in range(self.tasks):
            away, server = self._away(i)
            joules = exchange_joules(self.model_size[i], away, server, self.power, self.rate)
            energy[:, i] = np.where(self.linked[:, i], joules / JOULES_PER_WATT_HOUR, 0.0)
        return frozen(energy + self.round_work @ self.energy_per_work)

    @cached_property
    def round_seconds(self) -> Floats:
        """Communication delay of one round of a task in a frame, s, shape [T, I].

        Zhu et al., the delay of an iteration: both ways, over its clients as `round_delay` says. 0
        without links, where there is no round.
        """
        seconds = np.empty((self.frames, self.tasks))
        travel = self.propagation.mean(axis=1)
        for i in range(self.tasks):
            away, server = self._away(i)
            both = exchange_seconds(
                self.model_size[i], away, server, self.rate, travel, self.round_delay
            )
            seconds[:, i] = np.where(self.linked[:, i], both, 0.0)
        return frozen(seconds)

    @cached_property
    def round_work(self) -> Floats:
        """Computation of one round of a task on each site, GFLOP, shape [I, J].

        Local steps on the clients, and aggregation on the server.
        """
        work = self.client * self.local_steps[:, None] * self.step_work
        work[np.arange(self.tasks), self.server] += self.aggregation_work
        return frozen(work)

    @cached_property
    def round_cost(self) -> Floats:
        """Cost of one round of a task in a frame at the true price, shape [T, I]."""
        energy = self.energy_weight * self.price[:, None] * self.round_energy
        return frozen(energy + self.delay_weight * self.round_seconds)

    @cached_property
    def request_energy(self) -> Floats:
        """Energy of a request on each site, Wh, shape [J, N]."""
        return frozen(np.outer(self.energy_per_work, self.request_work))

    def request_seconds(self, frame: int, slot: int) -> Floats:
        """Return the delay of a request by origin, serving site and type, s, shape [J, J, N].

        Zhu et al., the delay of an inference request: there, served, and back; the answer is too
        small to count. Infinite where there is no link.
        """
        travel = self.propagation[frame, slot]
        seconds = (travel + travel.T)[:, :, None] + self.request_work / self.speed[:, None]
        return np.asarray(seconds + upload_seconds(self.request_size, self.rate[frame][:, :, None]))

    def _away(self, task: int) -> tuple[Integers, int]:
        """Return the clients of a task other than its server, and the server."""
        server = int(self.server[task])
        return away_from(server, self.client[task]), server
