"""The network in PyTorch, and probabilities of actions; needs the extra ``rl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import torch

from edgeopt.errors import OptionError
from edgeopt.learning.networks import masked_log_softmax
from edgeopt.learning.tapfinger.network import SLOPE, Seen, bundles, may_give, places, table
from edgeopt.options import check_choice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from edgeopt.learning.tapfinger.network import Architecture, Sizes

functional = torch.nn.functional

Device = Literal["cpu", "cuda"]
"""Where tensors are."""


class TorchBackend:
    """What differs between the backends, for PyTorch."""

    tanh = staticmethod(torch.tanh)
    relu = staticmethod(torch.relu)
    affine = staticmethod(functional.linear)

    @staticmethod
    def numbers(count: int, beside: Any) -> Any:
        """Return 0, 1, ... on the device of a tensor that they are to be used with."""
        return torch.arange(count, device=beside.device)

    @staticmethod
    def array(values: Any) -> Any:
        """Return an array."""
        return values.detach().cpu().numpy()

    @staticmethod
    def softmax(logits: Any, mask: Any = None) -> Any:
        """Return shares along the last axis, 0 where masked."""
        if mask is None:
            return torch.softmax(logits, -1)
        held = logits.masked_fill(~mask, torch.finfo(logits.dtype).min)
        return torch.softmax(held, -1).masked_fill(~mask, 0.0)

    @staticmethod
    def real(flags: Any) -> Any:
        """Return truth values as numbers."""
        return flags.to(torch.get_default_dtype())

    @staticmethod
    def norm(values: Any, scale: Any, shift: Any) -> Any:
        """Normalise the last axis."""
        if scale.ndim == 1:
            return functional.layer_norm(values, scale.shape, scale, shift)
        return functional.layer_norm(values, values.shape[-1:]) * scale + shift

    @staticmethod
    def leaky(values: Any) -> Any:
        """Return the positive part, and a share of the negative one."""
        return functional.leaky_relu(values, SLOPE)

    @staticmethod
    def join(parts: list[Any], axis: int = -1) -> Any:
        """Join tensors along an axis."""
        return torch.cat(parts, axis)

    @staticmethod
    def like(values: Any, shape: tuple[int, ...]) -> Any:
        """Repeat values up to a shape."""
        return values.expand(shape)


def check_device(device: Device) -> None:
    """Refuse a device that is unknown, or that PyTorch does not find here."""
    check_choice("device", device, get_args(Device))
    if device == "cuda" and not torch.cuda.is_available():
        raise OptionError(
            f'device = "cuda": PyTorch {torch.__version__} finds no such device; choose "cpu", '
            "or install a build with CUDA on a machine that has a GPU"
        )


def on(device: Device, array: NDArray[Any]) -> Any:
    """Return an array as a tensor on a device."""
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)


def seen_by(seen: Seen | Mapping[str, NDArray[Any]], device: Device = "cpu") -> Seen:
    """Return what the network reads as tensors."""
    parts = seen._asdict() if isinstance(seen, Seen) else seen
    return Seen(*(on(device, parts[name]) for name in Seen._fields))


class Weighted:
    """Weights of a network as tensors, with their optimiser.

    Parameters
    ----------
    arrays
        Weights by name.
    rate
        Step size of Adam.
    device
        Where they are.
    eps
        What Adam adds to the root of a mean square.
    """

    def __init__(
        self, arrays: Mapping[str, NDArray[Any]], rate: float, device: Device = "cpu", *,
        eps: float = 1e-8,
    ) -> None:  # fmt: skip
        self.tensors = {
            name: torch.from_numpy(np.array(array)).to(device).requires_grad_()
            for name, array in sorted(arrays.items())
        }
        self.rate = rate
        self.optimiser = torch.optim.Adam(list(self.tensors.values()), rate, eps=eps)

    def state_dict(self) -> Mapping[str, Any]:
        """Return the weights by name."""
        return self.tensors

    def load_state_dict(self, tensors: Mapping[str, Any]) -> None:
        """Copy others into the weights."""
        with torch.no_grad():
            for name, part in self.tensors.items():
                part.copy_(tensors[name])


class LogShares(NamedTuple):
    """Logarithms of the probabilities of a policy.

    Attributes
    ----------
    place, bundle
        Of all places, shape [E, N, P or P + 1], and of all bundles for the place named, shape
        [E, N, A B].
    may_place, may_give
        Which of them may be taken.
    acts
        Whether a cluster has a choice, shape [E, N].
    """

    place: Any
    bundle: Any
    may_place: Any
    may_give: Any
    acts: Any

    def of(self, place: Any, bundle: Any, stood: Any) -> Any:
        """Return the logarithm of the probability of what was done, shape [E, N].

        The bundle counts only where the naming `stood`; the void place has none.
        """
        named = self.place.gather(-1, place.clamp(max=self.place.shape[-1] - 1)[..., None])[..., 0]
        given = self.bundle.gather(-1, bundle[..., None])[..., 0]
        return torch.where(self.acts, named, 0.0) + torch.where(stood & self.acts, given, 0.0)


def log_shares(
    w: Mapping[str, Any], form: Architecture, sizes: Sizes, seen: Seen, place: Any
) -> LogShares:
    """Return the policy at rounds in which the tasks of places were named, [E, N]."""
    wants = places(TorchBackend, w, form, seen)
    held = torch.where(place < seen.node.shape[2], place, 0)[..., None, None]
    chosen = wants.pending.take_along_dim(held, 2)[:, :, 0]
    box = seen.box.take_along_dim(held, 2)[:, :, 0]
    cpu, gpu = (torch.from_numpy(one).to(box.device) for one in table(sizes))
    allowed = may_give(box, cpu, gpu, nothing=not form.void_place)
    logits = bundles(TorchBackend, w, form, wants, chosen)
    return LogShares(
        masked_log_softmax(wants.logits, wants.mask), masked_log_softmax(logits, allowed),
        wants.mask, allowed, wants.acts,
    )  # fmt: skip
