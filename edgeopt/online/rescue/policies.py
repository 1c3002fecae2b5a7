"""RESCUE, its improvement and the baselines, and the four rules by which they choose.

A rule is what a policy prepares before the first arrival: its whole state, a table and a few lines
of logic. `Rule.distribution` gives the probability of every answer, in plain NumPy;
`edgeopt.online.rescue.kernels` holds the compiled forms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgeopt.online.rescue.environment import Placement
from edgeopt.online.rescue.lookup_tables import Guard, Routes, SlotTable, route_values, slot_blocks
from edgeopt.online.simulate import IgnoresFeedback
from edgeopt.options import check_flag, check_kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.models.rescue import P1Solution
    from edgeopt.online.rescue.environment import Arrival
    from edgeopt.online.rescue.kernels import RescueKernel
    from edgeopt.online.rescue.lookup_tables import RouteValues
    from edgeopt.online.rescue.safe_policies import Position, SafeRule


Distribution = list[tuple[float, Placement | None]]
"""Answers with their probabilities, in the order of the coin; what is left to 1 is rejection."""


def drawn(distribution: Distribution, coin: float) -> Placement | None:
    """Return the answer on which a coin in [0, 1) falls."""
    for share, answer in distribution:
        if coin < share:
            return answer
        coin -= share
    return None


@dataclass(frozen=True, eq=False)
class Rule(ABC):
    """A way to choose."""

    devices: int
    profiles: int
    guard: Guard | None  # vetoes runs that could cost a reserved task or meet an outage, None none

    @abstractmethod
    def distribution(self, slot: int, device: int, valid: NDArray[np.bool_]) -> Distribution:
        """Return the answers to a task of a device where some runs [K, L] may begin."""

    def choose(self, arrival: Arrival) -> Placement | None:
        """Answer an arrival."""
        distribution = self.distributions(arrival.slot, arrival.idle, arrival.remaining)
        return drawn(distribution(arrival.device), arrival.coin)

    def permitted(
        self, slot: int, idle: NDArray[np.bool_], remaining: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Tell which runs may begin, shape [K, L]."""
        if self.guard is None:
            return np.repeat(idle[:, np.newaxis], self.profiles, axis=1)
        return self.guard.permitted(idle, slot, remaining)

    def distributions(
        self, slot: int, idle: NDArray[np.bool_], remaining: NDArray[np.float64]
    ) -> Callable[[int], Distribution]:
        """Return the distribution of a device's task in this state of the servers."""
        valid = self.permitted(slot, idle, remaining)
        return lambda device: self.distribution(slot, device, valid)


@dataclass(frozen=True, eq=False)
class RoutedRule(Rule):
    """Draw one candidate from the routes, and accept it if it is worth it; no second candidate."""

    routes: Routes
    worth: NDArray[np.bool_]  # whether a route is accepted when its server is idle, [routes]

    def distribution(self, slot: int, device: int, valid: NDArray[np.bool_]) -> Distribution:
        """Return the answers to a task of a device where some runs [K, L] may begin."""
        shares = self.routes.shares(slot * self.devices + device)
        found = [(part, n, divmod(int(self.routes.pair[n]), self.profiles)) for n, part in shares]
        return [
            (share, Placement(*pair) if self.worth[route] and valid[pair] else None)
            for share, route, pair in found
        ]


