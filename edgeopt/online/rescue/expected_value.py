"""What a policy is worth in expectation, without simulation.

Policies that route tasks whatever the servers do, and that no guard vetoes, need one
recursion forward in time per server. All others need the joint distribution of where the servers
stand, which is followed exactly as long as it has few enough states.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.kernels import compiled
from edgeopt.online.rescue.lookup_tables import Guard, SlotTable, slot_blocks, steps_per_slot
from edgeopt.online.rescue.policies import RescuePolicy, RoutedRule, ServerRule
from edgeopt.online.rescue.safe_policies import Position, SafeRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.online.rescue.lookup_tables import Routes
    from edgeopt.online.rescue.policies import Distribution, Rule

    Answers = Callable[..., Callable[[int], Distribution]]
    """Of a slot, the idle servers, the reserved work left, and the state of every server if states
    are followed: what is answered to each device."""


class Outcome(NamedTuple):
    """What is to be expected of all slots."""

    profit: float
    violations: float
    """Number of reserved tasks that fail."""
    failure: float
    """Probability that any fails, if that is followed."""


class _Place(NamedTuple):
    """Where a history has led to."""

    free_at: tuple[int, ...]
    """First idle slot of each server."""
    remaining: tuple[float, ...]
    """Reserved work left of each task, if it is followed."""
    failed: bool
    """Whether a task has failed, if that is followed."""
    states: tuple[int, ...] = ()
    """State in which each server is idle or will be next, if that is followed."""

    def begun(self, k: int, slot: int, d: int, following: NDArray[np.int64]) -> _Place:
        """Return where a run of d slots on server k leads."""
        states = self.states
        if states:
            states = (*states[:k], int(following[states[k], d]), *states[k + 1 :])
        free_at = (*self.free_at[:k], slot + d, *self.free_at[k + 1 :])
        return self._replace(free_at=free_at, states=states)


_Distribution = dict[_Place, float]
_NO_STATES = np.zeros((0, 1), dtype=np.int64)


def follow(
    instance: RescueInstance,
    answers: Answers,
    *,
    track: bool,
    limit: int,
    name: str,
    arrivals: Sequence[Sequence[int]] | None = None,
    any_failure: bool = False,
    states: tuple[int, ...] = (),
    following: NDArray[np.int64] = _NO_STATES,
    begun: NDArray[np.float64] | None = None,
) -> Outcome:
    """Follow every possible history of a policy, merging those that lead to the same place.

    Reserved work is followed if `track` is set, whether any task has failed if `any_failure` is,
    and states of idle servers from `states` on. Arriving devices are those of `arrivals`, slot by
    slot, or follow the instance's distribution. `begun`, [T, J, K, L], is where the expected number
    of runs is added.
    """
    guard = Guard.of(instance)
    demand = tuple(instance.promised.demand.tolist()) if track else ()
    places: _Distribution = {_Place((0,) * instance.servers, demand, False, states): 1.0}
    begun = np.zeros(instance.shape[:4]) if begun is None else begun
    violations = 0.0
    for slot in range(instance.horizon):
        steps = (
            steps_of(instance, slot) if arrivals is None else [[(1.0, j)] for j in arrivals[slot]]
        )
        for step in steps:
            places = _decide(instance, answers, slot, step, places, begun[slot], following)
            if len(places) > limit:
                raise OptionError(
                    f"{name}: more than {limit} joint states in slot {slot}; "
                    "simulate instead, or raise the limit"
                )
        places, failed = _elapse(guard, slot, places, any_failure, following)
        violations += failed
    failure = sum(weight for place, weight in places.items() if place.failed)
    return Outcome(_worth(instance, begun), violations, float(failure))


def steps_of(instance: RescueInstance, slot: int) -> Iterator[list[tuple[float, int]]]:
    """Yield what may arrive in each step of a slot: probabilities and devices."""
    chances = [(p, j) for j, p in enumerate(instance.arrival[slot].tolist()) if p > 0]
    if instance.arrivals == "exclusive":
        yield chances
    else:
        for chance in chances:
            yield [chance]


def _decide(
    instance: RescueInstance,
    answers: Answers,
    slot: int,
    step: list[tuple[float, int]],
    places: _Distribution,
    begun: NDArray[np.float64],
    following: NDArray[np.int64],
) -> _Distribution:
    """Let a task arrive and be decided on; count the runs that begin, [J, K, L]."""
    after: defaultdict[_Place, float] = defaultdict(float)
    silence = 1.0 - sum(p for p, _ in step)
    for place, weight in places.items():
        idle = np.array(place.free_at) <= slot
        distribution = answers(slot, idle, np.array(place.remaining), *place.states)
        rest = silence
        for p, j in step:
            rejected = 1.0
            for share, answer in distribution(j):
                if answer is None:
                    continue
                k, profile = answer
                rejected -= share
                begins = weight * p * share
                begun[j, k, profile] += begins
                for d, q in enumerate(instance.duration[profile].tolist(), start=1):
                    if q > 0:
                        after[place.begun(k, slot, d, following)] += begins * q
            rest += p * rejected
        if rest > 0:
            after[place] += weight * rest
    return after


def _elapse(
    guard: Guard, slot: int, places: _Distribution, any_failure: bool, following: NDArray[np.int64]
) -> tuple[_Distribution, float]:
    """Let the slot pass: idle servers work on reserved tasks, and deadlines are checked."""
    after: defaultdict[_Place, float] = defaultdict(float)
    violations = 0.0
    for place, weight in places.items():
        remaining, failed = place.remaining, place.failed
        if remaining:
            idle = np.array(place.free_at) <= slot
            remaining, count = guard.elapse(slot, idle, remaining)
            violations += weight * count
            failed |= any_failure and count > 0
        free = tuple(max(free_at, slot + 1) for free_at in place.free_at)
        waited = zip(place.states, place.free_at, strict=False)  # nothing if not followed
        states = tuple(int(following[n, 0]) if at <= slot else n for n, at in waited)
        after[_Place(free, remaining, failed, states)] += weight
    return after, float(violations)


STATES = 50_000
"""Joint states of a slot beyond which exact evaluation gives up."""


def policy_value(instance: RescueInstance, policy: RescuePolicy, *, limit: int = STATES) -> float:
    r"""Return the exact expected profit of a policy.

    Without a guard, RESCUE and Sumita decide on server k independently of everything that happened
    there, so the probability that k is idle follows from the acceptances before,

    .. math::

        \Pr(k \text{ idle at } t) = 1 - \sum_{t' < t}\sum_{l} a_{kl}(t')\, \Pr(d_l > t - t'),

    with :math:`a_{kl}(t')` the probability that a run with profile l begins on k in t'.
    `SafeRescue` is worth the sum of the values of the first states of its servers. Other policies
    are followed through the joint distribution of busy times and, under a guard, of the reserved
    work left or of the states of idle servers: exponential in the number of servers.

    Parameters
    ----------
    instance, policy
        What to evaluate; a policy without a plan solves for one.
    limit
        Largest number of joint states.

    Returns
    -------
    Expected profit of all slots.

    Raises
    ------
    OptionError
        If the policy is no `RescuePolicy`, or has more than `limit` joint states.

    See Also
    --------
    occupation : Which runs begin, for the same policies.
    exact_value : Any policy, on small instances.

    Notes
    -----
    Huang, Liu, Shan: RESCUE, equation (10), for policies that decide on each server by itself; the
    joint distribution is ours.

    Examples
    --------
    >>> from edgeopt.instances.rescue import tight
    >>> from edgeopt.online.rescue import PickConfigs
    >>> policy_value(tight(0.25), PickConfigs())
    1.0
    """
    rule, states, _ = _rule(instance, policy)
    if isinstance(rule, SafeRule) and rule.routes is not None:
        return float(rule.values.value[list(states)].sum())
    return _worth(instance, _begun(instance, policy, limit))


def occupation(
    instance: RescueInstance, policy: RescuePolicy, *, limit: int = STATES
) -> NDArray[np.float64]:
    r"""Return the exact expected number of runs that a policy begins of every kind.

    With it, what a policy keeps in expectation is known without simulation: a row
    :math:`\sum a_{tjkl} y_{tjkl} \le b` that was added to the relaxation holds for the policy if it
    holds for its occupation. `Rescue`, guarded or not, and `SafeRescue` begin only what they are
    routed, so that their occupation is at most y of their plan: they keep all such rows with
    nonnegative coefficients.

    Parameters
    ----------
    instance, policy, limit
        As in `policy_value`.

    Returns
    -------
    Expected number of runs of device j that begin in slot t on server k with profile l, shape
    [T, J, K, L]. Their expected profits sum to `policy_value`.

    Raises
    ------
    OptionError
        If the policy is no `RescuePolicy`, or has more than `limit` joint states.

    Examples
    --------
    >>> from edgeopt.instances.rescue import tight
    >>> from edgeopt.online.rescue import PickConfigs
    >>> instance = tight(0.25)
    >>> begun = occupation(instance, PickConfigs())
    >>> float((begun * instance.expected_profit).sum())
    1.0
    """
    return np.array(list(_begun(instance, policy, limit)))


def _worth(instance: RescueInstance, begun: Iterable[NDArray[np.float64]]) -> float:
    """Return the expected profit of the runs that begin in each slot, [J, K, L]."""
    expected = SlotTable(instance.expected_profit_block, slot_blocks(instance))
    return sum(float((expected.at(t) * runs).sum()) for t, runs in enumerate(begun))


def _begun(
    instance: RescueInstance, policy: RescuePolicy, limit: int
) -> Iterable[NDArray[np.float64]]:
    """Return the expected number of runs that begin in each slot, [J, K, L]."""
    rule, states, _ = _rule(instance, policy)
    guards = rule.guard is not None and not rule.guard.outages_only
    # No run changes an outage: only reserved work makes a guard depend on what happened.
    free = not guards or not len(instance.reserved)
    if isinstance(rule, RoutedRule | ServerRule) and free:
        return _routed(instance, rule)
    if isinstance(rule, SafeRule) and rule.routes is not None:
        return _routed_by_state(instance, rule, rule.routes)
    begun = np.zeros(instance.shape[:4])
    outcome(instance, policy, track=guards and not states, limit=limit, begun=begun)
    return begun


def outcome(
    instance: RescueInstance,
    policy: RescuePolicy,
    *,
    track: bool,
    limit: int = STATES,
    begun: NDArray[np.float64] | None = None,
) -> Outcome:
    """Follow a policy through the joint distribution; without `track`, no task is seen to fail."""
    rule, states, following = _rule(instance, policy)
    how: dict[str, Any] = {"track": track, "limit": limit, "name": policy.name, "begun": begun}
    return follow(instance, rule.distributions, states=states, following=following, **how)


def _rule(
    instance: RescueInstance, policy: RescuePolicy
) -> tuple[Rule | SafeRule, tuple[int, ...], NDArray[np.int64]]:
    """Return the rule of a policy, and the first and following states if it follows states."""
    if not isinstance(policy, RescuePolicy):
        raise OptionError(
            f"policy is a {type(policy).__name__}, not a RescuePolicy, which follows a rule; on "
            "small instances, exact_value takes any policy"
        )
    start = policy.start(instance)
    if isinstance(start, Position):
        return *start, start.rule.states.following
    return start, (), _NO_STATES


def _routed(
    instance: RescueInstance, rule: RoutedRule | ServerRule
) -> Iterator[NDArray[np.float64]]:
    """Follow the probability that each server is idle; yield the runs of each slot, [J, K, L]."""
    horizon, routes = instance.horizon, rule.routes
    every, outages = np.ones(instance.servers, dtype=np.bool_), instance.promised.demand
    valid = np.stack([rule.permitted(t, every, outages) for t in range(horizon)])
    row = np.repeat(np.arange(instance.arrival.size), np.diff(routes.first))
    slot, device = np.divmod(row, instance.devices)
    server, profile = np.divmod(routes.pair, instance.profiles)
    taken = np.ones(row.size, dtype=np.bool_)
    if isinstance(rule, RoutedRule):
        taken = rule.worth
    else:
        for slots in rule.score.blocks:
            mine = (slot >= slots.start) & (slot < slots.stop)
            score = rule.score.block(slots)[slot[mine] - slots.start, device[mine], server[mine]]
            may = valid[slot[mine], server[mine]]
            profile[mine] = np.where(may, score, -np.inf).argmax(axis=1)
    share = np.diff(routes.cumulative, prepend=0.0)
    heads = routes.first[:-1][np.diff(routes.first) > 0]
    share[heads] = routes.cumulative[heads]
    chance = share * instance.arrival[slot, device] * (taken & valid[slot, server, profile])
    steps = steps_per_slot(instance)
    begins = _begins(routes.first, server, profile, chance, instance.survival, horizon, steps)
    for t in range(horizon):
        ours = slice(*routes.first[[t * instance.devices, (t + 1) * instance.devices]])
        begun = np.zeros(instance.shape[1:4])
        np.add.at(begun, (device[ours], server[ours], profile[ours]), begins[ours])
        yield begun


@compiled
def _begins(
    first: NDArray[np.int64],
    server: NDArray[np.int64],
    profile: NDArray[np.int64],
    chance: NDArray[np.float64],
    survival: NDArray[np.float64],
    horizon: int,
    steps: int,
) -> NDArray[np.float64]:
    """Return how many runs begin by each route: its chance, if its server is idle."""
    rows, servers = (first.size - 1) // horizon // steps, server.max() + 1 if server.size else 1
    begins, idle = np.zeros(chance.size), np.empty(servers)
    busy = np.zeros((servers, horizon + survival.shape[1]))
    for step in range(horizon * steps):
        t = step // steps
        # The devices before may have taken a server in this very slot.
        for k in range(servers):
            idle[k] = 1.0 - busy[k, t]
        for route in range(first[step * rows], first[(step + 1) * rows]):
            k = server[route]
            begins[route] = idle[k] * chance[route]
            if begins[route] > 0.0:
                for d in range(survival.shape[1]):
                    busy[k, t + d] += begins[route] * survival[profile[route], d]
    return begins


def _routed_by_state(
    instance: RescueInstance, rule: SafeRule, routes: Routes
) -> NDArray[np.float64]:
    """Follow the probability that each server is idle in each of its states, [T, J, K, L]."""
    independent = instance.arrivals == "independent"
    states, begun = rule.states, np.zeros(instance.shape[:4])
    chance = np.zeros(states.count + 1)
    chance[states.first[:-1]] = 1.0
    for server, (first, stop) in enumerate(pairwise(states.first.tolist())):
        for n in range(first, stop):  # in ascending order of slots
            t, idle, waits = int(states.slot[n]), chance[n], chance[n]
            if idle == 0.0:
                continue
            for j in np.flatnonzero(instance.arrival[t]).tolist():
                if independent:
                    idle = waits
                for route, share in routes.shares(t * instance.devices + j):
                    k, profile = divmod(int(routes.pair[route]), instance.profiles)
                    if k != server or not rule.gain(t, j, k, profile, n):
                        continue
                    begins = float(idle * instance.arrival[t, j] * share)
                    begun[t, j, k, profile] += begins
                    waits -= begins
                    for d, q in enumerate(instance.duration[profile].tolist(), start=1):
                        chance[states.following[n, d]] += begins * q
            chance[states.following[n, 0]] += waits
    return begun
