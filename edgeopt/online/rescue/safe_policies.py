"""Policies that know what reserved work leaves: thresholds depend on the state of every server."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.kernels import compiled, put
from edgeopt.models.rescue.bounds import SafeBound, safe_bound
from edgeopt.models.rescue.server_states import (
    Chain,
    ServerStates,
    StateValues,
    state_value,
    state_values,
)
from edgeopt.online.rescue.environment import Placement
from edgeopt.online.rescue.lookup_tables import (
    Guard,
    Routes,
    SlotTable,
    require_within,
    slot_blocks,
)
from edgeopt.online.rescue.policies import GAIN, RescuePolicy, drawn, plan_of
from edgeopt.online.simulate import require_parts
from edgeopt.options import check_kind, check_real, check_room, check_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from edgeopt.arrays import Floats
    from edgeopt.arrays import Ints as Integers
    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.models.rescue import P1Solution
    from edgeopt.online.rescue.environment import Arrival, FinishedRun
    from edgeopt.online.rescue.kernels import RescueKernel
    from edgeopt.online.rescue.policies import Distribution


ROUNDS: Final = 1_000
"""Most rounds of offers."""


@dataclass(frozen=True, eq=False)
class SafeRule:
    """Take the safe run that adds most to the values of idle servers, or the one that is drawn."""

    devices: int
    profiles: int
    guard: Guard
    states: ServerStates
    values: StateValues
    score: SlotTable  # expected profit, [T, J, K, L]
    routes: Routes | None = None  # if a candidate is drawn, and only that one may be accepted

    def waited(self, state: int, slot: int) -> int:
        """Return the state in a slot of a server that has been idle since an earlier state."""
        while self.states.slot[state] < slot:
            state = int(self.states.following[state, 0])
        return state

    def ended(self, state: int, run: FinishedRun) -> int:
        """Return the state in which a server is idle after a run that began in a state."""
        states, begun = self.states, int(self.states.slot[state])
        if begun == run.slot and 1 <= run.duration < states.following.shape[1]:
            idle = int(states.following[state, run.duration])
            if idle < states.count or begun + run.duration >= states.slot[-1]:
                return idle
        raise OptionError(
            f"server {run.server}: no state follows a run of {run.duration} slots with profile "
            f"{run.profile} from slot {run.slot} on; start the policy anew on what is left"
        )

    def choose(self, arrival: Arrival, places: Sequence[int]) -> Placement | None:
        """Answer an arrival; idle servers are in these states."""
        distribution = self.distributions(arrival.slot, arrival.idle, arrival.remaining, *places)
        return drawn(distribution(arrival.device), arrival.coin)

    def distributions(
        self, slot: int, idle: NDArray[np.bool_], remaining: Floats, *places: int
    ) -> Callable[[int], Distribution]:
        """Return the distribution of a device's task; work left is empty if not followed."""

        def distribution(device: int) -> Distribution:
            ways: list[tuple[float, int | None]] = [(1.0, None)]
            if self.routes is not None:
                shares = self.routes.shares(slot * self.devices + device)
                ways = [(share, int(self.routes.pair[route])) for route, share in shares]
            known = slot, device, places, idle, remaining
            return [(share, self._best(only, *known)) for share, only in ways]

        return distribution

    def _best(
        self,
        only: int | None,
        slot: int,
        device: int,
        places: Sequence[int],
        idle: NDArray[np.bool_],
        remaining: Floats,
    ) -> Placement | None:
        """Return the safe pair that adds most; where work left is not followed, states decide."""
        found, best = None, 0.0
        pairs = range(idle.size * self.profiles) if only is None else (only,)
        for server, profile in (divmod(pair, self.profiles) for pair in pairs):
            if not idle[server]:
                continue
            gain = self.gain(slot, device, server, profile, places[server])
            if gain > best and (
                not remaining.size or self.guard.safe(server, profile, slot, remaining)
            ):
                found, best = Placement(server, profile), gain
        return found

    def gain(self, slot: int, device: int, server: int, profile: int, state: int) -> float:
        """Return what a run is worth more than waiting, 0 if by no more than rounding."""
        score, (_, future, waiting) = self.score.at(slot), self.values
        worth = float(score[device, server, profile] + future[state, profile])
        wait = float(waiting[state, device if waiting.shape[1] > 1 else 0])
        return worth - wait if worth - wait > GAIN * max(worth, wait) else 0.0


