"""Layers of trained networks in NumPy, named and shaped as in :mod:`edgeopt.learning.networks`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


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
        Inputs along the last axis.
    prefix
        Of the names.

    Returns
    -------
    numpy.ndarray
        Outputs along the last axis.

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
