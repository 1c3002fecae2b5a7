"""The critic of policy optimisation: a perceptron over sums; needs the extra ``rl``.

It serves in training alone, so it may be told what no scheduler knows: slots that running tasks
still take, and tasks that are to arrive. Actions change neither, so a value that reads them is as
good a baseline, with less noise left in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from edgeopt.learning.arrays import layer_shapes
from edgeopt.learning.tapfinger.network import initial, perceptron
from edgeopt.learning.tapfinger.tensors import TorchBackend, Weighted, on

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from edgeopt.instances.fields import Floats
    from edgeopt.learning.tapfinger.tensors import Device

WIDE: Final = 128
"""Width of the two hidden layers."""

FORGET: Final = 0.1
"""Weight of an update in the running mean and spread of returns."""


class Critic(Weighted):
    """A value of each cluster, whose mean is that of the system, learnt in a scale that follows it.

    Where the running mean and spread of returns move, the last layer is changed so that values stay
    what they were.

    Parameters
    ----------
    size
        Numbers that it reads of a cluster.
    rate
        Step size of Adam.
    rng
        Draws the first weights.
    device
        Where they are.

    References
    ----------
    van Hasselt, Guez, Hessel, Mnih, Silver: Learning values across many orders of magnitude (2016),
    algorithm 1 (Pop-Art).
    """

    def __init__(
        self, size: int, rate: float, rng: np.random.Generator, device: Device = "cpu"
    ) -> None:
        first = initial(layer_shapes(size, WIDE, WIDE, 1, prefix="value."), rng)
        super().__init__(first, rate, device, eps=1e-5)
        self.device, self.mean, self.spread = device, 0.0, 0.0

    def value(self, read: Any, *, team: bool) -> Any:
        """Return values in the scale of the critic, of clusters, [..., N], or their mean, [...]."""
        each = perceptron(TorchBackend, self.tensors, "value", read)[..., 0]
        return each.mean(-1) if team else each

    def values(self, read: NDArray[np.float32], *, team: bool) -> Floats:
        """Return values in slots."""
        with torch.no_grad():
            found = self.value(on(self.device, read), team=team).cpu().numpy()
        return np.asarray(self.mean + (self.spread or 1.0) * found, dtype=np.float64)

    def rescale(self, targets: Floats) -> None:
        """Move the scale towards that of new returns, the first ones at once."""
        part = FORGET if self.spread else 1.0
        mean = self.mean + part * (float(targets.mean()) - self.mean)
        spread = self.spread + part * (float(targets.std()) + 1e-6 - self.spread)
        if self.spread:
            weight, bias = (self.tensors[f"value.2.{name}"] for name in ("weight", "bias"))
            with torch.no_grad():
                weight *= self.spread / spread
                bias.copy_((self.spread * bias + self.mean - mean) / spread)
        self.mean, self.spread = mean, spread

    def state_dict(self) -> Mapping[str, Any]:
        """Return the weights by name, and the scale."""
        scale = torch.tensor([self.mean, self.spread], dtype=torch.float64)
        return {**self.tensors, "scale": scale}

    def load_state_dict(self, tensors: Mapping[str, Any]) -> None:
        """Copy others into the weights, and take up their scale."""
        super().load_state_dict(tensors)
        self.mean, self.spread = tensors["scale"].tolist()