class Position(NamedTuple):
    """A rule, and the state in which each server is idle, or in which its run began."""

    rule: SafeRule
    places: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class SafePolicy(RescuePolicy):
    """A policy that follows the state of idle servers; it is safe in every run."""

    guarded: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.guarded:
            raise OptionError(f"{self.title}: guarded=False; its states are those of safe runs")

    @property
    def name(self) -> str:
        """Title."""
        return self.title

    def start(self, instance: RescueInstance) -> Position:
        """Prepare values of all states."""
        states, values, routes = self._prepare(instance)
        rule = SafeRule(
            instance.devices,
            instance.profiles,
            Guard.of(instance),
            states,
            values,
            SlotTable(instance.expected_profit_block, slot_blocks(instance)),
            routes,
        )
        return Position(rule, tuple(states.first[:-1].tolist()))

    def decide(  # type: ignore[override]
        self, state: Position, observation: Arrival, rng: np.random.Generator | None = None
    ) -> tuple[Placement | None, Position]:
        """Answer an arrival; the only coin is the one that comes with it, `rng` is not used."""
        rule, places = state
        require_within(observation.slot, int(rule.states.slot[-1]))
        places = tuple(
            rule.waited(place, observation.slot) if idle else place
            for place, idle in zip(places, observation.idle.tolist(), strict=True)
        )
        return rule.choose(observation, places), Position(rule, places)

    def learn(
        self,
        state: Position,
        observation: Arrival,
        decision: Placement | None,
        feedback: Sequence[FinishedRun],
    ) -> Position:
        """Move servers whose run has ended to the state in which they are idle."""
        places = list(state.places)
        for run in feedback:
            places[run.server] = state.rule.ended(places[run.server], run)
        return Position(state.rule, tuple(places))

    def compiled(self, environment: object, state: Position) -> RescueKernel | None:  # type: ignore[override]
        """Return a kernel for `RescueEnvironment`, None for any other environment."""
        return super().compiled(environment, state.rule)

    @abstractmethod
    def _prepare(self, instance: RescueInstance) -> tuple[ServerStates, StateValues, Routes | None]:
        """Return states, their values, and what is drawn from, if anything is."""


@dataclass(frozen=True)
class Guarded:
    """A policy of one's own whose unsafe answers are mended, so that no reserved task fails.

    If it wants a run that could cost a reserved task, the run gets the longest profile that is safe
    on that server. If none is, the policy is asked again with this server shown as busy: it answers
    an arrival more than once, what it remembers of answers that were not taken is dropped, and its
    random numbers are the same again.

    Parameters
    ----------
    policy
        The policy.

    Raises
    ------
    PolicyError
        If it lacks a part of a policy.

    Notes
    -----
    Every run that begins passes :meth:`Guard.safe`; where the reserved tasks are feasible at first,
    none ever fails, and the bound for policies that are safe by design holds.

    Ours: section III-A of the paper promises that reserved tasks keep their deadlines, and does not
    say how.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.rescue import Guarded, PickConfigs, RescueEnvironment
    >>> environment = RescueEnvironment(generate(horizon=50, rng=0))
    >>> for policy in (PickConfigs(), Guarded(PickConfigs())):
    ...     found = simulate(environment, policy, runs=20)
    ...     print(policy.name, found.violations.sum() > 0)
    PickConfigs True
    PickConfigs, guarded False
    """

    policy: Any

    guarded: ClassVar[bool] = True
    """No reserved task fails."""

    def __post_init__(self) -> None:
        require_parts(self.policy)

    @property
    def name(self) -> str:
        """Name of the policy, and that it is guarded."""
        return f"{self.policy.name}, guarded"

    def __getattr__(self, name: str) -> Any:
        """Return what a study asks of the policy: what it knows beforehand."""
        if name in ("hindsight", "information"):
            return getattr(self.policy, name)
        raise AttributeError(name)

    def start(self, instance: RescueInstance) -> tuple[Guard, Any]:
        """Prepare the guard, and the policy."""
        return Guard.of(instance), self.policy.start(instance)

    def decide(
        self, state: tuple[Guard, Any], observation: Arrival, rng: np.random.Generator | None = None
    ) -> tuple[Any, tuple[Guard, Any]]:
        """Answer an arrival safely."""
        (guard, own), idle = state, observation.idle
        coins: Any = None if rng is None else rng.bit_generator.state
        seen = observation
        while True:
            answer = self.policy.decide(own, seen, rng)
            if type(answer) is not tuple or len(answer) != 2:
                return answer  # type: ignore[no-any-return] # which the simulator refuses
            decision, after = answer
            try:
                server, profile = int(decision[0]), int(decision[1])
                within = 0 <= server < idle.size and 0 <= profile < guard.longest.size
            except (TypeError, ValueError, IndexError):
                within = False
            if not within or not idle[server]:
                return decision, (guard, after)  # none, or one that the episode refuses
            if not seen.idle[server]:
                return None, (guard, after)  # it does not look at what is busy
            slot, left = observation.slot, observation.remaining
            if guard.safe(server, profile, slot, left):
                return decision, (guard, after)
            for other in np.argsort(-guard.longest, kind="stable").tolist():
                if guard.safe(server, other, slot, left):
                    return Placement(server, other), (guard, after)
            hidden = seen.idle.copy()
            hidden[server] = False
            hidden.flags.writeable = False
            seen = replace(seen, idle=hidden)
            if rng is not None:
                rng.bit_generator.state = coins

    def learn(
        self, state: tuple[Guard, Any], observation: Arrival, decision: Any, feedback: Any
    ) -> tuple[Guard, Any]:
        """Let the policy learn from what was done."""
        return state[0], self.policy.learn(state[1], observation, decision, feedback)


