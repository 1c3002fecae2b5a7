"""What a policy is worth in expectation, without simulation.

Policies that route tasks without looking at the servers, and that no guard vetoes, need one
recursion forward in time per server. All others need the joint distribution of where the servers
stand, which is followed exactly as long as it has few enough states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.online.rescue.blocks import SlotTable, slot_blocks
from edgeopt.online.rescue.joint import follow
from edgeopt.online.rescue.policy import RescuePolicy
from edgeopt.online.rescue.rules import RoutedRule, ServerRule

if TYPE_CHECKING:
    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.online.rescue.rules import Rule

__all__ = ["STATES", "expected_violations", "policy_value"]

STATES = 50_000
"""Joint states of a slot beyond which exact evaluation gives up."""


def policy_value(instance: RescueInstance, policy: RescuePolicy, *, limit: int = STATES) -> float:
    r"""Return the exact expected profit of a policy.

    Without a guard, RESCUE and Sumita decide on server k independently of everything that happened
    there, so the probability that k is idle follows from the acceptances before,

    .. math::

        \Pr(k \text{ idle at } t) = 1 - \sum_{t' < t}\sum_{l} a_{kl}(t')\, \Pr(d_l > t - t'),

    with :math:`a_{kl}(t')` the probability that a run with profile l begins on k in t'. Other
    policies are followed through the joint distribution of busy times and, under a guard, of the
    reserved work left: exponential in the number of servers.

    Parameters
    ----------
    instance, policy
        Who plays where; a policy without a plan solves for one.
    limit
        Largest number of joint states.

    Returns
    -------
    Expected profit of all slots.

    Raises
    ------
    OptionError
        If the policy is no `RescuePolicy`, or has more than `limit` joint states.

    Examples
    --------
    >>> from edgeopt.instances.rescue import tight
    >>> from edgeopt.online.rescue import PickConfigs
    >>> policy_value(tight(0.25), PickConfigs())
    1.0
    """
    rule = _rule(instance, policy)
    if rule.guard is None and isinstance(rule, RoutedRule | ServerRule):
        return _routed_value(instance, rule)
    track = rule.guard is not None
    return follow(instance, rule, track=track, limit=limit, name=policy.name).profit


def expected_violations(
    instance: RescueInstance, policy: RescuePolicy, *, limit: int = STATES
) -> float:
    """Return the expected number of reserved tasks that a policy makes fail, exactly.

    Parameters
    ----------
    instance, policy, limit
        As for `policy_value`; the joint distribution is needed for every policy here.

    Raises
    ------
    OptionError
        As for `policy_value`.
    """
    rule = _rule(instance, policy)
    return follow(instance, rule, track=True, limit=limit, name=policy.name).violations


def _rule(instance: RescueInstance, policy: RescuePolicy) -> Rule:
    if not isinstance(policy, RescuePolicy):
        raise OptionError(
            f"policy is a {type(policy).__name__}; only a RescuePolicy, which follows a rule, can "
            "be evaluated exactly"
        )
    return policy.start(instance)


def _routed_value(instance: RescueInstance, rule: RoutedRule | ServerRule) -> float:
    """Follow the probability that each server is idle."""
    horizon, profit = instance.horizon, 0.0
    expected = SlotTable(instance.expected_profit_block, slot_blocks(instance))
    independent = instance.arrivals == "independent"
    busy = np.zeros((instance.servers, horizon + instance.max_duration))
    every = np.ones((instance.servers, instance.profiles), dtype=np.bool_)
    for t in range(horizon):
        idle = 1.0 - busy[:, t]
        for j in np.flatnonzero(instance.arrival[t]):
            if independent:  # the devices before may have taken the server in this very slot
                idle = 1.0 - busy[:, t]
            for share, (k, profile) in rule.law(t, int(j), every):
                begins = float(idle[k] * instance.arrival[t, j] * share)
                profit += begins * float(expected.at(t)[j, k, profile])
                busy[k, t : t + instance.max_duration] += begins * instance.survival[profile]
    return profit
