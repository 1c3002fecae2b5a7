"""Three interpretations of the paper's radio: what rate a device has to a site."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

import numpy as np

from edgeopt.errors import InputError
from edgeopt.instances.radio import (
    dbm_to_watt,
    decibel_to_ratio,
    megahertz_to_hertz,
    milliwatt_to_watt,
    noise_watt,
    shannon_rate,
    small_cell_loss_decibel,
)
from edgeopt.instances.validate import frozen_array, real_numbers, require, require_positive
from edgeopt.options import check_choice

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeopt.arrays import Floats

Channel: TypeAlias = Literal["literal", "physical", "published"]
"""How the formulas of the radio are read; see `link_rates`."""

INTERPRETATIONS: Final[dict[str, str]] = {
    "literal": "the loss in decibels taken for a gain, and noise of -40 dBm in the whole band; the "
    "only reading of the paper's radio under which its latencies come out, and not physical",
    "physical": "the loss as a loss, and thermal noise of -174 dBm/Hz in place of the printed one",
    "published": "the loss as a loss, and noise of -40 dBm/Hz as printed; nothing gets through",
}
"""What each interpretation of the channel does, in words."""

THERMAL: Final = -174.0  # power density of thermal noise, dBm/Hz
PUBLISHED: Final = -40.0  # printed noise, dBm/Hz; read literally, dBm in the band


def link_rates(
    channel: Channel, kilometres: ArrayLike, power: ArrayLike, bandwidth: ArrayLike
) -> Floats:
    r"""Return the rates :math:`B \log_2(1 + \rho g / \sigma^2)` of links with the whole band.

    Parameters
    ----------
    channel
        ``"literal"``: the gain g is the number :math:`140.7 + 36.7 \log_{10} r + 4`, though that is
        a loss in dB, and the noise is -40 dBm whatever the band: some 66 Mbit/s, the interpretation
        under which the paper's latencies come out. ``"physical"``: g is that loss, and the noise
        thermal, -174 dBm/Hz: some 5 Mbit/s in a band of 2.5 MHz and 14 in one of 25, so that
        requests of a megabyte take seconds; with 20 to 30 MHz and an eighth of the data they fit
        into a slot. ``"published"``: g is that loss and the noise -40 dBm/Hz: some :math:`10^{-12}`
        Mbit/s.
    kilometres
        Distance between device and site, km, of any shape.
    power
        Transmission power, mW, of any shape.
    bandwidth
        Band of the site, MHz, of any shape.

    Returns
    -------
    Rates, Mbit/s, in the common shape of the arguments.

    Raises
    ------
    OptionError
        If the interpretation is unknown.

    Notes
    -----
    Zeng et al., section III and the set-up of its evaluation. Latencies of the literal
    interpretation can be compared with the paper's; they say nothing about a radio.

    Examples
    --------
    >>> from edgeopt.instances.oinc import link_rates
    >>> (link_rates("literal", [0.1, 0.5], 0.2, 20e6) / 1e6).round(1)
    array([354.4, 360.6])
    """
    check_channel(channel)
    distance, power, bandwidth = (
        _positive(name, values)
        for name, values in (("kilometres", kilometres), ("power", power), ("bandwidth", bandwidth))
    )
    try:
        np.broadcast_shapes(distance.shape, power.shape, bandwidth.shape)
    except ValueError as error:
        raise InputError("kilometres, power, bandwidth", f"must fit together: {error}") from None
    loss, sent = small_cell_loss_decibel(distance), milliwatt_to_watt(power)
    if channel == "literal":
        rule = "is too short for an interpretation that takes the loss in decibels for a gain"
        require("kilometres", loss > 0, distance, rule)
        return shannon_rate(bandwidth, sent * loss / dbm_to_watt(PUBLISHED))
    density = THERMAL if channel == "physical" else PUBLISHED
    noise = noise_watt(density, megahertz_to_hertz(bandwidth))
    return shannon_rate(bandwidth, sent * decibel_to_ratio(-loss) / noise)


def _positive(field: str, values: ArrayLike) -> Floats:
    array = real_numbers(field, values)
    array = frozen_array(field, array, [f"axis {n}" for n in range(array.ndim)], empty=True)
    require_positive(field, array)
    return array


def check_channel(channel: str) -> None:
    """Check that an interpretation of the channel is known."""
    check_choice("channel", channel, get_args(Channel))
