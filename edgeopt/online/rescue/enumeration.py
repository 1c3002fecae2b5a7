"""The exact value of any policy on a small instance, by all histories that it may meet.

The policy's own ``decide`` and ``learn`` are called as the simulator calls them. Histories that
lead to the same servers, the same work left and the same content of the policy's state go on as
one. The coin of an arrival notes what it is compared with, so that every piece of [0, 1) on which a
policy decides alike is met once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, cast

import numpy as np

from edgeopt.content import content, content_of_parts
from edgeopt.errors import OptionError
from edgeopt.online.rescue.environment import (
    Arrival,
    FinishedRun,
    RescueEnvironment,
    checked_placement,
)
from edgeopt.online.rescue.expected_value import steps_of
from edgeopt.online.rescue.policies import RescuePolicy
from edgeopt.online.rescue.safe_policies import Guarded
from edgeopt.online.simulate import IgnoresFeedback, ask, require_parts
from edgeopt.options import check_real, check_whole, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from edgeopt.instances.rescue import RescueInstance

HISTORIES: Final = 200_000
"""Histories of a slot beyond which the enumeration gives up."""


def exact_value(
    instance: RescueInstance,
    policy: Any,
    *,
    coins: Sequence[tuple[float, float]] | None = None,
    limit: int = HISTORIES,
) -> float:
    """Return the exact expected profit of any policy on a small instance.

    Parameters
    ----------
    instance
        The instance.
    policy
        Any policy for RESCUE, such as one of your own that learns.
    coins
        For a policy that computes with the coin of an arrival, rather than compare it with numbers:
        pairs of a coin and its probability, such that the policy decides alike on all coins that a
        pair stands for.
    limit
        Largest number of histories that are told apart in a slot.

    Returns
    -------
    Expected profit of all slots.

    Raises
    ------
    OptionError
        If there are more histories than `limit`, the policy computes with a coin and `coins` are
        not given, it draws random numbers of its own, or a decision cannot be carried out.
    PolicyError
        If the policy lacks a part.

    See Also
    --------
    policy_value : Far larger instances, for policies that follow a rule.

    Examples
    --------
    >>> from edgeopt.instances.rescue import tight
    >>> from edgeopt.online.rescue import PickConfigs, RandomPolicy, exact_value
    >>> exact_value(tight(0.25), PickConfigs())
    1.0
    >>> exact_value(tight(0.25), RandomPolicy())
    0.75
    """
    require_parts(policy)
    check_whole("limit", limit, 1)
    return _Enumeration(instance, policy, _checked(coins), limit).value()


class _Coin:
    """A number in [0, 1) that notes within which span comparisons with it come out alike."""

    def __init__(self, value: float, less: float = 0.0, span: _Coin | None = None) -> None:
        self.value, self.less, self.span = value, less, span or self
        self.high, self.open = 1.0, True

    def __lt__(self, other: Any) -> bool:
        if not self.span.open:
            _needs_coins()
        edge = float(other) + self.less
        if self.value < edge:
            self.span.high = min(self.span.high, edge)
            return True
        return False

    def __ge__(self, other: Any) -> bool:
        return not self < other

    # Whether an edge belongs to the one side or the other has no probability.
    __le__, __gt__ = __lt__, __ge__

    def __sub__(self, other: float) -> _Coin:
        return _Coin(self.value, self.less + float(other), self.span)

    def __add__(self, other: float) -> _Coin:
        return self - -other

    def __float__(self) -> float:
        _needs_coins()


def _needs_coins() -> NoReturn:
    raise OptionError(
        "the policy computes with the coin of an arrival: give coins=[(coin, probability), ...]"
    )


class _History(NamedTuple):
    """What tells histories apart."""

    free_at: tuple[int, ...]
    """First idle slot of each server."""
    remaining: tuple[float, ...]
    """Reserved work left of each task."""
    running: tuple[FinishedRun, ...] = ()
    """Runs that have not ended, in the order in which they began."""
    finished: tuple[FinishedRun, ...] = ()
    """Runs that have ended since the last decision."""
    memory: bytes = b""
    """Content of the state, and of the last arrival and decision, of which it has yet to learn."""


class _Reached(NamedTuple):
    """What a history has led to."""

    weight: float
    state: Any
    answered: tuple[Arrival, Any] | None


class _Enumeration:
    """All histories of one policy."""

    def __init__(
        self,
        instance: RescueInstance,
        policy: Any,
        coins: Sequence[tuple[float, float]] | None,
        limit: int,
    ) -> None:
        self.instance, self.policy, self.limit = instance, policy, limit
        self.environment = RescueEnvironment(instance)
        self.coins = coins
        self.rng = np.random.default_rng(0)
        self.untouched = self.rng.bit_generator.state
        self.learns = _learns(policy)
        start = ask(policy, "start", instance)
        self.known = content_of_parts(instance, start)
        free = (0,) * instance.servers
        left = tuple(instance.promised.demand.tolist())
        self.reached = {_History(free, left): _Reached(1.0, start, None)}

    def value(self) -> float:
        """Follow all histories to the end."""
        profit = 0.0
        for slot in range(self.instance.horizon):
            self.finish(slot)
            for step in steps_of(self.instance, slot):
                profit += self.arrive(slot, step)
            self.serve(slot)
        return profit

    def go_on(self, after: dict[_History, _Reached], history: _History, reached: _Reached) -> None:
        """Add a history to those that go on, as one with an equal one."""
        if reached.weight <= 0.0:
            return
        known = after.get(history)
        weight = reached.weight + (known.weight if known else 0.0)
        after[history] = reached._replace(weight=weight)
        if len(after) > self.limit:
            raise OptionError(
                f"{self.policy.name}: more than {self.limit} histories; simulate instead, or raise "
                "the limit"
            )

    def finish(self, slot: int) -> None:
        """Report the runs whose last slot was the one before."""
        after = dict[_History, _Reached]()
        for history, reached in self.reached.items():
            ended = tuple(run for run in history.running if run.slot + run.duration == slot)
            running = tuple(run for run in history.running if run.slot + run.duration != slot)
            finished = history.finished + ended
            self.go_on(after, history._replace(running=running, finished=finished), reached)
        self.reached = after

    def arrive(self, slot: int, step: list[tuple[float, int]]) -> float:
        """Let a task arrive, or none; return what is earned."""
        after, profit = dict[_History, _Reached](), 0.0
        silence = 1.0 - sum(chance for chance, _ in step)
        for history, reached in self.reached.items():
            self.go_on(after, history, reached._replace(weight=reached.weight * silence))
            state = reached.state
            if reached.answered is not None:
                state = self.policy.learn(state, *reached.answered, history.finished)
            idle, left = np.array(history.free_at) <= slot, np.array(history.remaining)
            idle.flags.writeable = left.flags.writeable = False
            for chance, device in step:
                weight = reached.weight * chance
                for share, arrival, answer in self.answers(slot, device, idle, left, state):
                    profit += self.carry_out(after, history, arrival, answer, weight * share)
        self.reached = after
        return profit

    def answers(
        self, slot: int, device: int, idle: Any, left: Any, state: Any
    ) -> Iterator[tuple[float, Arrival, tuple[Any, Any]]]:
        """Yield the probability of every way in which the policy answers a task, and the answer."""
        if self.coins is not None:
            for given, share in self.coins:
                arrival = Arrival(slot, device, idle, left, given)
                yield share, arrival, self.policy.decide(state, arrival, self.rng)
            return
        low = 0.0
        while low < 1.0:
            coin = _Coin(low)
            arrival = Arrival(slot, device, idle, left, cast("float", coin))
            answer = self.policy.decide(state, arrival, self.rng)
            coin.open = False
            yield coin.high - low, arrival, answer
            low = coin.high

    def carry_out(
        self,
        after: dict[_History, _Reached],
        history: _History,
        arrival: Arrival,
        answer: tuple[Any, Any],
        weight: float,
    ) -> float:
        """Begin the run that the policy wants, if any, and let it take every length it may."""
        decision, state = answer
        if self.rng.bit_generator.state != self.untouched:
            raise OptionError(f"{self.policy.name} draws random numbers: it cannot be enumerated")
        answered, learnt = None, None
        if self.learns:
            answered = (arrival, decision)
            coin = None if self.coins is None else arrival.coin
            learnt = (arrival.slot, arrival.device, arrival.idle, arrival.remaining, coin, decision)
        memory = content((state, learnt), known=self.known)
        decided = history._replace(finished=(), memory=memory)
        if decision is None:
            self.go_on(after, decided, _Reached(weight, state, answered))
            return 0.0
        server, profile = checked_placement(decision, self.instance, arrival.idle, arrival.slot)
        slot, device = arrival.slot, arrival.device
        reward = self.environment.profit.at(slot)[device, server, profile]
        earned = 0.0
        for duration, chance in enumerate(self.instance.duration[profile].tolist(), start=1):
            if chance <= 0.0:
                continue
            profit = float(reward[duration - 1])
            earned += weight * chance * profit
            free_at = list(history.free_at)
            free_at[server] = slot + duration
            run = FinishedRun(slot, device, server, profile, duration, profit)
            running = (*history.running, run) if self.learns else ()
            begun = decided._replace(free_at=tuple(free_at), running=running)
            self.go_on(after, begun, _Reached(weight * chance, state, answered))
        return earned

    def serve(self, slot: int) -> None:
        """Let idle servers work on reserved tasks."""
        after = dict[_History, _Reached]()
        ended = self.instance.promised.end <= slot
        for history, reached in self.reached.items():
            idle, left = np.array(history.free_at) <= slot, np.array(history.remaining)
            self.environment.guard.serve(slot, idle, left)
            if isinstance(self.policy, RescuePolicy):
                left[ended] = 0.0  # no rule looks at what is left of a past task
            free_at = tuple(max(at, slot + 1) for at in history.free_at)
            later = history._replace(free_at=free_at, remaining=tuple(left.tolist()))
            self.go_on(after, later, reached)
        self.reached = after


def _learns(policy: Any) -> bool:
    """Tell whether a policy may learn from feedback."""
    if isinstance(policy, Guarded):
        return _learns(policy.policy)
    return getattr(type(policy), "learn", None) is not IgnoresFeedback.learn


def _checked(coins: Any) -> Sequence[tuple[float, float]] | None:
    """Check coins and their probabilities."""
    if coins is None:
        return None
    pairs = [tuple(pair) for pair in listed("coins", coins)]
    for coin, share in pairs:
        check_real("coins", coin, "[0, 1)")
        check_real("coins", share, "(0, 1]")
    if abs(sum(share for _, share in pairs) - 1.0) > 1e-9:
        raise OptionError("coins: their probabilities must sum to 1")
    return pairs
