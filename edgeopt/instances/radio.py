r"""Radio link between a device and an edge site: power ratios, path loss, rate.

Conversions between logarithmic and linear units happen here and nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "dbm_to_watt",
    "decibel_to_ratio",
    "path_loss_decibel",
    "ratio_to_decibel",
    "shannon_rate",
    "thermal_noise_dbm",
    "transmission_seconds",
    "watt_to_dbm",
]

THERMAL_NOISE_DBM_PER_HZ = -174.0
"""Power density of thermal noise at 290 K, dBm/Hz."""

MEGABYTE_BITS = 8e6
"""Bits in a megabyte of 10^6 bytes."""


def decibel_to_ratio(decibel: ArrayLike) -> NDArray[Any]:
    """Convert decibels to a power ratio."""
    return np.asarray(10.0 ** (np.asarray(decibel, dtype=np.float64) / 10.0))


def ratio_to_decibel(ratio: ArrayLike) -> NDArray[Any]:
    """Convert a positive power ratio to decibels."""
    return np.asarray(10.0 * np.log10(np.asarray(ratio, dtype=np.float64)))


def dbm_to_watt(dbm: ArrayLike) -> NDArray[Any]:
    """Convert dBm (decibels relative to a milliwatt) to watt."""
    return decibel_to_ratio(dbm) / 1e3


def watt_to_dbm(watt: ArrayLike) -> NDArray[Any]:
    """Convert a positive power in watt to dBm."""
    return ratio_to_decibel(np.asarray(watt, dtype=np.float64) * 1e3)


def thermal_noise_dbm(bandwidth: ArrayLike) -> NDArray[Any]:
    """Return the power of thermal noise within a bandwidth in Hz, in dBm (-109.2 dBm at 3 MHz)."""
    return THERMAL_NOISE_DBM_PER_HZ + ratio_to_decibel(bandwidth)


def path_loss_decibel(kilometres: ArrayLike) -> NDArray[Any]:
    r"""Return the loss over a distance in an urban macro cell.

    :math:`128.1 + 37.6 \log_{10}(r)` dB with r in kilometres (3GPP TR 36.942, 2 GHz).
    """
    distance = np.asarray(kilometres, dtype=np.float64)
    return np.asarray(128.1 + 37.6 * np.log10(distance))


def shannon_rate(bandwidth: ArrayLike, signal_to_noise: ArrayLike) -> NDArray[Any]:
    r"""Return the capacity of a channel, :math:`B \log_2(1 + S/N)`.

    Parameters
    ----------
    bandwidth
        Hz.
    signal_to_noise
        Power ratio, not decibels.

    Returns
    -------
    Rate in bit/s.
    """
    return np.asarray(np.asarray(bandwidth) * np.log2(1.0 + np.asarray(signal_to_noise)))


def transmission_seconds(megabytes: ArrayLike, rate: ArrayLike) -> NDArray[Any]:
    """Return the time to send an amount of data.

    Parameters
    ----------
    megabytes
        Amount of data, units of 10^6 bytes.
    rate
        bit/s.

    Returns
    -------
    Seconds.
    """
    return np.asarray(np.asarray(megabytes) * MEGABYTE_BITS / np.asarray(rate))