def _states_of(instance: RescueInstance, bound: SafeBound | None = None) -> ServerStates:
    """Return states that no run of a policy exceeds; those of a bound serve if they are exact."""
    if bound is not None and bound.exact:
        return bound.states
    return _rounded_up(instance)


@lru_cache(maxsize=1)
def _rounded_up(instance: RescueInstance) -> ServerStates:
    """List the states once for all policies of an instance."""
    return ServerStates.of(instance, up=True)


@dataclass(frozen=True, eq=False)
class SafeRescue(SafePolicy):
    r"""RESCUE with thresholds that depend on what reserved work leaves of the server.

    Tasks are routed as by `Rescue`; a candidate is accepted if its server is idle, the run is safe,
    and it is worth more than waiting in the state of the server. The expected profit is exactly the
    sum over servers of the value of their first state, and no other way to accept the routed
    candidates safely earns more.

    Attributes
    ----------
    plan
        Solution of the relaxation with ``forbid_unsafe=True``; solved in `start` if None.

    References
    ----------
    Ours; the routing is Algorithm 1 of Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of
    Model Retraining on Underutilized Edges.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.rescue import RescueEnvironment, SafeRescue
    >>> environment = RescueEnvironment(generate(servers=2, devices=4, horizon=20, rng=7))
    >>> simulate(environment, SafeRescue(), runs=5)
    RescueTrajectory(RESCUE by state, 5 scenarios, 20 slots, mean reward 0.705877)
    """

    title: ClassVar[str] = "RESCUE by state"
    plan: P1Solution | None = None
    drawn: ClassVar[bool] = True

    def _prepare(self, instance: RescueInstance) -> tuple[ServerStates, StateValues, Routes | None]:
        plan = plan_of(instance, self.plan, guarded=True)
        routes, states = Routes.of(instance, plan.y), _states_of(instance)
        chain = Chain.of(instance, states)
        values = state_values(chain, states.first, routes=(routes.first, routes.pair, routes.mass))
        return states, values, routes if self.drawn else None


@dataclass(frozen=True, eq=False)
class SafeRescuePlus(SafeRescue):
    """Take the safe run that adds most to the values of `SafeRescue`, if that is positive.

    What `SafeRescue` still earns is the sum over servers of the values of the states in which they
    are idle next. To choose the best term is an exact step of policy improvement, so that this
    policy earns at least as much in expectation, on every instance.

    Notes
    -----
    Ours: one step of policy improvement (Howard 1960) from `SafeRescue`.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.rescue import RescueEnvironment, SafeRescuePlus
    >>> environment = RescueEnvironment(generate(servers=2, devices=4, horizon=20, rng=7))
    >>> simulate(environment, SafeRescuePlus(), runs=5)
    RescueTrajectory(RESCUE+ by state, 5 scenarios, 20 slots, mean reward 0.705877)
    """

    title: ClassVar[str] = "RESCUE+ by state"
    drawn: ClassVar[bool] = False


