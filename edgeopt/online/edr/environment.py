"""The sites of EDR: frames with a cap and a price, slots with requests and their flows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.edr import EdrInstance
from edgeopt.instances.validate import upload_seconds
from edgeopt.models.edr.penalties import late_price, unserved_price
from edgeopt.models.edr.routing import RoutingPlan, conditions
from edgeopt.online.edr.events import (
    QUALITY_BINS,
    Accepted,
    ClosedFrame,
    EdrTrajectory,
    Flows,
    Frame,
    Served,
    Slot,
)
from edgeopt.online.simulate import stacked
from edgeopt.options import check_kind, plain_array
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints
    from edgeopt.models.edr.routing import Conditions
    from edgeopt.online.edr.events import Decision, Feedback, Observation
    from edgeopt.online.protocols import Episode


def flows_of(decision: object, sites: int, types: int) -> Flows:
    """Return the flows of a decision."""
    if isinstance(decision, RoutingPlan):
        problem = decision.problem
        if problem.demand.shape != (1, sites, types):
            raise OptionError(f"a plan must be of one slot, {sites} sites and {types} types")
        origin, kind = np.divmod(decision.row, types)
        site = problem.site[decision.used].astype(np.int64)
        return Flows(origin, site, kind, decision.amount)
    if not isinstance(decision, Flows):
        raise OptionError("the decision of a slot must be a RoutingPlan or Flows")
    columns = [plain_array(f"{name} of Flows", getattr(decision, name)) for name in Flows._fields]
    if any(column.shape != (columns[0].size,) for column in columns):
        raise OptionError("the columns of Flows must be of equal length")
    if any(column.dtype.kind not in "iu" for column in columns[:3]):
        raise OptionError("origin, site and type of Flows must be whole numbers")
    if columns[3].dtype.kind not in "iuf":
        raise OptionError("amount of Flows must be numbers")
    where = [column.astype(np.int64) for column in columns[:3]]
    return Flows(where[0], where[1], where[2], columns[3].astype(np.float64))


def carry_out(
    instance: EdrInstance, seen: Conditions, flows: Flows, quality: Floats, traffic: Floats
) -> Served:
    """Carry flows out, if that is possible, and add them to the histogram and to the traffic."""
    sites, types = seen.requests.shape
    origin, site, kind, amount = flows
    inside = (np.minimum(np.minimum(origin, site), kind) >= 0) & (kind < types)
    inside &= np.maximum(origin, site) < sites
    j, k, n = (np.where(inside, column, 0) for column in (origin, site, kind))
    delay = seen.propagation[j, k] + seen.propagation[k, j]
    delay = delay + instance.request_work[n] / instance.speed[k]
    delay = delay + upload_seconds(instance.request_size[n], seen.rate[j, k])
    faults = {
        "there is no such site or type": ~inside,
        "must be a number >= 0": ~((amount >= 0.0) & (amount < np.inf)),
        "the site cannot serve the type": (amount > 0.0) & ~instance.capable[k, n],
        "there is no link": (amount > 0.0) & (seen.rate[j, k] <= 0.0),
        "takes longer than the objective allows": (amount > 0.0)
        & (delay > seen.slo[n] * (1.0 + TIGHT)),
    }
    wrong = np.array(list(faults.values()))
    for a in np.flatnonzero(wrong.any(axis=0)):
        raise OptionError(
            f"flow {a}, {amount[a]} requests of type {kind[a]} from site {origin[a]} to site "
            f"{site[a]}: {list(faults)[wrong[:, a].argmax()]}"
        )
    some = amount > 0.0
    j, k, n, y, delay = j[some], k[some], n[some], amount[some], delay[some]
    served = np.bincount(j * types + n, y, seen.requests.size).reshape(sites, types)
    load = np.bincount(k, y * instance.request_work[n], sites)
    for at, type_ in np.argwhere(served > seen.requests * (1.0 + TIGHT)):
        raise OptionError(
            f"{served[at, type_]} requests of type {type_} from site {at} are served, "
            f"{seen.requests[at, type_]} arrived"
        )
    for at in np.flatnonzero(load > instance.capacity * (1.0 + TIGHT)):
        raise OptionError(
            f"site {at} cannot serve {load[at]} GFLOP: it does {instance.capacity[at]} in a slot"
        )
    place = (delay / seen.slo[n] * quality.size).astype(np.int64)
    np.add.at(quality, np.minimum(place, quality.size - 1), y)
    np.add.at(traffic, (j, k), y)
    unserved = seen.requests - served
    unserved[unserved <= TIGHT * seen.requests] = 0.0
    # Sums flow by flow, as in any order that a machine may choose they could differ.
    energy, seconds = (
        float(np.cumsum(part)[-1]) if y.size else 0.0
        for part in (y * instance.request_energy[k, n], y * delay)
    )
    return Served(energy, seconds, load.astype(np.float64), unserved)


class EdrEpisode:
    """Frames of one scenario, each with its slots, one after the other.

    A decision that cannot be carried out is refused; one that exceeds a cap is counted.
    """

    def __init__(self, instance: EdrInstance, late_price: Floats, unserved_price: Floats) -> None:
        self._instance = instance
        self._late_price, self._unserved_price = late_price, unserved_price
        self._frame, self._slot = 0, -1
        self._done = np.zeros(instance.tasks, dtype=np.int64)
        self._work, self._load = np.zeros(instance.sites), np.zeros(instance.sites)
        self._lost = np.zeros(instance.types)
        self._spent, self._delay = 0.0, 0.0
        self._most_work = instance.slots * instance.capacity * (1.0 + TIGHT)
        frames, sites = instance.frames, instance.sites
        self.reward, self.energy, self.training_energy = (np.zeros(frames) for _ in range(3))
        self.energy_cost, self.delay_cost = np.zeros(frames), np.zeros(frames)
        self.training_delay_cost = np.zeros(frames)
        self.late_cost, self.unserved_cost = np.zeros(frames), np.zeros(frames)
        self.excess, self.unserved, self.accurate = (np.zeros(frames) for _ in range(3))
        self.asked = instance.requests.sum(axis=(1, 2, 3))
        self.violations = np.zeros(frames, dtype=np.int64)
        self.decisions = np.zeros(frames, dtype=np.int64)
        self.rounds = np.zeros((frames, instance.tasks), dtype=np.int64)
        self.missing = np.zeros(instance.tasks, dtype=np.int64)
        self.quality = np.zeros(QUALITY_BINS)
        self.flows = np.zeros((sites, sites))

    @property
    def finished(self) -> bool:
        """Whether all frames are over."""
        return self._frame >= self._instance.frames

    def observe(self) -> Observation | None:
        """Show a frame, then its slots one by one; None when all frames are over."""
        if self.finished:
            return None
        return self._show_frame() if self._slot < 0 else self._show_slot()

    def act(self, decision: Decision) -> Feedback:
        """Train the rounds of a frame, or route the requests of a slot."""
        if self.finished:
            raise OptionError("the scenario is over: no decision is due")
        return self._train(decision) if self._slot < 0 else self._serve(decision)

    def reveal(self, truth: EdrInstance) -> None:
        """Go on with other data of what has not been shown."""
        self._instance = truth
        self._late_price, self._unserved_price = late_price(truth), unserved_price(truth)
        self.asked = truth.requests.sum(axis=(1, 2, 3))

    def written(self, decision: Any) -> Any:
        """Return rounds or flows: a decision without how it was found."""
        sites = self._instance.sites, self._instance.types
        return decision if isinstance(decision, np.ndarray) else flows_of(decision, *sites)

    # --- a frame -----------------------------------------------------------------------------

    def _show_frame(self) -> Frame:
        instance, t = self._instance, self._frame
        active = instance.active[t]
        known = instance.arrival <= t
        return Frame(
            frame=t,
            cap=float(instance.cap[t]),
            price=float(instance.price[t - 1] if t else instance.price_prior),
            prices=instance.price[:t],
            active=active,
            arrival=np.where(known, instance.arrival, -1),
            deadline=np.where(known, instance.deadline, -1),
            rounds=np.where(known, instance.rounds, 0),
            remaining=np.where(active, instance.rounds - self._done, 0),
            even_rate=np.where(active, instance.even_rate, 0.0),
            round_energy=np.where(active, instance.round_energy[t], 0.0),
            round_seconds=np.where(active, instance.round_seconds[t], 0.0),
            round_work=np.where(active[:, None], instance.round_work, 0.0),
            client=instance.client & known[:, None],
            server=np.where(known, instance.server, -1),
            model_size=np.where(known, instance.model_size, 0.0),
            rate=instance.rate[t],
            power=instance.power[t % len(instance.power)],
        )

    def _train(self, decision: Decision) -> Accepted:
        instance, t = self._instance, self._frame
        rounds = self._checked_rounds(decision)
        work = rounds @ instance.round_work
        for site in np.flatnonzero(work > self._most_work):
            raise OptionError(
                f"site {site} cannot train {work[site]} GFLOP: it does "
                f"{instance.slots * instance.capacity[site]} in a frame"
            )
        self._work, self._load = work, np.zeros(instance.sites)
        self._lost = np.zeros(instance.types)
        self._spent, self._delay = 0.0, 0.0
        self.rounds[t] = rounds
        self.training_energy[t] = rounds @ instance.round_energy[t]
        self.decisions[t] += 1
        self._done += rounds
        self._slot = 0
        return Accepted(self.rounds[t].copy(), work.copy(), float(self.training_energy[t]))

    def _checked_rounds(self, decision: Decision) -> Ints:
        instance, t = self._instance, self._frame
        if not isinstance(decision, np.ndarray) or decision.shape != (instance.tasks,):
            raise OptionError(f"the decision of a frame must be rounds, shape ({instance.tasks},)")
        if decision.dtype.kind not in "iu":
            raise OptionError(f"rounds must be whole numbers, not {decision.dtype}")
        most = np.where(instance.active[t], instance.rounds - self._done, 0)
        for i in np.flatnonzero((decision < 0) | (decision > most)):
            why = f"{most[i]} are left" if instance.active[t, i] else "it is not active"
            raise OptionError(f"task {i} cannot train {decision[i]} rounds in frame {t}: {why}")
        return decision.astype(np.int64)

    # --- a slot ------------------------------------------------------------------------------

    def _show_slot(self) -> Slot:
        instance, t = self._instance, self._frame
        return Slot(
            frame=t,
            slot=self._slot,
            conditions=conditions(instance, t, self._slot),
            cap=float(instance.cap[t]),
            training=self._work.copy(),
            training_energy=float(self.training_energy[t]),
            spent=self._spent,
        )

    def _serve(self, decision: Decision) -> Served | ClosedFrame:
        instance, t = self._instance, self._frame
        flows = flows_of(decision, instance.sites, instance.types)
        quality, traffic = self.quality.copy(), self.flows.copy()
        seen = conditions(instance, t, self._slot)
        served = carry_out(instance, seen, flows, quality, traffic)
        together = self._work + self._load + served.load
        for site in np.flatnonzero(together > self._most_work):
            raise OptionError(
                f"site {site} cannot do {together[site]} GFLOP of training and requests: it does "
                f"{instance.slots * instance.capacity[site]} in a frame"
            )
        self.quality, self.flows = quality, traffic
        self._load += served.load
        self._lost += served.unserved.sum(axis=0)
        self._spent += served.energy
        self._delay += served.delay
        self.accurate[t] += flows.amount @ instance.accuracy[flows.site, flows.type]
        self.decisions[t] += 1
        self._slot += 1
        return served if self._slot < instance.slots else self._close_frame(served)

    def _close_frame(self, served: Served) -> ClosedFrame:
        """Book the frame and move on to the next."""
        instance, t = self._instance, self._frame
        rounds = self.rounds[t]
        energy, cap = self._spent + self.training_energy[t], instance.cap[t]
        over = energy - cap > TIGHT * energy
        self.energy[t] = energy
        self.excess[t] = energy - cap if over else 0.0
        self.violations[t] = over
        missing = np.where(instance.deadline == t, instance.rounds - self._done, 0)
        self.missing += missing
        self.energy_cost[t] = instance.energy_weight * instance.price[t] * energy
        self.delay_cost[t] = instance.delay_weight * self._delay
        travel = rounds @ instance.round_seconds[t]
        self.training_delay_cost[t] = instance.delay_weight * travel
        self.late_cost[t] = missing @ self._late_price
        self.unserved[t] = self._lost.sum()
        self.unserved_cost[t] = self._lost @ self._unserved_price
        self.reward[t] = (
            self.energy_cost[t]
            + self.delay_cost[t]
            + self.training_delay_cost[t]
            + self.late_cost[t]
            + self.unserved_cost[t]
        )
        self._frame, self._slot = t + 1, -1
        return ClosedFrame(
            frame=t,
            price=float(instance.price[t]),
            energy=float(energy),
            training_energy=float(self.training_energy[t]),
            excess=float(self.excess[t]),
            rounds=rounds.copy(),
            missing=missing,
            requests=instance.requests[t],
            unserved=self._lost,
            served=served,
        )


_FIELDS = (
    "reward", "violations", "decisions", "energy", "training_energy", "energy_cost", "delay_cost",
    "training_delay_cost", "late_cost", "unserved_cost", "excess", "asked", "unserved", "accurate",
    "rounds", "missing", "quality",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class EdrEnvironment:
    """Scenarios of an EDR instance, all alike: nothing but the coins of a policy is random.

    Parameters
    ----------
    truth
        The instance with its future.

    Examples
    --------
    >>> from edgeopt.instances.edr import generate
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.edr import EdrEnvironment, EvenRate
    >>> environment = EdrEnvironment(generate(sites=4, tasks=3, frames=6, slots=2))
    >>> trajectory = simulate(environment, EvenRate(elastic="shed"), runs=1)
    >>> bool(trajectory.excess.any())
    False
    """

    alike: ClassVar[bool] = True
    """All scenarios are the same, so that a policy without coins is simulated once."""

    truth: EdrInstance

    def __post_init__(self) -> None:
        check_kind("truth", self.truth, EdrInstance)

    @cached_property
    def instance(self) -> EdrInstance:
        """The sites, request types and weights: all that a policy may know beforehand.

        Number of frames, slots and tasks included. Requests are 0, caps infinite, prices what was
        expected before the first one, delays 0, rates infinite, powers that change 0, objectives as
        long as a slot, and every task takes one round at no cost in any frame.
        """
        truth = self.truth
        frames, sites, tasks = truth.frames, truth.sites, truth.tasks
        client = np.zeros((tasks, sites), dtype=np.bool_)
        client[:, 0] = True
        nothing = np.zeros(tasks, dtype=np.int64)
        return truth.replace(
            cap=np.full(frames, np.inf),
            price=np.full(frames, truth.price_prior),
            arrival=nothing,
            deadline=np.full(tasks, frames - 1),
            rounds=nothing + 1,
            client=client,
            server=nothing,
            local_steps=nothing + 1,
            step_work=np.zeros((tasks, sites)),
            aggregation_work=np.zeros(tasks),
            model_size=np.zeros(tasks),
            requests=np.zeros_like(truth.requests),
            propagation=np.zeros_like(truth.propagation),
            slo=np.full_like(truth.slo, truth.slot_seconds),
            rate=np.full_like(truth.rate, np.inf),
            power=truth.power if len(truth.power) == 1 else np.zeros(sites),
            task_kind=None,
        )

    @cached_property
    def late_price(self) -> NDArray[np.float64]:
        """Price of a missing round of each task, shape [I]."""
        return np.asarray(late_price(self.truth))

    @cached_property
    def unserved_price(self) -> NDArray[np.float64]:
        """Price of an unserved request of each type, shape [N]."""
        return np.asarray(unserved_price(self.truth))

    def scenarios(self, rng: np.random.Generator, runs: int) -> NDArray[np.int64]:
        """Return the numbers of the scenarios, shape [runs]; they differ in nothing else."""
        return np.arange(runs)

    def episode(self, scenario: int, *, keep_trace: bool = False) -> EdrEpisode:
        """Open a scenario at its first frame."""
        return EdrEpisode(self.truth, self.late_price, self.unserved_price)

    def trajectory(
        self,
        name: str,
        episodes: Sequence[Episode[Observation, Decision, Feedback]],
        *,
        seconds: float,
        keep_trace: bool = False,
    ) -> EdrTrajectory:
        """Gather finished episodes."""
        mine = [episode for episode in episodes if isinstance(episode, EdrEpisode)]
        return EdrTrajectory(
            name=name,
            seconds=seconds,
            compiled=False,
            cap=self.truth.cap,
            needed=self.truth.rounds,
            flows=mine[0].flows if keep_trace else None,
            **stacked(mine, _FIELDS),
        )
