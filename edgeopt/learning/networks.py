"""Networks of PyTorch, and their exchange with arrays; needs the extra ``rl``."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import MissingDependencyError

try:
    import torch
    from torch import nn
except ImportError as error:
    raise MissingDependencyError(
        "training needs PyTorch: install edgeopt[rl], or torch itself; what was trained runs "
        "without it"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


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


def masked_log_softmax(logits: Any, mask: Any) -> Any:
    """Return log-probabilities along the last axis; what is masked has the least finite number."""
    none = ~mask.any(-1, keepdim=True)
    least = torch.finfo(logits.dtype).min
    held = torch.where(mask, logits, torch.full_like(logits, least))
    return torch.log_softmax(torch.where(none, torch.zeros_like(held), held), -1)