@dataclass(frozen=True, eq=False)
class PriceGreedy(SafePolicy):
    """Take the safe run worth most by the values of servers that pay a price for every task.

    The prices are those of the bound on safe policies, a little reduced. With one server, the
    policy is optimal among safe ones; with several it has no guarantee.

    Attributes
    ----------
    bound
        Result of `edgeopt.models.rescue.bounds`; computed in `start` if None.
    share
        Share of the prices that is charged.

    Raises
    ------
    OptionError
        If the share is negative or not finite.

    Notes
    -----
    Ours, with the prices of `edgeopt.models.rescue.safe_bound`.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.rescue import PriceGreedy, RescueEnvironment
    >>> environment = RescueEnvironment(generate(servers=2, devices=4, horizon=20, rng=7))
    >>> simulate(environment, PriceGreedy(), runs=5)
    RescueTrajectory(Price-greedy, 5 scenarios, 20 slots, mean reward 0.705877)
    """

    title: ClassVar[str] = "Price-greedy"
    bound: SafeBound | None = None
    share: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        check_kind("bound", self.bound, SafeBound, none=True)
        check_real("share", self.share, "[0, inf)")

    def _prepare(self, instance: RescueInstance) -> tuple[ServerStates, StateValues, Routes | None]:
        bound = safe_bound(instance) if self.bound is None else self.bound
        sizes = *bound.price.shape, bound.states.first.size - 1
        if sizes != instance.shape[:3]:
            raise OptionError("bound is one of another instance: its prices have another shape")
        states = _states_of(instance, bound)
        price = self.share * bound.price[np.newaxis, :, np.newaxis]
        return states, state_values(Chain.of(instance, states), states.first, price), None


@dataclass(frozen=True, eq=False)
class CompetingOffers(PriceGreedy):
    """Take the safe run worth most by values that know what the other servers would offer.

    The prices of `PriceGreedy` are replaced by offers: on sampled paths of the policy as it stands,
    what every task would add on the best of the other idle servers. Values follow from these, and a
    second round begins with them. With one server, the policy is optimal among safe ones; with
    several it has no guarantee, and has earned more than any other policy here.

    Attributes
    ----------
    rounds
        How often offers are sampled.
    paths
        Sample paths of a round.
    seed
        Of the sample paths.

    Raises
    ------
    OptionError
        If a number is out of range, or there are too many paths for the memory.

    Notes
    -----
    Ours.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.rescue import CompetingOffers, RescueEnvironment
    >>> environment = RescueEnvironment(generate(servers=2, devices=4, horizon=20, rng=7))
    >>> simulate(environment, CompetingOffers(), runs=5)
    RescueTrajectory(Competing offers, 5 scenarios, 20 slots, mean reward 0.705877)
    """

    title: ClassVar[str] = "Competing offers"
    rounds: int = 2
    paths: int = 150
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("rounds", self.rounds, 0, ROUNDS)
        check_whole("paths", self.paths, 1)
        check_whole("seed", self.seed, 0)

    def _prepare(self, instance: RescueInstance) -> tuple[ServerStates, StateValues, Routes | None]:
        states, values, _ = super()._prepare(instance)
        chain = Chain.of(instance, states)
        if instance.servers == 1:  # nobody else offers anything
            nothing = np.zeros((1, instance.horizon, 1, instance.devices))
            return states, state_values(chain, states.first, nothing), None
        check_room("paths * devices * servers", self.paths, *instance.shape[1:3])
        steps = 1 if chain.exclusive else instance.devices
        rng = np.random.default_rng(self.seed)
        places = np.empty((self.paths, instance.horizon, instance.servers), dtype=np.int64)
        for number in range(self.rounds):
            coins = rng.random((self.paths, instance.horizon, steps, 2))
            followed = chain, states.first, coins, values.future, values.waiting, places
            _sample(*followed)
            new = StateValues.empty(chain)
            _against_offers(*followed, *new)
            both = zip(values, new, strict=True)
            values = StateValues(*(0.5 * (old + now) for old, now in both)) if number else new
        return states, values, None


