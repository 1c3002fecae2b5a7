r"""Radio links of devices and edge sites: power ratios, path loss, noise, interference, rate.

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
    "interference_watt",
    "megabytes_to_megabit",
    "megahertz_to_hertz",
    "milliwatt_to_watt",
    "noise_watt",
    "path_loss_decibel",
    "ratio_to_decibel",
    "shannon_rate",
    "small_cell_loss_decibel",
    "thermal_noise_dbm",
    "transmission_seconds",
]

THERMAL_NOISE_DBM_PER_HZ = -174.0  # power density of thermal noise at 290 K, dBm/Hz
MEGABYTE_BITS = 8e6  # bits in a megabyte of 10^6 bytes
_WEAK = 1e-6  # power ratio below which adding 1 would lose digits


def decibel_to_ratio(decibel: ArrayLike) -> NDArray[Any]:
    """Convert decibels to a power ratio.

    Parameters
    ----------
    decibel
        Ratio, dB, any shape.

    Returns
    -------
    Ratio, dimensionless, of the same shape.

    Examples
    --------
    >>> from edgeopt.instances.radio import decibel_to_ratio
    >>> decibel_to_ratio([0, 10, 20])
    array([  1.,  10., 100.])
    """
    return np.asarray(10.0 ** (np.asarray(decibel, dtype=np.float64) / 10.0))


def ratio_to_decibel(ratio: ArrayLike) -> NDArray[Any]:
    """Convert a positive power ratio to decibels.

    Parameters
    ----------
    ratio
        Positive ratio, dimensionless, any shape.

    Returns
    -------
    Ratio, dB, of the same shape.

    Examples
    --------
    >>> from edgeopt.instances.radio import ratio_to_decibel
    >>> ratio_to_decibel([1, 10, 100])
    array([ 0., 10., 20.])
    """
    return np.asarray(10.0 * np.log10(np.asarray(ratio, dtype=np.float64)))


def dbm_to_watt(dbm: ArrayLike) -> NDArray[Any]:
    """Convert dBm (decibels relative to a milliwatt) to watt.

    Parameters
    ----------
    dbm
        Power, dBm, any shape.

    Returns
    -------
    Power, W, of the same shape.

    Examples
    --------
    >>> from edgeopt.instances.radio import dbm_to_watt
    >>> dbm_to_watt([0, 30])
    array([0.001, 1.   ])
    """
    return decibel_to_ratio(dbm) / 1e3


def milliwatt_to_watt(milliwatt: ArrayLike) -> NDArray[Any]:
    """Convert milliwatt to watt.

    Parameters
    ----------
    milliwatt
        Power, mW, any shape.

    Returns
    -------
    Power, W, of the same shape.

    Examples
    --------
    >>> from edgeopt.instances.radio import milliwatt_to_watt
    >>> float(milliwatt_to_watt(200))
    0.2
    """
    return np.asarray(milliwatt, dtype=np.float64) / 1e3


def megahertz_to_hertz(megahertz: ArrayLike) -> NDArray[Any]:
    """Convert megahertz to hertz.

    Parameters
    ----------
    megahertz
        Frequency, MHz, any shape.

    Returns
    -------
    Frequency, Hz, of the same shape.

    Examples
    --------
    >>> from edgeopt.instances.radio import megahertz_to_hertz
    >>> float(megahertz_to_hertz(3))
    3000000.0
    """
    return np.asarray(megahertz, dtype=np.float64) * 1e6


def megabytes_to_megabit(megabytes: ArrayLike) -> NDArray[Any]:
    """Convert units of 10^6 bytes to units of 10^6 bits.

    Parameters
    ----------
    megabytes
        Amount of data, 10^6 bytes, any shape.

    Returns
    -------
    Amount of data, 10^6 bits, of the same shape.

    Examples
    --------
    >>> from edgeopt.instances.radio import megabytes_to_megabit
    >>> float(megabytes_to_megabit(2.5))
    20.0
    """
    return np.asarray(megabytes, dtype=np.float64) * (MEGABYTE_BITS / 1e6)


def thermal_noise_dbm(bandwidth: ArrayLike) -> NDArray[Any]:
    """Return the power of thermal noise within a bandwidth in Hz, in dBm (-109.2 dBm at 3 MHz).

    Parameters
    ----------
    bandwidth
        Band, Hz, any shape.

    Returns
    -------
    Power, dBm, of the same shape.

    Examples
    --------
    >>> from edgeopt.instances.radio import thermal_noise_dbm
    >>> round(float(thermal_noise_dbm(3e6)), 1)
    -109.2
    """
    return THERMAL_NOISE_DBM_PER_HZ + ratio_to_decibel(bandwidth)


def noise_watt(density: ArrayLike, bandwidth: ArrayLike) -> NDArray[Any]:
    """Return the power of noise within a bandwidth.

    Parameters
    ----------
    density
        Power density of the noise, dBm/Hz, of any shape.
    bandwidth
        Hz, of any shape.

    Returns
    -------
    W, in the common shape of the arguments.

    Examples
    --------
    >>> from edgeopt.instances.radio import noise_watt
    >>> f"{noise_watt(-174.0, 1e6):.3g} W"
    '3.98e-15 W'
    """
    return np.asarray(dbm_to_watt(density) * np.asarray(bandwidth))


def interference_watt(received: ArrayLike, heard: ArrayLike) -> NDArray[Any]:
    r"""Return the power that disturbs each link, :math:`\sum_{l \ne j, k} p_l h_{lk}`.

    Parameters
    ----------
    received
        Power that site k receives from site l, W, shape [J, J] in the order l, k.
    heard
        Whether l sends in the band of k, shape [J, J] in the order l, k.

    Returns
    -------
    Interference on the link from j to k, W, shape [J, J]; its sender and receiver do not count.

    Examples
    --------
    >>> from edgeopt.instances.radio import interference_watt
    >>> interference_watt([[1.0, 2.0]], [[0.0, 1.0], [1.0, 0.0]])
    array([[1., 0.],
           [0., 2.]])
    """
    power = np.where(heard, received, 0.0)
    np.fill_diagonal(power, 0.0)
    # Rounding must not leave a negative power where the sender is the only one heard.
    return np.asarray(np.maximum(power.sum(axis=0) - power, 0.0))


def path_loss_decibel(kilometres: ArrayLike) -> NDArray[Any]:
    r"""Return the loss over a distance in an urban macro cell.

    :math:`128.1 + 37.6 \log_{10}(r)` dB with r in kilometres (3GPP TR 36.942, 2 GHz).

    Parameters
    ----------
    kilometres
        Distance, km, any shape.

    Returns
    -------
    Loss, dB, of the same shape.

    Examples
    --------
    >>> from edgeopt.instances.radio import path_loss_decibel
    >>> path_loss_decibel([0.1, 1.0]).round(1)
    array([ 90.5, 128.1])
    """
    distance = np.asarray(kilometres, dtype=np.float64)
    return np.asarray(128.1 + 37.6 * np.log10(distance))


def small_cell_loss_decibel(kilometres: ArrayLike) -> NDArray[Any]:
    r"""Return the loss over a distance in an outdoor small cell, out of sight.

    :math:`140.7 + 36.7 \log_{10}(r) + 4` dB with r in kilometres (3GPP TR 36.814, 2 GHz, and 4 dB
    on top).

    Parameters
    ----------
    kilometres
        Distance, km, any shape.

    Returns
    -------
    Loss, dB, of the same shape.

    Examples
    --------
    >>> from edgeopt.instances.radio import small_cell_loss_decibel
    >>> small_cell_loss_decibel([0.1, 1.0]).round(1)
    array([108. , 144.7])
    """
    distance = np.asarray(kilometres, dtype=np.float64)
    return np.asarray(140.7 + 36.7 * np.log10(distance) + 4.0)


def shannon_rate(bandwidth: ArrayLike, signal_to_noise: ArrayLike) -> NDArray[Any]:
    r"""Return the capacity of a channel, :math:`B \log_2(1 + S/N)`.

    Parameters
    ----------
    bandwidth
        Hz, of any shape.
    signal_to_noise
        Power ratio, not decibels, of any shape.

    Returns
    -------
    Rate in bit/s, or in Mbit/s if the bandwidth is in MHz; in the common shape of the arguments.

    Examples
    --------
    >>> from edgeopt.instances.radio import shannon_rate
    >>> shannon_rate(1e6, [1, 3])
    array([1000000., 2000000.])
    """
    ratio = np.asarray(signal_to_noise, dtype=np.float64)
    weak = np.log1p(ratio) / np.log(2.0)
    return np.asarray(np.asarray(bandwidth) * np.where(ratio < _WEAK, weak, np.log2(1.0 + ratio)))


def transmission_seconds(megabytes: ArrayLike, rate: ArrayLike) -> NDArray[Any]:
    """Return the time to send an amount of data.

    Parameters
    ----------
    megabytes
        Amount of data, units of 10^6 bytes, of any shape.
    rate
        bit/s, of any shape.

    Returns
    -------
    Seconds, in the common shape of the arguments.

    Examples
    --------
    >>> from edgeopt.instances.radio import transmission_seconds
    >>> float(transmission_seconds(2.5, 1e7))
    2.0
    """
    return np.asarray(np.asarray(megabytes) * MEGABYTE_BITS / np.asarray(rate))
