"""Networks in PyTorch, and the usual updates of them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from edgeopt.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray


try:
    import torch
    from torch import nn
except ImportError as error:
    raise MissingDependencyError(
        "training needs PyTorch: install edgeopt[rl], or torch itself; what was trained runs "
        "without it"
    ) from error


class Perceptron(nn.Module):
    """Affine layers with ReLU between them, as :func:`edgeopt.learning.perceptron` applies them."""

    def __init__(self, sizes: Sequence[int], last: float | None = None) -> None:
        super().__init__()
        layers = [nn.Linear(into, out) for into, out in pairwise(sizes)]
        if last is not None:
            with torch.no_grad():
                layers[-1].weight.mul_(last)
                layers[-1].bias.zero_()
        for layer, part in enumerate(layers):
            self.add_module(str(layer), part)

    def forward(self, values: Any) -> Any:
        """Return the outputs along the last axis."""
        for layer, part in enumerate(self.children()):
            values = part(torch.relu(values) if layer else values)
        return values


def seeded(seed: int) -> torch.Generator:
    """Return a generator, and seed the one that fills new networks; one thread from here on."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    generator = torch.Generator()
    generator.manual_seed(seed)
    return generator


def to_arrays(module: nn.Module) -> dict[str, NDArray[Any]]:
    """Copy the weights of a network into arrays."""
    return {name: part.detach().cpu().numpy().copy() for name, part in module.state_dict().items()}


def from_arrays(module: nn.Module, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Copy arrays into a network of the same names and shapes."""
    module.load_state_dict({name: torch.from_numpy(np.array(a)) for name, a in arrays.items()})


def optimiser_state(optimiser: torch.optim.Optimizer) -> dict[str, Any]:
    """Return the state of an optimiser as nested dicts of arrays and JSON values."""
    state = optimiser.state_dict()
    parts = {
        str(index): {name: value.cpu().numpy().copy() for name, value in part.items()}
        for index, part in state["state"].items()
    }
    return {"state": parts, "rates": [group["lr"] for group in optimiser.param_groups]}


def restore_optimiser(optimiser: torch.optim.Optimizer, state: Mapping[str, Any]) -> None:
    """Take up the state of an optimiser of the same parameters."""
    held = optimiser.state_dict()
    held["state"] = {
        int(index): {name: torch.from_numpy(np.array(value)) for name, value in part.items()}
        for index, part in state.get("state", {}).items()
    }
    optimiser.load_state_dict(held)
    for group, rate in zip(optimiser.param_groups, state["rates"], strict=True):
        group["lr"] = rate


class NetworkLearner:
    """What learners share: networks, draws, and how to go on after a stop.

    Parameters
    ----------
    seed
        Of weights and all draws.
    updates
        Updates of the schedule.

    Attributes
    ----------
    policy
        Which of the networks is the policy.
    nets, optimisers
        By name.
    stores
        What else has a state, such as a buffer, by name.
    counted
        Names of the attributes that change from update to update.
    """

    system: str
    learner: str
    figure: str
    sense: Literal["min", "max"] = "min"
    policy: str
    nets: Mapping[str, Any]
    optimisers: Mapping[str, Any]
    stores: Mapping[str, Any]
    counted: Sequence[str] = ("done",)

    def __init__(self, seed: int, updates: int) -> None:
        self.generator = seeded(seed)
        self.seed, self.updates, self.done, self.stores = seed, updates, 0, {}
        self.rng = np.random.default_rng(seed)

    def weights(self) -> dict[str, NDArray[Any]]:
        """Return copies of the weights of the policy."""
        return to_arrays(self.nets[self.policy])

    def state(self) -> dict[str, Any]:
        """Return what is needed to go on."""
        return {
            "nets": {name: to_arrays(one) for name, one in self.nets.items()},
            "optimisers": {name: optimiser_state(one) for name, one in self.optimisers.items()},
            "stores": {name: one.state() for name, one in self.stores.items()},
            "counts": {name: getattr(self, name) for name in self.counted},
            "rng": self.rng.bit_generator.state,
            "generator": self.generator.get_state().numpy(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up such a state."""
        for name, one in self.nets.items():
            from_arrays(one, state["nets"][name])
        for name, one in self.optimisers.items():
            restore_optimiser(one, state["optimisers"][name])
        for name, one in self.stores.items():
            one.restore(state["stores"][name])
        for name in self.counted:
            setattr(self, name, state["counts"][name])
        self.rng.bit_generator.state = state["rng"]
        self.generator.set_state(torch.from_numpy(np.array(state["generator"])))


def masked_log_softmax(logits: Any, mask: Any = None) -> Any:
    """Return log-probabilities along the last axis; what is masked has the least finite number."""
    if mask is not None:
        none = ~mask.any(-1, keepdim=True)
        least = torch.finfo(logits.dtype).min
        held = torch.where(mask, logits, torch.full_like(logits, least))
        logits = torch.where(none, torch.zeros_like(held), held)
    # Over the axis before the last one this is ten times as fast.
    return torch.log_softmax(logits.transpose(-1, -2), -2).transpose(-1, -2)


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
