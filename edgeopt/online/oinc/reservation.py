"""How much CPU is kept for jobs: a fixed share, or by a forecast of latencies and completions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Literal, NamedTuple, get_args

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.kernels import compiled
from edgeopt.models.oinc.slot.local_search import improve, insert, measure
from edgeopt.models.oinc.slot.polish import MOST
from edgeopt.online.oinc.components import Part
from edgeopt.options import check_choice, check_flag, check_real, refused
from edgeopt.representation import compact_repr
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc.slot import SlotProblem
    from edgeopt.online.oinc.events import Slot


_LEAST_SLACK: Final = 0.05
"""Share of an objective that is left for computing at least, however long sending takes."""


class Prospect(NamedTuple):
    """What reserved shares would cost."""

    score: float  # latencies and completion times, each times its weight, summed
    computing: Floats  # of latencies: the score holds the sum of computing / (1 - share), [c]
    serving: Floats  # of completion times: the score holds the sum of serving / share, [c]


@dataclass(frozen=True, eq=False)
class Forecast:
    """The requests of a slot and the jobs that wait for a site, for which shares are to be set.

    Requests are assigned by local search for each choice of shares, and share out bands and CPU
    without their objectives. Jobs go, the smallest first, each to the site that would complete it
    first.

    Notes
    -----
    Zeng et al., algorithm 2, line 5, where neither the estimate nor its scales are given.
    """

    requests: SlotProblem
    work: Floats  # of the new jobs, Gcycle, at least one, [m]
    speed: Floats  # CPU of each site, Gcycle/s, [J]
    chosen: Ints  # sites whose shares are to be set, which have no job, [c]
    latency_weight: float
    completion_weight: float
    lasting: bool = False
    """Whether latencies count for as long as the new jobs keep the chosen sites busy, as far as
    they are longer than without new jobs, every slot having these requests; else in this slot."""

    def of(self, share: Floats) -> Prospect:
        """Return what shares of the CPU that are kept for jobs, shape [J], would cost."""
        here = self.chosen
        busy, completion = self._served(share[here] * self.speed[here])
        latency, computing = self._latency(share)
        if self.lasting:
            latency = self._while_busy(share, busy, latency)
            computing = computing * busy * share[here]
        return Prospect(
            score=self.latency_weight * latency + self.completion_weight * float(completion.sum()),
            computing=self.latency_weight * computing,
            serving=self.completion_weight * completion * share[here],
        )

    def _latency(self, share: Floats) -> tuple[float, Floats]:
        """Return the sum of latencies, and what of it the CPU of the chosen sites takes, whole."""
        requests = self.requests.of(self.requests.linked)
        if requests.requests == 0:
            return 0.0, np.zeros(self.chosen.size)
        room = 1.0 - share
        sending, computing = _squares(
            requests.transmission, requests.computation, requests.slo, requests.weight, room,
            requests.largest_first,
        )  # fmt: skip
        return float((sending + computing / room).sum()), computing[self.chosen]

    def _served(self, speed: Floats) -> tuple[Floats, Floats]:
        """Return how long each chosen site is busy, and the completion times of its jobs summed."""
        busy, completion = np.zeros(speed.size), np.zeros(speed.size)
        # Shortest processing time first (Smith 1956), each to the site that ends it first.
        for work in np.sort(self.work):
            finish = busy + work / speed
            first = int(finish.argmin())
            busy[first] = finish[first]
            completion[first] += finish[first]
        return busy, completion

    def _while_busy(self, share: Floats, busy: Floats, latency: float) -> float:
        """Return by how much latencies are longer until the last chosen site is idle, summed."""
        left, longer, since = share.copy(), 0.0, 0.0
        phases = []
        for c in np.argsort(busy, kind="stable"):
            phases.append((float(busy[c]) - since, latency))
            since = float(busy[c])
            left[self.chosen[c]] = 0.0
            latency = self._latency(left)[0]
        for length, during in phases:
            longer += length * (during - latency)
        return longer


@compiled
def _squares(
    transmission: Floats,
    computation: Floats,
    slo: Floats,
    weight: Floats,
    room: Floats,
    order: Ints,
) -> tuple[Floats, Floats]:
    """Return what sending and computing cost at each site by `assign`, the whole of it, [J]."""
    terms = measure(transmission, computation, slo, weight, room)
    site = insert(terms, order, 0.0)
    improve(terms, site, 0.0, MOST)
    sending = np.zeros(room.size, dtype=np.float64)
    computing = np.zeros(room.size, dtype=np.float64)
    for i in range(site.size):
        sending[site[i]] += math.sqrt(weight[i] * transmission[i, site[i]])
        computing[site[i]] += math.sqrt(weight[i] * computation[i, site[i]])
    return sending * sending, computing * computing


def needed_speed(requests: SlotProblem, speed: Floats) -> float:
    r"""Return the CPU that the requests of a slot need for their objectives, Gcycle/s.

    Each needs its work over what sending leaves of its objective, when it sends to the site where
    that is fastest and shares the band with as many others as there are requests per site.

    Zeng et al., algorithm 2, use a least CPU for inference without saying what it is.
    """
    requests = requests.of(requests.linked)
    if requests.requests == 0:
        return 0.0
    together = max(1.0, requests.requests / requests.sites)
    work = requests.computation[:, 0] * speed[0]
    slack = requests.slo - together * requests.transmission.min(axis=1)
    return float((work / np.maximum(slack, _LEAST_SLACK * requests.slo)).sum())


_MOST: Final = 0.95
"""Largest share that weights may lead to: a request needs some CPU."""


@dataclass(frozen=True, eq=False)
class StaticShares(Part):
    r"""Keep the same share of the CPU of all sites for jobs, in all slots.

    Parameters
    ----------
    share
        The share, in [0, 1). By default :math:`\beta / (\alpha + \beta)` with the mean weights of
        slots and of the jobs that arrive first; before any job has arrived their weight counts as
        1.

    Raises
    ------
    OptionError
        If the share is out of range.

    Notes
    -----
    Zeng et al., section V: how the CPU is split in all combinations but their own.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.oinc import Oinc, OincEnvironment, StaticShares
    >>> simulate(OincEnvironment(small(1)), Oinc(reservation=StaticShares()), runs=1)
    OincTrajectory(OINC with StaticShares, 1 scenario, 2 slots, mean reward 5.98484)
    """

    title: ClassVar[str] = "StaticShares"
    steady: ClassVar[bool] = True

    share: float | None = None

    def __post_init__(self) -> None:
        check_real("share", self.share, "[0, 1)", none=True)

    def start(self, instance: OincInstance) -> tuple[float, float, bool]:
        """Remember the weight of requests and of jobs, and whether a job has been seen."""
        return float(instance.request_weight.mean()), 1.0, False

    def reserve(
        self, memory: tuple[float, float, bool], slot: Slot, share: Floats
    ) -> tuple[Floats, tuple[float, float, bool]]:
        """Return the fixed shares, and the weights after the slot."""
        of_requests, of_jobs, seen = memory
        if not seen and slot.jobs.job.size:
            of_jobs, seen = float(slot.jobs.weight.mean()), True
        part = self.share
        if part is None:
            both = of_requests + of_jobs
            # Requests without any weight still need something to run on.
            part = min(of_jobs / both, _MOST) if both > 0 else 0.5
        return np.full(share.size, part), (of_requests, of_jobs, seen)


Span = Literal["slot", "busy"]
"""Over what a reservation minimises: this slot, or the time until the new jobs are complete."""

_ROUNDS: Final = 20
"""Most rounds of shares and assignments in turn."""


class ReservationMemory(NamedTuple):
    """What a reservation remembers."""

    instance: OincInstance
    slots: int = 0  # number of slots so far
    needed: float = 0.0  # CPU that their requests needed for their objectives, summed, Gcycle/s
    requests: int = 0  # arrived so far
    jobs: int = 0


@compact_repr
@dataclass(frozen=True, eq=False, kw_only=True)
class Reservation(Part):
    r"""Keep CPU for jobs at the fastest idle sites when jobs arrive; busy sites stay as they are.

    As many idle sites are chosen as there are jobs that wait for one, if there are as many. What
    the CPU of all sites has left, after what jobs and the objectives of requests need, is split
    between requests and jobs in some ratio, and the part of the jobs evenly among the chosen
    sites:

    .. math:: p_{j} = \frac{\big[\sum_i f_i (1 - p_i) - \mathrm{need}\big]^+}{(1 + r)\, m f_j}

    within `smallest` and `largest`. The ratio is taken whose shares are forecast to have the least
    mean latency over its scale plus mean completion time over its scale; see `Forecast`.

    Parameters
    ----------
    smallest, largest
        Least and largest share that is kept at a chosen site, ``0 < smallest <= largest < 1``.
        With few jobs at many sites nearly all shares are the largest one, whatever the ratio.
    ratios
        CPU for requests over CPU for jobs, r >= 0; the first of the best is taken.
    optimise
        Minimise the forecast over the shares themselves. For a fixed assignment the latencies
        are :math:`\sum_j a_j / (1 - p_j)` and the completion times :math:`\sum_j b_j / p_j`, so
        that :math:`p_j = \sqrt{b_j} / (\sqrt{a_j} + \sqrt{b_j})` is best, clipped; shares and
        assignments take turns, from the shares of the best ratio on, as long as the forecast
        improves.
    span
        Whose latencies and completion times are forecast. ``"slot"``: the mean over the requests
        of this slot, and over the jobs that are new in it, which leaves out how long the shares
        are kept and how many jobs there are. ``"busy"``: what the jobs that are new add to the
        means over all requests and all jobs, until the chosen sites are idle again. Slots until
        then are taken to have the requests of this one, and in all slots together as many requests
        and jobs per slot are expected as there were so far.

    Raises
    ------
    OptionError
        If an option is out of range.

    Notes
    -----
    Zeng et al., algorithm 2 and equation (2). There a frequency less a share is printed; the share
    may come out above 1, or as 0 where jobs wait; and neither the need nor the ratios are given.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.oinc import Oinc, OincEnvironment, Reservation
    >>> simulate(OincEnvironment(small(1)), Oinc(reservation=Reservation()), runs=1)
    OincTrajectory(OINC, 1 scenario, 2 slots, mean reward 4.94191)
    """

    title: ClassVar[str] = "Reservation"
    steady: ClassVar[bool] = True

    smallest: float = 0.05
    largest: float = 0.95
    ratios: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 4.0)
    optimise: bool = False
    span: Span = "slot"

    def __post_init__(self) -> None:
        check_real("smallest", self.smallest, "(0, 1)")
        check_real("largest", self.largest, "(0, 1)")
        if self.largest < self.smallest:
            raise OptionError(
                f"smallest = {self.smallest}, largest = {self.largest}: "
                "must be 0 < smallest <= largest < 1"
            )
        if not isinstance(self.ratios, tuple | list) or not self.ratios:
            raise refused("ratios", self.ratios, "must be numbers >= 0, at least one")
        for place, ratio in enumerate(self.ratios):
            check_real(f"ratios[{place}]", ratio, "[0, inf)")
        check_flag("optimise", self.optimise)
        check_choice("span", self.span, get_args(Span))

    def start(self, instance: OincInstance) -> ReservationMemory:
        """Return the memory before the first slot."""
        return ReservationMemory(instance)

    def reserve(
        self, memory: ReservationMemory, slot: Slot, share: Floats
    ) -> tuple[Floats, ReservationMemory]:
        """Return the shares that are kept for jobs in a slot, and the memory after it."""
        instance = memory.instance
        needed = needed_speed(slot.requests, instance.speed)
        usual = memory.needed / memory.slots if memory.slots else needed
        after = ReservationMemory(
            instance,
            slots=memory.slots + 1,
            needed=memory.needed + needed,
            requests=memory.requests + slot.requests.requests,
            jobs=memory.jobs + int(slot.jobs.new(slot.slot).sum()),
        )
        new, idle = slot.jobs.site < 0, np.flatnonzero(share == 0.0)
        count = min(int(new.sum()), idle.size)
        if count == 0:
            return share, after
        chosen = idle[np.argsort(-instance.speed[idle], kind="stable")[:count]]
        forecast = self._forecast(after, slot, slot.jobs.remaining[new], chosen)
        best = self._by_ratio(forecast, share, max(needed, usual))
        return (self._optimised(forecast, best) if self.optimise else best), after

    def _forecast(
        self, memory: ReservationMemory, slot: Slot, work: Floats, chosen: Ints
    ) -> Forecast:
        """Weigh latencies and completion times so that their sums are means."""
        instance, lasting = memory.instance, self.span == "busy"
        requests = memory.requests / memory.slots if lasting else slot.requests.requests
        jobs = memory.jobs / memory.slots if lasting else work.size
        return Forecast(
            requests=slot.requests,
            work=work,
            speed=instance.speed,
            chosen=chosen,
            latency_weight=1.0 / (requests * instance.latency_scale) if requests else 0.0,
            completion_weight=1.0 / (jobs * instance.completion_scale),
            lasting=lasting,
        )

    def _by_ratio(self, forecast: Forecast, share: Floats, needed: float) -> Floats:
        """Return the shares of the best ratio."""
        free = max(float(forecast.speed @ (1.0 - share)) - needed, 0.0)
        part = 1.0 / (1.0 + np.array(self.ratios))
        speed = forecast.chosen.size * forecast.speed[forecast.chosen]
        candidates = np.tile(share, (part.size, 1))
        kept = np.clip(free * part[:, None] / speed, self.smallest, self.largest)
        candidates[:, forecast.chosen] = kept
        # Where the clips decide, ratios are the same.
        rows = np.sort(np.unique(candidates, axis=0, return_index=True)[1])
        best = 0
        if rows.size > 1:
            best = int(np.argmin([forecast.of(candidates[r]).score for r in rows]))
        return np.asarray(candidates[rows[best]])

    def _optimised(self, forecast: Forecast, share: Floats) -> Floats:
        """Return shares that no round of shares and assignments makes better."""
        best, prospect = share, forecast.of(share)
        for _ in range(_ROUNDS):
            latency, completion = np.sqrt(prospect.computing), np.sqrt(prospect.serving)
            both = latency + completion
            free = np.divide(completion, both, out=np.zeros_like(both), where=both > 0)
            following = best.copy()
            following[forecast.chosen] = np.clip(free, self.smallest, self.largest)
            found = forecast.of(following)
            if not found.score < prospect.score - TIGHT * abs(prospect.score):
                break
            best, prospect = following, found
        return best