@compiled(writes="place offers")
def _follow(
    chain: Chain,
    t: int,
    coins: Floats,
    future: Floats,
    waiting: Floats,
    place: Integers,
    offers: Floats,
) -> None:
    """Follow a policy through a slot; fill in what all other idle servers offer, [K, J], if asked.

    `coins` has the shape [S, 2].
    """
    devices, servers = chain.arrival.shape[1], place.size
    # Which device comes if at most one does: none if it is `devices`.
    comes, total = devices, 0.0
    if chain.exclusive:
        for j in range(devices):
            total += chain.arrival[t, j]
            if coins[0, 0] < total:
                comes = j
                break
    begun, profile = -1, -1
    for j in range(devices):
        if chain.exclusive and comes != j and not offers.size:
            continue
        if not chain.exclusive:
            comes = j if coins[j, 0] < chain.arrival[t, j] else devices
        best, second, server, kind = 0.0, 0.0, -1, -1
        for k in range(servers):
            if chain.slot[place[k]] != t:
                continue
            n, own = place[k], 0.0
            wait = waiting[n, 0 if chain.exclusive else j]
            for one in range(future.shape[1]):
                gain = chain.profit[t, k, one, j] + future[n, one] - wait
                if gain > own:
                    own = gain
                    if gain > best:
                        kind = one
            if own > best:
                best, second, server = own, best, k
            elif own > second:
                second = own
        # What others would add, as prices of a second-price auction (Vickrey 1961).
        for k in range(offers.shape[0]):
            offers[k, j] = second if k == server else best
        if comes == j and server >= 0:
            begun, profile = server, kind
            if not chain.exclusive:
                place[begun] = _run(chain, place[begun], profile, coins[j, 1])
    if chain.exclusive and begun >= 0:
        place[begun] = _run(chain, place[begun], profile, coins[0, 1])


@compiled(writes="places")
def _sample(
    chain: Chain,
    first: Integers,
    coins: Floats,
    future: Floats,
    waiting: Floats,
    places: Integers,
) -> None:
    """Follow a policy on sample paths; fill in where servers are at the start of slots, [n, T, K].

    `coins` has the shape [n, T, S, 2].
    """
    horizon, servers = chain.arrival.shape[0], first.size - 1
    place, nothing = np.empty(servers, dtype=np.int64), np.empty((0, 0), dtype=np.float64)
    # Sample average: the same paths for all servers (common random numbers).
    for path in range(coins.shape[0]):
        put(first[:servers], place)
        for t in range(horizon):
            for k in range(servers):
                while chain.slot[place[k]] < t:
                    place[k] = chain.following[place[k], 0]
                places[path, t, k] = place[k]
            _follow(chain, t, coins[path, t], future, waiting, place, nothing)


@compiled(writes="value new_future new_waiting")
def _against_offers(
    chain: Chain,
    first: Integers,
    coins: Floats,
    future: Floats,
    waiting: Floats,
    places: Integers,
    value: Floats,
    new_future: Floats,
    new_waiting: Floats,
) -> None:
    """Fill in the values of servers whose tasks the others compete for on sample paths.

    Offers are held for one slot at a time, and once for paths on which servers are in equal states.
    """
    paths, horizon, servers = places.shape
    devices = chain.arrival.shape[1]
    offers = np.empty((paths, servers, devices), dtype=np.float64)
    mass, chosen = np.empty(paths, dtype=np.float64), np.empty(paths, dtype=np.int64)
    against = np.empty((paths, devices), dtype=np.float64)
    best, place = np.empty(devices, dtype=np.float64), np.empty(servers, dtype=np.int64)
    last = np.empty(servers, dtype=np.int64)
    for k in range(servers):
        last[k] = first[k + 1] - 1
    for t in range(horizon - 1, -1, -1):
        count = 0
        for path in range(paths):
            same = count
            if chain.exclusive:
                for one in range(count):
                    differs = False
                    for k in range(servers):
                        here, other = places[path, t, k], places[chosen[one], t, k]
                        idle = chain.slot[here] == t
                        if idle != (chain.slot[other] == t) or (idle and here != other):
                            differs = True
                    if not differs:
                        same = one
                        break
            if same == count:
                chosen[count], mass[count] = path, 0.0
                for k in range(servers):
                    place[k] = places[path, t, k]
                _follow(chain, t, coins[path, t], future, waiting, place, offers[count])
                count += 1
            mass[same] += 1.0 / paths
        for k in range(servers):
            if last[k] < first[k] or chain.slot[last[k]] != t:
                continue
            for one in range(count):
                for j in range(devices):
                    against[one, j] = offers[one, k, j]
            while last[k] >= first[k] and chain.slot[last[k]] == t:
                state_value(
                    chain, last[k], k, against[:count], mass, value, new_future, new_waiting, best
                )
                last[k] -= 1


@compiled
def _run(chain: Chain, state: int, profile: int, coin: float) -> int:
    """Return the state after a run of random length."""
    total, d = 0.0, 0
    while d < chain.longest[profile] - 1:
        total += chain.duration[profile, d]
        if coin < total:
            break
        d += 1
    if chain.slot[state] + d + 1 >= chain.arrival.shape[0]:
        return chain.room.size
    return int(chain.following[state, d + 1])
