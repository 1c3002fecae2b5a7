"""What learners compute in NumPy: layers of networks, and advantages."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray


def advantages(
    rewards: NDArray[np.float64], values: NDArray[np.float64], discount: ArrayLike, decay: ArrayLike
) -> NDArray[np.float64]:
    """Return the generalised advantage of every step.

    The error of a step is ``rewards + discount * next value - value``; its advantage is the error
    plus ``discount * decay`` times the advantage of the next step.

    Parameters
    ----------
    rewards
        By step, shape [S, ...].
    values
        Estimated values before every step and after the last one, shape [S + 1, ...].
    discount
        Discount of what follows a step, broadcast to [S, ...]: 0 at the end of an episode, 1 within
        a slot that goes on.
    decay
        Weight of later errors, broadcast to [S, ...]: 0 where an episode is cut, so that only the
        estimated value follows.

    Returns
    -------
    numpy.ndarray
        Shape [S, ...]; plus the values, they are targets of the values.

    References
    ----------
    Schulman, Moritz, Levine, Jordan, Abbeel: High-Dimensional Continuous Control Using Generalized
    Advantage Estimation (2016), equation 16.

    Examples
    --------
    >>> import numpy as np
    >>> advantages(np.array([1.0, 1.0]), np.zeros(3), 0.5, 1.0)
    array([1.5, 1. ])
    """
    discount, decay = (np.broadcast_to(one, rewards.shape) for one in (discount, decay))
    errors = rewards + discount * values[1:] - values[:-1]
    found = np.empty_like(errors)
    later = np.zeros_like(errors[0])
    for step in range(len(errors) - 1, -1, -1):
        later = errors[step] + discount[step] * decay[step] * later
        found[step] = later
    return found


def perceptron(
    weights: Mapping[str, NDArray[Any]], values: NDArray[Any], prefix: str = ""
) -> NDArray[Any]:
    """Apply affine layers with ReLU between them.

    Parameters
    ----------
    weights
        Arrays ``0.weight`` of shape [out, in] and ``0.bias`` of shape [out], then ``1.weight`` and
        so on, each name after `prefix`.
    values
        Inputs, shape [..., in].
    prefix
        Of the names.

    Returns
    -------
    numpy.ndarray
        Outputs, shape [..., out].

    Examples
    --------
    >>> import numpy as np
    >>> weights = {"0.weight": np.array([[1.0], [-1.0]]), "0.bias": np.zeros(2),
    ...            "1.weight": np.array([[1.0, 1.0]]), "1.bias": np.array([0.5])}
    >>> perceptron(weights, np.array([[-3.0], [2.0]]))
    array([[3.5],
           [2.5]])
    """
    layer = 0
    while f"{prefix}{layer}.weight" in weights:
        if layer:
            values = np.maximum(values, 0.0)
        values = values @ weights[f"{prefix}{layer}.weight"].T + weights[f"{prefix}{layer}.bias"]
        layer += 1
    return values


def layer_shapes(*sizes: int, prefix: str = "") -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights of affine layers between these sizes, by name."""
    found: dict[str, tuple[int, ...]] = {}
    for layer, (into, out) in enumerate(pairwise(sizes)):
        found |= {f"{prefix}{layer}.weight": (out, into), f"{prefix}{layer}.bias": (out,)}
    return found


def layer_norm(
    values: NDArray[Any], scale: NDArray[Any], shift: NDArray[Any], least: float = 1e-5
) -> NDArray[Any]:
    """Normalise the last axis to mean 0 and variance 1, then scale and shift it.

    Parameters
    ----------
    values
        Inputs, shape [..., D].
    scale, shift
        Shape [D].
    least
        Added to the variance.

    Returns
    -------
    numpy.ndarray
        Shape [..., D].

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.learning import layer_norm
    >>> layer_norm(np.array([1.0, 2.0, 3.0]), np.ones(3), np.zeros(3)).round(3)
    array([-1.225,  0.   ,  1.225])
    """
    centred = values - values.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    found: NDArray[Any] = centred / np.sqrt(variance + least) * scale + shift
    return found


def masked_softmax(logits: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[Any]:
    """Return probabilities along the last axis, 0 where the mask is false.

    Parameters
    ----------
    logits
        Shape [..., A]; what is masked may be anything.
    mask
        Which entries may be chosen, broadcast to [..., A].

    Returns
    -------
    numpy.ndarray
        Shape [..., A]; all 0 where nothing may be chosen.

    Examples
    --------
    >>> import numpy as np
    >>> masked_softmax(np.array([0.0, 0.0, np.inf]), np.array([True, True, False]))
    array([0.5, 0.5, 0. ])
    """
    held = np.where(mask, logits, -np.inf)
    largest = held.max(axis=-1, keepdims=True)
    shares = np.exp(held - np.where(np.isfinite(largest), largest, 0.0))
    total = shares.sum(axis=-1, keepdims=True)
    found: NDArray[Any] = shares / np.where(total > 0.0, total, 1.0)
    return found
