"""Losses and targets of the learners, as plain functions of tensors; needs the extra ``rl``.

A mask says which entries count; a mean over none is 0. Values of actions have shape [..., A], heads
of a policy [B, I], rewards and discounts [B]; a discount is 0 at the end of an episode.

Sources: proximal policy optimisation, Schulman et al. (2017), equation 7; soft actor-critic with
discrete actions, Christodoulou (2019), equations 10 to 12; double deep Q-learning, van Hasselt,
Guez and Silver (2016); deep deterministic policy gradients, Lillicrap et al. (2016).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Iterable


def mean_over(values: Any, mask: Any) -> Any:
    """Return the mean of the entries that count."""
    # What does not count may be infinite; a product with 0 would be none.
    held = torch.where(mask, values, torch.zeros_like(values))
    return held.sum() / mask.sum().clamp(min=1)


def ppo_loss(new: Any, old: Any, advantage: Any, mask: Any, clip: float = 0.2) -> Any:
    """Return the clipped surrogate of proximal policy optimisation, to be minimised."""
    ratio = torch.where(mask, new - old, torch.zeros_like(new)).exp()
    gained = torch.minimum(ratio * advantage, ratio.clamp(1.0 - clip, 1.0 + clip) * advantage)
    return -mean_over(gained, mask)


def soft_value(log_p: Any, first: Any, second: Any, temperature: float) -> Any:
    """Return the value of a state under a discrete policy with entropy, by head."""
    p = log_p.exp()
    inside = torch.minimum(first, second) - temperature * log_p
    return torch.where(p > 0, p * inside, torch.zeros_like(p)).sum(-1)


def soft_actor_loss(log_p: Any, first: Any, second: Any, temperature: float, mask: Any) -> Any:
    """Return the loss of a discrete soft actor; its gradient flows through the policy alone."""
    value = soft_value(log_p, first.detach(), second.detach(), temperature)
    return -mean_over(by_row(value, mask), mask.any(-1))


def by_row(values: Any, mask: Any) -> Any:
    """Return the mean over the heads that count of every row, 0 where there is none."""
    held = torch.where(mask, values, torch.zeros_like(values))
    return held.sum(-1) / mask.sum(-1).clamp(min=1)


def double_dqn_target(
    reward: Any, discount: Any, online: Any, target: Any, mask: Any | None = None
) -> Any:
    """Return the target of double deep Q-learning."""
    with torch.no_grad():
        if mask is not None:
            online = online.masked_fill(~mask, -torch.inf)
        chosen = online.argmax(-1, keepdim=True)
        return reward + discount * target.gather(-1, chosen).squeeze(-1)


def dqn_loss(values: Any, action: Any, target: Any) -> Any:
    """Return the Huber loss of the values of the actions taken."""
    taken = values.gather(-1, action[:, None]).squeeze(-1)
    return nn.functional.smooth_l1_loss(taken, target)


def critic_loss(value: Any, reward: Any, discount: Any, next_value: Any) -> Any:
    """Return the squared error of a critic against reward and discounted next value."""
    return nn.functional.mse_loss(value, reward + discount * next_value.detach())


def soft_update(target: nn.Module, source: nn.Module, rate: float) -> None:
    """Move the weights of a target network towards those of another."""
    with torch.no_grad():
        for kept, new in zip(target.parameters(), source.parameters(), strict=True):
            kept.lerp_(new, rate)


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Set the step size of an optimiser."""
    for group in optimiser.param_groups:
        group["lr"] = rate


def step(
    optimiser: torch.optim.Optimizer, loss: Any, weights: Iterable[Any] = (), clip: float = 0.0
) -> float:
    """Take one step of an optimiser down a loss."""
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    if clip > 0.0:
        nn.utils.clip_grad_norm_(list(weights), clip)
    optimiser.step()
    return float(loss.detach())