@dataclass(frozen=True, eq=False)
class ServerRule(Rule):
    """Draw a server from the routes; run there the valid profile of highest score."""

    routes: Routes  # a route's server is drawn, its profile is not used
    score: SlotTable  # shape [T, J, K, L]; ties go to the lowest profile

    def distribution(self, slot: int, device: int, valid: NDArray[np.bool_]) -> Distribution:
        """Return the answers to a task of a device where some runs [K, L] may begin."""
        share = np.zeros(valid.shape[0])
        for route, part in self.routes.shares(slot * self.devices + device):
            share[int(self.routes.pair[route]) // self.profiles] += part
        best = np.where(valid, self.score.at(slot)[device], -np.inf).argmax(axis=1)
        may = np.asarray(valid.any(axis=1))
        return [
            (float(share[k]), Placement(int(k), int(best[k])) if may[k] else None)
            for k in np.flatnonzero(share)
        ]


@dataclass(frozen=True, eq=False)
class GreedyRule(Rule):
    """Take the valid run of highest score, if its score exceeds the threshold."""

    score: SlotTable  # shape [T, J, K, L]; ties go to the lowest server, then the lowest profile
    threshold: float  # a score has to exceed it

    def distribution(self, slot: int, device: int, valid: NDArray[np.bool_]) -> Distribution:
        """Return the answers to a task of a device where some runs [K, L] may begin."""
        score = np.where(valid, self.score.at(slot)[device], -np.inf)
        pair = divmod(int(score.argmax()), self.profiles)
        return [(1.0, Placement(*pair))] if score[pair] > self.threshold else []


@dataclass(frozen=True, eq=False)
class UniformRule(Rule):
    """Take any valid run with equal probability, or none."""

    accept: float  # probability of taking one, where there is one

    def distribution(self, slot: int, device: int, valid: NDArray[np.bool_]) -> Distribution:
        """Return the answers to a task of a device where some runs [K, L] may begin."""
        pairs = np.argwhere(valid).tolist()
        return [(self.accept / len(pairs), Placement(*pair)) for pair in pairs]


@dataclass(frozen=True, eq=False)
class RescuePolicy(IgnoresFeedback, ABC):
    """A policy that turns the instance into a `Rule` and follows it.

    A policy of your own gets its compiled kernel and its exact value for free if it extends this
    class and returns one of the rules of `edgeopt.online.rescue.policies` from `start`. On live
    events, step it by hand, as below.

    Attributes
    ----------
    guarded
        Whether runs that could cost a reserved task are vetoed.

    Notes
    -----
    Algorithm 1 of Huang, Liu, Shan is `Rescue`; what its rule leaves open is ours.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online.rescue import Arrival, PickConfigs
    >>> instance = generate(horizon=20, rng=7)
    >>> idle, left = np.ones(instance.servers, dtype=bool), instance.promised.demand
    >>> arrival = Arrival(slot=3, device=0, idle=idle, remaining=left, coin=0.5)
    >>> for policy in (PickConfigs(), PickConfigs(guarded=True)):
    ...     decision, state = policy.decide(policy.start(instance), arrival)
    ...     state = policy.learn(state, arrival, decision, ())
    ...     print(decision)
    Placement(server=1, profile=2)
    None
    """

    title: ClassVar[str]
    """Name of the policy without its options."""

    guarded: bool = False

    def __post_init__(self) -> None:
        check_flag("guarded", self.guarded)

    @property
    def name(self) -> str:
        """Title and options."""
        return f"{self.title}, guarded" if self.guarded else self.title

    @abstractmethod
    def start(self, instance: RescueInstance) -> Rule | Position:
        """Prepare the rule for an instance."""

    def decide(
        self, state: Rule, observation: Arrival, rng: np.random.Generator | None = None
    ) -> tuple[Placement | None, Rule]:
        """Answer an arrival; the only coin is the one that comes with it, `rng` is not used."""
        return state.choose(observation), state

    def compiled(self, environment: object, state: Rule | SafeRule) -> RescueKernel | None:
        """Return a kernel for `RescueEnvironment`, None for any other environment.

        Kernels are imported when called: they are compiled forms of these policies.
        """
        from edgeopt.online.rescue.environment import RescueEnvironment
        from edgeopt.online.rescue.kernels import RescueKernel

        if isinstance(environment, RescueEnvironment):
            return RescueKernel(environment, state, self.name)
        return None

    def _basis(self, instance: RescueInstance) -> tuple[int, int, Guard | None]:
        """Return what every rule begins with: numbers of devices and profiles, and the guard."""
        guard = None
        if self.guarded or instance.outage is not None:
            guard = Guard.of(instance, outages_only=not self.guarded)
        return instance.devices, instance.profiles, guard


def plan_of(instance: RescueInstance, plan: P1Solution | None, *, guarded: bool) -> P1Solution:
    """Return the plan that a policy was given, or solve the relaxation."""
    from edgeopt.models.rescue import P1Solution, solve_p1_lp

    check_kind("plan", plan, P1Solution, none=True)
    if plan is not None:
        return plan

    solved: P1Solution = solve_p1_lp(instance, forbid_unsafe=guarded)
    return solved


def blocked_capacity(instance: RescueInstance) -> NDArray[np.float64]:
    r"""Return the capacity that a run blocks, :math:`E\sum_{\tau=t}^{t+d_l-1} c_k(\tau)`.

    Past the horizon a server keeps the capacity of the last slot.
    """
    last = instance.max_duration - 1  # slots of the longest run after its first
    rate = np.pad(instance.capacity, ((0, 0), (0, last)), mode="edge")
    window = np.lib.stride_tricks.sliding_window_view(rate, instance.max_duration, axis=1)
    blocked = np.einsum("kta,la->tkl", window, instance.survival, optimize=True)
    return np.ascontiguousarray(blocked)


@dataclass(frozen=True, eq=False)
class RandomPolicy(RescuePolicy):
    """Reject with probability 1/2; otherwise take any (k, l) that may begin, all equally likely.

    Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on Underutilized
    Edges, section VI.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.rescue import RandomPolicy, RescueEnvironment
    >>> environment = RescueEnvironment(generate(servers=2, devices=4, horizon=20, rng=7))
    >>> simulate(environment, RandomPolicy(), runs=5)
    RescueTrajectory(Random, 5 scenarios, 20 slots, mean reward 0.950593)
    """

    title: ClassVar[str] = "Random"

    def start(self, instance: RescueInstance) -> UniformRule:
        """Prepare nothing but the guard."""
        return UniformRule(*self._basis(instance), 0.5)


def _profit_per_cost(
    instance: RescueInstance, cost: NDArray[np.float64], slots: slice
) -> NDArray[np.float64]:
    """Return expected profit per cost in a block of slots."""
    return np.ascontiguousarray(instance.expected_profit_block(slots) / cost[slots, np.newaxis])


@dataclass(frozen=True, eq=False)
class _Greedy(RescuePolicy):
    """Take the idle (k, l) of largest expected profit per cost, if it earns anything."""

    def start(self, instance: RescueInstance) -> GreedyRule:
        """Tabulate expected profit per cost."""
        score = partial(_profit_per_cost, instance, self._cost(instance))
        return GreedyRule(*self._basis(instance), SlotTable(score, slot_blocks(instance)), 0.0)

    @abstractmethod
    def _cost(self, instance: RescueInstance) -> NDArray[np.float64]:
        """Return the cost of a run, shape [T, K, L]."""


@dataclass(frozen=True, eq=False)
class PickConfigs(_Greedy):
    """Take the run of largest expected profit, whatever it blocks.

    The baseline of that name in the evaluation of Huang, Liu, Shan: RESCUE: Opportunistic Online
    Scheduling of Model Retraining on Underutilized Edges, section VI; there it checks reserved
    tasks, here `guarded` decides.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.rescue import PickConfigs, RescueEnvironment
    >>> environment = RescueEnvironment(generate(servers=2, devices=4, horizon=20, rng=7))
    >>> simulate(environment, PickConfigs(), runs=5)
    RescueTrajectory(PickConfigs, 5 scenarios, 20 slots, mean reward 1.68158)
    """

    title: ClassVar[str] = "PickConfigs"

    def _cost(self, instance: RescueInstance) -> NDArray[np.float64]:
        return np.ones((instance.horizon, instance.servers, instance.profiles))


@dataclass(frozen=True, eq=False)
class Srs(_Greedy):
    """Take the run of largest expected profit per expected slot.

    Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on Underutilized
    Edges, section VI. The paper says only that profit and expected duration both count; the ratio
    is ours.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.rescue import RescueEnvironment, Srs
    >>> environment = RescueEnvironment(generate(servers=2, devices=4, horizon=20, rng=7))
    >>> simulate(environment, Srs(), runs=5)
    RescueTrajectory(SRS, 5 scenarios, 20 slots, mean reward 2.26302)
    """

    title: ClassVar[str] = "SRS"

    def _cost(self, instance: RescueInstance) -> NDArray[np.float64]:
        shape = (instance.horizon, instance.servers, instance.profiles)
        return np.broadcast_to(instance.mean_duration, shape)


@dataclass(frozen=True, eq=False)
class Cvs(_Greedy):
    """Take the run of largest expected profit per unit of capacity that it is expected to block.

    Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on Underutilized
    Edges, section VI.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.rescue import Cvs, RescueEnvironment
    >>> environment = RescueEnvironment(generate(servers=2, devices=4, horizon=20, rng=7))
    >>> simulate(environment, Cvs(), runs=5)
    RescueTrajectory(CVS, 5 scenarios, 20 slots, mean reward 2.25204)
    """

    title: ClassVar[str] = "CVS"

    def _cost(self, instance: RescueInstance) -> NDArray[np.float64]:
        return blocked_capacity(instance)


@dataclass(frozen=True, eq=False)
class Sumita(RescuePolicy):
    r"""Send a task to server k with probability :math:`\sum_l y_{jkl}(t) / p_j(t)`.

    If the server is idle, the task is run with the profile of largest expected profit among those
    that the guard lets pass, whatever the relaxation says of profiles; it is rejected with the
    probability that is left, and there is no threshold. This is the baseline as Huang, Liu, Shan
    (RESCUE: Opportunistic Online Scheduling of Model Retraining on Underutilized Edges, section VI)
    describe it. It is not the algorithm of Sumita et al., which compares with the value of waiting
    and has a guarantee of its own.

    Attributes
    ----------
    plan
        Solution of the relaxation; solved in `start` if None.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.rescue import RescueEnvironment, Sumita
    >>> environment = RescueEnvironment(generate(servers=2, devices=4, horizon=20, rng=7))
    >>> simulate(environment, Sumita(), runs=5)
    RescueTrajectory(Sumita, 5 scenarios, 20 slots, mean reward 1.57251)
    """

    title: ClassVar[str] = "Sumita"
    plan: P1Solution | None = None

    def start(self, instance: RescueInstance) -> ServerRule:
        """Solve for the plan if there is none."""
        plan = plan_of(instance, self.plan, guarded=self.guarded)
        return ServerRule(
            *self._basis(instance),
            Routes.of(instance, plan.y),
            SlotTable(instance.expected_profit_block, slot_blocks(instance)),
        )


@dataclass(frozen=True, eq=False)
class Rescue(RescuePolicy):
    r"""The published policy, Algorithm 1 with the thresholds of Algorithm 2.

    A task of device j that arrives in slot t is sent to (k, l) with probability
    :math:`y_{jkl}(t) / p_j(t)`, and rejected with the probability that is left. It is accepted if
    server k is idle and :math:`A_{jkl}(t) > B_k(t+1)`; there is no second candidate. Without
    reserved work it earns at least half of OPT(LP) in expectation (Theorem 1), and exactly
    :math:`\sum_k B_k(1)`.

    With independent arrivals the tasks of a slot are handled in the order of their device index and
    compared with the value of waiting for the next device.

    Attributes
    ----------
    plan
        Solution of the relaxation; solved in `start` if None.

    References
    ----------
    Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on Underutilized
    Edges, Algorithms 1 and 2. The guard is not part of it.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.rescue import Rescue, RescueEnvironment
    >>> environment = RescueEnvironment(generate(servers=2, devices=4, horizon=20, rng=7))
    >>> simulate(environment, Rescue(), runs=5)
    RescueTrajectory(RESCUE, 5 scenarios, 20 slots, mean reward 1.83223)
    """

    title: ClassVar[str] = "RESCUE"
    plan: P1Solution | None = None

    def start(self, instance: RescueInstance) -> RoutedRule:
        """Solve for the plan if there is none, and compare each route with waiting."""
        plan = plan_of(instance, self.plan, guarded=self.guarded)
        values = route_values(instance, plan.y)
        activation, waiting = values.margin()
        return RoutedRule(*self._basis(instance), values.routes, activation > waiting)


GAIN = 1e-12
"""A run has to be worth more than waiting by this share of the terms: less is rounding."""


def _margin(instance: RescueInstance, values: RouteValues, slots: slice) -> NDArray[np.float64]:
    """Return activation less waiting in a block of slots, 0 where they differ by rounding."""
    activation = instance.expected_profit_block(slots)
    later = values.continuation[slots, np.newaxis]
    # [T, S, K] with S = 1 or J, so that it broadcasts against [T, J, K, L].
    after = values.after[slots, ..., np.newaxis]
    gain = activation + later - after
    gain[gain <= GAIN * np.maximum(activation + later, after)] = 0.0
    return np.ascontiguousarray(gain)


@dataclass(frozen=True, eq=False)
class RescuePlus(RescuePolicy):
    r"""Take the idle (k, l) of largest :math:`A_{jkl}(t) - B_k(t+1)`, if that is positive.

    Without reserved work the expected profit that RESCUE still collects is the sum over servers of
    :math:`B_k` at the time k is idle next, because RESCUE routes whatever the servers do.
    Choosing the best term is therefore an exact step of policy improvement: the expected profit is
    at least RESCUE's on every instance, hence at least half of OPT(LP). This policy is ours, not
    the paper's, and nothing is proven of it under the guard.

    Attributes
    ----------
    plan
        Solution of the relaxation; solved in `start` if None.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.rescue import RescueEnvironment, RescuePlus
    >>> environment = RescueEnvironment(generate(servers=2, devices=4, horizon=20, rng=7))
    >>> simulate(environment, RescuePlus(), runs=5)
    RescueTrajectory(RESCUE+, 5 scenarios, 20 slots, mean reward 2.58474)
    """

    title: ClassVar[str] = "RESCUE+"
    plan: P1Solution | None = None

    def start(self, instance: RescueInstance) -> GreedyRule:
        """Solve for the plan if there is none, and tabulate activation less waiting."""
        plan = plan_of(instance, self.plan, guarded=self.guarded)
        margin = partial(_margin, instance, route_values(instance, plan.y))
        return GreedyRule(*self._basis(instance), SlotTable(margin, slot_blocks(instance)), 0.0)
